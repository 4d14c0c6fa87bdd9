"""Take texts as callers have them: lists and columns, not one string or a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import Any

import numpy as np

from vmfstream.errors import InputError
from vmfstream.html_references import plain_text


def check_texts(texts: object) -> None:
    """Refuse one string, whose parts are letters, and tables, whose parts are names of columns.

    A column, such as a Series of pandas or polars, is a sequence of texts.

    Raises
    ------
    InputError
        If ``texts`` is one of these.
    """
    if isinstance(texts, str):
        raise InputError("texts: expected a sequence of texts, got one string")
    if _is_table(texts):
        raise InputError("texts: expected texts, such as frame['text'], got a table")


def checked_texts(texts: Iterable[Any] | None) -> list[str]:
    """Return texts as a list, with the characters that references of HTML stand for.

    Raises
    ------
    InputError
        If ``texts`` is one string, a table or nothing that can be gone through, or holds anything but strings; says
        where.

    Examples
    --------
    >>> checked_texts(np.array(["cat", "ship"]))
    ['cat', 'ship']
    """
    check_texts(texts)
    try:
        given = iter(as_list(texts))
    except TypeError:
        raise InputError(f"texts: expected a sequence of texts, got {type(texts).__name__}") from None
    found = list(given)
    wrong = next((at for at, text in enumerate(found) if not isinstance(text, str)), None)
    if wrong is not None:
        raise InputError(f"texts[{wrong}]: expected a string, got {type(found[wrong]).__name__}")
    return [plain_text(text) for text in found]


def as_list(documents: Any) -> Any:
    """Return one column as a list: a Series, an array of one dimension, what has no length; anything else as it is.

    Examples
    --------
    >>> as_list(np.array(["cat", "ship"])), as_list({"text": ["cat"]})
    (['cat', 'ship'], {'text': ['cat']})
    """
    if isinstance(documents, np.ndarray):
        return documents.tolist() if documents.ndim == 1 else documents
    if not _is_table(documents):
        for method in ("to_list", "to_pylist"):
            if hasattr(type(documents), method):
                return getattr(documents, method)()
        if isinstance(documents, Iterable) and not isinstance(documents, Sized):
            return list(documents)
    return documents


def _is_table(given: object) -> bool:
    kind = type(given)  # a Series of pandas has an attribute for each of its labels
    if isinstance(given, Mapping) or hasattr(kind, "columns") or hasattr(kind, "column_names"):
        return True
    one_column = hasattr(kind, "to_list") or hasattr(kind, "to_pylist")
    return hasattr(kind, "__arrow_c_stream__") and not one_column
