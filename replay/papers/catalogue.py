"""List the papers with their tables and figures by name, and compute one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vmfstream.errors import InputError
from vmfstream.replay.papers.shown import Shown
from vmfstream.replay.papers.work import Done, Task, Workers


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to compute: different starts of each fit, and the seed of the first."""

    restarts: int = 10
    seed: int = 0

    def seeds(self) -> range:
        """Return a seed for every restart."""
        return range(self.seed, self.seed + self.restarts)


@dataclass(frozen=True, slots=True, eq=False)
class Exhibit:
    """A table or figure: the tasks it needs, and what their results show."""

    plan: Callable[[Effort], Sequence[Task]]
    show: Callable[[Done], Shown]


@dataclass(frozen=True, slots=True, eq=False)
class Paper:
    """A paper and what of it is recomputed, by the name the paper gives it, such as ``"table1"``."""

    name: str
    title: str
    exhibits: dict[str, Exhibit]

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Return the names asked for, all for none.

        Raises
        ------
        InputError
            If one is unknown; the message lists those that are known.
        """
        wanted = [name.lower() for name in names] or list(self.exhibits)
        for name in wanted:
            if name not in self.exhibits:
                raise InputError(f"{self.name} has no {name!r} here: known are {', '.join(self.exhibits)}")
        return wanted


def papers() -> dict[str, Paper]:
    """Return the papers that can be reproduced, by name."""
    from vmfstream.replay.papers import banerjee, gopal_yang, li, nguyen, sra, streams

    every = (banerjee.PAPER, sra.PAPER, gopal_yang.PAPER, li.PAPER, nguyen.PAPER, streams.PAPER)
    return {paper.name: paper for paper in every}


def find_paper(name: str) -> Paper:
    """Return a paper by name.

    Raises
    ------
    InputError
        If it is unknown; the message lists those that are known.
    """
    known = papers()
    if name.lower() not in known:
        raise InputError(f"unknown paper {name!r}: known are {', '.join(known)}")
    return known[name.lower()]


def recompute(
    paper: Paper,
    names: Sequence[str],
    effort: Effort,
    workers: Workers,
    observe: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Iterator[Shown]:
    """Compute tables and figures one after the other.

    Parameters
    ----------
    paper : Paper
    names : names of its exhibits, all if there are none
    effort : Effort
    workers : Workers
    observe : called with the exhibit's name, its finished tasks and all of them

    Raises
    ------
    InputError
        If a name is unknown, or the data of an exhibit that was asked for by name is missing. If all are asked for,
        one without data shows a note that says so.
    """
    for name in paper.chosen(names):
        exhibit = paper.exhibits[name]

        def follow(done: int, total: int, name: str = name) -> None:
            observe(name, done, total)

        try:
            done = workers.run(exhibit.plan(effort), follow)
        except InputError as error:
            if names:
                raise
            yield Shown(name, "Left out", notes=(f"{error}.",))
            continue
        yield exhibit.show(done)
