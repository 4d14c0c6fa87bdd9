"""The automatic grain: how alike documents are that have nothing to do with each other, compiled.

A story has to be finer than the background: in a stream of long documents any two of them have a cosine well above 0,
and a story that grew has that with everything. Three averages over the documents so far, each an exact sum over words:

    b   = mean cosine of two documents                      |sum_i x_i|^2 without i = j
    s^2 = mean square of the cosine of two documents that share words by chance only
                                                            |sum_i x_i^2|^2 without i = j, squares word by word
    grain^2 = (12 b n / (n + 600))^2 + (2,000 . 0.15^2 + n (6 s)^2) / (n + 2,000)

The squares take words as independent, so stories hardly raise them. b counts what all share, which does not average out
in a story that grows, and weighs more. The first documents are more alike than later ones, for weights of words are not
settled and few stories are there: they count little. The grain stays between .05 and .5. At 20,000 documents the sums
are halved.

``memory`` is what the mixture remembers, changed in place; ``model`` are its settings as numbers; ``documents`` are
rows, which ``dense`` tells to be dense; ``slot`` is the place of a story, ``grain`` a number in (0, 1).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from vmfstream.directional.bessel_scalars import ell, terms
from vmfstream.stories.memory import OLDEST

KAPPA_SQUARED, PRIOR_SQUARED, OPENING, GRAIN, N_SCALES = range(5)
"""Places in ``Memory.scale``: kappa^2, C_0^2, log P(new) + log p(x | new) but for what all stories share, the grain."""

PAIRS, CHANCE, OWN, COUNT, WEIGHTS, NEXT, N_SUMS = range(7)
"""Places in ``Memory.background``: squared length of the sum of rows, of their squares; squared lengths of the squares
of each row; documents, the sum of their squared weights; the count at which the grain is set next."""

FIRST_GRAIN = 0.15
COARSEST, FINEST = 0.05, 0.5
_SHARED, _CHANCE = 12.0, 6.0
_SHARED_DELAY, _CHANCE_DELAY = 600.0, 2_000.0
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
def count_background(memory, model, documents, i, dense):  # type: ignore[no-untyped-def]
    """Count document ``i``, and now and then set the grain by what was counted."""
    sums, moments = memory.background, memory.moments
    low, high = documents.bounds[i], documents.bounds[i + 1]
    for j in range(low, high):
        word = j - low if dense else documents.columns[j]
        value = np.float64(documents.values[j])
        square = value * value
        sums[PAIRS] += value * (2.0 * moments[word, 0] + value)
        sums[CHANCE] += square * (2.0 * moments[word, 1] + square)
        sums[OWN] += square * square
        moments[word, 0] += value
        moments[word, 1] += square
    sums[COUNT] += 1.0
    sums[WEIGHTS] += 1.0
    if sums[COUNT] < sums[NEXT]:
        return
    n = sums[COUNT]
    pairs = n * n - sums[WEIGHTS]
    if pairs > 0.0:
        shared = _SHARED * max(sums[PAIRS] - sums[WEIGHTS], 0.0) / pairs * n / (n + _SHARED_DELAY)
        chance = _CHANCE**2 * max(sums[CHANCE] - sums[OWN], 0.0) / pairs
        squared = shared**2 + (_CHANCE_DELAY * FIRST_GRAIN**2 + n * chance) / (n + _CHANCE_DELAY)
        set_grain(memory, model, min(max(math.sqrt(squared), COARSEST), FINEST))
        slot = memory.counters[OLDEST]
        while slot >= 0:
            rescore(memory, model, slot)
            slot = memory.newer[slot]
    if n >= _MEMORY:
        moments *= 0.5
        sums[PAIRS] *= 0.25
        sums[CHANCE] *= 0.25
        sums[OWN] *= 0.25
        sums[WEIGHTS] *= 0.25
        sums[COUNT] *= 0.5
    sums[NEXT] = max(sums[COUNT] + 1.0, math.floor(_STEP * sums[COUNT]))
