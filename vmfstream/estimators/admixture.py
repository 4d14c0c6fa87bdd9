"""The Dirichlet admixture of von Mises-Fisher distributions as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from vmfstream.arrays import Rows, Vector
from vmfstream.bayes.admixture.stream import Stream, batches, begun, learned
from vmfstream.bayes.admixture.variational import SWEEPS, AdmixtureFit, Visit, best_fit, directed_bags, visited
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.admixture_input import gathered
from vmfstream.estimators.base import ITERATION, SphereEstimator, components_by_rows, labels_of
from vmfstream.estimators.distinct import as_they_come
from vmfstream.estimators.mixtures import STARTS
from vmfstream.estimators.parameters import Array, Choice, Domain, Either, Flag, Number, Whole
from vmfstream.estimators.starts import start_given


class DirichletVMFAdmixture(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SphereEstimator):  # type: ignore[misc]
    """Dirichlet admixture of von Mises-Fisher distributions, VMFMix: documents are bags of vectors that mix topics.

    theta_i ~ Dir(alpha), and each vector of document i is from one of the components, drawn by theta_i. Like latent
    Dirichlet allocation, with directions of vectors (of words, sentences, images) in place of words.

    Documents come in one of four forms. All log-densities are relative to the uniform density on the sphere, in nats.

    =====================================  ==========================================================================
    ``fit([a, b, c])``                     a list of N arrays, one a document, shapes (J_i, D); or one array (N, J, D)
    ``fit(X, offsets=offsets)``            one matrix; document i is the rows from offsets[i] to offsets[i + 1]
    ``fit(X, counts=counts)``              one matrix (V, D) of vectors, such as those of words, and how often each
                                           document holds each of them, (N, V) sparse or dense
    ``fit(X)``                             one matrix; every row is a document of one vector
    =====================================  ==========================================================================

    Parameters
    ----------
    n_components : int
        Number of topics K.
    bayesian : bool
        Whether topics have beliefs about direction and concentration, as in `BayesianVMFMixture`, under priors taken
        from the first start; otherwise both are points of largest likelihood.
    concentration : {"own", "shared"}
        A concentration for each topic, or one for all.
    alpha : float
        Prior of the proportions, the same for all topics; small values let documents keep to few topics.
    learn_alpha : bool
        Whether ``alpha`` is only where the search for the best one starts.
    init : {"k-means++", "random"} or array
        Labels by spherical k-means, or random responsibilities, of all vectors. An array is labels of the vectors, or
        means, shape (K, D), whose nearest vectors are the first topics.
    n_init : int or "auto"
        Number of starts; the one of largest ``lower_bound_`` is kept. ``auto``: 3, or 1 where ``init`` is an array.
    max_iter : int
        Largest number of sweeps.
    document_iter : int
        Most steps of the proportions of a document in one sweep, at least 0.
    tol : float
        Stop when the bound changes by less, in nats per vector.
    batch_size : int
        Documents that ``partial_fit`` learns at a time.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Attributes
    ----------
    means_ : (K, D)
        Mean directions, unit rows.
    concentrations_ : (K,)
        Concentrations.
    weights_ : (K,)
        Shares of all vectors.
    certainties_ : (K,)
        Concentrations of the beliefs about the means; infinite for points.
    alpha_
        Prior of the proportions.
    proportions_ : (N, K)
        Expected proportions of the documents that were given last, equal ones for documents without vectors.
    labels_ : (N,) int64
        Their largest topics, -1 for documents without vectors.
    lower_bounds_ : (sweeps,)
        Lower bound of the mean log-density of documents after each sweep of ``fit``; it never falls.
    lower_bound_ : float
        The last of them, or that of the documents that ``partial_fit`` was given, before it learnt them.
    n_documents_seen_ : int
        Documents with vectors that were learnt.
    n_empty_rows_, n_empty_documents_ : int
        Vectors without direction, and documents without any other, which take no part.
    n_iter_, converged_, n_features_in_
        Sweeps, whether the fit came to rest, columns.

    Notes
    -----
    A sweep costs O(V D K) and O(J K) for each step of the proportions, where V counts different vectors and J, for
    each document, those that it holds. Memory is O(V (D + K) + N K).

    Vectors that repeat to the letter, as those of words do, have no largest likelihood: a topic of one common word
    alone takes the largest concentration that is allowed, and such topics decide which bound is larger.
    ``concentration="shared"`` keeps clear of that.

    References
    ----------
    [Li] with exact concentrations and alpha learnt; stepwise EM for ``partial_fit`` (Cappe and Moulines 2009).

    Examples
    --------
    >>> cats, ships = [[1, 0.1], [1, 0.2], [0.9, 0.1]], [[0.1, 1], [0.3, 1]]
    >>> admixture = DirichletVMFAdmixture(2, alpha=0.1, random_state=0).fit([cats, ships, cats + ships])
    >>> bool(admixture.labels_[0] != admixture.labels_[1])
    True
    >>> admixture.transform([ships]).shape
    (1, 2)
    """

    domains: ClassVar[Mapping[str, Domain]] = ITERATION | {
        "bayesian": Flag(),
        "concentration": Choice("own", "shared"),
        "alpha": Number(0.0, closed="neither"),
        "learn_alpha": Flag(),
        "init": Either(Choice("k-means++", "random"), Array()),
        "n_init": Either(Whole(1), Choice("auto")),
        "document_iter": Whole(0),
        "tol": Number(0.0),
        "batch_size": Whole(1),
    }

    weights_: Vector
    concentrations_: Vector
    _stream: Stream

    def __init__(
        self,
        n_components: int = 8,
        *,
        bayesian: bool = False,
        concentration: str = "own",
        alpha: float = 0.1,
        learn_alpha: bool = True,
        init: str | ArrayLike = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 100,
        document_iter: int = SWEEPS,
        tol: float = 1e-4,
        batch_size: int = 256,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.bayesian = bayesian
        self.concentration = concentration
        self.alpha = alpha
        self.learn_alpha = learn_alpha
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.document_iter = document_iter
        self.tol = tol
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(
        self, X: Any, y: object = None, *, offsets: ArrayLike | None = None, counts: Any = None
    ) -> DirichletVMFAdmixture:
        """Fit the admixture to documents, in one of the forms above.

        Parameters
        ----------
        X : list or column of arrays, array-like or sparse
        y : ignored
        offsets : (N + 1,) integers that never fall, from 0 to the number of rows
        counts : array-like or sparse, shape (N, V), finite and at least 0

        Raises
        ------
        ValueError
            If documents do not fit together or hold values that are not finite; says which document.
        """
        found = self._begin(*gathered(X, offsets, counts))
        self.lower_bounds_ = found.trace / self._documents()
        self.lower_bound_ = float(self.lower_bounds_[-1])
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self._warn_unless(self.converged_, self.max_iter)
        return self

    def partial_fit(
        self, X: Any, y: object = None, *, offsets: ArrayLike | None = None, counts: Any = None
    ) -> DirichletVMFAdmixture:
        """Learn documents and forget them; the first ones are fitted as a whole.

        Arguments and errors as in `fit`; a ValueError is also raised if vectors have another dimension than those
        before. A call that ends with an error, or by Ctrl-C, has learnt nothing.
        """
        vectors, bags = gathered(X, offsets, counts)
        if not hasattr(self, "_stream"):
            self.lower_bound_ = float(self._begin(vectors, bags).trace[-1]) / self._documents()
            return self
        self._check_parameters()
        rows, bags, empty = self._bags(vectors, bags)
        with self._kept_after_errors():
            visits = []
            for batch in batches(rows, bags, self.batch_size):
                self._stream, found = learned(
                    self._stream, *batch, learn_alpha=self.learn_alpha, sweeps=self.document_iter
                )
                visits.append(found)
            self._report_empty(empty)
            self._keep(np.concatenate([found.phi for found in visits]), bags)
            self.lower_bound_ = float(sum(found.bound.sum() for found in visits)) / self._documents()
        return self

    def fit_transform(
        self, X: Any, y: object = None, *, offsets: ArrayLike | None = None, counts: Any = None
    ) -> Vector:
        """Fit, and return the proportions (N, K) as ``transform`` gives them; arguments as in `fit`."""
        return self.fit(X, offsets=offsets, counts=counts).transform(X, offsets=offsets, counts=counts)

    def transform(self, X: Any, *, offsets: ArrayLike | None = None, counts: Any = None) -> Vector:
        """Return the expected proportions of every document, (N, K); equal ones for documents without vectors.

        Arguments as in `fit`, for N documents that need not be those that were learnt.
        """
        return _proportions(self._visit(X, offsets, counts)[0].phi)

    def predict(self, X: Any, *, offsets: ArrayLike | None = None, counts: Any = None) -> NDArray[np.int64]:
        """Return the largest topic of every document, (N,) int64, -1 for documents without vectors.

        Arguments as in `fit`.
        """
        found = self._visit(X, offsets, counts)[0]
        return labels_of(found.phi, ~found.has_direction)

    def score_samples(
        self,
        X: Any,
        *,
        offsets: ArrayLike | None = None,
        counts: Any = None,
        relative_to_uniform: bool = True,
    ) -> Vector:
        """Return a lower bound of the log-density of every document, (N,), in nats; 0 without vectors.

        ``X``, ``offsets`` and ``counts`` as in `fit`. ``relative_to_uniform`` leaves out the log-density of the uniform
        distribution, once for every vector.
        """
        found, bags = self._visit(X, offsets, counts)
        if relative_to_uniform:
            return found.bound
        sizes = np.asarray(bags.sum(axis=1))
        return np.asarray(found.bound + sizes * float(log_c_uniform(self.n_features_in_)))

    def score(self, X: Any, y: object = None, *, offsets: ArrayLike | None = None, counts: Any = None) -> float:
        """Return the mean of ``score_samples`` over the documents that have vectors, in nats; 0 if none has.

        Arguments as in `fit`.
        """
        found = self._visit(X, offsets, counts)[0]
        return float(found.bound[found.has_direction].mean()) if found.has_direction.any() else 0.0

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def _begin(self, vectors: Any, bags: csr_array) -> AdmixtureFit:
        """Check everything, fit the documents as a whole, and be ready for more."""
        if not bags.nnz:
            raise ValueError(f"X: expected at least one vector, got {bags.shape[0]} empty documents")
        documents = self._read(vectors, np.asarray(bags.sum(axis=0)))
        bags = directed_bags(documents.rows, bags)
        options: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("bayesian", "concentration", "alpha", "learn_alpha", "max_iter", "tol")
        }
        found = best_fit(
            documents.rows,
            bags,
            self.n_components,
            self._rng(),
            init=start_given(self.init, as_they_come(documents), None, self.n_components, 1),
            n_init=self._number_of_starts(STARTS),
            sweeps=self.document_iter,
            **options,
        )
        self._stream = begun(found)
        self._keep(found.visit.phi, bags)
        return found

    def _documents(self) -> int:
        """Return the number of documents given last that have vectors."""
        return max(1, len(self.labels_) - self.n_empty_documents_)

    def _bags(self, vectors: Any, bags: csr_array) -> tuple[Rows, csr_array, NDArray[np.bool_]]:
        if bags.shape[1]:
            rows, empty = self._rows(vectors)
            return rows, directed_bags(rows, bags), empty
        check_is_fitted(self)  # no document has a vector, so that none has a dimension
        return np.zeros((0, self.n_features_in_), self.means_.dtype), bags, np.zeros(0, np.bool_)

    def _visit(self, X: Any, offsets: ArrayLike | None, counts: Any) -> tuple[Visit, csr_array]:
        rows, bags, _ = self._bags(*gathered(X, offsets, counts))
        return visited(rows, bags, self._stream.topics, self._stream.alpha), bags

    def _keep(self, phi: Vector, bags: csr_array) -> None:
        """Take the fitted attributes from what is known now, and the posteriors ``phi`` of the documents given last."""
        stream, k = self._stream, self._stream.topics.k
        means, _ = unit_rows(components_by_rows(stream.topics.f, k))
        self.means_ = np.asarray(means)
        self.concentrations_ = np.broadcast_to(stream.topics.kappa.mean, k).copy()
        self.certainties_ = stream.topics.gamma
        self.weights_ = stream.averages.sums.nk / stream.averages.sums.nk.sum()
        self.alpha_ = stream.alpha
        self.n_documents_seen_ = stream.documents
        empty = np.diff(bags.indptr) == 0
        self.n_empty_documents_ = int(empty.sum())
        self.proportions_ = _proportions(phi)
        self.labels_ = labels_of(phi, empty)


def _proportions(phi: Vector) -> Vector:
    return np.asarray(phi / phi.sum(axis=1, keepdims=True))
