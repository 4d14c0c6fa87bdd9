"""The public face: names, laziness, no side effects."""

from __future__ import annotations

import subprocess
import sys

import pytest

import vmfstream

HEAVY = ("numba", "sklearn", "duckdb", "plotly", "river", "kafka", "scipy", "pyarrow", "pandas")


def test_public_names_are_there() -> None:
    for name in vmfstream.__all__:
        assert getattr(vmfstream, name) is not None
    assert dir(vmfstream) == sorted(vmfstream.__all__)


def test_unknown_names_say_so() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        vmfstream.nothing  # noqa: B018


def loaded_after(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], check=True, capture_output=True, text=True
    )
    return set(out.stdout.split())


def test_importing_is_light() -> None:
    assert not loaded_after("import vmfstream") & set(HEAVY)


def test_help_is_light() -> None:
    assert not loaded_after("import vmfstream.cli") & set(HEAVY)
