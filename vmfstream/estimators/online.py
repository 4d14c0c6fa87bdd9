"""Follow topics in vectors, in one pass, with the interfaces of scikit-learn and river."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from river.base import Clusterer
from scipy.sparse import csr_array, issparse

from vmfstream.arrays import Rows
from vmfstream.directional.params import ChunkedMatrix
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.base import MixtureEstimator, components_by_rows, labels_of, occupied_first
from vmfstream.estimators.distinct import Copies, copies_of_documents
from vmfstream.estimators.features import NamedFeatures, finite_numbers, frame_documents, refuse_plain_rows
from vmfstream.estimators.parameters import Domain, Either, Nothing, Number, Whole
from vmfstream.mixtures.columns import renumbered
from vmfstream.online.belief import up_to_date
from vmfstream.online.count_sliced import CountSlicedStream
from vmfstream.online.state import TrackerSettings, TrackState
from vmfstream.runtime_tuning import product_threads

WINDOW = 16_000
"""Least documents fitted together by default: with fewer, topics in the end depend more on the order of documents.

20 Newsgroups, ten seeds, NMI with classes: .584 +- .012 with 6,000, .589 +- .018 with 12,000, .592 +- .006 with 16,000.
"""


FIRST = 2
"""Documents that ``learn_one`` learns first."""


class OnlineVMFMixture(MixtureEstimator, Clusterer):
    """Mixture of von Mises-Fisher distributions that learns a stream of vectors in one pass.

    The tracker of this package for vectors that come without times. The first documents are fitted as a batch, again
    and again while they are few; then every document is scored under what is known and added, and at the end of every
    ``slice_size`` documents the topics may drift. Memory does not grow with the stream.

    Rows by the thousand go to ``partial_fit`` (scikit-learn), mappings from features to numbers to ``learn_one`` and
    data frames to ``learn_many`` (river); features that were never seen before count from the end of a slice on.

    Parameters
    ----------
    n_components : int
        Most topics; fewer while there are less than two documents for each.
    slice_size : int
        Documents after which topics may drift.
    window : int, optional
        Documents that are fitted together during the warm-up; by default max(16000, 50 n_components).
    refit_budget : float
        Most work of refits of the window, as a share of the work of scoring, >= 0. Those of the first ``window``
        documents are free. A slice larger than the window is never refitted.
    persistence : float, optional
        Expected cosine of a topic's means in consecutive slices, in (0, 1); by default the best of a grid leads.
    alpha : float
        Dirichlet parameter of the weights, > 0.
    batch_size : int
        Most documents that ``learn_one`` gathers before it learns them; of the first ones fewer, as many as it has
        learnt.
    max_features : int
        Most features that ``learn_one`` and ``learn_many`` number; others are left out.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads; None is one, -1 all.

    Attributes
    ----------
    weights_, means_, concentrations_ : (K,), (K, D), (K,)
        Weights, mean directions and the (common) concentration as they are now.
    topic_ids_ : (K,) int64
        Numbers that topics keep when their order changes; ``predict_one`` answers with them.
    labels_ : (N,) int64
        Labels of the rows of ``fit`` as they are now, or those that the rows given last got on arrival.
    lower_bound_ : float
        Mean log-density of these rows, just so, in nats relative to the uniform density.
    n_documents_seen_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(4), 100, axis=0) + 0.1 * rng.standard_normal((400, 4))
    >>> model = OnlineVMFMixture(4, random_state=0)
    >>> for batch in np.split(rng.permutation(X), 8):
    ...     model = model.partial_fit(batch)
    >>> sorted(model.predict(np.eye(4)).tolist())
    [0, 1, 2, 3]

    References
    ----------
    [GY14] section 4 (the temporal model), filtered; [BDGS05] section 3.
    """

    domains: ClassVar[Mapping[str, Domain]] = {
        "n_components": Whole(1),
        "slice_size": Whole(1),
        "window": Either(Whole(1), Nothing()),
        "refit_budget": Number(0.0),
        "persistence": Either(Number(0.0, 1.0, closed="neither"), Nothing()),
        "alpha": Number(0.0, closed="neither"),
        "batch_size": Whole(1),
        "max_features": Whole(2),
    }

    n_documents_seen_: int
    _sparse: bool
    _waiting: list[dict[Any, float]]

    def __init__(
        self,
        n_components: int = 30,
        *,
        slice_size: int = 10_000,
        window: int | None = None,
        refit_budget: float = 0.2,
        persistence: float | None = None,
        alpha: float = 1.0,
        batch_size: int = 256,
        max_features: int = 50_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.slice_size = slice_size
        self.window = window
        self.refit_budget = refit_budget
        self.persistence = persistence
        self.alpha = alpha
        self.batch_size = batch_size
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> OnlineVMFMixture:
        """Forget everything and learn the rows of ``X``, (N, D), in their order; weights as in `partial_fit`.

        After an error the earlier fit is still there.
        """
        with self._kept_after_errors():
            for name in ("_stream", "_features", "_waiting"):
                self.__dict__.pop(name, None)
            self.partial_fit(X, sample_weight=sample_weight)
        rows, empty = self._rows(X)
        resp, density = self._posterior(rows)
        labels = labels_of(resp, empty)
        self._order = occupied_first(labels, len(resp.T))  # topics without rows come last, until more is learnt
        copies = None if sample_weight is None else copies_of_documents(sample_weight, len(empty))
        self._tell(density if copies is None else density[copies.rows], renumbered(labels, self._order), copies)
        return self

    def partial_fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> OnlineVMFMixture:
        """Learn the rows of ``X`` in their order; a call that ends with an error, or by Ctrl-C, has learnt none.

        Parameters
        ----------
        X : array-like or sparse, (N, D)
        y : ignored
        sample_weight : array-like of whole numbers, (N,), optional
            How often each row is learnt, one copy right after the other; takes the time and memory of as many rows.

        Raises
        ------
        ValueError
            If rows have another number of features than before, are not finite, come in parts, none so far had a
            direction, weights are no whole numbers, or features have names by now (``learn_one``).
        """
        if hasattr(self, "_features"):
            raise ValueError("partial_fit: expected no named features, but learn_one or learn_many was called before")
        if isinstance(X, ChunkedMatrix):
            raise ValueError("X: expected rows in one piece; give rows in parts to partial_fit part by part")
        with self._kept_after_errors():
            self._learn_rows(X, sample_weight)
        return self

    def _learn_rows(self, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """Learn the rows of ``X`` (N, D), each as often as its weight (N,) says; what is known may be left half."""
        first = not hasattr(self, "_stream")
        if first:
            self._check_parameters()
        least = 2 if first else 1  # later rows are compared with the first
        given = self._validated(X, reset=first, ensure_min_features=least, ensure_all_finite=False)
        if not first and issparse(given) and not self._sparse:
            raise ValueError(
                "X: expected dense rows, as those before, got sparse ones; begin with sparse rows to mix them"
            )
        if not first and self._sparse and not issparse(given):
            given = csr_array(given)
        rows, empty = unit_rows(given, copy=False)
        copies = None if sample_weight is None else copies_of_documents(sample_weight, len(empty))
        if first:
            self._begin()
            self._sparse = issparse(given)
        self._learn(rows, copies)
        if self._stream.state is None:
            raise ValueError(f"X: expected a row with a direction, got {len(self.labels_)} rows of zeros")

    def learn_one(self, x: Mapping[Any, float]) -> None:
        """Learn one document, given as a mapping from features to numbers; see ``batch_size``.

        After Ctrl-C it is not learnt, and those that were gathered before still are.
        """
        document = finite_numbers(x)
        self._name_features()
        waiting = [*self._waiting, document]
        if len(waiting) >= min(self.batch_size, max(FIRST, self.n_documents_seen_)):
            with self._kept_after_errors():
                self._learn(self._matrix(waiting, learn=True))
            waiting = []
        self._waiting = waiting

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a pandas.DataFrame, whose columns are features, as `learn_one` does one after the other.

        Raises
        ------
        ValueError
            If ``X`` is something else, column names repeat, or `learn_one` refuses a row; rows before it are learnt.
        """
        for document in frame_documents(X):
            self.learn_one(document)

    def predict_one(self, x: Mapping[Any, float]) -> int:
        """Return the id of the most probable topic of one document; 0 as long as nothing is known.

        Raises
        ------
        ValueError
            If a value is not a finite number, or rows without names were learnt (``fit``, ``partial_fit``).
        """
        return int(self._predicted("predict_one", [x])[0])

    def predict_many(self, X: Any) -> NDArray[np.int64]:
        """Return the ids of the most probable topics of the rows of a pandas.DataFrame, (N,), as `predict_one` does."""
        return self._predicted("predict_many", frame_documents(X))

    def _predicted(self, method: str, documents: Sequence[Mapping[Any, float]]) -> NDArray[np.int64]:
        numbers = [finite_numbers(x) for x in documents]
        if not self.__sklearn_is_fitted__():
            return np.zeros(len(documents), np.int64)
        refuse_plain_rows(method, not hasattr(self, "_features"))
        resp, _ = self._posterior(self._matrix(numbers, learn=False))
        return np.asarray(self.topic_ids_[resp.argmax(axis=1)])

    def _own_feature_names(self) -> Sequence[str] | None:
        return self._features.names() if hasattr(self, "_features") else super()._own_feature_names()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @property
    def weights_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Weights of the topics, (K,)."""
        state = self._state
        weights = state.n[: state.k] + state.open.n[: state.k] + self.alpha
        return np.asarray(weights / weights.sum())[self._order]

    @property
    def means_(self) -> NDArray[np.float32]:  # type: ignore[override]
        """Mean directions, (K, D); a topic that has none is zero."""
        state = up_to_date(self._state)
        lengths = np.maximum(state.gamma[: state.k], np.finfo(np.float64).tiny)
        return np.asarray(components_by_rows(state.f[:, : state.k] / lengths.astype(np.float32), state.k))[self._order]

    @property
    def concentrations_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Concentrations, (K,), all alike."""
        return np.full(self._state.k, self._state.kappa)

    @property
    def topic_ids_(self) -> NDArray[np.int64]:
        """Numbers that topics keep when their order changes, (K,)."""
        return self._state.ids[self._order]

    @property
    def _state(self) -> TrackState:
        stream: CountSlicedStream | None = vars(self).get("_stream")
        if stream is None or stream.state is None:
            raise AttributeError("this OnlineVMFMixture has learnt nothing yet")
        return stream.state

    @contextmanager
    def _kept_after_errors(self) -> Iterator[None]:
        with super()._kept_after_errors():
            before: CountSlicedStream | None = vars(self).get("_stream")
            try:
                yield
            except BaseException:
                if before is not None:
                    before.take_back()
                raise

    def _begin(self) -> None:
        self._check_parameters()
        settings = TrackerSettings(
            topics=self.n_components,
            window=max(WINDOW, 50 * self.n_components) if self.window is None else self.window,
            refit_budget=self.refit_budget,
            alpha=self.alpha,
            threads=self._threads(),
            seed=int(self._rng().integers(2**31)),
        )
        if self.persistence is not None:
            settings = replace(settings, persistences=(float(self.persistence),))
        self._stream = CountSlicedStream(settings, self.slice_size)
        self.n_documents_seen_ = 0

    def _learn(self, x: Rows, copies: Copies | None = None) -> None:
        read = (x if copies is None else x[copies.rows]).astype(np.float32, copy=False)
        self._stream = self._stream.following(read)
        with product_threads(self._threads()):
            info = self._stream.learn(read)
        self._order = np.arange(self._stream.state.k if self._stream.state else 0)
        self.n_documents_seen_ += read.shape[0]
        labels = info.label.astype(np.int64)
        if copies is not None:
            labels = copies.of_rows(labels, -1)
            others = copies.first < 0
            if others.any() and self._stream.state is not None:
                rows, empty = unit_rows(x[others])
                labels[others] = self._labels(rows, empty)
        self._tell(info.loglik, labels, copies)

    def _tell(self, density: NDArray[np.float64], labels: NDArray[np.int64], copies: Copies | None) -> None:
        """Keep the ``labels`` of rows, and the mean of the ``density`` of their ``copies`` that have a direction."""
        self._report_empty(labels < 0)
        self.labels_ = labels
        learnt = labels if copies is None else labels[copies.rows]
        self.lower_bound_ = float(density.sum() / max(1, int(np.count_nonzero(learnt >= 0))))  # rows without one have 0

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        # BLAS sums dense rows in an order that depends on their number: in single precision it would show in the scores
        precision = np.float64 if isinstance(rows, np.ndarray) else np.float32
        resp, density = self._stream.posterior(rows.astype(precision, copy=False))
        return resp[:, self._order], density

    def _name_features(self) -> None:
        """Begin to number features; rows without names cannot be continued by rows with names."""
        if hasattr(self, "_features"):
            return
        refuse_plain_rows("learn_one", hasattr(self, "_stream"))
        self._begin()
        self._features = NamedFeatures(self.max_features)
        self._waiting = []

    def _matrix(self, documents: Sequence[Mapping[Any, float]], *, learn: bool) -> Rows:
        """Return documents as unit rows over the numbered features; to learn them gives new features numbers."""
        columns: list[int] = []
        values: list[float] = []
        ends = [0]
        for document in documents:
            if learn:
                self._features.number(document)
            for name, value in document.items():
                if (column := self._features.column(name)) >= 0:
                    columns.append(column)
                    values.append(value)
            ends.append(len(columns))
        shape = (len(documents), self._features.width)
        rows = csr_array((np.array(values), np.array(columns, np.int32), ends), shape=shape)
        return unit_rows(rows)[0]
