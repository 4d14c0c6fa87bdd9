"""URLs and options of Kafka: what is understood, what is refused, and that passwords stay secret."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from kafka.errors import InvalidTimestampError, KafkaConnectionError

from vmfstream.connectors.kafka import client
from vmfstream.connectors.kafka.client import explain_errors
from vmfstream.connectors.kafka.options import PREFIX, ClientOptions, TopicAddress, parse_address, read_options
from vmfstream.errors import InputError


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("kafka://h:9092/t", TopicAddress(("h:9092",), ("t",))),
        ("kafka://h/t", TopicAddress(("h:9092",), ("t",))),
        ("kafka://a:1,b:2/t,u,t", TopicAddress(("a:1", "b:2"), ("t", "u"))),
        ("kafka://[::1]:9093/t.x_y-z", TopicAddress(("[::1]:9093",), ("t.x_y-z",))),
        ("kafka://[::1]/t", TopicAddress(("[::1]:9092",), ("t",))),
        ("kafka://broker_1.größe-2/t", TopicAddress(("broker_1.größe-2:9092",), ("t",))),
    ],
)
def test_addresses(url: str, address: TopicAddress) -> None:
    assert parse_address(url) == address
    assert parse_address(address.url) == address


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("kafka://h:9092", "expected kafka://host:9092/topic"),
        ("kafka:///t", "expected kafka://host:9092/topic"),
        ("kafka://h/t?x=1", "expected kafka://host:9092/topic"),
        ("kafka://h:hidden/t", "expected a port from 1 to 65535 after h, got something else"),
        ("kafka://h:99999/t", "expected a port from 1 to 65535 after h, got '99999', in kafka://h:99999/t"),
        ("kafka://h/a%20b", "letters, digits"),
        ("kafka://h/t;hidden", r"letters, digits, .*, got 't;\*\*\*'$"),
        ("kafka://h/t%253Bhidden", r"letters, digits, .*, got 't%\*\*\*'$"),
        ("kafka://h/t?x=1 hidden", r"got kafka://h/t\?\*\*\*$"),
        ("kafka://token=hidden/t", "expected hosts as letters, digits"),
        ("kafka://h%20hidden/t", "expected hosts as letters, digits"),
        ("kafka://[hidden]:9092/t", "the host of the given one is no name"),
        ("kafka://me%3Ahidden%40h/t", "must not hold a user or a password"),
        ("kafka://h/..", "letters, digits"),
        ("kafka://me:hidden@h/t", "must not hold a user or a password"),
    ],
)
def test_what_is_no_place(url: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        parse_address(url)
    assert "hidden" not in str(error.value)


def test_options_of_file_and_environment(tmp_path: Path) -> None:
    file = tmp_path / "k.toml"
    file.write_text(
        '[kafka]\nsecurity_protocol = "SASL_SSL"\nsasl_mechanism = "PLAIN"\nsasl_plain_username = "me"\n'
        "ssl_check_hostname = false\nfetch_max_bytes = 5\n",
        encoding="utf-8-sig",
    )
    found = read_options(file, {PREFIX + "SASL_PLAIN_PASSWORD": "p", PREFIX + "FETCH_MAX_BYTES": "7", "OTHER": "x"})
    assert found.shared == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "ssl_check_hostname": False,
        "sasl_plain_password": "p",
    }
    assert found.reading == {"fetch_max_bytes": 7}
    assert read_options(None, {}).shared == {}
    assert read_options(None, {PREFIX + "SSL_CHECK_HOSTNAME": "No"}).shared == {"ssl_check_hostname": False}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[other]\n", r"has no table \[kafka\]"),
        ("[kafka]\nsasl_plain_password = hunter2\n", r"is no TOML \(at line 2"),
        ("[kafka]\ngroup_id = 'hunter2'\n", "unknown Kafka option group_id; known are bootstrap_timeout_ms"),
        ("[kafka]\nssl_password = 7777\n", "ssl_password: expected a text$"),
        ("[kafka]\nfetch_max_bytes = 'many'\n", "fetch_max_bytes: expected a whole number, got 'many'"),
        ("[kafka]\nssl_check_hostname = 'maybe'\n", "ssl_check_hostname: expected true or false, got 'maybe'"),
        ("[kafka]\nsecurity_protocol = 'TLS'\n", "security_protocol: expected one of PLAINTEXT, SSL, .*, got 'TLS'"),
        ("[kafka]\nssl_cafile = 'x.pem'\n", "ssl_cafile needs security_protocol SSL or SASL_SSL; with PLAINTEXT it"),
        (
            "[kafka]\nsasl_mechanism = 'PLAIN'\nsasl_plain_password = 'hunter2'\nsecurity_protocol = 'SSL'\n",
            "sasl_mechanism needs security_protocol SASL_PLAINTEXT or SASL_SSL; with SSL it",
        ),
        ("[kafka]\nsecurity_protocol = 'SASL_SSL'\n", "security_protocol SASL_SSL needs sasl_mechanism too"),
        (
            "[kafka]\nsecurity_protocol = 'SASL_SSL'\nsasl_mechanism = 'SCRAM-SHA-512'\n"
            "sasl_plain_password = 'hunter2'\n",
            "security_protocol SASL_SSL needs sasl_plain_username too",
        ),
        (
            "[kafka]\nsecurity_protocol = 'SSL'\nssl_cafile = '/no/x.pem'\n",
            "ssl_cafile: cannot read /no/x.pem: No such",
        ),
    ],
)
def test_options_that_are_none(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "k.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=says) as error:
        read_options(file, {})
    assert "hunter2" not in str(error.value)
    assert "7777" not in str(error.value)
    with pytest.raises(InputError, match="cannot read"):
        read_options(tmp_path / "none.toml", {})


def test_passwords_are_never_shown() -> None:
    options = ClientOptions({"sasl_plain_password": "hunter2", "proxy_url": "socks5://u:pw@h", "client_id": "me"})
    assert "hunter2" not in repr(options)
    assert options.cleaned("hunter2 via socks5://u:pw@h by me") == "*** via *** by me"


@pytest.mark.parametrize(
    ("protocol", "reason", "says"),
    [
        ("SSL", "self-signed certificate", "not accepted: self-signed certificate; ssl_cafile names the file"),
        ("SSL", "certificate has expired", "not accepted: certificate has expired; it must be renewed, or a clock"),
        ("SSL", "Hostname mismatch, certificate is not valid for 'h'.", "not valid for 'h'; use one of the names"),
        ("SSL", "EOF", "does not speak TLS at this port"),
        ("PLAINTEXT", "closed", "closes the connection; it may ask for TLS"),
        ("PLAINTEXT", "", "does not answer: nobody there"),
    ],
)
def test_refused_handshakes_are_explained(protocol: str, reason: str, says: str) -> None:
    said = {
        "EOF": "Handshake failed: [SSL: UNEXPECTED_EOF] EOF occurred in violation of protocol (_ssl.c:1006)",
        "closed": "KafkaConnectionError: socket disconnected (backoff 2.08 secs)",
        "": "nobody there",
    }.get(reason, f"Handshake failed: [SSL: X] certificate verify failed: {reason} (_ssl.c:1006) (backoff 1.65 secs)")

    def refuse() -> None:
        with explain_errors(parse_address("kafka://h/t"), ClientOptions({"security_protocol": protocol})):
            logging.getLogger("kafka").warning(said)
            raise KafkaConnectionError

    with pytest.raises(InputError, match=f"^kafka://h:9092/t .*{says}"):
        refuse()


def test_a_message_refused_for_its_time_says_what_to_check() -> None:
    def refuse() -> None:
        with explain_errors(parse_address("kafka://h/t"), ClientOptions({})):
            raise InvalidTimestampError

    with pytest.raises(InputError, match=r"topic t for its time.* clocks of both machines"):
        refuse()


def test_a_cluster_is_known_by_any_of_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    class Admin:
        def __init__(self, address: TopicAddress) -> None:
            self.cluster = {"one:9092": "a", "uno:9092": "a", "two:9092": "b"}[address.servers[0]]

        def describe_cluster(self) -> dict[str, str]:
            return {"cluster_id": self.cluster}

        def close(self) -> None:
            pass

    monkeypatch.setattr(client, "open_admin", lambda address, options: Admin(address))
    one, uno, two, both = map(parse_address, (f"kafka://{name}/news" for name in ("one", "uno", "two", "two,one")))
    found = [client.same_cluster(one, other, ClientOptions()) for other in (one, uno, two, both)]
    assert found == [True, True, False, True]
