"""The Compose file, the alert rules and the Grafana dashboard name what there is: options, metrics, topics, files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
import yaml

from tests.contract import pages
from vmfstream.cli import app
from vmfstream.engine.loop.settings import Progress
from vmfstream.engine.observers.latency import Latency
from vmfstream.engine.observers.prometheus import Exposition

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "compose"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ALERTS = yaml.safe_load((FOLDER / "alerts.yml").read_text())
BOARD = json.loads((FOLDER / "grafana" / "vmfstream.json").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
OURS = [name for name, service in SERVICES.items() if "build" in service]


@pytest.fixture(scope="module")
def metrics() -> set[str]:
    """The names of all samples that a run with labels serves."""
    latency = Latency()
    latency.add(np.array([0.5]))
    with closing(Exposition(0, latency=latency)) as one:
        one(Progress(1, "2021", 5, 1, -1.0, finished=False, lag=3))
        return {sample.name for family in one.collect() for sample in family.samples}


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in RULES)
    yield from (target["expr"] for panel in BOARD["panels"] for target in panel["targets"])
    yield from (one["query"]["query"] for one in BOARD["templating"]["list"])


def test_every_metric_that_is_asked_for_is_served_and_every_one_is_shown(metrics: set[str]) -> None:
    named = {name for one in expressions() for name in re.findall(r"vmfstream_\w+", one)}
    assert named <= metrics, named - metrics
    shown = {
        name
        for panel in BOARD["panels"]
        for target in panel["targets"]
        for name in re.findall(r"vmfstream_\w+", target["expr"])
    }
    assert shown == metrics, metrics - shown


def test_every_alert_says_what_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "action"}
        assert all(text.endswith(".") or text.endswith("?") for text in rule["annotations"].values())
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "0m"))


def test_panels_do_not_overlap_and_ask_the_source_that_is_provisioned() -> None:
    (source,) = yaml.safe_load((FOLDER / "grafana" / "provisioning.yml").read_text())["datasources"]
    cells: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        mine = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not mine & cells, panel["title"]
        cells |= mine
        for one in [panel, *panel["targets"]]:
            assert one["datasource"] == {"type": source["type"], "uid": source["uid"]}
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


@pytest.mark.parametrize("service", OURS)
def test_every_command_and_option_exists(service: str) -> None:
    name, *words = SERVICES[service]["command"]
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    with command.make_context(name, list(words), resilient_parsing=False) as context:
        written = context.params["run_file" if name == "dashboard" else "out"]
        assert Path(written) == Path("/data/news.duckdb")


def test_services_volumes_files_ports_and_topics_fit_together() -> None:
    tracker = " ".join(SERVICES["tracker"]["command"])
    made = SERVICES["topics"]["command"][-1].split(" in ")[1].split(";")[0].split()
    assert sorted(re.findall(r"kafka://broker:9092/([\w-]+)", tracker)) == sorted(made)
    (job,) = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    (port,) = re.findall(r"--metrics-port=(\d+)", tracker)
    assert job["static_configs"][0]["targets"] == [f"tracker:{port}"]
    assert all(f'job="{job["job_name"]}"' in rule["expr"] for rule in RULES if rule["expr"].startswith("up"))
    assert f"127.0.0.1:{port}/healthz" in SERVICES["tracker"]["healthcheck"]["test"][-1]
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert ("image" in service) != ("build" in service)
        assert "build" in service or re.search(r":v?\d+\.\d+\.\d+$", service["image"]), name
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (FOLDER / source).is_file() if source.startswith("./") else source in COMPOSE["volumes"], volume


def test_the_image_installs_extras_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (wanted,) = re.findall(r"vmfstream\[([\w,]+)\]", (FOLDER / "requirements.txt").read_text())
    assert set(wanted.split(",")) <= set(extras)
    assert "requirements.txt" in (FOLDER / "Dockerfile").read_text()


def test_the_guide_puts_the_wheel_where_the_image_takes_it_from() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (lines,) = [pages.shell_lines(block) for block in pages.blocks(text) if "docker compose" in block.text]
    wheel, built = (next(at for at, line in enumerate(lines) if word in line) for word in ("pip wheel", "--build"))
    assert wheel < built
    assert lines[wheel].split()[-2:] == [FOLDER.relative_to(ROOT).as_posix(), "."]
    assert "COPY *.whl" in (FOLDER / "Dockerfile").read_text()
