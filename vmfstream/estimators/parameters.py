"""Domains of estimator parameters, declared once and checked by ``fit``."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np


class Domain(Protocol):
    """The values that a parameter may take."""

    @property
    def wanted(self) -> str:
        """The values in words, to follow "expected"."""

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""


class Choice:
    """One of some names."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.wanted = "one of " + ", ".join(repr(name) for name in names)

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return isinstance(value, str) and value in self.names


class Whole(NamedTuple):
    """An integer of at least ``low``."""

    low: int

    @property
    def wanted(self) -> str:
        """The values in words."""
        return f"an integer of at least {self.low}"

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return isinstance(value, Integral) and not _flag(value) and int(value) >= self.low


class Number(NamedTuple):
    """A number between ``low`` and ``high``; ``closed`` says which ends belong to it."""

    low: float
    high: float = np.inf
    closed: str = "low"

    @property
    def wanted(self) -> str:
        """The values in words."""
        opening, closing = "[("[self.closed not in ("low", "both")], "])"[self.closed not in ("high", "both")]
        return f"a number in {opening}{self.low:g}, {self.high:g}{closing}"

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        if not isinstance(value, Real) or _flag(value):
            return False
        number = float(value)
        return (
            self.low < number < self.high
            or (number == self.low and self.closed in ("low", "both"))
            or (number == self.high and self.closed in ("high", "both"))
        )


class Flag:
    """True or False."""

    wanted = "True or False"

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return _flag(value)


class Text:
    """A string."""

    wanted = "a string"

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return isinstance(value, str)


class Names:
    """A sequence of some names."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.wanted = "a list or tuple of some of " + ", ".join(repr(name) for name in names)

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        given = isinstance(value, np.ndarray | list | tuple)
        return given and all(isinstance(name, str) and name in self.names for name in value)


class Array:
    """An array, whose shape is checked where it is used."""

    wanted = "an array"

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return isinstance(value, np.ndarray | list | tuple)


class Function:
    """A callable."""

    wanted = "a callable"

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return callable(value)


class Nothing:
    """None."""

    wanted = "None"

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return value is None


class Either:
    """Any of several domains."""

    def __init__(self, *domains: Domain) -> None:
        self.domains = domains
        self.wanted = " or ".join(domain.wanted for domain in domains)

    def holds(self, value: Any) -> bool:
        """Tell whether ``value`` is one of them."""
        return any(domain.holds(value) for domain in self.domains)


def check_parameters(given: Mapping[str, Any], domains: Mapping[str, Domain]) -> None:
    """Raise ValueError for the first parameter that is outside its domain."""
    for name, domain in domains.items():
        if not domain.holds(given[name]):
            raise ValueError(f"{name}: expected {domain.wanted}, got {given[name]!r}")


def _flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)
