"""Gopal and Yang 2014, Von Mises-Fisher clustering models."""

from __future__ import annotations

from vmfstream.replay.papers.catalogue import Paper
from vmfstream.replay.papers.gopal_yang_figures import FIGURES
from vmfstream.replay.papers.gopal_yang_tables import TABLES

__all__ = ["PAPER"]

PAPER = Paper("gopal-yang", "Gopal and Yang 2014: Von Mises-Fisher Clustering Models", {**TABLES, **FIGURES})
