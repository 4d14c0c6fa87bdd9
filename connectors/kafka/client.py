"""Opening clients of a Kafka cluster, and saying in one sentence what is wrong with it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import errors as kafka_errors

from vmfstream.connectors.kafka.options import ClientOptions, Place
from vmfstream.errors import InputError

CONNECT_MS = 10_000
"""How long a client tries to reach its cluster before it gives up."""

FETCH_BYTES = 16 * 2**20
"""About how much the cluster sends at once."""

_REFUSED = "SaslAuthenticationFailed"
_LIBRARY = logging.getLogger("kafka")


class Complaints(logging.Handler):
    """Keeps the last warning of the client library, which often knows the reason where its error does not."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        _LIBRARY.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, unless it only tells that others were in vain; a refused password outlasts what follows."""
        message = record.getMessage()
        vain = re.search("Bootstrap failed|not ready; waiting|Connection lost|blocking the event loop", message)
        if not vain and (_REFUSED in message or _REFUSED not in self.last):
            self.last = message

    def take(self) -> str:
        """Return the last message since the last call, empty if there was none."""
        last, self.last = self.last, ""
        return last

    def close(self) -> None:
        """Listen no more."""
        _LIBRARY.removeHandler(self)
        super().close()


@contextmanager
def explained(place: Place, options: ClientOptions, topic: str = "") -> Iterator[Complaints]:
    """Turn errors of the client library into an InputError that says what to look at."""
    complaints = Complaints()
    try:
        yield complaints
    except kafka_errors.KafkaError as error:
        raise InputError(options.cleaned(_explain(error, place, options, complaints.take(), topic))) from None
    except (OSError, ValueError, NotImplementedError) as error:  # certificates, missing decompressors
        raise InputError(options.cleaned(f"{place.url}: {error}")) from None
    finally:
        complaints.close()


def open_consumer(place: Place, options: ClientOptions, **settings: Any) -> KafkaConsumer:
    """Open a reading client that belongs to no group and is told where to read."""
    reading: dict[str, Any] = {
        "isolation_level": "read_committed",
        "fetch_max_bytes": FETCH_BYTES,
        **options.reading,
        **settings,
    }
    return _opened(KafkaConsumer, place, options, enable_auto_commit=False, auto_offset_reset="none",
                   allow_auto_create_topics=False, **reading)  # fmt: skip


def open_producer(place: Place, options: ClientOptions, **settings: Any) -> KafkaProducer:
    """Open a writing client whose repeats the broker recognises."""
    return _opened(KafkaProducer, place, options, enable_idempotence=True, acks="all",
                   allow_auto_create_topics=False, **settings)  # fmt: skip


def open_admin(place: Place, options: ClientOptions) -> KafkaAdminClient:
    """Open a client that looks at topics and makes them."""
    return _opened(KafkaAdminClient, place, options)


def known_topics(place: Place, options: ClientOptions) -> dict[str, int]:
    """Return the topics of a place that exist, with their numbers of partitions.

    Raises
    ------
    InputError
        If the cluster cannot be reached or refuses to answer.
    """
    with explained(place, options):
        admin = open_admin(place, options)
        try:
            found = admin.describe_topics(list(place.topics))
        finally:
            admin.close()
    return {topic["name"]: len(topic["partitions"]) for topic in found if not topic["error_code"]}


def make_topics(place: Place, options: ClientOptions, partitions: int) -> Sequence[str]:
    """Make those topics of a place that do not exist, to be kept for ever; return their names.

    Retention goes by the time of messages: a replay of old documents would be deleted while it is written.
    """
    missing = [name for name in place.topics if name not in known_topics(place, options)]
    if missing:
        with explained(place, options):
            admin = open_admin(place, options)
            try:
                wish = {"num_partitions": partitions, "configs": {"retention.ms": "-1"}}
                admin.create_topics(dict.fromkeys(missing, wish), wait_for_metadata=True)
            finally:
                admin.close()
    return missing


def _opened(client: Any, place: Place, options: ClientOptions, **settings: Any) -> Any:
    timeouts = {"bootstrap_timeout_ms": CONNECT_MS, "reconnect_backoff_max_ms": 2000}
    given = timeouts | dict(options.shared) | settings
    return client(bootstrap_servers=list(place.servers), **given)


def _explain(error: kafka_errors.KafkaError, place: Place, options: ClientOptions, complaint: str, topic: str) -> str:
    said = f"{complaint or error}"
    name = topic or ",".join(place.topics)
    if _REFUSED in said or _REFUSED in type(error).__name__:
        return f"{place.url} does not accept user and password (SASL): {said}"
    if "sasl_mechanism" in options.shared and "socket disconnected" in said:
        # brokers hang up on a wrong password, at times before the client has read why
        return f"{place.url} hangs up when we log in; it may not accept user and password (SASL): {said}"
    if isinstance(error, kafka_errors.AuthorizationError):
        return f"no right to use topic {name} of {place.url}: {type(error).__name__}; ask for it, or log in as another"
    if isinstance(error, kafka_errors.UnknownTopicOrPartitionError):
        return f"there is no topic {name} at {place.url}"
    if isinstance(error, kafka_errors.KafkaTimeoutError | kafka_errors.KafkaConnectionError):
        return f"{place.url} does not answer: {said}"
    return f"{place.url}: {type(error).__name__}: {said}"
