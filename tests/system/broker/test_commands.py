"""The commands on a real broker, as a user meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.system.broker.cluster import PASSWORD, USER, Broker, free_ports
from tests.system.broker.conftest import Start, Topics, ended
from tests.system.broker.trackers import ask, counts, documents, rows_of, stored, times
from tests.waiting import wait_for, wait_until
from vmfstream.connectors.kafka.options import PREFIX

pytestmark = pytest.mark.broker


def bodies(messages: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(message.value) for message in messages]


def test_publish_run_and_look(broker: Broker, topics: Topics, start: Start, tmp_path: Path) -> None:
    rows = [row | {"title": f"Report {i}"} for i, row in enumerate(documents(3000))]
    file, run_file = tmp_path / "rows.jsonl", tmp_path / "run.duckdb"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    topic = topics(1, "unused")
    url = f"kafka://{broker.address}/published"
    code, out, err, _ = ended(start("publish", file, url, "--partitions", 3, "--compression", "zstd"))
    assert (code, "sent: 3,000 documents" in out, "0 rejected" in out) == (0, True, True), out + err
    topic.name, topic.partitions = "published", 3
    sent = topic.read()
    assert sorted(message.key for message in sent) == sorted(row["id"].encode() for row in rows)
    assert {message.timestamp for message in sent} == set(times(rows))

    out_topic = topics(1)
    (port,) = free_ports(1)
    ways = ("--slices", 1000, "-k", 3, "--epoch-size", 500, "--linger", 0.5, "--out", run_file, "--window", 300)
    one = start("run", url, *ways, "--publish", out_topic.url, "--metrics-port", port, "--group", "watch")
    wait_for(lambda: counts(run_file), lambda seen: seen[0] == 3000, one)
    refused = ended(start("run", url, *ways))
    assert refused[0] == 1
    assert f"process {one.pid} is writing the run file" in refused[2]
    wait_until(lambda: "vmfstream_documents_total 3000.0" in metrics(port), one)
    assert "vmfstream_lag 0.0" in metrics(port)
    assert "vmfstream_topics 3.0" in metrics(port)

    topic.fill([{"id": "extra", "time": 1_600_100_000, "text": "ship crane"}], 0)
    code, out, err, seconds = ended(one, signal.SIGTERM)
    assert (code, seconds < 30) == (0, True), err
    assert not run_file.with_name("run.duckdb.lock").exists()
    assert ask(run_file, "select min(lag), max(lag) from epoch")[0][0] == 0
    published = bodies(out_topic.read())
    slices = [one for one in published if one["type"] == "slice"]
    assert [one["documents"] for one in slices] == [1000] * len(slices)
    assert {frozenset(word for word, _ in one["words"][:3]) for one in slices[-1]["topics"]}
    assert {one["kind"] for one in published if one["type"] == "event"} >= {"started"}

    code, out, err, _ = ended(start("doctor", url, run_file))
    assert code == 0, out
    assert "topic published: 3 partitions, 3,001 messages" in out
    assert "lag: " in out
    assert "is no document" not in out
    code, out, _, _ = ended(start("doctor", f"{url},nowhere"))
    assert code == 1
    assert "FAIL topic nowhere" in out


def test_doctor_tells_what_a_run_would_stop_for(topics: Topics, start: Start, tmp_path: Path) -> None:
    first, run_file = topics(2), tmp_path / "run.duckdb"
    first.fill(documents(400))
    one = start("run", first.url, "--slices", 100, "-k", 3, "--linger", 0.3, "--out", run_file)
    wait_for(lambda: counts(run_file), lambda seen: seen[0] == 400, one)
    assert ended(one, signal.SIGTERM)[0] == 0
    assert "ok   lag: 0 messages that" in ended(start("doctor", first.url, run_file))[1]
    first.delete()
    wait_until(lambda: first.name not in first.admin.list_topics())
    again = topics(2, first.name)
    again.fill(documents(30))
    code, out, _, _ = ended(start("doctor", again.url, run_file))
    assert code == 1
    assert f"FAIL lag: 30 messages that {run_file} has not read; {first.name} ends before the position" in out
    assert "the topic was made again" in ended(start("run", again.url, "--slices", 100, "-k", 3, "--out", run_file))[2]


def metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return str(answer.read().decode())


def test_ctrl_c_and_again(topics: Topics, start: Start, tmp_path: Path) -> None:
    topic, run_file = topics(1), tmp_path / "run.duckdb"
    rows = documents(700)
    topic.fill(rows, times=times(rows))
    way = ("run", topic.url, "--slices", 300, "-k", 3, "--out", run_file, "--linger", 600)
    one = start(*way)
    wait_for(lambda: rows_of(run_file, "slice"), lambda slices: slices >= 2, one)
    code, out, _, _ = ended(one, signal.SIGINT)
    assert code == 130
    assert "700 documents, 0 rejected" in out  # the open epoch, which would linger, too
    assert stored(run_file) == topic.ends()


def test_ctrl_c_of_a_terminal_reaches_workers_too_and_ends_the_run_all_the_same(topics: Topics, tmp_path: Path) -> None:
    topic, run_file = topics(1), tmp_path / "run.duckdb"
    rows = documents(900)
    topic.fill(rows, times=times(rows))
    way = ("run", topic.url, "--slices", 300, "-k", 3, "--out", run_file, "--linger", 0.5, "--workers", 1)
    command = [sys.executable, "-m", "vmfstream", *map(str, way)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as one:
        try:
            wait_for(lambda: counts(run_file), lambda seen: seen[0] == 900, one)
            os.killpg(one.pid, signal.SIGINT)
            out, err = one.communicate()
        finally:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
    assert one.returncode == 130, out + err
    assert "900 documents, 0 rejected" in out
    assert "no workers" not in err


def test_a_run_ends_while_the_broker_is_away(broker: Broker, topics: Topics, start: Start, tmp_path: Path) -> None:
    topic, published, run_file = topics(1), topics(1), tmp_path / "run.duckdb"
    topic.fill(documents(900))
    one = start(
        "run", topic.url, "--slices", 300, "-k", 3, "--out", run_file, "--linger", 60, "--publish", published.url
    )
    wait_for(lambda: rows_of(run_file, "slice"), lambda slices: slices >= 2, one)
    broker.kill()
    try:
        time.sleep(1.0)
        code, out, err, seconds = ended(one, signal.SIGTERM)
    finally:
        broker.start()
    assert (code, seconds < 40) == (0, True), err
    assert "900 documents" in out
    assert stored(run_file) == topic.ends()


def test_passwords_are_nowhere(broker: Broker, topics: Topics, start: Start, tmp_path: Path) -> None:
    topic = topics(1)
    url = f"kafka://{broker.secure}/{topic.name}"
    config, run_file = tmp_path / "client.toml", tmp_path / "run.duckdb"
    secret = {PREFIX + "SASL_PLAIN_PASSWORD": "wrong " + PASSWORD}
    for patience in (2_000, 10_000, 50_000):  # on a busy machine the broker answers late
        config.write_text(
            f'[kafka]\nsecurity_protocol = "SASL_SSL"\nsasl_mechanism = "PLAIN"\nbootstrap_timeout_ms = {patience}\n'
            f'sasl_plain_username = "{USER}"\nssl_cafile = "{broker.certificate}"\n'
        )
        code, out, err, _ = ended(start("run", url, "--config", config, "--out", run_file, "-v", **secret))
        assert code == 1
        assert PASSWORD not in out + err
        if "timed out" not in err:
            break
    assert "not accept user and password" in err
    code, looked, more, _ = ended(start("doctor", url, "--config", config, **secret))
    assert code == 1
    assert PASSWORD not in out + err + looked + more
    assert not run_file.exists() or PASSWORD.encode() not in run_file.read_bytes()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("kafka://127.0.0.1:9/x", "--format", "xml"), "json or text"),
        (("kafka://127.0.0.1:9/x", "--on-gap", "guess"), "fail, earliest, latest"),
        (("kafka://me:secret@127.0.0.1:9/x",), "must not hold a user or a password"),
        (("kafka://127.0.0.1:9",), "expected kafka://host:9092/topic"),
    ],
)
def test_what_cannot_be_run(start: Start, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    code, _, err, _ = ended(start("run", *words, "--out", tmp_path / "run.duckdb"))
    assert code == 1
    assert says in err
    assert "secret" not in err
