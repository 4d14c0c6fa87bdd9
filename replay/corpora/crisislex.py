"""Posts about 26 crises of 2012 and 2013 (CrisisLexT26; Olteanu, Vieweg and Castillo, CSCW 2015).

Licence: MIT for the collection; the texts belong to their authors. For research, not to be redistributed.
"""

from __future__ import annotations

from vmfstream.replay.corpus import ColumnExpressions, Corpus

__all__ = ["POSTS"]

POSTS = Corpus(
    name="crisislex",
    title="CrisisLexT26",
    description="Posts about 26 crises between May 2012 and December 2013, in several languages, to the second.",
    licence="MIT for the collection; the texts belong to their authors. For research, not to be redistributed.",
    file="crisislex_t26/docs.parquet",
    # posts that have nothing to do with the crisis that they were collected for have no class
    columns=ColumnExpressions(id="id", time="timestamp", text="text", label="CASE WHEN related THEN label END"),
    documents=27_932,
    slices="week",
    stop_words=("rt",),
)
