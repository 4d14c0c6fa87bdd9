"""Readings of a state: its topics, filtered and smoothed; memberships, densities and novelty of documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.predictive import topic_densities
from vmfstream.bayes.temporal.chain import smooth
from vmfstream.online import filtering
from vmfstream.online.belief import (
    current_belief,
    label,
    lowest_cosine,
    novelty_of,
    posterior,
    predicted_belief,
    score,
    up_to_date,
)
from vmfstream.online.results import SliceResult, StepInfo, TrackedTopics, mean_cosines, topic_view
from vmfstream.online.smoothed_window import as_it_was, begun, labels
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState
from vmfstream.protocols import DocumentTopics


def memberships(state: TrackState, x: Rows, settings: TrackerSettings) -> tuple[Matrix, NDArray[np.float64]]:
    """Compute memberships (N, kp) and log-densities (N,) of unit rows ``x`` (N, D) given all that ``state`` has learnt.

    Log-densities are in nats relative to the uniform density. Documents without direction have neither: rows of zeros
    and 0. They are computed in the precision of ``x``. ``settings`` are those that the state was made with.
    """
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    known = current_belief(up_to_date(state), settings)
    known = known._replace(f=known.f.astype(x.dtype, copy=False))
    resp, loglik, _ = posterior(x, known, threads=settings.threads)
    return resp, loglik


def most_probable(state: TrackState, x: Rows, settings: TrackerSettings) -> NDArray[np.int64]:
    """Return the ids of the most probable topics of documents, (N,), -1 for those without direction.

    ``state``, ``x`` and ``settings`` as in `memberships`.
    """
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    found = label(x, current_belief(up_to_date(state), settings), threads=settings.threads).label
    return np.where(found >= 0, state.ids[found], -1)


def topic_log_densities(state: TrackState, x: Rows, settings: TrackerSettings) -> NDArray[np.float64]:
    """Compute log weight plus log-density of every topic for documents, (N, K), given all that was learnt.

    Exact, by N K Bessel functions; their softmax are the memberships, see `vmfstream.bayes.tempering.tempered`.
    Arguments as in `memberships`.
    """
    known = current_belief(up_to_date(state), settings)
    return topic_densities(x, known.f, known.gamma, known.kappa) + known.log_weights


def predictive_log_likelihood(
    state: TrackState, x: Rows, settings: TrackerSettings, *, base: Matrix | None = None
) -> NDArray[np.float64]:
    """Compute the log-density of documents of the open slice under the prediction made before it began.

    In nats relative to the uniform density, (documents with a direction,) [predictive density of the next slice, GY14
    Section 4]. ``state``, ``x`` and ``settings`` as in `memberships`; ``base`` (D, kp) replaces the natural vectors of
    the leading prediction.
    """
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    loglik, label = score(x, predicted_belief(state, settings, base), threads=settings.threads)
    return np.asarray(loglik[label >= 0])


def novelty(state: TrackState, x: Rows, info: StepInfo) -> NDArray[np.float64]:
    """Compute by how many nats a topic without documents explains documents better than all known topics, (N,).

    First-story detection: above 0 the known topics are no help. ``info`` is what `vmfstream.online.tracker.step`
    returned for the unit rows ``x`` (N, D) and ``state`` the state after it; documents without direction have 0. Costs
    one product with one vector more than scoring.
    """
    return novelty_of(x, state.anchor, state.kappa, info.loglik, info.label)


def current(state: TrackState) -> TrackedTopics:
    """Describe the topics in the middle of the open slice, with the documents it has so far."""
    state = up_to_date(state)
    return topic_view(
        state, state.slice, None if filtering.is_first_slice(state) else state.base, state.f, state.open.n
    )


def document_topics(state: TrackState) -> list[DocumentTopics]:
    """Return the topics of the documents of the window's slices, oldest first, and of the kept ones of the open one."""
    shown = as_it_was(state).state
    found = [labels(shown, w) for w in shown.window]
    kept = [resp for _, resp in state.open.kept]
    if kept:
        resp = np.concatenate(kept)
        topic = np.where(resp.any(axis=1), state.ids[resp[:, : state.k].argmax(axis=1)], -1)
        found.append(DocumentTopics(state.slice, topic))
    return found


def newest_filtered(state: TrackState, settings: TrackerSettings) -> tuple[TrackedTopics, Matrix]:
    """Describe the filtered topics of the newest slice in the window; return also the prediction for the next (D, kp).

    The prediction is the data part alone, without the anchor. The window must hold a slice.
    """
    before, h, p = filtering.run(state, filtering.statistics(state), state.leader, settings)
    newest = state.window[-1]
    n = filtering.counts((newest,), state.kp)
    return topic_view(state, newest.index, before, filtering.anchored(state, h), n), p


def newest_slice(state: TrackState, settings: TrackerSettings) -> SliceResult | None:
    """Report the newest slice of a state that was just initialised, as `end_slice` does; None without closed slices."""
    if not state.window:
        return None
    filtered, _ = newest_filtered(state, settings)
    newest = state.window[-1]
    return SliceResult(float("nan"), filtered, (), newest.resp, mean_cosines(newest.x, filtered))


def smoothed(state: TrackState, settings: TrackerSettings) -> list[TrackedTopics]:
    """Describe the topics of the slices that are still in the window given all of its documents, oldest first.

    A topic begins with its birth and its first document, and those that have ended since are there too: see
    `vmfstream.online.smoothed_window`.
    """
    if not state.window:
        return []
    past_window = as_it_was(state)
    state = past_window.state
    omega, past = settings.persistences[state.leader], filtering.past(state, state.leader)
    nothing = np.zeros((state.dim, state.kp), np.float32)
    stats = [nothing if s is None else s.dense(state.dim) for s in filtering.statistics(state)]
    beliefs = smooth(stats, state.kappa, past, omega, state.anchor, k=state.k).s
    if state.prior is not None:
        beliefs = [f + state.prior for f in beliefs]
    views = []
    so_far = state.n_past
    for w, before, f in zip(state.window, [None, *beliefs[:-1]], beliefs, strict=True):
        n = filtering.counts((w,), state.kp)
        so_far = so_far + n
        view = topic_view(state, w.index, before, f, n)
        if before is None:
            view = replace(view, drift_angle=state.smoothed_drift_angle[: state.k])
        views.append(begun(past_window, view, so_far, settings.fitting.least_shown))
    return views
