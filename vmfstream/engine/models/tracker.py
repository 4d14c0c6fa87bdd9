"""The tracker of `vmfstream.online.tracker` as a model of the engine, in one process or with workers.

Its parts are imported at the first call, so that reading can begin before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmfstream.online.settings import CalibrationSettings
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState, stack
from vmfstream.protocols import DocumentTopics, Regrow, Scores, SliceSummary
from vmfstream.records import Arrays, Decision
from vmfstream.stages import timed

if TYPE_CHECKING:
    from vmfstream.online.partial_sums import PartialSums, SliceProgress
    from vmfstream.online.results import SliceResult, StepInfo, TrackedTopics


NO_TOPICS = (
    "there are no topics: the first ones are found when a slice ends; those of words need some in two documents or "
    "more (three, once there are 1,000), but in at most half of them, those of vectors one that is not 0"
)
"""Why nothing can be said about topics, for users."""


class TrackerModel:
    """Topics as moving means on the sphere; see `vmfstream.protocols.Model`.

    It waits for documents before the first fit: for a slice with twice as many as topics, or for as many as it keeps of
    one slice.

    Parameters
    ----------
    settings : TrackerSettings

    Attributes
    ----------
    state : TrackState, or None before the first fit
    temperature : that of the probabilities on arrival: fitted at the newest slice end that could tell it, first 1
    """

    def __init__(self, settings: TrackerSettings) -> None:
        self.settings = settings
        self.state: TrackState | None = None
        self.temperature = 1.0

    @property
    def begun(self) -> bool:
        """Whether there are topics."""
        return self.state is not None

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the topics, (K,)."""
        return np.zeros(0, np.int64) if self.state is None else self.state.ids

    @property
    def active(self) -> int:
        """Number of topics that are not dormant."""
        return 0 if self.state is None else self.state.active

    @property
    def next_id(self) -> int:
        """The id of the next new topic."""
        return 0 if self.state is None else self.state.next_id

    @property
    def kept_documents(self) -> int:
        """Most documents of a slice that are refitted; a larger slice is followed by the filter alone."""
        return self.settings.slice_limit

    @property
    def window(self) -> Sequence[int]:
        """Numbers of the closed slices that are refitted, oldest first."""
        return [] if self.state is None else [one.index for one in self.state.window]

    def begin(
        self, slices: Sequence[tuple[int, Rows]], open_slice: int, open_rows: Rows, seeds: Matrix | None = None
    ) -> bool:
        """Fit the first topics; False if the vocabulary has fewer than two columns or no document has a direction."""
        from vmfstream.online import tracker

        rows = [*(x for _, x in slices), open_rows]
        if open_rows.shape[1] < 2 or not any(x.any() if isinstance(x, np.ndarray) else x.nnz for x in rows):
            return False
        with timed("refits"):
            self.state = tracker.init(self.settings, slices, open_slice, open_rows, seeds)
        return True

    def learn(self, x: Rows, *, donate: bool) -> Scores:
        """Score a batch under the current belief, then add it to the open slice."""
        from vmfstream.online import tracker

        self.state, info = tracker.step(self._known(), x, self.settings, donate=donate, temperature=self.temperature)
        return _scores(x, info, self.state.ids, self.state.anchor, self.state.kappa)

    def end_epoch(self) -> None:
        """Make the belief anew from the sums, as it is made when a state is restored."""
        if self.state is not None:
            from vmfstream.online.belief import refreshed

            self.state = refreshed(self.state)

    def end_slice(
        self, index: int, regrow: Regrow, *, last: bool, decisions: Sequence[Decision] = ()
    ) -> SliceSummary | None:
        """End a slice, or fit the first topics to all closed ones if they have enough documents."""
        from vmfstream.online import tracker

        if self.state is None:
            return self._first(index, regrow, last=last)

        def regrown() -> tuple[NDArray[np.int32], Sequence[Rows], Rows, Matrix | None]:
            grown = regrow()
            window, rows = grown.encode()
            return grown.columns, [x for _, x in window], rows, grown.seeds

        self.state, result = tracker.end_slice(self.state, self.settings, regrown, decisions=decisions)
        return self._summary(self.state, result)

    def skip_to(self, index: int) -> None:
        """Go on with a later slice."""
        if self.state is not None:
            self.state = replace(self.state, slice=index)

    def _first(self, index: int, regrow: Regrow, *, last: bool) -> SliceSummary | None:
        from vmfstream.online.identity import with_told
        from vmfstream.online.reading import newest_slice

        grown = regrow()
        if grown.documents < 2 * self.settings.topics and not last:
            return None
        window, rows = grown.encode()
        if not self.begin([*window, (index, rows)], index + 1, stack([], rows.shape[1]), grown.seeds):
            return None
        state = self._known()
        result = newest_slice(state, self.settings)
        if result is None:
            return None
        self.state = with_told(state, result.filtered.f)
        return self._summary(self.state, result)

    def _summary(self, state: TrackState, result: SliceResult) -> SliceSummary:
        temperature = arrival_temperature(result, self.settings.calibration)
        if np.isfinite(temperature):
            self.temperature = temperature
        return SliceSummary(
            predicted=result.predicted,
            persistence=self.settings.persistences[state.leader],
            warm_up=state.warm_up,
            temperature=temperature,
            topics=result.filtered,
            smoothed=result.smoothed,
            resp=result.resp,
            cosine=result.cosine,
            events=result.events,
            refused=result.refused,
            labelled=result.labelled,
            isotropy=_isotropy(state, result),
        )

    def describe(self) -> TrackedTopics | None:
        """Return the topics in the middle of the open slice."""
        from vmfstream.online.reading import current

        return None if self.state is None else current(self.state)

    def smoothed(self) -> Sequence[TrackedTopics]:
        """Return the topics of the slices in the window, given all documents."""
        from vmfstream.online.reading import smoothed

        return [] if self.state is None else smoothed(self.state, self.settings)

    def labels(self) -> Sequence[DocumentTopics]:
        """Return the topics of the documents of the window, and of the kept ones of the open slice."""
        from vmfstream.online.reading import document_topics

        return [] if self.state is None else document_topics(self.state)

    def topics_of(self, x: Rows) -> NDArray[np.int64]:
        """Return the most probable topics of unit rows (N, D), given all documents so far: ids (N,), -1 for none."""
        from vmfstream.online.reading import most_probable

        return most_probable(self._known(), x, self.settings)

    def arrays(self) -> tuple[Arrays, Arrays]:
        """Return the state as arrays, none before the first fit."""
        from vmfstream.online.serialization import to_arrays

        if self.state is None:
            return {}, {}
        open_part, slice_part = to_arrays(self.state)
        return open_part, slice_part | {"temperature": np.array([self.temperature])}

    def restore(self, open_part: Arrays, slice_part: Arrays, window: Sequence[Rows], rows: Rows) -> None:
        """Continue from arrays; without those of a state it has not begun."""
        from vmfstream.online.serialization import from_arrays

        begun = not {"n", "window.index"}.isdisjoint(slice_part)
        self.state = from_arrays(open_part, slice_part, window, rows, self.settings) if begun else None
        if "temperature" in slice_part:  # run files of before documents were kept have none
            self.temperature = float(slice_part["temperature"][0])

    def prediction(self) -> TopicPrediction:
        """Return what workers need during a slice."""
        state = self._known()
        return TopicPrediction(state.base, state.anchor, state.ids, self.settings.threads, self.temperature)

    def gathered(self, lowest_cosine: float) -> SliceProgress:
        """Return the sums of the open slice and what scoring needs besides."""
        from vmfstream.online.partial_sums import slice_progress

        self.state, so_far = slice_progress(self._known(), lowest_cosine, self.settings)
        return so_far

    def add(self, sums: TopicSums, rows: Rows) -> None:
        """Add the sums of an epoch to the open slice."""
        from vmfstream.online.partial_sums import step_by_sums

        self.state = step_by_sums(self._known(), sums.words, rows, sums.resp)

    def _known(self) -> TrackState:
        if self.state is None:
            raise ValueError("expected a model that has begun; it has no topics yet")
        return self.state


@dataclass(frozen=True, slots=True, eq=False)
class TopicSums:
    """Statistics of some documents, and the memberships (N, kp) of those that are kept."""

    words: PartialSums
    resp: Matrix

    def merged(self, later: TopicSums) -> TopicSums:
        """Add those of later documents."""
        from vmfstream.online.partial_sums import added

        return TopicSums(added(self.words, later.words), np.concatenate([self.resp, later.resp]))


@dataclass(frozen=True, slots=True, eq=False)
class TopicPrediction:
    """What stays the same in a slice: the prediction (D, kp), the anchor (D,), ids (K,) of topics, the temperature."""

    base: Matrix
    anchor: Matrix
    ids: NDArray[np.int64]
    threads: int
    temperature: float

    def score(self, x: Rows, so_far: SliceProgress, keep: int) -> tuple[Scores, TopicSums]:
        """Score documents under the belief at the begin of an epoch, and sum them."""
        from vmfstream.online.partial_sums import partial_sums

        words, scored = partial_sums(x, self.base, so_far, keep, self.threads, self.temperature)
        return _scores(x, scored.info, self.ids, self.anchor, so_far.kappa), TopicSums(words, scored.resp)


def _scores(x: Rows, info: StepInfo, ids: NDArray[np.int64], anchor: Matrix, kappa: float) -> Scores:
    from vmfstream.online.belief import novelty_of

    topic, second = (np.where(column >= 0, ids[np.maximum(column, 0)], -1) for column in (info.label, info.second))
    return Scores(info.loglik, topic, novelty_of(x, anchor, kappa, info.loglik, info.label), second, info.probability)


def _isotropy(state: TrackState, result: SliceResult) -> NDArray[np.float64] | None:
    """Return how evenly recent documents spread around each topic of the slice that ended; None if they are words."""
    from vmfstream.directional.isotropy import isotropies

    found, ids = [(w.x, w.resp) for w in state.window], state.ids
    if not found and result.prediction is not None:  # a slice above the limit is not kept
        found, ids = [(result.prediction.x, result.resp)], result.filtered.ids
    parts = [x for x, _ in found if isinstance(x, np.ndarray)]
    if len(parts) < max(len(found), 1):
        return None
    resp = np.concatenate([r[:, : len(ids)] for _, r in found])
    return isotropies(parts, np.where(resp.any(axis=1), ids[resp.argmax(axis=1)], -1), result.filtered.ids)


def arrival_temperature(result: SliceResult, rules: CalibrationSettings) -> float:
    """Fit the softmax temperature to a slice: its documents' scores under the prediction, and their topics at its end.

    Documents whose topic is new or gone do not count. NaN if nothing was predicted or too few documents are left, see
    ``rules``.
    """
    from vmfstream.bayes.predictive import topic_densities
    from vmfstream.bayes.tempering import fitted_inverse_temperature
    from vmfstream.mixtures.columns import directed

    if result.prediction is None or not len(result.resp):
        return float("nan")
    x, belief, ids = result.prediction.x, result.prediction.belief, result.prediction.ids
    place = np.full(int(max(ids.max(), result.filtered.ids.max())) + 1, -1)
    place[ids] = np.arange(len(ids))
    k = len(result.filtered.ids)
    found = place[result.filtered.ids[result.resp[:, :k].argmax(axis=1)]]
    known = np.flatnonzero((found >= 0) & directed(x) & result.resp.any(axis=1))
    if len(known) < rules.least_documents or len(ids) < 2:
        return float("nan")
    rows = known[:: -(-len(known) // rules.most_documents)]
    scores = topic_densities(x[rows], belief.f, belief.gamma, belief.kappa) + belief.log_weights
    return 1.0 / fitted_inverse_temperature(scores, found[rows])
