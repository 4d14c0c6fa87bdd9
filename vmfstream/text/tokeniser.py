"""Count the words of texts in one pass over their bytes.

What a word is:

- Web addresses are no words: what begins with a scheme such as ``https://``, or with ``www.``, is left out up to a
  blank, a quote, a bracket, a sign such as » or …, or a Chinese character (Latin-1's signs, and what takes three bytes
  or more in UTF-8).
- Texts are lower-cased (:meth:`str.lower`, but İ becomes i without a second dot); texts that are not ASCII are brought
  to the composed form NFC and lose their soft hyphens.
- A word is a longest run of letters, numbers and combining marks (Unicode categories L, N, M and the two zero-width
  joiners) that begins with a letter or a number. Everything else separates, the underscore and the hyphen included.
- An apostrophe (' or ’) separates too. After one the English endings *s, t, d, m, ll, re, ve* are dropped; *n't* takes
  its verb along, which says nothing about a topic either: "Peter's" is *peter*, "don't" is nothing, "l'été" is *l* and
  *été*.
- Runs of Chinese characters and kana, which are written without spaces, become overlapping pairs of characters; a
  single one is a word of length one. (Thai, Lao, Khmer and Burmese runs are taken as they stand.)
- Words shorter than ``min_length`` or longer than ``max_length`` characters are dropped (pairs are not), and so are
  numbers, that is words without a letter, unless ``keep_numbers``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from string import ascii_letters, digits
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.text.ascii_scan import BEFORE, BLOCK, ascii_words, eight, fetch, last_eight
from vmfstream.text.counts import Counts
from vmfstream.text.word_table import WordTable, find_or_add, long_key, slot_of, stirred

_LETTER, _NUMBER, _MARK, _IDEOGRAPH, _APOSTROPHE, _WIDE = 1, 2, 4, 8, 16, 32
_LOW = np.uint64(0xFFFFFFFF)
_WORD = _LETTER | _NUMBER | _MARK
_START = _LETTER | _NUMBER
# the two apostrophes, and the two zero-width joiners
_EXCEPTIONS = {0x27: _APOSTROPHE, 0x2019: _APOSTROPHE, 0x200C: _MARK, 0x200D: _MARK}
_CATEGORIES = (
    "Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "Mn", "Mc", "Me", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
    "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
)  # fmt: skip
# Han with its iteration marks, kana with the prolonged sound mark: (first, last)
_UNSPACED = (
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3041, 0x3096), (0x309D, 0x309F),
    (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F), (0x1AFF0, 0x1B16F), (0x20000, 0x3347F),
)  # fmt: skip
# the rest of a web address: \xc2 begins the signs of Latin-1, \xe0 and what follows longer characters
_ADDRESS = re.compile(rb"[^\x00- \"'<>()\[\]{}|\\^`\x7f\xc2\xe0-\xff]*")
_SCHEME = frozenset(f"{ascii_letters}{digits}+".encode())
# beyond lie only unassigned planes, tags, variation selectors and private use
_CODE_POINTS = 0x33480


class TokeniserOptions(NamedTuple):
    """Which words count: lengths in characters, and whether numbers do."""

    min_length: int
    max_length: int
    keep_numbers: bool


class WordRuns(NamedTuple):
    """The words of N texts in their order, T together.

    ``words`` (T,) are ids of a table, -1 for words without a place; ``document`` (T,) are rows. ``joined`` (T,) tells
    that only a blank, a hyphen or a line break stands between a word and the one before.
    """

    words: NDArray[np.int64]
    document: NDArray[np.int64]
    joined: NDArray[np.bool_]


class Tokeniser:
    """Cuts texts into words and counts them.

    Parameters
    ----------
    min_length, max_length : int
        Shortest and longest word in characters, 1 <= min_length <= max_length.
    keep_numbers : bool
        Keep words without any letter, such as "1996".

    Raises
    ------
    ValueError
        If the lengths are not 1 <= min_length <= max_length.

    Examples
    --------
    >>> Tokeniser().tokens("Don't panic: Peter's U-boat, 1943; l'été à 東京都, see https://example.org/panic")
    ['panic', 'peter', 'boat', 'été', '東京', '京都', 'see']
    """

    def __init__(self, min_length: int = 2, max_length: int = 40, keep_numbers: bool = False) -> None:
        if not 1 <= min_length <= max_length:
            raise ValueError(f"expected 1 <= min_length <= max_length, got {min_length} and {max_length}")
        self.options = TokeniserOptions(int(min_length), int(max_length), bool(keep_numbers))

    def stop_words(self) -> Sequence[str]:
        """Return the words that `count` leaves out besides those that it is told to."""
        return ()

    def tokens(self, text: str) -> list[str]:
        """Return the words of one text in their order, repetitions included (for people and tests, not for speed)."""
        pool, bounds = _bytes([text])
        narrow, wide = _classes(bool(pool.max() > 127))
        begins, stops = np.empty((2, pool.size // 2 + 2), dtype=np.int64)
        lasts = np.empty(begins.size, dtype=np.uint64)
        count = _cut(pool, int(bounds[0]), int(bounds[1]), narrow, wide, self.options, begins, stops, lasts)
        return [pool[a:b].tobytes().decode() for a, b in zip(begins[:count], stops[:count], strict=True)]

    def count(self, texts: Sequence[str], table: WordTable, skip: int = 0) -> Counts:
        """Count the words of ``texts``; new words enter the table.

        Parameters
        ----------
        texts : sequence of N str
            Any str will do, lone surrogates included (they separate).
        table : WordTable
            Gives the words their ids.
        skip : int
            Words with ids below it are not counted (stop words that were put into the table first).

        Returns
        -------
        Counts
            The terms are ids of ``table``.

        Raises
        ------
        ValueError
            If something other than a str is among ``texts``; names its place.
        """
        pool, bounds = _bytes(texts)
        narrow, wide = _classes(bool(pool.max() > 127))
        most = pool.size // 2 + 1
        words = np.empty(most, dtype=np.int32)
        counts = np.empty(most, dtype=np.uint16)
        indptr = np.zeros(bounds.size, dtype=np.int64)
        tokens = np.zeros(bounds.size - 1, dtype=np.int32)
        done = 0
        while done < tokens.size:
            size = int(bounds[done + 1] - bounds[done])
            table.reserve(
                size // 2 + 1, min(2 * size, (table.limit - len(table)) * 4 * max(2, self.options.max_length))
            )
            seen = np.zeros(table.words.starts.size, dtype=np.uint32)
            done = _count(
                pool, bounds, done, narrow, wide, self.options, *table.words, skip, seen, indptr, words, counts, tokens
            )
        total = int(indptr[-1])
        return Counts(indptr, words[:total].copy(), counts[:total].copy(), tokens)

    def runs(self, texts: Sequence[str], table: WordTable) -> WordRuns:
        """Return the words of ``texts`` one after the other; new words enter the ``table``.

        Raises
        ------
        ValueError
            If something other than a str is among ``texts``; names its place.
        """
        pool, bounds = _bytes(texts)
        narrow, wide = _classes(bool(pool.max() > 127))
        begins, stops = np.empty((2, pool.size // 2 + 2), dtype=np.int64)
        document = np.empty(begins.size, dtype=np.int64)
        joined = np.empty(begins.size, dtype=np.bool_)
        total = _runs(pool, bounds, narrow, wide, self.options, begins, stops, document, joined)
        starts = np.zeros(total + 1, dtype=np.int64)
        np.cumsum(stops[:total] - begins[:total], out=starts[1:])
        letters = np.empty(int(starts[-1]), dtype=np.uint8)
        _take_words(pool, begins[:total], starts, letters)
        return WordRuns(table.extend(starts, letters), document[:total].copy(), joined[:total].copy())


def _bytes(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """UTF-8 of all texts, each ended by a line break, with room around them, and the bounds (N + 1,) of the texts.

    Texts with other characters than ASCII are lower-cased; `ascii_words` sees to the others.
    """
    parts = [b" " * (BEFORE - 1)]
    try:
        parts += [text.encode() if text.isascii() else _composed(text).encode("utf-8", "replace") for text in texts]
    except AttributeError:
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(f"texts[{i}]: expected str, found {type(text).__name__}") from None
        raise
    bounds = np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)) + 1)
    parts.append(b" " * BLOCK)
    pool = bytearray(b"\n").join(parts)
    _blank_addresses(pool)
    return np.frombuffer(pool, dtype=np.uint8), bounds


def _blank_addresses(pool: bytearray) -> None:
    """Put blanks in place of the web addresses of texts, of which each ends with a line break; see the module."""
    for sign in (b"://", b"www."):
        at = pool.find(sign)
        while at >= 0:
            begin, end = at, at + len(sign)
            while pool[begin - 1] in _SCHEME:
                begin -= 1
            named = begin < at  # letters stand before the sign: a scheme
            if named if sign == b"://" else not named and pool[end] in _SCHEME:
                end = _ADDRESS.match(pool, end).end()  # type: ignore[union-attr]
                pool[begin:end] = b" " * (end - begin)
            at = pool.find(sign, end)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\xad", "").lower().replace("i\u0307", "i"))


@cache
def _classes(wide: bool) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Class of each byte, and of each code point (a dummy unless ``wide``: it takes some 20 ms to make)."""
    narrow = np.full(256, _WIDE, dtype=np.uint8)
    narrow[:128] = _classes_below(128)
    return narrow, _classes_below(_CODE_POINTS) if wide else np.zeros(1, dtype=np.uint8)


def _classes_below(end: int) -> NDArray[np.uint8]:
    """Classes of the code points below ``end``, (end,)."""
    kinds = {"L": _LETTER, "N": _NUMBER, "M": _MARK}
    of_category = {category: kinds.get(category[0], 0) for category in _CATEGORIES}
    classes = np.fromiter(
        map(of_category.__getitem__, map(unicodedata.category, map(chr, range(end)))), np.uint8, count=end
    )
    for first, last in _UNSPACED:
        unspaced = classes[first : last + 1]
        unspaced[unspaced & _START != 0] = _IDEOGRAPH
    for code, kind in _EXCEPTIONS.items():
        classes[code : code + 1] = kind
    return classes


@njit(cache=True, nogil=True)
def _decode(text, i):  # type: ignore[no-untyped-def]
    """Code point of the UTF-8 sequence at ``i`` (valid, not ASCII) and its length."""
    a = np.int64(text[i])
    if a < 0xE0:
        return ((a & 0x1F) << 6) | np.int64(text[i + 1] & 0x3F), 2
    b = (np.int64(text[i + 1] & 0x3F) << 6) | np.int64(text[i + 2] & 0x3F)
    if a < 0xF0:
        return ((a & 0x0F) << 12) | b, 3
    return ((a & 0x07) << 18) | (b << 6) | np.int64(text[i + 3] & 0x3F), 4


@njit(cache=True, nogil=True)
def _class_at(text, i, narrow, wide):  # type: ignore[no-untyped-def]
    """Class of the character at ``i`` and its length in bytes."""
    kind = np.int64(narrow[text[i]])
    if kind != _WIDE:
        return kind, 1
    code, width = _decode(text, i)
    return (np.int64(wide[code]) if code < wide.size else 0), width


@njit(cache=True, nogil=True)
def _ending(text, i, narrow, wide):  # type: ignore[no-untyped-def]
    """Where the English ending that begins at ``i`` ends; ``i`` if there is none."""
    a = text[i]
    if a == 115 or a == 116 or a == 100 or a == 109:  # s t d m
        end = i + 1
    elif (a == 108 and text[i + 1] == 108) or ((a == 114 or a == 118) and text[i + 1] == 101):  # ll re ve
        end = i + 2
    else:
        return i
    kind, _ = _class_at(text, end, narrow, wide)
    return i if kind & _WORD else end


@njit(cache=True, nogil=True)
def _next_word(text, i, end, narrow, wide, options):  # type: ignore[no-untyped-def]
    """Find the next word in ``text[i:end]``, whose last byte is a line break.

    Returns where it begins and ends, and where to go on; it begins at -1 if there is none.
    """
    while i < end:
        kind, width = np.int64(narrow[text[i]]), 1
        if kind == _WIDE:
            kind, width = _class_at(text, i, narrow, wide)
        if kind & _IDEOGRAPH:
            after = i + width
            follow, more = _class_at(text, after, narrow, wide)
            if follow & _IDEOGRAPH:
                stop = after + more
                beyond, _ = _class_at(text, stop, narrow, wide)
                return i, stop, after if beyond & _IDEOGRAPH else stop
            if options.min_length == 1:
                return i, after, after
            i = after
            continue
        if not kind & _START:
            i += width
            continue
        begin = i
        kinds = np.int64(0)
        length = 0
        while kind & _WORD:
            i += width
            kinds |= kind
            length += 1
            kind, width = np.int64(narrow[text[i]]), 1
            if kind == _WIDE:
                kind, width = _class_at(text, i, narrow, wide)
        stop = i
        negated = False
        while kind == _APOSTROPHE:
            tail = _ending(text, i + width, narrow, wide)
            if tail == i + width:
                break
            # n't: only the ending right behind the word can negate it
            negated |= i == stop and text[stop - 1] == 110 and text[tail - 1] == 116
            i = tail
            kind, width = _class_at(text, i, narrow, wide)
        if (
            options.min_length <= length <= options.max_length
            and (kinds & _LETTER or options.keep_numbers)
            and not negated
        ):
            return begin, stop, i
    return np.int64(-1), np.int64(-1), end


@njit(cache=True, nogil=True)
def _cut(text, i, end, narrow, wide, options, begins, stops, lasts):  # type: ignore[no-untyped-def]
    """Find the words of ``text[i:end]``: where they begin and stop, and their last eight bytes; return their number."""
    shortest, longest, keep_numbers = options
    count = ascii_words(text, i, end, shortest, longest, keep_numbers, begins, stops, lasts)
    if count >= 0:
        return count
    count = 0
    wanted = _LETTER | _NUMBER if keep_numbers else _LETTER
    while i < end:
        # calling a function costs as much as finding a word: plain ASCII words are found right here
        begin = stop = i
        kind = np.int64(narrow[text[i]])
        kinds = np.int64(0)
        while kind & _START:
            kinds |= kind
            stop += 1
            kind = np.int64(narrow[text[stop]])
        if kind < _APOSTROPHE:
            i = stop + 1
            begins[count], stops[count] = begin, stop
            count += shortest <= stop - begin <= longest and kinds & wanted != 0
        else:
            begin, stop, i = _next_word(text, i, end, narrow, wide, options)
            if begin < 0:
                break
            begins[count], stops[count] = begin, stop
            count += 1
    for j in range(count):
        lasts[j] = last_eight(text, stops[j], stops[j] - begins[j])
    return count


@njit(cache=True, nogil=True)
def _count(  # type: ignore[no-untyped-def]
    text, bounds, done, narrow, wide, options, slots, starts, known, size, skip, seen, indptr, words, counts, tokens
):
    """Count from document ``done`` on; return the first one for which the table must grow before, or their number."""
    longest = 0
    for document in range(done, tokens.size):
        longest = max(longest, bounds[document + 1] - bounds[document])
    begins = np.empty(longest // 2 + 2, dtype=np.int64)
    stops = np.empty_like(begins)
    lasts, keys = np.empty(begins.size, dtype=np.uint64), np.empty(begins.size, dtype=np.uint64)
    mask, secret = (slots.size >> 1) - 1, np.uint64(size[2])
    for document in range(done, tokens.size):
        i, end = bounds[document], bounds[document + 1]
        room = min(size[0] + (end - i) // 2 + 1, size[1])
        # pairs repeat bytes, hence twice the text; but no word is longer than its characters at four bytes each
        more_bytes = min(2 * (end - i), (size[1] - size[0]) * 4 * max(2, options.max_length))
        if room >= starts.size or starts[size[0]] + more_bytes > known.size:
            return document
        first = indptr[document]
        position = first
        total = 0
        # first all words are found, then all are looked up: so the processor waits for many places of the table at once
        found = _cut(text, i, end, narrow, wide, options, begins, stops, lasts)
        for j in range(found):
            key = lasts[j]
            if stops[j] - begins[j] > 8:
                key = secret
                for at in range(begins[j], stops[j] - 8, 8):
                    key = stirred(key, eight(text, at), secret)
                key = long_key(key, lasts[j])
            keys[j] = key
            fetch(slots, 2 * slot_of(mask, key, secret))
        for j in range(found):
            slot = slot_of(mask, keys[j], secret)
            entry, length = slots[2 * slot + 1], stops[j] - begins[j]
            word = np.int64(-1)
            if slots[2 * slot] == keys[j] and entry >> 32 == np.uint64(length) and length <= 16:
                word = np.int64(entry & _LOW) - 1
                if length > 8:
                    at = starts[word]
                    same = (eight(known, at) == eight(text, begins[j])) & (eight(known, at + length - 8) == lasts[j])
                    word = word if same else np.int64(-1)
            if word < 0:
                word = find_or_add(slots, starts, known, size, slot, keys[j], text, begins[j], stops[j])
            if word < 0:
                total += 1
                continue
            # without a branch, which nobody could foresee; what is seen of words that do not count is never asked for
            counting = word >= skip
            total += counting
            words[position] = word
            position += counting & (seen[word] == 0)
            seen[word] += np.uint32(1)
        for j in range(first, position):
            counts[j] = min(seen[words[j]], 65535)
            seen[words[j]] = 0
        indptr[document + 1] = position
        tokens[document] = total
    return tokens.size


@njit(cache=True, nogil=True)
def _runs(text, bounds, narrow, wide, options, begins, stops, document, joined):  # type: ignore[no-untyped-def]
    """Find the words of all texts, see `WordRuns`; return their number."""
    lasts = np.empty(begins.size, dtype=np.uint64)
    total = 0
    for i in range(bounds.size - 1):
        found = _cut(text, bounds[i], bounds[i + 1], narrow, wide, options, begins[total:], stops[total:], lasts)
        for j in range(total, total + found):
            document[j] = i
            between = text[begins[j] - 1]
            single = j > total and begins[j] == stops[j - 1] + 1
            joined[j] = single and (between == 32 or between == 45 or between == 10)  # blank, hyphen, line break
        total += found
    return total


@njit(cache=True, nogil=True)
def _take_words(text, begins, starts, letters):  # type: ignore[no-untyped-def]
    """Copy words one behind the other."""
    for i in range(begins.size):
        for j in range(starts[i + 1] - starts[i]):
            letters[starts[i] + j] = text[begins[i] + j]
