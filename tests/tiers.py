"""Which cases of a parametrised test are shown at every change, and which in ``make test-all`` only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_of(values: Iterable[Any]) -> list[Any]:
    """Return the cases of a test: the first as it is, the others marked ``thorough``."""
    first, *others = values
    return [first, *(pytest.param(other, marks=pytest.mark.thorough) for other in others)]


def all_but(values: Iterable[Any], *long: Any) -> list[Any]:
    """Return the cases of a test, those that take long marked ``thorough``."""
    return [pytest.param(value, marks=pytest.mark.thorough) if value in long else value for value in values]
