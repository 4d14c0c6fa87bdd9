"""Take texts as callers have them: lists and columns, not one string or a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vmfstream.errors import InputError


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


def as_list(documents: Any) -> Any:
    """Return one column, such as a Series or an array of one dimension, as a list; anything else as it is.

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
    return documents


def _is_table(given: object) -> bool:
    kind = type(given)  # a Series of pandas has an attribute for each of its labels
    if isinstance(given, Mapping) or hasattr(kind, "columns") or hasattr(kind, "column_names"):
        return True
    one_column = hasattr(kind, "to_list") or hasattr(kind, "to_pylist")
    return hasattr(kind, "__arrow_c_stream__") and not one_column
