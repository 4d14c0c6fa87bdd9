"""Sentences of the page that are filled in with numbers and names, free of the model's symbols."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from vmfstream.dashboards.looks.texts import PAGE

_PERIODS = (
    (re.compile(r"^\d+0s$"), "decade"),
    (re.compile(r"^\d{1,4}$"), "year"),
    (re.compile(r"^\d{1,4}\D?Q[1-4]$"), "quarter"),
    (re.compile(r"^\d{1,4}\D?W\d{1,2}$"), "week"),
    (re.compile(r"^\d{4}-\d{2}$"), "month"),
    (re.compile(r"^\d{4}-\d{2}-\d{2}$"), "day"),
    (re.compile(r"^\d{4}-\d{2}-\d{2} \d{2}h$"), "hour"),
)

STEP = "step"
"""What slices are called that have no name in a calendar."""

_SETTINGS: Mapping[str, str] = {
    "topics": "topics requested: {}",
    "source": "source: {}",
    "slices": "slices: {}",
    "seed": "random seed {}",
    "persistence": "persistence {}",
    "memory": "memory {}",
}

# sentences about changes; what stands between asterisks are words of topics
_CHANGES: Mapping[str, str] = {
    "born": "New in {date}: *{words}*, {documents}.",
    "split": "*{words}* split off from *{other}* in {date}, {documents}.",
    "merged": "*{words}* merged into *{other}* in {date}{smoothed}, {turn} apart.",
    "ended": "*{words}* ended in {date}, after {silent} with hardly any documents.",
    "replaced": "*{words}* ended in {date}: its newest documents became a topic of their own.",
    "not kept": "*{words}* ended in {date}: its newest documents fit other topics as well.",
    "split by hand": "*{words}* was split off from *{other}* by hand in {date}, {documents}.",
    "merged by hand": "*{words}* was merged into *{other}* by hand in {date}.",
    "ended by hand": "*{words}* was ended by hand in {date}.",
    "dormant": "*{words}* became dormant in {date}.",
    "woken": "*{words}* became active again in {date}, {documents}.",
    "fastest": "*{words}* drifted faster than ever before in {date}: {turn} in one step.",
    "alarm": "Drift alarm for *{words}* in {date}: its words changed by {turn} in one step.",
    "worse": "In {date} the topics predicted documents worse than before.",
    "better": "In {date} the topics predicted documents better than before.",
    "most grown": "*{words}* grew most: from {before} of all documents in {earlier} to {after} in {span}.",
    "most fallen": "*{words}* shrank most: from {before} of all documents in {earlier} to {after} in {span}.",
    "grown": "*{words}* grew from {before} of all documents in {earlier} to {after} in {span}.",
    "fallen": "*{words}* shrank from {before} of all documents in {earlier} to {after} in {span}.",
    "words": "New among the strongest words of *{words}* since {date}: *{new}*.",
}


def changed(kind: str, **values: str) -> tuple[str, ...]:
    """Return a sentence about a change in parts; every second part, from the second on, is the words of a topic."""
    return tuple(part.format(**values) for part in _CHANGES[kind].split("*"))


def until(label: str) -> str:
    """Return the remark that a topic ended before the tracker detected it."""
    return PAGE["untilAt"].replace("{date}", label)


def numbered(topic: int) -> str:
    """Return the name of a topic without stored words."""
    return PAGE["topic"].replace("{topic}", str(topic))


def odd(name: str, shown: str, usual: str, date: str) -> str:
    """Return the sentence that the quantity ``name`` left its ``usual`` range at a ``date``, when it was ``shown``."""
    return f"{name}: {shown} in {date}, usually {usual}."


def nothing_odd(labels: Sequence[str], warm_up: int) -> str:
    """Return the sentence that nothing is unusual, or that there are too few dates to tell."""
    if len(labels) <= warm_up:
        return f"Too few dates to tell what is usual: {len(labels)} of {warm_up + 1}."
    return f"Nothing unusual in {labels[-1]}."


def unfinished(label: str) -> str:
    """Return the note that the newest slice is not whole."""
    return f"{label} is unfinished: no later documents came. Judgements of what is new or unusual leave it out."


def far_away(documents: int, first: str, last: str, gap: int) -> str:
    """Return the note that ``documents`` of the slices ``first`` to ``last`` are not shown.

    More than ``gap`` slices without documents lie between them and the others.
    """
    dates = first if first == last else f"{first} to {last}"
    return (
        f"{count(documents, 'document', 'documents')} of {dates} not shown: more than {gap:,} empty dates lie between "
        "these and the others. Are the times right?"
    )


def merged_dates(slices: int, dates: int, per: int) -> str:
    """Return the note that ``slices`` are more than a page has, so that each of its ``dates`` stands for ``per``."""
    return (
        f"{slices:,} slices are more than a page can show: each of its {dates:,} dates stands for {per:,} slices and "
        "has the name of the last one. Documents are added up; topics, words and angles are those of the last slice."
    )


def no_topics(documents: int, stories: int) -> str:
    """Return why a page of so many ``documents`` and ``stories`` has no topics."""
    read = count(documents, "document", "documents")
    why = (
        f"{read} and no topics yet. They need words that are in at least two documents, but in at most half of them. "
        "Numbers, emoji and words of more than 40 characters do not count."
    )
    return f"{why} Stories are below." if stories else why


def taken_over(taken: int, compared: int, noun: str) -> str:
    """Return how many of ``compared`` topics in slices, each called ``noun``, had been ``taken`` over untold."""
    if not taken:
        return (
            f"Every topic kept its meaning: none lost all of its ten strongest words within two {noun}s, unless a "
            "birth, split, merger or end is told."
        )
    return (
        f"{percent(taken / compared)} of the topics at a date ({taken:,} of {compared:,}) were about something else "
        f"than two {noun}s before, though no birth, split, merger or end is told."
    )


def rejected(total: int, reasons: Sequence[str]) -> str:
    """Return the number of rejected messages and the most frequent reasons."""
    most = f", most often: {', '.join(reasons[:2])}" if reasons else ""
    return f"{count(total, 'message was', 'messages were')} rejected so far{most}."


def unlabelled(index: int) -> str:
    """Return the name of a slice without a label in the run file."""
    return f"slice {index}"


def period(labels: Sequence[str]) -> str:
    """Return the calendar unit of the slices: decade, year, quarter, week, month, day, hour or step."""
    for pattern, word in _PERIODS:
        if labels and all(pattern.match(label) for label in labels):
            return word
    return STEP


def count(n: float, one: str, many: str) -> str:
    """Format ``n`` with thousands separators, followed by its noun: ``one``, or ``many`` unless n is 1."""
    return f"{n:,.0f} {one if round(n) == 1 else many}"


def percent(share: float) -> str:
    """Format a share in percent: without decimals from 10 % on, with one below."""
    value = 100.0 * share
    if value >= 9.95:
        return f"{value:.0f} %"
    return "under 0.1 %" if 0 < value < 0.05 else f"{value:.1f} %"


def span(labels: Sequence[str]) -> str:
    """Return the first and the last label as one range.

    Examples
    --------
    >>> span(["1996 Q1", "1996 Q2"]), span(["1 to 500", "501 to 1,000", "1,001 to 1,500"])
    ('1996 Q1–1996 Q2', '1 to 1,500')
    """
    if len(labels) < 2:
        return "".join(labels)
    (first, counted, _), (_, _, last) = labels[0].partition(" to "), labels[-1].rpartition(" to ")
    return f"{first} to {last}" if counted else f"{labels[0]}–{labels[-1]}"


def subtitle(labels: Sequence[str], documents: int, topics: int, tried: int) -> str:
    """Return the line beside the title: numbers of ``documents``, ``topics`` and those only ``tried``, and the time.

    ``labels`` name the slices.
    """
    return f"{count(documents, 'document', 'documents')}, {span(labels)}, {_topics(topics, tried)}"


def _topics(topics: int, tried: int) -> str:
    """Count the topics that stayed, and those that were replaced during the warm-up."""
    more = f" ({tried:,} more in the warm-up)" if tried else ""
    return count(topics, "topic", "topics") + more


def nothing_closed(documents: int) -> str:
    """Return why there is no river yet."""
    read = f"; {count(documents, 'document', 'documents')} read" if documents else ""
    return f"No complete date yet{read}. The river begins with the first complete date."


def rest(n: int) -> str:
    """Return the name of the band of all topics that have no band of their own."""
    return PAGE["rest"].replace("{n}", str(n)) if n != 1 else "1 smaller topic"


def river_sentence(labels: Sequence[str], documents: int, drawn: int, largest: str) -> str:
    """Describe the river in one sentence, for screen readers.

    ``labels`` name its slices, ``documents`` and ``drawn`` topics are numbers, ``largest`` is a name or empty.
    """
    biggest = f" The largest topic at the newest date is {largest}." if largest else ""
    what = f"River of {count(drawn, 'topic', 'topics')} over {span(labels)}"
    return f"{what}, {count(documents, 'document', 'documents')}.{biggest}"


def warm_up_sentence(labels: Sequence[str]) -> str:
    """Return what applies to the slices of the warm-up, as known then."""
    return (
        f"{span(labels)}: warm-up of the tracker. As known then (filtered), topics of "
        f"{'these dates' if len(labels) > 1 else 'this date'} may be replaced later; they are drawn pale."
    )


def no_run_file(name: str) -> str:
    """Return the message for a run that has not begun."""
    return f"There is no run file {name} yet. The page appears when the run begins."


def migrating() -> str:
    """Return the message for a run file in an older format."""
    return "The run file is being migrated. If this message stays, continue its run once."


def no_smoothed(live: bool) -> str:
    """Return why the switch of readings is off, and what to do; of a run that may go on, what it waits for."""
    if live:
        return "Not computed yet: dates are smoothed when they leave the window of recent documents, or the run ends."
    return "Not computed for this run file; vmfstream replay computes it at its end."


def binned(per: int, noun: str) -> str:
    """Return the width of a bin on the time axis."""
    return f"{per} {noun}s per step"


def settings_in_words(meta: Mapping[str, str]) -> list[str]:
    """Return the known settings of the run as short phrases."""
    phrases = [text.format(meta[key]) for key, text in _SETTINGS.items() if meta.get(key)]
    if meta.get("version"):
        phrases.append(f"made with vmfstream {meta['version']}")
    return phrases


def dropped_sentence(dropped: Sequence[str]) -> str:
    """Return what was left out to limit the size of the file."""
    return f"Left out to limit the size of this page: {', '.join(dropped)}."


def peak(rank: int, date: str, *, short: bool) -> str:
    """Return at which ``date`` a word was strongest in a topic, and its ``rank`` there.

    ``short`` is for narrow drawings.
    """
    return PAGE["searchPeakShort" if short else "searchPeak"].replace("{rank}", str(rank)).replace("{date}", date)


def lineage_sentence(
    labels: Sequence[str],
    topics: int,
    tried: int,
    happened: Mapping[str, int],
    lives: Collection[tuple[int, int]],
    may_change: bool,
) -> str:
    """Summarize the events of all topics for screen readers, or say why there are none.

    ``labels`` name the slices. ``topics`` and ``tried`` count topics that stayed and those replaced during the warm-up,
    ``happened`` counts events by kind, ``lives`` are the different first and last slices of topics that stayed;
    ``may_change`` tells whether topics could come and go.
    """
    events = [
        count(happened[kind], one, many)
        for kind, one, many in (
            ("born", "was born", "were born"),
            ("split", "split off another", "split off others"),
            ("merged", "merged into another", "merged into others"),
            ("ended", "ended", "ended"),
            ("dormant", "became dormant", "became dormant"),
        )
        if happened.get(kind)
    ]
    if events:
        return f"{_topics(topics, tried)} over {span(labels)}: {', '.join(events)}."
    why = "" if may_change else "; the number of topics was fixed in this run"
    if tried or len(lives) != 1:
        return f"{_topics(topics, tried)} over {span(labels)}{why}."
    ((first, last),) = lives
    time = f"from {labels[first]} to {labels[last]}" if last > first else f"in {labels[first]}"
    return f"{f'All {topics} topics' if topics != 1 else 'The one topic'} existed {time}{why}."


def left_out(smaller: int, short: int, noun: str) -> str:
    """Return how many topics are not drawn: ``smaller`` ones, and ``short`` ones of fewer than three slices.

    A slice is called ``noun``.
    """
    parts = [count(smaller, "smaller topic", "smaller topics")] if smaller else []
    parts += [f"{count(short, 'topic', 'topics')} with fewer than three {noun}s"] if short else []
    return f"Not drawn: {' and '.join(parts)}." if parts else ""
