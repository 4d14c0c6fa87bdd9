"""Bit mixers for hashing. Values are stored under their results, which must never change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
