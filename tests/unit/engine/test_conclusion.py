"""What a run says at its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vmfstream.cli.console import conclude, counting
from vmfstream.text.encoders import VectorEncoder


@pytest.mark.parametrize(
    ("found", "active", "documents", "encoder", "said"),
    [
        (3, 3, 900, None, "topics: 3 of at most 16"),
        (18, 16, 900, None, "topics: 18, 16 of them active"),
        (18, 17, 900, None, "topics: 18, 17 of them active: new and returned ones may be more than 16"),
        (9, 9, 20, None, "topics: 9; 20 documents are too few for 16, each of which needs at least two"),
        (0, 0, 20, VectorEncoder(3), "no topics: all numbers of all vectors are 0"),
        (
            0,
            0,
            20,
            None,
            "no topics: no word is in at least two documents (three, once there are 1,000) and in at most half of "
            "them; numbers, emoji and words of more than 40 characters do not count; are the texts in another field "
            "(--text), or too few?",
        ),
    ],
)
def test_the_number_of_topics_is_told(
    capsys: pytest.CaptureFixture[str], found: int, active: int, documents: int, encoder: Any, said: str
) -> None:
    model = SimpleNamespace(ids=list(range(found)), active=active)
    engine: Any = SimpleNamespace(
        finished=True, documents=documents, rejected=0, epoch=0, state=SimpleNamespace(model=model, encoder=encoder)
    )
    stop: Any = None
    conclude(engine, Path("run.duckdb"), None, stop, topics=16)
    assert capsys.readouterr().out.splitlines()[-1] == said


def test_a_terminal_sees_what_is_done_and_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    for total in (200, None):
        with counting("news", total) as (tell, _):
            tell(150, 2, "slice 2001")
            tell(170, 3)
        shown = capsys.readouterr().err
        assert "news" in shown
        assert f"173/{total or '?'}" in shown.replace(" ", "")
        assert "3 rejected" in shown
        assert ("left" in shown) == (total is not None)
