"""Options of the client that reads, as the client that sends knows them."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from vmfstream.connectors.kafka import producer
from vmfstream.connectors.kafka.client import explain_errors
from vmfstream.connectors.kafka.options import _SHARED, ClientOptions, TopicAddress
from vmfstream.connectors.kafka.producer import BoundedSender, open_producer
from vmfstream.errors import InputError

ADDRESS = TopicAddress(("127.0.0.1:1", "127.0.0.1:2"), ("news",))


def test_every_option_is_passed_on_or_refused() -> None:
    refused = {"proxy_url", "sasl_kerberos_domain_name"}
    assert set(_SHARED) == {*vars(producer)["_NAMES"], *vars(producer)["_READING_ONLY"]} | refused
    for name in refused:
        with pytest.raises(InputError, match=rf"{name} can be used for reading only"):
            open_producer(ADDRESS, ClientOptions({name: "secret.example"}))


def test_options_reach_the_client_that_sends() -> None:
    given = {
        "client_id": "c",
        "client_dns_lookup": "use_all_dns_ips",
        "connections_max_idle_ms": 90_000,
        "reconnect_backoff_max_ms": 1500,
        "request_timeout_ms": 4000,
        "security_protocol": "SASL_SSL",
        "ssl_check_hostname": False,
        "ssl_ciphers": "DEFAULT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "u",
        "sasl_plain_password": "p",
    }
    found = vars(producer)["_settings"](ADDRESS, ClientOptions(given))
    assert found["bootstrap.servers"] == "127.0.0.1:1,127.0.0.1:2"
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    assert {found["sasl.username"], found["sasl.password"], found["reconnect.backoff.max.ms"]} == {"u", "p", 1500}
    assert isinstance(open_producer(ADDRESS, ClientOptions(given), linger_ms=5, compression_type="zstd"), Producer)


def test_a_refused_setting_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError, match="nonsense"), explain_errors(ADDRESS, ClientOptions()):
        open_producer(ADDRESS, ClientOptions({"security_protocol": "nonsense"}))


def test_nobody_answers() -> None:
    options = ClientOptions()
    sender = BoundedSender(open_producer(ADDRESS, options, message_timeout_ms=300), 0.2)
    sender.send("news", b"x")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:2/news does not answer"), explain_errors(ADDRESS, options):
        sender.wait()


def test_memory_is_bounded() -> None:
    few = open_producer(ADDRESS, ClientOptions(), queue_buffering_max_messages=3)
    sender = BoundedSender(few, 0.2)
    for _ in range(3):
        sender.send("news", b"x")
    with pytest.raises(KafkaException, match="were not accepted within 0"):
        sender.send("news", b"x")
    few.purge()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (KafkaError.SASL_AUTHENTICATION_FAILED, "does not accept user and password"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "no right to use topic news"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "there is no topic news"),
        (KafkaError.INVALID_TXN_STATE, "INVALID_TXN_STATE: why"),
    ],
)
def test_errors_of_the_client_that_sends_say_what_to_check(code: int, says: str) -> None:
    with pytest.raises(InputError, match=says), explain_errors(ADDRESS, ClientOptions()):
        raise KafkaException(KafkaError(code, "why"))
