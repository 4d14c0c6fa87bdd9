"""Titles of news about 152 stories, as in the MStream papers (Yin et al., KDD 2018; Google News, Yin and Wang 2014).

Licence: none stated. For research, not to be redistributed.
"""

from __future__ import annotations

from dataclasses import replace

from vmfstream.replay.corpus import ColumnExpressions, Corpus

__all__ = ["BURSTS", "TITLES"]

TITLES = Corpus(
    name="mstream-news",
    title="News titles",
    description="Titles about 152 stories in an order without time structure; without dates, so slice by count.",
    licence="None stated; titles of Google News. For research, not to be redistributed.",
    file="mstream_news/docs.parquet",
    columns=ColumnExpressions(id="id", time="'2013'", text="text", label="label", order=('"order"',)),
    documents=11_109,
    slices="500",
)

BURSTS = replace(
    TITLES,
    name="mstream-news-t",
    title="News titles in bursts",
    description="Titles about 152 stories that come one after the other, in bursts; without dates, so slice by count.",
    file="mstream_news_t/docs.parquet",
)
