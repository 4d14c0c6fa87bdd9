"""Frozen models as files: a zip file or a folder with ``model.json`` and one ``NAME.npy`` for each array.

Nothing is pickled. What is read is checked before it is used, by the rules of saved states: names, types, shapes,
numbers that are finite, and numbers that say where others stand, since compiled code relies on them.
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
from vmfstream.engine.loop.saved_state import COLDEST, LONG, WARMEST, Rule, check_arrays, rules_of
from vmfstream.errors import FormatVersion, InputError
from vmfstream.folders import sync_folder, write_file, write_synced
from vmfstream.frozen.parts import ModelParts
from vmfstream.mixtures.columns import column_norms
from vmfstream.records import Arrays
from vmfstream.stories.settings import StorySettings

FORMAT = "vmfstream model"
"""What ``model.json`` calls itself."""

VERSION = 1
"""Number of the format; a newer one is refused."""

_ABOUT = "model.json"
_MOST_BYTES = 2**32  # of a model in memory
_ROUNDING = 0.01  # of the lengths of topics: scores hold for cosines up to 1, and a little beyond


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
    try:
        if path.exists():
            raise InputError(f"{path} exists already; a model is written into a new file or folder")
    except OSError as error:  # a name that is too long
        raise InputError(f"cannot write the model {path}: {error.strerror}") from error
    head = {"format": FORMAT, "version": VERSION, "made_by": f"vmfstream {__version__}"} | parts.about
    files: dict[str, bytes] = {_ABOUT: json.dumps(head, ensure_ascii=False, indent=1).encode()}
    for name, array in parts.arrays.items():
        body = io.BytesIO()
        npy.write_array(body, np.ascontiguousarray(array), allow_pickle=False)
        files[f"{name}.npy"] = body.getvalue()
    if path.suffix.lower() == ".zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        write_file(path, packed.getvalue())
        return
    unfinished = path.with_name(path.name + ".part")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        for name, content in files.items():
            write_synced(unfinished / name, content)
        sync_folder(unfinished)
        unfinished.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise InputError(f"cannot write the model {path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


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
    check_arrays(arrays, rules_of(arrays) | _RULES, f"the model {path} is damaged")
    for fault in _unlike(about, arrays):
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


_BESIDE: _Spec = {"stories.mixture.beside": ("float32", 2), "stories.mixture.beside_square": ("float64", 1)}

_RULES = {
    "topics.ids": Rule("i", ("topics",), low=0),
    "topics.f": Rule("f", ("dimension", "topics"), low=-LONG, high=LONG),
    "topics.gamma": Rule("f", ("topics",), low=0.0, high=LONG),
    "topics.log_weights": Rule("f", ("topics",), low=-1e3, high=1.0),
    "topics.anchor": Rule("f", ("dimension",), low=-LONG, high=LONG),
    "topics.scalars": Rule("f", (3,), low=-1.0, high=LONG),
    "stories.settings": Rule("f", ("stories.numbers",)),
    "stories.weights.df": Rule("i", ("stories.columns",), low=0),
}
"""Rules of what saved states do not have, or have in another form."""


def _faults(about: dict[str, Any], arrays: Arrays) -> Iterator[str]:
    """Say what is missing in a model, or of another type; the first fault is enough."""
    yield from _wrong_about(about)
    yield from _wrong_types(arrays, _TOPICS)
    words = _words_in(arrays)
    if words is not None:
        yield from _wrong_types(arrays, _WORDS | (_STEMS if f"{words}term_starts" in arrays else {}), words)
    elif "encoder.dim" not in arrays:
        yield "neither words (encoder.form_starts) nor a dimension (encoder.dim) are there"
    if words != "encoder.":
        yield from _wrong_types(arrays, {"encoder.dim": ("int64", 1)})
    if "stories.settings" in arrays:
        yield from _wrong_types(arrays, _STORIES)
        if any(name in arrays for name in _BESIDE):
            yield from _wrong_types(arrays, _BESIDE)


def _words_in(arrays: Arrays) -> str | None:
    """Return how the names of the arrays of words begin, None without words."""
    return next((p for p in ("encoder.", "encoder.words.") if f"{p}form_starts" in arrays), None)


def _unlike(about: dict[str, Any], arrays: Arrays) -> Iterator[str]:
    """Say what does not belong together in arrays that are good one by one."""
    k, d = len(arrays["topics.ids"]), len(arrays["topics.anchor"])
    if k < 1 or d < 2:
        yield f"topics.f: expected two words or more and a topic, got {arrays['topics.f'].shape}"
    if [topic["topic"] for topic in about["topics"]] != arrays["topics.ids"].tolist():
        yield "topics.ids: expected the numbers of the topics in model.json, got others"
    if not np.allclose(arrays["topics.gamma"], column_norms(arrays["topics.f"]), rtol=_ROUNDING, atol=_ROUNDING):
        yield "topics.gamma: expected the lengths of the columns of topics.f, got other numbers"
    kappa, lowest, temperature = arrays["topics.scalars"].tolist()
    if not (kappa > 0.0 and lowest <= 0.0 and COLDEST <= temperature < WARMEST):
        yield "topics.scalars: expected a concentration, a lowest cosine and a temperature, got other numbers"
    words = _words_in(arrays)
    if words is not None:
        yield from _wrong_words(arrays, words)
    if words != "encoder." and arrays["encoder.dim"].tolist() != [d]:
        yield f"encoder.dim: expected {d}, got {arrays['encoder.dim'].tolist()}"
    if "stories.settings" in arrays:
        yield from _wrong_stories(arrays)


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
    for kind in ("form", "term") if f"{prefix}term_starts" in arrays else ("form",):
        starts, letters = arrays[f"{prefix}{kind}_starts"], arrays[f"{prefix}{kind}_pool"].tobytes()
        number = len(starts) - 1
        if len({letters[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)}) != number:
            yield f"{prefix}{kind}_pool: expected {number:,} different words, some are twice there"


def _wrong_stories(arrays: Arrays) -> Iterator[str]:
    of = {name.removeprefix("stories."): arrays[name] for name in _STORIES}
    try:
        StorySettings.from_numbers(of["settings"])
    except ValueError as error:
        yield f"stories.settings: {error}"
    ids, (next_id, documents) = of["mixture.ids"], of["mixture.counters"].tolist()
    if (ids >= next_id).any() or documents < len(ids):
        yield f"stories.mixture.ids: expected numbers below {next_id:,}, of stories with documents"
    columns, timed = of["mixture.form"].tolist()
    if columns < 1 or timed not in (-1, 0, 1):
        yield f"stories.mixture.form: expected a number of words and -1, 0 or 1, got {of['mixture.form'].tolist()}"
    if (of["mixture.indices"] >= columns).any():
        yield f"stories.mixture.indices: expected numbers of words below {columns:,}"
    if len(of["weights.df"]) != columns:
        yield f"stories.weights.df: expected document frequencies of {columns:,} words, got {len(of['weights.df']):,}"
