"""Numbers whose every bit depends on every bit of another: what is stored under them must never change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

_BYTES = np.arange(256, dtype=np.uint32)
for _ in range(8):
    _BYTES = (_BYTES >> np.uint32(1)) ^ (_BYTES & np.uint32(1)) * np.uint32(0xEDB88320)


def mixed32(h: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Mix 32 bits: the finaliser of MurmurHash3."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def mixed64(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix 64 bits: one step of splitmix64 [Steele, Lea, Flood 2014]."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def crc32s(names: Sequence[bytes]) -> NDArray[np.uint32]:
    """Return the CRC-32 of byte strings, as `zlib.crc32` does."""
    starts = np.concatenate(([0], np.cumsum([len(name) for name in names], dtype=np.int64)))
    return np.asarray(crc32_each(starts, np.frombuffer(b"".join(names), np.uint8)))


@njit(cache=True, nogil=True)
def crc32_each(starts, pool):  # type: ignore[no-untyped-def]
    """Return the CRC-32 of the byte strings ``pool[starts[i] : starts[i + 1]]``."""
    out = np.empty(starts.size - 1, np.uint32)
    for i in range(out.size):
        crc = np.uint32(0xFFFFFFFF)
        for j in range(starts[i], starts[i + 1]):
            crc = _BYTES[(crc ^ pool[j]) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
        out[i] = ~crc
    return out
