"""Groups clustered by content and contexts together, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from vmfstream.arrays import Rows, Vector
from vmfstream.bayes.multilevel.concentrations import Laws
from vmfstream.bayes.multilevel.prediction import (
    Bags,
    averaged,
    cluster_odds,
    cluster_scores,
    context_by_cluster,
    context_by_topic,
    further,
    log_probabilities,
    memberships,
    vectors_given_topics,
    words_given_topics,
)
from vmfstream.bayes.multilevel.sampler import Chain, fit
from vmfstream.bayes.multilevel.sampler_state import Draw
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators import multilevel_input as read
from vmfstream.estimators.base import SphereEstimator
from vmfstream.estimators.multilevel_contexts import Named, powers_of
from vmfstream.estimators.parameters import Choice, Domain, Either, Nothing, Number, Whole, check_parameters
from vmfstream.metrics import perplexity
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.seeding import seed_labels

REDRAWS = 30
"""Tokens whose topics are drawn anew after each token of a group that is scored."""


class MultilevelClustering(SphereEstimator):
    """Clusters of groups and topics of their content, informed by contexts of the groups; finds both numbers (MC2).

    Parameters
    ----------
    content : {"multinomial", "vmf"}
        Words of documents as counts (J, V), or a sequence of J arrays (N_j, D) of directions.
    kernels : {"auto", "gaussian", "multinomial", "vmf"}, or mapping from names of contexts to these
        Numbers with unknown mean and variance, bags of items, or directions; "auto" takes sparse matrices for bags and
        everything else for numbers.
    temperatures : mapping of str to float > 0, optional
        Temperatures of the factors of contexts, 1 if not named: a factor is raised to the power 1 / temperature. Above
        1 where a rich context drowns the content; infinite to leave a context out.
    tempers : mapping of str to float >= 0, optional
        Deprecated: the inverses of ``temperatures``.
    word_prior, item_prior : float > 0
        Dirichlet parameter of every word of a topic, and of every item of a bag.
    alpha_prior, spread_prior, eta_prior : (shape, rate)
        Gamma priors of the concentrations of clusters, of topics in a cluster, and of topics.
    start_clusters : int or None
        Clusters of spherical k-means from which a chain starts; None: every group is one by itself. Long documents
        hardly ever leave a cluster together, so that chains on them should start from None.
    start_topics : int
        Topics among which tokens are dealt out at random. 0: clusters come from the contexts alone, then tokens choose
        one after the other. Chains on long documents hardly ever open a topic: let them start with about as many as
        are wanted.
    settle : int
        Sweeps over the topics alone, while clusters stay as they began and no two topics join: those that were dealt
        out at random are alike at first.
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

    Examples
    --------
    Five groups as counts of four words, with a number known of each group:

    >>> counts = np.array([[9, 8, 0, 0], [8, 9, 0, 0], [0, 0, 9, 8], [0, 0, 8, 9], [9, 9, 0, 0]])
    >>> ages = np.array([[20.0], [21.0], [60.0], [61.0], [22.0]])
    >>> clusters = MultilevelClustering(draws=5, burn_in=20, random_state=0).fit(counts, {"age": ages})
    >>> clusters.labels_.tolist(), clusters.topics_.shape[1]
    ([0, 0, 1, 1, 0], 4)
    """

    domains: ClassVar[Mapping[str, Domain]] = {
        "content": Choice("multinomial", "vmf"),
        "word_prior": Number(0.0, closed="neither"),
        "item_prior": Number(0.0, closed="neither"),
        "start_clusters": Either(Whole(1), Nothing()),
        "start_topics": Whole(0),
        "settle": Whole(0),
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
        temperatures: Mapping[str, float] | None = None,
        tempers: Mapping[str, float] | None = None,
        word_prior: float = 0.1,
        item_prior: float = 0.1,
        alpha_prior: tuple[float, float] = (1.0, 1.0),
        spread_prior: tuple[float, float] = (1.0, 1.0),
        eta_prior: tuple[float, float] = (1.0, 1.0),
        start_clusters: int | None = 20,
        start_topics: int = 0,
        settle: int = 0,
        draws: int = 10,
        burn_in: int = 100,
        thin: int = 10,
        n_init: int = 1,
        random_state: Any = None,
    ) -> None:
        self.content = content
        self.kernels = kernels
        self.temperatures = temperatures
        self.tempers = tempers
        self.word_prior = word_prior
        self.item_prior = item_prior
        self.alpha_prior = alpha_prior
        self.spread_prior = spread_prior
        self.eta_prior = eta_prior
        self.start_clusters = start_clusters
        self.start_topics = start_topics
        self.settle = settle
        self.draws = draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, contents: Any, contexts: Any = None, y: object = None) -> MultilevelClustering:
        """Draw from the posterior given the contents of J groups and their contexts.

        After an error, or Ctrl-C, the earlier fit is still there.

        Parameters
        ----------
        contents : counts (J, V), or a sequence of J arrays (N_j, D); every group holds something
        contexts : mapping from names to arrays with J rows, one such array, or None
            Missing contexts are rows with NaN (numbers) or rows of zeros (bags, directions).

        Raises
        ------
        ValueError
            Fewer than two groups, an empty one, one word type, more than 1e9 words, vectors of zeros, contexts of
            another length, type or kernel, infinite or above 1e100, or a temperature that is not above 0.

        ``y`` is ignored.
        """
        self._check_parameters()
        laws = Laws(*(read.law(name, getattr(self, name)) for name in ("alpha_prior", "spread_prior", "eta_prior")))
        rng = self._rng()
        given, rows = read.contents(self.content, contents, self.word_prior)
        groups = rows.shape[0]
        if self.tempers is not None:
            warnings.warn("tempers is deprecated, use temperatures (1 / temper)", DeprecationWarning, stacklevel=2)
        powers = powers_of(contexts, self.temperatures, self.tempers)
        with self._kept_after_errors():
            self._named = Named(contexts, groups, self.kernels, powers, self.item_prior)
            self.context_names_ = self._named.names
            best = -np.inf
            for _ in range(self.n_init):
                z = np.arange(groups) if self.start_clusters is None else _start(rows, self.start_clusters, rng)
                content = given
                if self.start_topics:
                    content = given._replace(l=rng.integers(0, self.start_topics, len(given.l)))
                chain = Chain(content, self._named.contexts, z, rng, laws=laws)
                chain.settle(self.settle)
                draws, trace = fit(chain, draws=self.draws, burn_in=self.burn_in, thin=self.thin)
                height = float(np.mean([draw.log_joint for draw in draws]))
                if height > best:
                    best, self._chain, self.draws_, self.trace_ = height, chain, draws, trace
            return self._summarise()

    def fit_predict(self, contents: Any, contexts: Any = None, y: object = None) -> NDArray[np.int64]:
        """Return the labels of a fit, (J,); arguments and errors as in `fit`."""
        return self.fit(contents, contexts).labels_

    def resume(self, draws: int = 10) -> MultilevelClustering:
        """Let the chain go on from where it stands and keep ``draws`` more states, none after an error or Ctrl-C."""
        check_is_fitted(self)
        check_parameters({"draws": draws}, {"draws": Whole(1)})
        chain = deepcopy(self._chain)
        more, trace = fit(chain, draws=draws, burn_in=0, thin=self.thin)
        with self._kept_after_errors():
            self._chain = chain
            self.draws_, self.trace_ = [*self.draws_, *more], np.concatenate([self.trace_, trace])
            return self._summarise()

    def predict(self, contents: Any, contexts: Any = None) -> NDArray[np.int64]:
        """Return the most probable of the clusters of ``labels_`` for new groups, (J,), of which something is known.

        Parameters
        ----------
        contents, contexts : as in `fit`; contexts that are not given are not looked at
        """
        bags, rows = self._tokens("contents", contents)
        like, _ = self._likelihoods(self._best, rows)
        odds = cluster_odds(self._best, self._named.fresh(contexts, len(bags.indptr) - 1), len(bags.indptr) - 1)
        odds[:, -1] = -np.inf
        scores = cluster_scores(self._best, like, bags, odds, np.random.default_rng(0), steps=REDRAWS)
        return np.asarray(scores.argmax(axis=1), np.int64)

    def score_samples(self, contents: Any, contexts: Any = None, *, seen: Any = None, redraws: int = REDRAWS) -> Vector:
        """Return the log-probability of the content of new groups, (J,), averaged over draws inside the logarithm.

        Their clusters and the topics of their tokens are summed out; a group may also be a cluster by itself. It is an
        estimate, the same at every call, whose logarithm is too small rather than too large. Densities of directions
        are relative to uniform.

        Parameters
        ----------
        contents : as in `fit`
        contexts : their own contexts, as in `fit`, to be known; those that are not given are not looked at
        seen : other content of the same groups, to be known too; every token of ``contents`` is then predicted from it
            by itself (document completion)
        redraws : int >= 0, tokens whose topics are drawn anew after each; more of them make the estimate closer; not
            needed with ``seen``

        Raises
        ------
        ValueError
            Contents, contexts or ``seen`` of another width or number of groups than expected, or ``redraws`` that are
            no integer of at least 0.

        References
        ----------
        Buntine 2009, Estimating likelihoods for topic models.
        """
        check_parameters({"redraws": redraws}, {"redraws": Whole(0)})
        bags, rows = self._tokens("contents", contents)
        groups = len(bags.indptr) - 1
        known, more = (None, rows) if seen is None else self._tokens("seen", seen)
        if known is not None and len(known.indptr) - 1 != groups:
            raise ValueError(f"seen: expected {groups} groups, got {len(known.indptr) - 1}")
        fresh, rng, log_p = self._named.fresh(contexts, groups), np.random.default_rng(0), list[Vector]()
        for draw in self.draws_:
            odds = cluster_odds(draw, fresh, groups)
            like, top = self._likelihoods(draw, rows)
            if known is None:
                found = log_probabilities(draw, like, bags, odds, rng, steps=redraws)
            else:
                topics = memberships(draw, self._likelihoods(draw, more)[0], known, odds, rng)
                found = further(like, bags, topics)
            group = np.repeat(np.arange(groups), np.diff(bags.indptr))
            log_p.append(found + np.bincount(group, top[bags.tokens], groups))
        return averaged(log_p)

    def perplexity(self, contents: Any, contexts: Any = None, *, seen: Any = None, redraws: int = REDRAWS) -> float:
        """Return the perplexity per word of new groups: exp of minus the mean log-probability of a word.

        ``contents``, ``contexts``, ``seen`` and ``redraws`` as in `score_samples`.
        """
        bags, _ = self._tokens("contents", contents)
        log_p = self.score_samples(contents, contexts, seen=seen, redraws=redraws)
        return perplexity(log_p, np.diff(bags.indptr))

    def cluster_contexts(self, name: str, at: ArrayLike | None = None) -> Vector:
        """Return the predictive distribution of a context in every cluster: (K, items), or its density (K, n).

        Parameters
        ----------
        name : name of the context
        at : (n,) or (n, W) numbers, or (n, W) directions, for which densities are wanted; not read for bags

        Raises
        ------
        ValueError
            No such context, none of ``at`` where densities are wanted, or other columns than the context has.
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

        Raises
        ------
        ValueError
            Not one of ``feature_names`` for each word, or not one of ``items`` for each item of a bag.

        References
        ----------
        [MC2] Fig. 3.
        """
        check_is_fitted(self)
        names = np.asarray(feature_names, dtype=object)
        if names.shape != self.topics_.shape[1:]:
            raise ValueError(f"feature_names: expected {self.topics_.shape[1]} names, got the shape {names.shape}")
        bags = {name: (np.asarray(of, object), self.cluster_contexts(name)) for name, of in (items or {}).items()}
        for name, (of, p) in bags.items():
            if of.shape != p.shape[1:]:
                raise ValueError(f"items: expected {p.shape[1]} names for {name!r}, got the shape {of.shape}")
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

    @property
    def means_(self) -> Vector:  # type: ignore[override]
        """The topics, (M, V) or (M, D), as `words` reads them."""
        return self.topics_

    def _tokens(self, name: str, contents: Any) -> tuple[Bags, Vector]:
        """Return the tokens of new groups, and their vectors if they are such; groups may be empty."""
        check_is_fitted(self)
        return read.fresh_tokens(self.content, name, contents, self.topics_.shape[1])

    def _likelihoods(self, draw: Draw, rows: Vector) -> tuple[Vector, Vector]:
        """Return how probable tokens are under each topic, and to which logarithm this is relative."""
        if self.content == "vmf":
            return vectors_given_topics(draw, rows)
        like = words_given_topics(draw)
        return like, np.zeros(len(like))

    def _context(self, name: str, at: ArrayLike | None) -> Vector:
        check_is_fitted(self)
        if name not in self.context_names_:
            raise ValueError(f"name: expected one of {', '.join(self.context_names_) or 'no context'}, got {name!r}")
        context = self._best.contexts[self.context_names_.index(name)]
        return context_by_cluster(context, self._named.places(name, at))


def _start(rows: Rows, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels of spherical k-means, 0 for rows without direction."""
    directions = int(directed(rows).sum())
    return (
        np.maximum(seed_labels(rows, min(k, directions), rng), 0) if directions else np.zeros(rows.shape[0], np.int64)
    )


def _strongest(names: NDArray[Any], p: Vector, top: int) -> list[tuple[str, float]]:
    return [(str(names[i]), float(p[i])) for i in np.argsort(-p, kind="stable")[:top]]
