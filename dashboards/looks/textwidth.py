"""Estimated widths of text, for fitting labels without a browser."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_NARROW = frozenset("iljtf.,:;'|!()[] ·")
_WIDE = frozenset("mwMW@%—…")
_MARGIN = 1.06  # other fonts of the stack are wider than the one that was measured
_BOLD = 1.04


@lru_cache(maxsize=100_000)  # the same words are measured again and again
def em_width(text: str, bold: bool = False) -> float:
    """Return the estimated width of a line of text in units of its font size, a little too wide on purpose."""
    return sum(map(_character, text)) * _MARGIN * (_BOLD if bold else 1.0)


def shortened(text: str, longest: float, bold: bool = False) -> str:
    """Cut ``text`` with an ellipsis so that it is at most ``longest`` font sizes wide; at least one character stays.

    Letters are wider if they are ``bold``.
    """
    if em_width(text, bold) <= longest:
        return text
    kept = text
    while len(kept) > 1 and em_width(kept + "…", bold) > longest:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def _character(c: str) -> float:
    if c in _NARROW:
        return 0.30
    if c == "r":
        return 0.39
    if c in _WIDE:
        return 0.88
    if unicodedata.combining(c):
        return 0.0
    if unicodedata.east_asian_width(c) in "WF":
        return 1.0
    if c.isupper():
        return 0.70
    return 0.585
