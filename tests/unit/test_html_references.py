"""Character references of HTML, wherever texts come in."""

from __future__ import annotations

import pytest

from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.html_references import plain_text
from vmfstream.records import Document, Message, Rejected

READ = [
    ("AT&amp;T and R&D", "AT&T and R&D"),
    ("a&nbsp;b&#160;c", "a b c"),
    ("&quot;don&#39;t&#x201D;", "\"don't”"),
    ("escaped twice: &amp;amp; &amp;lt;", "escaped twice: & <"),
    ("&unknown; &; &#; AT&T; &amp", "&unknown; &; &#; AT&T; &amp"),
    ("?a=1&copy=2&para=3;", "?a=1&copy=2&para=3;"),
    ("&#0; &#xD800; &#1114112;", "� � �"),
    ("&#38;amp; &lt;&#1;", "&amp; <"),
]


@pytest.mark.parametrize(("text", "plain"), READ)
def test_references_stand_for_characters(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_many_references_take_no_longer_each() -> None:
    assert plain_text("&" + "amp;" * 1_000_000) == "&"
    assert plain_text("&amp" * 1_000_000) == "&amp" * 1_000_000


@pytest.mark.parametrize("id", ['"d"', "1"])  # what the quick reader takes, and what the careful one does
def test_a_codec_reads_them_in_texts_and_titles(id: str) -> None:
    codec = FieldCodec()
    line = f'{{"time": 2020, "id": {id}, "text": "AT&amp;T", "title": "&quot;Ships&quot;"}}'
    found = codec.decode(Message("a", 0, line.encode()))
    assert isinstance(found, Document)
    assert (found.text, found.title) == ("AT&T", '"Ships"')
    assert isinstance(FieldCodec(max_characters=4).decode(Message("a", 0, line.encode())), Document)
    empty = codec.decode(Message("a", 1, b'{"time": 2020, "text": "&nbsp;&#32;"}'))
    assert isinstance(empty, Rejected)
    assert empty.reason == "text is empty"


def test_a_tracker_reads_them_too() -> None:
    tracker = TopicTracker(topics=2, stories=True, seed=0)
    cats = {"time": "2001", "text": "&quot;cats&quot;&nbsp;purr at night", "title": "Cats &amp; dogs"}
    tracker.learn([cats, {"time": "2001", "text": "grey ships sail &amp; sink"}] * 30).finish()
    words = {word for row in tracker.topics() for word, _ in row["words"]}
    assert {"cats", "ships"} <= words
    assert not words & {"quot", "nbsp", "amp"}
    assert {row["title"] for row in tracker.stories()} == {"Cats & dogs", "grey ships sail & sink"}
    plain = ["cats purr nbsp", "ships quot"]
    escaped = ["cats&nbsp;purr nbsp", "&quot;ships&quot; quot"]
    assert (tracker.transform(escaped) == tracker.transform(plain)).all()
    frozen = tracker.freeze()
    assert frozen.label(escaped)["novelty"].tolist() == frozen.label(plain)["novelty"].tolist()
