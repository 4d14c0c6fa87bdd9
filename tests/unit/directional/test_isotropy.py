"""Isotropy: 1 for von Mises-Fisher rows, the share of directions otherwise; what runs keep and show of it."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.runfile.records import of_format
from vmfstream import TopicTracker, VonMisesFisher, metrics
from vmfstream.cli.diagnosis import examine
from vmfstream.cli.topic_table import one_topic, topics_of_slice
from vmfstream.directional.isotropy import MOST_ROWS, isotropies, isotropy
from vmfstream.runfile.queries import Reader

Rows = NDArray[np.float64]


def unit(x: Rows) -> Rows:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def in_directions(n: int, d: int, directions: int, seed: int) -> Rows:
    """Return rows that spread around the first axis in some directions only."""
    x = np.random.default_rng(seed).standard_normal((n, d)) * (np.arange(d) <= directions)
    x[:, 0] = 8.0
    return unit(x)


def variances(d: int, n: int, kappa: float, draws: int) -> Rows:
    """Return 1 / isotropy of von Mises-Fisher rows, draw by draw."""
    rng, mu = np.random.default_rng(0), np.eye(1, d)[0]
    return np.array([1.0 / isotropy(VonMisesFisher(mu, kappa).rvs(n, rng=rng)) for _ in range(draws)])


@pytest.mark.parametrize("d", [20, 256])
@pytest.mark.parametrize("kappa", [5.0, 300.0])
def test_it_is_one_whatever_the_concentration(d: int, kappa: float) -> None:
    found = variances(d, 64, kappa, 40)
    assert found.min() >= 1.0  # isotropy is at most 1
    # where nothing is cut off at 1 the standard deviation is sqrt(2 / pairs) = .031, and the mean 1 +- .005
    assert np.median(found) == pytest.approx(1.0, abs=0.02)
    assert found.mean() == pytest.approx(1.0 + 0.031 / math.sqrt(2.0 * math.pi), abs=0.02)


def test_few_rows_are_not_biased_by_their_own_mean() -> None:
    # the mean square of the cosines, instead of their variance, makes it .47 of what it is with 16 rows
    assert np.mean(1.0 / variances(256, 16, 200.0, 60)) > 0.85


@pytest.mark.parametrize("directions", [5, 40, 255])
def test_it_tells_the_share_of_directions(directions: int) -> None:
    found = np.mean([isotropy(in_directions(64, 256, directions, seed)) for seed in range(20)])
    assert found * 255 == pytest.approx(directions, rel=0.06)


def test_it_is_the_variance_over_pairs() -> None:
    x = in_directions(12, 7, 4, 3)
    mu = x.sum(axis=0) / np.linalg.norm(x.sum(axis=0))
    residuals = unit(x - np.outer(x @ mu, mu))
    cosines = [float(residuals[i] @ residuals[j]) for i, j in combinations(range(12), 2)]
    assert isotropy(x) == pytest.approx(min(1.0, 1.0 / (6 * np.var(cosines))))
    assert isotropy(x) < 1.0


def test_rows_that_are_the_mean_have_no_residual() -> None:
    # ten rows, of which the sum is along the first axis, and the axis itself many times
    x = np.sqrt(0.5) * np.concatenate([np.eye(6)[1:], -np.eye(6)[1:]])
    x[:, 0] = np.sqrt(0.5)
    more = np.concatenate([x, np.eye(1, 6).repeat(5, axis=0)])
    assert isotropy(more) == pytest.approx(isotropy(x))
    assert np.isnan(isotropy(x[1:]))  # nine rows
    assert np.isnan(isotropy(np.eye(1, 6).repeat(30, axis=0)))


def test_the_newest_rows_of_each_cluster_count() -> None:
    parts = [in_directions(70, 30, m, seed) for seed, m in enumerate((3, 12, 29))]
    label = np.random.default_rng(1).integers(-1, 3, 210)
    whole = np.concatenate(parts)
    wanted = [isotropy(whole[np.flatnonzero(label == one)[-MOST_ROWS:]]) for one in (2, 0)]
    assert np.count_nonzero(label == 2) > 65 or np.count_nonzero(label == 0) > 40
    found = isotropies(parts, label, np.array([2, 0, 9]))
    assert found[:2].tolist() == wanted
    assert np.isnan(found[2])
    alone = isotropies([whole], np.zeros(210, np.int64), np.array([0]))
    assert alone.tolist() == [isotropy(whole[-MOST_ROWS:])]


def test_clusters_of_an_estimator_in_the_order_of_labels() -> None:
    x = np.concatenate([in_directions(30, 50, 49, 0), in_directions(30, 50, 5, 1)])
    labels = np.repeat([7, 3], 30)
    labels[0] = -1
    assert metrics.isotropy(x, labels).tolist() == [isotropy(x[30:]), isotropy(x[1:30])]


def test_what_has_no_isotropy_says_so() -> None:
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match="expected dense rows"):
        metrics.isotropy(csr_array(np.eye(3)), [0, 0, 0])
    with pytest.raises(ValueError, match="one label for each row"):
        metrics.isotropy(np.eye(3), [0, 0])


def vectors(texts: list[str]) -> Rows:
    """Return vectors of texts "ship N" and "cat N": ships spread in all directions, cats in few."""
    found = [in_directions(1, 40, 39 if text[0] == "s" else 4, int(text.split()[-1], 36))[0] for text in texts]
    return np.asarray(np.array(found) + np.array([[0.0] * 39 + [9.0 * (text[0] == "s")] for text in texts]))


@pytest.fixture(scope="module")
def tracker() -> TopicTracker:
    texts = [f"{'ship' if i % 2 else 'cat'} {i}" for i in range(80)]
    made = TopicTracker(topics=2, embed=vectors)
    return made.learn(texts[:40], [2001] * 40).learn(texts[40:], [2002] * 40)


@pytest.mark.thorough
def test_a_run_keeps_it_by_topic_and_slice(tracker: TopicTracker, tmp_path: Path) -> None:
    tracker.finish()
    rows = [row for row in tracker.topics() if row["slice"] == "2002"]
    x = unit(vectors([f"{'ship' if i % 2 else 'cat'} {i}" for i in range(80)])).astype(np.float32)
    cats, ships = metrics.isotropy(x, np.arange(80) % 2)
    assert sorted(row["isotropy"] for row in rows) == pytest.approx(sorted([cats, ships]), rel=1e-4)
    assert cats < 0.3 < ships
    path = tmp_path / "run.duckdb"
    tracker.save(path)
    assert Reader(path).quality().isotropy.tolist() == [row["isotropy"] for row in tracker.topics()]
    assert [row["isotropy"] for row in TopicTracker.load(path, embed=vectors).topics()] == [
        row["isotropy"] for row in tracker.topics()
    ]
    shown = topics_of_slice(Reader(path), 2, "filtered")
    assert sorted(row["isotropy"] for row in shown) == sorted(round(row["isotropy"], 3) for row in rows)
    assert "isotropy" in one_topic(Reader(path), shown[0]["topic"], 2, "smoothed")[0]
    (told,) = [check.found for check in examine(path) if check.what == "isotropy"]
    (least,) = [row["topic"] for row in rows if row["isotropy"] < 0.3]
    assert told.startswith(f"{(cats + ships) / 2:.1%} on average in 2002, least in topic {least}: {cats:.1%}")


def test_a_run_file_of_before_knows_none(tmp_path: Path) -> None:
    path = of_format(tmp_path / "run.duckdb", 23)
    with duckdb.connect(path) as connection:
        connection.execute("insert into filtered (slice, topic, share) values (2001, 0, 1.0)")
    assert np.isnan(Reader(path).quality().isotropy).all()
