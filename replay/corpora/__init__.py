"""The corpora known by name, one file each.

To add a corpus, write a file in this folder that defines a `Corpus` (``nyt.py`` is a short one), and list it in
`corpora` below.
"""

from __future__ import annotations

import difflib

from vmfstream.errors import InputError
from vmfstream.replay.corpora import conferences, crisislex, mstream, newsgroups, nips, nyt, reuters, un
from vmfstream.replay.corpus import Corpus

__all__ = ["corpora", "get"]


def corpora() -> tuple[Corpus, ...]:
    """Return all corpora known by name."""
    return (
        nips.ABSTRACTS,
        nips.PAPERS,
        nyt.FRONT_PAGE,
        un.DEBATES,
        un.PASSAGES,
        reuters.NEWSWIRE,
        newsgroups.POSTS,
        conferences.ABSTRACTS,
        crisislex.POSTS,
        mstream.TITLES,
        mstream.BURSTS,
    )


def get(name: str) -> Corpus:
    """Return the corpus of that name.

    Raises
    ------
    InputError
        If there is none; the message offers the nearest names.
    """
    known = {corpus.name: corpus for corpus in corpora()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.4)
    near += [other for other in known if name and name.lower() in other and other not in near]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    raise InputError(f"unknown corpus {name!r}: {hint}")
