"""The badge of the live page: its script alone, by Node.js, without a browser."""

from __future__ import annotations

from typing import Any

from tests.unit.dashboards.node import called, needs_node
from vmfstream.dashboards.looks import texts

AT = 1_000_000_000  # 01:46:40, the clock of the server at its last answer
NEWS = {"age": 5.0, "at": AT, "busy": None, "finished": False, "problem": "", "usual": 4.0, "writing": True}

# what differs from NEWS, seconds without an answer, whether the page is hidden; kind and text
CASES: list[tuple[dict[str, Any], float, bool, str, str]] = [
    ({}, 0, False, "live", "live, updated 5 s ago"),
    ({}, 3, False, "live", "live, updated 8 s ago"),  # it grows between answers
    ({"age": None}, 0, False, "live", "live, updated 0 s ago"),
    ({"age": None}, 14, False, "live", "live, updated 0 s ago"),
    # late: beyond three times what is usual, and ten seconds
    ({"age": 12.0}, 0, False, "live", "live, updated 12 s ago"),
    ({"age": 12.0}, 1, False, "waiting", "waiting, updated 13 s ago"),
    ({"age": 10.0, "usual": 1.0}, 0, False, "live", "live, updated 10 s ago"),
    ({"age": 11.0, "usual": 1.0}, 0, False, "waiting", "waiting, updated 11 s ago"),
    ({"age": 11.0, "usual": 0.0}, 0, False, "waiting", "waiting, updated 11 s ago"),
    ({"age": 119.0, "usual": 40.0}, 0, False, "live", "live, updated 2 min ago"),
    ({"age": 9000.0, "usual": None}, 0, False, "live", "live, updated 3 h ago"),  # nothing is usual yet
    # seconds, minutes, hours
    ({"age": 59.0, "usual": None}, 0, False, "live", "live, updated 59 s ago"),
    ({"age": 60.0, "usual": None}, 0, False, "live", "live, updated 1 min ago"),
    ({"age": 3540.0, "usual": None}, 0, False, "live", "live, updated 59 min ago"),
    ({"age": 3600.0, "usual": None}, 0, False, "live", "live, updated 1 h ago"),
    # no answer, of a hidden page later
    ({}, 15, False, "waiting", "waiting, updated 20 s ago"),
    ({"problem": "no run file"}, 16, False, "stopped", "no answer since 01:46"),
    ({}, 30, True, "waiting", "waiting, updated 35 s ago"),
    ({}, 31, True, "stopped", "no answer since 01:46"),
    ({}, 600, False, "stopped", "no answer since 01:46"),
    # what else there is to say, what is worse first
    ({"problem": "no run file", "busy": AT - 60, "finished": True}, 0, False, "stopped", "no run file"),
    ({"busy": AT - 31, "finished": True}, 0, False, "waiting", "run file locked since 01:46"),
    ({"busy": AT - 3600}, 0, False, "waiting", "run file locked since 00:46"),
    ({"busy": AT - 30}, 0, False, "live", "live, updated 5 s ago"),
    ({"age": 3600.0, "finished": True, "writing": True}, 5, False, "stopped", "finished 00:46"),
    ({"age": 7200.0, "finished": True, "writing": False}, 0, False, "stopped", "finished 23:46"),
    ({"age": 7200.0, "writing": False}, 5, False, "stopped", "stopped 23:46"),
    ({"age": 7235.0, "writing": False}, 10, False, "stopped", "stopped 23:46"),  # 5 seconds after the full minute
    ({"age": None, "writing": False}, 0, False, "stopped", "stopped "),
]


@needs_node
def test_the_badge_tells_how_a_run_fares_and_how_old_its_data_are() -> None:
    calls = [(NEWS | differs, silent, AT + silent, hidden, texts.PAGE) for differs, silent, hidden, _, _ in CASES]
    for case, told in zip(CASES, called("badge.js", "badgeOf", calls), strict=True):
        assert told == list(case[3:]), case
