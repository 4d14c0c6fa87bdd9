"""Sources of documents, opened by URL.

To add a source, touch three files:

1. ``connectors/NAME.py`` (a folder ``connectors/NAME/`` if it is large): a class with the methods of
   `vmfstream.protocols.Source`. `vmfstream.connectors.memory` is the smallest example.
2. This file: a function ``_open_NAME`` that imports the class when it is called, so that its library is needed only
   then, and a line in ``SCHEMES``.
3. ``tests/unit/connectors/test_sources.py``: one more way to make a source; the checks there hold for every source.

What a message holds becomes a document in `vmfstream.connectors.codecs`, which is the same for all sources.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from vmfstream.errors import InputError
from vmfstream.protocols import Source

__all__ = ["SCHEMES", "open_source"]


def open_file(path: str | Path, **options: Any) -> Source:
    """Open a file, or all files of a folder. Options and errors as of `open_source`."""
    if os.path.isdir(Path(path).expanduser()):  # False for a name that is too long
        from vmfstream.connectors.folders import FolderSource

        return FolderSource(path, **options)
    from vmfstream.connectors.files import FileSource

    return FileSource(path, **options)


def _open_file(url: str, **options: Any) -> Source:
    try:
        parts = urlsplit(url)
    except ValueError:  # whose message may quote a password
        raise InputError(f"expected file:///folder/name, got {url}") from None
    if parts.netloc not in ("", "localhost"):
        raise InputError(f"{url} names the computer {parts.netloc!r}; write file:///folder/name for a file on this one")
    return open_file(unquote(parts.path), **options)


def _open_stdin(url: str, **options: Any) -> Source:
    from vmfstream.connectors.stdin import StdinSource

    return StdinSource(**options)


def _open_kafka(url: str, *, schema_registry: str | None = None, **options: Any) -> Source:
    if schema_registry is not None:
        from vmfstream.connectors.kafka.registered import RegisteredSource
        from vmfstream.connectors.kafka.registry import SchemaRegistry

        return RegisteredSource(url, SchemaRegistry(schema_registry), **options)
    from vmfstream.connectors.kafka.source import KafkaSource

    return KafkaSource(url, **options)


def _open_memory(url: str, **options: Any) -> Source:
    from vmfstream.connectors.memory import MemorySource

    return MemorySource(**{"items": ()} | options)


SCHEMES: dict[str, Callable[..., Source]] = {
    "file": _open_file,
    "stdin": _open_stdin,
    "kafka": _open_kafka,
    "memory": _open_memory,
}
"""Functions that open a URL, by its scheme; called with the whole URL and the options of the source."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):", re.IGNORECASE)  # at least two letters: one would be a Windows drive


def open_source(url: str | Path, **options: Any) -> Source:
    """Open a source by its URL.

    Parameters
    ----------
    url : str or Path
        The name or ``file://`` URL of a file (``.jsonl``, ``.json``, ``.csv``, ``.tsv``, ``.txt``, each also with
        ``.gz``, ``.parquet``, ``.feather``, ``.xlsx``) or of a folder of such files, ``-`` or ``stdin:`` for standard
        input, ``kafka://host:9092/topic``, or another scheme of ``SCHEMES``.
    **options
        Options of the source, see its class.

    Returns
    -------
    Source

    Raises
    ------
    InputError
        If no source has this scheme (the message lists all), or the source cannot be opened.
    """
    name = str(url)
    if name == "-":
        return _open_stdin(name, **options)
    scheme = _SCHEME.match(name)
    if scheme is None or isinstance(url, Path) or (scheme[1].lower() not in SCHEMES and Path(name).exists()):
        return open_file(name, **options)
    if scheme[1].lower() not in SCHEMES:
        raise InputError(
            f"cannot read {name}: {scheme[1]}: is none of {', '.join(f'{known}:' for known in SCHEMES)}, "
            "- for standard input, or the name of a file"
        )
    return SCHEMES[scheme[1].lower()](name, **options)
