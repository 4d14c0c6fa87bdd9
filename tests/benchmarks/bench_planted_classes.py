"""How soon a class planted into slices of 400 texts is told of, by a story and by a topic, with a run's defaults.

Single-topic stories of Reuters-21578 come in random order, those of one class held back until slice ``--start``; from
there on they are 3 % and 12 % of each slice. A story tells of the class in the slice in which it has its fifth
document of it, if at least half of its documents are of the class; a topic does from the end of the slice in which it
is born, if at least half of the documents that it gets on arrival afterwards are. Delays are in slices after the first
one with planted documents, null for never in three; "within two slices" is a delay of 0 or 1.

``--quiet`` plants nothing, so that every birth from ``--start`` on is false; ``--texts`` takes posts of 20 Newsgroups
or front pages of the New York Times instead, at most 30 slices of them. ``--crises`` follows the posts of CrisisLexT26
by days and prints for each crisis the documents until the first of the story that got most of them, and the days until
the first of such a topic. ``--first RUN_FILE`` takes what ``vmfstream replay crisislex`` wrote and tells
of how many crises one of the first ten posts is in its table `novel`; ``--novel RUN_FILE CORPUS`` how many stories, by
the labels of a corpus, are told by the ten most novel documents of a slice.

    python tests/benchmarks/bench_planted_classes.py [--classes crude trade] [--planted 12 48] [--seeds 0 1 2]
        [--start 8] [--quiet [--texts newsgroups]] [--crises] [--first crisislex.duckdb]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.folders import need_data
from vmfstream.protocols import Source
from vmfstream.records import Document
from vmfstream.replay.corpora import get
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import Reader

PER_SLICE, AFTER, ENOUGH, MOST_SLICES = 400, 3, 5, 30

TEXTS = {
    "reuters": ("reuters21578", "concat_ws(' ', title, text)", "label IS NOT NULL"),
    "newsgroups": ("twenty_newsgroups", "concat_ws(' ', title, text)", "TRUE"),
    "nyt": ("nyt_frontpage_1996_2006", "text", "TRUE"),
}
"""Folders of texts that are shuffled, and SQL for the texts and those chosen."""


class Followed(NamedTuple):
    """Labels on arrival of documents by their ids, -1 for none, the slice of each birth, and what was committed."""

    story: dict[str, int]
    topic: dict[str, int]
    born: dict[int, int]


def followed(source: Source, settings: RunSettings) -> Followed:
    labels: tuple[dict[str, int], dict[str, int]] = ({}, {})

    def keeper(found: dict[str, int]) -> Any:
        def keep(documents: Sequence[Document], ids: NDArray[np.int64]) -> None:
            found.update(zip((document.id for document in documents), ids.tolist(), strict=True))

        return keep

    store = MemoryStore()
    keep_story, keep_topic = map(keeper, labels)
    follow(source, FieldCodec(), store, settings, in_stories=keep_story, assigned=keep_topic)
    closed = [one for commit in store.commits for one in commit.closed]
    events = [(one.slice.index, e) for one in closed for e in one.events if e.kind in ("born", "split", "started")]
    born = {e.topic if e.other is None else e.other: index for index, e in events}
    return Followed(*labels, born)


def texts_of(name: str, classes: str = "NULL") -> tuple[list[str], NDArray[np.object_]]:
    """Texts by a name of `TEXTS`, and what the SQL ``classes`` says of each."""
    import duckdb

    folder, text, chosen = TEXTS[name]
    query: Any = duckdb.sql(
        f"SELECT {text}, {classes} FROM '{need_data(f'{folder}/docs.parquet')}' WHERE {chosen} ORDER BY id"
    )
    rows = query.fetchall()
    return [row[0] for row in rows], np.array([row[1] for row in rows], np.object_)


def order_of(own: NDArray[np.bool_], planted: int, slices: int, start: int, seed: int) -> NDArray[np.intp]:
    """Documents of so many slices, those of the class from ``start`` on, ``planted`` in each."""
    rng = np.random.default_rng(seed)
    rest, few = (rng.permutation(np.flatnonzero(which)) for which in (~own, own))
    parts, at = [], 0
    for s in range(slices):
        chosen = few[(s - start) * planted : (s - start + 1) * planted] if s >= start else few[:0]
        others = PER_SLICE - len(chosen)
        parts.append(rng.permutation(np.concatenate([chosen, rest[at : at + others]])))
        at += others
    return np.concatenate(parts)


def run_of(texts: list[str], order: NDArray[np.intp], seed: int) -> tuple[Followed, NDArray[Any], NDArray[Any]]:
    """Follow documents; their stories and topics on arrival, in this order."""
    items = [{"id": str(i), "time": 2001, "text": texts[row]} for i, row in enumerate(order.tolist())]
    found = followed(MemorySource(items), RunSettings(slices=str(PER_SLICE), seed=seed))
    ids = [str(i) for i in range(len(order))]
    story, topic = (np.array([labels.get(i, -1) for i in ids]) for labels in found[:2])
    return found, story, topic


def planted(name: str, planted_documents: int, start: int, seed: int) -> dict[str, Any]:
    texts, classes = texts_of("reuters", "label")
    own = classes == name
    order = order_of(own, planted_documents, start + AFTER, start, seed)
    found, story, topic = run_of(texts, order, seed)
    mine, slices = own[order], np.arange(len(order)) // PER_SLICE
    stories, topics = [], []
    for one in np.unique(story[mine & (story >= 0)]):
        at = np.flatnonzero(mine & (story == one))
        if len(at) >= ENOUGH and mine[story == one].mean() >= 0.5:
            stories.append(int(slices[at[ENOUGH - 1]]) - start)
    births = {t: s for t, s in found.born.items() if s >= start}
    for one, born in births.items():
        later = mine[(topic == one) & (slices > born)]
        if len(later) and later.mean() >= 0.5:
            topics.append(born - start)
    kinds = {"class": name, "planted": planted_documents, "seed": seed}
    others = len(births) - len(topics)
    return kinds | {"story": min(stories, default=None), "topic": min(topics, default=None), "other_births": others}


def quiet(name: str, start: int, seed: int) -> dict[str, Any]:
    texts, _ = texts_of(name)
    order, slices = np.random.default_rng(seed).permutation(len(texts)), min(len(texts) // PER_SLICE, MOST_SLICES)
    found, *_ = run_of(texts, order[: slices * PER_SLICE], seed)
    births = [s for s in found.born.values() if s >= start]
    return {"texts": name, "quiet_slices": slices - start, "seed": seed, "births": len(births)}


def crises() -> list[dict[str, Any]]:
    import duckdb

    corpus = get("crisislex")
    settings = RunSettings(slices="day", stop_words=" ".join(corpus.stop_words))
    with closing(CorpusSource(corpus)) as source:
        found = followed(source, settings)
    file = need_data(corpus.file)
    query: Any = duckdb.sql(f"SELECT id, label, timestamp::date FROM '{file}' WHERE related ORDER BY timestamp, id")
    by_class: dict[str, list[tuple[str, Any]]] = {}
    for id, label, day in query.fetchall():
        by_class.setdefault(label, []).append((str(id), day))
    lines = []
    for label, posts in by_class.items():
        line: dict[str, Any] = {"crisis": label}
        for kind, labels in (("story", found.story), ("topic", found.topic)):
            ids = np.array([labels.get(id, -1) for id, _ in posts])
            known, counts = np.unique(ids[ids >= 0], return_counts=True)
            if not len(known):
                continue
            main = known[counts.argmax()]
            first = int(np.flatnonzero(ids == main)[0])
            line[kind] = first + 1 if kind == "story" else (posts[first][1] - posts[0][1]).days
            line[f"{kind}_share"] = round(float(counts.max() / len(ids)), 2)
            everything = sum(one == main for one in labels.values())
            line[f"{kind}_purity"] = round(float(counts.max() / everything), 2)
        lines.append(line)
    return lines


def first_stories(run_file: Path, posts: int = 10) -> dict[str, int]:
    import duckdb

    listed = Reader(run_file).novel().id.tolist()
    file = need_data(get("crisislex").file)
    query: Any = duckdb.sql(f"SELECT label, id::varchar FROM '{file}' WHERE related ORDER BY timestamp, id")
    first: dict[str, list[str]] = {}
    for label, id in query.fetchall():
        first.setdefault(label, []).append(id)
    told = sum(not set(listed).isdisjoint(ids[:posts]) for ids in first.values())
    return {"rows": len(listed), "crises": len(first), "told": told}


def novel_of(run_file: Path, stream: str, most: int = 10, least: int = 3) -> dict[str, Any]:
    """Return how many of the stories that begin after the first slice are told by the ``most`` novel of a slice.

    Stories are the labels of a ``stream`` with ``least`` documents or more; told are those whose first document is
    listed, or one of their first three.
    """
    import duckdb

    file = need_data(get(stream).file)
    with duckdb.connect(run_file, read_only=True) as run:
        query: Any = run.execute("select id, slice from document order by slice, place")
        arrived = query.fetchall()
        listed = {id for (id,) in run.execute("select id from novel where rank <= ?", [most]).fetchall()}
    labels: Any = duckdb.sql(f"SELECT id::varchar, label FROM '{file}'")
    label = dict(labels.fetchall())
    stories: dict[str, list[tuple[str, int]]] = {}
    for id, slice_ in arrived:
        stories.setdefault(label[id], []).append((id, slice_))
    new = [its for its in stories.values() if len(its) >= least and its[0][1] > arrived[0][1]]
    told = {f"one_of_first_{k}": sum(any(id in listed for id, _ in its[:k]) for its in new) for k in (1, 3)}
    return {"stories": len(new), "listed": len(listed), **told}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--classes", nargs="+", default=["crude", "trade", "money-fx", "interest", "acq"])
    arguments.add_argument("--planted", nargs="+", type=int, default=[12, 48], help="documents per slice of 400")
    arguments.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4, 5])
    arguments.add_argument("--start", type=int, default=8)
    arguments.add_argument("--quiet", action="store_true")
    arguments.add_argument("--texts", choices=TEXTS, default="reuters", help="what --quiet shuffles")
    arguments.add_argument("--crises", action="store_true")
    arguments.add_argument("--first", type=Path)
    arguments.add_argument("--novel", nargs=2, metavar=("RUN_FILE", "CORPUS"))
    asked = arguments.parse_args()
    if asked.novel:
        print(json.dumps(novel_of(Path(asked.novel[0]), asked.novel[1])))
        return
    if asked.first:
        print(json.dumps(first_stories(asked.first)))
        return
    if asked.crises:
        for line in crises():
            print(json.dumps(line), flush=True)
        return
    for number in [0] if asked.quiet else asked.planted:
        for name in [""] if asked.quiet else asked.classes:
            for seed in asked.seeds:
                began = time.process_time()
                line = (
                    quiet(asked.texts, asked.start, seed) if asked.quiet else planted(name, number, asked.start, seed)
                )
                print(json.dumps(line | {"seconds": round(time.process_time() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
