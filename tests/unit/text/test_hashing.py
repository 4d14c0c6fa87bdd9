"""Mixed bits are stored in logs: they are what they always were."""

from __future__ import annotations

import numpy as np

from vmfstream.text.hashing import mixed32, mixed64


def test_bits_are_mixed_as_published() -> None:
    # MurmurHash3's fmix32 of 1, and the first outputs of splitmix64 from the state 0
    assert mixed32(np.array([0, 1], np.uint32)).tolist() == [0, 0x514E28B7]
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        states = np.arange(3, dtype=np.uint64) * step
    assert mixed64(states).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
