"""The command that reports what is new, what grew and what ended since a date, as Markdown or as a simple page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from vmfstream.cli.console import check_outputs, damage_told
from vmfstream.cli.options import RunFileArgument
from vmfstream.errors import InputError
from vmfstream.folders import write_file

if TYPE_CHECKING:
    from vmfstream.runfile.queries import Reader, SliceFrame, StoryFrame

NamedThen: TypeAlias = Callable[[int, int], str]
"""Names a topic by its number, as it was called in a slice."""

MOST = 20
"""Stories in each part of a report."""


@damage_told
def report(
    run_file: RunFileArgument,
    since: Annotated[
        str | None,
        typer.Option(
            help="Date such as 2013-11-04, or label of a slice, from which on to report; by default the newest slice.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write, .md or .html; by default Markdown to the terminal."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Maximum number of stories in each part.")] = MOST,
) -> None:
    """Report what is new, what grew and what ended since a date.

    A digest to read or to send: stories with their documents, and events of topics, as Markdown or a simple page.

    \b
    vmfstream report run.duckdb --since 2013-11-04
    vmfstream report run.duckdb --since 2013-11 --out week.html
    """
    ending = None if out is None else out.suffix.lower()
    if ending not in (None, ".md", ".html"):
        raise InputError(f"--out: expected a file that ends in .md or .html, got {out}")
    check_outputs({"--out": out}, run_file)
    made = report_of(run_file, since, top)
    if out is None:
        typer.echo(as_markdown(made), nl=False)
        return
    text = as_html(made) if ending == ".html" else as_markdown(made)
    write_file(out, text)
    typer.echo(f"report: {out.resolve()}")


@dataclass(frozen=True, slots=True)
class ReportedStory:
    """A story of a report: ``about`` says when, how large and under which topic; ``documents`` are (title, id)."""

    title: str
    about: str
    words: Sequence[str]
    documents: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Report:
    """What happened since a date.

    ``parts`` are headings with their stories, and how many stories are left out of each; there are none where the run
    file holds no stories. ``topics`` are sentences about topics, the newest first, of which ``more_topics`` are left
    out.
    """

    title: str
    parts: Sequence[tuple[str, Sequence[ReportedStory], int]]
    topics: Sequence[str]
    more_topics: int


def report_of(run_file: Path, since: str | None, top: int = MOST) -> Report:
    """Collect what is new, what grew and what ended.

    Parameters
    ----------
    run_file : Path
    since : str, optional
        A date in ISO form, as short as a year, or the label of a slice; by default the newest closed slice.
    top : int
        Most stories of each part, the largest ones, and most sentences about topics, the newest ones.

    Raises
    ------
    InputError
        If no slice is closed yet, or ``since`` is neither a date nor a label.
    """
    from vmfstream.runfile.queries import Reader

    reader = Reader(run_file)
    with reader.at_once():
        return _report(reader, run_file, since, top)


def _report(reader: Reader, run_file: Path, since: str | None, top: int) -> Report:
    import numpy as np

    from vmfstream.runfile.queries import kept, trend_word

    labels, slices = reader.slice_labels(), reader.slices()
    if not len(slices.slice):
        raise InputError(f"{run_file}: no slice is closed yet")
    begin = _slice_since(since, slices, labels)
    labels = {index: _plain(label) for index, label in labels.items()}
    frame, events = reader.stories(), reader.story_events()
    frame = kept(frame, np.lexsort((frame.story, -frame.size)))
    recent = events.slice >= begin
    ended = np.isin(frame.story, events.story[recent & (events.kind == "ended")])
    merged = np.isin(frame.story, events.story[events.kind == "merged"])
    new = (frame.first_slice >= begin) & ~ended & ~merged
    burst = np.isin(frame.story, events.story[recent & (events.kind == "burst")])
    rising = np.array(
        [trend_word(*row) == "rising" for row in zip(frame.trend.tolist(), frame.ended.tolist(), strict=True)], bool
    )
    grew = ~new & ~ended & ~merged & (frame.last_slice >= begin) & (burst | rising)
    names = _topic_names(reader)
    stories = _stories(reader, frame, labels, names)
    parts = []
    for heading, chosen in (("New", new), ("Grew", grew), ("Ended", ended)) if len(frame.story) else ():
        ids = frame.story[chosen].tolist()
        parts.append((heading, [stories(story) for story in ids[:top]], max(len(ids) - top, 0)))
    title = _plain(reader.meta().get("title", "")) or run_file.stem
    topics = list(_topic_events(reader, begin, labels, names))[::-1]
    name = f"{title} since {labels.get(begin, since or '')}"
    if begin not in labels:
        name += f": nothing, the newest closed slice is {labels[int(slices.slice[-1])]}"
    return Report(name, parts, topics[:top], max(len(topics) - top, 0))


def _slice_since(since: str | None, slices: SliceFrame, labels: dict[int, str]) -> int:
    import numpy as np

    from vmfstream.cli.dates import moment_of

    if since is None:
        return int(slices.slice[-1])
    named = [index for index, label in labels.items() if label == since]
    if named:
        return named[0]
    known = f"the label of a slice, such as {labels[int(slices.slice[-1])]!r}"
    date = moment_of("--since", since, also=known)
    if np.isnat(slices.ends).all():
        raise InputError(f"--since: this run has slices of so many documents, which have no dates; give {known}")
    later = np.flatnonzero(slices.ends > np.datetime64(date, "us"))
    return int(slices.slice[later[0]]) if len(later) else int(slices.slice[-1]) + 1


def _stories(reader: Reader, frame: StoryFrame, labels: dict[int, str], named_then: NamedThen) -> Any:
    """Return what makes a story of a report of its number; ``named_then`` names topics."""
    from vmfstream.runfile.queries import trend_word

    words, documents = reader.story_words(8), reader.story_documents(3)
    rows = {story: i for i, story in enumerate(frame.story.tolist())}
    named: dict[int, list[str]] = {}
    for story, word in zip(words.story.tolist(), words.word.tolist(), strict=True):
        named.setdefault(story, []).append(_plain(word))
    best: dict[int, list[tuple[str, str]]] = {}
    for story, title, id in zip(documents.story.tolist(), documents.title.tolist(), documents.id.tolist(), strict=True):
        best.setdefault(story, []).append((_plain(title) or _plain(id), str(id)))

    def story_of(story: int) -> ReportedStory:
        i = rows[story]
        first, last = labels[int(frame.first_slice[i])], labels[int(frame.last_slice[i])]
        topic = int(frame.topic[i])
        about = [
            f"{int(frame.size[i]):,} documents",
            trend_word(float(frame.trend[i]), bool(frame.ended[i]), int(frame.merged_into[i])),
            first if first == last else f"{first} – {last}",
            *([named_then(topic, int(frame.last_slice[i]))] if topic >= 0 else []),
        ]
        return ReportedStory(_plain(frame.title[i]), ", ".join(about), named.get(story, []), best.get(story, []))

    return story_of


def _topic_names(reader: Reader) -> NamedThen:
    """Return a function from a topic and a slice to the topic's number and the name that people gave to it.

    Without one it is the name, or else the strongest words, that the topic had in that slice or last before: later ones
    may have words that no document held yet.
    """
    from vmfstream.text.topic_names import shortened

    strongest: dict[int, dict[int, str]] = {}
    frame = reader.words("filtered", top=3)
    for index, topic, word in zip(frame.slice.tolist(), frame.topic.tolist(), frame.word.tolist(), strict=True):
        words = strongest.setdefault(topic, {})
        words[index] = f"{words[index]} {_plain(word)}" if index in words else _plain(word)
    names: dict[int, dict[int, str]] = {}
    for (index, topic), parts in reader.names().parts().items():
        names.setdefault(topic, {})[index] = _plain(shortened(parts, 3))
    given = {topic: _plain(name) for topic, name in reader.topic_names().items()}

    def named_then(topic: int, index: int) -> str:
        name = given.get(topic, "")
        for found in (names, strongest):
            if not name and (earlier := [one for one in found.get(topic, ()) if one <= index]):
                name = found[topic][max(earlier)]
        return f"topic {topic} ({name})" if name else f"topic {topic}"

    return named_then


def _topic_events(reader: Reader, begin: int, labels: dict[int, str], named_then: NamedThen) -> Iterator[str]:
    said = {
        "started": "{topic} began",
        "born": "{topic} was born",
        "split": "{other} split off {topic}",
        "merged": "{topic} merged into {other}",
        "dormant": "{topic} became dormant",
        "woken": "{topic} became active again",
        "ended": "{topic} ended",
    }
    frame = reader.events()
    columns = (frame.slice, frame.kind, frame.topic, frame.other, frame.decision)
    for index, kind, topic, other, decision in zip(*(column.tolist() for column in columns), strict=True):
        if index >= begin and kind in said:
            pair = {name: named_then(number, index) for name, number in (("topic", topic), ("other", other))}
            by_hand = ", decided by hand" if decision >= 0 else ""
            yield f"{labels.get(index, '')}: {said[kind].format(**pair)}{by_hand}"


def as_markdown(made: Report) -> str:
    """Return a report as Markdown; what strangers wrote is escaped."""
    lines = [f"# {_markdown(made.title)}", "", *(() if made.parts else (_NO_STORIES, ""))]
    for heading, stories, left in made.parts:
        lines += [f"## {heading}: {_stories_counted(len(stories) + left)}", ""]
        for story in stories:
            lines += [f"- **{_markdown(story.title)}** ({_markdown(story.about)})  "]
            lines += [f"  *{_markdown(' '.join(story.words))}*"] if story.words else []
            lines += [f"  - {_link(title, id)}" for title, id in story.documents]
        lines += [""] if stories else []
        lines += [f"{left:,} more.", ""] if left else []
    if made.topics:
        lines += ["## Topics", "", *(f"- {_markdown(sentence)}" for sentence in made.topics), ""]
        lines += [f"{made.more_topics:,} more.", ""] if made.more_topics else []
    return "\n".join(lines)


def as_html(made: Report) -> str:
    """Return a report as a page of one file, which asks nothing of the network; what strangers wrote is escaped."""
    from vmfstream.dashboards.looks.escape import for_html

    body = [f"<h1>{for_html(made.title)}</h1>", *(() if made.parts else (f"<p>{_NO_STORIES}</p>",))]
    for heading, stories, left in made.parts:
        body.append(f"<h2>{heading}: {_stories_counted(len(stories) + left)}</h2>")
        for story in stories:
            documents = "".join(
                f'<li><a href="{for_html(id)}" rel="noopener noreferrer">{for_html(title)}</a></li>'
                if _is_address(id)
                else f"<li>{for_html(title)}</li>"
                for title, id in story.documents
            )
            body.append(
                f"<section><h3>{for_html(story.title)}</h3><p>{for_html(story.about)}</p>"
                f"<p><em>{for_html(' '.join(story.words))}</em></p><ul>{documents}</ul></section>"
            )
        if left:
            body.append(f"<p>{left:,} more.</p>")
    if made.topics:
        body.append("<h2>Topics</h2><ul>" + "".join(f"<li>{for_html(one)}</li>" for one in made.topics) + "</ul>")
        body += [f"<p>{made.more_topics:,} more.</p>"] if made.more_topics else []
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{for_html(made.title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _stories_counted(number: int) -> str:
    return f"{number:,} {'story' if number == 1 else 'stories'}"


_NO_STORIES = "This run file holds no stories."
_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;"
    "padding:0 1em;overflow-wrap:anywhere}h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}"
    "h3{font-size:1em;margin:1.2em 0 0}section p{margin:0;opacity:.75}ul{margin:.3em 0}"
)
_MARKED = re.compile(r"[\\`*_\[\]<>~&$|]")
_BEGINS = re.compile(r"^(\d{1,9}(?=[.)])|(?=[#+=-]))")  # a heading, a list or a line


def _markdown(text: str) -> str:
    """Escape what Markdown would take for a mark."""
    return _BEGINS.sub(r"\1\\", _MARKED.sub(r"\\\g<0>", text))


def _link(title: str, id: str) -> str:
    return f"[{_markdown(title)}](<{id}>)" if _is_address(id) else _markdown(title)


def _is_address(id: str) -> bool:
    """Tell whether an id is an address of the web that can stand in a link as it is."""
    return id.startswith(("https://", "http://")) and id.isprintable() and not any(c in id for c in " <>\"'\\")


def _plain(text: object) -> str:
    from vmfstream.dashboards.looks.escape import clean

    return clean(str(text), 200)
