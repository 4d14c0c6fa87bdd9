"""Models that make vectors of texts: no network, the same bits whatever stands beside a text, clear errors."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from vmfstream.errors import InputError, MissingExtra
from vmfstream.text.sentence_models import (
    MOST_CHARACTERS,
    FunctionModel,
    OnnxModel,
    TokenAverages,
    _loaded,
    full_name,
    sentence_model,
)

TEXTS = ["A ship left the harbour", "", "moon", "The comet seen from the moon " * 40, "harbour", "späte Ernte 収穫"]
WORDS = ["[UNK]", "ship", "harbour", "moon", "comet", "the"]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Load models anew, and keep none that a test made."""
    _loaded.cache_clear()
    yield
    _loaded.cache_clear()


def tokenizer() -> Any:
    made = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    return made


def one_by_one(model: Any) -> NDArray[np.float32]:
    return np.concatenate([model.embed([text]) for text in TEXTS])


def shouting(texts: list[str]) -> NDArray[np.float64]:
    """A model for tests by its address."""
    return np.array([[len(text), text.count("e"), 1.0] for text in texts])


NOT_A_FUNCTION = 3


# --- wordllama


def test_wordllama_needs_no_network_and_no_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("the network was asked for")

    for owner, name in ((socket.socket, "connect"), (socket.socket, "sendto"), (socket, "getaddrinfo")):
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setenv("HOME", str(tmp_path))
    model = sentence_model("wordllama")
    found = model.embed(TEXTS)
    assert model.dimension == 256
    assert found.shape == (len(TEXTS), 256)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert not list(tmp_path.iterdir())


def test_wordllama_makes_the_vectors_of_its_own_package() -> None:
    import wordllama

    own = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True).embed(TEXTS)
    np.testing.assert_allclose(sentence_model("wordllama").embed(TEXTS), own, atol=1e-5)


def test_wordllama_leaves_logging_alone() -> None:
    root = logging.getLogger()
    before = list(root.handlers), root.level
    for name in [name for name in sys.modules if name.partition(".")[0] == "wordllama"]:
        del sys.modules[name]
    sentence_model("wordllama")
    assert (list(root.handlers), root.level) == before


def test_wordllama_near_things_are_near() -> None:
    rows = sentence_model("wordllama").embed(["a ship in the harbour", "a boat at the docks", "interest rates rise"])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert rows[0] @ rows[1] > 0.3 + rows[0] @ rows[2]


def test_without_the_extra_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(MissingExtra, match=r"^embedding texts needs wordllama: pip install 'vmfstream\[embeddings\]'$"):
        sentence_model("wordllama")


# --- averages of tokens


def test_averages_are_those_of_the_tokens_and_the_same_bits_in_any_batch() -> None:
    vectors = np.random.default_rng(0).standard_normal((len(WORDS), 7)).astype(np.float32)
    model = TokenAverages(tokenizer(), vectors)
    found = model.embed(["ship harbour ship", "", "nothing"])
    np.testing.assert_allclose(found[0], (2 * vectors[1] + vectors[2]) / 3, rtol=1e-6)
    assert not found[1].any()
    np.testing.assert_array_equal(found[2], vectors[0])
    np.testing.assert_array_equal(one_by_one(model), model.embed(TEXTS))
    many = model.embed(TEXTS * 100)  # more than one batch
    np.testing.assert_array_equal(many, np.tile(model.embed(TEXTS), (100, 1)))


def test_a_huge_text_is_read_from_its_beginning() -> None:
    vectors = np.random.default_rng(0).standard_normal((len(WORDS), 7)).astype(np.float32)
    model = TokenAverages(tokenizer(), vectors)
    words = "moon " * (MOST_CHARACTERS // 5)
    huge = words + "ship " * ((5_000_000 - len(words)) // 5)
    assert len(huge) == 5_000_000
    np.testing.assert_array_equal(model.embed([huge]), model.embed([words]))


# --- ONNX


class Session:
    """What stands for a model of onnxruntime: tokens have vectors, other rows of a batch change nothing."""

    inputs = ("input_ids", "attention_mask")
    pooled = False
    vectors = np.random.default_rng(1).standard_normal((len(WORDS), 5)).astype(np.float32)
    shapes: list[tuple[int, ...]]

    def __init__(self, file: str, options: Any, providers: list[str]) -> None:
        if Path(file).read_bytes() != b"model":
            raise RuntimeError("no protobuf\nadvice")
        type(self).shapes = []

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in self.inputs]

    def run(self, names: None, given: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        assert set(given) == set(self.inputs)
        assert given["attention_mask"].any(axis=1).all()
        self.shapes.append(given["input_ids"].shape)
        tokens = self.vectors[given["input_ids"]]
        return [tokens, tokens[:, 0]] if self.pooled else [tokens]


@pytest.fixture
def onnx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    module = ModuleType("onnxruntime")
    module.SessionOptions, module.InferenceSession = SimpleNamespace, Session  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "onnxruntime", module)
    (tmp_path / "onnx").mkdir()
    tokenizer().save(str(tmp_path / "tokenizer.json"))  # one folder above, as in repositories of models
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"model")
    return tmp_path / "onnx" / "model.onnx"


def test_onnx_takes_the_mean_of_the_tokens_that_are_there(onnx: Path) -> None:
    model = sentence_model(f"onnx:{onnx}")
    assert model.dimension == 5
    found = model.embed(["ship the moon", ""])
    np.testing.assert_allclose(found[0], Session.vectors[[1, 5, 3]].mean(axis=0), rtol=1e-5)
    assert not found[1].any()
    np.testing.assert_array_equal(one_by_one(model), model.embed(TEXTS))


def test_onnx_batches_have_few_shapes(onnx: Path) -> None:
    model = OnnxModel(onnx)
    model.embed([("moon " * n).strip() for n in range(700)])
    assert {rows for rows, _ in Session.shapes} == {16}
    assert {length for _, length in Session.shapes} == {16, 32, 64, 128, 256, 512}


def test_onnx_takes_the_vector_of_a_text_where_the_model_makes_one(onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "pooled", True)
    np.testing.assert_array_equal(OnnxModel(onnx).embed(["comet moon"])[0], Session.vectors[4])


def test_onnx_errors_are_one_sentence(onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"absent.onnx: no such model$"):
        sentence_model(f"onnx:{onnx.parent / 'absent.onnx'}")
    (onnx.parent / "broken.onnx").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"broken.onnx: cannot be read as a model: no protobuf$"):
        sentence_model(f"onnx:{onnx.parent / 'broken.onnx'}")
    monkeypatch.setattr(Session, "inputs", ("pixels",))
    with pytest.raises(InputError, match="expected inputs input_ids and attention_mask, found pixels"):
        OnnxModel(onnx)
    (onnx.parent.parent / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"expected tokenizer.json beside the model"):
        OnnxModel(onnx)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"vmfstream\[onnx\]"):
        OnnxModel(onnx)


# --- functions


def test_a_function_by_its_address() -> None:
    model = sentence_model(f"{__name__}:shouting")
    np.testing.assert_array_equal(model.embed(["tree", ""]), np.array([[4, 2, 1], [0, 0, 1]], np.float32))
    assert model.embed([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda texts: [[1.0, 2.0]] * (len(texts) + 1), "expected 1 vectors of the same number of numbers"),
        (lambda texts: ["x"] * len(texts), "expected 1 vectors"),
        (lambda texts: np.ones((len(texts), 1)), "expected 1 vectors"),
        (lambda texts: None, "expected 1 vectors"),
        (lambda texts: [[[1.0], [1.0, 2.0]]], "^mine:model: expected vectors of the same number of numbers: "),
        (lambda texts: 1 / 0, "^mine:model failed on a first text with ZeroDivisionError: division by zero$"),
    ],
)
def test_a_function_that_returns_something_else(made: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FunctionModel(made, "mine:model")


def test_a_function_whose_vectors_change_their_length() -> None:
    model = FunctionModel(lambda texts: np.ones((len(texts), 3 if texts == ["a"] else 4)), "mine:model")
    with pytest.raises(InputError, match=r"^mine:model: expected vectors of 3 numbers, got 4$"):
        model.embed(["b"])


@pytest.mark.parametrize("address", ["no.such.module:model", f"{__name__}:absent", "sys:maxsize", ":x"])
def test_an_address_without_a_function(address: str) -> None:
    with pytest.raises(InputError, match="expected"):
        sentence_model(address)


FORMS = "wordllama, onnx:FILE, sentence-transformers:NAME or package.module:function"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wordlama", f"^embed: expected {FORMS}, got 'wordlama', did you mean wordllama\\?$"),
        ("WordLLama2", "did you mean wordllama"),
        ("onx:model.onnx", f"^embed: expected {FORMS}, got 'onx:model.onnx', did you mean onnx\\?: "),
        ("sentence-transformer:all-MiniLM-L6-v2", "did you mean sentence-transformers"),
    ],
)
def test_a_name_that_is_nearly_right(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=says):
        sentence_model(name)


def test_a_name_alone_tells_the_other_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=f"pip .*'minilm' of it; other models: {FORMS}$"):
        sentence_model("minilm")


def test_names() -> None:
    assert [full_name(name) for name in ("", "wordllama", "onnx:f", "a/b")] == [
        "",
        "wordllama",
        "onnx:f",
        "sentence-transformers:a/b",
    ]
