"""The live page beside a running tracker: what is new appears, but not under somebody who reads."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.system.browser.conftest import closed
from tests.system.browser.driving import click, date, js, press, until
from vmfstream.dashboards.app import Server
from vmfstream.dashboards.looks.phrases import warm_up_sentence
from vmfstream.dashboards.rows.merged import rows_of_page
from vmfstream.runfile.queries import Reader

pytest.importorskip("dash")  # the live page is an extra
pytestmark = pytest.mark.browser

STORIES = ("harbour crane ship strike quay", "election vote mayor ballot count", "football cup goal league derby")


class Tracker:
    """A tracker that reads documents from its standard input, in a process of its own."""

    def __init__(self, run_file: Path) -> None:
        self.run_file = run_file
        options = ["--slices", "year", "--topics", "3", "--linger", "0.2", "--window", "200", "--out", str(run_file)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vmfstream", "run", "-", *options], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )

    def say(self, year: int, count: int = 60) -> None:
        """Write documents of a year."""
        assert self.process.stdin is not None
        for k in range(count):
            story = STORIES[k % 3].split()
            text = " ".join([*story[: 3 + k % 3], f"word{(year + k) % 7}", f"year{year}"])
            line = {"id": f"{year}-{k}", "time": f"{year}-03-{1 + k % 27:02d}", "title": text.title(), "text": text}
            self.process.stdin.write((json.dumps(line) + "\n").encode())
        self.process.stdin.flush()

    def end(self) -> None:
        """Close its input and wait until it has finished."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def page(chromium: Any, tmp_path: Path) -> Iterator[tuple[Any, Tracker]]:
    """Open the page of a log that does not exist yet, and begin the run."""
    run_file = tmp_path / "run.duckdb"
    server = Server(run_file, port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    closed(chromium, False)
    metrics = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    chromium.get("about:blank")
    chromium.get_log("browser")
    chromium.get(server.url)
    tracker = Tracker(run_file)
    yield chromium, tracker
    errors = chromium.get_log("browser")
    chromium.get("about:blank")
    tracker.process.kill()
    tracker.process.communicate()
    server.stop()
    thread.join()
    closed(chromium, True)
    assert errors == []


def test_a_page_lives_with_its_run(page: tuple[Any, Tracker]) -> None:
    chromium, tracker = page
    shows = "document.querySelector('#time output')?.textContent === '{}'"
    assert until(chromium, "document.querySelector('#waiting').textContent.includes('no run file')")
    for year in (2001, 2002, 2003):
        tracker.say(year)
    assert until(chromium, shows.format(2002))  # the first page comes by itself
    assert until(chromium, "document.querySelector('#badge.live')")

    # following: a new slice appears, the cursor moves on
    assert until(chromium, "!document.querySelector('#so-far').hidden")
    assert js(chromium, "return document.querySelector('#so-far').textContent").startswith("2003 so far: ")
    assert until(chromium, "document.querySelectorAll('#river .open rect').length === 3")
    tracker.say(2004)
    assert until(chromium, shows.format(2003))

    # reading: nothing is redrawn, the new slice waits behind a button
    press(chromium, "ArrowLeft")
    assert date(chromium) == "2002"
    js(chromium, "window.mark = document.querySelector('#river .main-svg path.js-fill')")
    tracker.say(2005)
    assert until(chromium, "!document.querySelector('#pill').hidden")
    assert js(chromium, "return document.querySelector('#pill').textContent") == "1 new year: show"
    assert js(chromium, "return window.mark.isConnected")
    assert date(chromium) == "2002"
    click(chromium, "#pill")
    assert until(chromium, shows.format(2004))
    assert js(chromium, "return document.querySelector('#pill').hidden")

    # a pointer that rests on a chart is a reader too; the End key returns to following
    js(
        chromium,
        "window.mark = document.querySelector('#river .main-svg path.js-fill');"
        "document.querySelector('#river').dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))",
    )
    tracker.say(2006)
    assert until(chromium, "!document.querySelector('#pill').hidden")
    assert js(chromium, "return window.mark.isConnected")
    press(chromium, "End")
    assert until(chromium, shows.format(2005))

    # the end of the run is said, and its last smoothed slices only on request
    tracker.end()
    assert until(chromium, "document.querySelector('#badge').textContent.startsWith('finished')")
    assert js(chromium, "return document.querySelectorAll('.failed').length") == 0


def test_sentences_and_switches_follow_the_run(page: tuple[Any, Tracker]) -> None:
    """The river's description and its note on the warm-up, and the switches to the reading in hindsight."""
    chromium, tracker = page
    shows = "document.querySelector('#time output')?.textContent === '{}'"
    late = "document.querySelector('#reading [data-value=smoothed]')"
    both = "document.querySelector('#form [data-value=both]')"
    for year in (2001, 2002, 2003):
        tracker.say(year)
    assert until(chromium, shows.format(2002))
    assert js(chromium, f"return [{late}.disabled, {both}.hidden]") == [True, True]
    assert "dates are smoothed when they leave the window" in js(chromium, f"return {late}.title")
    for year in range(2004, 2010):
        tracker.say(year)
    assert until(chromium, shows.format(2008))
    assert until(chromium, "document.querySelector('#river-words').textContent.includes('2001–2008, 480 documents')")
    slices = Reader(tracker.run_file).slices()
    provisional = [label for label, early in zip(slices.label, slices.warm_up, strict=True) if early]
    assert js(chromium, "return document.querySelector('#warm-up').textContent") == warm_up_sentence(provisional)
    assert until(chromium, f"!{late}.disabled && !{both}.hidden")
    click(chromium, "#reading [data-value=smoothed]")
    assert js(chromium, f"return [{late}.title, {late}.getAttribute('aria-pressed')]") == ["smoothed", "true"]
    assert js(chromium, "return document.querySelectorAll('.failed').length") == 0


def decide(tracker: Tracker, *wanted: str) -> None:
    """Correct the run that is going on, as its reader would."""
    command = [sys.executable, "-m", "vmfstream", "topic", str(tracker.run_file), *wanted]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert f"is applied at the next end of a slice, by process {tracker.process.pid}" in said


def test_what_people_decide_is_seen_when_its_slice_ends(page: tuple[Any, Tracker]) -> None:
    chromium, tracker = page
    for year in (2001, 2002, 2003):
        tracker.say(year)
    assert until(chromium, "document.querySelector('#badge.live')")
    named = "document.body.innerText.includes('Quayside affairs')"
    first, second = np.unique(Reader(tracker.run_file).topics("filtered").topic)[:2].tolist()
    decide(tracker, "name", str(first), "Quayside affairs")
    assert not js(chromium, f"return {named}")  # its slice has not ended
    tracker.say(2004)
    assert until(chromium, named)
    decide(tracker, "unname", str(first))
    decide(tracker, "merge", str(second), str(first))
    tracker.say(2005)
    assert until(chromium, "document.querySelector('#changes').textContent.includes('by hand')")
    assert until(chromium, f"!{named}")


def test_dates_of_several_slices_keep_the_one_compared_with(
    page: tuple[Any, Tracker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_of_page, "__defaults__", (4,))  # dates of a page
    chromium, tracker = page
    shows = "document.querySelector('#time output')?.textContent === '{}'"
    compared = "new URLSearchParams(location.search).get('o')"
    for year in range(2001, 2007):
        tracker.say(year)
    assert until(chromium, shows.format(2005))
    chromium.get(chromium.current_url.split("?")[0] + "?o=2003")  # the date of 2002 and 2003
    assert until(chromium, shows.format(2005))
    tracker.say(2007)
    assert until(chromium, "!document.querySelector('#pill').hidden")
    click(chromium, "#pill")
    assert until(chromium, shows.format(2006))
    assert js(chromium, f"return {compared}") == "2004"  # of 2003 and 2004
    assert js(chromium, "return document.querySelector('#compare').textContent.includes('2004')")
    assert js(chromium, "return document.querySelectorAll('.failed').length") == 0


def test_an_error_of_one_view_stays_in_its_panel(page: tuple[Any, Tracker]) -> None:
    chromium, tracker = page
    for year in (2001, 2002, 2003):
        tracker.say(year)
    assert until(chromium, "document.querySelector('#words .main-svg')")
    js(chromium, "document.querySelector('#words .plot').remove()")
    before = js(chromium, "return document.querySelector('#topic-name').textContent")
    press(chromium, "ArrowDown")
    assert until(chromium, "document.querySelector('[data-view=words] > .failed')")
    assert until(chromium, f"document.querySelector('#topic-name').textContent !== {before!r}")
    assert [entry["source"] for entry in chromium.get_log("browser")] == ["console-api"]  # said there too


def test_a_killed_tracker_is_said(page: tuple[Any, Tracker]) -> None:
    chromium, tracker = page
    for year in (2001, 2002, 2003):
        tracker.say(year)
    assert until(chromium, "document.querySelector('#badge.live')")
    tracker.process.kill()
    tracker.process.wait()
    assert until(chromium, "document.querySelector('#badge').textContent.startsWith('stopped')")


def test_a_server_that_does_not_answer_is_said(page: tuple[Any, Tracker]) -> None:
    chromium, tracker = page
    for year in (2001, 2002, 2003):
        tracker.say(year)
    assert until(chromium, "document.querySelector('#badge.live')")
    closed(chromium, True)
    js(chromium, "window.clock = performance.now.bind(performance); performance.now = () => clock() + 17000")
    js(chromium, "Object.defineProperty(document, 'hidden', {configurable: true, value: true})")
    js(chromium, "document.querySelector('#badge').textContent = ''")
    assert until(chromium, "document.querySelector('#badge').textContent !== ''")
    said = str(js(chromium, "return document.querySelector('#badge').textContent"))
    assert said.startswith(("live", "waiting"))  # a hidden page asks rarely
    js(chromium, "delete document.hidden")
    assert until(chromium, "document.querySelector('#badge').textContent.startsWith('no answer since ')")
    since = str(js(chromium, "return document.querySelector('#badge').textContent"))[-5:]
    assert since in {time.strftime("%H:%M", time.localtime(time.time() - ago)) for ago in range(17, 180)}
    js(chromium, "performance.now = clock")
    closed(chromium, False)
    assert until(chromium, "/^(live|waiting)/.test(document.querySelector('#badge').textContent)")
    provoked = ("ERR_INTERNET_DISCONNECTED", "the server did not respond")  # Dash says the latter if it asked meanwhile
    found = [one["message"] for one in chromium.get_log("browser")]
    assert [one for one in found if not any(said in one for said in provoked)] == []
