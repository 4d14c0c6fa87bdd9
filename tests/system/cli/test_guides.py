"""The commands of README and guides run in a shell as they stand there, on files with the names that they use."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.contract import pages
from vmfstream.replay.planted import PlantedStream
from vmfstream.runfile.queries import Reader

ELSEWHERE = {
    r"^(make|pip|python3|git) |^\.venv/": "installs: followed by hand before a release",
    r"kafka://|dask://": "needs a broker: tests/system/broker/test_guides.py",
    r"--dashboard|^vmfstream dashboard": "serves until Ctrl-C: tests/system/cli/test_served.py, tests/system/browser",
    r"^vmfstream replay (nips|nyt) ": "needs a corpus: tests/corpus",
    r"^vmfstream reproduce ": "takes hours: tests/corpus/papers",
    r"^vmfstream demo": "printed as the README shows it: below",
    r"^docker |^export ": "needs containers or a registry: tests/contract/test_operations.py, broker/test_schemas.py",
}
"""Commands that do not run here, and why."""

RUN = {"README.md", "correcting.md", "embeddings.md", "files.md", "gallery.md", "install.md", "languages.md", "page.md"}
RUN |= {"index.md", "run-file.md"}


def shown(page: Path) -> Iterator[str]:
    """Yield the commands of a page."""
    for block in pages.blocks(page.read_text(encoding="utf-8")):
        if block.language == "console":
            yield from pages.shell_lines(block)


def reason(command: str) -> str:
    """Return why a command does not run here, empty if it does."""
    return next((why for pattern, why in ELSEWHERE.items() if re.search(pattern, command)), "")


COMMANDS = {page.name: [one for one in shown(page) if not reason(one)] for page in pages.PAGES}
REPEATED = "vmfstream replay papers.jsonl --slices year --html papers.html"
"""Stands on several pages and is run once for all of them, since others read its run file."""

README = (pages.ROOT / "README.md").read_text(encoding="utf-8")

LEFT = {"tutorial.md", "python.md"}
"""Pages that tests/contract/test_docs.py runs as a whole."""


@pytest.fixture(scope="session")
def followed_newswire(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the pages name."""
    folder = tmp_path_factory.mktemp("guides")
    newswire = PlantedStream(slices=12, documents_per_slice=120).documents()
    rows = [
        {"date": f"{one.time:%Y-%m-%dT%H:%M}", "title": one.title, "text": one.text} for one in islice(newswire, 720)
    ]
    news = [row | {"date": f"2021-01-01T{n // 6:02}:{n % 6}0"} for n, row in enumerate(rows[:60])]
    for name, some in (("papers", rows), ("news", news), ("posts", rows[:60])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")
    (folder / "mine.txt").write_text("cramer\n", encoding="utf-8")
    (folder / "mails").mkdir()
    for number, row in enumerate(rows[:60]):
        (folder / "mails" / f"{number}.json").write_text(json.dumps(row), encoding="utf-8")
    run(folder, "vmfstream replay papers.jsonl --slices month --topics 16 --keep-text --out run.duckdb")
    run(folder, REPEATED)
    for name in ("planted", "nyt"):
        shutil.copy(folder / "run.duckdb", folder / f"{name}.duckdb")
    return folder


def run(folder: Path, command: str) -> str:
    """Run a command in a shell, where ``vmfstream`` is that of this checkout; return what it prints."""
    program = folder / "bin" / "vmfstream"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m vmfstream "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    paths = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(pages.ROOT), "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_commands_stand_only_where_they_are_run() -> None:
    assert {name for name, found in COMMANDS.items() if found} == RUN | LEFT
    assert sum(REPEATED in found for found in COMMANDS.values()) > 1


def adapted(command: str) -> str:
    """Return a command whose input ends, and that names a file where the page names none."""
    return command.replace("tail -n +1 -f ", "cat ").replace("RUN_FILE", "run.duckdb")


@pytest.mark.parametrize("page", sorted(RUN))
def test_commands_of_a_page_run(page: str, followed_newswire: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    shutil.copytree(followed_newswire, folder)
    if REPEATED not in COMMANDS[page]:
        (folder / "papers.duckdb").unlink()
    earlier = {REPEATED}.union(*(COMMANDS[name] for name in sorted(RUN) if name < page))
    commands = [one for one in COMMANDS[page] if "--still" not in one and one not in earlier]
    if any("run - " in command for command in commands):  # which writes a run file of this name
        (folder / "run.duckdb").unlink()
    for command in commands:
        run(folder, adapted(command))


def test_the_demo_does_what_readme_and_guide_say(tmp_path: Path) -> None:
    assert "vmfstream demo" in shown(pages.ROOT / "docs" / "index.md")
    (block,) = [one.text for one in pages.blocks(README) if one.text.startswith("$ make demo")]
    lines = [line for line in block.splitlines() if not line.startswith("$")]
    printed = run(tmp_path, "vmfstream demo").replace(f"{tmp_path}/", "").splitlines()
    number = re.compile(r"\d[\d,.]*")
    assert [number.sub("#", line) for line in printed] == [number.sub("#", line) for line in lines]
    values, wanted = ([float(one.replace(",", "")) for one in number.findall(" ".join(of))] for of in (printed, lines))
    # other processors may round otherwise
    assert values == pytest.approx(wanted, rel=0.02)
    slices = Reader(tmp_path / "demo" / "planted.duckdb").slices()
    warm_up = slices.n[slices.warm_up]
    said = f"the first {warm_up.size} of {slices.n.size} slices, {warm_up.sum():,} documents"
    assert said in " ".join((pages.ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())


@pytest.mark.browser
def test_pictures_of_the_gallery_are_drawn(followed_newswire: Path) -> None:
    commands = [one for one in COMMANDS["gallery.md"] if "--still" in one]
    assert len(commands) == 2
    for command in commands:
        run(followed_newswire, adapted(command))
    assert (followed_newswire / "words.pdf").stat().st_size > 5_000
