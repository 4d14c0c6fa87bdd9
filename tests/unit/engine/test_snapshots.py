"""Snapshots: fits of the sample that are numbered by the live topics and judged by the slice that came next."""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.engine.documents import SUBJECTS, document, years
from tests.unit.runfile.test_access import unprivileged
from vmfstream import TopicTracker
from vmfstream.bayes.predictive import predictive
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.engine import Progress
from vmfstream.engine.run import RunSettings, follow
from vmfstream.engine.snapshots import batch
from vmfstream.engine.snapshots.batch import KINDS, aligned, fitted, material_of, take_snapshots, two_levels
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.snapshots import read_stored, write_snapshots
from vmfstream.runfile.writer import RunFile

SIZES = {2001: 60, 2002: 90, 2004: 30, 2005: 60}


def made(path: Path, sizes: dict[int, int] = SIZES, **settings: object) -> Path:
    given = {"topics": 3, "slices": "year", "threads": 1, "sample": 1000} | settings
    follow(MemorySource(years(sizes)), FieldCodec(), RunFile(path), RunSettings(**given))  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("snapshots") / "run.duckdb")


@pytest.fixture
def copy(run_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(run_file, tmp_path / "copy.duckdb"))


def units(rng: np.random.Generator, d: int, k: int) -> NDArray[np.float32]:
    m = rng.standard_normal((d, k)) + 1.0
    return np.asarray(m / np.linalg.norm(m, axis=0), np.float32)


# --- numbers of live topics


def test_topics_keep_their_numbers_whatever_their_order() -> None:
    rng = np.random.default_rng(1)
    live, ids = units(rng, 40, 6), np.array([3, 5, 8, 9, 20, 21])
    near = live + np.float32(0.05) * units(rng, 40, 6)
    for order in (rng.permutation(6) for _ in range(5)):
        found = aligned(near[:, order], live, live.sum(axis=1), ids)
        np.testing.assert_array_equal(found, ids[order])


def test_the_sum_of_cosines_is_the_largest() -> None:
    rng = np.random.default_rng(2)
    live, new, ids = units(rng, 5, 4), units(rng, 5, 4), np.arange(4)
    cosine = new.T @ live
    best = max(itertools.permutations(range(4)), key=lambda p: sum(cosine[i, p[i]] for i in range(4)))
    np.testing.assert_array_equal(aligned(new, live, np.zeros(5, np.float32), ids), best)


def test_more_and_fewer_topics_than_live_ones() -> None:
    rng = np.random.default_rng(3)
    live, nothing = units(rng, 30, 4), np.zeros(30, np.float32)
    more = np.concatenate([units(rng, 30, 2), live], axis=1)
    assert aligned(more, live, nothing, np.arange(4)).tolist() == [-1, -1, 0, 1, 2, 3]
    assert aligned(live[:, 2:], live, nothing, np.arange(4)).tolist() == [2, 3]


def test_a_topic_nearer_to_the_background_is_nobody() -> None:
    background = np.ones(3, np.float32)
    live = np.array([[1.0, 1.0, 0.0]], np.float32).T / np.sqrt(np.float32(2))
    far = np.array([[0.0, 1.0, 1.0]], np.float32).T / np.sqrt(np.float32(2))
    assert aligned(far, live, background, np.array([7])).tolist() == [-1]
    assert aligned(live, live, background, np.array([7])).tolist() == [7]


def test_leaves_of_two_levels_are_shared_out_evenly() -> None:
    for k in (1, 2, 7, 30):
        tree = two_levels(k)
        sizes = [len(tree.children(int(node))) for node in tree.inner]
        assert (tree.k, int(tree.depth.max())) == (k, 2)
        assert len(sizes) == max(1, round(k**0.5))
        assert max(sizes) - min(sizes) <= 1


# --- what is written


@pytest.mark.thorough
def test_every_kind_finds_the_subjects(copy: Path) -> None:
    snapshots = take_snapshots(copy)
    assert [one.kind for one in snapshots] == list(KINDS)
    live = {topic for topic in Reader(copy).topics("filtered").topic.tolist()}
    for one in snapshots:
        assert (one.slice, one.documents) == (2004, 180)
        assert set(one.topic[:3].tolist()) == live
        found = {frozenset(word for word, _ in words[:4]) for words in one.words[:3]}
        assert all(any(words <= set(subject) for subject in SUBJECTS) for words in found)
        assert len(found) == 3
        np.testing.assert_allclose(one.n[:3], 60, atol=1e-3)
        assert np.isfinite([one.bound, one.predicted, one.live]).all()
        assert ((one.tightness > 0) & (one.tightness < 1)).all()
    frame = Reader(copy).snapshots()
    assert frame.snapshot.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(frame.bound, [one.bound for one in snapshots])
    topics, words = Reader(copy).snapshot_topics(), Reader(copy).snapshot_words(1, 5)
    assert topics.snapshot.tolist() == [0] * 3 + [1] * 6 + [2] * 3
    assert words.node.tolist()[:5] == [0] * 5


def test_a_file_that_cannot_be_written_says_so_before_the_fits(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "fitted", lambda *_: pytest.fail("there was a fit"))
    content = run_file.read_bytes()
    with unprivileged() as folder:
        path = folder / "run.duckdb"
        path.write_bytes(content)
        for place, rights, says in ((path, 0o400, "no permission .*run"), (folder, 0o500, "cannot write .*run")):
            place.chmod(rights)
            with pytest.raises(InputError, match=says):
                take_snapshots(path, ["flat"])
            place.chmod(0o700)
        assert path.read_bytes() == content


def test_live_is_what_the_tracker_gave_to_that_slice(copy: Path) -> None:
    # the sample holds all documents, so both are means over the same
    (one,) = take_snapshots(copy, ["flat"])
    slices = Reader(copy).slices()
    assert one.live == pytest.approx(float(slices.predicted[slices.slice == 2005][0]), rel=1e-6)


def test_predicted_is_the_density_of_that_slice(copy: Path) -> None:
    (one,) = take_snapshots(copy, ["flat"])
    material = material_of(read_stored(copy))
    (found,) = fitted(material, ["flat"], np.random.default_rng([0, 2004, 4]))
    assert material.judged is not None
    assert material.judged.shape[0] == 60
    density = predictive(material.judged, found.f, found.gamma, found.kappa, found.log_weights)
    assert one.predicted == pytest.approx(float(density.mean()))


def test_a_tree_adds_up(copy: Path) -> None:
    (one,) = take_snapshots(copy, ["tree"])
    assert one.parent.tolist()[-1] == -1
    assert one.level.tolist() == [2, 2, 2, 1, 1, 0]
    assert one.topic[3:].tolist() == [-1, -1, -1]
    for node in (3, 4, 5):
        below = one.parent == node
        assert one.n[node] == pytest.approx(one.n[below].sum())
        assert one.share[node] == pytest.approx(one.share[below].sum())
    assert one.share[-1] == pytest.approx(1.0)
    assert np.isnan(one.certainty[-1])


def test_shares_are_those_of_the_stream(tmp_path: Path) -> None:
    # two slices of 20 stand for 300 and 60 documents; the first has two subjects, the second one
    def subject(i: int) -> int:
        return i % 2 if i < 300 else 2

    times = [2001] * 300 + [2002] * 60 + [2003] * 60
    items = [document(i, time, [SUBJECTS[subject(i)]]) for i, time in enumerate(times)]
    settings = RunSettings(topics=3, slices="year", threads=1, sample=80)
    follow(MemorySource(items), FieldCodec(), RunFile(tmp_path / "run.duckdb"), settings)
    (one,) = take_snapshots(tmp_path / "run.duckdb", ["flat"])
    assert one.documents == 40
    third = int(np.argmax([words[0][0] in SUBJECTS[2] for words in one.words]))
    assert one.n[third] == pytest.approx(20, abs=1e-3)
    assert one.share[third] == pytest.approx(60 / 360, abs=1e-4)


def test_the_same_again(copy: Path) -> None:
    first, second = take_snapshots(copy), take_snapshots(copy)
    for one, other in zip(first, second, strict=True):
        for name in ("bound", "predicted", "live", "topic", "n", "share", "words"):
            np.testing.assert_array_equal(
                np.asarray(getattr(one, name), object), np.asarray(getattr(other, name), object)
            )
    assert Reader(copy).snapshots().snapshot.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.thorough
def test_the_run_does_not_notice(tmp_path: Path) -> None:
    settings = RunSettings(topics=3, slices="year", threads=1, sample=120, epoch_documents=25)
    taken: list[int] = []

    def disturb(now: Progress) -> None:
        if now.topics and now.epoch not in taken:
            taken.append(now.epoch)
            take_snapshots(tmp_path / "b.duckdb", ["flat"])

    found = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.duckdb"
        observe = disturb if name == "b" else None
        follow(MemorySource(years(SIZES)), FieldCodec(), RunFile(path), settings, observe=observe)
        with duckdb.connect(str(path), read_only=True) as connection:
            tables = ("sample", "filtered_word", "filtered", "smoothed", "slice", "checkpoint_slice")
            found.append([connection.execute(f"select * from {table} order by all").fetchall() for table in tables])
    assert len(taken) > 5
    assert repr(found[0]) == repr(found[1])


# --- what there is not


def test_a_first_slice_is_judged_by_nobody(tmp_path: Path) -> None:
    (one,) = take_snapshots(made(tmp_path / "run.duckdb", {2001: 60}), ["flat"])
    assert one.slice == 2001
    assert np.isnan([one.predicted, one.live]).all()


def test_no_sample(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sample"):
        take_snapshots(made(tmp_path / "run.duckdb", sample=0))
    TopicTracker(topics=2).learn(["cat fur paw", "ship sea harbour"] * 20, 2001).save(tmp_path / "saved.duckdb")
    with pytest.raises(InputError, match=r"no sample of documents; it was written .* by TopicTracker\.save"):
        take_snapshots(tmp_path / "saved.duckdb")


def test_no_topics(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    items = [{"id": str(i), "time": 2001, "text": "the of and"} for i in range(3)]
    follow(MemorySource(items), FieldCodec(), run_file, RunSettings(topics=3, slices="year"))
    with pytest.raises(InputError, match="there are no topics: the first ones are found when a slice ends"):
        take_snapshots(run_file.path)


def test_no_run_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run file"):
        take_snapshots(tmp_path / "none.duckdb")
    with pytest.raises(InputError, match="no run file"):
        write_snapshots(tmp_path / "none.duckdb", [])


_DIE = """
import os, signal, sys
from pathlib import Path
from vmfstream.engine.snapshots.batch import take_snapshots
from vmfstream.runfile import snapshots
insert, calls = snapshots.insert, []
def dying(*args):
    insert(*args)
    calls.append(args)
    if len(calls) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
snapshots.insert = dying
take_snapshots(Path(sys.argv[1]))
"""


@pytest.mark.thorough
def test_killed_while_writing_it_leaves_nothing(copy: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    died = subprocess.run([sys.executable, "-c", _DIE, str(copy)], cwd=root, check=False)
    assert died.returncode == -signal.SIGKILL
    reader = Reader(copy)
    assert not len(reader.snapshots().snapshot)
    assert not len(reader.snapshot_topics().snapshot)
    take_snapshots(copy, ["flat"])
    assert reader.snapshots().snapshot.tolist() == [0]
