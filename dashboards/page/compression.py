"""Small pages: compressed script elements, and figures whose arrays of numbers are stored once, as base64."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def compressed_script(name: str, kind: str, text: str) -> str:
    """Return a script element of the exported page whose ``text`` is compressed; ``unpack.js`` puts it in its place.

    ``name`` is its id and ``kind`` its type, such as "application/json".
    """
    body = base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")
    return f'<script type="text/plain" data-type="{kind}" id="{name}">{body}</script>\n'


class ArrayTable:
    """Table of the arrays of all figures, in which equal arrays are stored once."""

    def __init__(self) -> None:
        self.entries: list[list[str]] = []
        self._known: dict[tuple[str, str], int] = {}

    def place(self, array: NDArray[Any]) -> dict[str, Any]:
        """Store an array and return the reference to it for the page's JSON."""
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        key = (_DTYPES[array.dtype.str[1:]], base64.b64encode(little.tobytes()).decode("ascii"))
        if key not in self._known:
            self._known[key] = len(self.entries)
            self.entries.append(list(key))
        reference: dict[str, Any] = {"$": self._known[key]}
        if array.ndim == 2:
            reference["width"] = array.shape[1]
        return reference

    def with_references(self, value: Any) -> Any:
        """Return a copy of a figure with every array replaced by its reference."""
        if isinstance(value, np.ndarray):
            return self.place(value) if value.dtype.kind in "fiu" else value.tolist()
        if isinstance(value, Mapping):
            return {key: self.with_references(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.with_references(item) for item in value]
        return value.item() if isinstance(value, np.generic) else value


_DTYPES = {
    "f4": "Float32Array",
    "f8": "Float64Array",
    "u1": "Uint8Array",
    "i1": "Int8Array",
    "u2": "Uint16Array",
    "i2": "Int16Array",
    "i4": "Int32Array",
    "u4": "Uint32Array",
}
