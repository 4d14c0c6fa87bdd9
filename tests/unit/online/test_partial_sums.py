"""Helpers that score parts of a batch leave the open slice as scoring all of it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from vmfstream.bayes.temporal.word_sums import narrowed
from vmfstream.directional.sphere import unit_rows
from vmfstream.online import tracker
from vmfstream.online.partial_sums import added, partial_sums, slice_progress, step_by_sums
from vmfstream.online.state import TrackerSettings, TrackState

SETTINGS = TrackerSettings(topics=3, threads=1, cold_starts=1, window=60)


def rows(seed: int, n: int = 90, d: int = 40) -> csr_array:
    rng = np.random.default_rng(seed)
    centres = np.repeat(np.eye(3), d // 3 + 1, axis=1)[:, :d] * 2 + 0.1
    x = rng.poisson(centres[rng.integers(0, 3, n)] * 0.5).astype(np.float32)
    x[4] = 0
    return unit_rows(csr_array(x))[0]


@pytest.fixture(scope="module")
def state() -> TrackState:
    begun = tracker.init(SETTINGS, [(0, rows(0)), (1, rows(1))], 2, rows(2)[:0])
    after, _ = tracker.step(begun, rows(3), SETTINGS)
    return after


@pytest.mark.parametrize("dense", [False, True])
def test_shares_add_up_to_the_step(state: TrackState, dense: bool) -> None:
    x: Any = rows(4).toarray() if dense else rows(4)
    whole, info = tracker.step(state, x, SETTINGS)
    begun, so_far = slice_progress(state, 0.0, SETTINGS)
    parts = [partial_sums(part, state.base, so_far, len(info.label), 1) for part in (x[:20], x[20:21], x[21:])]
    share = added(added(parts[0][0], parts[1][0]), parts[2][0])
    resp = np.concatenate([scored.resp for _, scored in parts])
    after = step_by_sums(begun, share, x, resp)
    np.testing.assert_allclose(after.open.s, whole.open.s, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(after.open.n, whole.open.n, rtol=1e-6)
    np.testing.assert_allclose(after.f, whole.f, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(np.concatenate([scored.info.label for _, scored in parts]), info.label)
    np.testing.assert_allclose(np.concatenate([scored.info.loglik for _, scored in parts]), info.loglik, rtol=1e-6)
    assert (after.open.documents, share.documents, share.scored) == (whole.open.documents, 90, 89)
    # sparse rows are summed by our own loops; BLAS sums dense ones in an order that depends on the number of rows
    assert share.loglik == pytest.approx(info.loglik.sum(), rel=1e-6 if dense else 1e-9)
    np.testing.assert_array_equal(after.open.kept[-1][1], whole.open.kept[-1][1])


def test_a_share_holds_only_the_words_that_occur(state: TrackState) -> None:
    x = rows(4)[:2]
    _, so_far = slice_progress(state, 0.0, SETTINGS)
    share, _ = partial_sums(x, state.base, so_far, 0, 1)
    assert share.words.tolist() == sorted(set(x.indices.tolist()))
    assert share.s.shape == (len(share.words), state.kp)
    assert narrowed(x).x.shape == (2, len(share.words))


def test_documents_without_words_and_none_at_all_add_nothing(state: TrackState) -> None:
    _, so_far = slice_progress(state, 0.0, SETTINGS)
    for x in (rows(4)[4:5], rows(4)[:0]):
        share, scored = partial_sums(x, state.base, so_far, 5, 1)
        assert (share.scored, share.loglik, share.n.sum(), len(share.words)) == (0, 0.0, 0.0, 0)
        assert scored.resp.sum() == 0.0


def test_a_negative_coordinate_widens_the_cosines_for_all(state: TrackState) -> None:
    widened, so_far = slice_progress(state, -1.0, SETTINGS)
    assert widened.lowest_cosine == so_far.lowest_cosine == -1.0
    assert slice_progress(replace(state, lowest_cosine=-1.0), 0.0, SETTINGS)[1].lowest_cosine == -1.0
