"""Find stories in a stream of vectors, in one pass and without a given number, as scikit-learn and river call it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from river.base import Clusterer
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from vmfstream.arrays import Rows
from vmfstream.directional.params import ChunkedMatrix
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.base import SphereEstimator
from vmfstream.estimators.distinct import Copies, copies_of_documents
from vmfstream.estimators.features import NamedFeatures, finite_numbers, refuse_plain_rows
from vmfstream.estimators.parameters import Choice, Domain, Either, Number, Whole
from vmfstream.machine import uninterrupted
from vmfstream.stories.mixture import Living, Retired, SequentialMixture
from vmfstream.stories.settings import AUTO, COMPONENTS, StorySettings
from vmfstream.stories.window import Window

_MANY = 200
"""Documents from which on one story that has more than `_MOST_OF_ONE` of them is told."""

_MOST_OF_ONE = 0.4


class StoryMixture(SphereEstimator, Clusterer):
    """Finds stories in a stream: narrow clusters that begin, burst and end, as many as there are.

    A sequential Dirichlet-process mixture of von Mises-Fisher distributions. Each document joins, on arrival and for
    good, the most probable of the living stories or opens a new one: by its words, by the size of the stories, and by
    how long they were silent, compared with their own tempo. Two stories that begin together and prove to be the same
    are merged: the larger one goes on with the documents of both. There is no number of clusters, no warm-up and no
    refit; memory is bounded by the living stories. Labels are ids that are never used again.

    Rows by the thousand go to ``partial_fit`` (scikit-learn), mappings from features to numbers to ``learn_one``
    (river). Rows of texts are tf-idf weights without stop words: by these, documents of all kinds join one story. Of a
    long document, a sparse row of more than 512 words, the strongest 512 count.

    Parameters
    ----------
    grain : float or "auto"
        Resolution in (0, 1): larger is finer. About the cosine expected between a document and the mean direction of
        its story. "auto" follows the length of each document: .15 for titles and posts of up to a dozen words, .2 for
        20 words, .43 for 100, at most .5; longer documents also weigh more in their story. Sparse rows that would open
        a story are then judged once more at .15, and join a story that is much nearer than all others. Rows of a
        matrix of fewer than 256 columns that use more than half of them are vectors and have a finer grain, .66 for
        100 columns and .82 for 20, since unrelated vectors have more in common there; dense ones of more columns have
        .5.
    half_life : float
        Time after which the prior weight of a story of one document is halved, in documents, or in the unit of
        ``times`` if they are given; larger stories follow their own tempo. A story that nobody joined for 8 half-lives
        is retired.
    alpha : float
        Prior weight of a new story, > 0; that of a story of one document that just came is 1. Larger opens more.
    max_stories : int
        Most living stories; beyond, the one that nobody joined for longest is retired.
    max_words : int
        Most features that a story holds, at least 4; beyond, the weakest quarter is dropped. For sparse rows.
    component : {"vmf", "cauchy"}
        Distribution of a story: von Mises-Fisher, or spherical Cauchy, which has heavy tails: a row that is far from
        all stories costs less. Whether stories are merged is told by the former in both.
    window : int
        Rows after which a row gets a second label, see ``smoothed_labels_``; 0 for never. It takes about as long again.
    max_features : int
        Most features that ``learn_one`` numbers at a time; beyond, those that no living story holds are forgotten.

    Attributes
    ----------
    labels_ : (N,) int64
        Ids that the rows of ``fit``, or those given to ``partial_fit`` last, got on arrival; -1 for rows of zeros.
    smoothed_labels_ : (M,) int64
        With a ``window``: labels after it of the rows that left it while the rows given last were learnt, in the order
        in which they came; up to 100 leave together. Each is the most probable story by then. The last rows are told by
        ``flush``.
    grain_ : float
        The grain given, or the mean of those of the documents.
    n_stories_ : int
        Living stories.
    story_ids_, story_sizes_ : (S,) int64
        Their ids and documents, those that were joined longest ago first.
    means_ : (S, D) csr_array or ndarray, float32
        Their mean directions, in the same order.
    next_id_ : int
        Id that the next story will get: how many were opened so far.
    retired_ : Retired
        Stories that ended while the rows given last were learnt: ids, documents, first and last time, features; the
        ids of the stories that they were merged into (-1 for those that nobody joined any more), with evidence.
    n_documents_seen_ : int
        Documents learnt, rows of zeros left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(50)[:3], 4, axis=0) + 0.05 * rng.standard_normal((12, 50))
    >>> model = StoryMixture()
    >>> model.fit_predict(X).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    >>> model.partial_fit(np.eye(50)[[1, 40]]).labels_.tolist()
    [1, 3]

    Of texts, in the order in which they came:

    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> texts = ["a strike closes the harbour", "the harbour strike goes on", "a storm off the coast"]
    >>> StoryMixture().fit_predict(TfidfVectorizer(stop_words="english").fit_transform(texts)).tolist()
    [0, 0, 1]

    References
    ----------
    [GY14] section 3.1 for the mean direction integrated out. Kato and McCullagh (2020) for the spherical Cauchy
    distribution.
    """

    domains: ClassVar[Mapping[str, Domain]] = {
        "grain": Either(Choice(AUTO), Number(0.0, 1.0, closed="neither")),
        "half_life": Number(0.0, closed="neither"),
        "alpha": Number(0.0, closed="neither"),
        "max_stories": Whole(1),
        "max_words": Whole(4),
        "max_features": Whole(2),
        "component": Choice(*COMPONENTS),
        "window": Whole(0),
    }

    labels_: NDArray[np.int64]
    smoothed_labels_: NDArray[np.int64]
    retired_: Retired
    _mixture: SequentialMixture
    _features: NamedFeatures
    _window: Window

    def __init__(
        self,
        grain: float | str = AUTO,
        *,
        half_life: float = 300.0,
        alpha: float = 10_000.0,
        max_stories: int = 1_000_000,
        max_words: int = 4_096,
        max_features: int = 1_000_000,
        component: str = "vmf",
        window: int = 0,
    ) -> None:
        self.grain = grain
        self.half_life = half_life
        self.alpha = alpha
        self.max_stories = max_stories
        self.max_words = max_words
        self.max_features = max_features
        self.component = component
        self.window = window

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        times: ArrayLike | None = None,
        vectors: ArrayLike | None = None,
    ) -> StoryMixture:
        """Forget everything and learn the rows of ``X``, (N, D), in their order.

        Arguments and errors as in `partial_fit`. After an error the earlier fit is still there. Warns where one story
        has two fifths of many sparse rows, as it has where stop words were kept.
        """
        with self._kept_after_errors():
            for name in ("_mixture", "_features", "_window"):
                self.__dict__.pop(name, None)
            self.partial_fit(X, sample_weight=sample_weight, times=times, vectors=vectors)
        if issparse(X):
            self._warn_of_one_story()
        return self

    def _warn_of_one_story(self) -> None:
        sizes = np.bincount(self.labels_[self.labels_ >= 0])
        documents, largest = int(sizes.sum()), int(sizes.max(initial=0))
        if documents >= _MANY and largest > _MOST_OF_ONE * documents:
            warnings.warn(
                f"StoryMixture: {largest:,} of {documents:,} documents are in one story; of texts leave out words that "
                'most documents have: TfidfVectorizer(stop_words="english")',
                stacklevel=3,
            )

    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        times: ArrayLike | None = None,
        vectors: ArrayLike | None = None,
    ) -> StoryMixture:
        """Learn the rows of ``X`` in their order, all or none: Ctrl-C waits for them, but in the first call.

        Parameters
        ----------
        X : array-like or sparse, (N, D)
            Rows are scaled to unit length; rows of zeros get the label -1 and change nothing.
        y : ignored
        sample_weight : array-like of whole numbers, (N,), optional
            How often each row is learnt, one copy right after the other. Rows of weight 0 get the label -1.
        times : array-like, (N,), optional
            Times of the rows, in the unit of ``half_life``; without them time is counted in documents. A time before
            the newest one so far counts as that.
        vectors : array-like, (N, E), optional
            A second view of each document, such as embeddings of sentences beside words in a sparse ``X``: a story has
            a mean direction in both, and the likelihoods are multiplied. Scaled to unit length; rows of zeros say
            nothing. Given for all batches or for none.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, rows have another number of features than before, are not finite or
            come in parts, weights are no whole numbers, times or vectors are not finite, not one per row, or given for
            some batches only, or features have names by now (``learn_one``). Nothing is learnt then.
        """
        if hasattr(self, "_features"):
            raise ValueError("partial_fit: expected no named features, but learn_one was called before")
        if isinstance(X, ChunkedMatrix):
            raise ValueError("X: expected rows in one piece; give rows in parts to partial_fit part by part")
        first = not hasattr(self, "_mixture")
        if first:
            self._check_parameters()
        least = 2 if first else 1  # later rows are compared with the first
        given = self._validated(X, reset=first, ensure_min_features=least, ensure_all_finite=False)
        rows = unit_rows(given, copy=False)[0]
        beside = None if vectors is None else _unit_vectors(vectors)
        length = 0 if beside is None else beside.shape[1]
        mixture = self._begun(rows.shape[1], dense=not issparse(rows), vectors=length) if first else self._mixture
        copies = None if sample_weight is None else copies_of_documents(sample_weight, rows.shape[0])
        with self._kept_after_errors() if first else uninterrupted():
            self._learn(mixture, rows, times, beside, copies)
            self._mixture = mixture
        return self

    def predict(
        self, X: ArrayLike, *, times: ArrayLike | None = None, vectors: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Return the label that each row would get if it were learnt next, (N,) int64.

        Rows that would open a story all get ``next_id_``, rows of zeros -1. Without ``times`` it is the time of the
        last document. ``times`` and ``vectors`` as in `partial_fit`.
        """
        rows, _ = self._rows(X)
        return self._mixture.predict(rows, times, None if vectors is None else _unit_vectors(vectors))

    def learn_one(self, x: Mapping[Any, float], time: float | None = None) -> None:
        """Learn one document, given as a mapping from features to numbers; Ctrl-C waits until it is learnt."""
        document = finite_numbers(x)
        if not hasattr(self, "_features"):
            refuse_plain_rows("learn_one", hasattr(self, "_mixture"))
            self._check_parameters()
        with uninterrupted():
            if not hasattr(self, "_features"):
                self._mixture = self._begun(2, dense=False, fixed=False)
                self._features = NamedFeatures(self.max_features)
            self._features.number(document, self._columns_in_use)
            self._mixture.widen(self._features.width)
            self._learn(self._mixture, self._features.row(document), None if time is None else [time])

    def flush(self) -> NDArray[np.int64]:
        """Return the second labels of the rows that are still in the ``window``, in their order, and empty it."""
        check_is_fitted(self)
        return self._window.flush(self._mixture).labels if self.window else np.zeros(0, np.int64)

    def predict_one(self, x: Mapping[Any, float]) -> int:
        """Return the id that one document would get if it were learnt next; -1 if it holds no feature.

        Raises
        ------
        ValueError
            If a value is not a finite number, or rows without names were learnt (``fit``, ``partial_fit``).
        """
        document = finite_numbers(x)
        refuse_plain_rows("predict_one", hasattr(self, "_mixture") and not hasattr(self, "_features"))
        if not document:
            return -1
        if not hasattr(self, "_features") or self._features.all_new(document):
            return self.next_id_
        return int(self._mixture.predict(self._features.row(document))[0])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_mixture")

    @property
    def grain_(self) -> float:
        """The grain given, or the mean of those of the documents."""
        return self._mixture.grain

    @property
    def n_stories_(self) -> int:
        """Living stories."""
        return self._mixture.n_stories

    @property
    def next_id_(self) -> int:
        """Id of the next story: how many were opened so far."""
        return self._mixture.next_id if hasattr(self, "_mixture") else 0

    @property
    def n_documents_seen_(self) -> int:
        """Documents learnt, rows of zeros left out."""
        return self._mixture.n_documents

    @property
    def story_ids_(self) -> NDArray[np.int64]:
        """Ids of the living stories, (S,)."""
        return self._living().ids

    @property
    def story_sizes_(self) -> NDArray[np.int64]:
        """Documents of the living stories, (S,)."""
        return self._living().size

    @property
    def means_(self) -> Rows:  # type: ignore[override]
        """Mean directions of the living stories, (S, D)."""
        return unit_rows(self._living().sums, copy=False)[0]

    def _begun(self, columns: int, *, dense: bool, vectors: int = 0, fixed: bool = True) -> SequentialMixture:
        settings = StorySettings(
            grain=AUTO if isinstance(self.grain, str) else float(self.grain),
            half_life=float(self.half_life),
            alpha=float(self.alpha),
            max_stories=int(self.max_stories),
            max_words=int(self.max_words),
            cauchy=self.component == "cauchy",
        )
        return SequentialMixture(settings, columns, dense=dense, vectors=vectors, fixed=fixed)

    def _learn(
        self,
        mixture: SequentialMixture,
        rows: Rows,
        times: ArrayLike | None,
        vectors: NDArray[np.float32] | None = None,
        copies: Copies | None = None,
    ) -> None:
        if copies is not None:
            each = mixture.checked_times(rows, times, vectors)
            rows, times = rows[copies.rows], None if each is None else each[copies.rows]
            vectors = None if vectors is None else vectors[copies.rows]
        if self.window:
            if not hasattr(self, "_window"):
                self._window = Window(int(self.window))
            learnt, left = self._window.learn(mixture, rows, mixture.checked_times(rows, times, vectors), vectors)
            self.smoothed_labels_ = left.labels
        else:
            learnt = mixture.learn(rows, times, vectors)
        self.labels_ = learnt.labels if copies is None else copies.of_rows(learnt.labels, -1)
        self.retired_ = learnt.retired
        self._report_empty(learnt.labels < 0)

    def _columns_in_use(self) -> NDArray[np.bool_]:
        used = self._mixture.columns_in_use()
        return used | self._window.columns_in_use(len(used)) if hasattr(self, "_window") else used

    def _living(self) -> Living:
        check_is_fitted(self)
        return self._mixture.living()


def _unit_vectors(vectors: ArrayLike) -> NDArray[np.float32]:
    if issparse(vectors):
        raise ValueError("vectors: expected a dense array, got a sparse one")
    try:
        rows = np.asarray(vectors)
        rows = rows if rows.dtype == np.float32 or rows.dtype.kind == "c" else rows.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"vectors: expected an array of numbers, (N, E), got {type(vectors).__name__}; numpy.stack makes one of a "
            "column of vectors"
        ) from None
    if rows.dtype.kind == "c":
        raise ValueError("vectors: expected real numbers, got complex ones")
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise ValueError(f"vectors: expected the shape (N, E) with E of at least 2, got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError(
            f"vectors: expected finite numbers, got others in row {np.argmin(np.isfinite(rows).all(axis=1))}"
        )
    return np.asarray(unit_rows(rows)[0], np.float32)
