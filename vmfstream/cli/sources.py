"""Open the source that a command names, and what decodes its messages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from vmfstream.cli.options import only_kafka
from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.files import FileSource
from vmfstream.connectors.first_rows import ROWS, look_at
from vmfstream.connectors.folders import FolderSource
from vmfstream.protocols import Source


def opened_with_codec(source: str, reading: Mapping[str, Any], **fields: Any) -> tuple[Source, FieldCodec]:
    """Open a source; return it with its codec, which knows how the first rows of a file write times.

    Parameters
    ----------
    source : URL, name of a file or a folder, or - for standard input
    reading : options of the source
    **fields : those of `vmfstream.connectors.codecs.FieldCodec`

    Raises
    ------
    InputError
        If it cannot be opened, or none of the first rows of a file is a document.
    """
    of_kafka = source.lower().startswith("kafka:")
    codec = FieldCodec(unit="offset" if of_kafka else "line", **fields)
    only_kafka(source, {name: True for name in codec.attached} if not of_kafka else {})
    opened = open_source(source, **reading, **({"attach": codec.attached} if of_kafka else {}))
    if isinstance(opened, FileSource | FolderSource) and not opened.path.is_fifo():
        with closing(open_source(source, **reading)) as again:
            look_at(codec, again.poll(ROWS, 0.0), opened.name)
    return opened, codec
