"""Fixed texts of the page, in one place; those with braces are filled in for the selected date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BANNED = ("kappa", "gamma", "von mises", "posterior", "epoch", "cluster", "cosine")
TITLE = "Topics over time"
RIVER = "Size of topics over time"
ZOOM, ZOOM_IN, ZOOM_OUT, ALL_DATES = "Zoom", "zoom in", "zoom out", "all dates"
WORDS = "Strongest words over time"
REPRESENTATIVE = "Representative documents"
NEIGHBOURS = "Neighbouring topics"
GLOBE = "Topics on a globe"
GLOBE_SCALE = "drift of {turn}°"
TURN_LEFT = "rotate left"
TURN_RIGHT = "rotate right"
LINEAGE = "Lineage: births, splits, merges and ends"
STORIES = "Stories"
LISTED = "Documents"
TOPIC_STORIES = "Stories of this topic"
SEARCH = "Topics that use a word"
TREE = "Hierarchy of topics"
NO_TREE = "This run file holds no hierarchy of topics."
TREE_HOW = "To compute one:"
TREE_COMMAND = "vmfstream snapshot run.duckdb --kind tree"
TABLE = "All topics as a table"
WARM_UP = "warm-up: topics may change"
CERTAINTY = "certainty"
LICENCE = "Licence of the documents"
OLD_BROWSER = "This browser cannot decompress the page; use one released in 2023 or later."
NO_SCRIPT = "The figures need JavaScript, all of which is in this file. The strongest words of every topic:"
OFFLINE = "This page is one file: it makes no network requests."
NO_DOCUMENTS = "no documents"
SERVED = "This page is served by vmfstream and shows the run file while a run writes it."
FIND = "Find a word"
MORE = "More views"

# templates that the page's script fills in for the selected date
PAGE: Mapping[str, str] = {
    "filtered": "as known then",
    "smoothed": "in hindsight",
    "river": (
        "One band per topic. Thickness: {measure}. Words: characteristic of that date. "
        "Strong colour: the topic’s words changed quickly; pale: they hardly changed."
    ),
    "riverZoomed": "Zoomed in: {from} – {to}. Light strips inside the selected band are its largest stories.",
    "thicknessDocuments": "number of documents",
    "thicknessShare": "share of all documents",
    "play": "Play",
    "pause": "Pause",
    "dark": "dark",
    "light": "light",
    "topic": "topic {topic}",
    "numberNever": "its number is final",
    "numberMay": "its number is provisional (warm-up)",
    "documentsOf": "documents, {share} of {date}",
    "documentOf": "document, {share} of {date}",
    "lastStep": "drift since {date}",
    "ofUsual": "times its usual drift, since {date}",
    "unjudged": "too few dates to judge its drift",
    "of": "{n} of {all}",
    "newSince": "strongest words new since {date}",
    "certainty": "certainty of its words: {level}",
    "levels": "high|good|fair|low",
    "notYet": "not active yet in {date}; first active in {other}",
    "ended": "ended in {date}",
    "hoverCount": "{date}: {n} documents, {share} of all",
    "hoverTurn": "drift of {turn}° since {date}, {usual}",
    "hoverTurnFiltered": "drift since {date}: {usual}",
    "usual": "about as usual",
    "faster": "{times} times the usual",
    "slower": "less than usual",
    "hoverOpen": "click to select",
    "rest": "{n} smaller topics",
    "wordAt": "{word} in {date}: {rank} strongest word, weight {weight}",
    "wordBlank": "{word} in {date}: not among the stored words",
    "wordSince": "among the eight strongest since {date} {reading}",
    "wordSinceBoth": "among the eight strongest since {filtered} as known then, {smoothed} in hindsight",
    "wordNever": "never among the eight strongest {reading}",
    "wordOften": "among the twenty strongest in {n} of {all} {periods}",
    "certaintyAt": "{date}: certainty of the words {share} ({level})",
    "emptyAt": "{date}: no documents",
    "representativeAt": "Representative documents, {date}",
    "representativeNone": "No document of this topic was stored for {date}.",
    "listTopic": "All documents of topic {topic}",
    "listStory": "All documents of this story",
    "listEvery": "{n} of {all}, the newest first.",
    "listSome": "{n} of {all} are in this file, the newest {most} of each topic, date and story.",
    "listFound": "{n} of {all} with these words, the newest first.",
    "listFoundSome": "{n} with these words among those that are in this file.",
    "listNone": "No document.",
    "listMore": "{n} more",
    "listWaits": "Looking for documents ...",
    "listFailed": "The documents could not be read. Is the server still running?",
    "listNoTexts": "The run keeps ids and no texts; with --keep-text they are shown and searched too.",
    "listNewest": "The run keeps the newest {n} documents of each topic and date.",
    "listFind": "Words in these documents",
    "listProbability": "probability {p}",
    "score": "similarity {score}",
    "kept": "{n} of {all} stored: the most representative.",
    "speak": "{date}. {words}. {n} documents.",
    "unknownTopic": "There is no topic {topic} in this run file; showing topic {other}.",
    "replacedTopic": (
        "There is no topic {topic} in hindsight (smoothed): its documents were given to other topics later. "
        "Showing topic {other}."
    ),
    "unknownDate": "There is no date {date} in this run file; showing {other}.",
    "noSmoothed": "This run file has no reading in hindsight (smoothed).",
    "warmUpAt": (
        "In {date} the tracker was still in its warm-up: as known then (filtered), the topic with this number and "
        "colour may be replaced by another one later."
    ),
    "live": "live, updated {ago} ago",
    "waitingFor": "waiting, updated {ago} ago",
    "stopped": "stopped {time}",
    "finished": "finished {time}",
    "busy": "run file locked since {time}",
    "silent": "no answer since {time}",
    "newSlices": "{n} new {periods}: show",
    "newSmoothed": "smoothed (in hindsight) up to {date}: show",
    "soFar": "{date} so far: {n} documents",
    "changed": "What changed, {span}",
    "changedSince": "What changed since your last visit, {span}",
    "unchanged": "No notable change.",
    "driftOf": "drift of {turn}°",
    "apart": "{turn}° apart",
    "compareDates": (
        "Its strongest words in {left} and in {right}{drift}. Lines join words in both; grey: only before; +: new."
    ),
    "compareTopics": "The strongest words of two topics{drift}. Lines join words in both.",
    "goneAndNew": "No longer since {left}: {gone}. New in {right}: {entered}.",
    "ownWords": "Only {left}: {gone}. Only {right}: {entered}.",
    "nothing": "nothing",
    "otherDates": "another date",
    "otherTopics": "another topic in {date}",
    "notKnown": "Not recorded in this run file: {what}.",
    "missing": "not recorded",
    "outside": "! outside the usual range",
    "usualNow": "usual range: {usual}",
    "failed": "This figure could not be drawn; the others are not affected.",
    "marked": "{date} is marked; press c to compare it with another date.",
    "wordsRanks": "Strongest word on top; lines follow a word; + its first date in the list; grey: its last date.",
    "wordsHeatmap": (
        "Colour: weight of the word. Rows are sorted by when a word was strong. Blank: not among the stored words."
    ),
    "wordsBoth": (
        "Upper half: as known then (filtered). Lower half: in hindsight (smoothed). A bar marks the first date among "
        "the eight strongest. Blank: not among the stored words."
    ),
    "lineageCaption": (
        "One line per topic, as thick as its share: on the left its words at birth, on the right its newest or "
        "last words. ○ born, ✕ ended, ▼ drift alarm, dotted: dormant. "
        "A curve joins topics that merged or split."
    ),
    "lineageShort": (
        "One line per topic: first words on the left, last ones on the right. ○ born, ✕ ended, dotted: dormant."
    ),
    "bornAt": "{date}: “{one}” (topic {a}) was born with {n} recent documents",
    "endedAt": "{date}: “{one}” (topic {a}) ended after {n} {periods} with hardly any documents",
    "replacedAt": "{date}: “{one}” (topic {a}) ended; its newest documents became a topic of their own",
    "notKeptAt": "{date}: “{one}” (topic {a}) ended; its newest documents fit other topics as well",
    "mergedAt": "{date}: “{one}” (topic {a}) merged into “{other}” (topic {b}), {n}° apart",
    "splitAt": "{date}: “{other}” (topic {b}) split off “{one}” (topic {a}) with {n} recent documents",
    "endedByHandAt": "{date}: “{one}” (topic {a}) was ended by hand",
    "mergedByHandAt": "{date}: “{one}” (topic {a}) was merged into “{other}” (topic {b}) by hand, {n}° apart",
    "splitByHandAt": "{date}: “{other}” (topic {b}) was split off “{one}” (topic {a}) by hand, {n} recent documents",
    "pinned": "pinned: never ends, keeps its direction",
    "dormantAt": "{date}: “{one}” (topic {a}) became dormant with {n} recent documents",
    "wokenAt": "{date}: “{one}” (topic {a}) became active again with {n} recent documents",
    "untilAt": " (in hindsight until {date})",
    "driftAt": "{date}: drift alarm, the words of “{one}” (topic {a}) changed by {n}°",
    "treeCaption": "Area: share of all documents in {date}. Click a group to zoom in, a topic to select it.",
    "treeTitle": TREE,
    "treeMade": TREE + ", computed from documents up to {made}",
    "treeLater": "It was computed after the selected date.",
    "treeGrey": "Grey: found by this computation only, with the size it had there.",
    "treeEmpty": "No documents in {date}: areas are those of the computation.",
    "treeTop": "all topics",
    "treeStranger": "matches no topic of the tracker",
    "treeGroup": "{n}, {share} of all documents in {date}",
    "treeCloser": "click to zoom in",
    "treeBack": "click to zoom out",
    "searchNone": "Type a word to see which topics used it, and when. Words of the selected topic:",
    "searchFound": "“{word}” in {n}. Height: weight of the word in the topic, on one scale for all.",
    "searchUnknown": "“{word}” is among the strongest words of no topic. Similar words:",
    "searchFoot": "Blank: not among the {n} strongest words of a topic; only these are stored. Grey line: active.",
    "searchMore": "{n} more",
    "searchFewer": "only the first eight",
    "searchPeak": "word {rank} of the topic, {date}",
    "searchPeakShort": "word {rank}, {date}",
    "storiesDate": "at the date",
    "storiesAll": "all dates",
    "storiesAt": "Stories in {date}: {n}, the largest first, as they were then. Open one to see documents.",
    "storiesAtNewest": "Stories in {date}: {n}, the largest first, as they are now. Open one to see documents.",
    "storiesAtOld": (
        "Stories in {date}: {n}, the largest first. Titles, words and sizes are of their whole life, not of this date. "
        "Open one to see documents."
    ),
    "storiesNoneAt": "No story in {date}.",
    "storiesOf": "{n} of {all} stories, the largest first. Open one to see documents.",
    "storiesNone": "This run file holds no stories.",
    "storiesMore": "{n} more",
    "storiesOfTopic": (
        "{n} of {all}, the largest, by their first date. The bar is the time in which a story had documents; the river "
        "shows it as a line inside the band of the topic."
    ),
    "storyHere": "largest story: {title}",
    "storyDocuments": "{n} documents",
    "trendRising": "↗ rising",
    "trendSteady": "→ steady",
    "trendFalling": "↘ falling",
    "trendEnded": "ended",
    "trendMerged": "became part of another story",
    "topicOne": "1 topic",
    "topicMany": "{n} topics",
    "neighbours": (
        "Distance from the centre: angle between the topics’ words; direction has no meaning. Small rings: where the "
        "others were at first. Trail: this topic’s own past."
    ),
    "globe": (
        "From a small ring to its dot: how far a topic drifted in the last {n} {periods}, to scale. Distances between "
        "topics are approximate. Drag to rotate the globe, click a topic to select it."
    ),
    "globeFiltered": "As known then (filtered), drift also includes the uncertainty of the words.",
    "globeRest": "{n} smaller topics are not drawn.",
    "globeNone": "In {date} the tracker was in its warm-up; as known then, topics have no position yet.",
    "globeFirst": "No trails: {date} is the first date.",
    "globeMissing": "This run file holds no positions of topics. Replay the documents to compute them.",
    "globeTurned": "drift of {turn}° since {date}",
    "neighboursFiltered": "As known then (filtered), angles also include the uncertainty of the words.",
    "neighboursRest": "{n} more topics were active; the 40 nearest and the 20 largest are drawn.",
    "neighboursAlone": "No other topic was active at this date.",
    "neighboursNoPast": "No trail: this topic has no earlier date.",
    "neighboursWarmUp": "No trail: the tracker was in its warm-up.",
    "neighboursMissing": "This run file holds no angles between topics. Replay the documents to compute them.",
    "neighboursLeft": "This figure was left out to limit the size of the file.",
    "neighbourAngle": "{angle}° apart",
    "neighbourAngleBorn": "{angle}° apart; {first}° at its birth ({date})",
    "neighbourAngleFirst": "{angle}° apart; {first}° at first ({date})",
    "neighbourShares": "words in common: {words}",
    "neighbourSharesNone": "no stored words in common",
    "pastAt": "{date}: {angle}° from its words in {other}",
}

HOW_TO_READ: Sequence[tuple[str, str]] = (
    (
        "Topic",
        "A group of documents that use similar words, named by its strongest words at the selected date.",
    ),
    (
        "River",
        "One band per topic, as thick as its number or share of documents; the words are characteristic of the date. "
        "Zoomed in, the selected band fills the height and shows its stories.",
    ),
    (
        "Story",
        "A narrow group of documents about one event. It begins with its first document and ends when nobody writes "
        "about it. Rising and falling compare the newest date with the one before.",
    ),
    ("Colour", "Every topic keeps its colour. Strong: its words changed quickly; pale: they hardly changed."),
    ("Date", "The slider on top sets the date of the whole page. So do Play and the arrow keys."),
    ("Words", "The strongest words of one topic at each date. Follow a line to follow a word."),
    ("Drift", "The angle between a topic's word weights at two dates: 0° the same, 90° nothing in common."),
    (
        "Neighbours",
        "The selected topic in the middle, the others around it: distance is the angle between their words.",
    ),
    ("Lineage", "One line per topic from its first date to its last; curves join topics that merged or split."),
    ("Globe and tree", "Similar topics are near each other, approximately on the globe; the tree groups them."),
    ("As known then (filtered)", "Uses only documents up to that date. In the warm-up topics may still be replaced."),
    ("In hindsight (smoothed)", "Uses later documents too."),
    ("Certainty", "How precisely a topic's words are known; it falls while the topic gets no documents."),
)

KEYS: Sequence[tuple[str, str]] = (
    ("← →", "previous and next date, with shift ten dates"),
    ("Home End", "first and newest date"),
    ("space", "play or pause"),
    ("↑ ↓", "previous and next topic"),
    ("h", "as known then (filtered) or in hindsight (smoothed)"),
    ("s", "documents or share"),
    ("+ - 0", "zoom into the river at the date, out, all dates; also the wheel with Ctrl"),
    ("m", "mark the date"),
    ("c", "compare with the marked date, or with the one before"),
    ("/", "find a word"),
    ("Enter", "go to the selected topic"),
    ("t", "light or dark"),
    ("?", "this help"),
    ("Esc", "back"),
)
LETTER_KEYS = "Single letters and signs are keys"
NOTICE = "Each band is a topic. Click one to select it."
COMPARE = "Comparison"
COMPARE_WITH = "Compare with"
TABLE_CAPTION = "Values at the selected date. Grey: not active then, last known values. Click a heading to sort."

TABLE_HEADS: Mapping[str, str] = {
    "topic": "topic",
    "now": "words now",
    "first": "words at first",
    "documents": "documents",
    "share": "share",
    "drift": "drift",
    "last drift": "last drift",
    "certainty": "certainty",
    "isotropy": "isotropy",
    "begun": "first",
    "ended": "ended",
}
HEALTH = "Diagnostics of the run"
HEALTH_CAPTION = (
    "Grey: usual range of earlier dates, drawn on the side where leaving it is bad. Red: outside this range. The first "
    "fourteen dates are not judged. Misfit: how badly the topics predicted the documents; more than 2 is rare."
)
ISOTROPY_CAPTION = " Isotropy: 100 % if documents spread around their topics in all directions alike, as assumed."
USUAL = "usual"
UP_TO = "up to {}"

HEALTH_ROWS: Mapping[str, str] = {
    "documents": "Documents",
    "surprise": "Misfit of new documents",
    "newWords": "Words outside the vocabulary",
    "living": "Topics, active and dormant",
    "coherence": "Coherence of words, NPMI",
    "coherenceCv": "Coherence of words, C_v",
    "diversity": "Different words of topics",
    "isotropy": "Isotropy of topics",
    "alarms": "Drift alarms",
    "refused": "Rejected and late",
    "lag": "Messages waiting",
    "seconds": "Seconds per update",
}
