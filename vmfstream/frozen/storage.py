"""Frozen models as files: a zip file or a folder with ``model.json`` and one ``NAME.npy`` for each array.

Nothing is pickled. What is read is checked before it is used: names, types, shapes, numbers that are finite, and
numbers that say where others stand, since compiled code relies on them.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from vmfstream import __version__
from vmfstream.errors import FormatVersion, InputError
from vmfstream.frozen.parts import ModelParts
from vmfstream.records import Arrays

FORMAT = "vmfstream model"
"""What ``model.json`` calls itself."""

VERSION = 1
"""Number of the format; a newer one is refused."""

_ABOUT = "model.json"
_MOST_BYTES = 2**32  # of a model in memory


def is_model(path: Path) -> bool:
    """Tell whether something is there that may be a frozen model: a folder or a zip file."""
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def write_model(parts: ModelParts, path: Path) -> None:
    """Write a model: a zip file if the name ends in .zip, else a folder; complete or not at all.

    Raises
    ------
    InputError
        If there is something already, or the path cannot be written.
    """
    if path.exists():
        raise InputError(f"{path} exists already; a model is written into a new file or folder")
    head = {"format": FORMAT, "version": VERSION, "made_by": f"vmfstream {__version__}"} | parts.about
    files: dict[str, bytes] = {_ABOUT: json.dumps(head, ensure_ascii=False, indent=1).encode()}
    for name, array in parts.arrays.items():
        body = io.BytesIO()
        npy.write_array(body, np.ascontiguousarray(array), allow_pickle=False)
        files[f"{name}.npy"] = body.getvalue()
    unfinished = path.with_name(path.name + ".part")
    try:
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in files.items():
                    archive.writestr(name, content)
        else:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            for name, content in files.items():
                (unfinished / name).write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"cannot write the model {path}: {error.strerror or error}") from error
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
        else:
            unfinished.unlink(missing_ok=True)


def read_model(path: Path) -> ModelParts:
    """Read and check a model.

    Raises
    ------
    InputError
        If it is no model, or damaged; says what was expected and what was found.
    FormatVersion
        If it was written by a newer version.
    """
    try:
        if path.is_dir():
            return _parts(path, sorted(one.name for one in path.iterdir()), lambda name: (path / name).read_bytes())
        with zipfile.ZipFile(path) as archive:
            size = sum(one.file_size for one in archive.infolist())
            if size > _MOST_BYTES:
                raise _damaged(path, f"it would take {size:,} bytes, at most {_MOST_BYTES:,} are read")
            return _parts(path, archive.namelist(), archive.read)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _damaged(path, str(error)) from error
    except OSError as error:
        raise InputError(f"cannot read the model {path}: {error.strerror or error}") from error


def _parts(path: Path, names: list[str], read: Callable[[str], bytes]) -> ModelParts:
    if _ABOUT not in names:
        raise InputError(f"{path} is no frozen model of vmfstream: it has no {_ABOUT}")
    try:
        about = json.loads(read(_ABOUT))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"{_ABOUT} is no JSON: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{path} is no frozen model of vmfstream: {_ABOUT} does not say so")
    version = about.get("version")
    if not isinstance(version, int) or version < 1:
        raise _damaged(path, f"version: expected a number from 1 on, got {version!r}")
    if version > VERSION:
        raise FormatVersion(f"the model {path} has format {version}, this program knows formats up to {VERSION}")
    arrays = {}
    for name in names:
        if name.endswith(".npy"):
            try:
                arrays[name.removesuffix(".npy")] = _array(read(name))
            except ValueError as error:
                raise _damaged(path, f"{name}: {error}") from error
    for fault in _faults(about, arrays):
        raise _damaged(path, fault)
    return ModelParts(about, arrays)


def _array(content: bytes) -> NDArray[Any]:
    """Read a .npy file; ValueError if it holds Python objects, or fewer or more bytes than it says."""
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_column, dtype = header(file)
    if dtype.hasobject or dtype.kind not in "iuf" or not dtype.isnative:
        raise ValueError(f"expected numbers, found {dtype}")
    size, there = dtype.itemsize * int(np.prod(shape, dtype=object)), len(content) - file.tell()
    if by_column or size != there:
        raise ValueError(f"expected {size:,} bytes of numbers in C order, found {there:,}")
    return np.frombuffer(content, dtype, offset=file.tell()).reshape(shape).copy()


def _damaged(path: Path, fault: str) -> InputError:
    return InputError(f"the model {path} is damaged: {fault}")


_Spec = dict[str, tuple[str, int]]

_TOPICS: _Spec = {
    "topics.ids": ("int64", 1),
    "topics.f": ("float32", 2),
    "topics.gamma": ("float64", 1),
    "topics.log_weights": ("float64", 1),
    "topics.anchor": ("float32", 1),
    "topics.scalars": ("float64", 1),
}
_WORDS: _Spec = {
    "settings": ("uint8", 1),
    "documents": ("int64", 1),
    "df": ("int64", 1),
    "recent": ("float64", 1),
    "pending": ("int32", 1),
    "columns": ("int32", 1),
    "form_starts": ("int64", 1),
    "form_pool": ("uint8", 1),
}
_STEMS: _Spec = {
    "term_starts": ("int64", 1),
    "term_pool": ("uint8", 1),
    "form_term": ("int32", 1),
    "form_df": ("int64", 1),
    "shown": ("int32", 1),
}
_STORIES: _Spec = {
    "stories.settings": ("float64", 1),
    "stories.mixture.ids": ("int64", 1),
    "stories.mixture.size": ("int64", 1),
    "stories.mixture.square": ("float64", 1),
    "stories.mixture.first": ("float64", 1),
    "stories.mixture.last": ("float64", 1),
    "stories.mixture.indptr": ("int64", 1),
    "stories.mixture.indices": ("int32", 1),
    "stories.mixture.values": ("float32", 1),
    "stories.mixture.clock": ("float64", 1),
    "stories.mixture.counters": ("int64", 1),
    "stories.mixture.form": ("int64", 1),
    "stories.mixture.grains": ("float64", 1),
    "stories.weights.df": ("int64", 1),
    "stories.weights.documents": ("int64", 1),
}


def _faults(about: dict[str, Any], arrays: Arrays) -> Iterator[str]:
    """Say what is wrong with a model; the first fault is enough, later checks rely on earlier ones."""
    yield from _wrong_about(about)
    yield from _wrong_types(arrays, _TOPICS)
    k, d = len(arrays["topics.ids"]), len(arrays["topics.anchor"])
    if k < 1 or d < 2 or arrays["topics.f"].shape != (d, k):
        got = arrays["topics.f"].shape
        yield f"topics.f: expected one row per word and one column per topic, ({d}, {k}), got {got}"
    for name in ("topics.gamma", "topics.log_weights"):
        if arrays[name].shape != (k,):
            yield f"{name}: expected {k} numbers, one per topic, got {len(arrays[name])}"
    if [topic["topic"] for topic in about["topics"]] != arrays["topics.ids"].tolist():
        yield "topics.ids: expected the numbers of the topics in model.json, got others"
    kappa, lowest, temperature = (*arrays["topics.scalars"].tolist(), 0.0, 0.0, 0.0)[:3]
    if not (kappa > 0.0 and -1.0 <= lowest <= 0.0 and temperature > 0.0) or (arrays["topics.gamma"] < 0.0).any():
        yield "topics.scalars: expected a concentration, a lowest cosine and a temperature, got other numbers"
    words = next((p for p in ("encoder.", "encoder.words.") if f"{p}form_starts" in arrays), None)
    terms = 0
    if words is not None:
        yield from _wrong_words(arrays, words)
        terms = len(arrays[f"{words}df"])
        if words == "encoder." and len(arrays["encoder.columns"]) != d:
            yield f"encoder.columns: expected {d}, one per word of topics.f, got {len(arrays['encoder.columns'])}"
    elif "encoder.dim" not in arrays:
        yield "neither words (encoder.form_starts) nor a dimension (encoder.dim) are there"
    if words != "encoder." and arrays["encoder.dim"].tolist() != [d]:
        yield f"encoder.dim: expected {d}, got {arrays['encoder.dim'].tolist()}"
    if "stories.settings" in arrays:
        yield from _wrong_stories(arrays, terms)


def _wrong_about(about: dict[str, Any]) -> Iterator[str]:
    settings, topics = about.get("settings"), about.get("topics")
    if not isinstance(settings, dict) or not all(isinstance(value, str) for value in settings.values()):
        yield f"settings in {_ABOUT}: expected texts by name"
    good = isinstance(topics, list) and all(
        isinstance(one, dict) and isinstance(one.get("topic"), int) and isinstance(one.get("name"), str)
        for one in topics
    )
    if not good or not isinstance(about.get("title"), str):
        yield f"{_ABOUT}: expected a title, and topics that have a number and a name"


def _wrong_types(arrays: Arrays, spec: _Spec, prefix: str = "") -> Iterator[str]:
    for name, (dtype, ndim) in spec.items():
        array = arrays.get(prefix + name)
        if array is None:
            yield f"{prefix}{name} is missing"
        elif array.dtype != np.dtype(dtype) or array.ndim != ndim:
            wanted = f"{dtype} with {ndim} dimension{'s' if ndim > 1 else ''}"
            yield f"{prefix}{name}: expected {wanted}, got {array.dtype} of the shape {array.shape}"
        elif array.dtype.kind == "f" and name != "stories.settings" and not np.isfinite(array).all():
            yield f"{prefix}{name}: expected finite numbers, got {array[~np.isfinite(array)][0]}"


def _wrong_words(arrays: Arrays, prefix: str) -> Iterator[str]:
    stemmed = f"{prefix}term_starts" in arrays
    yield from _wrong_types(arrays, _WORDS | (_STEMS if stemmed else {}), prefix)
    of = {name: arrays[f"{prefix}{name}"] for name in (*_WORDS, *(_STEMS if stemmed else ()))}
    terms, forms = len(of["df"]), len(of["form_starts"]) - 1
    for kind, number in (("form", forms), ("term", terms)) if stemmed else (("form", terms),):
        starts, pool = of[f"{kind}_starts"], of[f"{kind}_pool"]
        if len(starts) != number + 1 or not _bounds(starts, len(pool)):
            yield f"{prefix}{kind}_starts: expected where each of {number:,} words begins in {kind}_pool"
        letters = pool.tobytes()
        if len({letters[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)}) != number:
            yield f"{prefix}{kind}_pool: expected {number:,} different words, some are twice there"
    for name in ("recent", "pending"):
        if len(of[name]) != terms:
            yield f"{prefix}{name}: expected {terms:,} numbers, one per word, got {len(of[name]):,}"
    if len(of["documents"]) != 2 or (of["documents"] < 0).any() or (of["df"] < 0).any():
        yield f"{prefix}documents and df: expected numbers of documents from 0 on"
    columns = of["columns"]
    if not _within(columns, 0, terms) or len(np.unique(columns)) != len(columns):
        yield f"{prefix}columns: expected different numbers of words below {terms:,}"
    if stemmed and not (
        len(of["form_term"]) == len(of["form_df"]) == forms
        and _within(of["form_term"], -1, terms)
        and len(of["shown"]) == len(columns)
        and _within(of["shown"], -1, forms)
    ):
        yield f"{prefix}form_term, form_df, shown: expected the stems of {forms:,} words"


def _wrong_stories(arrays: Arrays, terms: int) -> Iterator[str]:
    yield from _wrong_types(arrays, _STORIES)
    of = {name.removeprefix("stories."): arrays[name] for name in _STORIES}
    grain, *positive, days = of["settings"].tolist() if len(of["settings"]) == 8 else (0.0, 0.0)
    if not (np.isnan(grain) or 0.0 < grain < 1.0) or not all(number > 0.0 for number in positive) or days not in (0, 1):
        yield f"stories.settings: expected those of a StoryMixture, got {of['settings'].tolist()}"
    ids, indptr = of["mixture.ids"], of["mixture.indptr"]
    n, entries = len(ids), len(of["mixture.indices"])
    for name in ("size", "square", "first", "last"):
        if len(of[f"mixture.{name}"]) != n:
            yield f"stories.mixture.{name}: expected {n:,} numbers, one per story, got {len(of[f'mixture.{name}']):,}"
    for name, length in (("clock", 2), ("counters", 2), ("form", 2), ("grains", 2)):
        if len(of[f"mixture.{name}"]) != length:
            yield f"stories.mixture.{name}: expected {length} numbers, got {len(of[f'mixture.{name}'])}"
    next_id, documents = of["mixture.counters"].tolist()
    if len(np.unique(ids)) != n or not _within(ids, 0, next_id) or (of["mixture.size"] < 1).any() or documents < n:
        yield f"stories.mixture.ids: expected different numbers below {next_id:,}, of stories with documents"
    columns, timed = of["mixture.form"].tolist()
    if not 1 <= columns <= max(terms, 1) or timed not in (-1, 0, 1):
        yield f"stories.mixture.form: expected at most {terms:,} columns, one per word, got {columns:,}"
    if len(indptr) != n + 1 or not _bounds(indptr, entries) or len(of["mixture.values"]) != entries:
        yield "stories.mixture.indptr: expected where the words of each story begin"
    if not _within(of["mixture.indices"], 0, columns):
        yield f"stories.mixture.indices: expected numbers of words below {columns:,}"
    df = of["weights.df"]
    if len(df) != columns or (df < 0).any() or len(of["weights.documents"]) != 1 or of["weights.documents"][0] < 0:
        yield f"stories.weights: expected document frequencies of {columns:,} words"


def _bounds(starts: NDArray[Any], end: int) -> bool:
    """Tell whether these numbers divide what ends at ``end`` into parts."""
    return bool(len(starts) and starts[0] == 0 and starts[-1] == end and (np.diff(starts) >= 0).all())


def _within(numbers: NDArray[Any], low: int, end: int) -> bool:
    return not len(numbers) or bool(low <= numbers.min() and numbers.max() < end)
