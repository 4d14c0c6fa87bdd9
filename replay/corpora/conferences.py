"""Abstracts of conferences on machine learning, vision and language.

Licence: none is stated; the copyright of the papers stays with their authors.
"""

from __future__ import annotations

from vmfstream.replay.corpora.nips import PAPER_WORDS
from vmfstream.replay.corpus import ColumnExpressions, Corpus

__all__ = ["ABSTRACTS"]

ABSTRACTS = Corpus(
    name="ml-conferences",
    title="Machine-learning conferences",
    description="Titles and abstracts of 15 venues, 1995 to 2025, by year; the mix of venues changes with time.",
    licence="None stated. Collected by papercopilot/paperlists on GitHub from the public proceedings.",
    file="ml_conf_abstracts_1995_2025/docs.parquet",
    columns=ColumnExpressions(id="id", time="timestamp", title="title", text="title || '. ' || text", label="label"),
    documents=36_555,
    stop_words=(*PAPER_WORDS, "code", "available", "github", "com"),
)
