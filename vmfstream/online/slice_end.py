"""The end of a slice: it joins the window, the window is refitted, topics change, the next slice is predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vmfstream.bayes.factors.concentration import point_kappa
from vmfstream.bayes.factors.directions import expected_cosines
from vmfstream.online import filtering, lifecycle
from vmfstream.online.belief_update import belief_of, predicted_belief, refreshed, up_to_date
from vmfstream.online.drift import with_alarms
from vmfstream.online.filtering import anchored, counts, statistics
from vmfstream.online.matching import adopted
from vmfstream.online.mergers import with_mergers
from vmfstream.online.reading import newest_filtered
from vmfstream.online.results import Prediction, SliceResult, TopicView, mean_cosines, topic_view
from vmfstream.online.state import OpenSlice, TrackerSettings, TrackState, WindowSlice, rows_of, stack
from vmfstream.online.window import refit

WINDOW_BYTES = 2**30
"""Memory for the matrices of the window's slices while it is smoothed."""


def close(state: TrackState, predicted: float, settings: TrackerSettings) -> tuple[TrackState, SliceResult]:
    """Learn the concentration, commit what leaves the window, refit it, predict the next slice.

    ``predicted`` is passed on to the result.
    """
    ending = state.open
    resp = np.concatenate([np.zeros((0, state.kp), np.float32), *[r for _, r in ending.kept]])
    x = stack([rows for rows, _ in ending.kept], state.dim)
    prediction = None
    if not filtering.first(state):
        belief = predicted_belief(state, settings)
        n = state.n + ending.n
        prediction = Prediction(x, belief_of(state, belief.f, belief.gamma, n, settings), state.ids)
        if not ending.fitted:
            state = lifecycle.arrived(state, x, belief, settings)
    state = replace(state, kappa=_concentration(up_to_date(state), settings))
    whole = ending.documents == len(resp)
    smoothed: list[TopicView] = []
    if whole:
        state = replace(state, window=(*state.window, WindowSlice(state.slice, x, resp)))
        while _overfull(state, settings):
            state, final = _commit_oldest(state, settings)
            smoothed.append(final)
        state, events = lifecycle.with_births(state, settings)
        if settings.refit and ending.n.any() and not ending.fitted:
            rng = np.random.default_rng([settings.seed, state.slice, 2])
            state, news = adopted(state, refit(state, settings, rng), settings)
            events += news
        state, merged = with_mergers(state, settings)
        state, slept = lifecycle.with_sleep(state, counts(state.window[-1:], state.kp)[: state.k], settings)
        resp = state.window[-1].resp
        filtered, p = newest_filtered(state, settings)
        state, alarms = with_alarms(state, filtered.speed, settings.drift)
    else:
        while state.window:
            state, final = _commit_oldest(state, settings)
            smoothed.append(final)
        before, h, p = filtering.run(state, [ending.s], state.leader, settings)
        filtered = topic_view(state, state.slice, before, anchored(state, h), ending.n)
        smoothed.append(filtered)
        state = filtering.commit(state, ending.s, ending.n, settings)
        state, alarms = with_alarms(state, filtered.speed, settings.drift)
        state, slept = lifecycle.with_sleep(state, ending.n[: state.k], settings)
        state, events = lifecycle.with_births(state, settings)
        state, merged = with_mergers(state, settings)
        p = filtering.past(state, state.leader)
    events = [*events, *merged, *slept, *alarms]
    n = state.n_past + counts(state.window, state.kp)
    empty = OpenSlice.empty(state.dim, state.kp)
    state = refreshed(replace(state, slice=state.slice + 1, n=n, open=empty, base=anchored(state, p)))
    cosine = mean_cosines(x, filtered)
    return state, SliceResult(predicted, filtered, smoothed, resp, cosine, events, whole, prediction)


def _concentration(state: TrackState, settings: TrackerSettings) -> float:
    """Move log kappa towards A^-1(sum_k S_k' E[mu_k] / N) of the open slice."""
    n = state.open.n.sum()
    if n < 1.0:
        return state.kappa
    t = expected_cosines(state.f, state.gamma[: state.k], state.open.s).sum()
    seen = float(point_kappa(state.dim, n, t)[0])
    speed = settings.concentration_speed
    return float(np.exp((1.0 - speed) * np.log(state.kappa) + speed * np.log(seen)))


def _overfull(state: TrackState, settings: TrackerSettings) -> bool:
    if len(state.window) < 2:
        return False
    documents = sum(rows_of(w.x) for w in state.window)
    stored = sum(w.x.size if isinstance(w.x, np.ndarray) else w.x.nnz for w in state.window)
    full = documents > settings.window_documents and stored > settings.window_coordinates
    return full or len(state.window) > _most_slices(state)


def _most_slices(state: TrackState) -> int:
    """The smoother holds up to four matrices per slice; a long window of small slices must not fill the memory."""
    return max(4, min(64, WINDOW_BYTES // (4 * state.base.nbytes)))


def _commit_oldest(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, TopicView]:
    """Move the oldest slice of the window into the past; its smoothed topics become final."""
    stats, first = statistics(state, settings), state.window[0]
    beliefs = filtering.oldest(state, stats, settings)
    n = counts((first,), state.kp)
    final = replace(topic_view(state, first.index, None, beliefs[0], n), speed=state.smoothed_speed[: state.k])
    speed = np.full(state.kp, np.nan)
    if len(beliefs) > 1:
        speed[: state.k] = topic_view(state, first.index + 1, beliefs[0], beliefs[1], n).speed
    state = filtering.commit(state, stats[0], n, settings)
    return replace(state, window=state.window[1:], smoothed_speed=speed), final
