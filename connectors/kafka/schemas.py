"""Read Avro, Protobuf and JSON by the schema that a message names, in Confluent's framing.

A framed message is a zero, the number of its schema in four bytes, and the value; in Protobuf the place of the type
among those of its file stands before the value.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from vmfstream.connectors.kafka.registry import NoSchema, Schema, SchemaRegistry
from vmfstream.errors import MissingExtra

_HEAD = 5  # bytes before the value
_MOST_INDEXES = 32  # levels of message types in message types


def is_framed(value: bytes) -> bool:
    """Return whether a message names its schema."""
    return len(value) >= _HEAD and value[0] == 0


def unframed(value: bytes, registry: SchemaRegistry) -> Any:
    """Return what a framed message holds: of records a dict, of a JSON schema the bytes of its JSON.

    Raises
    ------
    ValueError
        With the reason why it cannot be read.
    RegistryAway
        If the registry does not answer.
    InputError
        If it refuses access.
    """
    if not is_framed(value):
        first = f"begins with byte 0x{value[0]:02x} instead of 0x00" if len(value) >= _HEAD else f"{len(value)} bytes"
        raise ValueError(f"not framed for a schema registry: {first}")
    id = int.from_bytes(value[1:_HEAD], "big")
    read = registry.reader(id, reader_of)
    try:
        return read(value[_HEAD:])
    except (EOFError, IndexError):
        raise ValueError(f"not as its schema {id} says: it ends too early") from None
    except Exception as error:  # of the libraries, whatever bytes may make them raise
        name = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise ValueError(f"not as its schema {id} says: {name}{str(error)[:200]}") from None


def reader_of(schema: Schema) -> Callable[[bytes], Any]:
    """Return what reads values of a schema.

    Raises
    ------
    NoSchema
        If the schema cannot be used.
    MissingExtra
        If the library for its kind is not installed.
    """
    makers = {"AVRO": _avro, "PROTOBUF": _protobuf, "JSON": _json}
    if schema.kind not in makers:
        raise NoSchema(f"it is of the kind {schema.kind!r}, which is none of {', '.join(makers)}")
    return makers[schema.kind](schema)


def _json(schema: Schema) -> Callable[[bytes], Any]:
    return bytes  # its text is read where all JSON is


def _avro(schema: Schema) -> Callable[[bytes], Any]:
    try:
        import fastavro
    except ImportError:
        raise MissingExtra("Avro messages need fastavro: pip install 'vmfstream[avro]'") from None
    named: dict[str, Any] = {}
    try:
        for text in _texts(schema):
            parsed = fastavro.parse_schema(json.loads(text), named)
        _check_bounded(parsed, named)
    except NoSchema:
        raise
    except Exception as error:  # of the library, whatever a schema may make it raise
        raise NoSchema(f"it cannot be used: {type(error).__name__}: {str(error)[:200]}") from None
    end = _end_of(parsed, named, {})

    def read(value: bytes) -> Any:
        if left := len(value) - end(value, 0):
            raise ValueError(f"{left} bytes are left after the value")
        return fastavro.schemaless_reader(BytesIO(value), parsed, None)

    return read


def _texts(schema: Schema) -> Iterator[str]:
    """Yield the schemas that one refers to, each once and before those that need it, and the schema itself."""
    done: set[str] = set()

    def walk(one: Schema) -> Iterator[str]:
        for name, other in one.references.items():
            if name not in done:
                done.add(name)
                yield from walk(other)
        yield one.text

    return walk(schema)


def _check_bounded(parsed: Any, named: Mapping[str, Any]) -> None:
    """Refuse schemas by which a short message takes any depth or time: fastavro has no limits of its own.

    These are records within themselves, which end the process when they are nested some thousand times, and lists
    whose items take no bytes.
    """
    sizes: dict[str, bool | None] = {}  # by the names of types; None while a type is looked at

    def takes_bytes(part: Any) -> bool:
        if isinstance(part, list):
            for one in part:
                takes_bytes(one)
            return True
        if isinstance(part, str):
            if part not in named:
                return part != "null"
            if part in sizes:
                known = sizes[part]
                if known is None:
                    raise NoSchema(f"its record {part} holds itself, in any depth; such messages are not read")
                return known
            return takes_bytes(named[part])
        kind = part["type"]
        if kind in ("record", "error"):
            name = part["name"]
            sizes[name] = None
            sizes[name] = any([takes_bytes(field["type"]) for field in part["fields"]])
            return bool(sizes[name])
        if kind == "array":
            if not takes_bytes(part["items"]):
                raise NoSchema("it has lists of items that take no bytes; such messages are not read")
            return True
        if kind == "map":
            takes_bytes(part["values"])
            return True
        if kind == "fixed":
            if part["size"] < 0:
                raise NoSchema(f"it has a value of {part['size']} bytes")
            return bool(part["size"])
        return kind == "enum" or takes_bytes(kind)

    takes_bytes(parsed)


_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}

_End = Callable[[bytes, int], int]
"""Returns where what begins at a place ends."""


def _end_of(part: Any, named: Mapping[str, Any], made: dict[str, _End]) -> _End:
    """Return what tells where the value of a part of a schema ends.

    ``made`` has those of named types. It checks what fastavro takes as it is: indices of enums and unions, of which a
    negative one counts from the end, and the numbers of items. It raises IndexError if the value ends too early,
    ValueError for other faults.
    """
    if isinstance(part, list):
        return _end_of_union([_end_of(one, named, made) for one in part])
    if isinstance(part, str) and part in named:
        if part not in made:
            made[part] = _end_of(named[part], named, made)
        return made[part]
    kind = part if isinstance(part, str) else part["type"]
    if kind in ("record", "error"):
        return _end_of_record([_end_of(field["type"], named, made) for field in part["fields"]])
    if kind == "array":
        return _end_of_items(_end_of(part["items"], named, made))
    if kind == "map":
        return _end_of_items(_end_of_record([_end_of_text, _end_of(part["values"], named, made)]))
    if kind in ("bytes", "string"):
        return _end_of_text
    if kind in ("int", "long"):
        return lambda value, at: _number(value, at)[1]
    if kind == "enum":
        return lambda value, at: _index(value, at, len(part["symbols"]), "symbol")[1]
    size = part["size"] if kind == "fixed" else _SIZES[kind]
    return lambda value, at: _inside(value, at + size)


def _end_of_record(fields: Sequence[_End]) -> _End:
    def end(value: bytes, at: int) -> int:
        for field in fields:
            at = field(value, at)
        return at

    return end


def _end_of_union(types: Sequence[_End]) -> _End:
    def end(value: bytes, at: int) -> int:
        index, at = _index(value, at, len(types), "type")
        return types[index](value, at)

    return end


def _end_of_items(item: _End) -> _End:
    def end(value: bytes, at: int) -> int:
        count, at = _number(value, at)
        while count:
            if count < 0:  # and in how many bytes
                at = _number(value, at)[1]
            for _ in range(min(abs(count), len(value) + 1)):  # each has a byte or more
                at = item(value, at)
            count, at = _number(value, at)
        return at

    return end


def _end_of_text(value: bytes, at: int) -> int:
    length, at = _number(value, at)
    if length < 0:
        raise ValueError(f"it has a text of {length} bytes")
    return _inside(value, at + length)


def _inside(value: bytes, at: int) -> int:
    if at > len(value):
        raise IndexError
    return at


def _index(value: bytes, at: int, many: int, what: str) -> tuple[int, int]:
    index, at = _number(value, at)
    if not 0 <= index < many:
        raise ValueError(f"it names {what} {index} of {many}")
    return index, at


def _number(value: bytes, at: int, bits: int = 64) -> tuple[int, int]:
    """Return a number in zigzag order, at most of so many bits, and where it ends."""
    byte = value[at]
    if byte < 0x80:  # most of them
        return (byte >> 1) ^ -(byte & 1), at + 1
    whole = shift = 0
    while True:
        if shift >= bits:
            raise ValueError(f"a number has more than {bits} bits")
        byte = value[at]
        at += 1
        whole |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (whole >> 1) ^ -(whole & 1), at


def _protobuf(schema: Schema) -> Callable[[bytes], Any]:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
    except ImportError:
        raise MissingExtra("Protobuf messages need protobuf: pip install 'vmfstream[protobuf]'") from None
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(one: Schema, name: str) -> Any:
        file = descriptor_pb2.FileDescriptorProto()
        try:
            file.ParseFromString(base64.b64decode(one.text, validate=True))
        except Exception:  # text of a .proto file, say
            raise NoSchema(
                "the registry does not give Protobuf schemas in serialised form (?format=serialized)"
            ) from None
        file.name = name
        for reference, other in one.references.items():
            if reference not in added:
                added.add(reference)
                add(other, reference)
        for needed in file.dependency:
            if needed not in added:
                added.add(needed)
                pool.AddSerializedFile(_well_known(needed))
        pool.AddSerializedFile(file.SerializeToString())
        return file

    try:
        file = add(schema, "value.proto")
    except (TypeError, KeyError) as error:
        raise NoSchema(f"it cannot be used: {str(error)[:200]}") from None
    types: dict[tuple[int, ...], Any] = {}

    def type_at(place: tuple[int, ...]) -> Any:
        if place not in types:
            inside, names = file.message_type, [file.package] * bool(file.package)
            for at in place:
                if at >= len(inside):
                    raise ValueError(f"it names message type {at} of {len(inside)}")
                names.append(inside[at].name)
                inside = inside[at].nested_type
            types[place] = message_factory.GetMessageClass(pool.FindMessageTypeByName(".".join(names)))
        return types[place]

    def read(value: bytes) -> Any:
        place, begin = _indexes(value)
        message = type_at(place).FromString(value[begin:])
        return json_format.MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=pool)

    return read


def _well_known(name: str) -> bytes:
    """Return the serialised descriptor of a file that comes with Protobuf."""
    from importlib import import_module

    from google.protobuf import descriptor_pool

    if name.startswith("google/protobuf/") and name.endswith(".proto"):
        try:
            import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
            return bytes(descriptor_pool.Default().FindFileByName(name).serialized_pb)
        except (ImportError, KeyError):
            pass
    raise NoSchema(f"it needs {name}, to which the registry gives no reference")


def _indexes(value: bytes) -> tuple[tuple[int, ...], int]:
    """Return the place of a message's type in its file, and where the message begins.

    The place is written as numbers in zigzag order: how many, then each; a single 0 stands for the first type.
    """
    at = 0

    def number() -> int:
        nonlocal at
        try:
            found, at = _number(value, at, bits=32)
        except (IndexError, ValueError):
            raise ValueError("the place of its message type cannot be read") from None
        return found

    count = number()
    if not 0 <= count <= _MOST_INDEXES:
        raise ValueError("the place of its message type cannot be read")
    place = tuple([number() for _ in range(count)]) or (0,)
    if min(place) < 0:
        raise ValueError("the place of its message type cannot be read")
    return place, at
