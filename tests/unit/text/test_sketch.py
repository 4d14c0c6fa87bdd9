"""Sketches of directions: angles survive, whatever the order and number of the columns."""

from __future__ import annotations

import numpy as np

from vmfstream.records import SKETCH_SIZE
from vmfstream.text.sketch import mixed32, projection, sketch


def _names(count: int) -> list[bytes]:
    return [f"word{i}".encode() for i in range(count)]


def _degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))))


def test_angles_between_directions_with_few_strong_words_survive() -> None:
    rng = np.random.default_rng(0)
    project = projection(_names(5000))
    errors = []
    for _ in range(50):
        strength = (1.0 + np.arange(5000)) ** -0.8
        a = rng.permutation(strength)
        b = a + rng.uniform(0, 1.5) * rng.permutation(strength)
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        both = sketch(project, np.stack([a, b], axis=1).astype(np.float32)).astype(np.float64)
        errors.append(_degrees(both[0], both[1]) - _degrees(a, b))
    assert np.abs(errors).mean() < 1.7
    assert abs(np.mean(errors)) < 1.0


def test_a_grown_and_reordered_vocabulary_gives_the_same_sketch() -> None:
    rng = np.random.default_rng(1)
    direction = rng.random(300).astype(np.float32)
    names = _names(300)
    order = rng.permutation(300)
    grown = np.zeros(350, np.float32)
    grown[:300] = direction[order]
    grown_names = [names[i] for i in order] + [f"new{i}".encode() for i in range(50)]
    one = sketch(projection(names), direction[:, None])
    two = sketch(projection(grown_names), grown[:, None])
    assert one.shape == (1, SKETCH_SIZE)
    np.testing.assert_allclose(one, two, atol=1)


def test_every_number_is_used_about_equally() -> None:
    project = projection(_names(20_000))
    filled = np.bincount(project[0].ravel(), minlength=SKETCH_SIZE)
    assert filled.min() > 0.75 * filled.mean()
    assert filled.max() < 1.25 * filled.mean()
    assert abs(float(project[1].mean())) < 0.01


def test_bits_are_mixed_as_published() -> None:
    """MurmurHash3's fmix32."""
    assert mixed32(np.array([0, 1], np.uint32)).tolist() == [0, 0x514E28B7]
