"""What happens to words before they are counted: stop words are dropped, stemmers bring forms of a word together.

To add a list of stop words, write a function that returns it and name it in ``STOP_WORDS``: ``--stop-words NAME`` and
``TopicTracker(stop_words=NAME)`` then know it. To add a stemmer, extend `stemmer`.

``english.txt`` is the list of the Glasgow Information Retrieval Group, as scikit-learn has it. It lies here because
importing scikit-learn takes longer than all else that a run needs before its first document. The lists of other
languages are those of the package stop-words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from vmfstream.errors import InputError, MissingExtra

NEWS_WORDS: Mapping[str, frozenset[str]] = {
    "english": frozenset({"bill", "cry", "fire", "interest", "mill", "system"}),
    "french": frozenset({"droite", "force", "parole", "état"}),
    "italian": frozenset({"gente", "lavoro", "persone", "stati"}),
    "portuguese": frozenset({"direita", "estado", "povo", "trabalho"}),
    "russian": frozenset({"жизнь", "мира", "человек"}),
    "spanish": frozenset({"empleo", "estado", "fuerza", "trabajo", "verdad"}),
}
"""Words of lists that news are about, by language: they are no stop words."""

AUTO = "auto"
"""What stands for the lists of the languages that documents are written in, see `vmfstream.text.languages`."""

NO_STOP_WORDS = "none"
"""What stands for no list."""

_ANCIENT = {"greek"}
"""Lists of the package that are of another age than their name lets expect."""

_MOST_BYTES = 2**20


@cache
def _scikit_learn() -> Sequence[str]:
    return tuple(files("vmfstream.text").joinpath("english.txt").read_text(encoding="ascii").split())


@cache
def _english() -> Sequence[str]:
    return tuple(word for word in _scikit_learn() if word not in NEWS_WORDS["english"])


STOP_WORDS: Mapping[str, Callable[[], Iterable[str]]] = {"english": _english, "scikit-learn": _scikit_learn}
"""Own lists of stop words by name; a list is loaded when it is asked for. ``scikit-learn`` is the whole list."""


def languages() -> list[str]:
    """Return the names of all lists of stop words, in order.

    Examples
    --------
    >>> len(languages()) > 30, {"english", "german", "chinese"} <= set(languages())
    (True, True)
    """
    from stop_words import AVAILABLE_LANGUAGES

    return sorted({*STOP_WORDS, *AVAILABLE_LANGUAGES} - _ANCIENT)


def is_language(name: str) -> bool:
    """Tell whether a name, in any case, is one of a list of stop words or of that of each document's language."""
    name = name.lower()
    return name == AUTO or name in STOP_WORDS or name in languages()


def stop_words_of(wanted: str | Iterable[str] | None) -> Iterable[str]:
    """Return stop words: those of languages, or the words that were given themselves.

    Parameters
    ----------
    wanted : str, iterable of str or None
        Names of `languages`, in any case, with commas between them; a list of words, in which such a name stands for
        its words; or None for none.

    Raises
    ------
    InputError
        If a language has no list, and names those that have; if ``auto`` stands beside a language.

    Examples
    --------
    >>> "und" in stop_words_of("english,german"), "fire" in stop_words_of("english")
    (True, False)
    """
    if wanted is None:
        return ()
    if not isinstance(wanted, str):
        given = list(wanted)
        return [word for one in given for word in (_listed(one) if is_language(one) else (one,))]
    names = [name.strip().lower() for name in wanted.split(",")]
    check_alone(names)
    for name in names:
        if not is_language(name):
            raise InputError(
                f"stop words: expected {', '.join(languages())}, {AUTO}, a list of words or none, got {name!r}"
            )
    return list(dict.fromkeys(word for name in names for word in _listed(name)))


def check_alone(names: Sequence[str]) -> None:
    """Raise InputError if ``auto`` is one of several names of languages."""
    if AUTO in names and len(names) > 1:
        raise InputError(f"stop words: {AUTO} stands for every language, and goes with further words only")


def _listed(language: str) -> Iterable[str]:
    language = language.lower()
    if language == AUTO:  # a tokeniser leaves them out
        return ()
    if language in STOP_WORDS:
        return STOP_WORDS[language]()
    from stop_words import get_stop_words

    return [word for word in get_stop_words(language) if word not in NEWS_WORDS.get(language, ())]


def chosen_stop_words(text: str) -> tuple[str, list[str]]:
    """Read ``--stop-words``: languages, ``auto``, and files of words, with commas between them, or ``none``.

    Returns
    -------
    languages : str
        Their names, as `stop_words_of` takes them, or ``none``.
    words : list of str
        Those of the files: words between blanks, commas or line breaks; what follows a # on a line is left out.

    Raises
    ------
    InputError
        If something is neither a language nor a readable file of at most 1 MB; names the languages.
    """
    names: list[str] = []
    words: list[str] = []
    none = False
    for one in (part.strip() for part in text.split(",")):
        if one.lower() == NO_STOP_WORDS:
            none = True
            continue
        if is_language(one):
            names.append(one.lower())
            continue
        path = Path(one).expanduser()
        if not one or not path.is_file():
            raise InputError(f"stop words: expected {_known()}, {NO_STOP_WORDS} or a file of words, got {one!r}")
        words += _words_of_file(path)
    check_alone(names)
    if none and names:
        raise InputError(
            f"stop words: {NO_STOP_WORDS} leaves none out, and goes with files of words only, got {text!r}"
        )
    return ",".join(dict.fromkeys(names)) or NO_STOP_WORDS, words


def _known() -> str:
    """Return the names that stand for lists, for an error."""
    return ", ".join((*languages(), AUTO))


def _words_of_file(path: Path) -> list[str]:
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8-sig") if size <= _MOST_BYTES else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"stop words: {path} cannot be read as UTF-8 text: {error}") from error
    if size > _MOST_BYTES:
        raise InputError(f"stop words: expected at most {_MOST_BYTES:,} bytes in {path}, found {size:,}")
    lines = (line.partition("#")[0] for line in text.splitlines())
    return list(dict.fromkeys(word for line in lines for word in line.replace(",", " ").split()))


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
