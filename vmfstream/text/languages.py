"""Detect the language of each document and leave out its stop words (extra ``languages``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from vmfstream.errors import MissingExtra
from vmfstream.text.counts import Counts
from vmfstream.text.filters import languages, stop_words_of
from vmfstream.text.tokeniser import Tokeniser, WordRuns
from vmfstream.text.word_table import WordTable

LOOKED_AT = 500
"""Characters of a text by which its language is told."""


class LanguageTokeniser(Tokeniser):
    """Counts what another tokeniser counts, without the stop words of the language that a text is written in.

    The language of a text is told by its first 500 characters, one text after the other, by py3langid, which is
    several times slower than counting; it knows those that have a list of stop words.

    Parameters
    ----------
    words : Tokeniser
        Cuts texts into words.

    Raises
    ------
    MissingExtra
        If py3langid is not installed.
    """

    def __init__(self, words: Tokeniser) -> None:
        super().__init__(*words.options)
        self._words = words
        _identifier()

    def stop_words(self) -> Sequence[str]:
        """Return the stop words of all languages that are told apart."""
        return sorted({word for name in _names().values() for word in stop_words_of(name)})

    def tokens(self, text: str) -> list[str]:
        """Return the words of one text in their order, stop words too."""
        return self._words.tokens(text)

    def runs(self, texts: Sequence[str], table: WordTable) -> WordRuns:
        """Return the words of ``texts`` one after the other, stop words too."""
        return self._words.runs(texts, table)

    def count(self, texts: Sequence[str], table: WordTable, skip: int = 0) -> Counts:
        """Count the words of ``texts``; arguments and errors as of `Tokeniser.count`."""
        found = self._words.count(texts, table, skip)
        spoken = np.array([language_of(text) for text in texts], np.object_)
        row = np.repeat(np.arange(len(texts)), np.diff(found.indptr))
        keep = np.ones(len(row), bool)
        for language in set(spoken.tolist()):
            stops = table.find(self._stops(language))
            keep &= ~((spoken == language)[row] & np.isin(found.terms, stops[stops >= 0]))
        lengths = np.bincount(row[keep], minlength=len(texts))
        dropped = np.bincount(row[~keep], weights=found.counts[~keep], minlength=len(texts))
        indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        tokens = (found.tokens - dropped).astype(np.int32)
        return Counts(indptr, found.terms[keep], found.counts[keep], tokens)

    def _stops(self, language: str) -> list[str]:
        if language not in _KNOWN:
            _KNOWN[language] = list(stop_words_of(language))
        return [word for stop in _KNOWN[language] for word in self.tokens(stop)]


_KNOWN: dict[str, list[str]] = {}


def language_of(text: str) -> str:
    """Return the name of the language that a text is most likely written in.

    Raises
    ------
    MissingExtra
        If py3langid is not installed.
    """
    code, _ = _identifier().classify(text[:LOOKED_AT].encode("utf-8", "replace").decode())  # no lone surrogates
    return _names()[str(code)]


@cache
def _names() -> dict[str, str]:
    """Return names of languages that have stop words, by their ISO codes."""
    from stop_words import LANGUAGE_MAPPING

    there = set(languages())
    return {code: name for code, name in LANGUAGE_MAPPING.items() if name in there}


@cache
def _identifier() -> Any:
    try:
        from py3langid import langid
    except ImportError:
        raise MissingExtra("telling languages needs py3langid: pip install 'vmfstream[languages]'") from None
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    known = set(identifier.labels)
    identifier.set_languages([code for code in _names() if code in known])
    return identifier
