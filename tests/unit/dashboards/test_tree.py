"""The tree: which snapshot a date sees, lasting order, areas at the date, colours, words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.test_views import HOSTILE
from tests.unit.dashboards.trees import STRANGER, with_trees
from vmfstream.dashboards.looks.theme import repaint, theme
from vmfstream.dashboards.panels import PageParts
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.similarity import order_by_similarity
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.tree import panel as tree
from vmfstream.dashboards.views.tree.hierarchy import TreeFrame, trees
from vmfstream.dashboards.views.tree.view import ROOT, TreeView

WIDE = Size(1240, 0)


def run_file(made: dict[int, Any] | None = None, **size: Any) -> CachedRows:
    groups = {6: [[0, 1], [2, 3, STRANGER]], 9: [[3, 2], [1], [0, STRANGER]]} if made is None else made
    return CachedRows(with_trees(gazette(**{"slices": 12, "topics": 4, "settling": 0} | size), groups))


def frame(rows: CachedRows, **chosen: Any) -> TreeFrame:
    return TreeView().frame(rows, Selection(**{"reading": "smoothed"} | chosen))


def treemap(found: TreeFrame) -> dict[str, Any]:
    trace: dict[str, Any] = TreeView().drawing(found, WIDE, "light")["data"][0]
    return trace


def test_the_date_sees_the_newest_tree_before_it_or_else_the_first() -> None:
    rows = run_file()
    assert [frame(rows, date=d).made for d in (0, 5, 6, 8, 9, 11)] == [6, 6, 6, 6, 9, 9]
    assert frame(rows).made == 9
    assert (frame(rows).date, frame(rows, date=3).date) == (11, 3)


def test_only_trees_count_and_the_newest_of_a_slice() -> None:
    made = {6: [[0, 1], [2, 3]], 8: [[0, 1, 2, 3]]}
    rows = CachedRows(with_trees(gazette(slices=12, topics=4), made, kinds=["tree", "flat"]))
    assert trees(rows, history_of(rows, "filtered")) == [(0, 6)]
    assert frame(CachedRows(gazette(slices=12, topics=4))).made is None


def test_areas_are_shares_at_the_cursor_and_strangers_keep_theirs() -> None:
    rows = run_file()
    history = history_of(rows, "smoothed")
    for date in (6, 8):
        found = frame(rows, date=date)
        for k in np.flatnonzero(found.leaf):
            topic = int(found.topic[k])
            wanted = history.share[date, history.position(topic)] if topic >= 0 else 1 / 5
            assert found.area[k] == pytest.approx(wanted)
        assert (found.area[~found.leaf] == 0).all()


def test_a_date_without_documents_shows_what_was_calculated() -> None:
    found = frame(run_file(empty=(8,)), date=8)
    np.testing.assert_allclose(found.area[found.leaf], 1 / 5)


def test_a_topic_that_is_not_there_takes_no_room() -> None:
    rows = CachedRows(with_trees(gazette(), {20: [[0, 1], [7, 20, 21]]}))
    late = frame(rows, date=25)
    assert late.area[late.topic == 7] == 0
    assert late.area[late.topic == 21] > 0
    assert late.words[int(np.flatnonzero(late.topic == 7)[0])][0].endswith("leaf2")


def test_all_trees_share_one_depth_first_order() -> None:
    rows = run_file()
    history = history_of(rows, "smoothed")
    river = {int(history.topic[t]): k for k, t in enumerate(order_by_similarity(history))}
    for date in (6, 9):
        found = frame(rows, date=date)
        middles: dict[int, list[int]] = {}
        for k in np.flatnonzero(found.leaf):
            assert found.parent[k] < k
            if found.topic[k] >= 0:
                middles.setdefault(int(found.parent[k]), []).append(river[int(found.topic[k])])
        means = [np.mean(places) for places in middles.values()]
        assert means == sorted(means)
        assert all(places == sorted(places) for places in middles.values())


def test_the_single_node_on_top_is_the_root_of_the_drawing() -> None:
    found = frame(run_file())
    trace = treemap(found)
    assert trace["ids"][0] == ROOT
    assert trace["parents"].count(ROOT) == 3
    assert set(trace["parents"]) - {"", ROOT} <= set(trace["ids"])
    assert trace["labels"][0] == "all topics"
    np.testing.assert_allclose(trace["values"], [0, *found.area], rtol=1e-6)


def test_a_small_group_is_called_by_fewer_words() -> None:
    found = frame(run_file())
    groups = np.flatnonzero(~found.leaf)

    def words(width: int) -> list[int]:
        labels = TreeView().drawing(found, Size(width, 480), "light")["data"][0]["labels"]
        return [len(labels[1 + k].split()) for k in groups]

    assert words(1240) == [3] * groups.size
    assert words(362) == [2, 3, 3]
    assert words(100) == [1, 2, 2]


def test_a_group_has_the_faded_colour_of_its_largest_topic() -> None:
    made = {6: [[0, 1], [2, STRANGER]]}
    rows = with_trees(gazette(slices=12, topics=4, settling=0), made)
    assert rows.snapshot_frames is not None
    rows.snapshot_frames[1].share[:2] = 0.1, 0.4
    found = frame(CachedRows(rows))
    colours = dict(zip(treemap(found)["ids"], treemap(found)["marker"]["colors"], strict=True))
    light = theme("light")
    for k, topic in enumerate(found.topic):
        if found.leaf[k]:
            assert colours[str(k)] == (light.slot(int(topic)).line if topic >= 0 else light.rule)
            mine = 1 if topic in (0, 1) else 2
            assert colours[str(found.parent[k])] == light.slot(mine).faded


def test_words_of_live_topics_are_those_of_the_date() -> None:
    rows = run_file()
    history = history_of(rows, "smoothed")
    found = frame(rows, date=7)
    for k, topic in enumerate(found.topic):
        if topic >= 0:
            assert found.words[k][0] == history.strongest(7, int(topic), 1)[0]
        assert 1 <= len(found.words[k]) <= 3
    labels = treemap(found)["labels"][1:]
    assert all(("<br>" in label) == bool(leaf) for label, leaf in zip(labels, found.leaf, strict=True))


def test_words_of_strangers_bring_no_tags() -> None:
    words = {0: HOSTILE[0], 1: HOSTILE[1], 2: ["<b>", "</script>"], 3: ["a" * 300]}
    base = gazette(slices=6, topics=2, words=HOSTILE, settling=0)
    figure = TreeView().figure(
        frame(CachedRows(with_trees(base, {3: [[0, STRANGER], [1]]}, words=words))), WIDE, "light"
    )
    for label in figure.data[0].labels:
        assert "<" not in label.replace("<br>", "")
        assert len(label) < 90


def test_every_colour_is_in_the_table_and_repaints() -> None:
    found = frame(run_file())
    light, dark = (TreeView().drawing(found, WIDE, shade)["data"][0]["marker"] for shade in ("light", "dark"))
    assert set(light["colors"]) <= set(theme("light").tones())
    assert repaint(light["colors"]) == dark["colors"]


def test_without_a_tree_the_panel_says_how_to_make_one() -> None:
    def parts(rows: CachedRows) -> PageParts:
        return PageParts(rows, history_of(rows, "filtered"), {}, True, False, ("documents",), ())

    bare = tree.section(parts(CachedRows(gazette(slices=4, topics=2))))
    assert "vmfstream snapshot" in bare
    assert '<p id="tree-none">' in bare
    assert '<p id="tree-none" hidden>' in tree.section(parts(run_file()))
    assert tree.columns(CachedRows(gazette(slices=4, topics=2)), history_of(CachedRows(gazette()), "filtered")) == {
        "made": []
    }


def test_keys_and_columns_name_the_same_trees() -> None:
    rows = run_file()
    assert tree.keys(rows, []) == ["tree/0", "tree/1"]
    assert tree.columns(rows, history_of(rows, "smoothed")) == {"made": [[0, 6], [1, 9]]}
    figure = tree.draw(rows, "tree/1")
    assert figure["layout"]["meta"]["topic"].count(-1) == 4
    assert figure["layout"]["uniformtext"] == {"minsize": 10, "mode": "hide"}


def test_small_cells_get_fewer_words() -> None:
    found = frame(run_file())

    def lines(size: Size) -> list[int]:
        labels = TreeView().drawing(found, size, "light")["data"][0]["labels"][1:]
        return [label.count("<br>") + 1 for label, leaf in zip(labels, found.leaf, strict=True) if leaf]

    assert set(lines(WIDE)) == {3}
    assert set(lines(Size(60, 60))) == {1}
    assert lines(Size(200, 120)) != lines(WIDE)
