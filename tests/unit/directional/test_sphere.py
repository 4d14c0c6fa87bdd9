from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix

from vmfstream.directional.sphere import cosine_plus_plus, unit_rows


def dense(x: Any) -> Any:
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x)


def stored(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else x.data


@pytest.mark.parametrize("kind", [np.asarray, csr_array, csr_matrix, coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows(kind: Any, dtype: type) -> None:
    given_rows: Any = np.array([[3, 0, -4], [0, 0, 0], [0, 2, 0]], dtype)
    rows, empty = unit_rows(kind(given_rows))
    assert rows.dtype == dtype
    assert isinstance(rows, np.ndarray if kind is np.asarray else csr_array)
    np.testing.assert_allclose(dense(rows), np.array([[0.6, 0, -0.8], [0, 0, 0], [0, 1, 0]]), rtol=1e-7)
    np.testing.assert_array_equal(empty, [False, True, False])


def test_unit_rows_leaves_the_input_alone() -> None:
    for x in (np.array([[3.0, 4.0]]), csr_array([[3.0, 4.0]])):
        unit_rows(x)
        np.testing.assert_array_equal(dense(x), [[3.0, 4.0]])


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_unit_length_need_no_copy(kind: Any, dtype: type) -> None:
    x = kind(unit_rows(np.random.default_rng(0).random((50, 70)).astype(dtype))[0])
    rows, empty = unit_rows(x, copy=False)
    assert np.shares_memory(stored(rows), stored(x))
    assert not empty.any()
    assert not np.shares_memory(stored(unit_rows(x)[0]), stored(x))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("factor", [1.0 + 1e-5, 3.0, 0.0])
def test_other_rows_are_scaled_in_a_copy(kind: Any, factor: float) -> None:
    units = unit_rows(np.random.default_rng(0).random((5, 7)))[0]
    given_rows = units.copy()
    given_rows[3] *= factor
    x = kind(given_rows)
    rows, empty = unit_rows(x, copy=False)
    np.testing.assert_array_equal(dense(x), given_rows)
    np.testing.assert_array_equal(empty, np.arange(5) == (3 if factor == 0.0 else 9))
    np.testing.assert_allclose(dense(rows)[~empty], units[~empty], rtol=1e-15)


def test_rows_of_unit_length_out_of_order_are_sorted_in_a_copy() -> None:
    x = csr_array((np.array([0.6, 0.8]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    rows: Any = unit_rows(x, copy=False)[0]
    assert rows.indices.tolist() == [0, 1]
    assert rows.data.tolist() == [0.8, 0.6]
    assert x.indices.tolist() == [1, 0]


def test_unit_rows_adds_duplicates_and_sorts() -> None:
    x = csr_array((np.array([1.0, 2.0, 2.0]), np.array([3, 0, 3]), np.array([0, 3])), shape=(1, 4))
    rows: Any = unit_rows(x)[0]
    np.testing.assert_array_equal(rows.indices, [0, 3])
    np.testing.assert_allclose(rows.data, np.array([2.0, 3.0]) / np.sqrt(13))


def test_unit_rows_makes_numbers_of_counts() -> None:
    rows, _ = unit_rows(np.array([[1, 1]]))
    assert rows.dtype == np.float64


def test_explicit_zeros_are_empty() -> None:
    x = csr_array(np.eye(2))
    x.data[1] = 0.0
    assert unit_rows(x)[1].tolist() == [False, True]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=5))
@settings(deadline=None)
def test_unit_rows_of_any_size(row: list[float]) -> None:
    rows, empty = unit_rows(np.array([row]))
    if any(row):
        assert np.linalg.norm(rows) == pytest.approx(1, rel=1e-12)
    assert empty[0] == (not any(row))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_says_where_a_value_is_not_finite(kind: Any, value: float) -> None:
    x = np.eye(4)
    x[2, 3] = value
    with pytest.raises(ValueError, match=f"finite values, neither NaN nor inf, got {value} in row 2, column 3"):
        unit_rows(kind(x))


def test_says_that_rows_are_missing() -> None:
    with pytest.raises(ValueError, match=r"two dimensions, got the shape \(3,\)"):
        unit_rows(np.ones(3))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_seeds_are_different_directions(kind: Any, dtype: type) -> None:
    rng = np.random.default_rng(0)
    directions, _ = unit_rows(rng.random((5, 20)).astype(dtype))
    x = dense(directions)[rng.integers(5, size=200)]
    x[::7] = 0.0
    seeds = cosine_plus_plus(kind(x), 8, rng)
    assert len(seeds) == 5
    assert len(np.unique(x[seeds], axis=0)) == 5
    assert x[seeds].any(axis=1).all()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_seeds_do_not_depend_on_the_storage(kind: Any) -> None:
    x, _ = unit_rows(np.random.default_rng(1).random((50, 10)))
    seeds = cosine_plus_plus(kind(x), 6, np.random.default_rng(2))
    np.testing.assert_array_equal(seeds, cosine_plus_plus(x, 6, np.random.default_rng(2)))
    assert len(set(seeds.tolist())) == 6


def test_seeds_are_drawn_by_distance() -> None:
    # from e1 the two others have the distances 0.2 and 1: they follow in the proportion 1 to 5
    x = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    rng = np.random.default_rng(3)
    second = [pair[1] for pair in (cosine_plus_plus(x, 2, rng) for _ in range(6_000)) if pair[0] == 0]
    assert np.mean(np.array(second) == 2) == pytest.approx(5 / 6, abs=0.03)


def test_weights_draw_seeds_more_often() -> None:
    # from e1: distance 0.2 seen five times and distance 1 seen once are as likely; what was never seen is never drawn
    x = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
    rng, weights = np.random.default_rng(4), np.array([1.0, 5.0, 1.0, 0.0])
    pairs = np.array([cosine_plus_plus(x, 2, rng, weights) for _ in range(6_000)])
    assert np.bincount(pairs[:, 0], minlength=4) / 6_000 == pytest.approx(weights / 7, abs=0.03)
    assert np.mean(pairs[pairs[:, 0] == 0, 1] == 1) == pytest.approx(0.5, abs=0.05)
    assert (pairs != 3).all()


def test_opposite_rows_are_far() -> None:
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert sorted(cosine_plus_plus(x, 3, np.random.default_rng(0)).tolist()) == [0, 1]


def test_no_rows_no_seeds() -> None:
    rng = np.random.default_rng(0)
    assert cosine_plus_plus(csr_array((3, 4)), 2, rng).shape == (0,)
    assert cosine_plus_plus(np.zeros((0, 4)), 2, rng).shape == (0,)
    with pytest.raises(ValueError, match="k: expected at least one row, got 0"):
        cosine_plus_plus(np.eye(2), 0, rng)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_squares_of_single_precision_neither_overflow_nor_vanish(scale: float) -> None:
    rows, empty = unit_rows(np.array([[3.0, 4.0]], np.float32) * np.float32(scale))
    np.testing.assert_allclose(rows, [[0.6, 0.8]], rtol=1e-6)
    assert not empty.any()
