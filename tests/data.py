"""Files that tests read: reference numbers, which are part of the tests, and real data, which a machine may lack."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parent


def golden_file(name: str) -> Path:
    """Return a file of reference numbers; ``tests/golden/README.md`` says how they were computed."""
    return _TESTS / "golden" / name


def data_folder() -> Path | None:
    """Return the folder of real data: ``$VMFSTREAM_DATA``, else ``../shared/data`` beside the checkout, else None."""
    named = os.environ.get("VMFSTREAM_DATA")
    folder = Path(named) if named else _TESTS.parents[1] / "shared" / "data"
    return folder if folder.is_dir() else None


def corpus_file(name: str) -> Path:
    """Return a file of real data for a test marked ``corpus``.

    Without the file the test is skipped on a user's machine and fails where ``CI`` is set.
    """
    folder = Path(os.environ.get("VMFSTREAM_DATA", ""))
    if not (folder / name).is_file():
        missing(f"{name} below $VMFSTREAM_DATA")
    return folder / name


def missing(what: str) -> None:
    """Skip the test that runs, or fail it where ``CI`` is set."""
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}", pytrace=False)
    pytest.skip(f"needs {what}")
