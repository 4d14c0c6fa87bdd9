"""Types of stored records, under the names that libraries give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, get_origin

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from vmfstream.runfile import json_records
from vmfstream.runfile.json_records import check

T = TypeVar("T", bound=np.generic)
Named = TypeAliasType("Named", np.ndarray[Any, np.dtype[T]], type_params=(T,))  # as NumPy 2.5 defines NDArray


@pytest.mark.parametrize("expected", [Named[np.int64], Named[np.int64] | None])
def test_a_type_may_have_a_name(expected: Any) -> None:
    check(np.zeros(3, np.int64), expected, "column")
    for wrong in (np.zeros(3), [0, 0, 0]):
        with pytest.raises(ValueError, match=r"column: expected .*Named"):
            check(wrong, expected, "column")


def test_a_type_is_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracker that was asked to learn 20,000 times took a minute to load, most of it for this."""
    asked: list[object] = []

    def ask(kind: object) -> object:
        asked.append(kind)
        return get_origin(kind)

    monkeypatch.setattr(json_records, "get_origin", ask)
    for _ in range(50):
        check([("a", 1j)], Sequence[tuple[str, complex]] | None, "words")
    assert len(asked) == len(set(asked))
