"""The part of a `TopicTracker` that labels texts: under what is known now, or under earlier topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.tempering import fitted_inverse_temperature, tempered
from vmfstream.engine.models.tracker import NO_TOPICS
from vmfstream.errors import InputError
from vmfstream.estimators.parameters import Either, Nothing, Number, check_parameters
from vmfstream.mixtures.columns import directed
from vmfstream.online.belief import new_topic_log_density
from vmfstream.online.reading import topic_log_densities
from vmfstream.online.state import Rows, TrackerSettings, TrackState
from vmfstream.records import Documents
from vmfstream.text.given_texts import checked_texts
from vmfstream.text.own_tokeniser import Cut
from vmfstream.text.protocol import Encoder
from vmfstream.topic_tracker.base import TrackerParts, deprecated
from vmfstream.topic_tracker.manual_source import PART
from vmfstream.topic_tracker.rows import closed_slices, newest_names, past_topics

if TYPE_CHECKING:
    from vmfstream.frozen.model import FrozenModel
    from vmfstream.frozen.parts import ModelParts

_NOT_GIVEN: Any = object()
_ABOVE_0 = Number(0.0, closed="neither")


class Labelling(TrackerParts):
    """Label texts, and learn nothing."""

    _track: TrackerSettings
    _cut: Cut | None
    _encoder: Encoder
    _reader: Encoder
    _frozen: tuple[tuple[Any, ...], FrozenModel] | None

    def predict(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the id of the most probable active topic of texts, (N,), as `label` does; -1 without a known word.

        Raises
        ------
        InputError
            If there are no topics yet, or ``texts`` is one string or a table, or holds anything but strings.
        """
        with self._lock:
            probability, ids = self.transform(texts), self.topic_ids
        return np.where(probability.any(axis=1), ids[probability.argmax(axis=1)], -1)

    @property
    def topic_ids(self) -> NDArray[np.int64]:
        """Numbers of the active topics, in the order of the columns of `transform`; none before the first topics."""
        state = self._model.state
        return np.zeros(0, np.int64) if state is None else state.ids.copy()

    def transform(
        self, texts: Sequence[str], *, temperature: float | None = None, temper: float | None = _NOT_GIVEN
    ) -> NDArray[np.float64]:
        """Return the probabilities of the active topics for texts under what is known now; nothing is learnt.

        Parameters
        ----------
        texts : sequence of N str
        temperature : float > 0, or None
            Softmax temperature: the probabilities are softmax(scores / temperature). By default that of the stream,
            the property `temperature`, under which they are calibrated. With 1, in high dimension, they are nearly all
            0 or 1, and right less often than they say. `fit_temperature` finds the one that fits texts whose topics are
            known.
        temper : float > 0, or None
            Deprecated: the inverse of ``temperature``.

        Returns
        -------
        ndarray of shape (N, K)
            Columns as in `topic_ids`. Rows sum to one, or to zero for texts without a known word.

        Raises
        ------
        InputError
            If there are no topics yet, or ``texts`` is one string or a table, or holds anything but strings.
        ValueError
            If the temperature is not above 0.
        """
        if temper is not _NOT_GIVEN:
            deprecated("transform(temper=...)", "transform(temperature=1 / temper)")
            check_parameters({"temper": temper}, {"temper": Either(_ABOVE_0, Nothing())})
            temperature = None if temper is None else 1.0 / temper
        if temperature is None:
            temperature = self.temperature
        check_parameters({"temperature": temperature}, {"temperature": _ABOVE_0})
        with self._lock:
            state, x, known, _ = self._encoded(texts)
            found = np.zeros((len(known), state.k))
            found[known] = tempered(topic_log_densities(state, x[known], self._track), 1.0 / temperature)
        return found

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return names of the columns of `transform`, (K,): ``topictracker`` and the number of each topic.

        ``input_features`` is ignored.

        Raises
        ------
        InputError
            If there are no topics yet.
        """
        if not len(ids := self.topic_ids):
            raise InputError(NO_TOPICS)
        return np.array([f"topictracker{topic}" for topic in ids], object)

    @property
    def temperature(self) -> float:
        """Softmax temperature that calibrates topic probabilities on arrival, fitted at the newest slice end, else 1.

        See `vmfstream.records.SliceReport`.
        """
        reports = closed_slices(self._commits)
        known = [report.temperature for report in reports if np.isfinite(report.temperature)]
        return known[-1] if known else 1.0

    @property
    def temper(self) -> float:
        """Deprecated: the inverse of `temperature`."""
        deprecated("TopicTracker.temper", "1 / TopicTracker.temperature")
        return 1.0 / self.temperature

    def label(self, texts: Sequence[str], at: str | int | None = None) -> dict[str, NDArray[Any]]:
        """Return the labels of texts under what is known now, or under earlier topics, as columns; nothing is learnt.

        Parameters
        ----------
        texts : sequence of N str
        at : str or int, optional
            Label of an earlier slice, such as ``"2003"`` or ``2003``: the topics are those of its end, as far as they
            are kept; see `freeze`. There are no stories.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            ``topic``, ``name``, ``probability``, ``story`` and ``novelty``, see `vmfstream.FrozenModel.label`.

        Raises
        ------
        InputError
            If there are no topics yet, no such slice, or ``texts`` is one string or a table, or holds anything but
            strings.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2, slices="year")
        >>> texts = ["cat fur paw", "ship sea harbour"] * 20
        >>> _ = tracker.learn(texts, 2001).learn(texts, 2002)
        >>> tracker.label(["the ship left the harbour", "a cat"])["name"].tolist()
        ['ship sea harbour', 'cat fur paw']
        >>> tracker.label(["the ship left the harbour"], at="2001")["name"].tolist()
        ['ship sea harbour']
        """
        return self.freeze(at).label(texts)

    def freeze(self, at: str | int | None = None) -> FrozenModel:
        """Return what is known now as a model of its own, which labels texts, can be saved, and learns nothing.

        Parameters
        ----------
        at : str or int, optional
            Label of an earlier slice, as of `label`: the topics are those of its end, by their 60 strongest words; the
            rest of a mean direction is that of the corpus mean. There are no stories.

        Raises
        ------
        InputError
            If there are no topics yet, or no closed slice of this label has topics.
        """
        from vmfstream.frozen.model import FrozenModel
        from vmfstream.runfile.queries import label_of

        at = label_of(at)
        self._take_names()
        with self._lock:
            given, commits = self.names(), self._store.commits
            by_namer = len(commits[-1].given_names) if commits else 0  # which come to the newest commit
            known = (self._engine.epoch, self._engine.documents, at, tuple(given.items()), by_namer)
            if self._frozen is None or self._frozen[0] != known:
                functions: Any = {"tokeniser": self._cut, "embed": self._given["embed"]}
                names = newest_names(commits, at) | given
                self._frozen = known, FrozenModel(self._parts(at).named(names), **functions)
            return self._frozen[1]

    def _parts(self, at: str | None) -> ModelParts:
        from vmfstream.frozen.parts import current_parts, past_parts

        made = self._run, self._model, self._encoder
        if at is not None:
            return past_parts(*made, past_topics(closed_slices(self._commits), at), self._engine.documents)
        state = self._engine.state
        stories = {} if state.stories is None else state.stories.arrays()
        return current_parts(*made, stories, state.newest.label, self._engine.documents)

    def fit_temperature(self, texts: Sequence[str], topics: Sequence[int]) -> float:
        """Return the ``temperature`` of `transform` under which known topics of texts are most likely.

        Parameters
        ----------
        texts : sequence of N str
            Others than those that were learnt.
        topics : sequence of N int
            The topic of each text, by number as in `topic_ids`.

        Returns
        -------
        float
            Between 0.1 and 10,000.

        Raises
        ------
        InputError
            If a topic is no number of an active one, topics are not one per text, or as `transform`.
        """
        with self._lock:
            return self._fitted_temperature(texts, topics)

    def _fitted_temperature(self, texts: Sequence[str], topics: Sequence[int]) -> float:
        """Return what `fit_temperature` does."""
        state, x, known, _ = self._encoded(texts)
        place = {int(topic): column for column, topic in enumerate(state.ids)}
        try:
            numbers = [int(topic) for topic in topics]
        except (TypeError, ValueError):
            raise InputError(f"topics: expected one number per text, got {topics!r}") from None
        unknown = sorted(set(numbers) - set(place))
        if unknown:
            raise InputError(f"topics: expected numbers of active ones, got {', '.join(map(str, unknown))}")
        labels = np.array([place[number] for number in numbers], np.int64)
        if len(labels) != len(known):
            raise InputError(f"topics: expected one per text ({len(known)}), got {len(labels)}")
        if not known.any():
            raise InputError("texts: expected at least one with a known word, got none")
        return 1.0 / fitted_inverse_temperature(topic_log_densities(state, x[known], self._track), labels[known])

    def fit_temper(self, texts: Sequence[str], topics: Sequence[int]) -> float:
        """Deprecated: the inverse of `fit_temperature`."""
        deprecated("TopicTracker.fit_temper", "1 / TopicTracker.fit_temperature")
        return 1.0 / self.fit_temperature(texts, topics)

    def novelty(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return by how many nats an unseen topic explains each text better than the known topics do, shape (N,).

        A text above 0 is novel: no known topic explains it as well. A text none of whose words is known is infinitely
        novel; one without words, stop words aside, has 0.

        Raises
        ------
        InputError
            As `transform`.
        """
        with self._lock:
            state, x, known, worded = self._encoded(texts)
            found = np.where(worded, np.inf, 0.0)
            density = np.logaddexp.reduce(topic_log_densities(state, x[known], self._track), axis=1)
            found[known] = new_topic_log_density(x[known], state.anchor, state.kappa) - density
        return found

    def _encoded(self, texts: Sequence[str]) -> tuple[TrackState, Rows, NDArray[np.bool_], NDArray[np.bool_]]:
        """Rows of texts in the columns in force, which of them have a direction, and which have words at all.

        A second encoder counts them, so that the stream's vocabulary does not notice.
        """
        texts = checked_texts(texts)
        state = self._model.state
        if state is None:
            raise InputError(NO_TOPICS if self._source.closed else f"{NO_TOPICS}; learn() more or finish()")
        if self._reader.digest != self._encoder.digest:
            self._reader.restore(self._encoder.blank_state())
        n = len(texts)
        counts = self._reader.count(Documents([PART] * n, np.arange(n), [""] * n, np.zeros(n, np.int64), texts))
        x = self._reader.encode(counts)
        there = directed(x) if self._run.embed else np.diff(counts.indptr) > 0
        return state, x, directed(x), there
