"""The hierarchical mixture as an estimator: scikit-learn's checks, what its tree shows, bad trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER
from tests.unit.mixtures.planted import directions, nmi, vmf_rows
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.estimators.hierarchical import HierarchicalVMFMixture


@parametrize_with_checks(
    [
        HierarchicalVMFMixture(max_iter=1000, tol=1e-2, random_state=0),
        HierarchicalVMFMixture(inference="gibbs", n_draws=5, burn_in=5, random_state=0),
    ],
    expected_failed_checks=lambda _: EXPECTS_CLASSIFIER,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def nested(n: int = 300, d: int = 120) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows about six means in groups of two, their labels (two of a group follow each other), the groups' means."""
    rng = np.random.default_rng(4)
    groups = directions(rng, 3, d)
    means = vmf_rows(rng, groups, np.repeat([0, 1, 2], 2), 0.8)
    labels = rng.integers(6, size=n)
    return vmf_rows(rng, means, labels, 0.6), labels, groups


@pytest.mark.thorough
@pytest.mark.parametrize("inference", ["messages", "meanfield", "gibbs"])
@pytest.mark.parametrize(
    "tree", [None, {"all": ["a", "b", "c"], "a": [0, 1], "b": [2, 3], "c": [4, 5]}], ids=["by", "of"]
)
def test_siblings_are_alike(inference: str, tree: Any) -> None:
    x, labels, groups = nested()
    model = HierarchicalVMFMixture(
        2, (3, 2), tree=tree, inference=inference, random_state=3, n_init=6, n_draws=20, burn_in=10
    )
    fitted = model.fit(csr_array(x))
    assert nmi(fitted.labels_, labels) > 0.99
    shown = fitted.tree_
    if inference != "meanfield":  # mean field may prefer other groups, its bound being that of over-confident nodes
        assert nmi(shown.parent[fitted.labels_], labels // 2) > 0.99
        assert (shown.means[6:9] @ groups.T).max(axis=0).min() > 0.85
        assert np.asarray(bessel_ratio(120, shown.concentrations[6:9])) == pytest.approx(0.8, abs=0.12)
    assert np.asarray(bessel_ratio(120, shown.concentrations[:6])) == pytest.approx(0.6, abs=0.03)
    assert shown.depth.tolist() == [2] * 6 + [1] * 3 + [0]
    assert shown.documents[-1] == pytest.approx(300)
    assert shown.documents[6:9] == pytest.approx(np.bincount(shown.parent[:6] - 6, weights=shown.documents[:6]))
    assert np.array_equal(shown.means[:6], fitted.means_)
    assert np.isinf(shown.certainties[-1])
    assert np.array_equal(fitted.predict(x), fitted.labels_)
    assert fitted.predict_proba(x).sum(axis=1) == pytest.approx(1)
    if tree is not None:
        assert shown.names == (0, 1, 2, 3, 4, 5, "a", "b", "c", "all")


def test_words_of_nodes_are_those_of_largest_weight() -> None:
    x, _, _ = nested()
    fitted = HierarchicalVMFMixture(2, (3, 2), random_state=1).fit(np.abs(x))
    names = [f"w{j}" for j in range(120)]
    words = fitted.tree_.words(names, top=4)
    assert len(words) == 10
    for mean, found in zip(fitted.tree_.means, words, strict=True):
        assert found == [names[j] for j in np.argsort(-mean)[:4]]
    with pytest.raises(ValueError, match="feature_names: expected 120 names"):
        fitted.tree_.words(names[1:])


@pytest.mark.thorough
def test_same_seed_same_fit() -> None:
    x, _, _ = nested()
    kinds: list[dict[str, Any]] = [{}, {"inference": "gibbs", "n_draws": 3, "burn_in": 0}]
    for options in kinds:
        one, two = (HierarchicalVMFMixture(2, (3, 2), random_state=7, **options).fit(x) for _ in range(2))
        assert np.array_equal(one.means_, two.means_)
        assert one.lower_bound_ == two.lower_bound_


def test_gibbs_draws_are_counted_and_their_densities_told() -> None:
    x, _, _ = nested()
    model = HierarchicalVMFMixture(2, (3, 2), inference="gibbs", n_init=1, n_draws=4, burn_in=3, random_state=0)
    fitted = model.fit(x, sample_weight=np.repeat([1, 2], 150))
    assert fitted.n_iter_ == len(fitted.lower_bounds_) == 7
    assert fitted.tree_.documents[-1] == pytest.approx(450)
    twice = HierarchicalVMFMixture(**model.get_params()).fit(np.r_[x, x[150:]])
    assert np.array_equal(twice.labels_[:300], fitted.labels_)
    assert np.array_equal(twice.means_, fitted.means_)
    with pytest.raises(ValueError, match="sample_weight: expected whole numbers"):
        model.fit(x, sample_weight=np.full(300, 1.5))


def test_rows_without_direction_take_no_part() -> None:
    x, _, _ = nested()
    fitted = HierarchicalVMFMixture(2, (3, 2), random_state=1).fit(np.vstack([x, np.zeros((1, 120))]))
    assert fitted.labels_[-1] == -1
    assert fitted.tree_.documents[-1] == pytest.approx(300)


def test_leaves_without_rows_come_last_unless_the_tree_is_given() -> None:
    x = np.random.default_rng(0).standard_normal((40, 2))
    with_gaps = 0
    for seed in range(6):
        own = HierarchicalVMFMixture(2, (3, 2), random_state=seed, tol=0.01).fit(x)
        given = HierarchicalVMFMixture(tree=[-1, 0, 0, 0, 1, 1, 2, 2, 3, 3], random_state=seed, tol=0.01).fit(x)
        seen, ranks = np.unique(given.labels_, return_inverse=True)
        with_gaps += not np.array_equal(seen, np.arange(len(seen)))
        assert np.array_equal(own.labels_, ranks)
        assert given.tree_.names == (*range(4, 10), *range(1, 4), 0)
        where = [given.tree_.names.index(name) for name in own.tree_.names]
        assert where[: len(seen)] == seen.tolist()
        for name in ("parent", "depth", "means", "certainties", "concentrations", "documents"):
            assert np.array_equal(getattr(own.tree_, name), getattr(given.tree_, name)[where])
        assert own.predict_proba(x) == pytest.approx(given.predict_proba(x)[:, where[:6]], rel=1e-12)
        assert np.array_equal(own.weights_, given.weights_[where[:6]])
    assert with_gaps > 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"height": 0}, "height: expected an integer of at least 1, got 0"),
        ({"height": 2, "branching": (2, 3, 4)}, "one for each of 2 levels"),
        ({"branching": 0}, "branching: expected integers of at least 1"),
        ({"tree": [-1, 0, 0, -1]}, r"expected one root, got the roots \[0, 3\]"),
        ({"tree": [1, 2, 0]}, "expected one root, got none"),
        ({"tree": [-1, 0, 3, 2]}, r"expected no cycle, got one through the nodes \[2, 3\]"),
        ({"tree": [-1, 5]}, "expected parents from -1 to 1, got 5 for node 1"),
        ({"tree": [-1]}, "expected leaves below the root 0, got none"),
        ({"tree": {"a": ["b", "c"], "b": []}}, "expected a sequence of children for every key, got .* for 'b'"),
        ({"tree": {"a": ["b", "c"], "b": ["c"]}}, "expected one parent for every node, got 'a' and 'b' for 'c'"),
        ({"empirical_bayes": ["m"]}, "some of 'alpha', 'mu0', 'c0', 'kappa', got \\['m'\\]"),
        ({"inference": "exact"}, "inference: expected one of"),
        ({"n_draws": 0}, "n_draws: expected an integer of at least 1"),
        ({"tree": [-1, 0, 0, 0, 0, 0, 0]}, "n_components: expected at most the 4 rows"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        HierarchicalVMFMixture(**options).fit(np.eye(4))
