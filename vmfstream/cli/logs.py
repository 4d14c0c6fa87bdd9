"""What commands log to standard error: lines of text, or JSON objects for log collectors."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from vmfstream.decisions import JOINERS
from vmfstream.errors import InputError, without_secrets

if TYPE_CHECKING:
    from vmfstream.engine.loop.settings import Progress

FORMATS = ("text", "json")

_EVERY = 10.0  # seconds between two lines of progress
_OWN = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime", "taskName"}

log = logging.getLogger("vmfstream")
progress = logging.getLogger("vmfstream.progress")


class JsonFormatter(logging.Formatter):
    """Writes one JSON object a line: time in UTC, level, logger, message, and what ``extra`` of the call holds.

    Examples
    --------
    >>> given = {"name": "a", "levelname": "INFO", "msg": "n %d", "args": (1,), "created": 0, "lag": 2}
    >>> record = logging.makeLogRecord(given)
    >>> JsonFormatter().format(record)
    '{"time": "1970-01-01T00:00:00.000+00:00", "level": "info", "logger": "a", "message": "n 1", "lag": 2}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; secrets in addresses are masked."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, default=str)


def start_logging(verbose: bool, log_format: str = "text") -> None:
    """Write log messages to standard error: warnings, with ``verbose`` also information.

    As JSON also progress, errors of the command, Python's warnings, and exceptions that nobody caught.

    Raises
    ------
    InputError
        If ``log_format`` is neither text nor json.
    """
    if log_format not in FORMATS:
        raise InputError(f"--log-format: expected text or json, got {log_format!r}")
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(asctime)s %(message)s")
    if log_format == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
        progress.setLevel(logging.INFO)
        logging.captureWarnings(True)
        sys.excepthook = lambda kind, error, trace: log.critical("%s", error, exc_info=(kind, error, trace))
    # the Kafka client logs every attempt to connect, Dask every worker; vmfstream logs itself what matters of these
    for library in ("kafka", "distributed"):
        logging.getLogger(library).propagate = verbose
        logging.getLogger(library).addHandler(logging.NullHandler())


def for_terminal(text: str, *, lines: bool = True) -> str:
    """Return a text without the control characters of strangers' titles and labels, which a terminal would obey.

    Line feeds stay where there may be several ``lines``.

    Examples
    --------
    >>> for_terminal("week \\x1b[31m7")
    'week  [31m7'
    """
    kept = JOINERS + "\n" if lines else JOINERS
    return "".join(one if one.isprintable() or one in kept else " " for one in text)


def tell(text: str) -> None:
    """Write a line about the command to standard error, in the format of the log."""
    if _as_json():
        progress.info("%s", text)
    else:
        typer.echo(for_terminal(text), err=True)


def tell_error(text: str) -> None:
    """Write why a command fails to standard error, in the format of the log."""
    if _as_json():
        log.error("%s", text)
    else:
        typer.secho(f"vmfstream: {for_terminal(text)}", err=True, fg=typer.colors.RED)


def _as_json() -> bool:
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers)


class ProgressLog:
    """Logs how far a run is when it begins, at its end, and every ten seconds if something was committed meanwhile."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._epoch: int | None = None
        self._newest: Progress | None = None

    def __call__(self, now: Progress) -> None:
        """Log what was committed."""
        self._newest = now
        self.catch_up(at_once=now.finished)

    def catch_up(self, *, at_once: bool = False) -> None:
        """Log the last commit if that was not done; ``at_once`` also within ten seconds of the line before."""
        now = self._newest
        if now is None or now.epoch == self._epoch or not (at_once or time.monotonic() - self._last >= _EVERY):
            return
        self._epoch, self._last = now.epoch, time.monotonic()
        figures: dict[str, Any] = {
            "epoch": now.epoch,
            "slice": now.slice,
            "documents": now.documents,
            "rejected": now.rejected,
            "late": now.late,
            "topics": now.topics,
            "lag": now.lag,
            "finished": now.finished,
        }
        progress.info("%d documents, %d rejected, slice %s", now.documents, now.rejected, now.slice, extra=figures)
