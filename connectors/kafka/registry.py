"""`SchemaRegistry`: the schemas of messages, asked of a registry with Confluent's API once for each schema."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, urlopen

from vmfstream.errors import InputError

TIMEOUT = 5.0
"""Seconds that one request may take."""

_LARGEST = 8 * 2**20  # bytes of an answer
_NOT_FOUND = 40403  # the registry's own code, which tells an unknown schema from a wrong address
_FORGET_AFTER = 60.0  # seconds after which an id that was unknown is asked for again
_MOST_UNKNOWN = 10_000  # ids remembered as unknown
_DEEPEST = 50  # schemas that refer to schemas
_TEMPORARY = {408, 425, 429}


class RegistryAway(Exception):
    """The registry does not answer now; the same question may be answered later."""


class NoSchema(ValueError):
    """Why there is no schema that a message could be read by."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema with those that it refers to, by the names that it refers to them with.

    ``kind`` is AVRO, PROTOBUF or JSON; ``text`` is as the registry gives it, of PROTOBUF a serialised
    FileDescriptorProto in Base64.
    """

    kind: str
    text: str
    references: Mapping[str, Schema]


class SchemaRegistry:
    """Ask a schema registry for schemas; what was read is kept.

    It is pickled for workers, user and password included.

    Parameters
    ----------
    url : str
        ``http://host:8081`` or ``https://user:password@host/path``.
    timeout : float
        Seconds for one request.

    Raises
    ------
    InputError
        If the URL is wrong; user and password are not shown.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            parts, host, port = urlsplit(""), None, None
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
            raise InputError(f"--schema-registry: expected http://host:8081 or https://user:password@host, got {url}")
        host = f"[{host}]" if ":" in host else host
        self.address = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
        self._login: str | None = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._login = "Basic " + base64.b64encode(pair.encode()).decode()
        self._timeout = timeout
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("address", "_login", "_timeout")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def check(self) -> None:
        """Ask which kinds of schema there are.

        Raises
        ------
        InputError
            If nobody answers, refuses, or is no schema registry.
        """
        try:
            kinds = self._ask("/schemas/types")
        except RegistryAway as error:
            raise InputError(f"the schema registry {error}") from None
        except NoSchema:
            kinds = None
        if not isinstance(kinds, list):
            raise InputError(f"{self.address} answers, but not as a schema registry does; is a path missing?")

    def reader(self, id: int, made: Callable[[Schema], Callable[[bytes], Any]]) -> Callable[[bytes], Any]:
        """Return what reads messages of a schema; ``made`` makes it of the schema, once.

        Raises
        ------
        NoSchema
            If the registry has no such schema, or none that can be read.
        RegistryAway
            If it does not answer.
        InputError
            If it refuses access.
        """
        with self._lock:
            known = self._readers.get(id)
            if known is not None:
                return known
            reason, since = self._unknown.get(id, ("", 0.0))
            if reason and time.monotonic() - since < _FORGET_AFTER:
                raise NoSchema(reason)
            try:
                found = made(self._schema(self._ask(f"/schemas/ids/{id}"), f"/schemas/ids/{id}", 0))
            except NoSchema as error:
                if len(self._unknown) == _MOST_UNKNOWN:
                    self._unknown.clear()
                self._unknown[id] = f"schema {id}: {error}", time.monotonic()
                raise NoSchema(f"schema {id}: {error}") from None
            self._readers[id] = found
            return found

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._readers: dict[int, Callable[[bytes], Any]] = {}
        self._unknown: dict[int, tuple[str, float]] = {}

    def _schema(self, answer: Any, path: str, depth: int) -> Schema:
        """Make a schema of an answer, and ask for those that it refers to."""
        try:
            kind, text = answer.get("schemaType", "AVRO"), answer["schema"]
            named = [(one["name"], one["subject"], int(one["version"])) for one in answer.get("references") or ()]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NoSchema(f"{self.address} answers {path} otherwise than a schema registry") from None
        if depth == _DEEPEST:
            raise NoSchema(f"it refers to schemas that refer to others {_DEEPEST} times")
        if kind == "PROTOBUF":
            text = self._ask(f"{path}?format=serialized")["schema"]
        references = {}
        for name, subject, version in named:
            place = f"/subjects/{quote(subject, safe='')}/versions/{version}"
            references[name] = self._schema(self._ask(place), place, depth + 1)
        return Schema(kind, text, references)

    def _ask(self, path: str) -> Any:
        """Return the answer to a GET request, from JSON."""
        request = Request(self.address + path, headers={"Accept": "application/vnd.schemaregistry.v1+json"})
        if self._login is not None:
            request.add_unredirected_header("Authorization", self._login)
        try:
            with urlopen(request, timeout=self._timeout) as answer:
                body = answer.read(_LARGEST + 1)
        except HTTPError as error:
            with error:
                self._refuse(error, path)
        except (URLError, HTTPException, OSError) as error:
            raise RegistryAway(f"{self.address} does not answer: {getattr(error, 'reason', error)}") from None
        if len(body) > _LARGEST:
            raise NoSchema(f"the registry's answer has more than {_LARGEST:,} bytes")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise NoSchema(f"{self.address} answers {path} otherwise than a schema registry") from None

    def _refuse(self, error: HTTPError, path: str) -> None:
        """Raise what an HTTP status means."""
        if error.code >= 500 or error.code in _TEMPORARY:
            raise RegistryAway(f"{self.address} does not answer: {error.code} {error.reason}") from None
        if error.code in (401, 403):
            raise InputError(f"{self.address} does not accept user and password: {error.code} {error.reason}") from None
        try:
            told = json.loads(error.read(_LARGEST))
            code, reason = told["error_code"], str(told["message"])[:200]
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            code, reason = 0, str(error.reason)
        if code == _NOT_FOUND:
            raise NoSchema(f"the registry does not know it: {reason}") from None
        raise NoSchema(f"the registry answers {error.code} to {path}: {reason}") from None
