"""Speeches of the General Debate of the United Nations, whole or cut into passages.

Licence: official records of the United Nations; the collection states none.
"""

from __future__ import annotations

from dataclasses import replace

from vmfstream.replay.corpus import ColumnExpressions, Corpus, word_list

__all__ = ["DEBATES", "PASSAGES"]

_WORDS = 60

DEBATES = Corpus(
    name="un",
    title="UN General Debates",
    description="Speeches of the member states in the General Debate of the United Nations, 1946 to 2022, by year.",
    licence="UN official records; none stated. Corpus of Baturo, Dasandi and Mikhaylov, via zach-porter/NLP on GitHub.",
    file="un_general_debates/docs.parquet",
    columns=ColumnExpressions(
        id="id",
        time="timestamp",
        title="country || ', session ' || session",
        text="text",
        label="country",
    ),
    documents=10_568,
    # the courtesies and the institution itself
    stop_words=word_list("""
        address all also assembly behalf congratulate congratulations countries country debate delegate delegation
        delegations distinguished election excellency general government great hope international madam member members
        mr mrs must nation nations organization people peoples predecessor presence presidency president secretary
        session sir state statement states thank today united wish world year years
        """),
)

PASSAGES = replace(
    DEBATES,
    name="un-passages",
    title="UN General Debates in passages",
    description=f"The same speeches cut into passages of {_WORDS} words: half a million short documents.",
    documents=524_221,
    table=f"""(
        SELECT id || '/' || generate_subscripts(passages, 1) AS id, timestamp, country, session,
            unnest(passages) AS text
        FROM (SELECT *, regexp_extract_all(text, '(\\S+\\s+){{{{0,{_WORDS - 1}}}}}\\S+') AS passages FROM {{file}})
    )""",
)
