"""Similarity of topics, and the words characteristic of a topic at one date; both from stored words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards.rows.history import NO_WORD, History, Ints

TELLING = 6


def order_by_similarity(history: History) -> Ints:
    """Return the topics' columns in an order in which adjacent topics are similar, shape (T,).

    Average linkage on the angles between mixtures of stored words over the whole life, leaves in optimal order.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    topics = history.topic.size
    if topics < 3:
        return np.arange(topics)
    angle = lifetime_angles(history)
    tree = linkage(squareform(0.5 * (angle + angle.T), checks=False), "average", optimal_ordering=topics <= 150)
    order: Ints = leaves_list(tree).astype(np.int64)
    return order if order[0] <= order[-1] else order[::-1]


def lifetime_angles(history: History) -> NDArray[np.float64]:
    """Return the angles in radians between mixtures of all stored words of each topic, shape (T, T)."""
    lives = _life(history)
    length = np.linalg.norm(lives, axis=1, keepdims=True)
    unit = lives / np.where(length > 0, length, 1.0)
    angle: NDArray[np.float64] = np.arccos(np.clip(unit @ unit.T, -1.0, 1.0))
    np.fill_diagonal(angle, 0.0)
    return angle


def characteristic_words(history: History) -> Ints:
    """Return the words characteristic of each slice, best first, shape (S, T, 6), -1 where there are no more.

    A word is the more characteristic the stronger it is, the fewer active topics share it, and the stronger it is
    compared with the topic's whole life.
    """
    slices, topics, ranks = history.word.shape
    out = np.full((slices, topics, TELLING), NO_WORD, dtype=np.int64)
    if not ranks:
        return out
    lives = _life(history) / np.maximum(history.alive().sum(axis=0), 1)[:, None]
    size = len(history.vocabulary)
    for s in range(slices):
        word, weight = history.word[s], history.weight[s]
        there = word >= 0
        at = np.where(there, word, 0)
        everywhere = np.bincount(at[there], weights=weight[there], minlength=size)
        shared = weight / np.maximum(everywhere[at], 1e-12)
        usual = np.take_along_axis(lives, at, axis=1)
        lift = np.clip(weight / np.maximum(usual, 1e-12), 0.4, 2.5)
        score = np.where(there, weight * np.sqrt(shared * lift), -1.0)
        best = np.argsort(-score, axis=1, kind="stable")[:, :TELLING]
        chosen = np.where(np.take_along_axis(score, best, axis=1) > 0, np.take_along_axis(word, best, axis=1), NO_WORD)
        out[s, :, : chosen.shape[1]] = chosen
    return out


def _life(history: History) -> NDArray[np.float64]:
    """Return the sum of stored words over each topic's life, shape (T, V)."""
    topics, size = history.topic.size, max(len(history.vocabulary), 1)
    s, t, r = np.nonzero(history.word >= 0)
    flat = t * size + history.word[s, t, r]
    life = np.bincount(flat, weights=history.weight[s, t, r], minlength=topics * size)
    return np.asarray(life, dtype=np.float64).reshape(topics, size)
