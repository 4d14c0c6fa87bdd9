"""Steps of beliefs that are fused with others give what these give one after the other."""

from __future__ import annotations

import numpy as np

from vmfstream.bayes.factors import beliefs


def test_fused_steps_equal_single_ones() -> None:
    rng = np.random.default_rng(0)
    p, s = (rng.standard_normal((50, 16)).astype(np.float32) for _ in range(2))
    h, norms = beliefs.learn(p, s, np.full(16, 3.0))
    np.testing.assert_allclose(beliefs.learned_norms(p, s, 3.0), norms, rtol=1e-12)
    out = np.zeros_like(p)
    beliefs.learned_scaled(p, s, 3.0, np.arange(16.0), out)
    np.testing.assert_allclose(out, h * np.arange(16.0), rtol=1e-6, atol=1e-6)
