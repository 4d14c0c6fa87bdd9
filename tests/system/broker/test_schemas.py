"""Avro messages of a compacted topic, by the schemas of a registry: every one counted, the bad ones told."""

from __future__ import annotations

import signal
from contextlib import closing
from pathlib import Path

import pytest

from tests.system.broker.conftest import Start, Topics, ended
from tests.system.broker.trackers import ask, counts, documents, times
from tests.unit.connectors.stub_registry import stub_registry
from tests.unit.connectors.test_kafka_registry import ARTICLE, avro
from tests.waiting import wait_for
from vmfstream.connectors import open_source
from vmfstream.connectors.kafka.registered import RegisteredSource
from vmfstream.records import Range

pytestmark = pytest.mark.broker


def test_avro_keys_and_tombstones(topics: Topics, start: Start, tmp_path: Path) -> None:
    run_file, topic, dead = tmp_path / "run.duckdb", topics(1, **{"cleanup.policy": "compact"}), topics(1)
    rows = documents(300)
    with stub_registry() as registry:
        registry.closed_to_strangers = True
        id = registry.add(f"{topic.name}-value", ARTICLE)
        published = zip(range(300), rows, times(rows), strict=True)
        values = [
            avro(id, ARTICLE, {"id": n, "text": row["text"], "meta": {"published": time, "by": None}})
            for n, row, time in published
        ]
        for n in range(10):
            topic.fill(values[30 * n : 30 * n + 30], key=b"k%d" % n)
        topic.fill([values[0], None, b'{"text": "a"}', b"\0\0\0\0\x63abc"], key=b"k3")
        login = registry.url.replace("//", "//reader:open%20sesame@")
        how = ("--time", "meta.published", "--slices", 100, "-k", 3, "--linger", 0.2, "--out", run_file)
        one = start("run", topic.url, *how, "--dead-letters", dead.url, VMFSTREAM_SCHEMA_REGISTRY=login)
        wait_for(lambda: counts(run_file), lambda seen: sum(seen) == 304, one)
        code, out, err, _ = ended(one, signal.SIGTERM)
        assert code == 0, err
        assert "sesame" not in out + err
        assert ask(run_file, "select reason from rejected order by source_offset") == [
            ("read before: id '0'",),
            ("no value: a tombstone of key b'k3'",),
            ("not framed for a schema registry: begins with byte 0x7b instead of 0x00",),
            ("schema 99: the registry does not know it: Schema 99 not found",),
        ]
        assert [message.value for message in dead.read()] == [values[0], None, b'{"text": "a"}', b"\0\0\0\0\x63abc"]
        code, out, _, _ = ended(start("doctor", topic.url, "--schema-registry", login, "--time", "meta.published"))
        assert (code, "is no document: schema 99" in out) == (1, True), out
        with closing(open_source(topic.url, schema_registry=login, attach=("@key",))) as source:
            assert isinstance(source, RegisteredSource)
            part = f"{topic.name}:0"
            messages, end = source.reader().read(Range(part, 298, 302), 10**6)
            assert end == 302
            assert [dict(one.value).get("id", "no") for one in messages] == [298, 299, 0, "no"]  # type: ignore[arg-type]
            assert [dict(one.attached or {}) for one in messages][1:] == [
                {"@key": b"k9"},
                {"@key": b"k3"},
                {"@key": b"k3"},
            ]
        refused = ended(start("run", topic.url, *how, "--schema-registry", registry.url))
        assert (refused[0], "does not accept user and password" in refused[2]) == (1, True), refused[2]
    away = ended(start("run", topic.url, *how, "--schema-registry", registry.url))
    assert (away[0], "does not answer" in away[2]) == (1, True), away[2]
