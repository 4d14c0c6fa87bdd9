"""Settings of a sequential mixture, and the constants of its formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

AUTO: Literal["auto"] = "auto"
"""Grain that follows the length of each document, see `vmfstream.stories.grain`."""

COMPONENTS = ("vmf", "cauchy")
"""Distributions of stories: von Mises-Fisher and spherical Cauchy."""

_LEAST, _MOST = 1e-100, 1e18
"""Bounds of numbers by which formulas stay finite and whole numbers have room."""


@dataclass(frozen=True, slots=True)
class StorySettings:
    """Parameters of a sequential mixture.

    The defaults of ``alpha`` and ``dimension`` were chosen from a grid of some 60, with the news titles in two orders,
    Reuters, the posts of CrisisLexT26, both also joined to longer documents, and planted streams in sight: on none of
    these are figures held out. The constants of the automatic grain were chosen from some 25 with the same titles,
    posts and Reuters, threads of 20 Newsgroups and six planted streams in sight; front pages of the New York Times
    were looked at once before.

    Attributes
    ----------
    grain : float or "auto"
        Expected cosine between a document and the mean direction of its story, in (0, 1); larger is finer. The
        concentration is kappa = D grain / (1 - grain^2) with D = ``dimension``. "auto" follows the length
        of documents.
    half_life : float
        Time after which the prior weight of a story of one document is halved, > 0.
    alpha : float
        Prior weight of a new story; that of a story of one document that just came is 1. > 0.
    retire_after : float
        Half-lives after which a story that nobody joined is retired, > 0.
    prior : float
        Concentration of the prior of mean directions over kappa, > 0.
    max_stories : int
        Living stories; when there are more, the one that nobody joined for longest is retired.
    max_words : int
        Words that the sum of a story's rows may hold; when it holds more, the weakest quarter is dropped.
    days : bool
        Whether a run counts the half-life in days, by the times of documents, instead of documents.
    coarsest, finest : float
        Smallest and largest automatic grain, expected cosines in (0, 1); the first is that of up to ``short`` words.
    nearer : float
        How many times as near as any other, and as all others in the mean, a story must be for a document to join it at
        its second judgement, >= 1; see `vmfstream.stories.grain`.
    others : int
        Other stories, of two documents or more, that there must be for a second judgement.
    examined, last_examined : int
        Documents of a story when it is compared with others to be merged for the first time, and at most for the last;
        see `vmfstream.stories.ends`.
    compared : int
        Documents that count at most in such a comparison.
    short : float
        Effective words up to which a document has the smallest automatic grain, >= 1.
    dimension : float
        D of the formulas, whatever the number of columns: a column that no document uses changes no cosine, but
        log-likelihoods grow with D, while the prior and the tempo of stories do not. So it says how much words count
        beside time. > 1.
    words_beside, vectors_beside : float
        The same for documents with words and a vector beside them: D of the words and of the vector, whatever its
        length. They were chosen from a grid of 27 together with ``vectors_grain``, see `docs/embeddings.md`.
    vectors_grain : float
        Grain of vectors beside words, in (0, 1).
    cauchy : bool
        Whether stories are spherical Cauchy distributions, which have heavy tails, instead of von Mises-Fisher ones.
    vector_columns : float
        Columns of vectors below which the automatic grain is finer than ``finest``, see `vmfstream.stories.grain`;
        > 0. Runs that began before this rule have 1.
    """

    grain: float | Literal["auto"] = AUTO
    half_life: float = 300.0
    alpha: float = 10_000.0
    retire_after: float = 8.0
    prior: float = 0.1
    max_stories: int = 1_000_000
    max_words: int = 4_096
    days: bool = False
    coarsest: float = 0.15
    finest: float = 0.5
    nearer: float = 1.6
    others: int = 5
    examined: int = 5
    last_examined: int = 40
    compared: int = 10
    short: float = 12.0
    dimension: float = 1_800.0
    words_beside: float = 1_500.0
    vectors_beside: float = 150.0
    vectors_grain: float = 0.5
    cauchy: bool = False
    vector_columns: float = 256.0

    def numbers(self) -> NDArray[np.float64]:
        """Flatten, in the order of the fields; NaN stands for "auto"."""
        values = (getattr(self, field.name) for field in fields(self))
        return np.array([math.nan if value == AUTO else value for value in values], np.float64)

    @classmethod
    def from_numbers(cls, numbers: NDArray[np.float64]) -> StorySettings:
        """Rebuild what `numbers` made; ValueError if it cannot have.

        It made 21 numbers before vector_columns, which is 1 then, 20 before cauchy, 15 before the fields from ``short``
        on, 8 before those from ``coarsest`` on, and 7 before days; those that lack get their defaults.
        """
        grain, *given = numbers.tolist() if len(numbers) in (7, 8, 15, 20, 21, len(fields(cls))) else [0.0]
        positive, flags = given[:6] + given[7:19] + given[20:], given[6:7] + given[19:20]
        wrong = f"expected settings of stories, got {numbers.tolist()}"
        if not (all(_LEAST <= value <= _MOST for value in positive) and set(flags) <= {0.0, 1.0}):
            raise ValueError(wrong)
        kinds: list[Any] = [type(field.default) for field in fields(cls)[1:]]
        found = cls(
            AUTO if math.isnan(grain) else grain, *(kind(value) for kind, value in zip(kinds, given, strict=False))
        )
        if len(given) < len(kinds):
            found = replace(found, vector_columns=1.0)
        grains = found.coarsest, found.finest, found.vectors_grain, found.coarsest if math.isnan(grain) else grain
        if not all(_LEAST <= value < 1.0 for value in grains):
            raise ValueError(wrong)
        return found


class Constants(NamedTuple):
    """`StorySettings` as the compiled code takes them."""

    dimension: float
    prior: float
    tempo: float
    """b_0, the prior of the time between documents of a story."""
    log_alpha: float
    automatic: bool
    """Whether the grain follows the length of documents."""
    half_life: float
    silence: float
    """Time after which a story is retired."""
    max_stories: int
    max_words: int
    beside: float
    """Dimension of the vectors that documents have beside their words."""
    beside_kappa: float
    beside_prior: float
    """Squares of the concentration of these vectors and of the prior of their mean directions."""
    coarsest: float
    finest: float
    nearer: float
    others: int
    examined: int
    last_examined: int
    compared: int
    short: float
    cauchy: bool
    grain: float
    """The grain that is given, or the coarsest one."""
    beside_grain: float
    least_grain: float
    columns: int
    """Least automatic grain of rows that are vectors, and their columns; both 0 if there may be more columns."""


def constants(settings: StorySettings, *, columns: int = 0, vectors: bool = False) -> Constants:
    """Return the constants of the formulas with these ``settings``.

    ``columns`` are those of rows, 0 where there may be more of them; ``vectors`` tells that documents have some beside
    their words.
    """
    few = 0 < columns < settings.vector_columns
    kappa = settings.vectors_beside * settings.vectors_grain / (1.0 - settings.vectors_grain**2)
    return Constants(
        settings.words_beside if vectors else settings.dimension,
        settings.prior,
        settings.half_life / (math.sqrt(2.0) - 1.0),
        math.log(settings.alpha),
        settings.grain == AUTO,
        settings.half_life,
        settings.retire_after * settings.half_life,
        settings.max_stories,
        settings.max_words,
        settings.vectors_beside,
        kappa**2 if vectors else 0.0,
        (settings.prior * kappa) ** 2 if vectors else 0.0,
        settings.coarsest,
        settings.finest,
        settings.nearer,
        settings.others,
        settings.examined,
        settings.last_examined,
        settings.compared,
        settings.short,
        settings.cauchy,
        settings.coarsest if settings.grain == AUTO else settings.grain,
        settings.vectors_grain,
        1.0 - 0.5 * (columns / settings.vector_columns) ** 0.4 if few else 0.0,
        columns,
    )
