"""The policy of a page lets its own scripts run and no others, that of an exported one also no strange styles."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.system.browser.conftest import closed
from tests.system.browser.driving import js, until
from tests.unit.frozen.frozen_runs import followed
from vmfstream.dashboards.app import Server

pytestmark = pytest.mark.browser

_INJECTED = """
const script = document.createElement("script");
script.textContent = "window.injected = 1";
document.body.append(script);
const style = document.createElement("style");
style.textContent = "h1 { letter-spacing: 99px }";
document.head.append(style);
document.body.insertAdjacentHTML("beforeend", '<img src="data:," onerror="window.injected = 2">');
"""


def _only_its_own(chromium: Any, *, styles: bool) -> None:
    """Assert that a page has said nothing so far, and that what is put into it does not run."""
    assert [entry["message"] for entry in chromium.get_log("browser")] == []
    chromium.execute_script(_INJECTED)
    assert until(chromium, "document.querySelector('img[src=\"data:,\"]').complete")
    assert js(chromium, "return window.injected") is None
    spaced = js(chromium, "return getComputedStyle(document.querySelector('h1')).letterSpacing")
    assert (spaced == "99px") == (not styles)
    said = [entry["message"] for entry in chromium.get_log("browser")]
    assert len([one for one in said if "Content Security Policy" in one]) == len(said) == 2 + styles


def test_an_exported_page_runs_its_own_scripts_only(chromium: Any, pages: dict[str, Path]) -> None:
    closed(chromium, True)
    chromium.get("about:blank")
    chromium.get_log("browser")
    chromium.get(pages["quarters"].as_uri())
    assert until(chromium, "document.querySelector('#river .main-svg') !== null")
    _only_its_own(chromium, styles=True)


def test_a_live_page_runs_its_own_scripts_only(chromium: Any, tmp_path: Path) -> None:
    pytest.importorskip("dash")
    server = Server(followed(tmp_path / "run.duckdb"), port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    closed(chromium, False)
    try:
        chromium.get("about:blank")
        chromium.get_log("browser")
        chromium.get(server.url)
        assert until(chromium, "document.querySelector('#river .main-svg') !== null")
        _only_its_own(chromium, styles=False)
    finally:
        chromium.get("about:blank")
        server.stop()
        thread.join()
        closed(chromium, True)
