"""The commands that README and guides show for Kafka run on a broker as they stand there."""

from __future__ import annotations

import shlex
import signal
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.contract import pages
from tests.system.broker.cluster import Broker, free_ports
from tests.system.broker.conftest import Start, Topics, ended
from tests.system.broker.trackers import counts
from tests.system.cli.given import lines
from tests.unit.connectors.stub_registry import stub_registry
from tests.unit.connectors.test_kafka_registry import ARTICLE, WHEN, avro
from tests.waiting import wait_for

pytestmark = [pytest.mark.broker, pytest.mark.thorough]


def commands(page: str, *, registry: bool = False) -> list[str]:
    """Return the commands of a page that read Kafka in processes of this machine, or all those for a registry."""
    text = (pages.ROOT / page).read_text(encoding="utf-8")
    shown = [block for block in pages.blocks(text) if block.language == "console"]
    lines = [line for block in shown if ("REGISTRY" in block.text) is registry for line in pages.shell_lines(block)]
    return lines if registry else [line for line in lines if "kafka://" in line and "dask://" not in line]


def test_the_commands_for_kafka_run(
    broker: Broker, topics: Topics, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("topics", "news-dead", "news-labelled"):
        topics(1, name)
    topics(1, "days").fill(lines(90))
    (port,) = free_ports(1)
    first, *others = [line for page in ("docs/kafka.md", "README.md", "docs/scale-out.md") for line in commands(page)]
    assert first.startswith("vmfstream publish planted ")
    assert len(others) == 4
    for line in (first, *others):
        file = Path("news.duckdb")
        if "--slices hour" in line:  # the newswire has articles in thousands of hours
            line, file = line.replace("/news ", "/days "), Path("days.duckdb")
        words = shlex.split(line.replace("localhost:9092", broker.address).replace("9464", str(port)))[1:]
        runs = words[0] == "run"
        if runs:
            file.unlink(missing_ok=True)
        one = start(*words)
        if runs:
            wait_for(partial(counts, file), lambda seen: seen[0] > 0, one)
        code, out, err, _ = ended(one, signal.SIGTERM) if runs else ended(one)
        assert code == 0, f"{line}\n{out}{err}"
        if runs:
            Path("run.duckdb").write_bytes(file.read_bytes())


def test_the_commands_for_a_registry_run(
    broker: Broker, topics: Topics, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install, export, run = commands("docs/kafka.md", registry=True)
    assert install.startswith("pip install ")
    name, address = export.removeprefix("export ").split("=")
    assert address == "http://localhost:8081"
    topic, rows = topics(1, "registered"), lines(40)
    with stub_registry() as registry:
        id = registry.add("registered-value", ARTICLE)
        for n, row in enumerate(rows):
            meta = {"published": WHEN + timedelta(minutes=10 * n), "by": None}
            topic.fill([avro(id, ARTICLE, {"id": n, "text": str(row["text"]), "meta": meta})], key=b"article %d" % n)
        words = shlex.split(run.replace("localhost:9092/news", f"{broker.address}/registered"))[1:]
        one = start(*words, **{name: registry.url})
        wait_for(partial(counts, Path("registered.duckdb")), lambda seen: sum(seen) == len(rows), one)
        code, out, err, _ = ended(one, signal.SIGTERM)
    assert code == 0, f"{run}\n{out}{err}"
    assert counts(Path("registered.duckdb")) == (len(rows), 0)
