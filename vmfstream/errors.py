"""The errors that vmfstream raises on purpose, each with a message for the user."""

from __future__ import annotations

import re

_SCHEME = r"[A-Za-z][\w+.-]+:[/\\]*"
_SECRETS = (
    (re.compile(rf"(?![^\s@'\"]*\*@)({_SCHEME})?[^\s@'\"/\\]*:[^\s@'\"]*@"), r"\1***@"),
    (re.compile(rf"({_SCHEME}(?<=[/\\])(?:[^\s/'\"]*,)?[^\s/,:'\"\[]*):(?!\d+(?:[,/'\"\s]|$))[^\s/,'\"]+"), r"\1:***"),
    (re.compile(rf"({_SCHEME}(?<=[/\\])(?:[^\s/'\"]*,)?\[)(?![\da-fA-F:.]+(?:%\w+)?\])[^\s\]'\"]*\]"), r"\1***]"),
    (re.compile(rf"({_SCHEME}(?<=[/\\])[^\s?#;&='\"]*)([?#]|[;&=](?=[^\s'\"]))[^\s'\"]*"), r"\1\2***"),
    (re.compile(r"((?:password|passphrase|secret|\btoken)\s*=\s*)(?:\"[^\"]*\"|'[^']*'|[^\s'\"]+)", re.I), r"\1***"),
)
"""Where secrets stand in an address: users with passwords, ports that are no numbers, brackets without an IP address,
queries and fragments, also those that begin with another mark; and what is given to a password."""

_ENCODED = re.compile("%(?:25)*(3A|40|2F|3F|23|26|3B|3D)", re.I)
"""Marks of addresses, percent-encoded once or more."""


def without_secrets(text: str) -> str:
    """Return a text with ``***`` for whatever stands in its addresses where a secret may stand, also in mistyped ones.

    Examples
    --------
    >>> without_secrets("cannot read kafka:/me:secret@host/topic?password=secret")
    'cannot read kafka:/***@host/topic?***'
    >>> without_secrets("no answer from kafka://host:9092/topic")
    'no answer from kafka://host:9092/topic'
    """
    masked = _masked(text)
    decoded = _ENCODED.sub(lambda mark: chr(int(mark[1], 16)), masked)
    found = _masked(decoded)
    return masked if found == decoded else found


def _masked(text: str) -> str:
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


class VmfstreamError(Exception):
    """Base of all errors that vmfstream raises on purpose; addresses in messages are shown without secrets."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_secrets(one) if isinstance(one, str) else one for one in args))


class InputError(VmfstreamError):
    """A source, a file, a document or a setting is not as expected."""


class NotNamedAgain(InputError):
    """A file asks for a function or model of its own, which is not loaded unless its user names it too."""


class StoreLocked(VmfstreamError):
    """Another process holds the run file and did not release it in time, or is writing it."""


class SourceAway(InputError):
    """A source does not answer now; the same question may be answered later."""


class WorkersLost(VmfstreamError):
    """Workers were lost together with results that only they had; the work can be repeated."""


class FormatVersion(VmfstreamError):
    """The run file was written by a newer version, or by an older one and cannot be brought up to date."""


class MissingExtra(VmfstreamError):
    """An optional dependency is not installed; the message names the extra."""
