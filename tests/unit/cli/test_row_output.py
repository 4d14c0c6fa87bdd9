"""Tables on terminals of any width: texts are wrapped, then columns are left out and named; pipes get all of them."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from vmfstream.cli import row_output
from vmfstream.cli.row_output import print_rows

ROWS: list[dict[str, Any]] = [
    {
        "id": f"d{i:05}",
        "title": "Words of a title that is far too long for any narrow column",
        "second_probability": 0.25,
        "story": 1234,
        "novelty": -56.7,
    }
    for i in range(3)
]


def printed(monkeypatch: pytest.MonkeyPatch, width: int, **how: Any) -> list[str]:
    """What a terminal of a width shows."""
    out = StringIO()
    monkeypatch.setattr(
        row_output, "table_console", lambda: Console(file=out, width=width, force_terminal=True, color_system=None)
    )
    print_rows(ROWS, False, "nothing", **how)
    return out.getvalue().splitlines()


def test_a_wide_terminal_shows_everything_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(monkeypatch, 130)
    assert len(lines) == 5
    assert lines[0].split() + lines[1].split() == ["second", "id", "title", "probability", "story", "novelty"]
    assert lines[2].split() == ["d00000", *str(ROWS[0]["title"]).split(), "0.25", "1234", "-56.7"]
    assert capsys.readouterr().err == ""


def test_texts_are_wrapped_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(monkeypatch, 60)
    assert len([line for line in lines if line.startswith("d0")]) == 3
    for i, line in enumerate(line for line in lines if line.startswith("d0")):
        assert line.split()[0] == f"d{i:05}"
        assert line.split()[-3:] == ["0.25", "1234", "-56.7"]
    assert "probability" in lines[1], "headings are wrapped between their words"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("spare", "left_out"),
    [((), ["novelty", "story"]), (("story", "second_probability"), ["story", "second_probability"])],
)
def test_columns_without_room_are_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spare: tuple[str, ...], left_out: list[str]
) -> None:
    lines = printed(monkeypatch, 36, spare=spare)
    assert all(len(line) <= 36 for line in lines)
    heading = " ".join(" ".join(line.split()) for line in lines[:2])
    assert [name for name in ROWS[0] if name.split("_")[0] not in heading] == sorted(left_out, key=list(ROWS[0]).index)
    assert f"not shown, for want of room: {', '.join(left_out)};" in capsys.readouterr().err


def test_a_pipe_gets_the_names_of_columns_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ROWS, False, "nothing", spare=("story",))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == list(ROWS[0])
    assert len(lines) == 4


def test_the_first_column_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, 6)[0].strip() == "id"
