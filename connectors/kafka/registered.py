"""Topics whose messages are read by schemas of a registry; while it does not answer, messages wait."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vmfstream.connectors.codecs import KEY, refused
from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.connectors.kafka.ranges import KafkaRanges
from vmfstream.connectors.kafka.registry import RegistryAway, SchemaRegistry
from vmfstream.connectors.kafka.schemas import is_framed, unframed
from vmfstream.connectors.kafka.source import KafkaSource
from vmfstream.errors import InputError
from vmfstream.records import Message, Position, Range

log = logging.getLogger(__name__)

_RETRY_AFTER = 1.0  # seconds between two questions to a registry that does not answer
_WARNING_INTERVAL = 30.0  # seconds between two warnings


class RegisteredSource(KafkaSource):
    """A `KafkaSource` of a ``url`` whose messages become mappings of their fields, by schemas of a ``registry``.

    A message that cannot be read goes on with the reason, which becomes that of its rejection. Messages stay here while
    the registry does not answer. Further ``options`` and errors are those of `KafkaSource`; the registry is asked at
    once.
    """

    def __init__(self, url: str, registry: SchemaRegistry, **options: Any) -> None:
        if options.get("format", "json") != "json":
            raise InputError("--schema-registry: expected --format json with it, because messages name their format")
        registry.check()
        self._registry, self._retry_at, self._told_at = registry, 0.0, float("-inf")
        self._unread: list[Message] = []
        super().__init__(url, **options)

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` messages with their fields.

        Errors as of `KafkaSource.poll`, and `InputError` if the registry refuses access.
        """
        if not self._unread:
            self._unread = list(super().poll(limit, timeout))
        elif time.monotonic() < self._retry_at:
            time.sleep(min(timeout, max(self._retry_at - time.monotonic(), 0.0)))
            return []
        messages: list[Message] = []
        try:
            for message in self._unread[:limit]:
                messages.append(_with_fields(message, self._registry))
        except RegistryAway as error:
            self._retry_at = time.monotonic() + _RETRY_AFTER
            if time.monotonic() - self._told_at > _WARNING_INTERVAL:
                self._told_at = time.monotonic()
                log.warning("the schema registry %s; waiting", error)
        del self._unread[: len(messages)]
        return messages

    def seek(self, position: Position) -> None:
        """Continue with these offsets. Parameters and errors as of `KafkaSource.seek`."""
        self._unread.clear()
        super().seek(position)

    def reader(self) -> KafkaRanges:
        """Return a reader of ranges of these topics, for other processes."""
        return RegisteredRanges(self._registry, *self._reading())


class RegisteredRanges(KafkaRanges):
    """`KafkaRanges` whose messages become mappings of their fields, by schemas of a ``registry``.

    It waits while the registry does not answer. ``address``, ``options`` and ``how`` are those of `KafkaRanges`.
    """

    def __init__(self, registry: SchemaRegistry, address: TopicAddress, options: ClientOptions, *how: Any) -> None:
        super().__init__(address, options, *how)
        self._registry = registry

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        """Return messages of a range with their fields. Parameters and errors as of `KafkaRanges.read`."""
        messages, end = super().read(wanted, limit)
        found: list[Message] = []
        while len(found) < len(messages):
            try:
                found.append(_with_fields(messages[len(found)], self._registry))
            except RegistryAway as error:
                log.warning("the schema registry %s; waiting", error)
                time.sleep(_RETRY_AFTER)
        return found, end


def _with_fields(message: Message, registry: SchemaRegistry) -> Message:
    """Return a message with what its bytes hold, or with the reason why they cannot be read."""
    if message.oversized is not None or not isinstance(message.value, bytes):
        return message
    try:
        value = unframed(message.value, registry)
        attached = message.attached and _with_key(message.attached, registry)
    except ValueError as reason:
        return replace(message, value=refused(str(reason), message.value))
    if not isinstance(value, dict | bytes):
        kind = type(value).__name__
        value = refused(f"no record: its schema is of a single value, {kind}", message.value)
    return replace(message, value=value, attached=attached)


def _with_key(attached: Mapping[str, Any], registry: SchemaRegistry) -> Mapping[str, Any]:
    """Return what is attached with the key as its schema says, if it names one."""
    key = attached.get(KEY)
    if not isinstance(key, bytes) or not is_framed(key):
        return attached
    return {**attached, KEY: unframed(key, registry)}
