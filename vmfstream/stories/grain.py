"""The grain, compiled: the cosine that a document is expected to have with the mean direction of its story.

A longer document is a larger sample of its story's words and lies nearer to the mean direction; it also has more in
common with everything else. The automatic grain of a document follows its effective number of words, (sum_w |x_w|)^2
for the row x, which is L if L words weigh the same:

    grain = .15 sqrt(words / 12), at least .15 and at most .5

with ``coarsest``, ``short`` and ``finest`` of `StorySettings`.

A row that uses more than half of few columns is a vector and no sample of words, if there will be no more columns.
The fewer its columns D, the more unrelated vectors have in common by chance, some 1 / sqrt(D), so that its grain is at
least

    grain = 1 - (D / 256)^.4 / 2   for D < 256

with ``vector_columns`` of `StorySettings` for 256: .66 for 100 columns, .82 for 20. Half and .4 were chosen on planted
von Mises-Fisher clusters and on sentence vectors and singular vectors of titles, posts and Reuters, cut to 20 to 200
columns.

The cosine of L words with their distribution grows as sqrt(L) while most of them occur once; 12 and .5 were chosen on
streams, see `docs/results.md`. Below .15 two documents hardly ever begin a story together; with a grain that is too low
for them, long documents of all stories join the one that grew most.

Documents of one length differ in how many of their words are those of their story, and a long one that has few of them
is further from the mean direction than its length suggests. So a document that is longer than ``short`` words is
judged a second time before it opens a story: at the coarsest grain, and it joins the story that is most probable then
if that one stands out. Its cosine with the mean direction must be at least ``nearer`` times that of any other story,
and its mean product with the documents of the story at least as many times that with the documents of the other
stories. Stories of one document do not count in the latter, for they may be more of the same; and there must be
``others`` stories of two documents or more to compare with: the first documents of a stream, when little is known of
words, would join one story otherwise. Only words are judged a second time, that is, rows of a sparse matrix without
vectors beside them, that are no vectors themselves, and only under the automatic grain.

The concentration of a document is kappa = D grain / (1 - grain^2), its weight is that over the concentration at the
coarsest grain, or at the given one.

``memory`` is what the mixture remembers, changed in place, and ``scale``, ``size``, ``square``, ``first``, ``last``,
``base``, ``ceiling``, ``slope``, ``beside_square`` and ``beside_slope`` are its arrays; ``model`` are its settings as
numbers; ``slot`` is the place of a story, ``grain`` a number in (0, 1), ``values`` are those of a row.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from vmfstream.directional.bessel_scalars import ell, terms

KAPPA_SQUARED, PRIOR_SQUARED, OPENING, GRAINS, COUNT = range(5)
"""Places in ``Memory.scale``: kappa^2 at weight 1; C_0^2; log alpha + log C_D(C_0); the sum of the grains of documents
and their number."""


@njit(cache=True, nogil=True)
def set_grain(memory, model, grain):  # type: ignore[no-untyped-def]
    """Set the concentrations that belong to the grain at which the weight of a document is 1."""
    kappa = model.dimension * grain / (1.0 - grain * grain)
    prior = model.prior * kappa
    memory.scale[KAPPA_SQUARED] = kappa * kappa
    memory.scale[PRIOR_SQUARED] = prior * prior
    memory.scale[OPENING] = model.log_alpha - ell(model.dimension, prior)
    if model.beside_kappa > 0.0:
        memory.scale[OPENING] -= ell(model.beside, math.sqrt(model.beside_prior))


@njit(cache=True, nogil=True)
def grain_of(values, model):  # type: ignore[no-untyped-def]
    """Return the automatic grain of a document."""
    total, used = 0.0, 0
    for value in values:
        total += abs(np.float64(value))
        used += value != 0.0
    grain = min(max(model.coarsest * total / math.sqrt(model.short), model.coarsest), model.finest)
    return max(grain, model.least_grain) if 2 * used > model.columns else grain


@njit(cache=True, nogil=True)
def weight_of(grain, coarsest):  # type: ignore[no-untyped-def]
    """Return the weight of a document by its automatic grain."""
    return grain / (1.0 - grain * grain) / (coarsest / (1.0 - coarsest * coarsest))


@njit(cache=True, nogil=True)
def cauchy(dimension, grain, kappa, prior, square, product):  # type: ignore[no-untyped-def]
    """Return log p(x | story) of a spherical Cauchy distribution, in nats above the uniform density.

    Parameters
    ----------
    dimension : D of the formulas
    grain : of the document
    kappa, prior : concentrations of a document of weight 1 and of the prior of mean directions
    square, product : |r|^2 of the story, and r'x for the unit row x; both 0 for a new story

    Notes
    -----
    With the expected cosine g = 2 rho / (1 + rho^2) of many dimensions its density is (sqrt(1 - g^2) / (1 - g m'x))^
    (D - 1). What is known of the mean direction is a von Mises-Fisher distribution about m of the concentration
    |kappa r + C_0 m_0|, as the tangents of the likelihood at g say; then g is the grain times the expected cosine of
    the two, by Amos's bound Gamma / (h + sqrt(h^2 + Gamma^2)) with h = (D - 1) / 2.
    """
    gamma = math.sqrt(kappa * kappa * square + prior * prior)
    half = 0.5 * (dimension - 1.0)
    expected = grain * gamma / (half + math.sqrt(half * half + gamma * gamma))
    return (dimension - 1.0) * (
        0.5 * math.log1p(-expected * expected) - math.log1p(-expected * kappa * product / gamma)
    )


@njit(cache=True, nogil=True)
def rescore(  # type: ignore[no-untyped-def]
    slot, model, scale, size, square, first, last, base, ceiling, slope, beside_square, beside_slope
):
    """Set what the score of a story is made of from its count, its times and its squares."""
    if model.cauchy:
        base[slot] = 2.0 * math.log(size[slot]) - math.log(1.0 + (last[slot] - first[slot]) / model.tempo)
        return
    concentration = math.sqrt(scale[KAPPA_SQUARED] * max(square[slot], 0.0) + scale[PRIOR_SQUARED])
    own, cosine, _, _ = terms(model.dimension, concentration)
    steep = 0.5 * scale[KAPPA_SQUARED] * cosine / concentration
    tempo = 1.0 + (last[slot] - first[slot]) / model.tempo
    base[slot] = 2.0 * math.log(size[slot]) - math.log(tempo) - own
    ceiling[slot] = base[slot] + own
    slope[slot] = 2.0 * steep
    if model.beside_kappa > 0.0:
        concentration = math.sqrt(model.beside_kappa * max(beside_square[slot], 0.0) + model.beside_prior)
        own, cosine, _, _ = terms(model.beside, concentration)
        beside_slope[slot] = model.beside_kappa * cosine / concentration
        base[slot] -= own
