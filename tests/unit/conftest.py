"""What tests of several folders see or set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vmfstream.directional import kernels
from vmfstream.runfile.connection import connected
from vmfstream.runfile.queries import base


@pytest.fixture
def any_work_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads share a few documents too."""
    monkeypatch.setattr(kernels, "WORTH_SHARING", -1)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the run files that queries have opened since."""
    paths: list[Path] = []

    def noted(path: Path, **how: Any) -> Any:
        paths.append(path)
        return connected(path, **how)

    monkeypatch.setattr(base, "connected", noted)
    return paths
