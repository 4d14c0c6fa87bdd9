"""What happens to words before they are counted: stop words are dropped, stemmers bring forms of a word together.

To add a list of stop words, write a function that returns it and name it in ``STOP_WORDS``: ``--language NAME`` and
``TopicTracker(stop_words=NAME)`` then know it. To add a stemmer, extend `stemmer`.

``english.txt`` is the list of the Glasgow Information Retrieval Group, as scikit-learn has it. It lies here because
importing scikit-learn takes longer than all else that a run needs before its first document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files

from vmfstream.errors import InputError, MissingExtra


def _english() -> Iterable[str]:
    return files("vmfstream.text").joinpath("english.txt").read_text(encoding="ascii").split()


STOP_WORDS: Mapping[str, Callable[[], Iterable[str]]] = {"english": _english}
"""Lists of stop words, by the name of their language; a list is loaded when it is asked for."""


def stop_words_of(wanted: str | Iterable[str] | None) -> Iterable[str]:
    """Return stop words: those of a language, or the words that were given themselves.

    Parameters
    ----------
    wanted : str, iterable of str or None
        A name in ``STOP_WORDS``, a list of words, or None for none.

    Raises
    ------
    InputError
        If the language has no list.
    """
    if wanted is None:
        return ()
    if not isinstance(wanted, str):
        return wanted
    if wanted not in STOP_WORDS:
        known = ", ".join(map(repr, STOP_WORDS))
        raise InputError(f"stop words: expected {known}, a list of words or none, got {wanted!r}")
    return STOP_WORDS[wanted]()


def stemmer(algorithm: str) -> Callable[[list[str]], list[str]]:
    """Return what reduces words to stems.

    Parameters
    ----------
    algorithm : str
        A Snowball algorithm, such as "english".

    Raises
    ------
    InputError
        If there is no such algorithm.
    MissingExtra
        If PyStemmer is not installed.
    """
    try:
        import Stemmer
    except ImportError:
        raise MissingExtra("stemming needs PyStemmer: pip install 'vmfstream[stemming]'") from None
    if algorithm not in Stemmer.algorithms():
        raise InputError(f"stemmer: expected one of {', '.join(Stemmer.algorithms())}, got {algorithm!r}")
    stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer(algorithm).stemWords
    return stem
