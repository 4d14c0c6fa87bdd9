"""The services of the Compose file that are vmfstream's run on a broker as they stand there, without containers."""

from __future__ import annotations

import re
import signal
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract import pages
from tests.system.broker.cluster import Broker, free_ports
from tests.system.broker.conftest import Start, Topics, ended
from tests.system.broker.trackers import counts, documents, times
from tests.waiting import wait_for, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.thorough]

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((pages.ROOT / "docs/compose/compose.yaml").read_text())["services"]


def answers(url: str) -> bool:
    """Whether a page or an endpoint is there and well."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_run_and_page_work_together(broker: Broker, topics: Topics, start: Start, tmp_path: Path) -> None:
    tracker, page = SERVICES["tracker"], SERVICES["page"]
    metrics, port = free_ports(2)
    here = {
        "kafka://broker:9092/": f"kafka://{broker.address}/compose-",
        "/data/": f"{tmp_path}/",
        "9464": str(metrics),
        "8050": str(port),
    }

    def moved(text: str) -> str:
        """Put this machine's addresses, ports and folder into a word; in one pass, since one may hold another."""
        return re.sub("|".join(here), lambda found: here[found[0]], text)

    named = re.search(r"for topic in ([\w -]+);", SERVICES["topics"]["command"][-1])
    assert named is not None
    made = {name: topics(1, f"compose-{name}") for name in named[1].split()}
    assert set(made) == {word.rpartition("/")[2] for word in tracker["command"] if "kafka://" in word}
    run_file = tmp_path / "news.duckdb"
    rows = [row | {"time": 1_600_000_000 + 600 * i} for i, row in enumerate(documents(600))]  # four days
    made["news"].fill([*rows, b"no json"], times=[*times(rows), times(rows)[-1]])
    run = start(*map(moved, tracker["command"]))
    wait_for(partial(counts, run_file), lambda seen: seen == (600, 1), run)
    (health,) = re.findall(r"http://[\w.:/]+", moved(tracker["healthcheck"]["test"][-1]))
    assert answers(health)

    looking = start(*map(moved, page["command"]))
    assert looking.stdout is not None
    address = next(line for line in looking.stdout if "http://" in line)
    (token,) = re.findall(r"token=[\w-]+", address)
    wait_until(lambda: answers(f"http://127.0.0.1:{port}/?{token}"), looking)
    assert not answers(f"http://127.0.0.1:{port}/")
    assert ended(looking, signal.SIGTERM)[0] == 0
    code, out, err, _ = ended(run, signal.SIGTERM)
    assert code == 0, out + err
    assert all(line.startswith("{") for line in err.splitlines()), err
    sent = {name: len(topic.read()) for name, topic in made.items()}
    assert sent["news-topics"] > 0
    assert (sent["news-labelled"], sent["news-dead"]) == (600, 1)
