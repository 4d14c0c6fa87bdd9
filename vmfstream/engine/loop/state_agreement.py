"""Check that the saved states of a run file agree with its rows: what a run goes on from, with what it has told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vmfstream.engine.loop.saved_state import checked_state
from vmfstream.records import Arrays
from vmfstream.runfile.verification import ToldByRows, stored_states

_MESSAGES = "{:,} documents and {:,} rejected messages"


def state_problems(path: Path) -> Iterator[str]:
    """Say in what the saved states of the run file at ``path`` do not agree with its rows; nothing if they do.

    Raises
    ------
    InputError
        If a state cannot be read, or is damaged.
    """
    states, rows = stored_states(path)
    now, before = (
        {name: array for part in parts for name, array in states.get(part, {}).items()}
        for parts in (("open", "slice"), ("open_before", "slice_before"))
    )
    for state in (before, now):
        with checked_state(state):
            pass
    if "engine.counters" in before and rows.before is not None:
        told = tuple(before["engine.counters"][3:5].tolist())
        if told != rows.before:
            yield (
                f"the state from before the newest slice ended knows {_MESSAGES.format(*told)}, the epochs until then "
                f"have {_MESSAGES.format(*rows.before)}"
            )
    if "engine.counters" in now:
        yield from _position_problems(now, rows)
        yield from _topic_problems(now, rows)
        yield from _story_problems(now, rows)
        yield from _sample_problems(now, rows)


def _position_problems(state: Arrays, rows: ToldByRows) -> Iterator[str]:
    index, documents, _, *told = state["engine.counters"].tolist()
    if tuple(told) != rows.counts:
        yield f"the saved state knows {_MESSAGES.format(*told)}, the epochs have {_MESSAGES.format(*rows.counts)}"
    elif documents != (known := rows.in_slice.get(index, 0)):
        yield f"the saved state knows {documents:,} documents of the open slice, the epochs have {known:,}"
    if rows.newest is not None and index <= rows.newest:
        yield f"the saved state goes on with slice {index}, but slice {rows.newest} is closed"


def _topic_problems(state: Arrays, rows: ToldByRows) -> Iterator[str]:
    if "ids" not in state:
        return
    sizes = zip(state["window.index"].tolist(), state["window.sizes"].tolist(), strict=True)
    if more := [index for index, size in sizes if size > rows.closed.get(index, -1)]:
        yield f"the saved state has documents of slice {more[0]} that this slice has not"
    if rows.topics and sorted(state["ids"].tolist()) != rows.topics:
        yield "the saved state has other topics than the newest slice"
    if rows.largest >= (known := int(state["counters"][0])):
        yield f"there is a topic {rows.largest}, but the saved state has given numbers below {known} only"


def _story_problems(state: Arrays, rows: ToldByRows) -> Iterator[str]:
    if "stories.book.ids" in state:
        shown = state["stories.book.shown"]
        ids, sizes = (state[f"stories.book.{name}"][shown].tolist() for name in ("ids", "size"))
        if dict(zip(ids, sizes, strict=True)) != rows.stories:
            yield "the saved state has other stories, or other numbers of their documents, than the table story"


def _sample_problems(state: Arrays, rows: ToldByRows) -> Iterator[str]:
    if "sample.room" not in state:
        return
    keys, at, known = state["sample.keys"], 0, dict(rows.sample)
    for index, size in state["sample.slices"].reshape(-1, 2).tolist():
        # keys are hashes of offsets, which come again where a topic of Kafka was made again
        if set(keys[at : at + size].tolist()) != set(known.pop(index, [])):
            yield "the saved state has other sampled documents than the table sample"
            return
        at += size
    # of the open slice those are still in the table that will leave it at its end
    found = {key for some in known.values() for key in some}
    if not found.issuperset(state.get("sample.open", keys[:0]).tolist()):
        yield "the saved state has other sampled documents than the table sample"
