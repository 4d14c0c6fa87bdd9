"""Front-page stories of the New York Times: headlines with a coder's one-line summary.

Licence: none is stated for the full file; the headlines are the New York Times'. For research.
"""

from __future__ import annotations

from vmfstream.replay.corpus import ColumnExpressions, Corpus, word_list

__all__ = ["FRONT_PAGE"]

FRONT_PAGE = Corpus(
    name="nyt",
    title="New York Times front page",
    description="Headline and summary of front-page stories, 1996 to 2006; nine days in ten are interpolated.",
    licence="None stated; headlines of the New York Times. A. Boydstun's front-page data set, coded for research.",
    file="nyt_frontpage_1996_2006/docs.parquet",
    columns=ColumnExpressions(
        id="id", time="date_approx", title="coalesce(nullif(title, ''), summary)", text="text", label="label"
    ),
    documents=31_034,
    slices="year",
    # names of series ("A NATION CHALLENGED: THE OVERVIEW", "Special Today", "News Analysis") and the coder's shorthand
    stop_words=word_list("""
        aftereffects analysis article case challenged counting day diary edition inside journal memo metro nation news
        overview page photo photos picture report responses says series special story struggle testing threats today
        tomorrow week yesterday
        """),
)
