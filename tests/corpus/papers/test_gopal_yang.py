"""Gopal and Yang 2014: what was typed, the t-test, the baselines on planted data, small runs, kept fits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, t

from tests.data import corpus_file
from vmfstream import cli, datasets, metrics
from vmfstream.datasets import Dataset
from vmfstream.replay.papers import gopal_yang_data as data
from vmfstream.replay.papers import gopal_yang_fits as fits
from vmfstream.replay.papers import gopal_yang_printed as printed
from vmfstream.replay.papers import gopal_yang_rivals as rivals
from vmfstream.replay.papers import spherical_topics
from vmfstream.replay.papers.catalogue import Effort
from vmfstream.replay.papers.clustering import Origin
from vmfstream.replay.papers.gopal_yang import PAPER
from vmfstream.replay.papers.gopal_yang_held_out import PREDICTORS, printed_gain
from vmfstream.replay.papers.gopal_yang_tables import METHODS, described_once, mark, marked
from vmfstream.replay.papers.gopal_yang_trees import HIERARCHIES, hierarchy_once
from vmfstream.replay.papers.gopal_yang_words import best_words, topic_once
from vmfstream.replay.papers.shown import Shown, tables_of
from vmfstream.replay.papers.work import Done, Result, Task, Workers


def planted(k: int = 3, each: int = 30, d: int = 40, seed: int = 0) -> Dataset:
    """Counts of documents whose words come from one of ``k`` overlapping vocabularies."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), each)
    words = rng.dirichlet(np.full(d, 0.15), size=k)
    counts = csr_array(np.stack([rng.multinomial(40, words[j]) for j in y]))
    return Dataset("planted", datasets.weigh(counts), y, tuple("abc"[:k]), (), counts)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dataset]:
    """The planted set under the name CNAE, and with years under that of the NIPS papers."""
    planted_set = planted()
    monkeypatch.setattr(data, "SETS", {"CNAE": Origin(lambda draw: planted_set, ())})
    terms = tuple(f"w{j}" for j in range(planted_set.x.shape[1]))
    years = np.tile(np.array([1987, 1988, 1991]), 30)
    documents = data.Dated(csr_array(planted_set.x), years, terms)
    for module in ("fits", "words"):
        monkeypatch.setattr(f"vmfstream.replay.papers.gopal_yang_{module}.dated", lambda name: documents)
    data.whole.cache_clear()
    data.labelled.cache_clear()
    yield planted_set
    data.whole.cache_clear()
    data.labelled.cache_clear()


def test_what_is_printed_fits_together() -> None:
    assert printed.AGREEMENT["vMFmix"]["K9"] == {"NMI": (0.543, "*"), "ARI": (0.350, "")}
    for method, row in printed.AGREEMENT.items():
        assert tuple(row) == printed.SETS
        for scores in row.values():
            for measure, (score, sign) in scores.items():
                assert 0 < score <= 0.9
                assert sign in ("", "*", "†")
                assert method != "B-vMFmix" or not sign, measure
    # the same fits are in Table 4, but for one misprint
    for method, rows in printed.REPRESENTATIONS.items():
        for name, (nmi, ari) in rows["tf-idf"].items():
            assert nmi == printed.AGREEMENT[method][name]["NMI"][0]
            assert ari == pytest.approx(printed.AGREEMENT[method][name]["ARI"][0], abs=0.005)
    assert all(printed_gain(k, name) > 0 for k in printed.HELD_OUT for name in printed.TEST_DOCUMENTS)
    assert printed_gain(20, "CNAE") == pytest.approx((942719.5 - 936675.9) / 540)
    # totals, not averages: over the documents they are of the size of log C_D(0), 27817 for the 8,895 words of TDT4
    assert printed.HELD_OUT[30]["B-vMFmix"]["TDT4"] / 311 == pytest.approx(27817, rel=0.01)


def test_marks_are_those_of_the_paired_t_test() -> None:
    values, reference = [0.5, 0.6, 0.55, 0.52], [0.6, 0.68, 0.66, 0.61]
    differences = np.subtract(values, reference)
    statistic = differences.mean() / (differences.std(ddof=1) / 2)
    assert 2 * t.sf(abs(statistic), 3) < 0.01
    assert mark(values, reference) == mark(reference, values) == "†"
    near = [0.65, 0.68, 0.66, 0.55]
    differences = np.subtract(values, near)
    assert 0.01 < 2 * t.sf(abs(differences.mean()) / (differences.std(ddof=1) / 2), 3) < 0.05
    assert mark(values, near) == "*"
    assert mark(values, [0.6, 0.5, 0.6, 0.5]) == ""


def test_a_t_test_needs_two_restarts_and_a_difference() -> None:
    assert mark([0.5], [0.9]) == ""
    assert mark([0.5, 0.6], [0.5, 0.6]) == ""
    assert mark([0.5, 0.6], [0.25, 0.35]) == "†"
    assert marked(0.1234, None, "") == "0.123"
    assert marked(0.1234, 0.05, "*", 2) == "0.12 ± 0.05 *"


def test_the_multinomial_mixture_climbs_and_finds_what_was_planted() -> None:
    planted_set = planted()
    assert planted_set.counts is not None
    step = fits.multinomial_scores(planted_set.counts)
    start = fits.random_labels(len(planted_set.y), 3, 1)
    found = fits.expectation_maximisation(step, start, 3)
    assert metrics.normalized_mutual_information(found, planted_set.y) > 0.95
    # with one word more in every cluster, EM climbs to the mode of the posterior under Dirichlet priors of parameter 2
    trace, shares = [], np.eye(3)[start]
    for _ in range(5):
        words = planted_set.counts.T @ shares + 1.0
        weights = (shares.sum(axis=0) + 1.0) / (len(planted_set.y) + 3)
        joint = step(shares)
        prior = np.log(words / words.sum(axis=0)).sum() + np.log(weights).sum()
        trace.append(logsumexp(joint, axis=1).sum() + prior)
        shares = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    assert np.all(np.diff(trace) > -1e-9)


def test_gaussian_scores_are_log_densities() -> None:
    planted_set = planted(d=6)
    x = csr_array(planted_set.x).toarray()
    shares = np.random.default_rng(0).dirichlet(np.ones(3), size=len(x))
    found = fits.gaussian_scores(csr_array(planted_set.x))(shares)
    nk = shares.sum(axis=0)
    means = (shares.T @ x + x.mean(axis=0)) / (nk[:, None] + 1)
    spread = np.sum(shares * ((x[:, None] - means) ** 2).sum(axis=2)) / x.size
    for j in range(3):
        oracle = multivariate_normal(means[j], spread * np.eye(6)).logpdf(x) + np.log((nk[j] + 1) / (len(x) + 3))
        assert found[:, j] == pytest.approx(oracle)


def test_spherical_topics_climb_along_their_gradient() -> None:
    """The density is that of draws: a document's cosine with its mean, and shares with the basis' Jacobian."""
    rng = np.random.default_rng(0)
    n, k, d, kappa = 6, 3, 5, 20.0
    x = rng.normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    at = rng.normal(size=n * k + k * d)

    def plain(at: NDArray[np.float64]) -> float:
        total = 0.0
        mu = [row / np.sqrt(row @ row) for row in at[n * k :].reshape(k, d)]
        for row, logs in zip(x, at[: n * k].reshape(n, k), strict=True):
            theta = np.exp(logs) / np.exp(logs).sum()
            mean = sum(share * each for share, each in zip(theta, mu, strict=True))
            total += kappa * row @ mean / np.sqrt(mean @ mean) + spherical_topics.ALPHA * np.log(theta).sum()
        return -float(total)

    value, gradient = spherical_topics.negative(at, csr_array(x), k, kappa)
    assert value == pytest.approx(plain(at), rel=1e-12)
    np.testing.assert_allclose(gradient, approx_fprime(at, plain, 1e-7), rtol=1e-4, atol=1e-4)


def test_spherical_topics_tell_mixed_documents() -> None:
    """Documents of two topics lie between documents of one; each belongs to its larger share."""
    rng = np.random.default_rng(1)
    mu = np.eye(30)[[0, 10, 20]]
    shares = rng.dirichlet(np.full(3, 0.3), 200)
    x = shares @ mu + rng.normal(0.0, 0.02, (200, 30))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found = spherical_topics.cluster(csr_array(x), fits.random_labels(200, 3, 0), 3)
    assert metrics.normalized_mutual_information(found, shares.argmax(axis=1)) > 0.85


def test_topic_models_are_fed_whole_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tomotopy's models are given, and what comes of their words; nothing where it is not installed."""
    counts = csr_array(np.array([[2, 0, 1, 0], [0, 3, 0, 0], [1, 0, 0, 1]]))
    years, terms = np.array([1991, 1987, 1991]), ("a", "b", "c", "d")
    fed: list[Any] = []

    class Model:
        def __init__(self, **given: Any) -> None:
            fed.append(given)

        def add_doc(self, words: list[str], timepoint: int = -1) -> None:
            fed.append((words, timepoint))

        def train(self, sweeps: int, workers: int) -> None:
            fed.append(sweeps)

        def get_topic_words(self, topic: int, *rest: int) -> list[tuple[str, float]]:
            when = rest[0] if len(rest) > 1 else 0
            return [(str((topic + when + j) % 4), 0.1) for j in range(2)]

    monkeypatch.setitem(sys.modules, "tomotopy", SimpleNamespace(DTModel=Model, CTModel=Model))
    monkeypatch.setattr(rivals, "TOP", 2)
    collection = SimpleNamespace(load=lambda: (counts, terms, years))
    monkeypatch.setattr(rivals, "COLLECTIONS", {rivals.DATA: collection})
    wanted = {"1987": ["d", "c"], "2003": ["a"]}
    found = rivals.rival_topics_once(rivals.DTM, 3, 7, wanted, "1.0")
    documents = [(["0", "0", "2"], 1), (["1", "1", "1"], 0), (["0", "3"], 1)]
    assert fed == [{"k": 3, "t": 2, "seed": 7}, *documents, 500]
    assert found["years"] == [1987, 1991]
    assert found["words"] == [["c", "d"], ["d", "a"]]  # the topic with the words wanted of 1987, in both years
    fed.clear()
    found = rivals.rival_topics_once(rivals.CTM, 3, 7, wanted, "1.0")
    assert fed == [{"k": 3, "seed": 7}, *((words, -1) for words, _ in documents), 100]
    lists = [["a", "b"], ["b", "c"], ["c", "d"]]
    expected = metrics.topic_coherence(lists, counts, terms, measure="npmi").mean()
    assert found["npmi"] == pytest.approx(expected)
    assert found["words"] == []
    assert rivals.rival_topics_once(rivals.DTM, 3, 7, wanted)["npmi"] is None


def test_the_mixture_stands_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    planted_set = planted()
    terms = tuple(f"w{j}" for j in range(planted_set.x.shape[1]))
    years = np.tile(np.array([1987, 1988, 1991]), 30)
    collection = SimpleNamespace(load=lambda: (planted_set.counts, terms, years))
    monkeypatch.setattr(rivals, "COLLECTIONS", {rivals.DATA: collection})
    common = planted_set.x.mean(axis=0)
    wanted = {"1991": [terms[j] for j in np.argsort(-common)[:5]]}
    for model, count in ((rivals.MIXTURE, 3), (rivals.MIXTURE_AT_ONCE, 0)):
        found = rivals.rival_topics_once(model, 3, 0, wanted)
        assert len(found["words"]) == len(found["years"]) == count
        assert -1.0 <= found["npmi"] <= 1.0


def test_every_method_finds_the_planted_clusters(tiny: Dataset) -> None:
    for method in (*METHODS, fits.B_SAMPLED):
        found = [fits.clustered_once("CNAE", method, 3, seed)["NMI"] for seed in range(3)]
        assert max(found) > (0.9 if method != fits.LDA else 0.5), method


def test_words_are_weighted_as_asked(tiny: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def looked(planted_set: Dataset, k: int, seed: int) -> NDArray[np.int64]:
        seen.append(planted_set.x)
        return planted_set.y

    monkeypatch.setattr(fits, "BASELINES", {fits.KMEANS: looked})
    for weighting in ("ltc", "tf"):
        assert fits.clustered_once("CNAE", fits.KMEANS, 3, 0, weighting)["ARI"] == 1
    assert tiny.counts is not None
    assert abs(seen[0] - tiny.x).max() == 0
    assert abs(seen[1] - datasets.weigh(tiny.counts, "tf")).max() == 0


def test_starts_are_common_and_depend_on_the_seed() -> None:
    assert (fits.random_labels(50, 4, 1) == fits.random_labels(50, 4, 1)).all()
    assert (fits.random_labels(50, 4, 1) != fits.random_labels(50, 4, 2)).any()
    assert set(fits.random_labels(50, 4, 1)) == set(range(4))


def test_documents_held_out_are_predicted(tiny: Dataset) -> None:
    train, test = data.halves("CNAE", 0)
    assert train.shape[0] == test.shape[0] == 45
    assert train.sum() + test.sum() == pytest.approx(tiny.x.sum())
    for method in PREDICTORS:
        found = fits.held_out_once("CNAE", method, 3, 0, 0)
        assert found["relative"] > 0, method
        assert found["total"] == pytest.approx((found["relative"] + found["uniform"]) * 45)
    for method in HIERARCHIES:
        assert hierarchy_once("CNAE", method, 1, 3, 0, 0)["relative"] > 0, method
    for method in (fits.V, *fits.TEMPORAL):
        assert fits.next_year_once("NIPS papers", method, 3, 1991, 0)["documents"] == 30
        assert fits.next_year_once("NIPS papers", method, 3, 1991, 0)["relative"] > 0, method


def test_the_topic_that_is_asked_for_is_followed(tiny: Dataset) -> None:
    mean = np.asarray(tiny.x[tiny.y == 1].mean(axis=0)).ravel()
    wanted = [f"w{j}" for j in np.argsort(-mean)[:4]]
    found = topic_once("NIPS papers", 3, 0, 0.9, {"1987": wanted, "2003": wanted}, 4)
    assert found["years"] == list(range(1987, 1992))
    assert np.shape(found["weights"]) == (5, len(found["words"]))
    assert set(best_words(found, 1987)[:4]) == set(wanted)
    assert best_words(found, 2003) == []


def test_the_newsgroups_are_cut_by_date(tiny: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "TRAINING_POSTS", 50)
    monkeypatch.setattr(data, "SETS", {"NEWS20": data.SETS["CNAE"]})
    train, test = data.halves("NEWS20", 3)
    assert abs(train - tiny.x[:50]).max() == 0
    assert abs(test - tiny.x[50:]).max() == 0


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "first", "last", "documents"),
    [("NIPS abstracts", 1987, 2003, 2354), ("NIPS papers", 1987, 1999, 1740), ("NYT elections", 1996, 2006, 2450)],
)
def test_collections_have_their_years(name: str, first: int, last: int, documents: int) -> None:
    for file in data.COLLECTIONS[name].files:
        corpus_file(file)
    planted_set = data.dated(name)
    assert [planted_set.years.min(), planted_set.years.max(), len(planted_set.years)] == [first, last, documents]
    assert planted_set.x.shape == (documents, len(planted_set.terms))


def invented(task: Task) -> Result:
    """What a task might give: the later a method stands in its table, the worse."""
    given = task.given
    if task.function is described_once:
        return {"documents": 100, "words": 20}
    if "model" in given:
        years = [1987, 1988, 1991] if given["model"] in (rivals.MIXTURE, rivals.DTM) else []
        words = [[f"word{j}" for j in range(10)] for _ in years]
        return {"npmi": 0.1, "seconds": 2.0, "years": years, "words": words}
    if "persistence" in given:
        wave = 0.1 + 0.01 * np.sin(np.add.outer(np.arange(17), np.arange(8)))
        return {
            "years": list(range(1987, 2004)),
            "words": [f"word{j}" for j in range(8)],
            "weights": wave.tolist(),
            "persistence": 0.8 if given["persistence"] == 0.8 else 0.98,
        }
    order = (fits.T_OURS, *METHODS, *PREDICTORS, fits.T, *HIERARCHIES)
    worse = order.index(given["method"]) if given["method"] in order else 20
    nats = 90.0 - 2 * worse + given["seed"] + 0.01 * worse * given["seed"]
    scores = {"NMI": 0.9 - 0.03 * worse + 0.01 * given["seed"], "ARI": 0.5, "clusters": 30 - worse}
    return {"relative": nats, "total": 100 * nats, "documents": 100, "uniform": 10.0} | scores


@pytest.mark.parametrize("name", list(PAPER.exhibits))
def test_what_is_planned_is_shown(name: str) -> None:
    exhibit = PAPER.exhibits[name]
    tasks = exhibit.plan(Effort(2))
    shown = exhibit.show(Done([(task.given, invented(task)) for task in tasks]))
    assert shown.name == name
    for table in (*shown.tables, *(tables_of(panel) for panel in shown.panels)):
        assert table.cells, table.title
        assert len({(cell.row, cell.column) for cell in table.cells}) == len(table.cells)
    assert shown.notes
    for said in _says(shown):
        assert said in " ".join(shown.notes), said


def _says(shown: Shown) -> list[str]:
    notes: Mapping[str, list[str]] = {
        "table2": ["TDT4, TDT5 and K9 are not at hand", "CNAE: the paper's has 1,079"],
        "table3": ["TDT4, TDT5 and K9 are not at hand", "totals, not averages"],
        "figure1": ["N log C_D(0)", "NYT front pages: headlines"],
        "figure2": ["names one of them"],
        "figure3": ["full texts, but of 1987 to 1999", "500 and 100 sweeps with its defaults"],
    }
    return notes.get(shown.name, ["NEWS20: the paper's has"])


@pytest.mark.corpus
def test_sizes_stand_beside_the_printed_ones() -> None:
    corpus_file("cnae9/counts.npz")
    exhibit = PAPER.exhibits["table1"]
    done = [(task.given, task.run()) for task in exhibit.plan(Effort(1)) if task.given["data"] == "CNAE"]
    (sizes,) = exhibit.show(Done(done)).tables
    row = [(sizes.text("CNAE", size, "paper"), sizes.text("CNAE", size, "ours")) for size in sizes.columns()]
    assert row == [("1,079", "1,079"), ("539", "539"), ("540", "540"), ("9", "9"), ("1,079", "856")]
    assert sizes.text("TDT5", "classes", "paper") == "126"
    assert sizes.text("TDT5", "classes", "ours") == sizes.text("NIPS", "classes", "paper") == ""


def test_tables_are_read_as_printed() -> None:
    exhibit = PAPER.exhibits["table2"]
    first, *_, absent = exhibit.show(Done([(task.given, invented(task)) for task in exhibit.plan(Effort(2))])).tables
    assert first.text(fits.V, "CNAE NMI", "paper") == "0.650 †"
    assert first.text(fits.B_MODE, "NEWS20 ARI", "paper") == "0.397"
    assert first.text(fits.KMEANS, "CNAE NMI", "ours") == "0.665 ± 0.007 †"
    assert absent.text("vMFmix", "K9 NMI", "paper") == "0.543 *"
    assert "TDT4 NMI" not in first.columns()
    exhibit = PAPER.exhibits["table3"]
    totals, gains, _, _ = exhibit.show(Done([(task.given, invented(task)) for task in exhibit.plan(Effort(2))])).tables
    assert totals.text(f"20, {fits.V}", "NEWS20", "paper") == "1,637,630,340.0"
    assert gains.text(f"20, {fits.B_SAMPLED}", "CNAE", "paper") == "11.2"
    assert f"20, {fits.V}" not in gains.rows()


def test_an_interrupted_table_goes_on(tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = [fits.V, fits.KMEANS, fits.MULTINOMIAL]
    tasks = [Task(fits.clustered_once, {"data": "CNAE", "method": name, "k": 3, "seed": 0}) for name in methods]
    calls: list[str] = []

    def stopped(planted_set: Dataset, k: int, seed: int) -> NDArray[np.int64]:
        calls.append("stopped")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fits, "BASELINES", {**fits.BASELINES, fits.MULTINOMIAL: stopped})
        with pytest.raises(KeyboardInterrupt), Workers(tmp_path) as workers:
            workers.run(tasks)
    assert len(list(tmp_path.glob("*.json"))) == 2
    seen: list[tuple[int, int]] = []
    with Workers(tmp_path) as workers:
        done = workers.run(tasks, lambda finished, total: seen.append((finished, total)))
    assert seen == [(2, 3), (3, 3)]
    assert done.values("NMI", method=fits.MULTINOMIAL)[0] > 0.9


def test_an_unknown_table_names_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["vmfstream", "reproduce", "gopal-yang", "table9"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "gopal-yang has no 'table9' here: known are table1, table2, table3, table4, figure1, figure2, figure3" in said
    )


def test_a_set_without_counts_is_refused() -> None:
    bare: Any = Dataset("bare", np.eye(3), np.arange(3), ("a", "b", "c"))
    with pytest.raises(ValueError, match="bare: expected word counts, got none"):
        fits.BASELINES[fits.MULTINOMIAL](bare, 2, 0)
