"""The loop over ranges: the same log for any workers, whatever is lost; the same documents as in order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.unit.engine import documents
from tests.unit.engine.documents import closed, committed, document, sizes, years
from tests.unit.engine.parts import Parts, news, ranged, run, spread
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.scale.blocks import learn_block
from vmfstream.engine.scale.executor import InProcess
from vmfstream.engine.scale.ranged_batches import RangedBatches
from vmfstream.errors import InputError, WorkersLost
from vmfstream.online.state import TrackerSettings
from vmfstream.records import Commit
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import VectorEncoder

KEPT: dict[str, Any] = {"epoch_documents": 400, "sample": 200, "documents": True, "text": 12}


class Many(InProcess):
    """As many workers as one likes, who hand over copies as processes do."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    @property
    def workers(self) -> int:
        return self._workers

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(call))))) for call in calls]


class Weak(Many):
    """Workers that are lost when they are turned to the given times, whatever for; there are now more, now fewer."""

    def __init__(self, lost: set[int]) -> None:
        super().__init__(2)
        self.lost, self.turns = lost, 0

    def _turn(self) -> None:
        self.turns += 1
        if self.turns in self.lost:
            raise WorkersLost("gone")

    @property
    def workers(self) -> int:
        self._turn()
        return 1 + self.turns % 3

    def share(self, value: Any) -> Any:
        self._turn()
        return super().share(value)

    def hold(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        self._turn()
        return super().hold(function, calls)

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        self._turn()
        return super().map(function, calls)


def stream(parts: int = 3) -> Parts:
    return Parts(spread(news(1800, 4), parts))


@pytest.fixture(scope="module")
def undisturbed() -> MemoryStore:
    return run(stream(), **KEPT)


@pytest.mark.thorough
def test_any_number_of_workers_gives_the_same_run_file(undisturbed: MemoryStore) -> None:
    assert len(closed(undisturbed)) == 4
    assert sum(len(one.documents or ()) for one in undisturbed.commits) == 1800
    rows = [one.documents for one in undisturbed.commits if one.documents is not None]
    assert {len(text) for part in rows for text in part.text or ()} == {12}
    assert sum(len(labels.topic) for one in undisturbed.commits for labels in one.relabelled) >= 1800
    for workers in (2, 5):
        assert committed(run(stream(), Many(workers), **KEPT)) == committed(undisturbed)


def test_lost_workers_leave_no_trace(undisturbed: MemoryStore) -> None:
    weak = Weak({1, 3, 4, 8, 9, 12, 18, 19, 20, 29, 31})
    assert committed(run(stream(), weak, **KEPT)) == committed(undisturbed)
    assert weak.turns > 50


def test_the_same_documents_are_learnt_as_in_order(undisturbed: MemoryStore) -> None:
    ordinary = documents.run(news(1800, 4), epoch_documents=400)
    assert [(one.slice, one.n) for one in closed(undisturbed)] == [(one.slice, one.n) for one in closed(ordinary)]
    for ours, theirs in zip(closed(undisturbed), closed(ordinary), strict=True):
        assert ours.topics is not None
        assert theirs.topics is not None
        np.testing.assert_allclose(np.sort(ours.topics.n), np.sort(theirs.topics.n), atol=1.0)
        assert ours.predicted == pytest.approx(theirs.predicted, rel=1e-5, nan_ok=True)
        assert ours.dimension == theirs.dimension
        if theirs.novel is not None:
            assert ours.novel is not None
            np.testing.assert_allclose(ours.novel.novelty[:3], theirs.novel.novelty[:3], rtol=0.05)


def test_a_run_that_is_stopped_at_any_commit_goes_on_as_if_nothing_had_been(undisturbed: MemoryStore) -> None:
    class Stopped(MemoryStore):
        """Stops the process after each commit."""

        def commit(self, *commits: Commit) -> None:
            super().commit(*commits)
            raise KeyboardInterrupt

    store, engine = Stopped(), None
    for _ in range(len(undisturbed.commits)):
        engine = ranged(stream(), store, Many(2), **KEPT)
        with pytest.raises(KeyboardInterrupt):
            engine.run()
    assert committed(store) == committed(undisturbed)
    assert engine is not None
    assert engine.documents == 1800


def test_a_part_waits_for_the_others_at_the_end_of_a_slice() -> None:
    """Read far ahead of another, a part does not make its documents late."""
    spans = {"a": {2001: 300, 2002: 20}, "b": {2001: 20, 2002: 300, 2003: 10}}
    parts = {
        name: [
            document(i, year) | {"id": f"{name}{i}"} for i, year in enumerate(np.repeat([*n], [*n.values()]).tolist())
        ]
        for name, n in spans.items()
    }
    store = run(Parts(parts), epoch_documents=100)
    assert [(one.slice.label, one.n) for one in closed(store)] == [("2001", 320), ("2002", 320), ("2003", 10)]
    assert sum(commit.epoch.late for commit in store.commits) == 0


def test_the_earliest_part_opens_the_first_slice() -> None:
    store = run(Parts({"a": [document(0, 2005)], "b": [document(1, 2001), document(2, 2003)]}))
    assert [(one.slice.label, one.n) for one in closed(store)] == [
        ("2001", 1), ("2002", 0), ("2003", 1), ("2004", 0), ("2005", 1)
    ]  # fmt: skip


def test_late_documents_are_counted_and_learnt_with_the_open_slice() -> None:
    items = [*years({2001: 50, 2002: 50}), document(900, 2001), document(901, 2002)]
    store = run(Parts({"a": items}), epoch_documents=30)  # type: ignore[dict-item]
    assert [(one.slice.label, one.n) for one in closed(store)] == [("2001", 50), ("2002", 52)]
    assert sum(commit.epoch.late for commit in store.commits) == 1


def test_what_is_no_document_is_rejected_and_the_stream_goes_on() -> None:
    items: list[Any] = [
        *years({2001: 60}),
        document(7, 2001),
        document(800, 4001),
        b"no json",
        *[document(801 + i, 2001) for i in range(4)],
    ]
    store = run(Parts({"a": items, "b": [document(3, 2001)]}))
    rejected = [one for commit in store.commits for one in commit.rejected]
    assert [(one.part, one.offset) for one in rejected] == [("a", 60), ("a", 61), ("a", 62), ("b", 0)]
    assert "read before" in rejected[0].reason
    assert "2000 slices ahead" in rejected[1].reason
    assert "read before" in rejected[3].reason
    assert sum(sizes(store)) == 64


def test_slices_of_so_many_documents_are_full_to_the_last(undisturbed: MemoryStore) -> None:
    items: list[Any] = news(1000, 1)
    items[5] = b"no json"
    store = run(Parts(spread(items, 2)), slices="150", epoch_documents=100)
    assert [one.n for one in closed(store)] == [150] * 6 + [99]


def test_a_range_of_large_messages_is_read_in_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmfstream.engine.scale.ranged_batches.RANGE_BYTES", 3000)
    store = run(Parts({"a": news(400, 2)}), epoch_documents=400)
    assert max(sizes(store)) < 40
    assert [one.n for one in closed(store)] == [200, 200]


def test_vectors_need_no_vocabulary() -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(6)[:3] * 4
    items = [
        {"id": f"v{i}", "time": 2001 + i // 300, "vector": (centres[i % 3] + rng.standard_normal(6)).tolist()}
        for i in range(900)
    ]
    one = _vectors(items, InProcess())
    assert committed(one) == committed(_vectors(items, Many(3)))
    assert closed(one)[1].predicted > 0.3


def _vectors(items: list[dict[str, Any]], executor: InProcess) -> MemoryStore:
    store = MemoryStore()
    codec = FieldCodec(vector="vector", dimension=6)
    encoder = partial(VectorEncoder, 6)
    cut = EngineSettings(Slicing.parse("year"), epoch_documents=200)
    source, model = Parts(spread(items, 2)), TrackerModel(TrackerSettings(topics=3))
    batches = RangedBatches(source, codec, cut, encoder, executor, 50)
    Engine(source, encoder(), model, store, cut, batches).run()
    return store


def test_documents_do_not_pass_through_the_driver() -> None:
    """Of what comes back from the workers, texts are only those of documents that are kept."""
    block_bytes, later = bytearray(), bytearray()

    class Watched(Many):
        def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
            results = super().map(function, calls)
            for result in results if function is learn_block else []:
                (block_bytes if result.batch.sums is None else later).extend(pickle.dumps(result))
            return results

    items = news(6000, 1)
    ranged(Parts({"a": items}), executor=Watched(2), topics=2, window=100, epoch_documents=5000).run()
    assert b"Report 1234" in block_bytes  # the first 4,000 are held for the first fit
    assert b"Report 5678" not in later
    assert len(later) < 0.25 * len(pickle.dumps(items[4000:]))


def test_a_source_in_one_piece_is_refused() -> None:
    with pytest.raises(InputError, match="only topics of Kafka"):
        ranged(MemorySource([]))  # type: ignore[arg-type]
