"""Sketches of mean directions: few numbers that keep cosines, and stay comparable when the vocabulary grows.

Every word adds its weight, with a sign, to four of 512 numbers that depend on its letters alone (a sparse
Johnson-Lindenstrauss transform, Kane and Nelson 2014). Two sketches of the same topic at different dates can therefore
be compared although the columns have changed; their cosine errs by about 0.044 (1 - cos^2). Only directions matter, so
that each sketch is scaled to whole numbers from -127 to 127: twice as many numbers in the same room are worth more than
digits of noise.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.records import SKETCH_SIZE

_PLACES = 4


Projection: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Which numbers each word adds to, and with which signs: both (D, 4)."""


def projection(names: Iterable[bytes]) -> Projection:
    """Return how vectors whose columns have these D names are sketched."""
    hashes = np.fromiter(map(zlib.crc32, names), np.uint32)
    block = SKETCH_SIZE // _PLACES
    rows = np.empty((hashes.size, _PLACES), np.int32)
    signs = np.empty((hashes.size, _PLACES), np.float32)
    for place in range(_PLACES):
        mixed = mixed32(hashes + np.uint32(0x9E3779B9 * (place + 1) & 0xFFFFFFFF))
        rows[:, place] = place * block + (mixed % np.uint32(block)).astype(np.int32)
        signs[:, place] = np.where(mixed >> np.uint32(31), 0.5, -0.5)  # four halves squared are one
    return rows, signs


def mixed32(h: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Mix 32 bits: the finaliser of MurmurHash3. Sketches are stored, so the results must never change."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def sketch(project: Projection, directions: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return the sketches (K, 512) of the columns of ``directions`` (D, K), each up to a factor."""
    numbers = _projected(*project, directions).T
    largest = np.abs(numbers).max(axis=1, keepdims=True)
    scale = np.divide(127.0, largest, out=np.zeros_like(largest), where=largest > 0.0)
    return np.asarray(np.rint(numbers * scale), dtype=np.int8)


@njit(cache=True, nogil=True)
def _projected(
    rows: NDArray[np.int32], signs: NDArray[np.float32], directions: NDArray[np.float32]
) -> NDArray[np.float32]:
    out = np.zeros((SKETCH_SIZE, directions.shape[1]), np.float32)
    for word in range(rows.shape[0]):
        for place in range(_PLACES):
            sign, row = signs[word, place], rows[word, place]
            for topic in range(directions.shape[1]):
                out[row, topic] += sign * directions[word, topic]
    return out
