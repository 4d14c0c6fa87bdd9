"""The rules of axe-core find nothing against any view of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.system.browser.driving import click, js, opened, until
from vmfstream.dashboards import TABS

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

AXE = Path(__file__).parents[3] / "node_modules/axe-core/axe.min.js"
FOUND = """
const [where, done] = arguments;
axe.run(where, { resultTypes: ["violations"] }).then(
  ({ violations }) => done(violations.map((v) => [v.impact, v.id, v.nodes[0].html.slice(0, 300), v.nodes.length])),
  (error) => done([["error", String(error), "", 0]]),
);
"""


def violations(page: Any, where: str) -> list[list[Any]]:
    """Return impact, rule, first element and number of elements of what axe-core finds below a selector."""
    found: list[list[Any]] = page.execute_async_script(FOUND, where)
    return found


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_all_views_pass_the_rules_of_axe(chromium: Any, pages: dict[str, Path], width: int, dark: bool) -> None:
    if not AXE.exists():
        pytest.skip(f"{AXE} comes with make lint-js, which needs npm")
    page = opened(chromium, pages["years"].as_uri(), width=width, dark=dark)
    js(page, AXE.read_text(encoding="utf-8"))
    assert violations(page, "html") == []
    for tab in TABS:
        click(page, f"#tab-{tab}")
        assert until(page, f"document.querySelector('#tab-{tab}[aria-selected=true]')")
        assert violations(page, f"#panel-{tab}") == [], tab
    js(page, f"document.querySelector('#panel-{tab}').append(document.createElement('img'))")
    assert [rule for _, rule, *_ in violations(page, f"#panel-{tab}")] == ["image-alt"]
