"""The loop drives whatever model is put behind the protocol; another one needs no change of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.engine.documents import closed, committed
from tests.unit.engine.parts import Parts
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import ABORT, Aborted, Item, MemorySource
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.loop.local_batches import LocalBatches
from vmfstream.engine.models import MODELS
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.engine.scale.executor import InProcess
from vmfstream.engine.scale.ranged_batches import RangedBatches
from vmfstream.errors import InputError
from vmfstream.online.state import Rows, TrackerSettings, rows_of
from vmfstream.protocols import Distributed, DocumentTopics, Model, Regrow, Scores, SliceSummary, TopicView
from vmfstream.records import Arrays, Decision, Document
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import VectorEncoder

DIMENSION = 4


@dataclass(frozen=True)
class View:
    slice: int
    ids: NDArray[np.int64]
    f: NDArray[np.float32]
    gamma: NDArray[np.float64]
    n: NDArray[np.float64]
    kappa: float
    drift_angle: NDArray[np.float64]
    drift_angle_error: NDArray[np.float64]


class Axes:
    """A topic per coordinate: labels every document from the first one on, keeps none, has no window."""

    begun = True
    active = DIMENSION
    next_id = DIMENSION
    kept_documents = 0
    window: Sequence[int] = ()

    def __init__(self) -> None:
        self.ids = np.arange(DIMENSION)
        self.n = np.zeros(DIMENSION)
        self.slice = 2001

    def begin(
        self,
        slices: Sequence[tuple[int, Rows]],
        open_slice: int,
        open_rows: Rows,
        seeds: NDArray[np.float32] | None = None,
    ) -> bool:
        raise AssertionError("it does not wait")

    def learn(self, x: Rows, *, donate: bool) -> Scores:
        label = np.asarray(x).argmax(axis=1)
        self.n = self.n + np.bincount(label, minlength=DIMENSION)
        return Scores(
            np.zeros(rows_of(x)),
            label,
            np.zeros(rows_of(x)),
            np.full(rows_of(x), -1),
            np.ones((rows_of(x), 2), np.float32),
        )

    def labels(self) -> list[DocumentTopics]:
        return []

    def topics_of(self, x: Rows) -> NDArray[np.int64]:
        return np.full(x.shape[0], -1)

    def end_epoch(self) -> None:
        pass

    def end_slice(
        self, index: int, regrow: Regrow, *, last: bool, decisions: Sequence[Decision] = ()
    ) -> SliceSummary | None:
        regrow()
        view = self.describe()
        self.slice, self.n = index + 1, np.zeros(DIMENSION)
        nothing = np.zeros((0, DIMENSION), np.float32)
        nan = float("nan")
        return SliceSummary(nan, nan, False, nan, view, [view], nothing, nothing, [])

    def skip_to(self, index: int) -> None:
        self.slice = index

    def describe(self) -> View:
        unknown = np.full(DIMENSION, np.nan)
        f = np.eye(DIMENSION, dtype=np.float32)
        return View(self.slice, self.ids, f, np.ones(DIMENSION), self.n, 1.0, unknown, unknown)

    def smoothed(self) -> Sequence[TopicView]:
        return []

    def arrays(self) -> tuple[Arrays, Arrays]:
        return {"axes.n": self.n, "axes.slice": np.array([self.slice])}, {}

    def restore(self, open_part: Arrays, slice_part: Arrays, window: Sequence[Rows], rows: Rows) -> None:
        self.n, self.slice = open_part["axes.n"], int(open_part["axes.slice"][0])


def items(count: int) -> list[dict[str, Any]]:
    rows = np.eye(DIMENSION)[np.arange(count) % DIMENSION] + 0.1
    return [{"id": str(i), "time": 2001 + i // 20, "v": row.tolist()} for i, row in enumerate(rows)]


def axes(source: Sequence[Item], store: MemoryStore, found: list[int] | None = None) -> Engine:
    def assigned(documents: Sequence[Document], topics: NDArray[np.int64]) -> None:
        if found is not None:
            found.extend(topics.tolist())

    model: Model = Axes()
    read, cut = MemorySource(source), EngineSettings(Slicing.parse("year"), epoch_documents=7)
    batches = LocalBatches(read, FieldCodec(vector="v"), cut, assigned)
    return Engine(read, VectorEncoder(DIMENSION), model, store, cut, batches)


def test_another_model_labels_every_document_from_the_first_on() -> None:
    store, found = MemoryStore(), list[int]()
    axes(items(50), store, found).run()
    assert found == [i % DIMENSION for i in range(50)]
    assert [(r.slice.label, r.n) for r in closed(store)] == [("2001", 20), ("2002", 20), ("2003", 10)]
    for report, count in zip(closed(store), (5.0, 5.0, 2.5), strict=True):
        assert report.topics is not None
        np.testing.assert_allclose(report.topics.n, count, atol=0.5)
    assert [event.topic for event in closed(store)[0].events] == [0, 1, 2, 3]
    assert [s.slice for commit in store.commits for s in commit.smoothed] == [2001, 2002, 2003]


@pytest.mark.parametrize("at", [0, 13, 20, 27, 44])
def test_another_model_goes_on_from_its_arrays(at: int) -> None:
    store, whole = MemoryStore(), MemoryStore()
    with pytest.raises(Aborted):
        axes([*items(50)[:at], ABORT], store).run()
    axes(items(50), store).run()
    axes(items(50), whole).run()
    assert committed(store) == committed(whole)


def test_a_model_that_cannot_be_shared_is_refused_by_workers() -> None:
    source, cut = Parts({"a": items(9)}), EngineSettings(Slicing.parse("year"))
    encoder = VectorEncoder(DIMENSION)
    batches = RangedBatches(source, FieldCodec(vector="v"), cut, lambda: VectorEncoder(DIMENSION), InProcess())
    with pytest.raises(InputError, match="Axes learns in one process"):
        Engine(source, encoder, Axes(), MemoryStore(), cut, batches).run()


def test_the_tracker_is_a_model_that_workers_share() -> None:
    model: Model = TrackerModel(TrackerSettings())
    assert isinstance(model, Distributed)
    assert not isinstance(Axes(), Distributed)
    with pytest.raises(ValueError, match="no topics yet"):
        model.prediction()


def test_models_have_names() -> None:
    assert [type(MODELS[name](RunSettings())).__name__ for name in MODELS] == [TrackerModel.__name__]
    with pytest.raises(InputError, match="model: expected one of topics, got 'stories'"):
        RunSettings(model="stories").new_model()
