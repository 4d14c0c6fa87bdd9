"""What holds for all tests: the machine's means, the order, and a summary of what was left out."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.data import data_folder, missing

# tests run beside each other: threads of BLAS would wait for cores at full speed; read when numpy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# tests that were started in the background ignore Ctrl-C, and so would the programs that they start and interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)

# how long an example takes depends on what else the machine does
hypothesis.settings.register_profile("tests", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("tests")

TESTS = Path(__file__).resolve().parent
DATA = data_folder()
MEANS = {
    "corpus": "" if DATA else "real data ($VMFSTREAM_DATA)",
    "broker": " and ".join(name for name in ("java", "mvn", "keytool") if shutil.which(name) is None),
    "browser": ""
    if shutil.which("chromedriver") and any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    else "Chromium and chromedriver",
}
"""What this machine lacks for the tests of a marker, empty if nothing."""

LONG_FIRST = (
    *("system/browser", "system/broker", "system/test_recovery", "unit/engine/test_schedules", "system", "corpus"),
    *("unit/bayes", "unit/estimators", "unit/mixtures"),
)
"""Folders and files in the order in which they begin; the others follow.

The last three are neighbours so that one process compiles what they share.
"""

LAST_RESORT = 3600.0
"""Seconds for a test of whole programs or real data; others have those of pyproject.toml."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long tests first, and tests that share a broker, a browser or a module's fixtures into one process.

    At every change the first and the last case of a test are shown, and scikit-learn's checks of a class with one
    setting, the first one that is not of all classes; the others in ``make test-all``.
    """
    shown: dict[type, str] = {}
    settings: dict[int, str] = {}
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in sorted(items, key=lambda item: item.path.name == "test_defaults.py"):
        given = _parameters(item)
        if {"estimator", "check"} <= given.keys():
            model = given["estimator"]
            setting = settings.get(id(model)) or settings.setdefault(id(model), repr(model))
            if setting != shown.setdefault(type(model), setting):
                item.add_marker(pytest.mark.thorough)
        place = item.path.relative_to(TESTS).as_posix()
        shared = next((name for name in ("broker", "browser") if item.get_closest_marker(name)), place)
        item.add_marker(pytest.mark.xdist_group(shared))
        if not place.startswith(("unit", "contract")):
            item.add_marker(pytest.mark.timeout(LAST_RESORT))
        if "check" not in given and not item.get_closest_marker("thorough"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for case in (case for of_one in cases.values() for case in of_one[1:-1]):
        case.add_marker(pytest.mark.thorough)
    items.sort(key=lambda item: _turn(item.path.relative_to(TESTS).as_posix()))


def _parameters(item: pytest.Item) -> Mapping[str, Any]:
    given: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return given


def _turn(place: str) -> int:
    return next((turn for turn, folder in enumerate(LONG_FIRST) if place.startswith(folder)), len(LONG_FIRST))


def pytest_collection() -> None:
    """Look for no garbage while all that is made stays until the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end and let it wait longer: compiling makes it look often."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, *gc.get_threshold()[1:])


def pytest_unconfigure() -> None:
    """Let the interpreter end as usual."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let only tests marked ``corpus`` see real data, and leave out those whose means this machine lacks."""
    given = {
        "VMFSTREAM_DATA": str(DATA) if DATA and item.get_closest_marker("corpus") else "",
        # scikit-learn leaves out its checks of array API input without; SciPy, imported before, stays as users have it
        "SCIPY_ARRAY_API": "1" if "check" in _parameters(item) else "",
    }
    for name, value in given.items():
        os.environ.pop(name, None)
        if value:
            os.environ[name] = value
    for marker, lacking in MEANS.items():
        if lacking and item.get_closest_marker(marker):
            missing(lacking)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests were left out, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if reasons:
        why = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"{sum(reasons.values())} tests were left out: {why}")
