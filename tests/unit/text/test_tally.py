"""A vocabulary that absorbs what others have counted is as if it had counted itself."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.engine.parts import news
from vmfstream.text.vocabulary import Vocabulary

TEXTS = [f"{row['text']} number{i} running runs" for i, row in enumerate(news(900, 3))]


def texts(first: int, count: int) -> list[str]:
    return TEXTS[first : first + count]


def counted_elsewhere(mine: Vocabulary, parts: list[list[str]], **settings: object) -> None:
    """Let a helper per part count, each from the same begin."""
    begun = mine.blank_state()
    for part in parts:
        helper = Vocabulary(**settings)  # type: ignore[arg-type]
        helper.restore(begun)
        helper.count(part)
        mine.absorb(helper.tally(len(begun["form_starts"]) - 1, len(begun["df"])))


@pytest.mark.parametrize("settings", [{}, {"stem": "english"}, {"capacity": 40}, {"capacity": 40, "stem": "english"}])
def test_helpers_leave_the_same_vocabulary(settings: dict[str, object]) -> None:
    if "stem" in settings:
        pytest.importorskip("Stemmer")
    alone, helped = (Vocabulary(**settings) for _ in range(2))  # type: ignore[arg-type]
    for start in (0, 300):
        for first, count in ((0, 90), (90, 60)):
            alone.count(texts(start + first, count))
            half = count // 3
            parts = [texts(start + first, half), texts(start + first + half, count - half)]
            counted_elsewhere(helped, parts, **settings)
            for name, array in alone.state().items():
                np.testing.assert_array_equal(helped.state()[name], array, err_msg=name)
        for one in (alone, helped):
            one.forbid(f"number{start}")
            one.forbid("harbour" if start else "moon")
            one.close_slice()
        assert alone.digest == helped.digest
        assert alone.words() == helped.words()


def test_counts_of_a_helper_become_those_of_the_vocabulary() -> None:
    alone, helped, helper = Vocabulary(), Vocabulary(), Vocabulary()
    alone.count(["ship sea"])
    helped.count(["ship sea"])
    helper.restore(helped.blank_state())
    begun = len(helped.state()["df"])
    helped.count(["moon"])
    alone.count(["moon"])
    theirs = helper.count(["orbit moon ship ship", "comet"])
    counts = theirs.remap(helped.absorb(helper.tally(begun, begun)))
    mine = alone.count(["orbit moon ship ship", "comet"])
    for name, array in mine.arrays().items():
        np.testing.assert_array_equal(counts.arrays()[name], array)
