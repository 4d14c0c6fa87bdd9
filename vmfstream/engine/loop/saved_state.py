"""Check the arrays of a saved state before they are used: a run file may be damaged, or come from a stranger.

Compiled code uses values of one array as indices into another, so each array must have the type, shape and range that
the others imply. Otherwise it would read out of bounds, or a run would go on with wrong numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.online.state import TOLD_SLICES, TOLD_WORDS
from vmfstream.records import NO_TIME, Arrays

_MOST = 2**31
"""No slice has such a number, nor a topic that is named beside others."""

_TOPICS = 2**24
"""No topic has such a number: tables by number are made."""

_MANY = 2**53
"""More documents than can be counted."""

_FAR = 2**62
"""No whole number is farther from 0: sums of two have room in 64 bits."""

LONG = 1e15
"""Longer than a sum of unit rows."""

_DEGREES = 1e3
"""No angle is so large."""

_ROUNDING = 1e-3
"""Share by which sums of documents, whose memberships are float32, may differ."""

COLDEST, WARMEST = 1e-3, 1e6
"""Temperatures of scores are from here on, and below."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What an array must be.

    Attributes
    ----------
    kinds : kinds of its dtype, as of `numpy.dtype.kind`.
    shape : sizes: a number, or a name, which stands for the same size everywhere, with ``+1`` for one more; ``*`` for
        any.
    low, high : smallest value, and the value that all must be below, a number or the name of a size, with ``+1`` for
        one more; None for none. Numbers with a point must be finite.
    rising : values never fall, from 0 to the size of this name.
    lengths : values add up to the size of this name.
    distinct : no value stands twice.
    sorted : values never fall.
    """

    kinds: str
    shape: tuple[int | str, ...]
    low: float | None = None
    high: float | str | None = None
    rising: str | None = None
    lengths: str | None = None
    distinct: bool = False
    sorted: bool = False


def _texts(name: str, number: str) -> dict[str, Rule]:
    """Return the rules of texts that are stored as bytes and lengths."""
    return {
        name: Rule("u", (f"{name}.bytes",)),
        f"{name}.lengths": Rule("i", (number,), low=0, lengths=f"{name}.bytes"),
    }


def _counts(name: str, rows: str, terms: str) -> dict[str, Rule]:
    """Return the rules of counts of words."""
    return {
        f"{name}indptr": Rule("i", (f"{rows}+1",), rising=f"{name}entries"),
        f"{name}terms": Rule("i", (f"{name}entries",), low=0, high=terms),
        f"{name}counts": Rule("u", (f"{name}entries",)),
        f"{name}tokens": Rule("i", (rows,), low=0),
    }


def _vocabulary(name: str, *, stemmed: bool) -> dict[str, Rule]:
    """Return the rules of a vocabulary; without stems forms are terms."""
    terms, forms = f"{name}terms", f"{name}forms" if stemmed else f"{name}terms"
    width = "dimension" if name == "encoder." else f"{name}width"
    rules = {
        f"{name}documents": Rule("i", (2,), low=0, high=_MANY),
        f"{name}df": Rule("i", (terms,), low=0),
        f"{name}recent": Rule("f", (terms,), low=0.0),
        f"{name}pending": Rule("i", (terms,), low=0),
        f"{name}first_slice": Rule("i", ("*",)),
        f"{name}columns": Rule("i", (width,), low=0, high=terms, distinct=True),
        f"{name}form_starts": Rule("i", (f"{forms}+1",), rising=f"{name}letters"),
        f"{name}form_pool": Rule("u", (f"{name}letters",)),
    }
    if stemmed:
        rules |= {
            f"{name}term_starts": Rule("i", (f"{terms}+1",), rising=f"{name}stems"),
            f"{name}term_pool": Rule("u", (f"{name}stems",)),
            f"{name}form_term": Rule("i", (forms,), low=-1, high=terms),
            f"{name}form_df": Rule("i", (forms,), low=0),
            f"{name}shown": Rule("i", (width,), low=-1, high=forms),
        }
    return rules


def _documents(name: str, rows: str, encoder: str) -> dict[str, Rule]:
    """Return the rules of kept documents: counts of words, or vectors, or both."""
    return {
        **_counts(name, rows, f"{encoder}terms"),
        f"{name}values": Rule("f", (rows, "dimension")),
        **_counts(f"{name}words.", rows, f"{encoder}words.terms"),
    }


def _sample(name: str) -> dict[str, Rule]:
    rows, entries = f"{name}.rows", f"{name}.entries"
    return {
        f"{name}.gain": Rule("f", (rows,), low=-np.inf),
        **{f"{name}.{column}": Rule("i", (rows,)) for column in ("slice", "row", "topic")},
        f"{name}.key": Rule("f", (rows,)),
        f"{name}.half": Rule("b", (rows,)),
        f"{name}.x": Rule("f", (rows, "dimension"), low=-1.5),
        f"{name}.x.data": Rule("f", (entries,), low=-1.5),
        f"{name}.x.indices": Rule("i", (entries,), low=0, high="dimension"),
        f"{name}.x.indptr": Rule("i", (f"{rows}+1",), rising=entries),
    }


_BOOK = "stories.book."

_STORIES: Mapping[str, Rule] = {
    "stories.documents": Rule("i", (2,), low=0, high=_MANY),
    "stories.mixture.ids": Rule("i", ("stories",), low=0, distinct=True),
    "stories.mixture.size": Rule("i", ("stories",), low=1, high=_MANY),
    "stories.mixture.square": Rule("f", ("stories",), low=-np.inf, high=LONG**2),
    **{f"stories.mixture.{name}": Rule("f", ("stories",), low=-np.inf) for name in ("first", "last")},
    "stories.mixture.indptr": Rule("i", ("stories+1",), rising="stories.entries"),
    "stories.mixture.values": Rule("f", ("stories.entries",), low=-LONG, high=LONG),
    "stories.mixture.beside": Rule("f", ("stories", "dimension"), low=-LONG, high=LONG),
    "stories.mixture.beside_square": Rule("f", ("stories",), low=-1.0, high=LONG**2),
    "stories.mixture.clock": Rule("f", (2,), low=-np.inf),
    "stories.mixture.counters": Rule("i", (2,), low=0),
    "stories.mixture.form": Rule("i", (2,), low=-1),
    "stories.mixture.grains": Rule("f", (2,), low=0.0),
    "stories.window.indptr": Rule("i", ("waiting+1",), rising="waiting.entries"),
    "stories.window.values": Rule("f", ("waiting.entries",), low=-np.inf),
    "stories.window.times": Rule("f", ("waiting",), low=-np.inf),
    "stories.window.vectors": Rule("f", ("waiting", "dimension"), low=-LONG, high=LONG),
    "stories.window.seen": Rule("i", (1,), low=0),
    "stories.window.labels": Rule("i", ("waiting",), low=-1),
    "stories.window.place": Rule("i", ("waiting",), low=0),
    "stories.window.slice": Rule("i", ("waiting",)),
    "stories.weights.df": Rule("i", ("*",), low=0),
    "stories.weights.documents": Rule("i", (1,), low=0, high=_MANY),
    f"{_BOOK}ids": Rule("i", ("stories",), low=0, distinct=True, sorted=True),
    f"{_BOOK}topic": Rule("i", ("stories",), low=-1, high=_TOPICS),
    **{f"{_BOOK}{name}": Rule("i", ("stories",)) for name in ("first", "last", "first_slice", "last_slice")},
    **{f"{_BOOK}{name}": Rule("i", ("stories",), low=0, high=_MANY) for name in ("size", "votes", "now", "before")},
    **{f"{_BOOK}{name}": Rule("f", ("stories",), low=-np.inf) for name in ("trend", "novelty")},
    **{f"{_BOOK}{name}": Rule("b", ("stories",)) for name in ("shown", "listed", "bursting", "changed")},
    f"{_BOOK}score": Rule("f", ("stories", "*"), low=-1.0),
    f"{_BOOK}document.times": Rule("M", ("best",)),
    f"{_BOOK}opener.times": Rule("M", ("stories",)),
    **_texts(f"{_BOOK}document.ids", "best"),
    **_texts(f"{_BOOK}document.titles", "best"),
    **_texts(f"{_BOOK}opener.ids", "stories"),
    **_texts(f"{_BOOK}opener.titles", "stories"),
}

_NAMES: Mapping[str, Rule] = {
    "names.phrases.starts": Rule("i", ("phrases+1",), rising="phrases.letters"),
    "names.phrases.pool": Rule("u", ("phrases.letters",)),
    "names.phrases.alone": Rule("f", ("phrases",), low=0.0),
    "names.phrases.pairs": Rule("i", ("pairs",), low=0),
    "names.phrases.often": Rule("f", ("pairs",), low=0.0),
    "names.phrases.total": Rule("f", (1,), low=0.0, high=_MANY),
    "encoder.topics.ids": Rule("i", ("named",)),
    "encoder.topics.indptr": Rule("i", ("named+1",), rising="named.words"),
    "encoder.topics.indices": Rule("i", ("named.words",), low=0, high="encoder.words.width"),
    "encoder.topics.data": Rule("f", ("named.words",), low=-LONG, high=LONG),
}

_TRACKER: Mapping[str, Rule] = {
    "open.s": Rule("f", ("*", "columns"), low=-np.inf),
    "open.n": Rule("f", ("columns",), low=-1e-3, high=_MANY),
    "open.documents": Rule("i", (2,), low=0, high=_MANY),
    "open.resp": Rule("f", ("*", "columns"), low=0.0, high=2.0),
    "slice": Rule("i", (1,), low=-_MOST, high=_MOST),
    "anchor": Rule("f", ("dimension",), low=-LONG, high=LONG),
    "scalars": Rule("f", (2,), low=-1.0),
    "ids": Rule("i", ("topics",), low=0, high=_TOPICS, distinct=True),
    "counters": Rule("i", (2,), low=0, high=_TOPICS),
    "n": Rule("f", ("columns",), low=-1e-3, high=_MANY),
    "n_past": Rule("f", ("columns",), low=-1e-3, high=_MANY),
    "scores": Rule("f", ("persistences",), low=-np.inf),
    "refits": Rule("i", ("*",)),
    "smoothed_speed": Rule("f", ("columns",), high=_DEGREES),
    "window.index": Rule("i", ("window",), distinct=True, sorted=True),
    "window.sizes": Rule("i", ("window",), low=0, lengths="window.rows"),
    "window.resp": Rule("f", ("window.rows", "columns"), low=0.0, high=2.0),
    "prior": Rule("f", ("dimension", "*"), low=-LONG, high=LONG),
    "past.{}": Rule("f", ("dimension", "columns"), low=-LONG, high=LONG),
    "temperature": Rule("f", (1,), low=COLDEST, high=WARMEST),
    **{f"life.{name}": Rule("f", ("topics",), low=-np.inf) for name in ("usual", "weight", "height")},
    **{f"life.{name}": Rule("i", ("topics",)) for name in ("asleep", "watched", "alive", "numbered")},
    "life.trial": Rule("i", ("topics",), low=0),
    "life.heard": Rule("f", ("heard",), low=-np.inf),
    "life.heard_slice": Rule("i", ("heard",)),
    "life.heard_topic": Rule("i", ("heard",), low=-1, high=_MOST),
    "life.calm": Rule("i", (1,)),
    "life.tallied": Rule("i", ("tallied",)),
    "life.tally": Rule("f", ("tallied", "topics"), low=0.0),
    "life.told": Rule("i", (TOLD_SLICES * TOLD_WORDS, "topics"), low=0, high="dimension+1"),
    "life.holder": Rule("i", ("*",), low=-1, high=_MOST),
    **_sample("life.recent"),
    **_sample("life.control"),
}


def _terms(arrays: Arrays) -> str:
    """Return the name of the number of terms that stories are made of."""
    return "encoder.words.terms" if "encoder.words.df" in arrays else "encoder.terms"


def rules_of(arrays: Arrays) -> dict[str, Rule]:
    """Return the rules of the arrays of a saved state; some depend on what there is."""
    return {
        "engine.counters": Rule("i", (5,), low=-(2**62)),
        "engine.recent": Rule("u", ("*",)),
        "encoder.dim": Rule("i", (1,), low=2),
        **_vocabulary("encoder.", stemmed="encoder.form_term" in arrays),
        **_vocabulary("encoder.words.", stemmed="encoder.words.form_term" in arrays),
        **_documents("open.", "open.rows", "encoder."),
        **_documents("later.", "later.rows", "encoder."),
        "later.first": Rule("i", (1,), low=0),
        "open.times": Rule("M", ("open.rows",)),
        **_texts("open.ids", "open.rows"),
        **_texts("open.titles", "open.rows"),
        "held.slices": Rule("i", ("held",), distinct=True, sorted=True),
        **_documents("held.{}.", "held.{}.rows", "encoder."),
        "sample.open": Rule("u", ("*",), sorted=True),
        "sample.slices": Rule("i", ("*", 2)),
        "sample.keys": Rule("u", ("*",)),
        "sample.room": Rule("i", (1,), low=1),
        "novel.novelty": Rule("f", ("novel",), low=-LONG, high=LONG),
        "novel.topic": Rule("i", ("novel",)),
        "novel.times": Rule("M", ("novel",)),
        **_texts("novel.ids", "novel"),
        **_texts("novel.titles", "novel"),
        "stories.mixture.indices": Rule("i", ("stories.entries",), low=0, high=_terms(arrays)),
        "stories.window.indices": Rule("i", ("waiting.entries",), low=0, high=_terms(arrays)),
        "open.first": Rule("i", ("*", 2)),
        **_STORIES,
        **_NAMES,
        **_TRACKER,
    }


@contextmanager
def checked_state(*parts: Arrays) -> Iterator[None]:
    """Check the parts of a saved state, then let the body read them.

    Arrays that no rule names are not looked at.

    Raises
    ------
    InputError
        If an array has another type, shape or range than the rest implies, or the body finds it damaged.
    """
    arrays = {name: array for part in parts for name, array in part.items()}
    check_arrays(arrays, rules_of(arrays), "the saved state is damaged")
    try:
        yield
    except KeyError as error:
        raise InputError(f"the saved state is damaged: {error} is missing") from error
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError) as error:
        raise InputError(f"the saved state is damaged: {str(error) or type(error).__name__}") from error


def check_arrays(arrays: Arrays, rules: Mapping[str, Rule], where: str) -> None:
    """Check arrays by name; those that no rule names are not looked at.

    Parameters
    ----------
    arrays : of a saved state or of a part of one, also under other names that ``rules`` has.
    rules : what they must be; the rules of states also tell how words and stories belong together.
    where : begin of the message.

    Raises
    ------
    InputError
        If an array has another type, shape or range than the rest implies.
    """
    _Check(arrays, rules, where).all()


class _Check:
    """Checks arrays against their rules; sizes are learnt from the shapes of those that come first."""

    def __init__(self, arrays: Arrays, rules: Mapping[str, Rule], where: str) -> None:
        self._arrays, self._where = arrays, where
        self._rules = {name: rule for name in arrays if (rule := _rule_for(name, rules)) is not None}
        self._sizes: dict[str, int] = {}

    def all(self) -> None:
        for name, rule in self._rules.items():
            self._check_shape(name, rule, self._arrays[name])
        for name, rule in self._rules.items():
            self._check_values(name, rule, self._arrays[name])
        form, terms = self._arrays.get("stories.mixture.form"), self._sizes.get(_terms(self._arrays), 0)
        if form is not None and form[0] > max(terms, 1):
            raise self._damaged("stories.mixture.form", f"at most {terms} words", form[0])
        for name in self._rules:
            bounds = self._arrays.get(f"{name.removesuffix('terms')}indptr")
            if name.endswith(".terms") and bounds is not None:
                self._check_distinct(name, self._arrays[name], bounds)
        self._check_position()
        self._check_topics()
        self._check_stories()

    def _check_shape(self, name: str, rule: Rule, array: NDArray[Any]) -> None:
        if array.dtype.kind not in rule.kinds:
            raise self._damaged(name, f"values of kind {rule.kinds}", array.dtype)
        if not array.size and array.ndim == 1 and rule.shape[0] == "*":
            return  # nothing, whatever its rows would be
        if array.ndim != len(rule.shape):
            raise self._damaged(name, f"{len(rule.shape)} dimensions", f"the shape {array.shape}")
        for size, wanted in zip(array.shape, rule.shape, strict=True):
            if wanted == "*":
                continue
            if isinstance(wanted, str):
                more = wanted.endswith("+1")
                known = self._sizes.setdefault(wanted.removesuffix("+1"), size - more)
                wanted = known + more
            if size != wanted or size < 0:
                raise self._damaged(name, f"a size of {wanted}", f"the shape {array.shape}")

    def _check_values(self, name: str, rule: Rule, array: NDArray[Any]) -> None:
        if rule.rising is not None:
            end = self._sizes.get(rule.rising, 0)
            # compared, for differences may be too large for their type
            if array[0] != 0 or array[-1] != end or (array[1:] < array[:-1]).any():
                raise self._damaged(name, f"numbers that rise from 0 to {end}", f"{array[0]} to {array[-1]}")
        if rule.lengths is not None:
            end = self._sizes.get(rule.lengths, 0)
            if (most := int(array.max(initial=0))) > end:  # then the total may be, too
                raise self._damaged(name, f"lengths up to {end}", most)
            if (total := int(array.sum(dtype=np.int64))) != end:
                raise self._damaged(name, f"lengths of {end} in total", total)
        if not array.size:
            return
        if array.dtype.kind == "i" and np.abs(array[array != NO_TIME]).max(initial=0) > _FAR:
            raise self._damaged(name, f"numbers up to {_FAR}", f"{array.min()} to {array.max()}")
        if rule.sorted and (array[1:] < array[:-1]).any():
            raise self._damaged(name, "numbers that never fall", "others")
        if rule.distinct and len(np.unique(array)) < len(array):
            raise self._damaged(name, "each number once", "one twice")
        if rule.low is not None:
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise self._damaged(name, "finite numbers", "others")
            if (least := array.min()) < rule.low:
                raise self._damaged(name, f"at least {rule.low:g}", least)
        if rule.high is not None:
            limit = self._size(rule.high) if isinstance(rule.high, str) else rule.high
            if (beyond := array[array >= limit]).size:
                raise self._damaged(name, f"less than {limit}", beyond.max())

    def _size(self, name: str) -> int:
        return self._sizes.get(name.removesuffix("+1"), 0) + name.endswith("+1")

    def _check_distinct(self, name: str, terms: NDArray[Any], bounds: NDArray[Any]) -> None:
        """Check that each document has each of its terms once."""
        if len(terms):
            rows = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            keys = np.sort(rows * (int(terms.max()) + 1) + terms)
            if (keys[1:] == keys[:-1]).any():
                raise self._damaged(name, "each term of a document once", "one twice")

    def _check_position(self) -> None:
        """Check that model, documents and position are of the same slice, and count the same documents."""
        counters, now = self._arrays.get("engine.counters"), self._arrays.get("slice")
        if counters is None:
            return
        index, documents, *counts = counters.tolist()
        if min(documents, *counts) < 0:
            raise self._damaged("engine.counters", "numbers of documents from 0 on", counters)
        if now is None:
            return
        if index != now[0]:
            raise self._damaged("slice", f"the open slice, {index}", now[0])
        held, window = self._arrays.get("held.slices"), self._arrays.get("window.index")
        if held is not None and window is not None and not np.array_equal(held, window):
            raise self._damaged("held.slices", f"the slices of the window, {window}", held)
        first = dict(self._arrays.get("open.first", np.zeros((0, 2), np.int64)).reshape(-1, 2).tolist())
        learnt, wanted = self._arrays.get("open.documents"), documents - first.get(index, 0)
        if learnt is not None and learnt[0] != wanted:
            raise self._damaged("open.documents", f"the {wanted} documents of the open slice", learnt[0])

    def _check_topics(self) -> None:
        """Check that topics have numbers that were given, and no more documents than came."""
        ids, counters, scalars = (self._arrays.get(name) for name in ("ids", "counters", "scalars"))
        if ids is not None and counters is not None and ids.max(initial=-1) >= counters[0]:
            raise self._damaged("ids", f"less than the next one, {counters[0]}", ids.max())
        if scalars is not None and scalars[0] < 0.0:
            raise self._damaged("scalars", "a concentration of at least 0", scalars[0])
        learnt, position = self._arrays.get("open.documents"), self._arrays.get("engine.counters")
        if ids is not None and counters is not None and position is not None:
            told, given = int(position[2]), int(counters[0])
            if not told <= given <= told + len(ids):
                raise self._damaged("counters", f"{told} to {told + len(ids)} topics in all", given)
        for name, came in (("open.n", learnt), ("n", position), ("n_past", position)):
            n = self._arrays.get(name)
            if n is not None and came is not None:
                most = came[0] if name == "open.n" else came[3]
                if n.sum() > (1.0 + _ROUNDING) * most + _ROUNDING:
                    raise self._damaged(name, f"{most} documents at most", n.sum())

    def _check_stories(self) -> None:
        """Check that the book of the stories counts the same documents, and that lengths are those of the sums."""
        names = ("ids", "size", "square", "values", "indptr")
        ids, size, square, values, bounds = (self._arrays.get(f"stories.mixture.{name}") for name in names)
        if ids is None or size is None:
            return
        booked = self._arrays.get(f"{_BOOK}size")
        if booked is not None and not np.array_equal(booked, size[np.argsort(ids)]):
            raise self._damaged(f"{_BOOK}size", "the documents of the stories", "others")
        if square is None or values is None or bounds is None:
            return
        squares = np.concatenate(([0.0], np.cumsum(values.astype(np.float64) ** 2)))
        sums = squares[bounds[1:]] - squares[bounds[:-1]]
        # rounding is that of the largest sum a story may have had, before words were forgotten
        if (np.abs(square - sums) > _ROUNDING * np.maximum(size.astype(np.float64) ** 2, sums)).any():
            raise self._damaged("stories.mixture.square", "the squares of the sums", "others")

    def _damaged(self, name: str, expected: str, got: object) -> InputError:
        return InputError(f"{self._where}: {name}: expected {expected}, got {got}")


def _rule_for(name: str, rules: Mapping[str, Rule]) -> Rule | None:
    """Return the rule of an array; one of a series, such as ``held.3.terms``, has the series' rule with its number."""
    found = rules.get(name)
    if found is not None:
        return found
    number = re.search(r"(?<=\.)\d+(?=\.|$)", name)
    if number is None:
        return None
    series = rules.get(f"{name[: number.start()]}{{}}{name[number.end() :]}")
    if series is None:
        return None

    def own(size: Any) -> Any:
        return size.replace("{}", number[0]) if isinstance(size, str) else size

    shape = tuple(own(size) for size in series.shape)
    known = {name: own(getattr(series, name)) for name in ("high", "rising", "lengths")}
    return replace(series, shape=shape, **known)
