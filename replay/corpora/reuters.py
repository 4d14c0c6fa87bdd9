"""The Reuters newswire of 1987 (Reuters-21578, Distribution 1.0).

Licence: Reuters and Carnegie Group allow free distribution for research only; its use is to be acknowledged as
"Reuters-21578, Distribution 1.0".
"""

from __future__ import annotations

from vmfstream.replay.corpus import ColumnExpressions, Corpus, word_list

__all__ = ["NEWSWIRE"]

NEWSWIRE = Corpus(
    name="reuters",
    title="Reuters newswire 1987",
    description="Newswire stories with time of day in five blocks between February and October 1987.",
    licence='Free for research only; acknowledge as "Reuters-21578, Distribution 1.0".',
    file="reuters21578/docs.parquet",
    # stories that are only a headline have an empty text
    columns=ColumnExpressions(
        id="id", time="timestamp", title="title", text="concat_ws('. ', title, text)", label="label"
    ),
    documents=21_578,
    slices="day",
    stop_words=word_list("company corp dlr dlrs inc last ltd mln new pct reuter reuters said says told year"),
)
