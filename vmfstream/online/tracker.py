"""The tracker: topics as moving means on the sphere, followed slice by slice in one pass over the documents.

A slice is scored batch by batch under the prediction made from the past plus what the slice has gathered so far
(`step`); when it ends, its statistics enter the filter, the window of recent slices is refitted as a whole and the next
slice is predicted (`close`). States are values: every function returns a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.factors.beliefs import learn
from vmfstream.bayes.factors.concentration import point_kappa
from vmfstream.bayes.factors.directions import expected_cosines
from vmfstream.bayes.predictive import topic_densities
from vmfstream.bayes.temporal.chain import smooth
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate, copied, padded, zeros
from vmfstream.mixtures.columns import column_norms, directed
from vmfstream.online import chain, lifecycle
from vmfstream.online.births import unseen
from vmfstream.online.chain import anchored, counts, statistics
from vmfstream.online.drift import with_alarms
from vmfstream.online.growth import carried, moved, put_rows
from vmfstream.online.matching import adopted
from vmfstream.online.mergers import with_mergers
from vmfstream.online.prediction import Belief, gather, lowest_cosine, posterior, score
from vmfstream.online.renewal import few_words, renew
from vmfstream.online.state import (
    Life,
    Matrix,
    OpenSlice,
    Rows,
    TrackerSettings,
    TrackState,
    Vector,
    WindowSlice,
    rows_of,
    stack,
)
from vmfstream.online.views import Closed as Closed
from vmfstream.online.views import TopicView as TopicView
from vmfstream.online.views import typicality, view
from vmfstream.online.window import cold_fits, refit, topics_for
from vmfstream.records import Event

SCORE_MEMORY = 0.8
"""How much of a persistence's score survives a slice."""

JUDGED_DOCUMENTS = 1000
"""Documents of a slice that judge the grid of persistences; their mean score is all that is needed."""

LAG = 1.25
"""How much a slice grows before its belief is made anew where that is work of the size of the vocabulary."""

WINDOW_BYTES = 2**30
"""Memory for the matrices of the window's slices while it is smoothed."""


class StepInfo(NamedTuple):
    """What one batch showed: log-density before learning and strongest topic (a row index, -1 for empty documents)."""

    loglik: Vector
    label: NDArray[np.int32]


def start(
    settings: TrackerSettings, slices: Sequence[tuple[int, Rows]], open_slice: int, open_rows: Rows
) -> TrackState:
    """Fit the first topics on documents gathered so far.

    Parameters
    ----------
    slices : closed slices, as (slice number, rows); may be empty.
    open_slice, open_rows : the slice that goes on, with the documents it already has (possibly none).
    """
    parts = [x for _, x in slices] + ([open_rows] if rows_of(open_rows) or not slices else [])
    dim = int(parts[0].shape[1])
    rng = np.random.default_rng([settings.seed, open_slice, 0])
    omega_at = settings.persistences.index(sorted(settings.persistences)[len(settings.persistences) // 2])
    k = topics_for(parts, settings)
    fit = cold_fits(parts, k, settings, settings.persistences[omega_at], rng)
    kp = padded(k)
    window = tuple(
        WindowSlice(index, x, resp) for (index, x), resp in zip(slices, fit.resp[: len(slices)], strict=True)
    )
    state = TrackState(
        slice=open_slice,
        anchor=fit.anchor,
        kappa=fit.kappa,
        ids=np.arange(k, dtype=np.int64),
        next_id=k,
        n=counts(window, kp),
        n_past=np.zeros(kp),
        past=None,
        window=window,
        scores=np.zeros(len(settings.persistences)),
        leader=omega_at,
        open=_nothing(dim, kp),
        base=np.zeros((dim, kp), np.float32),
        f=np.zeros((dim, kp), np.float32),
        gamma=np.zeros(kp),
        lowest_cosine=lowest_cosine(parts),
        smoothed_speed=np.full(kp, np.nan),
        life=lifecycle.begun(dim, k) if settings.living_topics else None,
    )
    state = _predicted(state, settings)
    if len(parts) > len(slices) and rows_of(open_rows):
        resp = fit.resp[-1]
        s = accumulate(open_rows, resp, threads=settings.threads)
        gathered = OpenSlice(
            s, resp.sum(axis=0, dtype=np.float64), rows_of(open_rows), ((open_rows, resp),), fitted=True
        )
        state = refreshed(replace(state, open=gathered))
    return state


def step(state: TrackState, x: Rows, settings: TrackerSettings, *, spend: bool = False) -> tuple[TrackState, StepInfo]:
    """Score a batch under the current belief, then add it to the open slice (one pass over its non-zeros).

    With ``spend`` the state given is used up: its matrices become those of the new one. Nothing of the size of the
    vocabulary is copied then; without, two matrices of it are. Where batches hold most words, their belief may then
    lack the last fifth of the slice's documents; see `refreshed`.
    """
    if rows_of(x) == 0:
        return state, StepInfo(np.zeros(0), np.zeros(0, np.int32))
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    room = max(settings.slice_limit - sum(rows_of(rows) for rows, _ in state.open.kept), 0)
    s = state.open.s if spend else copied(state.open.s)
    out = gather(x, belief(state, settings), threads=settings.threads, keep=room, into=s)
    opened = _more(state.open, s, state.open.n + out.n, rows_of(x), x[:room] if room else x, out.resp)
    if not spend:
        return refreshed(replace(state, open=opened)), StepInfo(out.loglik, out.label)
    words = few_words(x) if state.known == state.open.documents else None
    if words is None and opened.documents < LAG * state.known:
        return replace(state, open=opened), StepInfo(out.loglik, out.label)
    f = copied(state.f) if state.f is state.base else state.f
    gamma = renew(f, state.gamma, state.base, s, state.kappa, words, settings.threads)
    return replace(state, open=opened, f=f, gamma=gamma, known=opened.documents), StepInfo(out.loglik, out.label)


def refreshed(state: TrackState) -> TrackState:
    """Return the state with f = prediction + kappa S of the open slice made anew.

    After steps in place it is then to the last bit what is restored.
    """
    if not state.open.documents:
        return replace(state, f=state.base, gamma=column_norms(state.base), known=0)
    f, gamma = learn(state.base, state.open.s, np.full(state.kp, state.kappa))
    return replace(state, f=f, gamma=gamma, known=state.open.documents)


def up_to_date(state: TrackState) -> TrackState:
    """Return a state whose belief lacks no document: this one, where it lacks none."""
    return state if state.known == state.open.documents else refreshed(state)


def gathered(state: TrackState, s: Matrix, n: Vector, documents: int, kept: Rows, resp: Matrix) -> TrackState:
    """Let the open slice have the sums ``s`` and ``n``, so many documents more, and of these some to keep."""
    return refreshed(replace(state, open=_more(state.open, s, n, documents, kept, resp)))


def _more(opened: OpenSlice, s: Matrix, n: Vector, documents: int, kept: Rows, resp: Matrix) -> OpenSlice:
    more = ((kept, resp),) if len(resp) else ()
    return OpenSlice(s, n, opened.documents + documents, (*opened.kept, *more))


def belief(state: TrackState, settings: TrackerSettings) -> Belief:
    """What documents of the open slice are scored under now."""
    return _belief(state, state.f, state.gamma, state.n + state.open.n, settings)


def novelty(state: TrackState, x: Rows, info: StepInfo) -> NDArray[np.float64]:
    """How much better a topic that nobody has seen yet explains documents than all known ones do, in nats, (N,).

    First-story detection: above 0 the known topics are no help. ``info`` is what `step` told about ``x``; documents
    without direction have 0. One product with one vector more than scoring, which is why `step` does not do it.
    """
    return novelty_beside(x, state.anchor, state.kappa, info)


def novelty_beside(x: Rows, anchor: Matrix, kappa: float, info: StepInfo) -> NDArray[np.float64]:
    """Return `novelty` where of the state only its anchor and concentration are at hand."""
    return np.where(info.label >= 0, unseen(x, anchor, kappa) - info.loglik, 0.0)


def judge(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, float]:
    """Score the open slice's documents under the prediction made before it began, for every persistence of the grid.

    The mean log-density per document decides which persistence leads from now on (the leader over decayed means).
    Returns the state with new scores and leader, and the mean under the persistence that led so far (NaN if nothing was
    predicted). To be called at the end of a slice, before the vocabulary changes.
    """
    x = stack([rows for rows, _ in state.open.kept], state.dim)
    predicted = density(state, x, settings) if rows_of(x) and not chain.first(state) else np.zeros(0)
    if not len(predicted):
        return state, float("nan")
    sample = np.random.default_rng([settings.seed, state.slice, 1]).permutation(rows_of(x))[:JUDGED_DOCUMENTS]
    judged = x[np.sort(sample)]
    stats = statistics(state, settings)
    means = np.array(
        [
            _mean(density(state, judged, settings, base=anchored(state, chain.run(state, stats, j, settings)[2])))
            for j in range(len(settings.persistences))
        ]
    )
    scores = SCORE_MEMORY * state.scores + means
    leader = int(np.argmax(scores))
    if leader != state.leader:
        state = _predicted(replace(state, leader=leader), settings)
    return replace(state, scores=scores), _mean(predicted)


def density(
    state: TrackState, x: Rows, settings: TrackerSettings, *, base: Matrix | None = None
) -> NDArray[np.float64]:
    """Log-density of documents of the open slice under the prediction made before it began, empty documents left out.

    In nats relative to the uniform density, (documents,) [predictive density of the next slice, GY14 Section 4].
    """
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    f = state.base if base is None else base
    loglik, label = score(x, _belief(state, f, column_norms(f), state.n, settings), threads=settings.threads)
    return np.asarray(loglik[label >= 0])


def regrow(
    state: TrackState, columns: NDArray[np.int32], window: Sequence[Rows], kept: Rows, settings: TrackerSettings
) -> TrackState:
    """Move the state to a new vocabulary.

    ``columns[j]`` is the old column of new column j, or -1 where it is new; ``window`` and ``kept`` are the same
    documents in the new encoding. Directions are padded with zeros; every concentration is solved again from its
    dimension-free counterpart (a mean resultant length or an expected cosine), since kappa grows like D.
    """
    new = len(columns)
    n, kept_parts = state.open.n, state.open.kept
    s = zeros(new, state.kp)
    put_rows(state.open.s, columns, s)
    if kept_parts:
        resp = _masked(kept, np.concatenate([r for _, r in kept_parts]))
        kept_parts = ((kept, resp),)
        if state.open.documents == len(resp):
            s, n = accumulate(kept, resp, threads=settings.threads), resp.sum(axis=0, dtype=np.float64)
    parts = tuple(WindowSlice(w.index, x, _masked(x, w.resp)) for w, x in zip(state.window, window, strict=True))
    moved_state = replace(
        state,
        anchor=moved(state.anchor[:, None], columns)[:, 0],
        kappa=float(inv_bessel_ratio(new, bessel_ratio(state.dim, state.kappa))),
        n=state.n_past + counts(parts, state.kp),
        past=None if state.past is None else tuple(moved(h, columns) for h in state.past),
        window=parts,
        open=OpenSlice(s, n, state.open.documents, kept_parts, state.open.fitted),
        base=np.zeros((new, state.kp), np.float32),
        life=None if state.life is None else carried(state.life, columns, state.dim),
    )
    return _predicted(moved_state, settings)


def close(state: TrackState, predicted: float, settings: TrackerSettings) -> tuple[TrackState, Closed]:
    """End the open slice: learn the concentration, commit what leaves the window, refit it, predict the next slice."""
    gathered = state.open
    resp = np.concatenate([np.zeros((0, state.kp), np.float32), *[r for _, r in gathered.kept]])
    x = stack([rows for rows, _ in gathered.kept], state.dim)
    if not gathered.fitted and not chain.first(state):
        state = lifecycle.arrived(
            state, x, _belief(state, state.base, column_norms(state.base), state.n, settings), settings
        )
    state = replace(state, kappa=_concentration(up_to_date(state), settings))
    smoothed: list[TopicView] = []
    events: list[Event] = []
    if gathered.documents == len(resp):
        state = replace(state, window=(*state.window, WindowSlice(state.slice, x, resp)))
        while _overfull(state, settings):
            state, final = _commit_oldest(state, settings)
            smoothed.append(final)
        state, events = lifecycle.with_births(state, settings)
        if settings.refit and gathered.n.any() and not gathered.fitted:
            rng = np.random.default_rng([settings.seed, state.slice, 2])
            state, news = adopted(state, refit(state, settings, rng))
            events += news
        state, merged = with_mergers(state, settings)
        state, slept = lifecycle.with_sleep(state, counts(state.window[-1:], state.kp)[: state.k])
        events += [*merged, *slept]
        resp = state.window[-1].resp
        filtered, p = _latest(state, settings)
        state, alarms = with_alarms(state, filtered.speed)
        events += alarms
    else:
        while state.window:
            state, final = _commit_oldest(state, settings)
            smoothed.append(final)
        before, h, p = chain.run(state, [gathered.s], state.leader, settings)
        filtered = view(state, state.slice, before, anchored(state, h), gathered.n)
        smoothed.append(filtered)
        state = chain.commit(state, gathered.s, gathered.n, settings)
        state, alarms = with_alarms(state, filtered.speed)
        state, slept = lifecycle.with_sleep(state, gathered.n[: state.k])
        state, events = lifecycle.with_births(state, settings)
        state, merged = with_mergers(state, settings)
        events = [*events, *merged, *slept, *alarms]
        p = chain.past(state, state.leader)
    n = state.n_past + counts(state.window, state.kp)
    state = replace(state, slice=state.slice + 1, n=n, open=_nothing(state.dim, state.kp), base=anchored(state, p))
    return refreshed(state), Closed(predicted, filtered, smoothed, resp, typicality(x, filtered), events)


def memberships(state: TrackState, x: Rows, settings: TrackerSettings) -> tuple[Matrix, NDArray[np.float64]]:
    """Memberships (N, kp) and log-density (N,) of documents under what is known in the middle of the open slice."""
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    resp, loglik, _ = posterior(x, belief(up_to_date(state), settings), threads=settings.threads)
    return resp, loglik


def scores(state: TrackState, x: Rows, settings: TrackerSettings) -> NDArray[np.float64]:
    """Log weight and log-density of every topic for documents, (N, K), under what is known in the open slice.

    Exact, by N K Bessel functions; their softmax are the memberships, see `vmfstream.bayes.tempering.tempered`.
    """
    known = belief(up_to_date(state), settings)
    return topic_densities(x, known.f, known.gamma, known.kappa) + known.log_weights


def current(state: TrackState) -> TopicView:
    """The topics in the middle of the open slice, with the documents it has so far."""
    state = up_to_date(state)
    return view(state, state.slice, None if chain.first(state) else state.base, state.f, state.open.n)


def opening(state: TrackState, settings: TrackerSettings) -> Closed | None:
    """Report the newest slice of a state that was just started, as `close` does; None if it holds no closed slice."""
    if not state.window:
        return None
    filtered, _ = _latest(state, settings)
    newest = state.window[-1]
    return Closed(float("nan"), filtered, (), newest.resp, typicality(newest.x, filtered))


def hindsight(state: TrackState, settings: TrackerSettings) -> list[TopicView]:
    """Topics of the slices that are still in the window, using all of its documents, oldest first."""
    if not state.window:
        return []
    omega, past = settings.persistences[state.leader], chain.past(state, state.leader)
    nothing = np.zeros((state.dim, state.kp), np.float32)
    stats = [nothing if s is None else s for s in statistics(state, settings)]
    beliefs = smooth(stats, state.kappa, past, omega, state.anchor, k=state.k).s
    views = [
        view(state, w.index, before, f, counts((w,), state.kp))
        for w, before, f in zip(state.window, [None, *beliefs[:-1]], beliefs, strict=True)
    ]
    return [replace(views[0], speed=state.smoothed_speed[: state.k]), *views[1:]]


def from_arrays(
    open_part: dict[str, NDArray[Any]],
    slice_part: dict[str, NDArray[Any]],
    window: Sequence[Rows],
    kept: Rows,
    settings: TrackerSettings,
) -> TrackState:
    """Rebuild a state from `vmfstream.online.state.to_arrays` and its rows, bit for bit."""
    kp = len(slice_part["n"])
    splits = np.cumsum(slice_part["window.sizes"])[:-1]
    resps = np.split(slice_part["window.resp"], splits) if len(slice_part["window.sizes"]) else []
    past = tuple(slice_part[f"past.{j}"] for j in range(len(settings.persistences)) if f"past.{j}" in slice_part)
    dim = len(slice_part["anchor"])
    next_id, leader = (int(v) for v in slice_part["counters"])
    kappa, lowest = (float(v) for v in slice_part["scalars"])
    resp = open_part["open.resp"]
    state = TrackState(
        slice=int(slice_part["slice"][0]),
        anchor=slice_part["anchor"],
        kappa=kappa,
        ids=slice_part["ids"],
        next_id=next_id,
        n=slice_part["n"],
        n_past=slice_part["n_past"],
        past=past or None,
        window=tuple(
            WindowSlice(int(i), x, r) for i, x, r in zip(slice_part["window.index"], window, resps, strict=True)
        ),
        scores=slice_part["scores"],
        leader=leader,
        open=OpenSlice(
            open_part["open.s"] if len(open_part["open.s"]) else np.zeros((dim, kp), np.float32),
            open_part["open.n"],
            int(open_part["open.documents"][0]),
            ((kept, resp),) if len(resp) else (),
            bool(open_part["open.documents"][1]),
        ),
        base=np.zeros((dim, kp), np.float32),
        f=np.zeros((dim, kp), np.float32),
        gamma=np.zeros(kp),
        lowest_cosine=lowest,
        smoothed_speed=slice_part["smoothed_speed"],
        life=Life.from_arrays(slice_part, dim),
    )
    return _predicted(state, settings)


def _predicted(state: TrackState, settings: TrackerSettings) -> TrackState:
    """Recompute the prediction for the open slice from the past and the window under the leading persistence."""
    _, _, p = chain.run(state, statistics(state, settings), state.leader, settings)
    return refreshed(replace(state, base=anchored(state, p)))


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
    """Move the oldest slice of the window into the past; its topics in hindsight become final."""
    stats, first = statistics(state, settings), state.window[0]
    beliefs = chain.oldest(state, stats, settings)
    n = counts((first,), state.kp)
    final = replace(view(state, first.index, None, beliefs[0], n), speed=state.smoothed_speed[: state.k])
    speed = np.full(state.kp, np.nan)
    if len(beliefs) > 1:
        speed[: state.k] = view(state, first.index + 1, beliefs[0], beliefs[1], n).speed
    return replace(chain.commit(state, stats[0], n, settings), window=state.window[1:], smoothed_speed=speed), final


def _latest(state: TrackState, settings: TrackerSettings) -> tuple[TopicView, Matrix]:
    """The filtered topics of the newest slice in the window, and the data part predicted for the slice after it."""
    before, h, p = chain.run(state, statistics(state, settings), state.leader, settings)
    newest = state.window[-1]
    n = counts((newest,), state.kp)
    return view(state, newest.index, before, anchored(state, h), n), p


def _belief(state: TrackState, f: Matrix, gamma: Vector, n: Vector, settings: TrackerSettings) -> Belief:
    """Belief ``f`` of lengths ``gamma`` (kp,) about the means with the weights that the counts ``n`` (kp,) predict."""
    k = state.k
    log_weights = np.log(n[:k] + settings.alpha) - np.log(n[:k].sum() + settings.alpha * k)
    return Belief(f, gamma[:k], state.kappa, log_weights, state.lowest_cosine)


def _nothing(dim: int, kp: int) -> OpenSlice:
    return OpenSlice(zeros(dim, kp), np.zeros(kp), 0, ())


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _masked(x: Rows, resp: Matrix) -> Matrix:
    """Memberships of the rows that have a direction; a document may lose all its words with the vocabulary."""
    return np.where(directed(x)[:, None], resp, np.float32(0.0))
