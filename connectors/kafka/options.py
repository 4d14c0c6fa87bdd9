"""The address of Kafka topics, and client options from a TOML file and the environment; secrets are never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from vmfstream.errors import InputError

PREFIX = "VMFSTREAM_KAFKA_"
"""Environment variables with this prefix set client options: ``VMFSTREAM_KAFKA_SASL_PLAIN_PASSWORD=...``."""

_SHARED = {
    "client_id": str,
    "client_dns_lookup": str,
    "connections_max_idle_ms": int,
    "proxy_url": str,
    "reconnect_backoff_max_ms": int,
    "request_timeout_ms": int,
    "bootstrap_timeout_ms": int,
    "security_protocol": str,
    "ssl_check_hostname": bool,
    "ssl_cafile": str,
    "ssl_certfile": str,
    "ssl_keyfile": str,
    "ssl_crlfile": str,
    "ssl_password": str,
    "ssl_ciphers": str,
    "sasl_mechanism": str,
    "sasl_plain_username": str,
    "sasl_plain_password": str,
    "sasl_kerberos_service_name": str,
    "sasl_kerberos_domain_name": str,
}
_READING = {
    "client_rack": str,
    "check_crcs": bool,
    "fetch_max_bytes": int,
    "fetch_max_wait_ms": int,
    "fetch_min_bytes": int,
    "isolation_level": str,
    "max_partition_fetch_bytes": int,
    "receive_buffer_bytes": int,
}
_SECRET = re.compile("password|proxy_url")  # a proxy's URL may hold a password
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_WISHES = {  # options that ask for TLS or a login, and what the protocol is called then
    **dict.fromkeys(("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_crlfile"), "SSL"),
    "sasl_mechanism": "SASL",
}
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True)
class TopicAddress:
    """Servers of a cluster and topics on it: ``kafka://host:9092,other:9092/news,posts``."""

    servers: tuple[str, ...]
    topics: tuple[str, ...]

    @property
    def url(self) -> str:
        """The address as a URL."""
        return f"kafka://{','.join(self.servers)}/{','.join(self.topics)}"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Options of the client library; passwords are shown neither in its repr nor in errors.

    Attributes
    ----------
    shared : options of every client (security, timeouts).
    reading : options of consumers only.
    """

    shared: Mapping[str, Any] = field(default_factory=dict, repr=False)
    reading: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def cleaned(self, text: str) -> str:
        """Return a text with all passwords replaced by ``***``."""
        for name, value in self.shared.items():
            if _SECRET.search(name) and value:
                text = text.replace(str(value), "***")
        return text


def parse_address(url: str) -> TopicAddress:
    """Read ``kafka://host[:port][,host...]/topic[,topic...]``.

    Raises
    ------
    InputError
        If a host or topic is missing, a topic's name cannot be one, or the URL holds a password, which would be stored
        in the run file and shown in lists of processes.
    """
    expected = "expected kafka://host:9092/topic, or several hosts and topics with commas"
    try:
        parts = urlsplit(url)
    except ValueError:  # whose message may quote a password
        raise InputError(f"{expected}; the host of the given one is no name and no address") from None
    if "@" in unquote(parts.netloc):
        raise InputError(
            "a kafka:// URL must not hold a user or a password: put them into the file of --config "
            f"or into {PREFIX}SASL_PLAIN_USERNAME and {PREFIX}SASL_PLAIN_PASSWORD"
        )
    servers = tuple(_server(name.strip(), _shown(url)) for name in parts.netloc.split(",") if name.strip())
    topics = tuple(dict.fromkeys(unquote(name) for name in parts.path.strip("/").split(",") if name))
    if parts.scheme.lower() != "kafka" or not servers or not topics or parts.query or parts.fragment:
        raise InputError(f"{expected}, got {_shown(url)}")
    for topic in topics:
        check_topic(topic)
    return TopicAddress(servers, topics)


def check_topic(name: str) -> str:
    """Return the name of a topic unchanged; InputError if Kafka does not allow it."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name) or name in (".", ".."):
        raise InputError(f"a topic's name consists of letters, digits, '.', '_' and '-', got {_shown(name)!r}")
    return name


def _shown(given: str) -> str:
    """Return what may be shown of an address or a topic's name: from a mark of options or a blank on nothing is."""
    return re.sub(r"([\s;&?#=%]).+", r"\1***", given.strip(), flags=re.DOTALL)


def read_options(file: str | Path | None = None, environment: Mapping[str, str] | None = None) -> ClientOptions:
    """Read client options from the table ``[kafka]`` of a TOML file and from the environment, which has priority.

    Parameters
    ----------
    file : str or Path, optional
        The TOML file.
    environment : mapping of str to str, optional
        By default that of the process; only names that begin with ``PREFIX`` are read.

    Raises
    ------
    InputError
        If the file cannot be read, an option is unknown or of the wrong kind, a file that one names cannot be read, or
        they ask for TLS or a login that ``security_protocol`` does not have, or the other way round; values that may be
        secret are not shown.
    """
    given = dict(_from_file(Path(file)) if file is not None else {})
    for name, value in sorted((os.environ if environment is None else environment).items()):
        if name.startswith(PREFIX):
            given[name.removeprefix(PREFIX).lower()] = value
    known = _SHARED | _READING
    if unknown := sorted(set(given) - set(known)):
        raise InputError(f"unknown Kafka option {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    checked = {name: _typed(name, value, known[name]) for name, value in given.items()}
    shared = {name: value for name, value in checked.items() if name in _SHARED}
    _check_security(shared)
    return ClientOptions(
        shared,
        {name: value for name, value in checked.items() if name in _READING},
    )


def _server(name: str, url: str) -> str:
    """Check a host with or without a port; ``url`` is shown."""
    host, colon, port = name.rpartition(":")
    if not colon or name.endswith("]"):
        host, port = name, "9092"
    if not re.fullmatch(r"[\w.-]*|\[[\da-fA-F:.]+(%\w+)?\]", host):
        raise InputError(f"expected hosts as letters, digits, '.', '_' and '-', or an IP address, got another in {url}")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        given = repr(port) if port.isdecimal() else "something else"  # which may be a password
        raise InputError(f"expected a port from 1 to 65535 after {host or 'a host'}, got {given}, in {url}")
    return f"{host}:{port}"


def _from_file(path: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("kafka")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # the message may quote the line, which may hold a password
        where = re.search(r"\(at .*\)", str(error))
        raise InputError(f"{path} is no TOML{' ' + where[0] if where else ''}") from None
    if not isinstance(table, dict):
        raise InputError(f"{path} has no table [kafka]")
    return table


def _check_security(shared: Mapping[str, Any]) -> None:
    """Raise InputError for options of security of which one would be passed over, or that cannot work."""
    protocol = str(shared.get("security_protocol", "PLAINTEXT")).upper()
    if protocol not in _PROTOCOLS:
        raise InputError(f"Kafka option security_protocol: expected one of {', '.join(_PROTOCOLS)}, got {protocol!r}")
    for name, asked in _WISHES.items():
        if name in shared and asked not in protocol:
            good = " or ".join(one for one in _PROTOCOLS if asked in one)
            raise InputError(f"Kafka option {name} needs security_protocol {good}; with {protocol} it would be ignored")
        if name in shared and name.endswith("file"):
            try:
                Path(shared[name]).open("rb").close()
            except OSError as error:
                raise InputError(f"Kafka option {name}: cannot read {shared[name]}: {error.strerror}") from error
    needed = ["sasl_mechanism"] if "SASL" in protocol else []
    if str(shared.get("sasl_mechanism", "")).upper().startswith(("PLAIN", "SCRAM")):
        needed += ["sasl_plain_username", "sasl_plain_password"]
    if lacking := [name for name in needed if name not in shared]:
        raise InputError(f"Kafka option security_protocol {protocol} needs {' and '.join(lacking)} too")


def _typed(name: str, value: object, kind: type) -> object:
    if isinstance(value, str) and kind is not str:
        value = _TRUTHS.get(value.lower(), value) if kind is bool else int(value) if value.isdecimal() else value
    if type(value) is not kind:
        expected = {str: "a text", int: "a whole number", bool: "true or false"}[kind]
        raise InputError(
            f"Kafka option {name}: expected {expected}" + ("" if _SECRET.search(name) else f", got {value!r}")
        )
    return value
