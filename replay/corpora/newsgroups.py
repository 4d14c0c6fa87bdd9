"""Posts of twenty Usenet groups, 1993 (20 Newsgroups, "bydate" version).

Licence: none is stated; the posts are public Usenet messages. The distribution carries no dates: it only tells that
test posts are later than training posts, and numbers rise with time within a group. All posts bear the year 1993.
"""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

from vmfstream.errors import InputError
from vmfstream.replay.corpus import ColumnExpressions, Corpus, Home, word_list

__all__ = ["POSTS"]

_MEMBER = re.compile(r"(?:.*/)?20news-bydate-(train|test)/([a-z0-9.\-]+)/(\d+)")
_SUBJECT = re.compile(r"^Subject:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def unpack(archive: Path, target: Path) -> None:
    """Turn the distribution (a gzipped tar of one file per post) into a Parquet file.

    Raises
    ------
    InputError
        If the archive holds no posts.
    """
    import duckdb

    lines = target.with_name(target.name + ".jsonl")
    posts = 0
    try:
        with tarfile.open(archive, "r:gz") as tar, lines.open("w", encoding="utf-8") as file:
            for member in tar:
                named = _MEMBER.fullmatch(member.name)
                content = tar.extractfile(member) if named and member.isfile() else None
                if named is None or content is None:
                    continue
                header, _, body = content.read().decode("latin-1").replace("\r\n", "\n").partition("\n\n")
                subject = _SUBJECT.search(header)
                post = {
                    "id": "/".join(named.groups()),
                    "title": _CONTROL.sub("", subject[1]).strip() if subject else "",
                    "label": named[2],
                    "split": named[1],
                    "text": _CONTROL.sub("", body),
                    "article_no": int(named[3]),
                }
                file.write(json.dumps(post) + "\n")
                posts += 1
        if not posts:
            raise InputError(f"{archive}: expected posts named 20news-bydate-train/GROUP/NUMBER, found none")
        with duckdb.connect() as connection:
            connection.read_json(str(lines), format="newline_delimited").write_parquet(str(target), compression="zstd")
    finally:
        lines.unlink(missing_ok=True)


POSTS = Corpus(
    name="newsgroups",
    title="Twenty newsgroups",
    description="Posts of twenty Usenet groups of 1993 in approximate order; without dates, so slice by count.",
    licence="None stated; public Usenet messages of 1993, collected by Ken Lang and Jason Rennie.",
    file="twenty_newsgroups/docs.parquet",
    columns=ColumnExpressions(
        id="id",
        time="'1993'",
        title="title",
        text="concat_ws('. ', title, text)",
        label="label",
        order=("split = 'test'", "percent_rank() OVER (PARTITION BY split, label ORDER BY article_no)"),
    ),
    documents=18_846,
    slices="1000",
    stop_words=word_list("""
        apr article com distribution don edu gmt know like lines net nntp organization people posting re subject think
        university usa world writes wrote
        """),
    home=Home(
        url="https://ndownloader.figshare.com/files/5975967",
        sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        prepare=unpack,
    ),
)
