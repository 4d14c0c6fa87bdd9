"""The end of a slice: it judges the prediction made for it, joins the window, changes topics; the next is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.factors import beliefs
from vmfstream.bayes.factors.concentration import point_kappa
from vmfstream.bayes.factors.directions import expected_cosines
from vmfstream.bayes.temporal.word_sums import SliceSums, narrowed
from vmfstream.directional.kernels import dots, posterior_from_dots
from vmfstream.mixtures.columns import directed
from vmfstream.online import filtering, lifecycle
from vmfstream.online.belief import (
    TOLERANCE,
    belief_of,
    lowest_cosine,
    posterior,
    predicted_belief,
    refreshed,
    score_polynomial,
    up_to_date,
    with_prediction,
)
from vmfstream.online.decisions import with_decisions
from vmfstream.online.drift import with_alarms
from vmfstream.online.endings import with_empty_ended
from vmfstream.online.filtering import anchored, counts, statistics
from vmfstream.online.identity import with_other_numbers, with_told, without_told
from vmfstream.online.matching import with_refit
from vmfstream.online.mergers import with_mergers
from vmfstream.online.reading import predictive_log_likelihood
from vmfstream.online.results import SliceResult, TrackedTopics, TrackerPrediction, mean_cosines, topic_view
from vmfstream.online.smoothed_window import as_it_was, begun, labels, with_holders, without_oldest
from vmfstream.online.state import (
    Matrix,
    OpenSlice,
    Rows,
    TrackerSettings,
    TrackState,
    WindowSlice,
    rows_of,
    slice_rng,
    stack,
)
from vmfstream.online.takeovers import with_takeovers
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.window import refit, topics_for
from vmfstream.protocols import DocumentTopics
from vmfstream.records import Decision, Event

WINDOW_BYTES = 2**30
"""Memory for the matrices of the window's slices while it is smoothed."""


def judge(state: TrackState, settings: TrackerSettings, *, describe: bool = True) -> tuple[TrackState, float]:
    """Score the open slice's documents under the prediction made before it began, for every persistence of the grid.

    The persistence with the largest decayed mean log-density leads from now on. To be called before the vocabulary
    changes. ``settings`` hold the grid. Without ``describe`` only the sample that judges it is scored.

    Returns
    -------
    state : with new scores and leader.
    predicted : mean log-density per document under the persistence that led so far, in nats relative to the uniform
        density; NaN if nothing was predicted, or not to be described.
    """
    kept = [rows for rows, _ in state.open.kept]
    documents = sum(map(rows_of, kept))
    predicted = np.zeros(0)
    if describe and documents and not filtering.is_first_slice(state):
        predicted = predictive_log_likelihood(state, stack(kept, state.dim), settings)
    if filtering.is_first_slice(state) or not (len(predicted) if describe else documents):
        return state, float("nan")
    order = slice_rng(settings.seed, state.slice, 1).permutation(documents)
    judged = _rows_at(kept, np.sort(order[: settings.persistence.judged_documents]), state.dim)
    if not directed(judged).any():
        return state, _mean(predicted)
    means = _grid_means(state, judged, settings)
    scores = settings.persistence.score_memory * state.scores + means
    leader = int(np.argmax(scores))
    if leader != state.leader:
        state = with_prediction(replace(state, leader=leader), settings)
    return replace(state, scores=scores), _mean(predicted)


def _rows_at(parts: list[Rows], numbers: NDArray[np.intp], dim: int) -> Rows:
    """Take rows by their ascending numbers out of parts that follow each other."""
    ends = np.cumsum([rows_of(part) for part in parts])
    cuts = np.searchsorted(numbers, ends)
    starts = ends - [rows_of(part) for part in parts]
    taken = np.split(numbers, cuts[:-1])
    return stack([part[own - low] for part, own, low in zip(parts, taken, starts, strict=True) if len(own)], dim)


def _grid_means(state: TrackState, x: Rows, settings: TrackerSettings) -> NDArray[np.float64]:
    """Mean log-density of documents under the prediction of every persistence of the grid, in nats.

    Of each prediction only the rows of the documents' words are made; of one that is the past alone, nothing.
    """
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    stats = filtering.statistics(state)
    if not stats and state.prior is None:
        return _grid_means_of_past(state, x, settings)
    narrow, means = narrowed(x), []
    for j in range(len(settings.persistences)):
        predicted = filtering.predicted(state, stats, j, settings)
        belief = belief_of(state, state.base, np.sqrt(predicted.anchored_squares), state.n, settings)
        poly = score_polynomial(belief)
        if poly.error > TOLERANCE or state.prior is not None:
            means.append(_exact_mean(state, x, predicted.matrix(), settings))
            continue
        f = beliefs.anchored(state.anchor[narrow.words], predicted.rows(narrow.words), state.k)
        _, loglik, label = posterior(narrow.x, belief._replace(f=f), threads=settings.threads, poly=poly)
        means.append(_mean(loglik[label >= 0]))
    return np.array(means)


def _grid_means_of_past(state: TrackState, x: Rows, settings: TrackerSettings) -> NDArray[np.float64]:
    """Do as `_grid_means` where all that is known has left the window: x'(B + p) = x'B + x'p."""
    along, empty, means = np.asarray(x @ state.anchor), ~directed(x), []
    for j in range(len(settings.persistences)):
        p = filtering.past(state, j)
        belief = belief_of(state, p, beliefs.anchored_norms(state.anchor, p, state.k), state.n, settings)
        poly = score_polynomial(belief)
        if poly.error > TOLERANCE:
            means.append(_exact_mean(state, x, p, settings))
            continue
        products = dots(x, p, threads=settings.threads)
        products[:, : state.k] += along[:, None]
        found = posterior_from_dots(products, empty, poly.coef, poly.centre, poly.scale, state.k)
        means.append(_mean(found.loglik[~empty]))
    return np.array(means)


def _exact_mean(state: TrackState, x: Rows, p: Matrix, settings: TrackerSettings) -> float:
    """Mean log-density of documents under the prediction of data part ``p`` (D, kp), in nats."""
    return _mean(predictive_log_likelihood(state, x, settings, base=anchored(state, p)))


@overload
def close(
    state: TrackState,
    predicted: float,
    settings: TrackerSettings,
    *,
    describe: Literal[True] = True,
    decisions: Sequence[Decision] = (),
) -> tuple[TrackState, SliceResult]: ...


@overload
def close(
    state: TrackState,
    predicted: float,
    settings: TrackerSettings,
    *,
    describe: bool,
    decisions: Sequence[Decision] = (),
) -> tuple[TrackState, SliceResult | None]: ...


def close(
    state: TrackState,
    predicted: float,
    settings: TrackerSettings,
    *,
    describe: bool = True,
    decisions: Sequence[Decision] = (),
) -> tuple[TrackState, SliceResult | None]:
    """Learn the concentration, commit what leaves the window, refit it, predict the next slice.

    Parameters
    ----------
    state : with the slice still open.
    predicted : in nats per document, passed on to the result.
    settings : as in `judge`.
    describe : without, the result is None.
    decisions : what people have decided about topics, done before the tracker decides itself.
    """
    ending = state.open
    viewed = describe or state.life is not None
    learnt = state.refits.after_slice(ending.documents)
    kept = ending.kept_documents
    whole = ending.documents == kept and (viewed or learnt.allows(kept, settings))
    used = ending.kept if whole or viewed else ()
    resp = np.concatenate([np.zeros((0, state.kp), np.float32), *[r for _, r in used]])
    x = stack([rows for rows, _ in used], state.dim)
    prediction = None
    if viewed and not filtering.is_first_slice(state):
        belief = predicted_belief(state, settings)
        n = state.n + ending.n
        prediction = TrackerPrediction(x, belief_of(state, belief.f, belief.gamma, n, settings), state.ids)
        if not ending.fitted:
            state = lifecycle.with_arrivals(state, x, belief, settings)
    kappa = _concentration(up_to_date(state), settings)
    state = replace(state, kappa=kappa, refits=learnt)
    smoothed, labelled = list[TrackedTopics](), list[DocumentTopics]()
    filtered: TrackedTopics | None = None
    alarms: list[Event] = []
    pairs = TopicPairs(settings)
    if whole:
        state = replace(state, window=(*state.window, WindowSlice(state.slice, x, resp)))
        while _overfull(state, settings):
            state = _commit_oldest(state, settings, (smoothed, labelled) if viewed else None)
        state, decided, refused = with_decisions(state, decisions, settings)
        state, events = without_told(state, decided), list[Event]()
        if ending.documents:  # what older ones had to tell was told
            state, events = lifecycle.with_births(state, settings, pairs)
        if ending.n.any() and not ending.fitted:
            state, ended = _refitted(state, settings)
            events += ended
        state, merged = _fewer(state, settings, pairs)
        state, dormancy = lifecycle.with_dormancy(state, counts(state.window[-1:], state.kp)[: state.k], settings)
        state = _settled(state)
        before, h, p = filtering.run(state, statistics(state), state.leader, settings)
        state, taken = with_takeovers(state, h, settings, pairs)
        if taken:
            events += taken
            state = _settled(state)
            before, h, p = filtering.run(state, statistics(state), state.leader, settings)
        state, renumbered = with_other_numbers(state, anchored(state, h), settings)
        events += renumbered
        resp = state.window[-1].resp
        state = with_told(with_holders(state), anchored(state, h))
        if viewed:
            n = counts(state.window[-1:], state.kp)
            filtered = topic_view(state, state.slice, before, anchored(state, h), n)
            state, alarms = with_alarms(state, filtered.drift_angle, settings.drift)
    else:
        while state.window:
            state = _commit_oldest(state, settings, (smoothed, labelled) if viewed else None)
        sums = SliceSums.whole(ending.s)
        if viewed:
            before, h, _ = filtering.run(state, [sums], state.leader, settings)
            filtered = topic_view(state, state.slice, before, anchored(state, h), ending.n)
            smoothed.append(filtered)
        state = filtering.commit(state, sums, ending.n, settings)
        if filtered is not None:
            state, alarms = with_alarms(state, filtered.drift_angle, settings.drift)
        state, dormancy = lifecycle.with_dormancy(state, ending.n[: state.k], settings)
        state, decided, refused = with_decisions(state, decisions, settings)
        state, events = lifecycle.with_births(state, settings, pairs)
        state, merged = _fewer(state, settings, pairs)
        p = filtering.past(state, state.leader)
    state = replace(state, by_hand=state.by_hand.of_living(state.ids))
    events = [*decided, *events, *merged, *dormancy, *alarms]
    n = state.n_past + counts(state.window, state.kp)
    empty = OpenSlice.empty(state.dim, state.kp)
    state = refreshed(replace(state, slice=state.slice + 1, n=n, open=empty, base=anchored(state, p)))
    if filtered is None:
        return state, None
    cosine = mean_cosines(x, filtered)
    return state, SliceResult(predicted, filtered, smoothed, resp, cosine, events, whole, prediction, refused, labelled)


def _fewer(state: TrackState, settings: TrackerSettings, pairs: TopicPairs) -> tuple[TrackState, list[Event]]:
    """End topics without documents, merge those that are one, then judge those whose trial is over."""
    state, ended = with_empty_ended(state, settings, pairs)
    state, merged = with_mergers(state, settings, pairs)
    state, judged = lifecycle.with_trials_ended(state, settings, pairs)
    return state, [*ended, *merged, *judged]


def _settled(state: TrackState) -> TrackState:
    """Make the sums of the window from its documents, as a state that is restored does."""
    return replace(state, window=tuple(w.settled() for w in state.window))


def _refitted(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Refit the window, if it is time to."""
    rows = sum(rows_of(w.x) for w in state.window)
    competing = state.warm_up and not state.by_hand.settled
    more = competing and topics_for([w.x for w in state.window], settings) > state.k
    if not (state.refits.allows(rows, settings) or (more and settings.refit)):
        return state, []
    cold = competing and (more or state.refits.allows_cold(rows, settings))
    rng = slice_rng(settings.seed, state.slice, 2)
    found = refit(state, settings, rng, cold=cold)
    counted = state.refits.after_refit(rows, settings, gain=found.gain, cold=cold, warm_up=state.warm_up)
    state = replace(state, refits=counted)
    return with_refit(state, found, settings)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _concentration(state: TrackState, settings: TrackerSettings) -> float:
    """Move log kappa towards A^-1(sum_k S_k' E[mu_k] / N) of the open slice."""
    n = state.open.n.sum()
    if n < 1.0:
        return state.kappa
    t = expected_cosines(state.f, state.gamma[: state.k], state.open.s).sum()
    seen = float(point_kappa(state.dim, n, t)[0])
    step = settings.concentration_step
    return float(np.exp((1.0 - step) * np.log(state.kappa) + step * np.log(seen)))


def _overfull(state: TrackState, settings: TrackerSettings) -> bool:
    if len(state.window) < 2:
        return False
    if len(state.window) > _most_slices(state, settings):
        return True
    documents = sum(rows_of(w.x) for w in state.window)
    stored = sum(w.x.size if isinstance(w.x, np.ndarray) else w.x.nnz for w in state.window)
    return documents > settings.window_documents and stored > settings.window_coordinates


def _most_slices(state: TrackState, settings: TrackerSettings) -> int:
    """The smoother holds up to four matrices per slice; a long window of small slices must not fill the memory."""
    return max(4, min(settings.fitting.most_slices, WINDOW_BYTES // (4 * state.base.nbytes)))


def _commit_oldest(
    state: TrackState, settings: TrackerSettings, final: tuple[list[TrackedTopics], list[DocumentTopics]] | None
) -> TrackState:
    """Move the oldest slice of the window into the past.

    Its topics and those of its documents become ``final`` and are added there; ``settings`` are those of the run.

    Of the slices after it as many are looked at as a window has, so that many small slices, which the first topics may
    have been fitted to, leave in linear time.
    """
    whole, first = state.window, state.window[0]
    state = replace(state, window=whole[: _most_slices(state, settings) + 1])
    stats = statistics(state)
    n = counts((first,), state.kp)
    angle = np.full(state.kp, np.nan)
    if final is not None:
        window = as_it_was(state)
        shown = window.state
        beliefs = filtering.smoothed_oldest(shown, statistics(shown), settings)
        then = counts(shown.window[:1], shown.kp)
        view = topic_view(shown, first.index, None, beliefs[0], then)
        view = replace(view, drift_angle=shown.smoothed_drift_angle[: shown.k])
        final[0].append(begun(window, view, shown.n_past + then, settings.fitting.least_shown))
        final[1].append(labels(shown, shown.window[0]))
        if len(beliefs) > 1:
            turned = topic_view(shown, first.index + 1, beliefs[0], beliefs[1], then).drift_angle
            angle[: state.k] = turned[: state.k]
    state = without_oldest(filtering.commit(state, stats[0], n, settings))
    return replace(state, window=whole[1:], smoothed_drift_angle=angle)
