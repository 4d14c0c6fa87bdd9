"""The grain: how near a document is expected to be to the mean direction of its story, compiled.

A longer document is a larger sample of its story's words and lies nearer to the mean direction; it also has more in
common with everything else. The automatic grain follows the effective number of words of a row x, 1 / sum_w x_w^4,
which is L if L words weigh the same. With the mean m of it over the documents so far

    grain = .15 (m / 9)^.6, at least .15 and at most .45

The cosine of L words with their distribution grows as sqrt(L) while most of them occur once; .6 and 9 were chosen on
streams, see `docs/results.md`. Below .15 two documents hardly ever begin a story together, and stories that grew take
everything. At 20,000 documents their weight is halved.

``memory`` is what the mixture remembers, changed in place; ``model`` are its settings as numbers; ``documents`` are
rows, of which ``i`` is one; ``slot`` is the place of a story, ``grain`` a number in (0, 1).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from vmfstream.directional.bessel_scalars import ell, terms
from vmfstream.stories.memory import OLDEST

KAPPA_SQUARED, PRIOR_SQUARED, OPENING, GRAIN, WORDS, COUNT, NEXT = range(7)
"""Places in ``Memory.scale``: kappa^2; C_0^2; log P(new) + log p(x | new) but for what all stories share; the grain;
the sum of effective words and the weight of their documents; the weight at which the grain is set next."""

COARSEST, FINEST = 0.15, 0.45
_SHORT, _POWER = 9.0, 0.6
_MEMORY = 20_000.0
_STEP = 1.05


@njit(cache=True, nogil=True)
def set_grain(memory, model, grain):  # type: ignore[no-untyped-def]
    """Set the concentrations that belong to a grain; scores of living stories must be set anew, see `rescore`."""
    kappa = model.dimension * grain / (1.0 - grain * grain)
    prior = model.prior * kappa
    new = ell(model.dimension, math.hypot(kappa, prior)) - ell(model.dimension, prior)
    memory.scale[KAPPA_SQUARED] = kappa * kappa
    memory.scale[PRIOR_SQUARED] = prior * prior
    memory.scale[OPENING] = model.log_alpha + new
    memory.scale[GRAIN] = grain


@njit(cache=True, nogil=True)
def rescore(memory, model, slot):  # type: ignore[no-untyped-def]
    """Set what the score of a story is made of from its count, its times and its square."""
    square = max(memory.square[slot], 0.0)
    concentration = math.sqrt(memory.scale[KAPPA_SQUARED] * square + memory.scale[PRIOR_SQUARED])
    own, cosine, _, _ = terms(model.dimension, concentration)
    slope = 0.5 * memory.scale[KAPPA_SQUARED] * cosine / concentration
    tempo = 1.0 + (memory.last[slot] - memory.first[slot]) / model.tempo
    memory.base[slot] = 2.0 * math.log(memory.size[slot]) - math.log(tempo) - own
    memory.ceiling[slot] = memory.base[slot] + own + slope
    memory.slope[slot] = 2.0 * slope


@njit(cache=True, nogil=True)
def follow_length(memory, model, documents, i):  # type: ignore[no-untyped-def]
    """Count the effective words of document ``i``, and now and then set the grain by their mean."""
    scale = memory.scale
    fourth = 0.0
    for j in range(documents.bounds[i], documents.bounds[i + 1]):
        square = np.float64(documents.values[j]) ** 2
        fourth += square * square
    scale[WORDS] += 1.0 / fourth
    scale[COUNT] += 1.0
    if scale[COUNT] < scale[NEXT]:
        return
    grain = COARSEST * (scale[WORDS] / scale[COUNT] / _SHORT) ** _POWER
    set_grain(memory, model, min(max(grain, COARSEST), FINEST))
    slot = memory.counters[OLDEST]
    while slot >= 0:
        rescore(memory, model, slot)
        slot = memory.newer[slot]
    if scale[COUNT] >= _MEMORY:
        scale[WORDS] *= 0.5
        scale[COUNT] *= 0.5
    scale[NEXT] = max(scale[COUNT] + 1.0, math.floor(_STEP * scale[COUNT]))
