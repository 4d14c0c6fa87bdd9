"""Models that make vectors of texts, by name: ``wordllama``, ``onnx:FILE`` and others.

| name | what it is | installed by |
|---|---|---|
| ``wordllama`` | averages of 32,000 token vectors of 256 numbers, inside its package; needs no network | `embeddings` |
| ``onnx:FILE`` | an encoder in ONNX, with ``tokenizer.json`` beside it | `onnx` |
| ``sentence-transformers:NAME`` | a model of that library, by name or folder | `sentence-transformers` |
| ``package.module:function`` | a function that takes a list of texts and returns as many vectors | |

``NAME`` alone is a model of sentence-transformers too. A model is loaded when it is first asked for, and reads the
first `MOST_CHARACTERS` of a text.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from vmfstream.errors import InputError, MissingExtra

DEFAULT = "wordllama"
"""The model that is taken if none is named."""

MOST_CHARACTERS = 100_000
"""Characters of a text that a model reads; the others are left out."""

Embed: TypeAlias = Callable[[list[str]], ArrayLike]
"""Returns a vector for each of N texts, (N, D); of a text always the same, whatever stands beside it."""

_BATCH = 256
_ROWS, _LENGTHS, _MOST_TOKENS = 16, (16, 32, 64, 128, 256, 512), 512


class SentenceModel(Protocol):
    """Makes vectors of texts."""

    dimension: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of N texts, (N, dimension); zeros for a text without tokens."""
        ...


class TokenAverages:
    """Texts as averages of the vectors of their tokens; the same to the last bit whatever texts stand beside one.

    Parameters
    ----------
    tokenizer : tokenizers.Tokenizer
    vectors : (V, D) float32, one for each token; unknown ones have the last.
    """

    def __init__(self, tokenizer: Any, vectors: NDArray[np.float32]) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer, self._vectors = tokenizer, np.ascontiguousarray(vectors, np.float32)
        self.dimension = int(vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the averages, (N, D)."""
        found = np.empty((len(texts), self.dimension), np.float32)
        for low in range(0, len(texts), _BATCH):
            batch = [text[:MOST_CHARACTERS] for text in texts[low : low + _BATCH]]
            tokens = [one.ids for one in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)]
            lengths = np.array([len(ids) for ids in tokens])
            ids = np.fromiter((i for one in tokens for i in one), np.int64, int(lengths.sum()))
            np.minimum(ids, len(self._vectors) - 1, out=ids)
            share = np.repeat(1.0 / np.maximum(lengths, 1), lengths).astype(np.float32)
            bounds = np.concatenate(([0], np.cumsum(lengths)))
            bags = csr_array((share, ids, bounds), shape=(len(tokens), len(self._vectors)))
            found[low : low + len(batch)] = bags @ self._vectors
        return found


class OnnxModel:
    """Texts by an encoder in ONNX: its vector of a text, or the mean of those of its tokens.

    Batches have fixed sizes, filled up with empty rows, so that a text has the same vector whatever stands beside it.

    Parameters
    ----------
    file : the model; ``tokenizer.json`` is looked for beside it and one folder above.

    Raises
    ------
    MissingExtra
        If onnxruntime or tokenizers is not installed.
    InputError
        If a file is not there or cannot be read.
    """

    def __init__(self, file: Path) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise _missing("onnx", "onnxruntime") from None
        if not file.is_file():
            raise InputError(f"{file}: no such model")
        beside = [folder / "tokenizer.json" for folder in (file.parent, file.parent.parent)]
        known = next((one for one in beside if one.is_file()), None)
        if known is None:
            raise InputError(f"{file}: expected tokenizer.json beside the model or one folder above, found none")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # sums would depend on their number
        try:
            self._tokenizer = Tokenizer.from_file(str(known))
            self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise InputError(f"{file}: cannot be read as a model: {_first_line(error)}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._inputs = {one.name for one in self._session.get_inputs()}
        if unknown := self._inputs - {"input_ids", "attention_mask", "token_type_ids"}:
            raise InputError(
                f"{file}: expected inputs input_ids and attention_mask, found {', '.join(sorted(unknown))}"
            )
        self.dimension = int(self.embed(["a"]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors, (N, D)."""
        encoded = self._tokenizer.encode_batch_fast([text[:MOST_CHARACTERS] for text in texts])
        tokens = [one.ids for one in encoded]
        rooms = np.searchsorted(_LENGTHS, [len(ids) for ids in tokens])
        found = np.zeros((len(texts), getattr(self, "dimension", 0)), np.float32)
        for room in np.unique(rooms).tolist():
            places = np.flatnonzero(rooms == room)
            for low in range(0, len(places), _ROWS):
                some = places[low : low + _ROWS]
                vectors = self._run([tokens[i] for i in some], _LENGTHS[room])
                if found.shape[1] != vectors.shape[1]:
                    found = np.zeros((len(texts), vectors.shape[1]), np.float32)
                found[some] = vectors
        return found

    def _run(self, tokens: list[list[int]], room: int) -> NDArray[np.float32]:
        ids, mask = np.zeros((_ROWS, room), np.int64), np.zeros((_ROWS, room), np.int64)
        mask[:, 0] = 1  # no row without a token: attention would divide by zero
        for row, one in enumerate(tokens):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = self._session.run(None, {name: given[name] for name in self._inputs})
        pooled = [array for array in out if array.ndim == 2]
        if pooled:
            vectors = pooled[-1]
        elif out[0].ndim == 3:
            share = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
            vectors = np.einsum("nl,nld->nd", share, out[0])
        else:
            raise InputError(f"expected vectors of texts or of tokens from the model, got the shape {out[0].shape}")
        vectors = np.asarray(vectors[: len(tokens)], np.float32)
        vectors[[not one for one in tokens]] = 0.0
        return vectors


class FunctionModel:
    """Texts by a function.

    Parameters
    ----------
    function : takes a list of N texts and returns vectors (N, D).
    name : what it is called in errors.

    Raises
    ------
    InputError
        If it returns something else.
    """

    def __init__(self, function: Embed, name: str) -> None:
        self._function, self._name, self.dimension = function, name, 0
        try:
            self.dimension = int(self.embed(["a"]).shape[1])
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{name} failed on a first text with {type(error).__name__}: {error}") from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors, (N, D)."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        with np.errstate(over="ignore"):
            vectors = self._function([text[:MOST_CHARACTERS] for text in texts])
            try:
                found = np.asarray(vectors)
            except ValueError as error:  # lists of different lengths
                raise InputError(f"{self._name}: expected vectors of the same number of numbers: {error}") from error
            if found.dtype.kind not in "iuf" or found.ndim != 2 or len(found) != len(texts) or found.shape[1] < 2:
                raise InputError(
                    f"{self._name}: expected {len(texts)} vectors of the same number of numbers, got the shape "
                    f"{found.shape} of {found.dtype}"
                )
            if self.dimension and found.shape[1] != self.dimension:
                raise InputError(f"{self._name}: expected vectors of {self.dimension} numbers, got {found.shape[1]}")
            return found.astype(np.float32)


def full_name(name: str) -> str:
    """Return the name of a model with its kind: a name alone is one of sentence-transformers, but for ``wordllama``.

    Examples
    --------
    >>> full_name("wordllama"), full_name("all-MiniLM-L6-v2")
    ('wordllama', 'sentence-transformers:all-MiniLM-L6-v2')
    """
    return name if name in ("", DEFAULT) or ":" in name else f"sentence-transformers:{name}"


def runs_code(name: str) -> bool:
    """Tell whether a model of this name is code, or is read from files, that do not come with vmfstream.

    Examples
    --------
    >>> runs_code("wordllama"), runs_code("package.module:function"), runs_code("onnx:model.onnx")
    (False, True, True)
    """
    return full_name(name) not in ("", DEFAULT)


def sentence_model(name: str) -> SentenceModel:
    """Return a model by its name; it is loaded once in a process.

    Raises
    ------
    MissingExtra
        If the package that it needs is not installed; names the extra.
    InputError
        If there is no such model, or it makes no vectors.
    """
    with _loading:
        return _loaded(full_name(name))


_loading = Lock()


@lru_cache(maxsize=1)
def _loaded(name: str) -> SentenceModel:
    if name == DEFAULT:
        return _wordllama()
    kind, _, rest = name.partition(":")
    if kind == "onnx":
        return OnnxModel(Path(rest).expanduser())
    if kind == "sentence-transformers":
        return _sentence_transformer(rest)
    return FunctionModel(_function_at(name), name)


def _wordllama() -> SentenceModel:
    try:
        with _logging_left_alone():
            import wordllama
    except ImportError:
        raise _missing("embeddings", DEFAULT) from None
    folder = Path(wordllama.__file__).parent  # the files lie there; by itself it would look in the user's cache
    try:
        with _logging_left_alone():
            loaded = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    except (OSError, ValueError) as error:
        raise InputError(f"wordllama: its files cannot be read: {_first_line(error)}") from error
    return TokenAverages(loaded.tokenizer, loaded.embedding)


def _sentence_transformer(name: str) -> SentenceModel:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        if get_close_matches(name.lower(), [DEFAULT]):
            raise InputError(f"embed: {_expected(name)}") from None
        missing = _missing("sentence-transformers", "sentence-transformers")
        raise MissingExtra(f"{missing}, for the model {name!r} of it; other models: {_FORMS}") from None
    try:
        model = SentenceTransformer(name)
    except (OSError, ValueError) as error:
        raise InputError(f"there is no sentence model {name!r}: {_first_line(error)}; {_expected(name)}") from error
    return FunctionModel(lambda texts: model.encode(texts, show_progress_bar=False), name)


def _function_at(address: str) -> Embed:
    module, _, name = address.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"embed: {_expected(address)}: {error}") from error
    if not callable(found):
        raise InputError(f"embed: expected a function as module:name, {address!r} is a {type(found).__name__}")
    return found  # type: ignore[no-any-return]


@contextmanager
def _logging_left_alone() -> Iterator[None]:
    """Keep a library from sending all log messages of the program to standard error."""
    root, nothing = logging.getLogger(), logging.NullHandler()
    root.addHandler(nothing)
    try:
        yield
    finally:
        root.removeHandler(nothing)


def _missing(extra: str, package: str) -> MissingExtra:
    return MissingExtra(f"embedding texts needs {package}: pip install 'vmfstream[{extra}]'")


_FORMS = "wordllama, onnx:FILE, sentence-transformers:NAME or package.module:function"


def _expected(name: str) -> str:
    """Say which forms names have, and which one was likely meant."""
    near = get_close_matches(name.partition(":")[0].lower(), [DEFAULT, "onnx", "sentence-transformers"], n=1)
    return f"expected {_FORMS}, got {name!r}" + (f", did you mean {near[0]}?" if near else "")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
