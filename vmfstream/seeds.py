"""Seeds: topics that people name beforehand, by words or example documents."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmfstream.decisions import LONGEST, one_line
from vmfstream.errors import InputError

_KEYS = {"name", "words", "documents"}
_EXAMPLE = 'a table [[topic]] with name = "Oil" and words = ["crude", "oil"] or documents = ["..."]'


@dataclass(frozen=True, slots=True)
class Seed:
    """A topic to begin with: its name, and words or example documents or both."""

    name: str
    words: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """What its direction is made of: the words as one text, and each document."""
        return [*([" ".join(self.words)] if self.words else []), *self.documents]


def read_seeds(path: str | Path) -> tuple[Seed, ...]:
    """Read seeds from a TOML file, one table ``[[topic]]`` each.

    Raises
    ------
    InputError
        If there is no such file, it is not TOML, or a table is no seed; names the place.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".toml") as file:
    ...     _ = file.write(b'[[topic]]\\nname = "Oil"\\nwords = ["crude", "barrels"]\\n')
    ...     file.flush()
    ...     read_seeds(file.name)
    (Seed(name='Oil', words=('crude', 'barrels'), documents=()),)
    """
    file = Path(path).expanduser()
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read the topics from {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: expected {_EXAMPLE}; {error}") from error
    tables = content.get("topic")
    if set(content) != {"topic"} or not isinstance(tables, list):
        raise InputError(f"{file}: expected {_EXAMPLE}; found {', '.join(content) or 'nothing'}")
    return _seeds(tables, str(file))


def seeds_of(given: str | Path | Mapping[str, Iterable[str]] | Iterable[Mapping[str, Any] | Seed]) -> tuple[Seed, ...]:
    """Return seeds from a TOML file, from a mapping of names to words, or from mappings with the keys of `Seed`.

    Raises
    ------
    InputError
        If something given is no seed; names the place.
    """
    if isinstance(given, str | Path):
        return read_seeds(given)
    if isinstance(given, Mapping):
        return _seeds([{"name": name, "words": words} for name, words in given.items()], "topics_from")
    if not isinstance(given, Iterable):
        raise InputError(
            "topics_from: expected a file, a mapping of names to words, or mappings with name and words or documents, "
            f"got {type(given).__name__}"
        )
    return _seeds([asdict(one) if isinstance(one, Seed) else one for one in given], "topics_from")


def seeds_as_text(seeds: Sequence[Seed]) -> str:
    """Return seeds as one line of JSON, empty for none."""
    return json.dumps([asdict(one) for one in seeds], ensure_ascii=False) if seeds else ""


def seeds_from_text(text: str) -> tuple[Seed, ...]:
    """Return the seeds that `seeds_as_text` was given."""
    return tuple(Seed(one["name"], tuple(one["words"]), tuple(one["documents"])) for one in json.loads(text or "[]"))


def _seeds(tables: Iterable[Any], where: str) -> tuple[Seed, ...]:
    seeds = [_seed(table, f"{where}, topic {number}") for number, table in enumerate(tables, start=1)]
    if not seeds:
        raise InputError(f"{where}: expected at least one topic")
    names = [one.name for one in seeds]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{where}: the name {twice[0]!r} is there twice")
    return tuple(seeds)


def _seed(table: Any, where: str) -> Seed:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: expected {_EXAMPLE}, found {type(table).__name__}")
    unknown = sorted(set(map(str, table)) - _KEYS)
    if unknown:
        raise InputError(f"{where}: expected {', '.join(sorted(_KEYS))}, found {unknown[0]!r}")
    given = table.get("name")
    name = one_line(given) if isinstance(given, str) else ""
    if not 0 < len(name) <= LONGEST:
        raise InputError(f"{where}: expected a name of 1 to {LONGEST} characters, found {given!r}")
    parts = {}
    for key in ("words", "documents"):
        texts = table.get(key, ())
        if isinstance(texts, str) or not isinstance(texts, Iterable) or not all(isinstance(one, str) for one in texts):
            raise InputError(f"{where} ({name!r}): {key}: expected a list of texts, found {texts!r}")
        parts[key] = tuple(texts)
    if not any(text.strip() for texts in parts.values() for text in texts):
        raise InputError(f"{where} ({name!r}): expected words or documents, found neither")
    return Seed(name, **parts)
