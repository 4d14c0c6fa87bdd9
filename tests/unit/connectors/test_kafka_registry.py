"""Messages in Avro, Protobuf and JSON by the schemas of a registry: fields as of JSON, bad ones told, none lost."""

from __future__ import annotations

import logging
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, timestamp_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.connectors.stub_registry import StubRegistry, stub_registry
from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.kafka import registered
from vmfstream.connectors.kafka.registry import RegistryAway, SchemaRegistry
from vmfstream.connectors.kafka.schemas import unframed
from vmfstream.connectors.kafka.source import KafkaSource
from vmfstream.errors import InputError
from vmfstream.records import Document, Message, Rejected

META = {"type": "record", "name": "Meta", "namespace": "news", "fields": [
    {"name": "published", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "by", "type": ["null", "string"], "default": None},
]}  # fmt: skip
ARTICLE = {"type": "record", "name": "Article", "namespace": "news", "fields": [
    {"name": "id", "type": "long"}, {"name": "text", "type": "string"}, {"name": "meta", "type": META},
]}  # fmt: skip
WHEN = datetime(2021, 3, 31, 12, tzinfo=UTC)
VALUE = {"id": 7, "text": "harbour strike", "meta": {"published": WHEN, "by": None}}
FIELDS: dict[str, Any] = {"time": "meta.published", "title": "meta.by"}


@pytest.fixture
def stub() -> Iterator[StubRegistry]:
    with stub_registry() as one:
        yield one


def avro(id: int, schema: Any, value: Any) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return b"\0" + id.to_bytes(4, "big") + stream.getvalue()


def decoded(value: bytes, registry: SchemaRegistry, attached: Any = None, **fields: Any) -> Document | Rejected:
    message = registered._with_fields(Message("t:0", 5, value, WHEN, attached=attached), registry)
    codec = FieldCodec(unit="offset", **(FIELDS | fields))
    one = codec.decode(message)
    columns = codec.decode_all([message])
    if isinstance(one, Rejected):
        assert columns.rejected[0].reason == one.reason
    else:
        assert (columns.id[0], columns.text[0]) == (one.id, one.text)
    return one


def reason(value: bytes, registry: SchemaRegistry) -> str:
    found = decoded(value, registry)
    assert isinstance(found, Rejected)
    (found.reason + found.excerpt).encode()
    return found.reason


def test_avro_has_fields_as_json_has_and_asks_once(stub: StubRegistry) -> None:
    registry = SchemaRegistry(stub.url)
    registry.check()
    id = stub.add("t-value", ARTICLE)
    for _ in range(3):
        found = decoded(avro(id, ARTICLE, VALUE), registry)
        assert isinstance(found, Document)
        assert (found.id, found.text, found.time) == ("7", "harbour strike", WHEN)
    assert stub.asked == ["/schemas/types", "/schemas/ids/1"]


def test_avro_reads_schemas_that_refer_to_others(stub: StubRegistry) -> None:
    stub.add("meta", META)
    outer = {**ARTICLE, "fields": [*ARTICLE["fields"][:2], {"name": "meta", "type": "news.Meta"}]}
    id = stub.add("t-value", outer, references=[("news.Meta", "meta")])
    found = decoded(avro(id, ARTICLE, VALUE), SchemaRegistry(stub.url))
    assert isinstance(found, Document)
    assert found.time == WHEN


def test_keys_and_headers_stand_for_fields(stub: StubRegistry) -> None:
    registry = SchemaRegistry(stub.url)
    key = {"type": "record", "name": "Key", "fields": [{"name": "number", "type": "int"}]}
    value_id, key_id = stub.add("t-value", ARTICLE), stub.add("t-key", key)
    value = avro(value_id, ARTICLE, VALUE)
    framed = {"@key": avro(key_id, key, {"number": 12}), "@header.by": b"Ann"}
    found = decoded(value, registry, framed, id="@key.number", title="@header.by")
    assert isinstance(found, Document)
    assert (found.id, found.title) == ("12", "Ann")
    plain = decoded(value, registry, {"@key": b"k-1"}, id="@key")
    assert isinstance(plain, Document)
    assert plain.id == "k-1"
    broken = decoded(value, registry, {"@key": b"\0\0\0\0\x63"}, id="@key")
    assert isinstance(broken, Rejected)
    assert broken.reason == "schema 99: the registry does not know it: Schema 99 not found"


def proto() -> tuple[descriptor_pb2.FileDescriptorProto, descriptor_pb2.FileDescriptorProto]:
    """Two files: of an article and a note within another message, and of what both refer to."""
    string, int64, message = 9, 3, 11
    meta = descriptor_pb2.FileDescriptorProto(name="x", package="news", syntax="proto3")
    meta.dependency.append("google/protobuf/timestamp.proto")
    record = meta.message_type.add(name="Meta")
    record.field.add(name="published", number=1, type=message, label=1, type_name=".google.protobuf.Timestamp")
    file = descriptor_pb2.FileDescriptorProto(name="default", package="news", syntax="proto3")
    file.dependency.append("meta.proto")
    article = file.message_type.add(name="Article")
    article.field.add(name="id", number=1, type=int64, label=1)
    article.field.add(name="text", number=2, type=string, label=1)
    article.field.add(name="meta", number=3, type=message, label=1, type_name=".news.Meta")
    note = file.message_type.add(name="Box").nested_type.add(name="Note")
    note.field.add(name="text", number=1, type=string, label=1)
    note.field.add(name="year", number=2, type=string, label=1)
    return file, meta


def protobuf(name: str, value: dict[str, Any]) -> bytes:
    file, meta = proto()
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    meta.name = "meta.proto"
    for one in (meta, file):
        pool.AddSerializedFile(one.SerializeToString())
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    return bytes(json_format.ParseDict(value, kind(), descriptor_pool=pool).SerializeToString())


def test_protobuf_is_read_by_the_serialised_schema_and_the_place_of_its_type(stub: StubRegistry) -> None:
    file, meta = proto()
    stub.add("meta", meta, "PROTOBUF")
    id = stub.add("t-value", file, "PROTOBUF", [("meta.proto", "meta")])
    registry = SchemaRegistry(stub.url)
    head = b"\0" + id.to_bytes(4, "big")
    article = protobuf("news.Article", {"id": 7, "text": "strike", "meta": {"published": "2021-03-31T12:00:00Z"}})
    for place in (b"\0", b"\x02\0"):  # the short way to write the first type, and the long one
        found = decoded(head + place + article, registry)
        assert isinstance(found, Document)
        assert (found.id, found.text, found.time) == ("7", "strike", WHEN)
    note = head + b"\x04\x02\0" + protobuf("news.Box.Note", {"text": "storm", "year": "2020"})  # type 0 within type 1
    found = decoded(note, registry, time="year")
    assert isinstance(found, Document)
    assert (found.text, str(found.time)[:4]) == ("storm", "2020")
    assert "names message type 5 of 2" in reason(head + b"\x02\x0a" + article, registry)
    assert "cannot be read" in reason(head + b"\xff\xff\xff\xff\xff\xff", registry)
    assert "not as its schema 2 says: DecodeError" in reason(head + b"\0\xff", registry)


def test_protobuf_that_is_given_as_text_only_is_told(stub: StubRegistry) -> None:
    stub.gives_text_only = True
    id = stub.add("t-value", proto()[1], "PROTOBUF")
    said = reason(b"\0" + id.to_bytes(4, "big") + b"\0", SchemaRegistry(stub.url))
    assert said == "schema 1: the registry does not give Protobuf schemas in serialised form (?format=serialized)"


def test_json_behind_a_schema_is_json(stub: StubRegistry) -> None:
    id = stub.add("t-value", {"type": "object"}, "JSON")
    head = b"\0" + id.to_bytes(4, "big")
    registry = SchemaRegistry(stub.url)
    found = decoded(head + b'{"text": "strike", "meta": {"published": "2021-03-31T12:00Z"}}', registry)
    assert isinstance(found, Document)
    assert found.time == WHEN
    assert reason(head + b"[1]", registry) == "not a JSON object: offset 5 holds a list"


def test_what_cannot_be_read_says_why(stub: StubRegistry) -> None:
    registry = SchemaRegistry(stub.url)
    id = stub.add("t-value", ARTICLE)
    whole = avro(id, ARTICLE, VALUE)
    assert (
        reason(b'{"text": "a"}', registry) == "not framed for a schema registry: begins with byte 0x7b instead of 0x00"
    )
    assert reason(b"\0\0", registry) == "not framed for a schema registry: 2 bytes"
    for cut in range(5, len(whole)):
        assert reason(whole[:cut], registry) == "not as its schema 1 says: it ends too early"
    assert reason(whole + b"ab", registry) == "not as its schema 1 says: 2 bytes are left after the value"
    number = stub.add("n-value", "long")
    assert reason(avro(number, "long", 5), registry) == "no record: its schema is of a single value, int"
    odd = stub.add("o-value", {"type": "nothing"})
    assert reason(b"\0" + odd.to_bytes(4, "big"), registry).startswith("schema 3: it cannot be used: ")
    other = stub.add("x-value", "", "XML")
    assert "is of the kind 'XML'" in reason(b"\0" + other.to_bytes(4, "big"), registry)
    for _ in range(3):
        assert "does not know it" in reason(b"\0\0\0\0\x63", registry)
    assert stub.asked.count("/schemas/ids/99") == 1


def test_schemas_by_which_bytes_take_any_depth_or_time_are_not_used(stub: StubRegistry) -> None:
    registry = SchemaRegistry(stub.url)
    chain = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}
    empty = {"type": "record", "name": "Empty", "fields": []}
    lists = {"type": "record", "name": "L", "fields": [{"name": "all", "type": {"type": "array", "items": empty}}]}
    deep = b"\0" + stub.add("c-value", chain).to_bytes(4, "big") + b"\2" * 100_000 + b"\0"
    assert "holds itself, in any depth" in reason(deep, registry)  # it ends the process when it is read
    many = b"\0" + stub.add("l-value", lists).to_bytes(4, "big") + b"\x80\x80\x80\x80\x80\x80\x20\0"
    assert "lists of items that take no bytes" in reason(many, registry)


def test_avro_names_no_symbol_or_type_from_the_end(stub: StubRegistry) -> None:
    registry = SchemaRegistry(stub.url)
    place = {"type": "enum", "name": "Place", "symbols": ["home", "abroad"]}
    fields = {
        "text": "string", "place": place, "from": "Place", "by": ["null", "bytes"],
        "pair": {"type": "fixed", "name": "F", "size": 2},
        "words": {"type": "array", "items": "int"}, "odds": {"type": "map", "values": ["double", "boolean"]},
    }  # fmt: skip
    schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": kind} for n, kind in fields.items()]}
    value = {
        "text": "harbour",
        "place": "home",
        "from": "abroad",
        "by": b"ab",
        "pair": b"xy",
        "words": [1, -300, 2**31 - 1],
    }
    whole = avro(stub.add("t-value", schema), schema, value | {"odds": {"a": 0.5, "b": True}})
    assert isinstance(decoded(whole, registry, time="@message"), Document)
    for cut in range(5, len(whole)):
        assert reason(whole[:cut], registry) == "not as its schema 1 says: it ends too early"
    words = whole.index(b"xy") + 2
    least = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # -2**63
    for at, to, by, why in [
        (13, 14, b"\x01", "it names symbol -1 of 2"),
        (14, 15, b"\x03", "it names symbol -2 of 2"),
        (14, 15, b"\x04", "it names symbol 2 of 2"),
        (15, 16, b"\x01", "it names type -1 of 2"),
        (16, 17, b"\x03", "it has a text of -2 bytes"),
        (words, words + 1, least + b"\0", "it ends too early"),
        (words, words + 1, b"\xff" * 10 + b"\x01", "a number has more than 64 bits"),
    ]:
        assert reason(whole[:at] + by + whole[to:], registry) == f"not as its schema 1 says: {why}"
    blocks = b"\x03\x06\x02\xd7\x04" + b"\x02\xfe\xff\xff\xff\x0f\0"  # two numbers in 3 bytes, then one
    assert whole[words:].startswith(b"\x06" + blocks[2:5] + blocks[6:])
    assert isinstance(decoded(whole[:words] + blocks + whole[words + 10 :], registry, time="@message"), Document)


def test_avro_ids_and_titles_in_bytes_are_texts(stub: StubRegistry) -> None:
    registry = SchemaRegistry(stub.url)
    kinds = {"text": "string", "id": "bytes", "title": "bytes"}
    schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": kind} for n, kind in kinds.items()]}
    id = stub.add("t-value", schema)
    names = {"time": "@message", "title": "title"}
    good = decoded(avro(id, schema, {"text": "a", "id": "é1".encode(), "title": b"A"}), registry, **names)
    assert isinstance(good, Document)
    assert (good.id, good.meta["title"]) == ("é1", "A")
    unnamed = decoded(avro(id, schema, {"text": "a", "id": b"", "title": b""}), registry, **names)
    assert isinstance(unnamed, Document)
    assert unnamed.id == "t:0:5"
    bad = decoded(avro(id, schema, {"text": "a", "id": b"\xff\0", "title": b"A"}), registry, **names)
    assert isinstance(bad, Rejected)
    assert bad.reason == "not UTF-8: byte 0xff at position 0 in id"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": {"type": "string"}},
        {"type": "array"},
        {"type": "fixed", "name": "F"},
        {"type": "fixed", "name": "F", "size": -2},
        {"type": "record", "name": "R", "fields": 5},
        5,
    ],
)
def test_avro_schemas_that_are_none_reject_their_messages(stub: StubRegistry, schema: Any) -> None:
    id = stub.add("t-value", schema)
    assert reason(b"\0" + id.to_bytes(4, "big"), SchemaRegistry(stub.url)).startswith("schema 1: it ")


@pytest.mark.thorough
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_give_a_document_or_a_reason(stub: StubRegistry, data: st.DataObject) -> None:
    if not stub.schemas:
        stub.add("meta", proto()[1], "PROTOBUF")
        stub.add("p-value", proto()[0], "PROTOBUF", [("meta.proto", "meta")])
        stub.add("t-value", ARTICLE)
    registry = SchemaRegistry(stub.url)
    whole = data.draw(st.sampled_from([avro(3, ARTICLE, VALUE), b"\0\0\0\0\2\0" + protobuf("news.Article", {"id": 7})]))
    at = data.draw(st.integers(5, len(whole)))
    changed = whole[:at] + data.draw(st.binary(max_size=20)) + whole[at + data.draw(st.integers(0, 5)) :]
    assert decoded(changed, registry) is not None


@pytest.fixture
def given_messages(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    messages: list[Message] = []

    def poll(self: KafkaSource, limit: int, timeout: float) -> list[Message]:
        taken = messages[:limit]
        del messages[:limit]
        return taken

    monkeypatch.setattr(KafkaSource, "__init__", lambda self, url, **options: None)
    monkeypatch.setattr(KafkaSource, "poll", poll)
    return messages


def test_messages_wait_while_the_registry_is_away(
    stub: StubRegistry, given_messages: list[Message], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(registered, "_RETRY_AFTER", 0.0)
    source = open_source("kafka://x/t", schema_registry=stub.url)
    first, second = stub.add("a-value", ARTICLE), stub.add("b-value", ARTICLE)
    ids = [first, first, second, first]
    given_messages += [Message("t:0", at, avro(id, ARTICLE, VALUE)) for at, id in enumerate(ids)]
    assert [one.offset for one in source.poll(1, 0.0)] == [0]
    stub.status = 503
    with caplog.at_level(logging.WARNING):
        assert [one.offset for one in source.poll(10, 0.0)] == [1]
        for _ in range(3):
            assert source.poll(10, 0.0) == []
    assert [record.message for record in caplog.records] == [
        f"the schema registry {stub.url} does not answer: 503 Service Unavailable; waiting"
    ]
    stub.status = 200
    assert [one.offset for one in source.poll(1, 0.0)] == [2]
    assert [one.offset for one in source.poll(1, 0.0)] == [3]
    assert source.poll(1, 0.0) == []


def test_a_registry_that_refuses_or_is_none_is_told_without_the_password(stub: StubRegistry) -> None:
    stub.closed_to_strangers = True
    host = stub.url.removeprefix("http://")
    with pytest.raises(InputError, match="does not accept user and password: 401"):
        SchemaRegistry(stub.url).check()
    with pytest.raises(InputError, match="401") as refused:
        SchemaRegistry(f"http://reader:wr%2fong@{host}").check()
    assert "wr" not in str(refused.value)
    SchemaRegistry(f"http://reader:open%20sesame@{host}").check()
    with pytest.raises(InputError, match="not as a schema registry does; is a path missing"):
        SchemaRegistry(f"http://reader:open%20sesame@{host}/apis").check()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match="does not answer: "):
            SchemaRegistry(f"http://127.0.0.1:{free.getsockname()[1]}").check()
    for wrong in (
        "htp://u:secret@h",
        "http:/u:secret@h",
        "http://u:secret@h?x=secret",
        "http://u:1@h:secret",
        "http://[secret]:8081",
        "secret",
    ):
        with pytest.raises(InputError, match="--schema-registry: expected http://host:8081") as said:
            SchemaRegistry(wrong)
        assert wrong == "secret" or "secret" not in str(said.value)


def test_a_registry_goes_to_workers_with_its_login(stub: StubRegistry) -> None:
    stub.closed_to_strangers = True
    id = stub.add("t-value", ARTICLE)
    registry = SchemaRegistry(stub.url.replace("//", "//reader:open%20sesame@"))
    assert unframed(avro(id, ARTICLE, VALUE), registry)["id"] == 7
    assert unframed(avro(id, ARTICLE, VALUE), pickle.loads(pickle.dumps(registry)))["id"] == 7
    stub.status = 503
    with pytest.raises(RegistryAway):
        unframed(avro(id, ARTICLE, VALUE), pickle.loads(pickle.dumps(registry)))


@pytest.mark.parametrize(
    ("module", "kind", "extra"), [("fastavro", "AVRO", "avro"), ("google", "PROTOBUF", "protobuf")]
)
def test_without_its_extra_a_kind_names_it(module: str, kind: str, extra: str) -> None:
    code = f"""if True:
        import sys
        sys.modules[{module!r}] = None
        from vmfstream.connectors.kafka.registry import Schema
        from vmfstream.connectors.kafka.schemas import reader_of
        from vmfstream.errors import MissingExtra
        try:
            reader_of(Schema({kind!r}, "", {{}}))
        except MissingExtra as error:
            print(error)
    """
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert f"pip install 'vmfstream[{extra}]'" in out
