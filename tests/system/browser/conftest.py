"""A headless Chromium without network, and a page to open in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.unit.dashboards.fakes import gazette, replacing
from vmfstream.connectors.memory import MemorySource
from vmfstream.dashboards.export import build_page
from vmfstream.engine.run import RunSettings, follow
from vmfstream.records import Message
from vmfstream.replay.run import open_replay
from vmfstream.runfile.writer import RunFile

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return exported pages by name."""
    folder = tmp_path_factory.mktemp("pages")
    rows = {
        "quarters": gazette(),
        "years": gazette(slices=13, topics=8, settling=3),
        "filtered": gazette(slices=5, topics=4).without_smoothed(),
        "replaced": replacing(gazette(slices=10, topics=6, settling=5), topic=3, before=4, old=90),
    }
    out = {}
    for name, run_file in rows.items():
        out[name] = folder / f"{name}.html"
        out[name].write_text(build_page(run_file)[0], encoding="utf-8")
    return out


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return a driver for the whole session; every test opens its own page."""
    if CHROMIUM is None or DRIVER is None:
        pytest.fail("the browser tests need chromium and chromedriver on the path")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(110)  # a page answers when it is drawn; the driver's own patience is 120 s
    driver.execute_cdp_cmd("Network.enable", {})
    closed(driver, True)
    yield driver
    driver.quit()


def closed(driver: Any, offline: bool) -> None:
    """Close all network, or open what this machine itself serves."""
    speed = {"latency": 0, "downloadThroughput": 0 if offline else -1, "uploadThroughput": 0 if offline else -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": offline, **speed})


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return logs of every fourth document of real corpora by name."""
    folder = tmp_path_factory.mktemp("real")
    logs = {}
    for corpus, topics in (("nips-papers", 10), ("nyt", 12)):
        opened, logs[corpus], messages = open_replay(corpus), folder / f"{corpus}.duckdb", list[Message]()
        settings = RunSettings(
            title=opened.title,
            source=corpus,
            topics=topics,
            slices=opened.slices,
            seed=0,
            window=600,
            stop_words=" ".join(opened.stop_words),
        )
        with closing(opened.source) as source:
            while not source.exhausted:
                messages += source.poll(10_000, 0.0)
        few = MemorySource([message.value for message in messages[::4]])
        follow(few, opened.codec, RunFile(logs[corpus]), settings)
    return logs
