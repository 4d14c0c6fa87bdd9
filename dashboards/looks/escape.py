"""Escaping of foreign text for HTML, plotly labels and JSON."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from typing import Any

LONGEST = 80

_TAG_LIKE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_JSON_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_JSON_PATTERN = re.compile("[<>&\u2028\u2029]")


def clean(text: str, longest: int = LONGEST) -> str:
    """Drop control and direction-override characters, join white space, cut at ``longest`` characters.

    What joins signs of a word, or keeps them apart, stays.
    """
    if not (text.isascii() and text.isprintable()):
        signs = (" " if c.isspace() else c for c in text)
        text = "".join(c for c in signs if c in _KEPT or unicodedata.category(c) not in _DROPPED)
    kept = " ".join(text.split())
    return kept if len(kept) <= longest else kept[: longest - 1].rstrip() + "…"


def for_html(text: str) -> str:
    """Escape text for HTML content and quoted attributes."""
    return html.escape(text, quote=True)


def for_plotly(text: str) -> str:
    """Escape text for a plotly label: no tags of strangers, no ``$...$`` that would be read as a formula."""
    safe = clean(text).translate(_TAG_LIKE)
    return f"\u200b{safe}" if safe.startswith("$") and safe.endswith("$") else safe


def for_json(value: Any) -> str:
    """Write JSON that may stand inside a script element: sorted keys, no ``<``, ``>``, ``&`` or line separators."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return _JSON_PATTERN.sub(lambda match: _JSON_UNSAFE[match.group()], text)


# control, format (with the bidirectional overrides), surrogate, private use
_KEPT = " \u200c\u200d"
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co"})
