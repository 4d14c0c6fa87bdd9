"""Papers of the NIPS conference: abstracts of 32 years, and the full text of the first thirteen.

Licence: none is stated for either collection; the copyright of the papers stays with their authors.
"""

from __future__ import annotations

from vmfstream.replay.corpus import ColumnExpressions, Corpus, word_list

__all__ = ["ABSTRACTS", "PAPERS", "PAPER_WORDS"]

PAPER_WORDS = word_list("""
    abstract achieve achieves address allows also approach approaches art based called case compared consider
    demonstrate demonstrates describe described different due effective efficient empirical empirically et existing
    experimental experiments extensive first framework furthermore general give given however improve improved
    important introduce investigate known large many method methods moreover new novel number often obtain obtained
    outperform outperforms paper particular perform performance performs popular possible present presented previous
    problem problems propose proposed provide real recent recently result results several show showed shown shows
    significantly simple specifically standard study superior task tasks technique techniques two use used useful uses
    using various via well work works
    """)
"""Words of every abstract, whatever it is about."""

ABSTRACTS = Corpus(
    name="nips",
    title="NIPS abstracts",
    description="Titles and abstracts of the NIPS (NeurIPS) conference, 1987 to 2018, by year.",
    licence="None stated. Collected by papercopilot/paperlists on GitHub from the public proceedings.",
    file="nips_abstracts_1987_2018/docs.parquet",
    columns=ColumnExpressions(id="id", time="timestamp", title="title", text="title || '. ' || text"),
    documents=8_064,
    stop_words=PAPER_WORDS,
)

PAPERS = Corpus(
    name="nips-papers",
    title="NIPS papers",
    description="Full texts (scanned) of the NIPS conference, 1987 to 1999, by year.",
    licence="None stated; copyright of the authors. From gregoryyy/knowceans and wenzheli/ReviewMining on GitHub.",
    file="nips_1987_1999/docs.parquet",
    columns=ColumnExpressions(id="id", time="timestamp", title="title", text="text", label="label"),
    documents=1_740,
    stop_words=(
        *PAPER_WORDS,
        *word_list("""
            acknowledgements al cambridge department fig figure figures ieee introduction press proceedings pp
            references section table tion university vol
        """),
    ),
)
