"""The growing vocabulary: known terms, their document frequencies, and the columns they have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.records import Arrays
from vmfstream.text.counts import Counts
from vmfstream.text.filters import stemmer, stop_words_of
from vmfstream.text.packed_counts import pack_bags, unpack_bags
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.word_table import WordTable

# size of the term table in capacities: never above FULL; if above CROWDED when a slice ends, cut back to ROOMY
_FULL, _CROWDED, _ROOMY = 8, 4, 2
# a document frequency below min_df is accepted while the stream is shorter than this
_YOUNG = 1000
LEAST_COLUMNS = 2
"""Fewest columns that forbidding words may leave."""

# first slice of terms that were met before their slice was kept
_ALWAYS = -(2**62)


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """How columns and terms changed when a slice ended.

    Attributes
    ----------
    old_dim, new_dim : int
        Numbers of columns before and after.
    columns : (new_dim,) int32
        The old column of each new column, -1 for a new word. Those that stay keep their order and stand first.
    terms : (old number of terms,) int32 or None
        New id of each old term, -1 if it was forgotten; None if no id changed. For :meth:`Counts.remap`.
    """

    old_dim: int
    new_dim: int
    columns: NDArray[np.int32]
    terms: NDArray[np.int32] | None

    @classmethod
    def none(cls, dim: int) -> Growth:
        """Nothing changed."""
        return cls(dim, dim, np.arange(dim, dtype=np.int32), None)


class Vocabulary:
    """The growing, bounded vocabulary of a stream.

    Every word seen becomes a *term*, a candidate with a document frequency; frequent terms are admitted to a *column*
    of the document vectors. Columns and document frequencies change only in :meth:`close_slice`.

    Parameters
    ----------
    tokeniser : Tokeniser, optional
    capacity : int
        Most columns, >= 1. Beyond it the columns with the smallest recent document frequency go (ties: the latest
        terms). At most 8 times as many terms are held inside a slice, at most 4 times as many from slice to slice.
    min_df : int
        A term is admitted once it is in this many documents, >= 1 (in two, while the stream has less than 1,000).
    max_df_share : float
        A term in a larger share of the documents than this, in (0, 1], is not admitted; one admitted before stays.
    fade : float
        What is left of a recent document frequency after one more slice with documents, in (0, 1].
    stop_words : "english", iterable of str, or None
        Words that are never terms; "english" is scikit-learn's list.
    extra_stop_words : iterable of str
        Further words that are never terms.
    stem : str, optional
        Snowball algorithm, such as "english": words with one stem are one term, shown to people as the one of them that
        is in most documents. Needs the extra ``stemming``.

    Raises
    ------
    ValueError
        If a number is outside its range.
    InputError
        If a stop list or an algorithm is unknown.
    MissingExtra
        If ``stem`` is given and PyStemmer is not installed.
    """

    def __init__(
        self,
        tokeniser: Tokeniser | None = None,
        *,
        capacity: int = 50_000,
        min_df: int = 3,
        max_df_share: float = 0.5,
        fade: float = 0.98,
        stop_words: str | Iterable[str] | None = "english",
        extra_stop_words: Iterable[str] = (),
        stem: str | None = None,
    ) -> None:
        if capacity < 1 or min_df < 1:
            raise ValueError(f"expected capacity >= 1 and min_df >= 1, got {capacity} and {min_df}")
        if not (0 < max_df_share <= 1 and 0 < fade <= 1):
            raise ValueError(f"expected max_df_share and fade in (0, 1], got {max_df_share} and {fade}")
        self.tokeniser = Tokeniser() if tokeniser is None else tokeniser
        self.capacity, self.min_df, self.max_df_share, self.fade = capacity, min_df, max_df_share, fade
        self.stem = stem
        self._stem = None if stem is None else stemmer(stem)
        given = [*stop_words_of(stop_words), *extra_stop_words]
        found = WordTable(sum(map(len, given)) + 1)
        self.tokeniser.runs(given, found)
        stops = sorted(found.texts(np.arange(len(found))))
        self._stops = len(stops)
        self._stop_digest = hashlib.blake2b("\n".join(stops).encode(), digest_size=8).hexdigest()
        # the surface forms, stop words first; without stemming a form is a term
        self._forms = WordTable(_FULL * capacity + self._stops)
        self._forms.add(stops)
        self._terms = self._forms if stem is None else WordTable(_FULL * capacity)
        self._form_term = np.full(self._stops, -1, dtype=np.int32)
        self._form_df = np.zeros(self._stops, dtype=np.int64)
        self.documents = self._reserved = 0
        self._pending_documents = 0
        self._df = np.zeros(len(self._terms), dtype=np.int64)
        self._recent = np.zeros(len(self._terms))
        self._pending = np.zeros(len(self._terms), dtype=np.int32)
        self._first_slice = np.full(len(self._terms), _ALWAYS, dtype=np.int64)
        self._columns = np.zeros(0, dtype=np.int32)
        self._shown = np.zeros(0, dtype=np.int32)
        self._forbidden: set[str] = set()
        self._seal()

    def __len__(self) -> int:
        return self._columns.size

    @property
    def terms(self) -> int:
        """Number of terms held, those without a column included, stop words aside."""
        return len(self._terms) - self._first

    @property
    def stop_words(self) -> list[str]:
        """The words that are never terms."""
        return [self._forms.word(form) for form in range(self._stops)]

    @property
    def n_terms(self) -> int:
        """Number of ids of terms, those of stop words included: every term in counts is below."""
        return len(self._terms)

    @property
    def nbytes(self) -> int:
        """Memory held by the term table and its figures."""
        figures = (self._df, self._recent, self._pending, self._first_slice, self.column, self._columns)
        arrays = (*figures, self._form_term, self._form_df)
        tables = {id(table): table.nbytes for table in (self._forms, self._terms)}
        return sum(array.nbytes for array in arrays) + sum(tables.values())

    @property
    def crowded(self) -> bool:
        """Whether less than half of the room is left that `reserve` was asked for."""
        return len(self._forms) + self._reserved // 2 > self._forms.limit

    @property
    def renames(self) -> bool:
        """Whether the next :meth:`close_slice` may number terms anew, or show other words for them."""
        return self._stem is not None or self.terms + len(self._forbidden) > _CROWDED * self.capacity

    def reserve(self, more: int) -> None:
        """Have room for ``more`` words beyond those that `restore` brings, for a copy that only reads documents.

        So that what was read before never takes the place of new words.
        """
        self._reserved = more

    def count(self, texts: Sequence[str]) -> Counts:
        """Count the terms of ``texts``, which belong to the open slice.

        Raises
        ------
        ValueError
            If something other than a str is among ``texts``; names its place.
        """
        counts = self.tokeniser.count(texts, self._forms, self._stops)
        if self._stem is not None:
            counts = self._stemmed(counts, self._stem)
        self._make_room()
        _count_documents(self._pending, counts.terms)
        self._pending_documents += len(counts)
        return counts

    def add_phrases(self, names: Sequence[str]) -> None:
        """Let phrases be terms, as far as there is room; a `PhraseTokeniser` counts them from now on."""
        room = max(_CROWDED * self.capacity - (len(self._forms) - self._stops), 0)
        self._forms.add(names[:room])
        if self._stem is not None:
            self._stem_new_forms(self._stem)
        self._make_room()

    def forbid(self, word: str) -> None:
        """Give a word no column from the next :meth:`close_slice` on; with ``stem`` no word of the same stem.

        Phrases that hold the word have none either.

        Raises
        ------
        InputError
            If the text is not one word, or fewer than two columns would be left.
        """
        term = self.term_of(word)
        if term in self._forbidden:
            raise InputError(f"the word {word!r} is forbidden already")
        terms = {term} | self._phrases_with({term})
        left = len(self) - len(self._forbidden_columns(self._forbidden | terms))
        if left < LEAST_COLUMNS <= len(self):
            raise InputError(f"the word {word!r} is one of the last {len(self)} of the vocabulary")
        self._forbidden |= terms

    def allow(self, word: str) -> None:
        """Undo :meth:`forbid`; the word gets a column again once it is admitted as any other.

        Raises
        ------
        InputError
            If the word is not forbidden.
        """
        term = self.term_of(word)
        if term not in self._forbidden:
            raise InputError(f"the word {word!r} is not forbidden")
        self._forbidden.remove(term)
        self._forbidden -= self._phrases_with({term}) - self._phrases_with(self._forbidden)

    def forbids(self, phrase: str) -> bool:
        """Tell whether a phrase is forbidden, or holds a forbidden word."""
        if not self._forbidden:
            return False
        words = phrase.split()
        parts = {phrase, *words, *(f"{one} {other}" for one, other in pairwise(words))}
        return not self._forbidden.isdisjoint(parts | self._stems(parts))

    def close_slice(self, index: int = 0) -> Growth:
        """Make the documents counted since the last call part of the record and choose the columns anew.

        ``index`` is the number of their slice, for :meth:`known_by`.
        """
        barred = np.array(self._ids_of(self._forbidden), dtype=np.int64)
        met = len(self._first_slice)
        self._first_slice = np.pad(self._first_slice, (0, self._df.size - met), constant_values=index)
        if self._pending_documents:
            self.documents += self._pending_documents
            self._df += self._pending
            self._recent = self.fade * self._recent + self._pending
            self._pending_documents = 0
            self._pending[:] = 0
        old = self._columns
        has_column = np.zeros(self._df.size, dtype=bool)
        has_column[old] = True
        least = min(self.min_df, 2) if self.documents < _YOUNG else self.min_df
        most = max(self.max_df_share * self.documents, least)
        wanted = has_column | ((self._df >= least) & (self._df <= most))
        wanted[barred] = False
        admitted = np.flatnonzero(wanted)
        if admitted.size > self.capacity:
            admitted = admitted[_largest(self._recent[admitted], self.capacity)]
        chosen = np.zeros(self._df.size, dtype=bool)
        chosen[admitted] = True
        stay = np.flatnonzero(chosen[old])
        new = admitted[~has_column[admitted]]
        self._columns = np.concatenate((old[stay], new)).astype(np.int32)
        columns = np.concatenate((stay, np.full(new.size, -1))).astype(np.int32)
        terms = self._prune() if self.terms > _CROWDED * self.capacity else None
        if self._stem is not None:
            if len(self._forms) - self._stops > _CROWDED * self.capacity:
                self._prune_forms()
            self._shown = _most_frequent_form(self._form_term, self._form_df, self._df.size)[self._columns]
        self._seal()
        return Growth(old.size, self._columns.size, columns, terms)

    def known_by(self, index: int) -> NDArray[np.bool_]:
        """Tell which columns a document of slice ``index``, or of one before, may hold, (columns,).

        A word that was forgotten and came again counts as new.
        """
        return np.asarray(self._first_slice[self._columns] <= index)

    def words(self, columns: Iterable[int] | None = None) -> list[str]:
        """Return the word of each column, or of the given columns."""
        chosen = slice(None) if columns is None else np.array(list(columns), np.int64)
        stems = self._columns[chosen]
        if self._stem is None:
            return self._terms.texts(stems)
        shown = self._shown[chosen]
        words = np.empty(shown.size, np.object_)
        words[shown >= 0] = self._forms.texts(shown[shown >= 0])
        words[shown < 0] = self._terms.texts(stems[shown < 0])
        return list(words)

    def term_words(self, terms: Sequence[int]) -> list[str]:
        """Return the words of terms, also of those without a column."""
        if self._stem is None:
            return self._terms.texts(np.array(terms, np.int64))
        columns = [int(self.column[term]) if term < self.column.size else -1 for term in terms]
        shown = iter(self.words(column for column in columns if column >= 0))
        return [
            next(shown) if column >= 0 else self._terms.word(term) for term, column in zip(terms, columns, strict=True)
        ]

    def find(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the terms of words as people are shown them, -1 for words that are none."""
        forms = self._forms.find(words)
        if self._stem is None:
            return np.where(forms >= self._first, forms, -1)
        terms = np.append(self._form_term, -1)[forms]  # of the form -1 too
        # a column whose forms are forgotten is shown as its stem
        return np.where(terms >= 0, terms, self._terms.find(words)).astype(np.int64)

    def term_of(self, word: str) -> str:
        """Return the term of a text, which must be one word, also where phrases are terms.

        Raises
        ------
        InputError
            If the text is not one word.
        """
        tokens = set(self.tokeniser.tokens(word))
        if len(tokens) != 1:
            raise InputError(f"expected {'one' if tokens else 'a'} word, got {word!r}")
        return (self._stems(tokens) or tokens).pop()

    def keys(self) -> Iterator[bytes]:
        """Return what each column is known by in every vocabulary: its word, or the stem of its words, in UTF-8."""
        starts, pool = self._terms.take(self._columns.astype(np.int64))
        letters = pool.tobytes()
        return (letters[a:b] for a, b in pairwise(starts.tolist()))

    def pack(self, counts: Counts) -> list[bytes]:
        """Return documents in a form that holds their terms by name, see `vmfstream.text.packed_counts`."""
        return pack_bags(counts, self._terms)

    def unpack(self, bags: Sequence[bytes]) -> Counts:
        """Return the counts of documents from what :meth:`pack` made of them, under whatever terms there are now."""
        return unpack_bags(bags, self._terms)

    def state(self) -> Arrays:
        """Return all that :meth:`restore` needs, as flat arrays that later counting does not touch."""
        arrays: Arrays = {
            "settings": np.frombuffer(json.dumps(self._settings()).encode(), dtype=np.uint8),
            "documents": np.array([self.documents, self._pending_documents], dtype=np.int64),
            "df": self._df.copy(),
            "recent": self._recent.copy(),
            "pending": self._pending.copy(),
            "first_slice": self._first_slice.copy(),
            "columns": self._columns.copy(),
        }
        if self._forbidden:
            arrays["forbidden"] = np.frombuffer("\n".join(sorted(self._forbidden)).encode(), dtype=np.uint8)
        arrays["form_starts"], arrays["form_pool"] = self._forms.content()
        if self._stem is not None:
            arrays["term_starts"], arrays["term_pool"] = self._terms.content()
            arrays |= {
                "form_term": self._form_term.copy(),
                "form_df": self._form_df.copy(),
                "shown": self._shown.copy(),
            }
        return arrays

    def blank_state(self) -> Arrays:
        """Return the state as :meth:`state` does, as if nothing were counted in the open slice so far."""
        arrays = self.state()
        arrays["documents"][1] = 0
        for name in ("pending", "form_df"):
            if name in arrays:
                arrays[name][:] = 0
        return arrays

    def tally(self, forms: int, terms: int) -> Arrays:
        """Return what was counted since a :meth:`blank_state` of so many forms and terms, for :meth:`absorb`."""
        counted = np.flatnonzero(self._pending)
        arrays: Arrays = {
            "documents": np.array([self._pending_documents], dtype=np.int64),
            "known": np.array([forms, terms], dtype=np.int64),
            "terms": counted.astype(np.int32),
            "pending": self._pending[counted],
        }
        arrays["form_starts"], arrays["form_pool"] = self._forms.take(np.arange(forms, len(self._forms)))
        if self._stem is not None:
            counted = np.flatnonzero(self._form_df)
            arrays |= {"forms": counted.astype(np.int32), "form_df": self._form_df[counted]}
            arrays |= {"form_term": self._form_term[forms:]}
            arrays["term_starts"], arrays["term_pool"] = self._terms.take(np.arange(terms, len(self._terms)))
        return arrays

    def absorb(self, tally: Arrays) -> NDArray[np.int32]:
        """Count what another vocabulary has counted that began as this one; return the id here of each of its terms.

        Afterwards this vocabulary is as if it had counted the texts itself; -1 stands for terms without a place.
        """
        known_forms, known_terms = (int(number) for number in tally["known"])
        forms = np.append(np.arange(known_forms), self._forms.extend(tally["form_starts"], tally["form_pool"]))
        if self._stem is None:
            terms = forms
        else:
            terms = np.append(np.arange(known_terms), self._terms.extend(tally["term_starts"], tally["term_pool"]))
            new = forms[known_forms:] >= self._form_term.size
            theirs = tally["form_term"][new]
            ours = np.where(theirs >= 0, terms[theirs], -1).astype(np.int32)
            self._form_term = np.concatenate((self._form_term, ours))
            self._form_df = np.pad(self._form_df, (0, ours.size))
            _add_at(self._form_df, forms[tally["forms"]], tally["form_df"])
        self._make_room()
        _add_at(self._pending, terms[tally["terms"]], tally["pending"])
        self._pending_documents += int(tally["documents"][0])
        return terms.astype(np.int32)

    def restore(self, arrays: Arrays) -> None:
        """Become the vocabulary whose :meth:`state` is given; what follows is the same to the last bit.

        Raises
        ------
        InputError
            If the state was made with other settings; names them.
        """
        stored = json.loads(np.asarray(arrays["settings"]).tobytes())
        differing = [name for name, value in self._settings().items() if stored.get(name) != value]
        if differing:
            raise InputError(
                "the stored vocabulary was made with other settings: "
                + ", ".join(f"{name} {stored.get(name)!r}, now {self._settings()[name]!r}" for name in differing)
            )
        self.documents, self._pending_documents = (int(number) for number in arrays["documents"])
        self._df = np.array(arrays["df"], dtype=np.int64)
        self._recent = np.array(arrays["recent"], dtype=np.float64)
        self._pending = np.array(arrays["pending"], dtype=np.int32)
        met = arrays.get("first_slice", np.full(len(self._df), _ALWAYS))  # states of earlier versions lack it
        self._first_slice = np.array(met, dtype=np.int64)
        if (self._df > self.documents).any() or (self._pending > self._pending_documents).any():
            raise ValueError("expected words in at most as many documents as there were")
        self._columns = np.array(arrays["columns"], dtype=np.int32)
        self._forbidden = set(arrays["forbidden"].tobytes().decode().split("\n")) if "forbidden" in arrays else set()
        if not self._columns.max(initial=-1) < len(met) <= len(self._df):
            raise ValueError(f"expected a first slice for each of up to {len(self._df)} words, got {len(met)}")
        if self._reserved:
            self._forms.limit = len(arrays["form_starts"]) - 1 + self._reserved
            self._terms.limit = max(len(self._df), self._forms.limit)
        self._forms.refill(np.array(arrays["form_starts"]), np.array(arrays["form_pool"]))
        if self._stem is not None:
            self._terms.refill(np.array(arrays["term_starts"]), np.array(arrays["term_pool"]))
            self._form_term = np.array(arrays["form_term"], dtype=np.int32)
            self._form_df = np.array(arrays["form_df"], dtype=np.int64)
            self._shown = np.array(arrays["shown"], dtype=np.int32)
        self._seal()

    @property
    def _first(self) -> int:
        """Id of the first term that is no stop word."""
        return self._stops if self._stem is None else 0

    def _settings(self) -> dict[str, object]:
        return {
            "capacity": self.capacity,
            "min_df": self.min_df,
            "max_df_share": self.max_df_share,
            "fade": self.fade,
            "stop_words": self._stop_digest,
            "stem": self.stem,
            **self.tokeniser.options._asdict(),
        }

    def _seal(self) -> None:
        """Compute what follows from the columns and the closed slices."""
        self.column = np.full(self._df.size, -1, dtype=np.int32)
        self.column[self._columns] = np.arange(self._columns.size, dtype=np.int32)
        df = self._df[self._columns]
        self.idf = np.log((1 + self.documents) / (0.5 + df)).astype(np.float32)
        digest = hashlib.blake2b(digest_size=16)
        for part in self._terms.take(self._columns.astype(np.int64)):
            digest.update(part.tobytes())
        self.names_digest = digest.hexdigest()
        digest.update(self.idf.tobytes())
        self.digest = digest.hexdigest()

    def _stems(self, words: Iterable[str]) -> set[str]:
        return set() if self._stem is None else set(self._stem(list(words)))

    def _phrases_with(self, terms: set[str]) -> set[str]:
        """Return the terms of the phrases that hold a word of one of these ``terms``."""
        forms = self._forms.texts(np.arange(self._stops, len(self._forms)))
        numbers = (
            range(self._stops, len(self._forms)) if self._stem is None else self._form_term[self._stops :].tolist()
        )
        found = {
            number
            for form, number in zip(forms, numbers, strict=True)
            if " " in form and not terms.isdisjoint({*form.split(), *self._stems(form.split())})
        }
        return set(self._terms.texts(np.array(sorted(found), np.int64)))

    def _ids_of(self, terms: set[str]) -> list[int]:
        """Return the ids of terms, which get one if they had none; of stop words and beyond a full table there is none.

        Ids are given in the order of the words.
        """
        ids = self._terms.add(sorted(terms)).tolist() if terms else []
        self._make_room()
        return [i for i in ids if i >= self._first]

    def _forbidden_columns(self, terms: set[str]) -> NDArray[np.int32]:
        """Return the columns of ``terms``."""
        columns = self.column[[i for i in self._ids_of(terms) if i < self.column.size]]
        return np.asarray(columns[columns >= 0])

    def _make_room(self) -> None:
        """Give every term its figures."""
        more = len(self._terms) - self._df.size
        if more:
            self._df = np.pad(self._df, (0, more))
            self._recent = np.pad(self._recent, (0, more))
            self._pending = np.pad(self._pending, (0, more))

    def _stemmed(self, counts: Counts, stem: Callable[[list[str]], list[str]]) -> Counts:
        """Counts of forms to counts of terms."""
        self._stem_new_forms(stem)
        _count_documents(self._form_df, counts.terms)
        merged = _merge(counts.indptr, counts.terms, counts.counts, self._form_term, len(self._terms))
        return Counts(merged[0], merged[1], merged[2], counts.tokens)

    def _stem_new_forms(self, stem: Callable[[list[str]], list[str]]) -> None:
        """Give new forms their terms: each form is stemmed once."""
        known = self._form_term.size
        if len(self._forms) > known:
            stems = stem([self._forms.word(form) for form in range(known, len(self._forms))])
            self._form_term = np.concatenate((self._form_term, self._terms.add(stems).astype(np.int32)))
            self._form_df = np.pad(self._form_df, (0, len(stems)))

    def _prune(self) -> NDArray[np.int32]:
        """Forget the rarest terms without a column; return the new id of each old term."""
        rank = self._recent.copy()
        rank[self._columns] = np.inf
        best = _largest(rank[self._first :], _ROOMY * self.capacity)
        kept = np.concatenate((np.arange(self._first), self._first + best))
        terms = np.full(self._df.size, -1, dtype=np.int32)
        terms[kept] = np.arange(kept.size, dtype=np.int32)
        self._terms.keep(kept)
        self._df, self._recent, self._pending = self._df[kept], self._recent[kept], self._pending[kept]
        self._first_slice = self._first_slice[kept]
        self._columns = terms[self._columns]
        if self._stem is not None:
            living = self._form_term >= 0
            self._form_term[living] = terms[self._form_term[living]]
            stop = np.arange(self._form_term.size) < self._stops
            self._keep_forms(np.flatnonzero((self._form_term >= 0) | stop))
        return terms

    def _prune_forms(self) -> None:
        rank = self._form_df.astype(np.float64)
        # a column never loses its word
        rank[_most_frequent_form(self._form_term, self._form_df, self._df.size)[self._columns]] = np.inf
        best = _largest(rank[self._stops :], _ROOMY * self.capacity)
        self._keep_forms(np.concatenate((np.arange(self._stops), self._stops + best)))

    def _keep_forms(self, kept: NDArray[np.int64]) -> None:
        self._forms.keep(kept)
        self._form_term, self._form_df = self._form_term[kept], self._form_df[kept]


def _add_at(figures: NDArray[Any], ids: NDArray[np.int64], more: NDArray[Any]) -> None:
    """Add to the figures of different ids, but those of -1."""
    figures[ids[ids >= 0]] += more[ids >= 0]


def _largest(values: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Places of the largest values in their order; of equals the first."""
    if values.size <= most:
        return np.arange(values.size)
    least = np.partition(values, values.size - most)[values.size - most]
    chosen = values > least
    chosen[np.flatnonzero(values == least)[: most - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def _most_frequent_form(form_term: NDArray[np.int32], form_df: NDArray[np.int64], terms: int) -> NDArray[np.int32]:
    """Form of each term that is in most documents; among equals the first."""
    forms = np.flatnonzero(form_term >= 0)
    order = forms[np.lexsort((-forms, form_df[forms]))]
    shown = np.full(terms, -1, dtype=np.int32)
    # of several assignments to one place the last one stays
    shown[form_term[order]] = order
    return shown


@njit(cache=True, nogil=True)
def _count_documents(df, terms):  # type: ignore[no-untyped-def]
    for term in terms:
        df[term] += 1


@njit(cache=True, nogil=True)
def _merge(indptr, forms, counts, form_term, terms):  # type: ignore[no-untyped-def]
    """Add up the counts of the forms of one term, document by document."""
    seen = np.zeros(terms, dtype=np.uint32)
    merged = np.zeros_like(indptr)
    out_terms = np.empty_like(forms)
    out_counts = np.empty_like(counts)
    position = 0
    for document in range(indptr.size - 1):
        first = position
        for j in range(indptr[document], indptr[document + 1]):
            term = form_term[forms[j]]
            if term < 0:
                continue
            if seen[term] == 0:
                out_terms[position] = term
                position += 1
            seen[term] += np.uint32(counts[j])
        for j in range(first, position):
            out_counts[j] = min(seen[out_terms[j]], 65535)
            seen[out_terms[j]] = 0
        merged[document + 1] = position
    return merged, out_terms[:position].copy(), out_counts[:position].copy()
