"""The order in which words stand side by side in texts: "new york", never "york new"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, pairwise

from vmfstream.dashboards.rows.run_rows import RunRows, once

WordPairs = frozenset[tuple[str, str]]

_WORD = re.compile(r"\w+")
_TITLES = 50_000
_LEAST = 2


def word_pairs(rows: RunRows) -> WordPairs:
    """Return pairs of words that stand side by side in this order, twice at least and more often than the other way.

    They are counted in the titles that the run file holds, of representative documents and of stories.
    """
    return once(rows, "word pairs", lambda: _counted(rows))


def in_order(words: Sequence[str], pairs: Collection[tuple[str, str]]) -> list[str]:
    """Return words so that those of a pair that stand beside each other do so in its order.

    Examples
    --------
    >>> in_order(["york", "city", "new"], {("new", "york"), ("york", "city")})
    ['york', 'city', 'new']
    >>> in_order(["york", "new", "city"], {("new", "york"), ("york", "city")})
    ['new', 'york', 'city']
    """
    out = list(words)
    for _ in range(len(out) - 1):
        for i in range(len(out) - 1):
            if (out[i + 1], out[i]) in pairs:
                out[i], out[i + 1] = out[i + 1], out[i]
    return out


def _counted(rows: RunRows) -> WordPairs:
    titles = chain(rows.representative().title[:_TITLES], rows.story_documents().title[:_TITLES])
    counts = Counter(pair for title in set(titles) for pair in pairwise(_WORD.findall(str(title).lower())))
    return frozenset(
        pair for pair, n in counts.items() if n >= _LEAST and n > counts[pair[::-1]] and pair[0] != pair[1]
    )
