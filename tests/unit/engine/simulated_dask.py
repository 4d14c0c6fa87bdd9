"""A scheduler, workers and a network on one thread, with a clock that jumps: what `DaskCluster` finds in Dask's place.

All that happens is an event at some time of a seeded clock: messages are delayed, so that they overtake each other;
workers are slow, join late, stop answering, and die before they compute, afterwards, or while a value is under way to
them; the message that a task is done gets lost or comes twice, also after the task was given to another worker; the
scheduler dies with all that it knows. What is passed on is pickled, as between processes. The same seed gives the same.
"""

from __future__ import annotations

import heapq
import pickle
import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

LONGEST = 2000.0
"""Seconds after which a run counts as standing still."""

_MOST_DEATHS = 3
"""How many workers may die of a task, as with Dask's default."""


class StandsStill(AssertionError):
    """Nothing will ever happen again, or no end comes."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often things go wrong: chances for each message or task, and seconds between deaths.

    The mean seconds between deaths of workers, and of the scheduler, are for all of them together. After ``most``
    faults of all kinds there are no more.
    """

    most: int = 0

    lost: float = 0.0
    doubled: float = 0.0
    stopped: float = 0.0
    dies_of_task: float = 0.0
    dies_on_the_way: float = 0.0
    source_away: float = 0.0
    between_deaths: float = float("inf")
    between_schedulers: float = float("inf")


@dataclass(eq=False)
class Worker:
    """A process of one thread: how slow it is, its task, and the values that it holds, pickled.

    One that is not ``alive`` is so for the scheduler; it may have been stopped, and go on unless it was ``killed``.
    """

    name: int
    slowness: float
    alive: bool = True
    killed: bool = False
    task: Future | None = None
    values: dict[int, bytes] = field(default_factory=dict)


@dataclass(eq=False)
class Future:
    """A value that will be with a worker, by its key: what makes it again, and how far that is."""

    key: int
    needs: tuple[Future, ...]
    call: bytes | None  # the function and its arguments, but those needed; None for a value that the client sent
    scheduler: int
    state: str = "waiting"  # for a worker; then "processing", "done", "failed" or "gone"
    error: BaseException | None = None
    deaths: int = 0
    worker: Worker | None = None


class _Needed:
    """Stands for an argument that is with a worker."""


class World:
    """The clock, the processes, and what is under way between them.

    Parameters
    ----------
    seed : int
    faults : Faults
    workers : int
        How many there are at the beginning.
    """

    def __init__(self, seed: int, faults: Faults, workers: int) -> None:
        self.rng, self.faults, self.now = random.Random(seed), faults, 0.0
        self._left = faults.most
        self.happened: Counter[str] = Counter()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = 0
        self.workers: list[Worker] = []
        self.futures = WeakValueDictionary[int, Future]()  # what nobody refers to is forgotten
        self.scheduler = 1  # the how manieth; 0 while there is none
        self._schedulers = 1
        for _ in range(workers):
            self._join()
        self._next_death()
        self._next_scheduler()

    # the clock, as the module `time`

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    perf_counter = monotonic

    def sleep(self, seconds: float) -> None:
        """Let so much time go by, with all that happens meanwhile."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self._step()
        self.now = end

    def until(self, true: Callable[[], bool], timeout: float | None = None) -> None:
        """Let things happen until something is true; TimeoutError if it takes too long."""
        end = self.now + (LONGEST if timeout is None else timeout)
        while not true():
            if not self._events or self._events[0][0] > end:
                if timeout is None:
                    raise StandsStill(f"at {self.now:.1f} s: {self.happened}")
                self.now = end
                raise TimeoutError
            self._step()

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        """Let an event happen later."""
        self._numbers += 1
        heapq.heappush(self._events, (self.now + seconds, self._numbers, event))

    def delay(self) -> float:
        """Return how long a message is under way: most a millisecond, some much longer."""
        return self.rng.expovariate(1000.0) if self.rng.random() < 0.95 else self.rng.expovariate(3.0)

    def chance(self, what: str) -> bool:
        """Say whether something goes wrong now."""
        return self.rng.random() < getattr(self.faults, what) and self._fault(what)

    def _fault(self, what: str) -> bool:
        """Count a fault; False if there were enough."""
        if self._left == 0:
            return False
        self._left -= 1
        self.happened[what] += 1
        return True

    def _step(self) -> None:
        if self.now > LONGEST:
            raise StandsStill(f"still going at {self.now:.0f} s: {self.happened}")
        self.now, _, event = heapq.heappop(self._events)
        event()

    # workers and the scheduler

    def alive(self) -> list[Worker]:
        """Return the workers that the scheduler knows."""
        return [one for one in self.workers if one.alive]

    def kill(self, worker: Worker) -> None:
        """End a worker."""
        worker.killed = True
        self._remove(worker, "worker dies")

    def _remove(self, worker: Worker, why: str) -> None:
        """Take a worker for dead: another one joins later, and what was lost with it is done again."""
        if not worker.alive:
            return
        self.happened[why] += 1
        worker.alive, worker.values = False, {}
        self.after(self.rng.expovariate(1.0), self._join)
        task = worker.task
        if task is not None and task.state == "processing" and task.worker is worker:
            task.deaths += 1
            task.state = "waiting"
            if task.deaths > _MOST_DEATHS:
                self.happened["given up"] += 1
                task.state, task.error = "failed", KilledWorker(str(task.key), None, _MOST_DEATHS)
        for future in list(self.futures.values()):
            if future.state == "done":
                self._lost(future)
        self.after(self.delay(), self._assign)

    def _join(self) -> None:
        self.workers.append(Worker(len(self.workers), self.rng.choice([1.0, 1.0, 3.0, 20.0])))
        self._assign()

    def _next_death(self) -> None:
        def death() -> None:
            alive = self.alive()
            if not alive or self._fault("killed"):
                if alive:
                    self.kill(self.rng.choice(alive))
                self._next_death()

        if self.faults.between_deaths < LONGEST:
            self.after(self.rng.expovariate(1.0 / self.faults.between_deaths), death)

    def _next_scheduler(self) -> None:
        def death() -> None:
            if not self._fault("scheduler dies"):
                return
            self.scheduler = 0
            for worker in self.alive():
                worker.alive, worker.killed, worker.values = False, True, {}
            for future in list(self.futures.values()):
                future.state = "gone"
            self.futures.clear()
            self.after(self.rng.uniform(0.1, 20.0), begin)

        def begin() -> None:
            self._schedulers += 1
            self.scheduler = self._schedulers
            for _ in range(self.rng.randint(1, 3)):
                self.after(self.rng.expovariate(1.0), self._join)
            self._next_scheduler()

        if self.faults.between_schedulers < LONGEST:
            self.after(self.rng.expovariate(1.0 / self.faults.between_schedulers), death)

    def submit(self, *call: Any) -> Future:
        """Ask the scheduler to have a function called."""
        needs = tuple(one for one in call if isinstance(one, Future))
        future = self._known(needs, pickle.dumps([_Needed() if isinstance(one, Future) else one for one in call]))
        self.after(self.delay(), self._assign)
        return future

    def send(self, value: Any) -> Future:
        """Send a value to a worker, which may die meanwhile."""
        worker = self.rng.choice(self.alive())
        self.sleep(self.delay())
        if self.chance("dies_on_the_way"):
            self.kill(worker)
        if not worker.alive:
            raise OSError("the connection was lost")
        future = self._known((), None)
        future.state = "done"
        worker.values[future.key] = pickle.dumps(value)
        return future

    def fetch(self, future: Future) -> Any:
        """Bring a value to the client."""
        holder = self._holder(future)
        if holder is not None and self.chance("dies_on_the_way"):
            self.kill(holder)
        self.until(lambda: future.state in ("done", "failed", "gone"))
        if future.state == "failed" and future.error is not None:
            raise future.error
        holder = self._holder(future)
        if holder is None:
            raise FutureCancelledError(str(future.key), "lost dependencies")
        return pickle.loads(holder.values[future.key])

    def _known(self, needs: tuple[Future, ...], call: bytes | None) -> Future:
        self._numbers += 1
        future = Future(self._numbers, needs, call, self.scheduler)
        self.futures[future.key] = future
        return future

    def _holder(self, future: Future) -> Worker | None:
        return next((one for one in self.workers if one.alive and future.key in one.values), None)

    def _lost(self, future: Future) -> None:
        """Make a value again that no worker holds any more; where that cannot be, it is gone, with all made of it."""
        if self._holder(future) is not None:
            return
        future.state = "gone" if future.call is None else "waiting"
        self.happened["value is gone" if future.call is None else "made again"] += 1
        self.after(self.delay(), self._assign)

    def _assign(self) -> None:
        """Give waiting tasks whose arguments are there to workers that are free."""
        for future in [one for one in list(self.futures.values()) if one.state == "waiting"]:
            if any(one.state in ("gone", "failed") or one.scheduler != self.scheduler for one in future.needs):
                future.state = "gone"
                self._assign()
                return
            free = [one for one in self.alive() if one.task is None]
            if free and all(one.state == "done" for one in future.needs):
                worker = self.rng.choice(free)
                worker.task, future.worker, future.state = future, worker, "processing"
                self.after(self.delay(), lambda f=future, w=worker: self._begin(f, w))  # type: ignore[misc]

    def _begin(self, future: Future, worker: Worker) -> None:
        """Let a worker fetch the arguments and compute."""
        holders = [self._holder(one) for one in future.needs]
        if None in holders:  # the scheduler hears that it is not there
            worker.task = None
            if future.state == "processing" and future.worker is worker:
                future.state = "waiting"
            self.after(self.delay(), self._assign)
            return
        bodies = [holder.values[one.key] for one, holder in zip(future.needs, holders, strict=True) if holder]
        if self.chance("stopped"):  # for so long that the scheduler gives its task to another one
            self._remove(worker, "worker is stopped")
        if self.chance("dies_of_task"):
            self.kill(worker)
        self.after(self.rng.expovariate(50.0) * worker.slowness, lambda: self._compute(future, worker, bodies))

    def _compute(self, future: Future, worker: Worker, bodies: list[bytes]) -> None:
        if worker.killed:
            return
        assert future.call is not None
        needed = iter(bodies)
        function, *given = [
            pickle.loads(next(needed)) if isinstance(one, _Needed) else one for one in pickle.loads(future.call)
        ]
        body, error = b"", None
        try:
            body = pickle.dumps(function(*given))
        except Exception as raised:
            error = raised
        self.happened["computed"] += 1
        if self.chance("dies_of_task"):
            self.kill(worker)
        elif self.chance("lost"):  # the connection is broken, so the scheduler takes the worker for dead
            self.after(self.rng.uniform(0.0, 3.0), lambda: self._remove(worker, "worker is cut off"))
        else:
            for _ in range(2 if self.chance("doubled") else 1):
                self.after(self.delay(), lambda: self._done(future, worker, body, error))

    def _done(self, future: Future, worker: Worker, body: bytes, error: Exception | None) -> None:
        if worker.task is future:
            worker.task = None
        if not worker.alive:
            self.happened["too late"] += 1
        elif future.state in ("waiting", "processing", "done"):
            worker.values[future.key] = body
            future.state, future.error = ("done", None) if error is None else ("failed", error)
        self._assign()


class Client:
    """What `DaskCluster` uses of `distributed.Client`."""

    def __init__(self, world: World, *_: object, **__: object) -> None:
        self._world, self._scheduler = world, world.scheduler
        self._asked()

    def _asked(self) -> World:
        if not self._scheduler or self._world.scheduler != self._scheduler:
            raise OSError("the scheduler does not answer")
        return self._world

    def nthreads(self) -> dict[str, int]:
        """Return the threads of each worker."""
        return {str(one.name): 1 for one in self._asked().alive()}

    def wait_for_workers(self, count: int) -> None:
        """Wait for workers."""
        self._world.until(lambda: len(self._asked().alive()) >= count)

    def run(self, function: Callable[[], Any]) -> dict[str, Any]:
        """Call a function in every worker."""
        return {str(one.name): function() for one in self._asked().alive()}

    def scatter(self, value: Any, hash: bool) -> Future:
        """Send a value to a worker."""
        return self._asked().send(value)

    def submit(self, function: Callable[..., Any], *given: Any, pure: bool) -> Future:
        """Have a function called."""
        return self._asked().submit(function, *given)

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """Fetch values."""
        return [self._asked().fetch(one) for one in futures]

    def as_current(self) -> Any:
        """Do nothing."""
        return nullcontext()

    def close(self, timeout: float) -> None:
        """Leave."""
        self._scheduler = 0


def wait(world: World, futures: Sequence[Future], timeout: float) -> None:
    """Do as `distributed.wait`: an error if one was cancelled."""
    world.until(lambda: all(one.state in ("done", "failed", "gone") for one in futures), timeout)
    if any(one.state == "gone" for one in futures):
        raise CancelledError
