"""Cut texts into words by a function of the user."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from typing import TypeAlias

import numpy as np

from vmfstream.errors import InputError
from vmfstream.text.counts import Counts
from vmfstream.text.tokeniser import Tokeniser, WordRuns
from vmfstream.text.word_table import WordTable

Cut: TypeAlias = Callable[[str], Iterable[str]]
"""Returns the words of a text in their order, as they are to be counted."""

ENTRY_POINTS = "vmfstream.tokenisers"
"""Group of entry points by which an installed package offers functions under a name without a colon."""

LONGEST = 100
"""Characters of a word; longer ones are left out."""


class OwnTokeniser(Tokeniser):
    """Cuts texts by a function, which is called for each; several times slower than `Tokeniser`.

    Parameters
    ----------
    cut : callable
        Returns the words of a text. Nothing else is done to them: no lower case, no least length.

    Examples
    --------
    >>> OwnTokeniser(str.split).tokens("U-boat 1943")
    ['U-boat', '1943']
    """

    def __init__(self, cut: Cut) -> None:
        super().__init__(1, LONGEST, keep_numbers=True)
        self._cut = cut

    def tokens(self, text: str) -> list[str]:
        """Return the words of one text in their order.

        Raises
        ------
        InputError
            If the function fails, or returns one text or something else than texts; quotes the begin of the text.
        """
        try:
            found = self._cut(text)
            words = [] if isinstance(found, str | bytes) else list(found)
        except Exception as error:
            raise InputError(
                f"the tokeniser failed with {type(error).__name__}: {error}; the text begins {text[:60]!r}"
            ) from error
        if isinstance(found, str | bytes):
            raise InputError(
                f"the tokeniser returned one {type(found).__name__}, expected a list of words; "
                f"the text begins {text[:60]!r}"
            )
        for word in words:
            if not isinstance(word, str):
                raise InputError(
                    f"the tokeniser returned {type(word).__name__} as a word, expected str; "
                    f"the text begins {text[:60]!r}"
                )
        return [word for word in words if 0 < len(word) <= LONGEST]

    def count(self, texts: Sequence[str], table: WordTable, skip: int = 0) -> Counts:
        """Count the words of ``texts``, see `Tokeniser.count`: ids of ``table`` below ``skip`` do not count."""
        runs = self.runs(texts, table)
        counting = (runs.words < 0) | (runs.words >= skip)
        tokens = np.bincount(runs.document[counting], minlength=len(texts)).astype(np.int32)
        place = np.flatnonzero(runs.words >= skip)
        keys = np.stack([runs.document[place], runs.words[place]])
        (document, word), first, often = np.unique(keys, axis=1, return_index=True, return_counts=True)
        order = np.lexsort((first, document))  # of a document by their first appearance
        indptr = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.bincount(document, minlength=len(texts)), out=indptr[1:])
        return Counts(indptr, word[order].astype(np.int32), np.minimum(often[order], 65_535).astype(np.uint16), tokens)

    def runs(self, texts: Sequence[str], table: WordTable) -> WordRuns:
        """Return the words of ``texts`` one after the other; each is joined to the one before in its text."""
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(f"texts[{i}]: expected str, found {type(text).__name__}")
        cut = [self.tokens(text) for text in texts]
        document = np.repeat(np.arange(len(cut)), [len(words) for words in cut])
        joined = np.zeros(document.size, np.bool_)
        joined[1:] = document[1:] == document[:-1]
        return WordRuns(table.add(word for words in cut for word in words), document, joined)


def name_of(cut: Callable[..., object]) -> str:
    """Return the address of a function, ``module:name``, under which `tokeniser_at` may find it."""
    name = getattr(cut, "__qualname__", type(cut).__qualname__)
    return f"{getattr(cut, '__module__', None) or 'builtins'}:{name}"


def tokeniser_at(address: str) -> Cut:
    """Return the function ``module:name``, or the one that an installed package calls so among its `ENTRY_POINTS`.

    Raises
    ------
    InputError
        If there is no such module, function or entry point.
    """
    offered = sorted({one.value for one in entry_points(group=ENTRY_POINTS, name=address)}) if address else []
    if len(offered) > 1:
        raise InputError(f"tokeniser: {address!r} is the name of {' and of '.join(offered)}; choose one of these")
    module, _, name = (offered[0] if offered else address).partition(":")
    try:
        if not (module and name):
            raise ValueError("there is no colon, and no installed package offers a tokeniser of this name")
        found: object = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"tokeniser: expected a function as module:name, got {address!r}: {error}") from error
    if not callable(found):
        raise InputError(f"tokeniser: expected a function as module:name, {address!r} is a {type(found).__name__}")
    return found
