"""Smoothed topics beside the temporal mixture's smoother on the same statistics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import vstack

from tests.unit.online.streams import FILTER, begun, texts
from vmfstream.directional.sphere import row_keys
from vmfstream.estimators.temporal import TemporalVMFMixture
from vmfstream.online import slice_end
from vmfstream.online.reading import smoothed
from vmfstream.online.state import WindowSlice

SLICES = 6
LONG = replace(FILTER, window=10_000)


@pytest.fixture(scope="module", params=[None, 0, 1, 3])
def mixture(request: pytest.FixtureRequest) -> TemporalVMFMixture:
    """Fitted to six slices; its memberships, concentration and prior are those of the tracker below."""
    x, slices = vstack(texts(slices=SLICES), format="csr"), np.repeat(np.arange(SLICES), 40)
    return TemporalVMFMixture(3, persistence=0.9, lag=request.param, random_state=0).fit(x, slices=slices)


def test_the_smoothed_window_is_the_smoother(mixture: TemporalVMFMixture) -> None:
    """All slices of the window speak, or, while they leave it one by one, only so many as stay."""
    fit = mixture._evolution
    drawn = [x[np.argsort(row_keys(x))] for x in texts(slices=SLICES)]  # the fit's own order of rows
    kept = [WindowSlice(t, x, fit.resps[t].astype(np.float32)) for t, x in enumerate(drawn)]
    state = replace(
        begun([w.x for w in kept], LONG, given=SLICES),
        kappa=float(fit.kappa.mean[0]),
        anchor=fit.anchor.astype(np.float32),
        window=tuple(kept),
    )
    if mixture.lag is None:
        views = smoothed(state, LONG)
    else:
        views = []
        for t in range(SLICES):
            state = replace(state, window=tuple(kept[t : t + mixture.lag + 1]))
            state = slice_end._commit_oldest(state, LONG, (views, []))
    assert [view.slice for view in views] == list(range(SLICES))
    for view, f in zip(views, fit.f, strict=True):
        assert np.abs(view.f[:, :3] - f[:, :3]).max() < 1e-5 * view.gamma.max()
