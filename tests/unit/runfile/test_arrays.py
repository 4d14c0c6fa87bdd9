"""Packing arrays: bit for bit, no pickle."""

from __future__ import annotations

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vmfstream.runfile.arrays import pack, unpack

_DTYPES = st.one_of(
    hnp.floating_dtypes(endianness="?"),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.boolean_dtypes(),
    hnp.unicode_string_dtypes(min_len=1),
    hnp.byte_string_dtypes(min_len=1),
    hnp.datetime64_dtypes(),
)


@given(st.dictionaries(st.text(max_size=5), hnp.arrays(_DTYPES, hnp.array_shapes(min_dims=0, min_side=0)), max_size=4))
def test_comes_back_bit_for_bit(arrays: dict[str, np.ndarray]) -> None:
    back = unpack(pack(arrays))
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()
        assert back[name].flags.writeable


def test_keeps_the_value_of_a_turned_array() -> None:
    turned = np.arange(6, dtype=np.float32).reshape(2, 3).T
    np.testing.assert_array_equal(unpack(pack({"a": turned}))["a"], turned)


@pytest.mark.parametrize(
    "array", [np.array([object()]), np.array(["a"], dtype=np.dtypes.StringDType()), np.zeros(2, dtype="i4,f8")]
)
def test_refuses_what_is_not_plain(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="state 'bad' must hold numbers"):
        pack({"bad": array})


def test_reads_what_was_written_uncompressed() -> None:
    header = b'[["a", "<i8", [2]]]'
    plain = b"vmfstream arrays 1\n" + len(header).to_bytes(8, "little") + header + np.array([3, 5]).tobytes()
    plain += bytes(-len(plain) % 8)
    np.testing.assert_array_equal(unpack(plain)["a"], [3, 5])
    with pytest.raises(ValueError, match="should end"):
        unpack(plain[:-16])
    with pytest.raises(ValueError, match="should end"):
        unpack(plain + bytes(8))


def test_zeros_need_no_room() -> None:
    assert len(pack({"a": np.zeros(1_000_000)})) < 2_000


def test_refuses_foreign_and_cut_bytes() -> None:
    body = pack({"a": np.arange(500)})
    with pytest.raises(ValueError, match="expected packed arrays"):
        unpack(b"PK" + body)
    for other in (body[:-8], body + bytes(8), body[:20]):
        with pytest.raises(ValueError, match="should end"):
            unpack(other)
    damaged = bytearray(body)
    damaged[27:31] = bytes(4)
    with pytest.raises(ValueError, match="cannot be decompressed"):
        unpack(bytes(damaged))


def packed(header: bytes, content: bytes = b"") -> bytes:
    """Return what `pack` makes, with any header."""
    frame = zstandard.ZstdCompressor().compress(len(header).to_bytes(8, "little") + header + content)
    body = b"vmfstream arrays 2\n" + len(frame).to_bytes(8, "little") + frame
    return body + bytes(-len(body) % 8)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (b"5", "a header that cannot be read: 'int' object is not iterable"),
        (b"null", "cannot be read"),
        (b"[" * 10**5, "cannot be read"),
        (b'[["x", "garbage", [1]]]', "cannot be read: data type 'garbage' not understood"),
        (b'[["x", [["a", "O"]], [1]]]', "cannot be read"),
        (b'[["x", "<i8", [1.5]]]', "cannot be read"),
        (b'[["x", "<i8", 1]]', "cannot be read"),
        (b'[["x", "O", [1]]]', r"hold 'x' of type object and shape \(1,\)"),
        (b'[["x", "<i8", [-1]]]', r"hold 'x' of type int64 and shape \(-1,\)"),
        (b'[["x", "<i8", [4294967296, 4294967296]]]', r"should end after \d+ bytes or later"),
    ],
)
def test_refuses_headers_that_are_none(header: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        unpack(packed(header, bytes(8)))


def test_refuses_what_would_take_most_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pack({"a": np.zeros(1_000_000)})
    monkeypatch.setattr("vmfstream.runfile.arrays.memory_there", lambda: 16_000_000)
    with pytest.raises(ValueError, match=r"would take 8,000,\d+ bytes, more than half of the memory"):
        unpack(body)
