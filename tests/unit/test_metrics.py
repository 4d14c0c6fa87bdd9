"""Metrics against definitions spelled out pair by pair and document by document."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, permutations
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import vmfstream
from vmfstream import metrics
from vmfstream.directional.sphere import unit_rows

labellings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 3), min_size=n, max_size=n) for _ in range(2)))
)


def entropy(labels: list[int]) -> float:
    return -sum(c / len(labels) * math.log(c / len(labels)) for c in Counter(labels).values())


def information(a: list[int], b: list[int]) -> float:
    return entropy(a) + entropy(b) - entropy([10 * i + j for i, j in zip(a, b, strict=True)])


def pairs(a: list[int], b: list[int]) -> Counter[tuple[bool, bool]]:
    return Counter((a[i] == a[j], b[i] == b[j]) for i, j in combinations(range(len(a)), 2))


def f1(predicted: list[int | None], truth: list[int]) -> float:
    scores = []
    for name in sorted(set(truth)):
        hits = sum(p == name == t for p, t in zip(predicted, truth, strict=True))
        scores.append(2 * hits / (predicted.count(name) + truth.count(name)))
    return sum(scores) / len(scores)


@given(labellings)
def test_information_is_that_of_entropies(labels: tuple[list[int], list[int]]) -> None:
    found, truth = labels
    mutual = information(found, truth)
    assert metrics.mutual_information(found, truth) == pytest.approx(mutual, abs=1e-12)
    scale = math.sqrt(entropy(found) * entropy(truth))
    expected = mutual / scale if scale else float(entropy(found) == entropy(truth))
    assert metrics.normalized_mutual_information(found, truth) == pytest.approx(expected, abs=1e-7)


@given(labellings)
def test_pair_scores_count_pairs(labels: tuple[list[int], list[int]]) -> None:
    found, truth = labels
    count = pairs(found, truth)
    both, total = count[True, True], count.total()
    by_cluster, by_class = both + count[True, False], both + count[False, True]
    assert metrics.rand_index(found, truth) == pytest.approx(
        (total + 2 * both - by_cluster - by_class) / total if total else 1.0
    )
    assert metrics.pairwise_f(found, truth) == pytest.approx(
        2 * both / (by_cluster + by_class) if by_cluster + by_class else 1.0
    )
    chance = by_cluster * by_class / total if total else 0.0
    most = (by_cluster + by_class) / 2
    expected = (both - chance) / (most - chance) if most != chance else 1.0
    assert metrics.adjusted_rand_index(found, truth) == pytest.approx(expected, abs=1e-12)


@given(labellings)
def test_purity_and_majority_f1(labels: tuple[list[int], list[int]]) -> None:
    found, truth = labels
    size = Counter(truth)
    name = {}
    for cluster in set(found):
        inside = Counter(t for c, t in zip(found, truth, strict=True) if c == cluster)
        name[cluster] = max(inside, key=lambda label: (inside[label], size[label], -label))
    agree = sum(name[c] == t for c, t in zip(found, truth, strict=True))
    assert metrics.purity(found, truth) == pytest.approx(agree / len(found))
    assert metrics.macro_f1(found, truth) == pytest.approx(f1([name[c] for c in found], truth))


def test_one_to_one_f1_is_that_of_the_best_matching() -> None:
    rng = np.random.default_rng(0)
    for classes in (2, 3, 4):
        found, truth = rng.integers(3, size=20).tolist(), rng.integers(classes, size=20).tolist()
        names = [*range(classes), None, None]
        agree = {to: sum(to[c] == t for c, t in zip(found, truth, strict=True)) for to in permutations(names, 3)}
        best = [to for to, hits in agree.items() if hits == max(agree.values())]
        ours = metrics.macro_f1(found, truth, mapping="hungarian")
        assert min(abs(ours - f1([to[c] for c in found], truth)) for to in best) < 1e-12


def test_a_perfect_clustering_of_equal_classes() -> None:
    truth = np.repeat(["a", "b", "c", "d"], 5)
    found = np.repeat([2, 0, 3, 1], 5)
    assert metrics.mutual_information(found, truth) == pytest.approx(math.log(4))
    for score in (
        metrics.normalized_mutual_information,
        metrics.rand_index,
        metrics.adjusted_rand_index,
        metrics.pairwise_f,
        metrics.purity,
        metrics.macro_f1,
    ):
        assert score(found, truth) == pytest.approx(1.0)
    assert metrics.contingency(found, truth).tolist() == [[0, 5, 0, 0], [0, 0, 0, 5], [5, 0, 0, 0], [0, 0, 5, 0]]


def test_majority_is_no_matching() -> None:
    found, truth = [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 0, 1]
    assert metrics.macro_f1(found, truth) == pytest.approx((10 / 11 + 0) / 2)  # the tie goes to the larger class
    assert metrics.macro_f1(found, truth, mapping="hungarian") == pytest.approx((2 * 2 / 7 + 2 / 3) / 2)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cohesion_is_what_it_says(sparse: bool, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    x = unit_rows(rng.standard_normal((14, 5)).astype(dtype))[0]
    labels = np.array([4, 0, 0, 2, 2, 2, 4, 4, 0, -1, 2, 4, 4, -1])
    mu = {k: x[labels == k].sum(axis=0) / np.linalg.norm(x[labels == k].sum(axis=0)) for k in (0, 2, 4)}
    own = [row @ mu[k] for row, k in zip(x, labels.tolist(), strict=True) if k >= 0]
    size = Counter(labels.tolist())
    two = [(size[j] * size[k], mu[j] @ mu[k]) for j, k in permutations(mu, 2)]
    found = metrics.cohesion(csr_array(x) if sparse else x, labels)
    expected = (np.mean(own), min(own), sum(w * c for w, c in two) / sum(w for w, _ in two), max(c for _, c in two))
    assert found == pytest.approx(expected, abs=1e-6 if dtype is np.float32 else 1e-12)


def test_one_cluster_has_no_neighbour() -> None:
    found = metrics.cohesion(np.eye(2), [0, 0])
    assert found.within == found.worst == pytest.approx(math.sqrt(0.5))
    assert math.isnan(found.between)
    assert math.isnan(found.nearest)


def test_cancelling_documents_have_no_mean() -> None:
    assert metrics.cohesion(np.array([[1.0, 0.0], [-1.0, 0.0]]), [0, 0]).within == 0.0


def test_held_out_density_of_the_circle() -> None:
    found = metrics.held_out([0.5, 0.1, 0.0], 2)
    assert found.relative == pytest.approx(0.2)
    assert found.per_document == pytest.approx(0.2 - math.log(2 * math.pi))
    assert found.total == pytest.approx(3 * found.per_document)


def test_next_slice_improvement() -> None:
    assert metrics.next_slice_improvement(-90.0, -100.0, 20) == pytest.approx((0.1, 0.5))
    assert metrics.next_slice_improvement(90.0, 100.0, 20) == pytest.approx((-0.1, -0.5))


def test_perplexity_of_uniform_words_is_their_number() -> None:
    assert metrics.perplexity([-3 * math.log(7), -5 * math.log(7)], [3, 5]) == pytest.approx(7)


def test_perplexity_of_impossible_words_is_infinite() -> None:
    for impossible in (-1e6, -math.inf):
        assert metrics.perplexity([impossible, -1.0], [3, 5]) == math.inf


def test_perplexity_averages_probabilities_over_samples() -> None:
    samples = np.log([[0.2, 0.5], [0.4, 0.1]])
    assert metrics.perplexity(samples, [1, 2]) == pytest.approx((0.3 * 0.3) ** (-1 / 3))


def test_posterior_entropy_leaves_zero_rows_out() -> None:
    assert metrics.posterior_entropy([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]) == pytest.approx(math.log(2) / 2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: metrics.purity([0, 1], [0]), r"one length, got the shapes \(2,\) and \(1,\)"),
        (lambda: metrics.rand_index([], []), "one length"),
        (lambda: metrics.macro_f1([0], [0], mapping=cast(Any, "none")), "'majority' or 'hungarian', got 'none'"),
        (lambda: metrics.cohesion(np.eye(2), [0]), r"each row, got the shapes \(2, 2\) and \(1,\)"),
        (lambda: metrics.cohesion(np.eye(2), [-1, -1]), "got none"),
        (lambda: metrics.held_out([], 3), "one log-density per document"),
        (lambda: metrics.next_slice_improvement(1.0, 0.0, 3), "other than 0"),
        (lambda: metrics.next_slice_improvement(1.0, 1.0, 0), "at least one document"),
        (lambda: metrics.perplexity([[1.0, 2.0]], [1]), "lengths"),
        (lambda: metrics.perplexity([-1.0, -2.0], [3, -2]), "words: expected numbers of at least 0, got -2 in row 1"),
        (lambda: metrics.perplexity([-1.0], [0]), "words: expected documents with words, got 1 without"),
        (lambda: metrics.purity([0, 1], [1.0, math.nan]), "classes: expected integers or strings, got nan in row 1"),
        (
            lambda: metrics.posterior_entropy([[0.5, 0.5], [1.5, -0.5]]),
            "expected numbers of at least 0, got -0.5 in row 1",
        ),
        (lambda: metrics.posterior_entropy([[0.2, 0.2]]), "got 0.4 in row 0"),
        (lambda: metrics.posterior_entropy([[0.0, 0.0]]), "rows that sum to 1"),
        (lambda: metrics.takeover_rate([], [], words=0), "words: expected an integer of at least 1, got 0"),
        (lambda: metrics.takeover_rate([], [], words=cast(Any, None)), "words: expected an integer of .*, got None"),
        (
            lambda: metrics.takeover_rate(cast(Any, None), []),
            r"topics: .* TopicTracker.topics\(\) gives, got NoneType",
        ),
        (
            lambda: metrics.takeover_rate(cast(Any, ["a"]), []),
            "topics: expected rows with .* got str in place 0",
        ),
        (
            lambda: metrics.takeover_rate([], [{"slice": 1, "kind": "born"}]),
            "events: .* got none of topic, other",
        ),
        (lambda: metrics.held_out([1.0], cast(Any, "a")), "d: expected an integer of at least 2, got 'a'"),
        (lambda: metrics.next_slice_improvement(1.0, cast(Any, "a"), 3), "two numbers, .* got 1.0, 'a' and 3"),
        (lambda: metrics.next_slice_improvement(1.0, 1.0, cast(Any, None)), "one document, got 1.0, 1.0 and None"),
        (
            lambda: metrics.purity(cast(Any, [0, None]), [0, 1]),
            "clusters: expected integers or strings, got NoneType, int",
        ),
        (lambda: metrics.b_cubed([0, 1], cast(Any, [{}, {}])), "classes: expected integers or strings, got dict"),
        (
            lambda: metrics.detection(cast(Any, [None, None]), [0, 1]),
            "clusters: expected integers or strings, got NoneType",
        ),
        (lambda: metrics.cohesion(np.eye(2), cast(Any, [0, None])), "clusters: expected integers, got NoneType, int"),
        (lambda: metrics.cohesion(cast(Any, 3), [0]), "two dimensions, got the shape"),
        (lambda: metrics.isotropy(np.eye(2), ["a", "b"]), "clusters: expected integers, got str"),
    ],
)
def test_bad_input_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_the_module_is_reached_from_the_package() -> None:
    assert vmfstream.metrics is metrics


def test_takeovers_without_an_event_are_counted() -> None:
    seen = {  # strongest words of topics 4 and 7 by slice, a letter each
        4: ["ab", "ab", "xy", "xy", "xy"],
        7: ["cd", "cd", "ce", "fc", "gh"],
    }
    rows = [
        {"slice": f"{2000 + t}", "topic": topic, "words": [(letter, 1.0) for letter in words[t]]}
        for t in range(5)
        for topic, words in seen.items()
    ]
    assert metrics.takeover_rate(rows, []) == pytest.approx(3 / 6)  # 4 in 2002 and 2003, 7 in 2004
    assert metrics.takeover_rate(rows, [], words=1) == pytest.approx(4 / 6)  # 7 in 2003 too
    split = {"slice": "2002", "kind": "split", "topic": 4, "other": 9}
    assert metrics.takeover_rate(rows, [split]) == pytest.approx(1 / 6)
    born = {"slice": "2003", "kind": "split", "topic": 9, "other": 7}
    assert metrics.takeover_rate(rows, [split, born]) == 0.0
    assert metrics.takeover_rate(rows, [split | {"kind": "drift"}]) == pytest.approx(3 / 6)
    assert np.isnan(metrics.takeover_rate(rows[:4], []))


@pytest.mark.parametrize("form", [np.asarray, csr_array, csc_array, np.ndarray.tolist, lambda x: (4 * x).astype(int)])
def test_rows_of_any_length_and_form_are_scaled(form: Any) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (40, 6)) * np.arange(1.0, 41.0)[:, None]
    unit, labels = x / np.linalg.norm(x, axis=1, keepdims=True), np.arange(40) % 3
    assert metrics.cohesion(form(x), labels) == pytest.approx(metrics.cohesion(unit, labels))
    if form not in (csr_array, csc_array):
        assert metrics.isotropy(form(x), labels) == pytest.approx(metrics.isotropy(unit, labels))
    x[3, 3] = np.nan
    with pytest.raises(ValueError, match="finite"):
        metrics.cohesion(x, labels)
