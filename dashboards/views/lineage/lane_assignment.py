"""Assignment of topics to lanes: related topics on adjacent lanes, short ones sharing a lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Life(NamedTuple):
    """A life from its first slice to its last; ``size`` decides among those that begin together."""

    first: int
    last: int
    size: float


class Link(NamedTuple):
    """A life that came out of another (``inwards`` false) or went into it, at a slice."""

    child: int
    parent: int
    slice: int
    inwards: bool


@dataclass(slots=True)
class _Lane:
    """The lives of one lane in order of time; a shared lane only takes in lives that have no relatives."""

    lives: list[int] = field(default_factory=list)


def family(links: Sequence[Link]) -> list[Link]:
    """Return at most one link per child, no circles: the earlier of two, as far as it can be kept."""
    kept: dict[int, Link] = {}
    for link in sorted(links, key=lambda k: (k.slice, k.child)):
        above: int | None = link.parent
        while above is not None and above != link.child:
            above = kept[above].parent if above in kept else None
        if link.child not in kept and above is None:
            kept[link.child] = link
    return list(kept.values())


def assign_lanes(lives: Sequence[Life], links: Sequence[Link], room: float) -> list[int]:
    """Give every life a lane, counted from the top.

    Parameters
    ----------
    lives : sequence of N lives
    links : sequence of Link
        Positions in ``lives``; children stand directly under their parent, the absorbed under the absorber.
    room : float
        Least number of slices between two lives on one lane.

    Returns
    -------
    list of N int
        Lanes by birth; a life without relatives may share the lane of one that was over ``room`` slices before.
    """
    kept = family(links)
    parent = {link.child: link for link in kept}
    children: dict[int, list[Link]] = {}
    for link in kept:
        children.setdefault(link.parent, []).append(link)

    def free(lane: _Lane, one: int) -> bool:
        return all(
            lives[other].last + room <= lives[one].first or lives[one].last + room <= lives[other].first
            for other in lane.lives
        )

    lanes: list[_Lane] = []
    strangers: list[_Lane] = []
    for root in sorted((k for k in range(len(lives)) if k not in parent), key=lambda k: _by_birth(lives, k)):
        if root in children:
            lanes += _kin(root, children, lives, free)
            continue
        lane = next((lane for lane in strangers if free(lane, root)), None)
        if lane is None:
            lane = _Lane()
            strangers.append(lane)
            lanes.append(lane)
        lane.lives.append(root)
    place = {one: y for y, lane in enumerate(lanes) for one in lane.lives}
    return [place[k] for k in range(len(lives))]


def _by_birth(lives: Sequence[Life], k: int) -> tuple[int, float, int]:
    return lives[k].first, -lives[k].size, k


def _kin(
    root: int, children: dict[int, list[Link]], lives: Sequence[Life], free: Callable[[_Lane, int], bool]
) -> list[_Lane]:
    """Return the lanes of a life and all that came out of it or went into it, from the top.

    No curve crosses a brother: of those that went in, who ended first stands nearest, and of those that came out, who
    came last. Brothers without children of their own share a lane if there is room.
    """
    own = _Lane([root])
    below: list[_Lane] = []
    shared: list[_Lane] = []
    for link in sorted(children.get(root, ()), key=lambda k: (not k.inwards, k.slice if k.inwards else -k.slice)):
        if link.child in children:
            below += _kin(link.child, children, lives, free)
            continue
        lane = next((lane for lane in shared if free(lane, link.child)), None)
        if lane is None:
            lane = _Lane()
            shared.append(lane)
            below.append(lane)
        lane.lives.append(link.child)
    return [own, *below]
