"""The page of a reproduced paper in a real browser: figures fill their places, nothing is fetched or complained of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vmfstream.replay.papers.page import write_page
from vmfstream.replay.papers.shown import Axes, Cell, Series, Shown, Table

pytestmark = pytest.mark.browser

CURVES = (
    Series("soft </script>", (2, 3, 4), (0.1, 0.5, 0.4), spread=(0.1, 0.1, 0.2)),
    Series("hard", (2, 3), (0.2, 0.3)),
)
PRINTED = Series("hard", (3,), (0.35,), "printed")
SHOWN = (
    Shown(
        "figure2",
        "Curves",
        (Table("Wide", tuple(Cell("a row", f"a long name of column {i}", 0.5, 0.25, 0.1) for i in range(9))),),
        tuple(Axes(name, "clusters", "nats", (*CURVES, PRINTED), (("most", 1.0),)) for name in ("one", "two", "three")),
    ),
    Shown("figure1", "Axes", (), (Axes("points", "x", "y", (Series("all", (0, 1), (1, 0), "points"),), square=True),)),
)


@pytest.fixture
def page(chromium: Any, tmp_path: Path) -> Any:
    path = tmp_path / "paper.html"
    write_page(path, "A paper", "made by a test", SHOWN)
    chromium.get("about:blank")
    chromium.get_log("browser")
    return chromium, path.as_uri()


@pytest.mark.parametrize("width", [400, 1280])
def test_every_figure_fills_its_place(page: Any, width: int) -> None:
    driver, address = page
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(address)
    widths = driver.execute_script(
        "return [...document.querySelectorAll('.panels > div')]"
        ".map(e => [e.clientWidth, e.querySelector('svg.main-svg').clientWidth])"
    )
    assert len(widths) == 4
    assert all(place == drawn > 300 for place, drawn in widths), widths
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    titles = driver.execute_script("return [...document.querySelectorAll('.gtitle')].map(e => e.textContent)")
    assert titles == ["one", "two", "three", "points"]
    legend = driver.execute_script("return document.querySelector('.legend').textContent")
    assert "soft </script>" in legend
    assert "hollow: the printed value" in legend
    assert driver.get_log("browser") == []
