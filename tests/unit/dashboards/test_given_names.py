"""Names that people gave to topics, wherever these are shown; what was decided by hand, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.unit.dashboards.fakes import FakeRows, gazette
from tests.unit.dashboards.test_export import _Parser, data_of, unpacked
from tests.unit.dashboards.test_lineage import with_events
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.topic_names import topic_name
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.changes.sentences import what_changed
from vmfstream.dashboards.views.lineage import panel as lineage
from vmfstream.dashboards.views.river.view import RiverView

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e $x$"


class Named(FakeRows):
    """A gazette whose topics 1 and 2 have names, and whose topic 2 is pinned."""

    def topic_names(self) -> dict[int, str]:
        return {1: HOSTILE, 2: "Harbour news"}

    def pinned_topics(self) -> NDArray[np.int64]:
        return np.array([2])


def named(slices: int = 8, topics: int = 4) -> Named:
    return Named(**vars(gazette(slices=slices, topics=topics, settling=0)))


def by_hand(events: list[tuple[int, str, int, int, float]], rows: Any) -> Any:
    changed = with_events(rows, events)
    frame = replace(changed.event_frame, decision=np.arange(len(events)) + 1)
    return replace(changed, event_frame=frame)


def test_a_name_takes_the_place_of_words() -> None:
    rows = CachedRows(named())
    history = history_of(rows, "filtered")
    t = {int(topic): column for column, topic in enumerate(history.topic)}
    assert topic_name(history, 7, t[2]) == topic_name(history, 0, t[2], 1) == "Harbour news"
    assert topic_name(history, 7, t[3]) != ""
    assert "\u202e" not in topic_name(history, 7, t[1])
    frame = RiverView().frame(rows, Selection(reading="filtered"))
    drawn = RiverView().drawing(frame, Size(1240, 486), "light")
    texts = [text for trace in drawn["data"] for text in trace.get("text", ()) if isinstance(text, str)]
    assert any("Harbour" in text for text in texts)


def test_a_page_holds_names_as_text_and_says_which_topics_are_pinned() -> None:
    text = unpacked(build_page(named())[0])
    data = data_of(text)
    assert data["given"] == {"1": "</script><img src=x onerror=alert(1)> $x$", "2": "Harbour news"}
    assert data["pinned"] == [2]
    parser = _Parser()
    parser.feed(text)
    assert parser.scripts == 6
    assert parser.images == 0


def test_what_people_decided_is_said_to_be_by_hand() -> None:
    events = [(6, "merged", 3, 2, 48.6), (7, "split", 2, 3, 12.0), (7, "ended", 1, -1, 0.0)]
    rows = CachedRows(by_hand(events, named()))
    said = [str(change) for change in what_changed(rows, "filtered", since=5).changes]
    assert any("was merged into Harbour news by hand in" in one for one in said)
    assert any("was split off from Harbour news by hand in" in one and "12 recent documents" in one for one in said)
    assert any(one.startswith("</script>") and "was ended by hand in" in one for one in said)
    assert lineage.columns(rows, history_of(rows, "filtered"))["filtered"]["events"][0] == [6, "merged", 3, 2, 49, 1]


def test_what_the_tracker_found_is_not() -> None:
    rows = CachedRows(with_events(named(), [(6, "merged", 3, 2, 48.6)]))
    assert not any("by hand" in str(change) for change in what_changed(rows, "filtered", since=5).changes)
