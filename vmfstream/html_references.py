"""Read character references of HTML, which feeds and web pages leave in their texts."""

from __future__ import annotations

import re
from html import unescape

# texts are often escaped twice: &amp;quot;
_REFERENCE = re.compile(r"&(?:amp;)*(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def plain_text(text: str) -> str:
    """Return a text with the characters that its references stand for; a blank that does not break is a blank.

    A reference begins with an ``&`` and ends with a semicolon; names that HTML does not know stay as they are.

    Examples
    --------
    >>> plain_text("AT&amp;T &#8220;don&#39;t&#8221;&nbsp;R&D &amp;quot; &unknown;")
    'AT&T “don\\'t” R&D " &unknown;'
    """
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    return unescape(f"&{found[1]};").replace("\xa0", " ")
