"""URLs and options of Kafka: what is understood, what is refused, and that passwords stay secret."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    file.write_text('[kafka]\nsecurity_protocol = "SASL_SSL"\nssl_check_hostname = false\nfetch_max_bytes = 5\n')
    found = read_options(file, {PREFIX + "SASL_PLAIN_PASSWORD": "p", PREFIX + "FETCH_MAX_BYTES": "7", "OTHER": "x"})
    assert found.shared == {
        "security_protocol": "SASL_SSL",
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
