"""The fixed texts of the page, in one place; those with braces are filled in at the reader’s date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BANNED = ("kappa", "gamma", "von mises", "posterior", "epoch", "cluster", "cosine")
TITLE = "Topics over time"
RIVER = "What was written about"
WORDS = "Its words over time"
TYPICAL = "Typical documents"
NEIGHBOURS = "Seen from here"
GLOBE = "Topics on a globe"
GLOBE_SCALE = "turned by {turn}°"
TURN_LEFT = "turn left"
TURN_RIGHT = "turn right"
LINEAGE = "Where topics came from and where they went"
SEARCH = "Where a word lives"
TREE = "Groups of alike topics"
NO_TREE = "No tree of topics has been calculated for this log."
TREE_HOW = "This makes one:"
TREE_COMMAND = "vmfstream snapshot run.duckdb --kind tree"
TABLE = "All topics as a table"
WARM_UP = "still finding its topics"
CERTAINTY = "sure of it"
LICENCE = "Licence of the documents"
OLD_BROWSER = "This browser cannot unpack the page; it needs one from 2023 or later."
NO_SCRIPT = "The pictures need JavaScript, which runs inside this file only. The words of every topic:"
OFFLINE = "This page is one file: it works without network and asks no server."
NO_DOCUMENTS = "no documents"
SERVED = "This page comes from this machine only and shows what the tracker writes into its log."
FIND = "Find a word"
MORE = "More views"

# templates that the page fills in at the reader's date; names in braces are filled by page.js
PAGE: Mapping[str, str] = {
    "then": "as known then",
    "hindsight": "in hindsight",
    "river": (
        "Each band is a topic. Thickness: {measure}. The words inside are typical of that moment. "
        "Strong colour: the topic’s words were changing; pale: they stood still."
    ),
    "thicknessDocuments": "number of documents",
    "thicknessShare": "part of all documents",
    "play": "Play",
    "pause": "Pause",
    "dark": "dark",
    "light": "light",
    "topic": "topic {topic}",
    "numberNever": "its number never changes",
    "numberMay": "its number may still change its meaning",
    "documentsOf": "documents, {share} of {date}",
    "documentOf": "document, {share} of {date}",
    "lastStep": "turned since {date}",
    "ofUsual": "of its usual step since {date}",
    "unjudged": "too early to compare its steps",
    "of": "{n} of {all}",
    "newSince": "strongest words are new since {date}",
    "certainty": "sure of its words: {level}",
    "levels": "firm|good|rough|a guess",
    "notYet": "not there yet in {date}; first seen {other}",
    "ended": "ended {date}",
    "hoverCount": "{date}: {n} documents, {share} of all",
    "hoverTurn": "words turned {turn}° since {date}, {usual}",
    "hoverTurnThen": "words turned {usual} since {date}",
    "usual": "as usual for it",
    "faster": "{times} times its usual step",
    "slower": "less than usual for it",
    "hoverOpen": "click to open",
    "rest": "{n} smaller topics",
    "wordAt": "{word} in {date}: {rank} strongest word, weight {weight}",
    "wordBlank": "{word} in {date}: not among the stored words",
    "wordSince": "among the eight strongest since {date} {reading}",
    "wordSinceBoth": "among the eight strongest since {then} as known then, {hindsight} in hindsight",
    "wordNever": "never among the eight strongest {reading}",
    "wordOften": "among the twenty strongest in {n} of {all} {periods}",
    "certaintyAt": "{date}: {share} sure of these words ({level})",
    "emptyAt": "{date}: no documents",
    "typicalAt": "Typical documents, {date}",
    "typicalNone": "No document of this topic was kept for {date}.",
    "score": "{score} of 1",
    "kept": "{n} of {all} kept: the most typical.",
    "speak": "{date}. {words}. {n} documents.",
    "unknownTopic": "There is no topic {topic} in this log; showing topic {other}.",
    "replacedTopic": (
        "There is no topic {topic} in hindsight: it was replaced while the tracker was still finding its topics. "
        "Showing topic {other}."
    ),
    "unknownDate": "There is no date {date} in this log; showing {other}.",
    "noHindsight": "There is no reading in hindsight in this log.",
    "warmUpAt": (
        "In {date} the tracker was still finding its topics: as known then, numbers and colours of these dates may "
        "stand for something else later."
    ),
    "live": "live, updated {ago} ago",
    "waitingFor": "waiting, updated {ago} ago",
    "stopped": "stopped {time}",
    "finished": "finished {time}",
    "busy": "log busy since {time}",
    "silent": "no answer since {time}",
    "recorded": "replay, recorded {date}",
    "newSlices": "{n} new {periods}: show",
    "newHindsight": "hindsight recalculated up to {date}: show",
    "soFar": "{date} so far: {n} documents",
    "changed": "What changed, {span}",
    "changedSince": "What changed since your last visit, {span}",
    "unchanged": "Nothing stood out.",
    "turned": "turned {turn}°",
    "apart": "{turn}° apart",
    "compareDates": (
        "Its strongest words in {left} and in {right}{turned}. Lines join words that stayed; grey: gone; +: new."
    ),
    "compareTopics": "The strongest words of two topics{turned}. Lines join words that both share.",
    "goneAndNew": "Gone since {left}: {gone}. New in {right}: {entered}.",
    "ownWords": "Only {left}: {gone}. Only {right}: {entered}.",
    "nothing": "nothing",
    "otherDates": "another date",
    "otherTopics": "another topic in {date}",
    "notKnown": "Not recorded in this log: {what}.",
    "unknown": "not known",
    "outside": "! outside of what was usual",
    "usualNow": "usual now: {usual}",
    "failed": "Could not draw this; the others are fine.",
    "marked": "{date} is marked; c compares it with another date.",
    "wordsRanks": "Strongest word on top; lines follow a word; + the first time it enters; grey: its last time.",
    "wordsHeatmap": (
        "Strong colour: strong in the topic. Words sorted by when they mattered. Blank: not among the stored words."
    ),
    "wordsBoth": (
        "Upper half: as known then. Lower half: in hindsight. A bar marks the first time among the eight strongest. "
        "Blank: not among the stored words."
    ),
    "lineageCaption": (
        "A line per topic, as thick as its share: on the left its words when it began, on the right its words now or "
        "at its end. ○ born, ✕ ended, ▼ words changed unusually fast, dotted: asleep. "
        "A curve is where a topic flowed into another one or split off."
    ),
    "lineageShort": (
        "A line per topic: first words on the left, last ones on the right. ○ born, ✕ ended, dotted: asleep."
    ),
    "bornAt": "{date}: “{one}” (topic {a}) was born with {n} recent documents",
    "endedAt": "{date}: “{one}” (topic {a}) ended after {n} {periods} without much to say",
    "mergedAt": "{date}: “{one}” (topic {a}) flowed into “{other}” (topic {b}); they were {n}° apart",
    "splitAt": "{date}: “{other}” (topic {b}) split off “{one}” (topic {a}) with {n} recent documents",
    "dormantAt": "{date}: “{one}” (topic {a}) fell asleep; it had {n} documents lately",
    "wokenAt": "{date}: “{one}” (topic {a}) woke with {n} recent documents, under its old number",
    "sinceAt": " (in hindsight since {date})",
    "untilAt": " (in hindsight until {date})",
    "driftAt": "{date}: the words of “{one}” (topic {a}) changed unusually fast, by {n}°",
    "treeCaption": "Area: part of all documents in {date}. Click a group to come closer, a topic to select it.",
    "treeTitle": TREE,
    "treeMade": TREE + ", calculated from documents up to {made}",
    "treeLater": "The calculation is later than the date you look at.",
    "treeGrey": "Grey: found by the calculation, not followed by the tracker; as large as it was found.",
    "treeEmpty": "No documents in {date}: areas as they were calculated.",
    "treeTop": "all topics",
    "treeStranger": "no topic of the tracker answers to it",
    "treeGroup": "{n}, {share} of all documents in {date}",
    "treeCloser": "click to come closer",
    "treeBack": "click to go back",
    "searchNone": "Type a word to see which topics used it, and when. Words of the selected topic:",
    "searchFound": "“{word}” in {n}. Height: how strong the word is there, on one scale for all.",
    "searchUnknown": "The tracker has never stored “{word}”. Nearest by spelling:",
    "searchFoot": "Blank: not among the {n} strongest words of a topic; only these are kept. Grey line: its life.",
    "searchMore": "{n} more",
    "searchFewer": "only the first eight",
    "searchPeak": "word {rank} of the topic, {date}",
    "searchPeakShort": "word {rank}, {date}",
    "topicOne": "1 topic",
    "topicMany": "{n} topics",
    "neighbours": (
        "Distance to the centre is the true angle; direction only keeps things apart. Small rings: where the others "
        "were at first. The trail: this topic’s own past."
    ),
    "globe": (
        "From a small ring to its dot: how far a topic’s words turned in the last {n} {periods}, true to scale. Who is "
        "near whom is roughly right; the bends are not data. Drag to turn the globe, click a topic to select it."
    ),
    "globeThen": "As known then, a trail also holds how unsure the words still were.",
    "globeRest": "{n} smaller topics are not drawn.",
    "globeNone": "The tracker was still finding its topics in {date}; as known then, they have no place yet.",
    "globeFirst": "No trails: nothing came before {date}.",
    "globeMissing": "This log was written before its topics were sketched. Run the documents again to see them here.",
    "globeTurned": "turned {turn}° since {date}",
    "neighboursThen": "As known then, angles also hold how unsure the words still were.",
    "neighboursRest": "{n} more topics lived then; the 40 nearest and the 20 largest are drawn.",
    "neighboursAlone": "No other topic lived then.",
    "neighboursNoPast": "No trail: this topic has no past yet.",
    "neighboursWarmUp": "No trail: the tracker was still finding its topics.",
    "neighboursMissing": "This log was written before angles were kept. Run the documents again to see them.",
    "neighboursLeft": "This picture was left out to keep the file small.",
    "neighbourAngle": "{angle}° from here",
    "neighbourAngleBorn": "{angle}° from here; {first}° when it was born ({date})",
    "neighbourAngleFirst": "{angle}° from here; {first}° at first ({date})",
    "neighbourShares": "shares with it: {words}",
    "neighbourSharesNone": "shares none of the stored words with it",
    "pastAt": "{date}: {angle}° from its words of {other}",
}

HOW_TO_READ: Sequence[tuple[str, str]] = (
    (
        "Topic",
        "A group of documents that use similar words. It is called by its strongest words at the date you look at.",
    ),
    (
        "River",
        "Each band is a topic, as thick as its documents are many; the words inside are typical of that moment.",
    ),
    ("Colour", "The colour belongs to the topic for ever. Strong: its words were changing; pale: they stood still."),
    ("Date", "The bar on top sets the date for the whole page. Play moves it; so do the arrow keys."),
    ("Words", "The strongest words of one topic at each date. Follow a line to follow a word."),
    ("Turned", "How far the mix of words has moved, as an angle: 0° the same, 90° nothing in common."),
    (
        "Seen from here",
        "The chosen topic in the middle, the others around it: distance is the angle between their words.",
    ),
    ("Life lines", "One line per topic from its first date to its last; a curve is where one flowed into another."),
    ("Globe and tree", "Which topics are alike. Near is roughly right on the globe; the tree joins topics in groups."),
    ("As known then", "Uses only documents up to that date. At first, topics are tried that are replaced later."),
    ("In hindsight", "Uses all documents, also later ones."),
    ("Sure of its words", "How well a topic's words are known; it falls when documents stay away."),
)

KEYS: Sequence[tuple[str, str]] = (
    ("← →", "one step in time, with shift ten"),
    ("Home End", "first and newest date"),
    ("space", "play or pause"),
    ("↑ ↓", "previous and next topic"),
    ("h", "as known then or in hindsight"),
    ("s", "documents or share"),
    ("m", "mark the date"),
    ("c", "compare with the marked date, or with the one before"),
    ("/", "find a word"),
    ("Enter", "open the topic"),
    ("t", "light or dark"),
    ("?", "this help"),
    ("Esc", "back"),
)
NOTICE = "Each band is a topic. Click one."
COMPARE = "Compared"
COMPARE_WITH = "Compare with"
TABLE_CAPTION = "At the date above. Grey: not there at that date, shown as it last was. Choose a heading to sort."

TABLE_HEADS: Mapping[str, str] = {
    "topic": "topic",
    "now": "words now",
    "first": "words at first",
    "documents": "documents",
    "share": "share",
    "turned": "turned",
    "step": "last step",
    "certainty": "sure of its words",
    "begun": "first",
    "ended": "ended",
}
HEALTH = "May I trust this?"
HEALTH_CAPTION = (
    "Grey: what was usual at the dates before, on the side where leaving it is bad. Red: outside of it. The first "
    "fourteen dates are not judged."
)
USUAL = "usual"
UP_TO = "up to {}"

HEALTH_ROWS: Mapping[str, str] = {
    "documents": "Documents",
    "surprise": "Surprise, in usual spreads",
    "newWords": "New words",
    "living": "Living topics",
    "alarms": "Drift alarms",
    "refused": "Rejected and late",
    "lag": "Messages waiting",
    "seconds": "Seconds per update",
}
