"""Usual names of the fields and columns of documents, and how to find them among the names that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

TIME_NAMES = (
    *("time", "timestamp", "date", "published", "created_at", "year"),
    *("datetime", "created", "published_at", "publish_date", "pub_date", "created_utc", "creation_date"),
    *("datum", "fecha"),
)
TEXT_NAMES = (
    *("text", "body", "content", "abstract", "summary", "message", "description", "full_text", "tweet"),
    *("inhalt", "texte", "texto"),
)
ID_NAMES = ("id", "_id", "doc_id", "key", "guid", "url")
TITLE_NAMES = ("title", "headline", "subject", "name", "headline_text", "titel", "titre", "título")
"""In this order: the first that there is counts. English names are first; then German, French and Spanish ones."""

_LISTED = 6  # names that a message lists


def named(keys: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the ``keys`` that match one of the ``names``, exact matches first, in the order of the names.

    Case, blanks, hyphens and underscores do not matter: ``publishedAt`` is ``published_at``.

    Examples
    --------
    >>> named(["Title", "publishedAt", "Body"], TIME_NAMES)
    ['publishedAt']
    """
    keys = list(keys)
    folded = {_folded(key): key for key in reversed(keys)}
    same = [name for name in names if name in keys]
    alike = dict.fromkeys(key for name in names if (key := folded.get(_folded(name))) is not None)
    return same + [key for key in alike if key not in same]


def _folded(name: object) -> str:
    return re.sub(r"[\s_-]", "", str(name)).lower()


def alternatives(names: Sequence[str]) -> str:
    """Return names for a message, the first of many."""
    return " or ".join(names[:_LISTED]) + (" or the like" if len(names) > _LISTED else "")
