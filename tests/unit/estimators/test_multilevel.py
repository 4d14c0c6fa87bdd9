"""Groups clustered with their contexts, from Python: planted truth, tables, prediction, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

import vmfstream as vs
from tests.unit.mixtures.planted import nmi
from vmfstream.bayes.multilevel.content import word_content
from vmfstream.bayes.multilevel.sampler import Chain
from vmfstream.estimators.multilevel import MultilevelClustering

GROUPS = 45
Y = np.arange(GROUPS) % 3
TOPICS = np.kron(np.eye(3), np.full((1, 4), 0.25))
MIXING = np.array([[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.2, 0.0, 0.8]])
WORDS = [f"w{i}" for i in range(12)]


def documents(seed: int = 0, tokens: int = 40) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).multinomial(tokens, MIXING[Y] @ TOPICS)


def contexts() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    years = 1990 + 3.0 * Y + 0.3 * rng.standard_normal(GROUPS)
    years[::5] = np.nan
    tags = np.eye(3)[Y]
    tags[1::5] = 0
    places = np.eye(4)[Y] + 0.1 * rng.standard_normal((GROUPS, 4))
    places[2::5] = 0.0
    return {"year": years, "tag": csr_array(tags), "place": places}


def model(**given: Any) -> MultilevelClustering:
    settings: dict[str, Any] = {"start_clusters": 6, "draws": 3, "burn_in": 40, "thin": 5, "random_state": 0}
    settings |= {"kernels": {"place": "vmf"}, **given}
    return MultilevelClustering(**settings)


@pytest.fixture(scope="module")
def fitted() -> MultilevelClustering:
    return model().fit(documents(), contexts())


def test_it_is_a_public_name() -> None:
    assert vs.MultilevelClustering is MultilevelClustering


def test_planted_clusters_are_found(fitted: MultilevelClustering) -> None:
    assert fitted.n_clusters_ == 3
    assert nmi(fitted.labels_, Y) > 0.99
    assert fitted.topics_.shape == (fitted.n_topics_, 12)
    assert fitted.topics_.sum(axis=1) == pytest.approx(1.0, rel=1e-5)
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert fitted.mixing_ @ fitted.topics_ == pytest.approx((MIXING @ TOPICS)[Y[order(fitted)]], abs=0.05)
    assert fitted.trace_.shape == (55, 3)
    assert nmi(fitted.predict(documents(7)), Y) > 0.99


def order(fitted: MultilevelClustering) -> np.ndarray[Any, Any]:
    """A document of every cluster."""
    return np.array([np.flatnonzero(fitted.labels_ == k)[0] for k in range(fitted.n_clusters_)])


def log_mixed(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """log p(words) of documents from clusters that are not known."""
    p = np.maximum(MIXING @ TOPICS, 1e-300)
    return np.asarray(np.log(np.exp(counts @ np.log(p).T).mean(axis=1)))


@pytest.mark.parametrize("words", [4, 10, 40])
@pytest.mark.parametrize("redraws", [0, 30])
def test_new_documents_are_as_likely_as_their_clusters_say(
    fitted: MultilevelClustering, words: int, redraws: int
) -> None:
    test, p = documents(6, words), np.maximum(fitted.mixing_ @ fitted.topics_, 1e-300)
    expected = np.log(np.exp(test @ np.log(p).T) @ fitted.weights_)
    found = fitted.score_samples(test, redraws=redraws)
    assert found.mean() == pytest.approx(expected.mean(), abs=0.1)
    assert fitted.perplexity(test, redraws=redraws) == pytest.approx(np.exp(-found.sum() / test.sum()))
    assert fitted.perplexity(csr_array(test)) == pytest.approx(fitted.perplexity(test))


def test_probabilities_of_all_documents_of_two_words_sum_to_one(fitted: MultilevelClustering) -> None:
    eye = np.eye(12, dtype=np.int64)
    pairs = np.array([eye[a] + eye[b] for a in range(12) for b in range(12)])
    drawn = [np.exp(fitted.score_samples(np.tile(pairs, (20, 1)))).sum() / 20]
    assert np.mean(drawn) == pytest.approx(1.0, rel=0.01)


def test_contexts_of_clusters_and_topics(fitted: MultilevelClustering) -> None:
    tags = fitted.cluster_contexts("tag")
    assert tags.shape == (3, 3)
    assert (tags.argmax(axis=1) == Y[order(fitted)]).all()
    assert tags.sum(axis=1) == pytest.approx(1.0)
    by_topic = fitted.topic_contexts("tag")
    assert by_topic.shape == (fitted.n_topics_, 3)
    assert by_topic.sum(axis=1) == pytest.approx(1.0)
    years = np.linspace(1960, 2030, 4001)
    density = fitted.topic_contexts("year", years)
    assert trapezoid(density, years, axis=1) == pytest.approx(1.0, abs=0.01)
    peaks = years[fitted.cluster_contexts("year", years).argmax(axis=1)]
    assert peaks == pytest.approx(1990 + 3 * Y[order(fitted)], abs=0.4)
    near = fitted.cluster_contexts("place", np.eye(4)[:3])
    assert (near.argmax(axis=1) == Y[order(fitted)]).all()


def test_the_density_of_a_direction_is_one_over_the_sphere() -> None:
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    places = circle[(Y * 100 + np.arange(GROUPS) % 7) % 400]
    fitted = model(kernels="vmf", draws=1, burn_in=10).fit(documents(), {"place": places})
    assert fitted.cluster_contexts("place", circle).mean(axis=1) == pytest.approx(1.0, rel=1e-6)


def test_the_table_names_groups_topics_and_items(fitted: MultilevelClustering) -> None:
    rows = fitted.table(WORDS, {"tag": ["a", "b", "c"]}, top=3)
    assert sorted(j for row in rows for j in row["groups"]) == list(range(GROUPS))
    for row in rows:
        cluster = Y[row["groups"][0]]
        assert row["contexts"]["tag"][0][0] == "abc"[cluster]
        _, weight, words = row["topics"][0]
        assert weight == fitted.mixing_[row["cluster"]].max()
        assert len(words) == 3
        assert set(words) <= set(WORDS[4 * cluster : 4 * cluster + 4])


def test_directions_as_content() -> None:
    rng = np.random.default_rng(0)
    content = []
    for row in documents(0, 20):
        vectors = np.eye(12)[np.repeat(np.arange(12), row)] + 0.05 * rng.standard_normal((20, 12))
        content.append(vectors)
    fitted = model(content="vmf", kernels="auto", burn_in=30).fit(content, contexts()["year"])
    assert nmi(fitted.labels_, Y) > 0.8
    assert np.linalg.norm(fitted.topics_, axis=1) == pytest.approx(1.0)
    assert fitted.score_samples(content).shape == (GROUPS,)
    assert fitted.predict(content).tolist() == fitted.labels_.tolist()


def test_fit_predict_reads_contexts_and_words_are_those_of_topics(fitted: MultilevelClustering) -> None:
    settings = {"kernels": "auto", "draws": 2, "burn_in": 5}
    years = contexts()["year"]
    found = model(**settings)
    assert found.fit_predict(documents(), years).tolist() == found.labels_.tolist()
    np.testing.assert_array_equal(found.trace_, model(**settings).fit(documents(), years).trace_)
    strongest = [[WORDS[i]] for i in fitted.topics_.argmax(axis=1)]
    assert [[words[0]] for words in fitted.words(WORDS)] == strongest


def test_the_same_seed_gives_the_same_chain_and_resuming_goes_on() -> None:
    one, two = (model(draws=2, burn_in=5).fit(documents(), contexts()) for _ in range(2))
    assert (one.trace_ == two.trace_).all()
    one.resume(3)
    whole = model(draws=5, burn_in=5).fit(documents(), contexts())
    assert (one.trace_ == whole.trace_).all()
    assert len(one.draws_) == 5


def test_the_best_of_several_chains_is_kept() -> None:
    alone = model(draws=2, burn_in=2).fit(documents(), contexts())
    several = model(draws=2, burn_in=2, n_init=4).fit(documents(), contexts())
    height = [np.mean([draw.log_joint for draw in fit.draws_]) for fit in (alone, several)]
    assert height[1] >= height[0]


def test_a_chain_may_start_from_topics_dealt_at_random() -> None:
    fitted = model(start_topics=5, draws=1, burn_in=0, thin=1).fit(documents(), contexts())
    later = model(start_topics=5).fit(documents(), contexts())
    assert fitted.trace_[0, 2] > 2
    assert all(len(set(Y[later.labels_ == k])) == 1 for k in range(later.n_clusters_))
    few = model(kernels="auto", start_clusters=100, start_topics=100, draws=1, burn_in=0, thin=1).fit(documents())
    assert few.n_clusters_ <= GROUPS


def test_a_chain_may_start_from_groups_by_themselves() -> None:
    begun = model(start_clusters=None, start_topics=5, draws=1, burn_in=0, thin=1).fit(documents(), contexts())
    later = model(start_clusters=None, start_topics=5, settle=5).fit(documents(), contexts())
    assert begun.trace_[0, 1] > 3
    assert later.n_clusters_ == 3
    assert nmi(later.labels_, Y) > 0.99


def test_topics_settle_while_clusters_stay() -> None:
    z = np.arange(GROUPS) % 9
    chain = Chain(word_content(csr_array(documents())), (), z, np.random.default_rng(0))
    before = chain.log_joint()
    chain.settle(20)
    assert (chain.groups.z == z).all()
    assert chain.log_joint() > before + 100


def test_what_is_known_of_a_new_group_tells_its_cluster(fitted: MultilevelClustering) -> None:
    nothing, own = np.zeros((GROUPS, 12)), contexts()
    kept = np.isfinite(own["year"])
    by_year = fitted.predict(nothing, {"year": own["year"]})
    assert nmi(by_year[kept], Y[kept]) > 0.99
    assert len(set(by_year[~kept])) == 1
    test = documents(9, 4)
    assert fitted.perplexity(test, own) < 0.9 * fitted.perplexity(test)


def test_words_that_were_seen_predict_the_others(fitted: MultilevelClustering) -> None:
    seen, rest = documents(5, 10), documents(6, 10)
    p = MIXING @ TOPICS
    weights = np.exp(seen @ np.log(np.maximum(p, 1e-300)).T)
    truth = np.log(weights / weights.sum(axis=1, keepdims=True) @ p + 1e-300)
    expected = (rest * truth).sum(axis=1)
    found, alone = fitted.score_samples(rest, seen=seen), fitted.score_samples(rest)
    assert found.mean() == pytest.approx(expected.mean(), abs=0.5)
    assert (found - alone).mean() > 0.5 * (expected - log_mixed(rest)).mean() > 0
    vectors = [np.eye(12)[np.repeat(np.arange(12), row)] for row in documents(0, 20)]
    directions = model(content="vmf", kernels="auto", burn_in=30).fit(vectors, contexts()["year"])
    halves = [rows[::2] for rows in vectors], [rows[1::2] for rows in vectors]
    assert directions.score_samples(halves[0], seen=halves[1]).sum() > directions.score_samples(halves[0]).sum()


BAD: list[tuple[dict[str, Any], Any, Any, str]] = [
    ({}, documents()[:1], None, "contents: expected at least 2 groups, got 1"),
    ({}, documents() * (Y[:, None] > 0), None, "expected something in every group, got none in row 0"),
    ({}, documents().sum(axis=1, keepdims=True), None, "expected at least 2 words or dimensions, got 1"),
    ({}, documents() + 0.5, None, "expected whole numbers of at least 0, got .* in row 0"),
    ({}, -documents(), None, "expected whole numbers of at least 0"),
    ({}, "text", None, "contents: expected numbers, got str"),
    ({}, documents(), np.zeros(3), "context: expected a row for each of 45 groups, got 3"),
    ({}, documents(), {"who": ["me"] * GROUPS}, "who: expected numbers, got list"),
    ({}, documents(), {"cube": np.zeros((GROUPS, 2, 2))}, "cube: expected one or two dimensions"),
    ({"kernels": "poisson"}, documents(), Y, "kernels: expected one of gaussian, multinomial, vmf"),
    ({"kernels": {"x": "vmf"}}, documents(), Y, r"kernels: expected names of contexts, \['context'\], got \['x'\]"),
    ({"temperatures": {"x": 1.0}}, documents(), Y, "temperatures: expected names of contexts"),
    ({"temperatures": {"context": 0.0}}, documents(), Y, "temperatures: expected a number above 0"),
    ({"kernels": "multinomial"}, documents(), Y - 1.0, "context: expected whole numbers"),
    ({"alpha_prior": (1.0, 0.0)}, documents(), None, "alpha_prior: expected a positive shape and rate"),
    ({"draws": 0}, documents(), None, "draws: expected an integer of at least 1"),
    ({"content": "vmf"}, [np.ones((2, 3)), np.ones((2, 4))], None, r"expected vectors of one dimension, got \[3, 4\]"),
    ({"content": "vmf"}, [np.ones((2, 3)), np.zeros((1, 3))], None, r"contents\[1\]: .* direction, got zeros in row 0"),
    ({"content": "vmf"}, [np.ones((2, 3)), np.full((1, 3), np.nan)], None, r"contents\[1\]: .* finite .* in row 0"),
    ({"content": "vmf"}, np.ones((2, 3)), None, r"contents\[0\]: expected the vectors of a group, \(N_j, D\), got"),
    ({"content": "vmf"}, None, None, "contents: expected a sequence of arrays"),
    ({}, documents() * 1e12, None, "contents: expected at most 1,000,000,000 words in all"),
    (
        {},
        documents(),
        Y * 1e200,
        r"context: expected numbers up to 1e\+100, NaN where one is missing, got more in row 1",
    ),
    ({}, documents(), np.where(Y, 1.0, np.inf), "context: expected numbers up to .* in row 0"),
    ({"kernels": "vmf"}, documents(), Y, "context: expected directions of at least 2 dimensions, got 1"),
    ({"kernels": "vmf"}, documents(), np.full((GROUPS, 2), np.nan), "context: expected finite numbers, got others in"),
    ({"temperatures": 2.0}, documents(), Y, "temperatures: expected a mapping from names of contexts to numbers, got"),
    ({"temperatures": {"context": "2"}}, documents(), Y, "temperatures: expected a number above 0"),
    ({"content": "vmf"}, [np.ones((2, 3)), np.ones((0, 3))], None, "got none in row 1"),
]


@pytest.mark.parametrize(("settings", "content", "context", "message"), BAD)
def test_bad_input_says_so(settings: dict[str, Any], content: Any, context: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(**({"kernels": "auto"} | settings)).fit(content, context)


def test_temperatures_are_the_inverses_of_former_tempers() -> None:
    settings = {"kernels": "auto", "draws": 2, "burn_in": 5}
    for temperature, temper in ((2.0, 0.5), (np.inf, 0.0)):
        found = model(**settings, temperatures={"context": temperature}).fit(documents(), Y)
        with pytest.warns(DeprecationWarning, match="use temperatures"):
            former = model(**settings, tempers={"context": temper}).fit(documents(), Y)
        np.testing.assert_array_equal(found.trace_, former.trace_)
        assert found.trace_[-1, 0] != model(**settings).fit(documents(), Y).trace_[-1, 0]
    with (
        pytest.warns(DeprecationWarning, match="use temperatures"),
        pytest.raises(ValueError, match="tempers: expected a number of at least 0"),
    ):
        model(**settings, tempers={"context": -1.0}).fit(documents(), Y)


def test_bad_questions_say_so(fitted: MultilevelClustering) -> None:
    with pytest.raises(ValueError, match="expected 12 words, got 3"):
        fitted.score_samples(np.ones((2, 3)))
    with pytest.raises(ValueError, match="seen: expected 45 groups, got 2"):
        fitted.score_samples(documents(), seen=documents()[:2])
    with pytest.raises(ValueError, match="seen: expected 12 words, got 3"):
        fitted.score_samples(documents(), seen=np.ones((GROUPS, 3)))
    with pytest.raises(ValueError, match=r"contexts: expected names of contexts, .* got \['month'\]"):
        fitted.predict(documents(), {"month": Y})
    with pytest.raises(ValueError, match="tag: expected 3 columns, got 2"):
        fitted.predict(documents(), {"tag": csr_array(np.ones((GROUPS, 2)))})
    with pytest.raises(ValueError, match="year: expected a row for each of 45 groups, got 2"):
        fitted.predict(documents(), {"year": [1990.0, 1991.0]})
    with pytest.raises(ValueError, match="name: expected one of year, tag, place, got 'x'"):
        fitted.cluster_contexts("x")
    with pytest.raises(ValueError, match="at: expected the places"):
        fitted.cluster_contexts("year")
    with pytest.raises(ValueError, match="expected 12 names"):
        fitted.table(["a"])
    with pytest.raises(ValueError, match=r"^at: expected 1 columns, as 'year' has, got 2$"):
        fitted.cluster_contexts("year", [[1990.0, 1993.0]])
    with pytest.raises(ValueError, match=r"^at: expected 4 columns, as 'place' has, got 3$"):
        fitted.topic_contexts("place", np.eye(3))
    for items in (["a", "b"], ["a", "b", "c", "d"]):
        with pytest.raises(ValueError, match=r"^items: expected 3 names for 'tag', got the shape \("):
            fitted.table(WORDS, {"tag": items})
    for draws in (0, -1, 1.5, "3"):
        with pytest.raises(ValueError, match=r"^draws: expected an integer of at least 1"):
            fitted.resume(draws)  # type: ignore[arg-type]
    for redraws in (-1, 0.5):
        with pytest.raises(ValueError, match=r"^redraws: expected an integer of at least 0"):
            fitted.score_samples(documents(), redraws=redraws)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^words: expected documents with words, got 45 without"):
        fitted.perplexity(0 * documents())
    with pytest.raises(NotFittedError):
        MultilevelClustering().table(WORDS)


def test_groups_of_vectors_may_all_be_empty_where_they_are_new() -> None:
    vectors = [np.eye(4)[[i % 4, (i + 1) % 4]] for i in range(8)]
    fitted = model(content="vmf", kernels="auto", draws=2, burn_in=5).fit(vectors, np.arange(8))
    assert len(fitted.predict([np.zeros((0, 4))] * 2, [0.0, 7.0])) == 2
    assert fitted.score_samples([[], []]).tolist() == [0.0, 0.0]
