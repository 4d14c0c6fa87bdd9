"""The error tree: everything a user can be told about in one sentence."""

from __future__ import annotations


class VmfstreamError(Exception):
    """Base of all errors that vmfstream raises on purpose; the message is written for the user."""


class InputError(VmfstreamError):
    """A source, a file, a document or a setting is not what was asked for."""


class StoreLocked(VmfstreamError):
    """Another process holds the log and did not release it in time."""


class WorkersLost(VmfstreamError):
    """Workers went away with something that only they had; the work can be done again."""


class FormatVersion(VmfstreamError):
    """The log was written by a newer version of vmfstream than the one that reads it."""


class MissingExtra(VmfstreamError):
    """An optional dependency is not installed; the message names the extra."""
