"""Let one call of a program that writes a run file fail, or all from there on; then let it go on.

python -m tests.system.powercut.failing_calls
"""

from __future__ import annotations

import errno
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.system.powercut.power_cuts import ROOT, lay_out
from tests.system.powercut.program import COMMITS, NAME, digest
from tests.system.powercut.recording import environment, recorder

ERRORS = {"no space, until there is": (errno.ENOSPC, True), "one error": (errno.EIO, False)}


class Failing:
    """Runs the program with failing calls, below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._library = folder, recorder(folder)
        (folder / "run").mkdir()
        path = self._path = folder / "run" / NAME
        assert self._run({}).returncode == 0
        self.calls = (folder / "calls").stat().st_size and self._counted()
        self._whole = digest(path)

    def outcome(self, call: int, kind: str) -> str:
        """Let the call of this number fail, then let the program go on; say "goes on", or what is wrong."""
        error, sticky = ERRORS[kind]
        lay_out(self._path.parent, {})
        failing = {"fail": call, "errno": error} | ({"sticky": 1} if sticky else {})
        first = self._run(failing)
        if first.returncode not in (0, 3) or "Traceback" in first.stderr:
            return f"ends with {first.returncode}: {first.stderr[-300:]}"
        written = int((first.stdout.split() or ["0"])[-1])
        again = self._run({})
        if again.returncode != 0:
            return f"does not go on: {again.stderr[-300:]}"
        epochs = [int(line) for line in again.stdout.split()]
        if epochs and not written < epochs[0] <= written + 2:
            return f"epoch {written} was written, and it went on with {epochs[0]}"
        if digest(self._path) != self._whole:
            return "goes on to other results"
        return "goes on"

    def _run(self, failing: Mapping[str, object]) -> subprocess.CompletedProcess[str]:
        calls = None if failing else self._folder / "calls"
        return subprocess.run(
            [sys.executable, "-m", "tests.system.powercut.program", self._path.parent, self._folder / "digests.json"],
            env=environment(self._library, self._path.parent, calls, **failing),
            cwd=ROOT,
            capture_output=True,
            text=True,
        )

    def _counted(self) -> int:
        """Count calls that can fail; failing ones before them count too."""
        from tests.system.powercut.recording import events

        return sum(event.kind != "M" for event in events(self._folder / "calls"))


def main() -> None:
    """Let every call fail in turn."""
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        failing = Failing(Path(name))
        print(f"{failing.calls} calls in {COMMITS} transactions")
        for kind in ERRORS:
            found = Counter(failing.outcome(call, kind) for call in range(1, failing.calls + 1))
            print(f"{kind}: {dict(found.most_common())}", flush=True)
            bad += failing.calls - found["goes on"]
    sys.exit(min(bad, 1))


if __name__ == "__main__":
    main()
