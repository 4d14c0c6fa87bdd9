"""Sentences of the page that are made of numbers and names; the symbols of the model stay out of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vmfstream.dashboards.looks.texts import PAGE

_PERIODS = (
    (re.compile(r"^\d{4}$"), "year"),
    (re.compile(r"^\d{4}\D?Q[1-4]$"), "quarter"),
    (re.compile(r"^\d{4}\D?W\d{1,2}$"), "week"),
    (re.compile(r"^\d{4}-\d{2}$"), "month"),
    (re.compile(r"^\d{4}-\d{2}-\d{2}$"), "day"),
)

_SETTINGS: Mapping[str, str] = {
    "topics": "{} topics asked for",
    "source": "source: {}",
    "slices": "slices: {}",
    "seed": "random seed {}",
    "persistence": "persistence {}",
    "memory": "memory {}",
}

# sentences about changes; what stands between asterisks are words of topics
_CHANGES: Mapping[str, str] = {
    "born": "New in {date}: *{words}*, {documents}{hindsight}.",
    "split": "*{words}* split off from *{other}* in {date}, {documents}{hindsight}.",
    "merged": "*{words}* flowed into *{other}* in {date}{hindsight}; they were {turn} apart.",
    "ended": "*{words}* ended in {date}, after {silent} of silence.",
    "dormant": "*{words}* fell silent in {date}.",
    "woken": "*{words}* came back in {date}, {documents}.",
    "fastest": "*{words}* changed its words faster than ever before in {date}: {turn} in one step.",
    "alarm": "*{words}* no longer spoke as it used to in {date}: its words turned {turn} in one step.",
    "worse": "In {date} documents fitted the known topics worse than before.",
    "better": "In {date} documents fitted the known topics better than before.",
    "most grown": "*{words}* grew most: from {before} of all documents in {earlier} to {after} in {span}.",
    "most fallen": "*{words}* shrank most: from {before} of all documents in {earlier} to {after} in {span}.",
    "grown": "*{words}* grew from {before} of all documents in {earlier} to {after} in {span}.",
    "fallen": "*{words}* shrank from {before} of all documents in {earlier} to {after} in {span}.",
    "words": "New among the strongest words of *{words}* since {date}: *{new}*.",
}


def changed(kind: str, **values: str) -> tuple[str, ...]:
    """Return a sentence about a change in parts; every second one, from the second, is words of topics."""
    return tuple(part.format(**values) for part in _CHANGES[kind].split("*"))


def since(label: str) -> str:
    """Say that a topic was there before the tracker noticed."""
    return PAGE["sinceAt"].replace("{date}", label)


def until(label: str) -> str:
    """Say that a topic had gone before the tracker noticed."""
    return PAGE["untilAt"].replace("{date}", label)


def numbered(topic: int) -> str:
    """Name a topic of which no word is stored."""
    return PAGE["topic"].replace("{topic}", str(topic))


def odd(name: str, shown: str, usual: str, date: str) -> str:
    """Say that a quantity left what is usual for it."""
    return f"{name}: {shown} in {date}, usually {usual}."


def nothing_odd(labels: Sequence[str], warm_up: int) -> str:
    """Say that nothing is unusual, or that it is too early to say."""
    if len(labels) <= warm_up:
        return f"Too early to say what is usual: {len(labels)} of {warm_up} dates are there."
    return f"Nothing unusual in {labels[-1]}."


def rejected(total: int, reasons: Sequence[str]) -> str:
    """Say how many messages were no documents, and why most of them."""
    most = f", most of them because of: {', '.join(reasons[:2])}" if reasons else ""
    return f"{count(total, 'message was', 'messages were')} rejected so far{most}."


def unlabelled(index: int) -> str:
    """Name a slice that the log does not name."""
    return f"slice {index}"


def period(labels: Sequence[str]) -> str:
    """Return the calendar's own word for a slice: year, quarter, week, month, day or step."""
    for pattern, word in _PERIODS:
        if labels and all(pattern.match(label) for label in labels):
            return word
    return "step"


def count(n: float, one: str, many: str) -> str:
    """Write a number with thousands separated, and its noun."""
    return f"{n:,.0f} {one if round(n) == 1 else many}"


def percent(share: float) -> str:
    """Write a share: no decimals from 10 % up, one below, two for the smallest."""
    value = 100.0 * share
    if value >= 9.95:
        return f"{value:.0f} %"
    return "under 0.1 %" if 0 < value < 0.05 else f"{value:.1f} %"


def span(labels: Sequence[str]) -> str:
    """Name the whole time covered."""
    if not labels:
        return ""
    return labels[0] if len(labels) == 1 else f"{labels[0]}–{labels[-1]}"


def subtitle(labels: Sequence[str], documents: int, topics: int, tried: int) -> str:
    """Return the line beside the title: documents, span, topics."""
    return f"{count(documents, 'document', 'documents')}, {span(labels)}, {_topics(topics, tried)}"


def _topics(topics: int, tried: int) -> str:
    """Count the topics that stayed, and those that were replaced before topics were settled."""
    more = f" ({tried:,} more at first)" if tried else ""
    return count(topics, "topic", "topics") + more


def nothing_closed(documents: int) -> str:
    """Say why there is no river yet."""
    read = f"; {count(documents, 'document', 'documents')} read" if documents else ""
    return f"Nothing closed yet{read}. The river begins with the first date that is complete."


def rest(n: int) -> str:
    """Name the band of all topics that are not drawn one by one."""
    return PAGE["rest"].replace("{n}", str(n)) if n != 1 else "1 smaller topic"


def river_sentence(labels: Sequence[str], documents: int, drawn: int, largest: str) -> str:
    """Describe the river in one sentence, for those who do not see it."""
    biggest = f" The largest topic at the newest date is {largest}." if largest else ""
    what = f"River of {count(drawn, 'topic', 'topics')} over {span(labels)}"
    return f"{what}, {count(documents, 'document', 'documents')}.{biggest}"


def warm_up_sentence(labels: Sequence[str]) -> str:
    """Say what the first slices are, as known then."""
    return (
        f"{span(labels)}: the tracker was still finding its topics. As known then, numbers, words and colours of "
        f"{'these dates' if len(labels) > 1 else 'this date'} may stand for something else later; they are drawn pale."
    )


def no_log(name: str) -> str:
    """Say that a run has not begun."""
    return f"There is no log {name} yet. The page begins when the run does."


def migrating() -> str:
    """Say why a log of an older program cannot be read yet."""
    return "The log is being brought up to date. If this stays, continue its run once."


def no_hindsight() -> str:
    """Say why the switch is off and what to do."""
    return "Not computed for this log. A run of vmfstream replay writes it at its end."


def binned(per: int, noun: str) -> str:
    """Name the width of a bin on the time axis."""
    return f"{per} {noun}s per step"


def settings_in_words(meta: Mapping[str, str]) -> list[str]:
    """Return the settings of the run as short phrases; what is not known stays out."""
    phrases = [text.format(meta[key]) for key, text in _SETTINGS.items() if meta.get(key)]
    if meta.get("version"):
        phrases.append(f"made with vmfstream {meta['version']}")
    return phrases


def dropped_sentence(dropped: Sequence[str]) -> str:
    """Say what was left out to keep the file small."""
    return f"Left out to keep this page small: {', '.join(dropped)}."


def peak(rank: int, date: str, *, short: bool) -> str:
    """Say at which date a word was strongest in a topic, and how strong."""
    return PAGE["searchPeakShort" if short else "searchPeak"].replace("{rank}", str(rank)).replace("{date}", date)


def lineage_sentence(
    labels: Sequence[str], topics: int, tried: int, happened: Mapping[str, int], may_change: bool
) -> str:
    """Say what the life lines show, for those who do not see them, or why nothing happens in them."""
    told = [
        count(happened[kind], one, many)
        for kind, one, many in (
            ("born", "was born", "were born"),
            ("split", "split off another", "split off others"),
            ("merged", "flowed into another", "flowed into others"),
            ("ended", "ended", "ended"),
            ("dormant", "fell asleep", "times one fell asleep"),
        )
        if happened.get(kind)
    ]
    if told:
        return f"{_topics(topics, tried)} over {span(labels)}: {', '.join(told)}."
    time = f"from {labels[0]} to {labels[-1]}" if len(labels) > 1 else f"in {span(labels)}"
    why = "" if may_change else "; this run was not allowed to change their number"
    if tried:
        return f"{_topics(topics, tried)} over {span(labels)}{why}."
    return f"{f'All {topics} topics' if topics != 1 else 'The one topic'} lived {time}{why}."


def left_out(smaller: int, short: int, noun: str) -> str:
    """Say which lives are not drawn."""
    parts = [count(smaller, "smaller topic", "smaller topics")] if smaller else []
    parts += [f"{count(short, 'topic', 'topics')} that lived less than three {noun}s"] if short else []
    return f"Not drawn: {' and '.join(parts)}." if parts else ""
