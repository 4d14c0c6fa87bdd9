"""Ids and titles as texts, whatever callers and files have them as."""

from __future__ import annotations

from typing import Any

import numpy as np

_WHOLE = 2.0**53  # up to it every whole number is a float


def as_text(value: Any) -> str | None:
    """Return an id or a title as a text that UTF-8 can hold; None for None, NaN, NaT and NA, which say that it lacks.

    A float that is whole is written as an integer: columns of integers in which some lack are read as floats.

    Examples
    --------
    >>> as_text(7.0), as_text(np.float32(7)), as_text(7.5), as_text(float("nan"))
    ('7', '7', '7.5', None)
    """
    if type(value) is str:
        return encodable(value)
    try:
        if value is None or bool(value != value):
            return None
    except TypeError:  # NA of pandas
        return None
    except ValueError:  # an array
        return encodable(str(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        if number.is_integer() and abs(number) < _WHOLE:
            value = int(number)
    return encodable(str(value))


def encodable(text: str) -> str:
    """Return a text with question marks for lone surrogates, which JSON and Python can hold and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
