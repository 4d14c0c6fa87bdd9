"""The belief about the topics' means in the open slice, f = prediction + kappa S: computed, or updated in place.

Everywhere ``state`` is the state of the tracker and ``settings`` its settings; ``threads`` share the rows of a matrix.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.bayes.factors.beliefs import learn
from vmfstream.bayes.temporal.word_sums import words_of
from vmfstream.directional.kernels import in_parts
from vmfstream.mixtures.columns import column_norms
from vmfstream.online import filtering
from vmfstream.online.prediction import Belief
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState, Vector

MOST_WORDS = 4
"""Non-zeros per word of the vocabulary from which on a batch is taken to hold most words, without counting them."""


def current_belief(state: TrackState, settings: TrackerSettings) -> Belief:
    """Return the belief that documents of the open slice are scored under now."""
    return belief_of(state, state.f, state.gamma, state.n + state.open.n, settings)


def predicted_belief(state: TrackState, settings: TrackerSettings, base: Matrix | None = None) -> Belief:
    """Return the belief made before the open slice began; ``base`` (D, kp) replaces the leading prediction."""
    f = state.base if base is None else base
    return belief_of(state, f, column_norms(f), state.n, settings)


def belief_of(state: TrackState, f: Matrix, gamma: Vector, n: Vector, settings: TrackerSettings) -> Belief:
    """Combine means ``f`` (D, kp) of lengths ``gamma`` (kp,) with the weights that counts ``n`` (kp,) predict."""
    k = state.k
    log_weights = np.log(n[:k] + settings.alpha) - np.log(n[:k].sum() + settings.alpha * k)
    return Belief(f, gamma[:k], state.kappa, log_weights, state.lowest_cosine)


def with_prediction(state: TrackState, settings: TrackerSettings) -> TrackState:
    """Recompute the prediction for the open slice from the past and the window under the leading persistence."""
    _, _, p = filtering.run(state, filtering.statistics(state), state.leader, settings)
    return refreshed(replace(state, base=filtering.anchored(state, p)))


def refreshed(state: TrackState) -> TrackState:
    """Return the state with f = prediction + kappa S of the open slice made anew.

    After donated steps it then equals, to the last bit, the state that is restored from its arrays.
    """
    if not state.open.documents:
        return replace(state, f=state.base, gamma=column_norms(state.base), in_belief=0)
    f, gamma = learn(state.base, state.open.s, np.full(state.kp, state.kappa))
    return replace(state, f=f, gamma=gamma, in_belief=state.open.documents)


def up_to_date(state: TrackState) -> TrackState:
    """Return a state whose belief includes every document: this one, where it does already."""
    return state if state.in_belief == state.open.documents else refreshed(state)


def update(
    f: Matrix, gamma: Vector, base: Matrix, s: Matrix, kappa: float, words: NDArray[np.intp] | None, threads: int
) -> Vector:
    """Set f = base + kappa S in place after documents were added to S, and return the lengths of the columns of f.

    Work and memory traffic are those of the words named.

    Parameters
    ----------
    f : (D, kp), overwritten.
    gamma : (kp,) lengths of its columns before.
    base, s : (D, kp), the prediction for the slice and the statistics of the slice.
    kappa : concentration of documents around the means.
    words : rows of S that have changed since; None for any.
    """
    squares = np.zeros((threads, len(gamma)))
    if words is None:
        in_parts(_update_all, len(f), threads, base, s, kappa, f, own=squares)
        return np.asarray(np.sqrt(squares.sum(axis=0)))
    in_parts(_update_words, len(words), threads, words, base, s, kappa, f, own=squares)
    return np.asarray(np.sqrt(np.maximum(gamma * gamma + squares.sum(axis=0), 0.0)))


def few_words(x: Rows) -> NDArray[np.intp] | None:
    """Return the words that documents hold, or None if these are more than half of the vocabulary."""
    d = x.shape[1]
    if isinstance(x, np.ndarray) or x.nnz >= MOST_WORDS * d:
        return None
    words = words_of(x)
    return None if 2 * len(words) > d else words


@njit(cache=True, nogil=True)
def _update_all(low: int, high: int, square: Vector, base: Matrix, s: Matrix, kappa: float, f: Matrix) -> None:
    for i in range(low, high):
        for j in range(f.shape[1]):
            v = base[i, j] + kappa * s[i, j]
            f[i, j] = v
            square[j] += v * v


@njit(cache=True, nogil=True)
def _update_words(
    low: int, high: int, gain: Vector, words: NDArray[np.intp], base: Matrix, s: Matrix, kappa: float, f: Matrix
) -> None:
    """Do as `_update_all` for a few words, and add up by how much the squares of f have grown."""
    for place in range(low, high):
        i = words[place]
        for j in range(f.shape[1]):
            old, v = np.float64(f[i, j]), base[i, j] + kappa * s[i, j]
            f[i, j] = v
            gain[j] += np.float64(f[i, j]) ** 2 - old * old
