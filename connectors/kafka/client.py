"""Open clients of a Kafka cluster, and turn the library's errors into one sentence that says what to check."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import errors as kafka_errors

from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.errors import InputError, SourceAway

CONNECT_MS = 10_000
"""Milliseconds for which a client tries to reach its cluster."""

FETCH_BYTES = 16 * 2**20
"""About how many bytes the cluster sends at once."""

_REFUSED = "SaslAuthenticationFailed"
_LASTING = f"{_REFUSED}|Handshake failed|verify failed"
"""What the reasons say of failures that waiting does not end."""

_NO_ANSWER = kafka_errors.KafkaTimeoutError, kafka_errors.KafkaConnectionError
_LIBRARY = logging.getLogger("kafka")


class LastWarning(logging.Handler):
    """The last warning of the client library, which often gives the reason where its error does not."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        _LIBRARY.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, unless it only reports failed attempts; a refused login is not replaced by later messages."""
        message = record.getMessage()
        is_noise = re.search("Bootstrap failed|not ready; waiting|Connection lost|blocking the event loop", message)
        if not is_noise and (_REFUSED in message or _REFUSED not in self.last):
            self.last = message

    def take(self) -> str:
        """Return the last message since the last call, empty if there was none."""
        last, self.last = self.last, ""
        return last

    def close(self) -> None:
        """Stop listening to the library."""
        _LIBRARY.removeHandler(self)
        super().close()


@contextmanager
def explain_errors(address: TopicAddress, options: ClientOptions, topic: str = "") -> Iterator[LastWarning]:
    """Turn errors of the client library into an InputError that says what to check.

    It is a SourceAway if there is no answer, which may come later. ``address`` and ``options`` are those of the cluster
    that is asked; ``topic`` is named if it is known.
    """
    last_warning = LastWarning()
    try:
        yield last_warning
    except kafka_errors.KafkaError as error:
        reason = last_warning.take() or str(error)
        away = isinstance(error, _NO_ANSWER) and not re.search(_LASTING, reason)
        kind = SourceAway if away else InputError
        raise kind(options.cleaned(_explain(error, address, options, reason, topic))) from None
    except (OSError, ValueError, NotImplementedError) as error:  # certificates, missing decompressors
        raise InputError(options.cleaned(f"{address.url}: {error}")) from None
    finally:
        last_warning.close()


def open_consumer(address: TopicAddress, options: ClientOptions, **settings: Any) -> KafkaConsumer:
    """Open a consumer that joins no group and has its partitions and offsets assigned.

    ``settings`` of kafka-python go before those of ``options``. If the cluster at ``address`` cannot be used an error
    of kafka-python is raised, see `explain_errors`.
    """
    reading: dict[str, Any] = {
        "isolation_level": "read_committed",
        "fetch_max_bytes": FETCH_BYTES,
        **options.reading,
        **settings,
    }
    return _opened(KafkaConsumer, address, options, enable_auto_commit=False, auto_offset_reset="none",
                   allow_auto_create_topics=False, **reading)  # fmt: skip


def open_producer(address: TopicAddress, options: ClientOptions, **settings: Any) -> KafkaProducer:
    """Open an idempotent producer: the broker recognises repeated messages.

    Arguments and errors as in `open_consumer`.
    """
    return _opened(KafkaProducer, address, options, enable_idempotence=True, acks="all",
                   allow_auto_create_topics=False, **settings)  # fmt: skip


def open_admin(address: TopicAddress, options: ClientOptions) -> KafkaAdminClient:
    """Open a client that lists and makes topics."""
    return _opened(KafkaAdminClient, address, options)


def known_topics(address: TopicAddress, options: ClientOptions) -> dict[str, int]:
    """Return those topics of an address that exist, each with its number of partitions.

    Raises
    ------
    InputError
        If the cluster cannot be reached or refuses to answer.
    """
    with explain_errors(address, options):
        admin = open_admin(address, options)
        try:
            found = admin.describe_topics(list(address.topics))
        finally:
            admin.close()
    return {topic["name"]: len(topic["partitions"]) for topic in found if not topic["error_code"]}


def same_cluster(one: TopicAddress, other: TopicAddress, options: ClientOptions) -> bool:
    """Tell whether the addresses ``one`` and ``other`` are of the same cluster, which may go by several names.

    ``options`` are those of the clients that ask.

    Raises
    ------
    InputError
        If one of them cannot be reached or refuses to answer.
    """
    return bool(set(one.servers) & set(other.servers)) or _cluster(one, options) == _cluster(other, options)


def _cluster(address: TopicAddress, options: ClientOptions) -> str:
    with explain_errors(address, options):
        admin = open_admin(address, options)
        try:
            return str(admin.describe_cluster()["cluster_id"])
        finally:
            admin.close()


def make_topics(address: TopicAddress, options: ClientOptions, partitions: int) -> Sequence[str]:
    """Make those topics of an ``address`` that do not exist, with unlimited retention; return their names.

    ``partitions`` >= 1 are those of each; ``options`` are for the client. Kafka deletes by the time of messages: with a
    limit, replayed old documents would be deleted while being written.
    """
    missing = [name for name in address.topics if name not in known_topics(address, options)]
    if missing:
        with explain_errors(address, options):
            admin = open_admin(address, options)
            try:
                wish = {"num_partitions": partitions, "configs": {"retention.ms": "-1"}}
                admin.create_topics(dict.fromkeys(missing, wish), wait_for_metadata=True)
            finally:
                admin.close()
    return missing


def _opened(client: Any, address: TopicAddress, options: ClientOptions, **settings: Any) -> Any:
    timeouts = {"bootstrap_timeout_ms": CONNECT_MS, "reconnect_backoff_max_ms": 2000}
    given = timeouts | dict(options.shared) | settings
    return client(bootstrap_servers=list(address.servers), **given)


def _explain(
    error: kafka_errors.KafkaError, address: TopicAddress, options: ClientOptions, reason: str, topic: str
) -> str:
    name = topic or ",".join(address.topics)
    if _REFUSED in reason or _REFUSED in type(error).__name__:
        return f"{address.url} does not accept user and password (SASL): {reason}"
    if "sasl_mechanism" in options.shared and "socket disconnected" in reason:
        # brokers close the connection on a wrong password, at times before the client has read the reason
        return f"{address.url} closes the connection at login; it may not accept user and password (SASL): {reason}"
    if tls := _explain_tls(reason, options):
        return f"{address.url} {tls}"
    if isinstance(error, kafka_errors.AuthorizationError):
        kind = type(error).__name__
        return f"no right to use topic {name} of {address.url}: {kind}; ask for it, or log in as another user"
    if isinstance(error, kafka_errors.UnknownTopicOrPartitionError):
        return f"there is no topic {name} at {address.url}"
    if isinstance(error, kafka_errors.InvalidTimestampError):
        return (
            f"{address.url} refuses a message of topic {name} for its time, which lies too far from the broker's; "
            "check the times of the documents, the clocks of both machines, and the topic's limits for them"
        )
    if isinstance(error, _NO_ANSWER):
        return f"{address.url} does not answer: {reason}"
    return f"{address.url}: {type(error).__name__}: {reason}"


def _explain_tls(reason: str, options: ClientOptions) -> str:
    """Return what a refused handshake means, empty if ``reason`` is about something else."""
    found = re.search(r"certificate verify failed: (.*?)\.? \(_ssl", reason)
    if found:
        what = found[1]
        if "expired" in what or "not yet valid" in what:
            advice = "it must be renewed, or a clock is wrong"
        elif "mismatch" in what:
            advice = "use one of the names that it has"
        else:
            advice = "ssl_cafile names the file with the certificate of the authority that signed it"
        return f"has a certificate that is not accepted: {what}; {advice}"
    encrypted = "SSL" in str(options.shared.get("security_protocol", "")).upper()
    if encrypted and re.search(r"Handshake failed.*(EOF|WRONG_VERSION|RECORD_LAYER)", reason):
        return f"does not speak TLS at this port, as security_protocol asks: {reason}"
    if not encrypted and "socket disconnected" in reason:
        return f"closes the connection; it may ask for TLS, which security_protocol SSL or SASL_SSL begins: {reason}"
    return ""
