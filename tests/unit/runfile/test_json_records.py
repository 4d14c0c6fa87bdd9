"""Types of stored records, under the names that libraries give them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from vmfstream.runfile.json_records import check

T = TypeVar("T", bound=np.generic)
Named = TypeAliasType("Named", np.ndarray[Any, np.dtype[T]], type_params=(T,))  # as NumPy 2.5 defines NDArray


@pytest.mark.parametrize("expected", [Named[np.int64], Named[np.int64] | None])
def test_a_type_may_have_a_name(expected: Any) -> None:
    check(np.zeros(3, np.int64), expected, "column")
    for wrong in (np.zeros(3), [0, 0, 0]):
        with pytest.raises(ValueError, match=r"column: expected .*Named"):
            check(wrong, expected, "column")
