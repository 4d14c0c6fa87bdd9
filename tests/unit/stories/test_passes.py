"""The compiled passes against plain numpy, one document at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.tiers import first_of
from tests.unit.stories.streams import TWINS, bursts, mixed_shares, vectors_of
from vmfstream.clustering_metrics import v_measure
from vmfstream.directional.bessel import log_c
from vmfstream.directional.cauchy import SphericalCauchy
from vmfstream.stories.grain import cauchy
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import StorySettings

Rows = NDArray[np.float64]


def one_by_one(
    x: Rows,
    settings: StorySettings,
    times: NDArray[np.float64],
    *,
    dense: bool,
    timed: bool,
    beside: Rows | None = None,
    again: bool = True,
    fixed: bool = False,
) -> tuple[list[int], list[int], list[tuple[int, int, float]]]:
    """Labels, stories that ended and those of them that were merged, into which one and by how much evidence.

    By the formulas as they are written: every story is compared with every document, and with every other story.
    Unless ``again``, no document is judged a second time. There will be no more columns if they are ``fixed``.
    """
    auto, dimension = settings.grain == "auto", settings.dimension if beside is None else settings.words_beside
    vectors = np.zeros((len(x), 2)) if beside is None else beside
    kappa_beside = (
        0.0 if beside is None else settings.vectors_beside * settings.vectors_grain / (1 - settings.vectors_grain**2)
    )
    grain = (
        np.clip(0.15 * np.abs(x).sum(axis=1) / math.sqrt(12), 0.15, 0.5) if auto else np.full(len(x), settings.grain)
    )
    if auto and (dense or fixed) and x.shape[1] < 256:
        of_vectors = 1 - 0.5 * (x.shape[1] / 256) ** 0.4
        grain = np.where(np.count_nonzero(x, axis=1) > x.shape[1] / 2, np.maximum(grain, of_vectors), grain)
    kappas = dimension * grain / (1 - grain**2)
    coarsest = dimension * 0.15 / (1 - 0.15**2)
    prior = settings.prior * (coarsest if auto else kappas[0])
    b0 = settings.half_life / (math.sqrt(2) - 1)
    m0 = np.zeros(x.shape[1] + 1)
    m0[-1] = prior
    m1 = np.zeros(vectors.shape[1] + 1)
    m1[-1] = settings.prior * kappa_beside
    stories: dict[int, dict[str, Any]] = {}
    labels, retired, merged = [], [], []
    log_alpha = math.log(settings.alpha)

    def examined(name: int, now: float) -> None:
        def young(s: dict[str, Any]) -> bool:
            return bool(s["first"] - times[0] * timed > settings.half_life >= now - s["first"])

        def scaled(s: dict[str, Any], name: str = "sum") -> Rows:
            return np.asarray(s[name] * min(1.0, 10 / s["n"]))

        one = stories[name]
        if one["n"] not in {5, 10, 20, 40} or not young(one):
            return
        a, found = scaled(one), []
        for c, s in stories.items():
            if c != name and s["n"] >= 5 and young(s) and one["sum"] @ s["sum"] > 1e-9:
                b = scaled(s)
                factor = big_l(a + m0) + big_l(b + m0) - big_l(a + b + m0) - big_l(m0)
                a1, b1 = scaled(one, "beside"), scaled(s, "beside")
                factor += big_l1(a1 + m1) + big_l1(b1 + m1) - big_l1(a1 + b1 + m1) - big_l1(m1)
                found.append((log_alpha - factor, c))
        if found and min(found)[0] < 0:
            margin, other = min(found)
            kept, gone = sorted((name, other), key=lambda c: (-stories[c]["n"], c))
            s, t = stories[kept], stories.pop(gone)
            s["beside"] = s["beside"] + t["beside"]
            s |= {"n": s["n"] + t["n"], "sum": s["sum"] + t["sum"], "last": now, "first": min(s["first"], t["first"])}
            retired.append(gone)
            merged.append((gone, kept, -margin))

    def big_l(vector: Rows) -> float:
        return float(log_c(dimension, np.linalg.norm(vector)))

    def big_l1(vector: Rows) -> float:
        return float(log_c(settings.vectors_beside, np.linalg.norm(vector))) if kappa_beside else 0.0

    def cauchy(x: Rows, known: Rows, expected: float, d: float) -> float:
        """Density of x in a story whose mean direction is known as the vMF distribution with this parameter."""
        gamma = float(np.linalg.norm(known))
        expected *= gamma / ((d - 1) / 2 + math.hypot((d - 1) / 2, gamma))
        rho = (1 - math.sqrt(1 - expected**2)) / expected
        return float((d - 1) * np.log((1 - rho**2) / (1 + rho**2 - 2 * rho * (x @ known) / gamma)))

    def most_probable(x: Rows, kappa: float, now: float, vector: Rows) -> int:
        name, best = -1, log_alpha + big_l(m0) - big_l(kappa * x + m0)
        best += big_l1(m1) - big_l1(kappa_beside * vector + m1)
        expected = (math.sqrt(1 + (2 * kappa / dimension) ** 2) - 1) / (2 * kappa / dimension)  # the grain of kappa
        if settings.cauchy:
            best = log_alpha + cauchy(x, m0, expected, dimension)
            best += cauchy(vector, m1, settings.vectors_grain, settings.vectors_beside) if vector.any() else 0.0
        for c, s in stories.items():
            if not dense and abs(x @ s["sum"]) < 1e-12:
                continue
            likelihood = big_l(s["sum"] + m0) - big_l(s["sum"] + kappa * x + m0)
            likelihood += big_l1(s["beside"] + m1) - big_l1(s["beside"] + kappa_beside * vector + m1)
            if settings.cauchy:
                likelihood = cauchy(x, s["sum"] + m0, expected, dimension)
                if vector.any():
                    of_vector = s["beside"] + m1, settings.vectors_grain, settings.vectors_beside
                    likelihood += cauchy(vector, *of_vector)
            lived = b0 + s["last"] - s["first"]
            tempo = math.log(s["n"] * b0 / lived) - (s["n"] + 1) * math.log1p((now - s["last"]) / lived)
            score = math.log(s["n"]) + tempo + likelihood
            if score > best:
                name, best = c, score
        return name

    def stands_out(name: int, x: Rows) -> bool:
        one, others = stories[name], [s for c, s in stories.items() if c != name]
        cosines = [float(x @ s["sum"] / np.linalg.norm(s["sum"])) for s in (one, *others)]
        known = [s for s in others if s["n"] > 1]
        if len(known) < 5 or cosines[0] < 1.6 * max(cosines[1:]):
            return False
        elsewhere = sum(float(x @ s["sum"]) for s in known) / sum(s["n"] for s in known)
        return bool(x @ one["sum"] / one["n"] >= 1.6 * elsewhere)

    for row, now, kappa, vector in zip(x, times, kappas, vectors, strict=True):
        if not row.any():
            labels.append(-1)
            continue
        for name in [c for c, s in stories.items() if now - s["last"] > settings.retire_after * settings.half_life]:
            retired.append(name)
            del stories[name]
        extended = np.append(row, 0.0)
        longer = np.append(vector, 0.0)
        name = most_probable(extended, kappa, now, longer)
        finest = dimension * 0.5 / (1 - 0.5**2)
        if name < 0 and again and auto and coarsest < kappa <= finest + 1e-9 and not dense and beside is None:
            name = most_probable(extended, coarsest, now, longer)
            name = name if name >= 0 and stands_out(name, extended) else -1
        if name < 0:
            name = max([*labels, -1]) + 1
            stories[name] = {"n": 0, "sum": np.zeros(x.shape[1] + 1), "first": now}
            stories[name]["beside"] = np.zeros(len(m1))
        stories[name]["n"] += 1
        stories[name]["sum"] = stories[name]["sum"] + kappa * extended
        stories[name]["beside"] = stories[name]["beside"] + kappa_beside * longer
        stories[name]["last"] = now
        labels.append(name)
        examined(name, now)
    return labels, retired, merged


@pytest.mark.parametrize("grain", [0.15, 0.5])
def test_a_story_with_heavy_tails_is_a_spherical_cauchy_distribution(grain: float) -> None:
    """Where its mean direction is known: it has very many documents."""
    rho = (1 - math.sqrt(1 - grain**2)) / grain
    known = SphericalCauchy(np.eye(1, 150)[0], rho)
    x = known.rvs(20, rng=0)
    relative = known.logpdf(x, relative_to_uniform=True)
    found = [cauchy(150.0, grain, 100.0, 1.0, 1e12, 1e6 * row[0]) for row in x]
    np.testing.assert_allclose(found, relative, rtol=1e-4)
    assert np.mean(x[:, 0]) == pytest.approx(grain, abs=0.03)  # what the grain says


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("timed", first_of([True, False]))
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("grain", "half_life"), [(0.2, 30.0), (0.4, 5.0), ("auto", 30.0)])
def test_labels_are_those_of_the_formulas(dense: bool, timed: bool, signed: bool, grain: Any, half_life: float) -> None:
    x = bursts(400, seed=1)[0]
    if grain == "auto":  # half of the documents are longer
        x[::2] += bursts(400, words=15, seed=1)[0][::2]
        x[::2] += 0.1 * (np.random.default_rng(3).random(x[::2].shape) < 0.1)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    if signed:
        x *= np.random.default_rng(0).choice([-1.0, 1.0], size=x.shape[1])
        x[:, ::7] *= np.random.default_rng(1).choice([-1.0, 1.0], size=x[:, ::7].shape)
    settings = StorySettings(grain=grain, half_life=half_life)
    times = np.cumsum(np.random.default_rng(2).exponential(1.0, 400)) + 1e6 if timed else np.arange(400.0)
    mixture = SequentialMixture(settings, x.shape[1], dense=dense)
    learnt = mixture.learn(x.astype(np.float32) if dense else csr_array(x.astype(np.float32)), times if timed else None)
    exact = x.astype(np.float32).astype(np.float64)
    labels, retired, _ = one_by_one(exact, settings, times, dense=dense, timed=timed)
    assert learnt.labels.tolist() == labels
    assert learnt.retired.ids.tolist() == retired
    assert 5 < len(set(labels)) < 200
    assert retired


@pytest.mark.parametrize("dense", [True, False])
def test_labels_of_vectors_of_few_columns_are_those_of_the_formulas(dense: bool) -> None:
    """Every third row has many zeros, as words have, so that its grain follows its length."""
    rng = np.random.default_rng(5)
    truth = rng.integers(12, size=300)
    x = rng.standard_normal((12, 30))[truth] + 0.8 * rng.standard_normal((300, 30))
    x[::3, 12:] = 0.0
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    settings = StorySettings(half_life=100.0)
    rows: Any = x if dense else csr_array(x)
    mixture = SequentialMixture(settings, 30, dense=dense, fixed=True)
    labels = mixture.learn(rows).labels.tolist()
    exact: Any = x.astype(np.float64)
    assert labels == one_by_one(exact, settings, np.arange(300.0), dense=dense, timed=False, fixed=True)[0]
    assert 8 < len(set(labels)) < 200
    coarse = SequentialMixture(replace(settings, vector_columns=1.0), 30, dense=dense, fixed=True)
    assert coarse.learn(rows).labels.tolist() != labels
    first = SequentialMixture(settings, 30, dense=dense, fixed=True)
    first.learn(rows[:150])
    stored = SequentialMixture.from_arrays(settings, first.arrays())
    assert stored.learn(rows[150:]).labels.tolist() == labels[150:]
    if not dense:  # there may be more columns: they are words
        words = SequentialMixture(settings, 30).learn(rows).labels.tolist()
        assert words == one_by_one(exact, settings, np.arange(300.0), dense=False, timed=False)[0]
        assert words != labels


@pytest.mark.thorough
@pytest.mark.parametrize(("dense", "grain"), [(False, "auto"), (True, 0.4)])
def test_labels_of_stories_with_heavy_tails_are_those_of_the_formulas(dense: bool, grain: Any) -> None:
    x = np.concatenate([bursts(100, seed=1, columns=4000)[0], mixed_shares(150)[0]]).astype(np.float32)
    settings = StorySettings(grain=grain, half_life=30.0, cauchy=True)
    times = np.cumsum(np.random.default_rng(2).exponential(1.0, len(x))) + 1e6
    learnt = SequentialMixture(settings, x.shape[1], dense=dense).learn(x if dense else csr_array(x), times)
    exact: Any = x.astype(np.float64)
    labels, retired, _ = one_by_one(exact, settings, times, dense=dense, timed=True)
    assert learnt.labels.tolist() == labels
    assert learnt.retired.ids.tolist() == retired
    assert 5 < len(set(labels)) < 150
    once = one_by_one(exact, settings, times, dense=dense, timed=True, again=False)[0]
    assert (labels == once) == dense  # long documents of words are judged twice
    rows: Any = x if dense else csr_array(x)
    mixture = SequentialMixture(settings, x.shape[1], dense=dense)
    mixture.learn(rows[:150], times[:150])
    again = SequentialMixture.from_arrays(settings, mixture.arrays())
    for i in range(150, 190):  # labels are told before they are learnt, also by a state that was stored
        assert again.predict(rows[i : i + 1], times[i : i + 1]).tolist() == labels[i : i + 1]
        assert again.learn(rows[i : i + 1], times[i : i + 1]).labels.tolist() == labels[i : i + 1]
    usual = SequentialMixture(replace(settings, cauchy=False), x.shape[1], dense=dense)
    assert usual.learn(x if dense else csr_array(x), times).labels.tolist() != labels


@pytest.mark.thorough
@pytest.mark.parametrize("timed", first_of([True, False]))
def test_long_documents_are_judged_twice_by_the_formulas(timed: bool) -> None:
    """Many have few words of their story's own."""
    x, truth = mixed_shares(240)
    settings = StorySettings(half_life=100.0)
    times = np.cumsum(np.random.default_rng(2).exponential(1.0, len(x))) + 1e6 if timed else np.arange(0.0, len(x))
    mixture = SequentialMixture(settings, x.shape[1])
    labels = mixture.learn(csr_array(x.astype(np.float32)), times if timed else None).labels
    exact = x.astype(np.float32).astype(np.float64)
    twice, once = (one_by_one(exact, settings, times, dense=False, timed=timed, again=a)[0] for a in (True, False))
    assert labels.tolist() == twice
    scores = [v_measure(np.array(found), truth).v for found in (twice, once)]
    assert scores[0] > scores[1] + 0.1


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("timed", first_of([True, False]))
@pytest.mark.parametrize(("half_life", "least"), [(60.0, 1), (150.0, 3)])
def test_stories_that_prove_to_be_the_same_are_merged_by_the_formulas(
    dense: bool, timed: bool, half_life: float, least: int
) -> None:
    x = bursts(700, **TWINS)[0].astype(np.float32)
    settings = StorySettings(grain=0.2, half_life=half_life)
    times: Any = (
        np.cumsum(np.random.default_rng(2).exponential(1.0, len(x))) + 1e6 if timed else np.arange(len(x)) + 0.0
    )
    mixture = SequentialMixture(settings, x.shape[1], dense=dense)
    learnt = mixture.learn(x if dense else csr_array(x), times if timed else None)
    exact: Any = x.astype(np.float64)
    labels, retired, merged = one_by_one(exact, settings, times, dense=dense, timed=timed)
    assert learnt.labels.tolist() == labels
    assert learnt.retired.ids.tolist() == retired
    gone = learnt.retired.into >= 0
    assert list(zip(learnt.retired.ids[gone], learnt.retired.into[gone], strict=True)) == [pair[:2] for pair in merged]
    np.testing.assert_allclose(learnt.retired.evidence[gone], [evidence for *_, evidence in merged], rtol=1e-3)
    assert np.isnan(learnt.retired.evidence[~gone]).all()
    assert len(merged) >= least


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("timed", first_of([True, False]))
@pytest.mark.parametrize(("twins", "cauchy"), [(False, False), (True, False), (False, True)])
def test_words_and_vectors_count_by_the_formulas(dense: bool, timed: bool, twins: bool, cauchy: bool) -> None:
    x, truth = bursts(700, **TWINS) if twins else bursts(250, seed=1)
    beside = vectors_of(truth, noise=2.0 if twins else 0.4)
    beside[::40] = 0.0
    settings = StorySettings(grain=0.2, half_life=150.0) if twins else StorySettings(half_life=30.0)
    settings = replace(settings, cauchy=cauchy)
    times = np.cumsum(np.random.default_rng(2).exponential(1.0, len(x))) + 1e6 if timed else np.arange(0.0, len(x))
    rows: Any = x.astype(np.float32)
    mixture = SequentialMixture(settings, x.shape[1], dense=dense, vectors=12)
    learnt = mixture.learn(rows if dense else csr_array(rows), times if timed else None, beside)
    exact = rows.astype(np.float64), beside.astype(np.float64)
    labels, retired, merged = one_by_one(exact[0], settings, times, dense=dense, timed=timed, beside=exact[1])
    assert learnt.labels.tolist() == labels
    assert learnt.retired.ids.tolist() == retired
    gone = learnt.retired.into >= 0
    np.testing.assert_allclose(learnt.retired.evidence[gone], [evidence for *_, evidence in merged], rtol=1e-3)
    assert not twins or merged
    alone = SequentialMixture(settings, x.shape[1], dense=dense).learn(rows if dense else csr_array(rows))
    assert alone.labels.tolist() != labels
