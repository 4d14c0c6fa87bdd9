"""The errors that vmfstream raises on purpose, each with a message for the user."""

from __future__ import annotations


class VmfstreamError(Exception):
    """Base of all errors that vmfstream raises on purpose."""


class InputError(VmfstreamError):
    """A source, a file, a document or a setting is not as expected."""


class StoreLocked(VmfstreamError):
    """Another process holds the run file and did not release it in time, or is writing it."""


class WorkersLost(VmfstreamError):
    """Workers were lost together with results that only they had; the work can be repeated."""


class FormatVersion(VmfstreamError):
    """The run file was written by a newer version, or by an older one and cannot be brought up to date."""


class MissingExtra(VmfstreamError):
    """An optional dependency is not installed; the message names the extra."""
