"""Banerjee, Dhillon, Ghosh and Sra 2005, Clustering on the unit hypersphere using von Mises-Fisher distributions."""

from __future__ import annotations

from vmfstream.replay.papers.banerjee_figures import FIGURES
from vmfstream.replay.papers.banerjee_inverses import INVERSES
from vmfstream.replay.papers.banerjee_simulated import SMALL_MIX_DRAWN
from vmfstream.replay.papers.banerjee_tables import TABLES
from vmfstream.replay.papers.catalogue import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    "banerjee",
    "Banerjee, Dhillon, Ghosh and Sra 2005: Clustering on the Unit Hypersphere using von Mises-Fisher Distributions",
    {"table1": INVERSES["table1"], **TABLES, "figure1": SMALL_MIX_DRAWN, **FIGURES, **INVERSES},
)
