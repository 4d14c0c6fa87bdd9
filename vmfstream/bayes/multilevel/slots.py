"""Slots of clusters and topics in the multilevel sampler: find free and used ones, draw one."""

from __future__ import annotations

from numba import njit

from vmfstream.arrays import Vector

SLOTS = 16
"""Room for topics is made in steps of this factor, so that rows fill whole registers."""

STRIDE = 16
"""Places that a draw passes over at once."""


@njit(cache=True)
def free_slot(count: Vector) -> int:
    """The first slot without members, -1 if there is none."""
    for m in range(len(count)):
        if count[m] == 0:
            return m
    return -1


@njit(cache=True)
def last_held(tokens: Vector) -> int:
    """One more than the last slot that has members."""
    top = len(tokens)
    while top > 0 and tokens[top - 1] == 0:
        top -= 1
    return top


@njit(cache=True, fastmath={"reassoc", "contract"})
def _total(weight: Vector) -> float:
    total = 0.0
    for w in weight:
        total += w
    return total


@njit(cache=True)
def drawn_slot(weight: Vector, uniform: float) -> int:
    """Draw a place in proportion to its weight; rounding never ends in a place of weight 0."""
    left, first = uniform * _total(weight), 0
    while first + STRIDE < len(weight):
        part = _total(weight[first : first + STRIDE])
        if part > left:
            break
        left, first = left - part, first + STRIDE
    for m in range(first, len(weight)):
        left -= weight[m]
        if left < 0:
            return m
    last = len(weight) - 1
    while weight[last] == 0:
        last -= 1
    return last
