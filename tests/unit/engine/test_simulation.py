"""Whatever happens to workers, scheduler, network and driver, the rows are those of one undisturbed process.

Each run is told by a number, from which all follows: the stream, the faults, the moments. A failure says which it was.

python -m tests.unit.engine.test_simulation 100000 [first]
"""

from __future__ import annotations

import logging
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from unittest.mock import patch

import pytest

from tests.cores import on_all_cores
from tests.unit.engine.documents import committed, document
from tests.unit.engine.parts import Parts
from tests.unit.engine.simulated_dask import Client, Faults, World, wait
from tests.unit.engine.test_schedules import Cut, Store
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.scale import cluster, ranged_batches
from vmfstream.engine.scale.cluster import DaskCluster
from vmfstream.engine.scale.executor import InProcess
from vmfstream.engine.scale.ranged_batches import RangedBatches
from vmfstream.errors import SourceAway
from vmfstream.online.state import TrackerSettings
from vmfstream.protocols import Executor
from vmfstream.records import Position, Range
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import TextEncoder

STREAMS, BATCH = 12, 200

_encoder = partial(TextEncoder, stop_words=None, capacity=200)


def stream(number: int) -> Parts:
    """Two or three parts, of which one is ahead, with a repeated, a late and a hostile message, and an empty slice."""
    rng = random.Random(number)
    parts: dict[str, list[object]] = {}
    for part in range(rng.choice([1, 2, 2, 3])):
        size = rng.randint(8, 24)
        years = sorted(2001 + rng.choice([0, 0, 0, 1, 1, 3]) for _ in range(size))
        rows: list[object] = [document(1000 * part + i, year) for i, year in enumerate(years)]
        for odd in (document(1000 * part, years[0]), document(1000 * part + 999, 2001), b"no json"):
            rows.insert(rng.randint(1, len(rows)), odd)
        parts[f"p{part}"] = rows
    return Parts(parts)  # type: ignore[arg-type]


class ComesAndGoes(Parts):
    """Parts that do not answer now and then."""

    def __init__(self, parts: Parts, chance: Callable[[str], bool]) -> None:
        super().__init__(parts.parts)
        self._whole, self._chance = parts, chance

    def extents(self, position: Position) -> Sequence[Range]:
        if self._chance("source_away"):
            raise SourceAway("no answer")
        return super().extents(position)

    def reader(self) -> Parts:
        return self._whole


def followed(
    number: int, store: MemoryStore, executor: Executor, chance: Callable[[str], bool] = lambda _: False
) -> None:
    """Follow a stream to its end."""
    cut = EngineSettings(Slicing.parse("year"), epoch_documents=24, documents=True, text=9, sample=9, stories=None)
    rules = TrackerSettings(topics=2, window=16, threads=1, cold_starts=1, persistences=(0.9,), refit=False)
    source = ComesAndGoes(stream(number), chance)
    batches = RangedBatches(source, FieldCodec(), cut, _encoder, executor, range_messages=6)
    Engine(source, _encoder(), TrackerModel(rules), store, cut, batches).run()


@cache
def undisturbed(number: int) -> list[str]:
    """Return all rows of a stream that one process follows."""
    store = MemoryStore()
    followed(number, store, InProcess())
    return committed(store)


def faults_of(rng: random.Random) -> Faults:
    """Choose what goes wrong, and how often."""

    often = rng.choice([0.02, 0.1, 0.3])
    never = float("inf")
    return Faults(
        most=rng.randint(1, 8),
        lost=rng.choice([0.0, often]),
        doubled=rng.choice([0.0, often]),
        stopped=rng.choice([0.0, often]),
        dies_of_task=rng.choice([0.0, often]),
        dies_on_the_way=rng.choice([0.0, often]),
        source_away=rng.choice([0.0, often]),
        between_deaths=rng.choice([never, 2.0, 0.3]),
        between_schedulers=rng.choice([never, never, 3.0, 0.5]),
    )


def simulated(seed: int) -> Counter[str]:
    """Follow a stream in a world in which things go wrong; return what did.

    Raises
    ------
    AssertionError
        If rows differ from those of the undisturbed run, or it does not end.
    """
    rng = random.Random(seed)
    number, faults = rng.randrange(STREAMS), faults_of(rng)
    wanted, store, happened = undisturbed(number), Store(), Counter[str]()
    for life in range(4):
        world = World(rng.randrange(2**32), faults, rng.randint(1, 4))
        happened["clusters"] += 1
        dies = life < 3 and rng.random() < 0.5
        store.left, store.keeps = rng.randint(1, 4) if dies else 0, rng.random() < 0.5
        with (
            patch("distributed.Client", partial(Client, world)),
            patch("distributed.wait", partial(wait, world)),
            patch.object(cluster, "time", world),
            patch.object(ranged_batches, "time", world),
        ):
            try:
                followed(number, store, DaskCluster("dask://simulated"), world.chance)
                break
            except Cut:
                happened["driver dies"] += 1
            finally:
                happened += world.happened
    assert committed(store) == wanted, f"seed {seed}, stream {number}: other rows, after {happened}"
    return happened


def tried(schedules: int, first: int = 0) -> Counter[str]:
    """Try so many seeds; return what happened in all."""
    happened = Counter[str]()
    logging.disable(logging.WARNING)
    try:
        for seed in range(first, first + schedules):
            try:
                happened += simulated(seed)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error!r}") from error
    finally:
        logging.disable(logging.NOTSET)
    return happened


@pytest.mark.thorough
def test_simulated_runs_equal_undisturbed_ones() -> None:
    happened = tried(40)
    for fault in (
        "worker dies",
        "scheduler dies",
        "driver dies",
        "lost",
        "doubled",
        "too late",
        "value is gone",
        "source_away",
    ):
        assert happened[fault] > 3


@pytest.mark.thorough
def test_a_seed_tells_all() -> None:
    assert [simulated(seed) for seed in range(60, 66)] == [simulated(seed) for seed in range(60, 66)]


@pytest.mark.thorough
def test_more_simulated_runs_equal_undisturbed_ones() -> None:
    tried(150, 100)


if __name__ == "__main__":
    schedules, first = (int(argument) for argument in [*sys.argv[1:], "0"][:2])
    batches = [(min(BATCH, first + schedules - at), at) for at in range(first, first + schedules, BATCH)]
    print(dict(sum(on_all_cores(tried, batches), Counter[str]()).most_common()))
