"""Dot products of all pairs of documents, and their densities by a polynomial, are what they should be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, random_array

from vmfstream.online.belief import log_density, new_topic_log_density
from vmfstream.online.births import _pair_gains, gram_of, proposed_groups
from vmfstream.online.settings import BirthSettings

RULES = BirthSettings()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dot_products_of_all_pairs(dtype: type) -> None:
    x = csr_array(random_array((30, 200), density=0.2, rng=np.random.default_rng(0), dtype=dtype))
    rows = x.toarray().astype(np.float64)
    np.testing.assert_allclose(gram_of(x), rows @ rows.T, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(gram_of(x), gram_of(x).T)
    np.testing.assert_allclose(gram_of(x.toarray()), rows @ rows.T, rtol=10 * float(np.finfo(dtype).eps))


def posts(n: int, seed: int) -> csr_array:
    """Rows of a few words of many, of which the first ten are common, and groups of eight with a word each."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 300))
    for i, row in enumerate(x):
        row[rng.integers(0, 10, 2)] = 0.5
        row[rng.integers(10, 300, 5)] = 1.0
        row[10 + i // 8] += 2.0 * (i < n // 2)
    return csr_array((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32))


def known(x: csr_array, anchor: NDArray[np.float32], kappa: float) -> NDArray[np.float64]:
    """Scores under what is known, not below those of a topic without documents."""
    alone = new_topic_log_density(x, anchor, kappa)
    return np.logaddexp(alone - 1.0, RULES.log_share + alone)


@pytest.mark.parametrize(("d", "kappa"), [(50_000, 9000.0), (3000, 700.0), (300, 90.0), (300, 3.0)])
def test_gains_of_pairs_are_those_of_the_density(d: int, kappa: float) -> None:
    x = posts(60, 0)
    gram, b, square = gram_of(x), np.asarray(x @ np.full(300, 0.02 * kappa), np.float64), 300 * (0.02 * kappa) ** 2
    s = log_density(d, kappa, square, b) + RULES.log_share
    plain = log_density(d, kappa, (square + 2.0 * kappa * b + kappa * kappa)[:, None], b + kappa * gram) - s
    np.fill_diagonal(plain, 0.0)
    all_pairs = _pair_gains(gram, b, square, kappa, d, s, np.zeros(60, np.bool_))
    np.testing.assert_allclose(all_pairs, plain, rtol=0, atol=1e-10 * d)
    s -= RULES.log_share
    plain += RULES.log_share
    found = _pair_gains(gram, b, square, kappa, d, s, np.ones(60, np.bool_))
    np.testing.assert_allclose(np.maximum(found, 0.0), np.maximum(plain, 0.0), rtol=0, atol=1e-10 * d)
    assert (gram == 0.0).any()


def test_gains_of_pairs_that_are_all_alike() -> None:
    gram, b, s = np.ones((3, 3)), np.full(3, 3.0), np.zeros(3)
    plain = log_density(100, 20.0, 100.0 + 2.0 * 20.0 * b + 400.0, b + 20.0)
    found = _pair_gains(gram, b, 100.0, 20.0, 100, s, np.zeros(3, np.bool_))
    np.testing.assert_allclose(found[0, 1:], plain[1:], rtol=1e-12)


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_all_pairs(seed: int, *, overlapping: bool) -> None:
    """Pairs without a word in common are left out; with all of them the same groups are proposed."""
    x, kappa = posts(160, seed), 150.0
    anchor = np.full(300, 3.0, np.float32)
    b, square, s = np.asarray(x @ anchor, np.float64), float(anchor @ anchor), known(x, anchor, kappa)
    gram = gram_of(x)
    found = proposed_groups(gram, b, square, kappa, 300, s, RULES, 12, overlapping=overlapping)
    plain = plain_groups(gram, b, square, kappa, s, overlapping=overlapping)
    groups = [np.flatnonzero(members).tolist() for members in found]
    assert groups == [np.flatnonzero(members).tolist() for members in plain]
    assert len(groups) > 5


def plain_groups(
    gram: NDArray[np.float64],
    b: NDArray[np.float64],
    square: float,
    kappa: float,
    s: NDArray[np.float64],
    *,
    overlapping: bool,
) -> list[NDArray[np.bool_]]:
    """Do as `proposed_groups` by matrices of all pairs."""
    d, n, out = 300, len(s), []
    gains = RULES.log_share + log_density(d, kappa, (square + 2.0 * kappa * b + kappa**2)[:, None], b + kappa * gram)
    gains = gains - s
    np.fill_diagonal(gains, 0.0)
    alone = np.minimum(RULES.log_share + log_density(d, kappa, square, b) - s, 0.0)
    free = np.ones(n, np.bool_)
    for _ in range(12):
        may = np.ones(n, np.bool_) if overlapping else free
        seed = int(np.argmax(np.where(free, np.maximum(gains, 0.0) @ may + alone, -np.inf)))
        if not free[seed]:
            break
        members = may & (gains[seed] > 0.0)
        members[seed] = True
        for _ in range(RULES.sweeps):
            before, cross = members, gram @ members
            own = members.astype(float)
            lengths = own @ cross - own * (2.0 * cross - 1.0)
            squares = square + 2.0 * kappa * (own @ b - own * b) + kappa**2 * lengths
            members = may & (log_density(d, kappa, squares, b + kappa * (cross - own)) + RULES.log_share > s)
            if members.sum() < RULES.least_members or np.array_equal(members, before):
                break
        if members.sum() >= RULES.least_members:
            out.append(members)
        free = free & ~members
        free[seed] = False
    return out
