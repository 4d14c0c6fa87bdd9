"""The views of the dashboard as plotly figures, for notebooks.

``run`` is the path of a run file, a ``vmfstream.runfile.queries.Reader``, a ``TopicTracker`` that has read something,
or a mapping of tables such as pandas DataFrames (see `vmfstream.dashboards.dataframes.TableRows`).

Examples
--------
>>> from vmfstream import TopicTracker, plot
>>> tracker = TopicTracker(topics=2, slices="year")
>>> texts = ["cat fur paw", "ship sea harbour"] * 20
>>> tracker.learn(texts, [2001] * 40).learn(texts, [2002] * 40).finish()
>>> figure = plot.words(tracker, 0)
>>> sorted(trace.name for trace in figure.data)
['certainty', 'words']
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, get_args

from vmfstream.dashboards import VIEWS, current_name
from vmfstream.dashboards.dataframes import TableRows
from vmfstream.dashboards.looks.theme import ThemeName
from vmfstream.dashboards.rows.history import history_of, slice_called
from vmfstream.dashboards.rows.initial_selection import initial_measure
from vmfstream.dashboards.rows.run_rows import CachedRows, RunRows
from vmfstream.dashboards.view import Form, Selection, Size, SizeMeasure
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader, Reading
from vmfstream.topic_tracker.tracker import TopicTracker

__all__ = ["compare", "globe", "health", "lineage", "neighbours", "river", "search", "tree", "words"]

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Run: TypeAlias = str | os.PathLike[str] | RunRows | TopicTracker | Mapping[str, Any]

P = ParamSpec("P")

_WIDTH = 900

_ASKED = ("meta", "slices", "topics", "word_codes", "has_smoothed")
"""What rows of a run have and no other object, see `RunRows`."""

_POSSIBLE = {"reading": get_args(Reading), "form": get_args(Form), "measure": (*get_args(SizeMeasure), None)}
"""Values of arguments that are names."""


def __dir__() -> list[str]:
    return sorted(__all__)


def _checked(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a function refuse unknown names, and take the former ones of ``run``, readings and forms, with a warning."""

    @wraps(draw)
    def drawn(*args: P.args, **named: P.kwargs) -> Figure:
        if "log" in named:
            warnings.warn("log=... is deprecated, use run=...", DeprecationWarning, stacklevel=2)
            named["run"] = named.pop("log")
        for name in ("reading", "form"):
            if name in named:
                named[name] = current_name(str(named[name]))
        for name, possible in _POSSIBLE.items():
            if name in named and named[name] not in possible:
                expected = " or ".join(repr(value) for value in possible)
                raise InputError(f"{name}: expected {expected}, got {named[name]!r}")
        return draw(*args, **named)

    return drawn


@_checked
def river(
    run: Run,
    *,
    topic: int | None = None,
    measure: SizeMeasure | None = None,
    all_topics: bool = False,
    reading: Reading = "smoothed",
    width: int = _WIDTH,
    height: int = 420,
    theme: ThemeName = "light",
) -> Figure:
    """Draw what was written about, and when: a band per topic.

    Parameters
    ----------
    run : see the module
    topic : int, optional
        The one to bring out.
    measure : {"documents", "share"}, optional
        What thickness means; by default what shows more of this run.
    all_topics : bool
        Draw all topics by themselves, not only the forty largest.
    reading : {"filtered", "smoothed"}
        As known when each slice closed, or using later documents too.
    width, height : int
        In pixels; labels are fitted to them.
    theme : {"light", "dark"}

    Raises
    ------
    InputError
        If the run cannot be read, there is no such topic, or ``measure`` or ``reading`` is none of those listed.
    """
    rows = _rows(run)
    chosen = measure or initial_measure(history_of(rows, reading))
    return _drawn(rows, "river", Size(width, height), theme, reading, topic, measure=chosen, all_topics=all_topics)


@_checked
def words(
    run: Run,
    topic: int,
    *,
    form: Form = "auto",
    reading: Reading = "smoothed",
    width: int = _WIDTH,
    theme: ThemeName = "light",
) -> Figure:
    """Draw how the words of a topic changed.

    Parameters
    ----------
    run, reading, width, theme : see `river`
    topic : int
    form : {"auto", "ranks", "heatmap", "both"}
        Rank chart, heatmap of weights, heatmap of both readings; by default a rank chart up to 14 slices.

    Raises
    ------
    InputError
        If the run cannot be read, there is no such topic, or ``form`` or ``reading`` is none of those listed.
    """
    return _drawn(_rows(run), "words", Size(width, 0), theme, reading, topic, form=form)


@_checked
def compare(
    run: Run,
    topic: int,
    date: str | int | None = None,
    other: str | int | None = None,
    *,
    other_topic: int | None = None,
    reading: Reading = "smoothed",
    width: int = 640,
    theme: ThemeName = "light",
) -> Figure:
    """Draw the words of a topic at two dates side by side, or those of two topics at one date.

    Parameters
    ----------
    run, reading, width, theme : see `river`
    topic : int
    date, other : str or int, optional
        Names of slices; by default the newest and the topic's first.
    other_topic : int, optional
        Compare with this topic at ``date`` instead.

    Raises
    ------
    InputError
        If the log cannot be read, or there is no such topic or date.
    """
    rows = _rows(run)
    history = history_of(rows, reading)
    if other_topic is not None and history.position(other_topic) is None:
        raise InputError(f"there is no topic {other_topic} in this run")
    places = {"date": slice_called(history, date), "other": slice_called(history, other)}
    return _drawn(rows, "compare", Size(width, 0), theme, reading, topic, other_topic=other_topic, **places)


@_checked
def neighbours(
    run: Run,
    topic: int,
    date: str | int | None = None,
    *,
    reading: Reading = "smoothed",
    width: int = 560,
    theme: ThemeName = "light",
) -> Figure:
    """Draw how far a topic has moved and what is near: distances from the centre are true angles.

    Parameters
    ----------
    run, reading, width, theme : see `river`
    topic : int
    date : str or int, optional
        Name of a slice; by default the newest.

    Raises
    ------
    InputError
        If the log cannot be read, or there is no such topic or date.
    """
    rows = _rows(run)
    place = slice_called(history_of(rows, reading), date)
    return _drawn(rows, "neighbours", Size(width, width), theme, reading, topic, date=place)


def seen_from_here(*args: Any, **named: Any) -> Figure:
    """Call `neighbours`, as this function is called now; this name will be removed in the next version."""
    warnings.warn("plot.seen_from_here is now called plot.neighbours", DeprecationWarning, stacklevel=2)
    return neighbours(*args, **named)


@_checked
def globe(
    run: Run,
    date: str | int | None = None,
    *,
    topic: int | None = None,
    reading: Reading = "smoothed",
    width: int = 640,
    theme: ThemeName = "light",
) -> Figure:
    """Draw all topics on a sphere with their trails; parameters as in `neighbours`."""
    rows = _rows(run)
    place = slice_called(history_of(rows, reading), date)
    return _drawn(rows, "globe", Size(width, width), theme, reading, topic, date=place)


@_checked
def lineage(
    run: Run,
    *,
    topic: int | None = None,
    all_topics: bool = False,
    reading: Reading = "smoothed",
    width: int = _WIDTH,
    theme: ThemeName = "light",
) -> Figure:
    """Draw where topics came from and where they went; parameters as in `river`."""
    return _drawn(_rows(run), "lineage", Size(width, 600), theme, reading, topic, all_topics=all_topics)


@_checked
def tree(run: Run, *, reading: Reading = "smoothed", width: int = _WIDTH, theme: ThemeName = "light") -> Figure:
    """Draw the newest hierarchy of topics as a treemap; parameters as in `river`."""
    return _drawn(_rows(run), "tree", Size(width, 520), theme, reading, None)


@_checked
def search(
    run: Run,
    word: str,
    *,
    topic: int | None = None,
    reading: Reading = "smoothed",
    width: int = _WIDTH,
    theme: ThemeName = "light",
) -> Figure:
    """Draw where a ``word`` lives: a row per topic that has it; other parameters as in `river`."""
    return _drawn(_rows(run), "search", Size(width, 560), theme, reading, topic, word=word)


@_checked
def health(run: Run, *, width: int = _WIDTH, theme: ThemeName = "light") -> Figure:
    """Draw what the tracker read and how well it did, slice by slice; parameters as in `river`."""
    return _drawn(_rows(run), "health", Size(width, 0), theme, "filtered", None)


def _drawn(
    rows: RunRows, name: str, size: Size, theme: ThemeName, reading: Reading, topic: int | None, **chosen: Any
) -> Figure:
    if topic is not None and history_of(rows, reading).position(topic) is None:
        raise InputError(f"there is no topic {topic} in this run")
    view = VIEWS[name]()
    return view.figure(view.frame(rows, Selection(topic=topic, reading=reading, **chosen)), size, theme)


def _rows(run: Run) -> CachedRows:
    """Return the rows of a run, whatever it is given as."""
    if isinstance(run, CachedRows):
        return run
    if isinstance(run, str | os.PathLike):
        return CachedRows(Reader(Path(run)))
    if isinstance(run, TopicTracker):
        return _of_tracker(run)
    if isinstance(run, Mapping):
        return CachedRows(TableRows(run))
    if not all(hasattr(run, name) for name in _ASKED):
        raise InputError(f"run: expected a path, a Reader, a TopicTracker or tables, got {type(run).__name__}")
    return CachedRows(run)


def _of_tracker(tracker: TopicTracker) -> CachedRows:
    """Return a tracker's rows, read from a run file that lives as long as they do."""
    folder = tempfile.mkdtemp(prefix="vmfstream")
    path = Path(folder) / "run.duckdb"
    tracker.save(path)
    rows = CachedRows(Reader(path))
    weakref.finalize(rows, shutil.rmtree, folder, ignore_errors=True)
    return rows
