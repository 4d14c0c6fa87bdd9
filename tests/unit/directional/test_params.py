from __future__ import annotations

import numpy as np

from vmfstream.directional.params import Mixture


def test_a_mixture_knows_its_size() -> None:
    mixture = Mixture(pi=np.full(2, 0.5), mu=np.zeros((7, 16), np.float32), kappa=np.ones(2))
    assert (mixture.d, mixture.k) == (7, 2)
