"""Where the tests find reference numbers and real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]


def shared(path: str) -> Path:
    """Return ``path``, such as ``"golden/watson.csv"``: beside the checkout, or under $VMFSTREAM_DATA.

    Without the data a test that needs it is left out on a user's machine, and fails where everything must be there.
    """
    folder, _, rest = path.partition("/")
    data = os.environ.get("VMFSTREAM_DATA")
    found = (
        Path(data) / rest
        if folder == "data" and data
        else (Path(data).parent if data else _ROOT.parent / "shared") / path
    )
    if not found.exists():
        if os.environ.get("CI"):
            raise FileNotFoundError(f"{found} is needed by this test")
        pytest.skip(f"no {path} beside the checkout or under $VMFSTREAM_DATA")
    return found
