"""The tokeniser once more, slowly: character classes as a string, words by a regular expression on it."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter

_IN_ADDRESS = r"[^\x00- \"'<>()\[\]{}|\\^`\x7f-\xbf\u0800-\U0010ffff]*"
_SCHEME = re.compile(rf"[a-zA-Z0-9+]+://{_IN_ADDRESS}")
_WWW = re.compile(rf"(?<![a-zA-Z0-9+])www\.(?=[a-zA-Z0-9+]){_IN_ADDRESS}")
_RUN = re.compile(r"[LN][LNM]*(?:'[LN][LNM]*)*|H+")
_ENDINGS = {"s", "t", "d", "m", "ll", "re", "ve"}
_UNSPACED = ("CJK UNIFIED", "CJK COMPATIBILITY", "HIRAGANA", "KATAKANA", "HENTAIGANA", "HALFWIDTH KATAKANA", "HANGZHOU")
_UNSPACED_SIGNS = "々〆〇〱〲〳〴〵〻〼\u30fc\uff70"


def tokens(text: str, min_length: int = 2, max_length: int = 40, keep_numbers: bool = False) -> list[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.replace("\xad", "").lower().replace("i\u0307", "i"))
        text = text.encode("utf-8", "replace").decode()
    text = _WWW.sub(" ", _SCHEME.sub(" ", text)).lower()
    found = []
    for run in _RUN.finditer("".join(map(_kind, text))):
        word = text[run.start() : run.end()]
        if run.group()[0] == "H":
            pairs = [a + b for a, b in itertools.pairwise(word)]
            found += pairs or ([word] if min_length == 1 else [])
            continue
        pieces = word.replace("’", "'").split("'")
        for i, piece in enumerate(pieces):
            ending = i > 0 and piece in _ENDINGS
            negated = pieces[i + 1 : i + 2] == ["t"] and piece.endswith("n")
            number = not any(unicodedata.category(c)[0] == "L" for c in piece)
            if ending or negated or (number and not keep_numbers) or not min_length <= len(piece) <= max_length:
                continue
            found.append(piece)
    return found


def counts(text: str, stop_words: frozenset[str] = frozenset()) -> Counter[str]:
    return Counter(token for token in tokens(text) if token not in stop_words)


def _kind(c: str) -> str:
    if c in "'’":
        return "'"
    if c in "\u200c\u200d":
        return "M"
    major = unicodedata.category(c)[0]
    if major in "LN" and (unicodedata.name(c, "").startswith(_UNSPACED) or c in _UNSPACED_SIGNS):
        return "H"
    return major if major in "LNM" and ord(c) < 0x33480 else " "
