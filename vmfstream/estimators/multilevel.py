"""Groups clustered by content and contexts together, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from vmfstream.bayes import multilevel_contexts as kernels
from vmfstream.bayes.multilevel import Chain, Draw, fit
from vmfstream.bayes.multilevel_content import vector_content, word_content
from vmfstream.bayes.multilevel_contexts import Context
from vmfstream.bayes.multilevel_levels import Laws
from vmfstream.bayes.multilevel_prediction import (
    averaged,
    context_by_cluster,
    context_by_topic,
    vector_scores,
    word_scores,
)
from vmfstream.bayes.multilevel_sweeps import Content
from vmfstream.directional.params import Rows
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.base import SphereEstimator
from vmfstream.estimators.parameters import Choice, Domain, Number, Whole
from vmfstream.metrics import perplexity
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.seeding import seed_labels

Vector: TypeAlias = NDArray[np.float64]

KERNELS = ("gaussian", "multinomial", "vmf")


class Vectors(NamedTuple):
    """Unit vectors of all groups one after the other, (T, D), those of group j from ``indptr[j]`` on."""

    rows: Vector
    indptr: NDArray[np.int64]


class MultilevelClustering(SphereEstimator):
    """Clusters of groups and topics of their content, informed by contexts of the groups; finds both numbers (MC2).

    Parameters
    ----------
    content : {"multinomial", "vmf"}
        Words of documents as counts (J, V), or a sequence of J arrays (N_j, D) of directions.
    kernels : {"auto", "gaussian", "multinomial", "vmf"}, or mapping from names of contexts to these
        Numbers with unknown mean and variance, bags of items, or directions; "auto" takes sparse matrices for bags and
        everything else for numbers.
    tempers : mapping of str to float, optional
        Powers to which the factors of contexts are raised, 1 if not named; below 1 where a rich context drowns the
        content.
    word_prior, item_prior : float > 0
        Dirichlet parameter of every word of a topic, and of every item of a bag.
    alpha_prior, spread_prior, eta_prior : (shape, rate)
        Gamma priors of the concentrations of clusters, of topics in a cluster, and of topics.
    start_clusters, start_topics : int
        Clusters of spherical k-means from which a chain starts, and topics, which are such clusters too. 0 topics: the
        clusters come from the contexts alone, then tokens choose one after the other. Chains on long documents hardly
        ever open a topic: let them start with more than are wanted.
    draws, burn_in, thin : int
        States kept, sweeps before the first, and sweeps from one to the next.
    n_init : int
        Chains; that of the largest mean log joint density is kept.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    draws_ : list of Draw, the states kept; the others are those of the draw of largest log joint density
    labels_ : (J,)
    n_clusters_, n_topics_ : int
    weights_ : (K,) shares of the clusters
    mixing_ : (K, M) weights of the topics in each cluster
    topics_ : (M, V) word probabilities, or (M, D) mean directions
    alpha_, spread_, eta_ : float
    trace_ : (sweeps, 3) log joint density, clusters and topics of the chain kept
    context_names_ : tuple of str

    References
    ----------
    [MC2]
    """

    domains: ClassVar[Mapping[str, Domain]] = {
        "content": Choice("multinomial", "vmf"),
        "word_prior": Number(0.0, closed="neither"),
        "item_prior": Number(0.0, closed="neither"),
        "start_clusters": Whole(1),
        "start_topics": Whole(0),
        "draws": Whole(1),
        "burn_in": Whole(0),
        "thin": Whole(1),
        "n_init": Whole(1),
    }

    def __init__(
        self,
        content: str = "multinomial",
        kernels: str | Mapping[str, str] = "auto",
        *,
        tempers: Mapping[str, float] | None = None,
        word_prior: float = 0.1,
        item_prior: float = 0.1,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        spread_prior: tuple[float, float] = (1.0, 1.0),
        eta_prior: tuple[float, float] = (1.0, 1.0),
        start_clusters: int = 20,
        start_topics: int = 0,
        draws: int = 10,
        burn_in: int = 100,
        thin: int = 10,
        n_init: int = 1,
        random_state: Any = None,
    ) -> None:
        self.content = content
        self.kernels = kernels
        self.tempers = tempers
        self.word_prior = word_prior
        self.item_prior = item_prior
        self.alpha_prior = alpha_prior
        self.spread_prior = spread_prior
        self.eta_prior = eta_prior
        self.start_clusters = start_clusters
        self.start_topics = start_topics
        self.draws = draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, contents: Any, contexts: Any = None, y: object = None) -> MultilevelClustering:
        """Draw from the posterior given the contents of J groups and their contexts.

        Parameters
        ----------
        contents : counts (J, V), or a sequence of J arrays (N_j, D); every group holds something
        contexts : mapping from names to arrays with J rows, one such array, or None
            Missing contexts are rows with NaN (numbers) or rows of zeros (bags, directions).

        Raises
        ------
        ValueError
            Fewer than two groups, an empty one, one word type, or contexts of another length, type or kernel.
        """
        self._check_parameters()
        laws = Laws(*(_law(name, getattr(self, name)) for name in ("alpha_prior", "spread_prior", "eta_prior")))
        rng = self._rng()
        given, rows = self._contents(contents)
        groups = rows.shape[0]
        self._read_contexts(contexts, groups)
        best = -np.inf
        for _ in range(self.n_init):
            z = _start(rows, self.start_clusters, rng)
            content = given
            if self.start_topics:
                topics = _start(rows, self.start_topics, rng)
                content = given._replace(l=np.repeat(topics, np.diff(given.indptr)))
            chain = Chain(content, self._contexts, z, rng, laws=laws)
            draws, trace = fit(chain, draws=self.draws, burn_in=self.burn_in, thin=self.thin)
            height = float(np.mean([draw.log_joint for draw in draws]))
            if height > best:
                best, self._chain, self.draws_, self.trace_ = height, chain, draws, trace
        return self._summarise()

    def resume(self, draws: int = 10) -> MultilevelClustering:
        """Let the chain go on from where it stands and keep ``draws`` more states."""
        check_is_fitted(self)
        more, trace = fit(self._chain, draws=draws, burn_in=0, thin=self.thin)
        self.draws_, self.trace_ = [*self.draws_, *more], np.concatenate([self.trace_, trace])
        return self._summarise()

    def predict(self, contents: Any) -> NDArray[np.int64]:
        """Return the most probable of the clusters of ``labels_`` for new groups, from their content alone, (J,)."""
        return np.asarray(self._scores(contents, [self._best])[0][:, :-1].argmax(axis=1), np.int64)

    def score_samples(self, contents: Any) -> Vector:
        """Return the log-probability of the content of new groups, (J,), averaged over draws inside the logarithm.

        Densities of directions are relative to uniform.
        """
        return averaged(self._scores(contents, self.draws_))

    def perplexity(self, contents: Any) -> float:
        """Return the perplexity per word of new groups; contexts are not looked at."""
        given, _ = self._contents(contents)
        return perplexity(self.score_samples(contents), np.diff(given.indptr))

    def cluster_contexts(self, name: str, at: ArrayLike | None = None) -> Vector:
        """Return the predictive distribution of a context in every cluster: (K, items), or its density (K, n).

        Parameters
        ----------
        name : name of the context
        at : (n,) or (n, W) numbers, or (n, W) directions, for which densities are wanted; not read for bags
        """
        return self._context(name, at)[:-1]

    def topic_contexts(self, name: str, at: ArrayLike | None = None) -> Vector:
        """Return the distribution of a context for every topic, (M, items) or (M, n): when a topic rises and falls.

        That of the clusters that its words come from; see `cluster_contexts`.

        References
        ----------
        [MC2] Fig. 4.
        """
        return context_by_topic(self._best, self._context(name, at))

    def table(
        self,
        feature_names: Sequence[str],
        items: Mapping[str, Sequence[str]] | None = None,
        top: int = 5,
    ) -> list[dict[str, Any]]:
        """Return a row for every cluster, the largest first, with its groups, its topics and the items of its contexts.

        Parameters
        ----------
        feature_names : sequence of V str, names of words (or of coordinates)
        items : names of the items of bags, by the name of the context
        top : int, most groups, topics, words of each, and items

        References
        ----------
        [MC2] Fig. 3.
        """
        names = np.asarray(feature_names, dtype=object)
        if names.shape != self.topics_.shape[1:]:
            raise ValueError(f"feature_names: expected {self.topics_.shape[1]} names, got the shape {names.shape}")
        bags = {name: (np.asarray(of, object), self.cluster_contexts(name)) for name, of in (items or {}).items()}
        words = [names[order[:top]].tolist() for order in np.argsort(-self.topics_, axis=1, kind="stable")]
        rows = list[dict[str, Any]]()
        for k in np.argsort(-self.weights_, kind="stable"):
            topics = np.argsort(-self.mixing_[k], kind="stable")[:top]
            rows.append(
                {
                    "cluster": int(k),
                    "groups": np.flatnonzero(self.labels_ == k).tolist(),
                    "topics": [(int(m), float(self.mixing_[k, m]), words[m]) for m in topics],
                    "contexts": {name: _strongest(of, p[k], top) for name, (of, p) in bags.items()},
                }
            )
        return rows

    def _summarise(self) -> MultilevelClustering:
        best = self._best = max(self.draws_, key=lambda draw: draw.log_joint)
        k, m = best.tokens.shape
        self.labels_, self.n_clusters_, self.n_topics_ = best.labels, k, m
        self.weights_, self.mixing_ = best.members / best.members.sum(), best.mixing[:k, :m]
        self.alpha_, self.spread_, self.eta_ = best.alpha, best.spread, best.eta
        topics = best.topics[:m]
        self.topics_ = topics if self.content == "multinomial" else np.asarray(unit_rows(topics)[0])
        return self

    def _contents(self, contents: Any) -> tuple[Content, Rows]:
        """Return the tokens, and a direction for every group."""
        if self.content == "multinomial":
            counts = _counts("contents", contents)
            _check_groups(counts.shape[0], np.asarray(counts.sum(axis=1)), counts.shape[1])
            return word_content(counts, self.word_prior), unit_rows(counts)[0]
        vectors = _vectors(contents)
        _check_groups(len(vectors.indptr) - 1, np.diff(vectors.indptr), vectors.rows.shape[1])
        sums = np.add.reduceat(vectors.rows, vectors.indptr[:-1], axis=0)
        return vector_content(vectors.rows, vectors.indptr), unit_rows(sums)[0]

    def _scores(self, contents: Any, draws: Sequence[Draw]) -> list[Vector]:
        check_is_fitted(self)
        width = self.topics_.shape[1]
        if self.content == "multinomial":
            counts = _counts("contents", contents)
            if counts.shape[1] != width:
                raise ValueError(f"contents: expected {width} words, got {counts.shape[1]}")
            return [word_scores(draw, counts) for draw in draws]
        vectors = _vectors(contents)
        if vectors.rows.shape[1] != width:
            raise ValueError(f"contents: expected {width} dimensions, got {vectors.rows.shape[1]}")
        return [vector_scores(draw, *vectors) for draw in draws]

    def _read_contexts(self, contexts: Any, groups: int) -> None:
        """Read all contexts; numbers are kept less their mean."""
        if contexts is None:
            contexts = {}
        named: Mapping[str, Any] = contexts if isinstance(contexts, Mapping) else {"context": contexts}
        asked = dict(self.kernels) if isinstance(self.kernels, Mapping) else dict.fromkeys(named, self.kernels)
        tempers = self.tempers or {}
        for what, names in (("kernels", asked), ("tempers", tempers)):
            if unknown := set(names) - set(named):
                raise ValueError(f"{what}: expected names of contexts, {sorted(named)}, got {sorted(unknown)}")
        self._offsets, read = dict[str, Any](), list[Context]()
        for name, values in named.items():
            kernel = asked.get(name, "auto")
            kernel = ("multinomial" if issparse(values) else "gaussian") if kernel == "auto" else kernel
            read.append(self._context_of(name, kernel, values, groups, float(tempers.get(name, 1.0))))
        self._contexts, self.context_names_ = tuple(read), tuple(named)

    def _context_of(self, name: str, kernel: str, values: Any, groups: int, temper: float) -> Context:
        if kernel not in KERNELS:
            raise ValueError(f"kernels: expected one of {', '.join(KERNELS)} for {name!r}, got {kernel!r}")
        if not 0 <= temper < np.inf:
            raise ValueError(f"tempers: expected a number of at least 0 for {name!r}, got {temper}")
        rows = _counts(name, values) if kernel == "multinomial" else _numbers(name, values)
        if rows.shape[0] != groups:
            raise ValueError(f"{name}: expected a row for each of {groups} groups, got {rows.shape[0]}")
        if kernel == "multinomial":
            return kernels.bag(rows, item=self.item_prior, temper=temper)
        if kernel == "vmf":
            return kernels.direction(unit_rows(rows)[0], temper=temper)
        held = np.isfinite(rows).all(axis=1)
        self._offsets[name] = rows[held].mean(axis=0) if held.any() else np.zeros(rows.shape[1])
        return kernels.gaussian(rows - self._offsets[name], temper=temper)

    def _context(self, name: str, at: ArrayLike | None) -> Vector:
        check_is_fitted(self)
        if name not in self.context_names_:
            raise ValueError(f"name: expected one of {', '.join(self.context_names_) or 'no context'}, got {name!r}")
        context = self._best.contexts[self.context_names_.index(name)]
        places = None
        if at is not None:
            places = _numbers("at", at)
            places = places - self._offsets[name] if name in self._offsets else np.asarray(unit_rows(places)[0])
        return context_by_cluster(context, places)


def _start(rows: Rows, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels of spherical k-means, 0 for rows without direction."""
    held = int(directed(rows).sum())
    return np.maximum(seed_labels(rows, min(k, held), rng), 0) if held else np.zeros(rows.shape[0], np.int64)


def _strongest(names: NDArray[Any], p: Vector, top: int) -> list[tuple[str, float]]:
    return [(str(names[i]), float(p[i])) for i in np.argsort(-p, kind="stable")[:top]]


def _law(name: str, given: Any) -> tuple[float, float]:
    if np.shape(given) != (2,) or not (np.isfinite(given).all() and min(given) > 0):
        raise ValueError(f"{name}: expected a positive shape and rate, got {given!r}")
    return float(given[0]), float(given[1])


def _counts(name: str, given: Any) -> csr_array:
    """Read whole numbers of at least 0, dense or sparse."""
    if not issparse(given):
        given = _numbers(name, given)
    rows = csr_array(given, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    wrong = np.flatnonzero(~((rows.data > 0) & (rows.data == np.floor(rows.data)) & np.isfinite(rows.data)))
    if wrong.size:
        row = int(np.searchsorted(rows.indptr, wrong[0], side="right")) - 1
        raise ValueError(f"{name}: expected whole numbers of at least 0, got {rows.data[wrong[0]]} in row {row}")
    return rows


def _numbers(name: str, given: Any) -> Vector:
    """Read a vector or matrix of numbers as a matrix."""
    given = given.toarray() if issparse(given) else given
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers, got {type(given).__name__} that does not hold them") from None
    if values.ndim not in (1, 2):
        raise ValueError(f"{name}: expected one or two dimensions, got the shape {values.shape}")
    return values[:, None] if values.ndim == 1 else values


def _vectors(contents: Any) -> Vectors:
    """Read a sequence of arrays (N_j, D)."""
    parts = [_numbers(f"contents[{j}]", part) for j, part in enumerate(contents)]
    widths = {part.shape[1] for part in parts if len(part)}
    if len(widths) > 1:
        raise ValueError(f"contents: expected vectors of one dimension, got {sorted(widths)}")
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    rows, empty = unit_rows(np.concatenate([part for part in parts if len(part)] or [np.zeros((0, 2))]))
    if empty.any():
        raise ValueError(f"contents: expected vectors with a direction, got zeros at place {np.flatnonzero(empty)[0]}")
    return Vectors(np.asarray(rows, np.float64), indptr)


def _check_groups(groups: int, sizes: NDArray[Any], width: int) -> None:
    if groups < 2:
        raise ValueError(f"contents: expected at least 2 groups, got {groups}")
    if (sizes == 0).any():
        raise ValueError(
            f"contents: expected something in every group, got none in row {np.flatnonzero(sizes == 0)[0]}"
        )
    if width < 2:
        raise ValueError(f"contents: expected at least 2 words or dimensions, got {width}")
