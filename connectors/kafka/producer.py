"""Producers of librdkafka: a message costs them a tenth of the processor time that it costs kafka-python."""

from __future__ import annotations

import logging
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.errors import InputError

_NAMES = {
    "client_id": "client.id",
    "client_dns_lookup": "client.dns.lookup",
    "connections_max_idle_ms": "connections.max.idle.ms",
    "reconnect_backoff_max_ms": "reconnect.backoff.max.ms",
    "request_timeout_ms": "request.timeout.ms",
    "security_protocol": "security.protocol",
    "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location",
    "ssl_keyfile": "ssl.key.location",
    "ssl_crlfile": "ssl.crl.location",
    "ssl_password": "ssl.key.password",
    "ssl_ciphers": "ssl.cipher.suites",
    "sasl_mechanism": "sasl.mechanism",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
    "sasl_kerberos_service_name": "sasl.kerberos.service.name",
}
_READING_ONLY = {"bootstrap_timeout_ms", "ssl_check_hostname"}  # the first has no counterpart, the second another form
_LOG = logging.getLogger("kafka.producer")
_PENDING_KIB = 16 * 1024  # KiB of messages that wait to be sent


def open_producer(address: TopicAddress, options: ClientOptions, **settings: Any) -> Producer:
    """Open an idempotent producer: the broker recognises repeated messages.

    Parameters
    ----------
    address : TopicAddress
    options : ClientOptions
    settings : further settings of librdkafka, with ``_`` for ``.``.

    Raises
    ------
    InputError
        If an option has no counterpart in librdkafka.
    confluent_kafka.KafkaException
        If librdkafka refuses a setting.
    """
    own = {
        "enable.idempotence": True,
        "partitioner": "murmur2_random",  # as Java's clients and kafka-python choose partitions
        "queue.buffering.max.kbytes": _PENDING_KIB,
        "delivery.report.only.error": True,
    }
    return Producer(own | _settings(address, options) | _dotted(settings), logger=_LOG)


def group_metadata(address: TopicAddress, options: ClientOptions, group: str) -> Any:
    """Return what a transaction that commits offsets of a ``group`` has to be told.

    ``address`` and ``options`` as in `open_producer`.
    """
    consumer = Consumer(_settings(address, options) | {"group.id": group}, logger=_LOG)
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


class BoundedSender:
    """Send messages, and wait for room where many have not been confirmed; memory stays bounded.

    Errors of messages are raised by a later call, at the latest by ``wait``.

    Parameters
    ----------
    producer : Producer
    patience : float
        Seconds without any confirmation after which a timeout is raised.
    """

    def __init__(self, producer: Producer, patience: float) -> None:
        self._producer, self._patience = producer, patience
        self._error: KafkaError | None = None

    def send(self, topic: str, value: bytes | None, **message: Any) -> None:
        """Send a ``value`` to a ``topic``; ``message`` may have ``key``, ``headers`` and ``timestamp`` (ms)."""
        since = time.monotonic()
        while True:
            try:
                self._producer.produce(topic, value, on_delivery=self._note, **message)
                break
            except BufferError:
                self._producer.poll(0.05)
                self._raise()
                if time.monotonic() - since > self._patience:
                    raise _timeout("messages were not accepted", self._patience) from None

    def wait(self) -> None:
        """Wait until all messages are confirmed."""
        left = self._producer.flush(self._patience)
        self._raise()
        if left:
            raise _timeout(f"{left:,} messages were not confirmed", self._patience)

    def _note(self, error: KafkaError | None, message: Any) -> None:
        self._error = self._error or error

    def _raise(self) -> None:
        if self._error is not None:
            raise KafkaException(self._error)


def _timeout(what: str, seconds: float) -> KafkaException:
    return KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT, f"{what} within {seconds:g} s"))


def _settings(address: TopicAddress, options: ClientOptions) -> dict[str, Any]:
    shared = options.shared
    if unknown := sorted(set(shared) - set(_NAMES) - _READING_ONLY):
        raise InputError(f"Kafka option {', '.join(unknown)} can be used for reading only, not for what is sent")
    given = {name: shared[ours] for ours, name in _NAMES.items() if ours in shared}
    if shared.get("ssl_check_hostname") is False:
        given["ssl.endpoint.identification.algorithm"] = "none"
    return {"bootstrap.servers": ",".join(address.servers), "reconnect.backoff.max.ms": 2000} | given


def _dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items() if value is not None}
