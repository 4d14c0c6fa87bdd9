"""Where the tests find reference numbers and real data."""

from __future__ import annotations

import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def shared(path: str) -> Path:
    """Return ``path`` (such as ``"golden/watson.csv"`` or ``"data/classic3"``) beside the checkout or under ``$VMFSTREAM_DATA``."""
    folder, _, rest = path.partition("/")
    data = os.environ.get("VMFSTREAM_DATA")
    if folder == "data" and data:
        return Path(data) / rest
    base = Path(data).parent if data else _ROOT.parent / "shared"
    return base / path
