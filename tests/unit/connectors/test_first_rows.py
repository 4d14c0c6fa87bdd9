"""Times of files whose format all rows share; files none of whose rows is a document."""

from __future__ import annotations

from typing import Any

import pytest

from vmfstream.connectors.codecs import SURPLUS, FieldCodec
from vmfstream.connectors.first_rows import look_at
from vmfstream.errors import InputError
from vmfstream.records import Document, Message, Rejected


def rows(*times: object) -> list[Message]:
    """Documents at these times."""
    return [Message("p", at, {"date": time, "text": "some"}) for at, time in enumerate(times)]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["13/1/2021", "2/3/2021"], "2021-03-02"),
        (["1/13/2021", "2/3/2021"], "2021-02-03"),
        (["31-12-2020 10:05", "02-03-2021 11:00"], "2021-03-02"),
        (["12/31/20", "2/3/21"], "2021-02-03"),
        (["1.2.2021", "2.3.2021"], "2021-03-02"),
        (["2021/03/01", "2021/03/02"], "2021-03-02"),
        (["Mar 1, 2021", "Mar 2, 2021"], "2021-03-02"),
        (["1 March 2021", "2 March 2021"], "2021-03-02"),
        (["May 1, 2021", "May 2, 2021"], "2021-05-02"),
        (["Tue, 02 Mar 2021 08:30:00 GMT", "Tue, 02 Mar 2021 09:30:00 GMT"], "2021-03-02"),
        (["2021-03-02 08:30:00 UTC", "2021-03-02 09:30:00 UTC"], "2021-03-02"),
        (["Tuesday, March 02, 2021", "Tuesday, March 02, 2021"], "2021-03-02"),
        (["02-Mar-21", "02-Mar-21"], "2021-03-02"),
        (["Tue, 02 Mar 2021 08:30:00 +0100", "Tue, 02 Mar 2021 09:30:00 +0100"], "2021-03-02"),
        (["2/28/2021 1:30 PM", "3/2/2021 11:00 AM"], "2021-03-02"),
    ],
)
def test_the_format_that_all_times_share_is_found(times: list[str], expected: str) -> None:
    codec = FieldCodec()
    look_at(codec, rows(*times), "a.csv")
    found = codec.decode(rows(*times)[-1])
    assert isinstance(found, Document)
    assert str(found.time)[:10] == expected


def test_a_file_with_a_few_odd_times_keeps_the_usual_ones() -> None:
    codec = FieldCodec()
    look_at(codec, rows(*["2021-03-01"] * 8, "13/05/2020"), "a.csv")
    assert codec.time_format is None
    look_at(codec, rows(*["13/05/2020"] * 19, "n/a"), "a.csv")
    assert codec.time_format == "%d/%m/%Y"


def test_what_cannot_be_told_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"a\.csv: cannot tell day from month in times such as '1/2/2021'"):
        look_at(FieldCodec(), rows("1/2/2021", "3/4/2021"), "a.csv")
    given = FieldCodec(time_format="%m/%d/%Y")
    look_at(given, rows("1/2/2021"), "a.csv")
    assert given.time_format == "%m/%d/%Y"
    look_at(FieldCodec(), rows("1/1/2021", "2/2/2021"), "a.csv")  # the same in any order


def test_files_without_documents_are_refused() -> None:
    with pytest.raises(InputError, match="expected documents, found none"):
        look_at(FieldCodec(), [], "a.csv")
    with pytest.raises(InputError, match=r"none of the first 2 rows is a document; date is no time: 'soon' .*--time-"):
        look_at(FieldCodec(), rows("soon", "soon"), "a.csv")
    with pytest.raises(InputError, match="most often: date is no time"):
        look_at(FieldCodec(), [*rows("soon", "soon"), Message("p", 2, b"{")], "a.csv")
    untimed = [Message("p", 0, {"words": "some"})]
    with pytest.raises(
        InputError, match=r"its row is no document; no time: .* name it by --time, or let replay or run cut slices"
    ):
        look_at(FieldCodec(), untimed, "a.csv")
    with pytest.raises(InputError, match=r"its row is no document; text is null$"):
        look_at(FieldCodec(timed=False), [Message("p", 0, {"text": None})], "a.csv")


def test_documents_within_one_object_are_told_as_such() -> None:
    inner = b'{"total": 1, "tags": ["a"], "items": [{"date": 1999, "text": "some"}]}'
    with pytest.raises(InputError, match=r"its row is no document; .* if its documents are in items, give a file"):
        look_at(FieldCodec(), [Message("p", 0, inner)], "a.json")
    lines = b'{\n"items": [\n{\n"text": "some"\n}\n]\n}'.split(b"\n")
    spread = [Message("p", at, line) for at, line in enumerate(lines)]
    with pytest.raises(
        InputError, match=r"not JSON: .*; expected one object a line, or in a \.json file one array of them$"
    ):
        look_at(FieldCodec(), spread, "a.json")


def test_a_table_without_a_line_of_names_is_told_as_such() -> None:
    without = [Message("p", at, {"2021-03-01": "2021-03-02", "some words": "others"}) for at in range(3)]
    with pytest.raises(InputError, match=r"2021-03-01 is no name of a column: the first line must name them"):
        look_at(FieldCodec(), without, "a.tsv")
    other = [Message("p", at, {"sep=": "2021-03-02", SURPLUS: ["some"]}) for at in range(3)]
    with pytest.raises(InputError, match=r"2 in a row of 1 columns; .*, or the first line is not that of"):
        look_at(FieldCodec(), other, "a.csv")
    numbered = [Message("p", 0, {"0": "2021-03-02", "1999": "others"})]
    with pytest.raises(InputError, match="name it by --time"):
        look_at(FieldCodec(), numbered, "a.csv")


def test_the_text_beside_a_vector_is_there_if_it_is_named() -> None:
    beside = [Message("p", 0, {"date": "1999", "v": [1.0, 2.0], "body": "some"})]
    with pytest.raises(InputError, match=r"a\.csv: none of the first 1 rows has a field 'txt'"):
        look_at(FieldCodec(vector="v", text="txt"), beside, "a.csv")
    look_at(FieldCodec(vector="v", text="body"), beside, "a.csv")


def texts(codec: FieldCodec, *fields: dict[str, Any]) -> list[str | None]:
    """Return the texts of rows after a look at them; those of rejected ones are their reasons."""
    given = [Message("p", at, one) for at, one in enumerate(fields)]
    look_at(codec, given, "a.csv")
    return [one.reason if isinstance(one, Rejected) else one.text for one in map(codec.decode, given)]


def test_titles_are_the_texts_of_a_file_without_texts() -> None:
    assert texts(FieldCodec(), {"date": "1999", "Headline": "a"}, {"date": "1999", "title": "b"}) == ["a", "b"]
    assert texts(FieldCodec(), {"publish_date": "19990101", "headline_text": "a"}) == ["a"]


def test_titles_are_no_texts_where_there_are_texts_or_one_was_named() -> None:
    with_text = {"date": "1999", "title": "a", "body": "b"}
    found = texts(FieldCodec(), with_text, {"date": "1999", "title": "c"})
    assert found[0] == "b"
    assert found[1] is not None
    assert found[1].startswith("no text: expected text or body")
    named = {"date": "1999", "title": "a few words", "article": "many more words than these few"}
    for codec, said in ((FieldCodec(text="words"), "no text: expected words"), (FieldCodec(vector="v"), "no vector")):
        with pytest.raises(InputError, match=said):
            texts(codec, {"date": "1999", "title": "a"})
    with pytest.raises(InputError, match="found date, title, article; name it by --text"):
        texts(FieldCodec(), named)
    link = {"link": "https://example.org/a/long/address", "section": "U.S. news", "title": "many words for a section"}
    assert texts(FieldCodec(), named | link | {"article": 7}) == [link["title"]]
