"""Vectors of words: the forms of their files, what is found, how much of some texts they cover."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.data import corpus_file
from vmfstream.errors import InputError
from vmfstream.estimators.admixture import DirichletVMFAdmixture
from vmfstream.text.embeddings import Coverage, WordVectors, read_word_vectors

WORDS = ["the", "cat", "Oslo", "new york", "émigré"]
VECTORS = np.round(np.random.default_rng(0).standard_normal((5, 3)), 4).astype(np.float32)
LINES = [f"{word} {' '.join(map(repr, row.tolist()))}" for word, row in zip(WORDS, VECTORS, strict=True)]


def written(folder: Path, name: str) -> Path:
    """The same vectors in one of the forms."""
    file = folder / name
    glove = "\n".join(LINES) + "\n"
    if name.endswith(".npz"):
        np.savez(file, words=np.array(WORDS), vectors=VECTORS)
    elif name.endswith(".gz"):
        file.write_bytes(gzip.compress(glove.encode()))
    else:
        file.write_text(f"5 3\n{glove}" if "word2vec" in name else glove, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["vectors.npz", "word2vec.txt", "glove.txt", "glove.txt.gz"])
def test_all_forms_are_read(tmp_path: Path, name: str) -> None:
    found = read_word_vectors(written(tmp_path, name))
    assert found.words == tuple(WORDS)
    assert found.vectors == pytest.approx(VECTORS)
    assert found.vectors.dtype == np.float32
    some = read_word_vectors(written(tmp_path, name), only=["oslo", "CAT", "dog"])
    assert some.words == ("cat", "Oslo")
    assert some.vectors == pytest.approx(VECTORS[1:3])
    assert len(read_word_vectors(written(tmp_path, name), most=2)) == 2


def test_words_are_found_in_lower_case() -> None:
    found = WordVectors(["Us", "us", "Oslo", "us", "US"], np.arange(10.0).reshape(5, 2))
    assert found.words == ("Us", "us", "Oslo", "US")
    assert found.vectors[:, 0].tolist() == [0, 2, 4, 8]
    assert found.find(["us", "oslo", "Oslo", "OSLO", "dog"]).tolist() == [1, 2, 2, -1, -1]


def test_texts_become_bags() -> None:
    vectors = WordVectors(WORDS, VECTORS)
    texts = ["The cat: a cat, and Oslo's dog!", "", "dog dog bird", "Émigré of oslo"]
    found = vectors.bags(texts, leave_out=["the", "a", "and", "of"], missing=1)
    assert found.counts.toarray().tolist() == [[0, 2, 1, 0, 0], [0] * 5, [0] * 5, [0, 0, 1, 0, 1]]
    assert found.coverage == Coverage(9, 5, 5, 3, (("dog", 3),))
    assert found.coverage.share == pytest.approx(5 / 9)
    assert str(found.coverage) == "56% of 9 tokens have a vector, 3 of 5 different words"
    with_stop_words = vectors.bags(texts)
    assert with_stop_words.counts[:, [0]].sum() == 1
    assert with_stop_words.coverage.missing == (("dog", 3), ("and", 1), ("bird", 1), ("of", 1))
    assert vectors.bags([]).coverage.share == 1.0


def test_counts_of_terms_become_bags() -> None:
    vectors = WordVectors(["oslo", "Cat"], np.eye(2))
    counts = csr_array(np.array([[1, 0, 2, 0], [0, 5, 1, 0]]))
    found = vectors.rebag(counts, ["cat", "dog", "oslo", "unused"])
    assert found.counts.toarray().tolist() == [[2, 1], [1, 0]]
    assert found.coverage == Coverage(9, 4, 3, 2, (("dog", 5),))
    nothing = vectors.rebag(counts, ["a", "b", "c", "d"])
    assert nothing.counts.shape == (2, 2)
    assert nothing.coverage.known_tokens == 0
    with pytest.raises(ValueError, match="one for each of 4 columns, got 1"):
        vectors.rebag(counts, ["cat"])


def test_bags_are_what_an_admixture_learns() -> None:
    rng = np.random.default_rng(0)
    words = [f"{kind}{letter}" for kind in ("ship", "cat") for letter in "abcdefgh"]
    vectors = WordVectors(words, np.repeat(np.eye(2, 4), 8, axis=0) + 0.1 * rng.standard_normal((16, 4)))
    texts = [" ".join(rng.choice(words[8 * (i % 2) : 8 * (i % 2) + 8], 12)) for i in range(20)]
    bags = vectors.bags(texts)
    model = DirichletVMFAdmixture(2, random_state=0).fit(vectors.vectors, counts=bags.counts)
    assert (model.labels_ == model.labels_[np.arange(20) % 2]).all()
    assert model.labels_[0] != model.labels_[1]


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("glove6b_50d_5k", 0.83),
        ("glove_twitter_25d_12k", 0.89),
        ("word2vec_googlenews_300d_8k", 0.77),
        ("word2vec_reuters_20d_13k", 0.91),
    ],
)
def test_real_vectors_cover_what_they_are_said_to(name: str, share: float) -> None:
    import pyarrow.parquet as pq

    vectors = read_word_vectors(corpus_file(f"word_embeddings/{name}.npz"))
    table = pq.read_table(corpus_file("reuters21578/docs.parquet"), columns=["text"])
    texts = [text or "" for text in table["text"].to_pylist()[:3000]]
    assert vectors.bags(texts).coverage.share == pytest.approx(share, abs=0.04)


CASES: list[tuple[str, Any, str]] = [
    ("a.txt", "cat 1 2\ndog 1\n", "line 2: expected a word and 2 numbers, got 'dog 1'"),
    ("a.txt", "2 3\ncat 1 2 3\ndog 1 2\n", "line 3: expected a word and 3 numbers"),
    ("a.txt", "cat\n", "line 1: expected a word and some numbers"),
    ("a.txt", "cat 1 two\n", "line 1: expected numbers behind the word, got 'cat 1 two'"),
    ("a.txt", "cat 1 nan\n", "expected finite values, got others for 'cat' in row 0"),
    ("a.txt", "", "no words with vectors"),
    ("a.txt", "1 2\n", "no words with vectors"),
    ("a.npz", {"words": np.array(["a"])}, "expected the arrays words and vectors, got words"),
    ("a.npz", {"words": np.array(["a"]), "vectors": np.ones((2, 3))}, r"got \(1,\) and \(2, 3\)"),
    ("a.npz", "not a zip", "a.npz: "),
    ("a.gz", "not gzip", "a.gz: "),
]


@pytest.mark.parametrize(("name", "content", "message"), CASES)
def test_bad_files_are_named(tmp_path: Path, name: str, content: Any, message: str) -> None:
    file = tmp_path / name
    if isinstance(content, dict):
        np.savez(file, **content)
    else:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_word_vectors(file)


def test_a_missing_file_and_words_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.txt: no such file"):
        read_word_vectors(tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match="no words with vectors among those asked for"):
        read_word_vectors(written(tmp_path, "glove.txt"), only=["dog"])
    with pytest.raises(ValueError, match=r"a row for each of 2 words, got the shape \(3, 1\)"):
        WordVectors(["a", "b"], [[1.0], [2.0], [3.0]])
