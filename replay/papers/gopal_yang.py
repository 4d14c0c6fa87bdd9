"""Gopal and Yang 2014, Von Mises-Fisher clustering models."""

from __future__ import annotations

from vmfstream.replay.papers.catalogue import Paper
from vmfstream.replay.papers.gopal_yang_held_out import HELD_OUT
from vmfstream.replay.papers.gopal_yang_tables import AGREEMENT, DATA_SETS, REPRESENTATIONS
from vmfstream.replay.papers.gopal_yang_trees import GROWTH
from vmfstream.replay.papers.gopal_yang_words import VOCABULARY
from vmfstream.replay.papers.gopal_yang_years import NEXT_YEARS

__all__ = ["PAPER"]

PAPER = Paper(
    "gopal-yang",
    "Gopal and Yang 2014: Von Mises-Fisher Clustering Models",
    {
        "table1": DATA_SETS,
        "table2": AGREEMENT,
        "table3": HELD_OUT,
        "table4": REPRESENTATIONS,
        "figure1": NEXT_YEARS,
        "figure2": GROWTH,
        "figure3": VOCABULARY,
    },
)
