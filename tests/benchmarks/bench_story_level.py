"""How fast a run gives its documents their stories: CPU seconds of the step alone, and of its rows and states.

    python tests/benchmarks/bench_story_level.py mstream-news-t crisislex

Counting words and what else a run does is not inside. Medians of ``--repeats`` runs after one that is not counted; each
learns the whole corpus in batches of 5,000 documents and takes rows and state after each, as a run does.
"""

from __future__ import annotations

import argparse
import statistics
import time
from contextlib import closing

import numpy as np

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.loop.document_buffer import KeptDocuments
from vmfstream.engine.loop.stories import StoryDocuments, StoryLevel
from vmfstream.records import Document, Documents
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.stories.settings import StorySettings
from vmfstream.text.encoders import TextEncoder

BATCH = 5_000


def documents_of(name: str) -> list[Document]:
    with closing(CorpusSource(name)) as source:
        messages = source.poll(source.total, 0.0)
    decoded = [FieldCodec().decode(message) for message in messages]
    return [one for one in decoded if isinstance(one, Document)]


def seconds(documents: list[Document]) -> dict[str, float]:
    """Return the CPU seconds of each part, for all documents."""
    encoder, spent = TextEncoder(), {"naming": 0.0, "stories": 0.0, "rows": 0.0, "state": 0.0}
    level = StoryLevel(StorySettings(), encoder.vocabulary)
    for index, low in enumerate(range(0, len(documents), BATCH)):
        batch = documents[low : low + BATCH]
        counts = encoder.count(batch)
        marks = [time.process_time()]
        given = StoryDocuments(
            counts, KeptDocuments.of(Documents.of(batch)), np.full(len(batch), -1), np.zeros(len(batch))
        )
        marks.append(time.process_time())
        level.note(level.assign(counts, given.kept.times), given, index)
        marks.append(time.process_time())
        level.take()
        marks.append(time.process_time())
        level.arrays()
        marks.append(time.process_time())
        level.end_slice(index, [])
        for name, before, after in zip(spent, marks, marks[1:], strict=False):
            spent[name] += after - before
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="*", default=["mstream-news-t", "crisislex"])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    for name in given.corpus:
        documents = documents_of(name)
        runs = [seconds(documents) for _ in range(given.repeats + 1)][1:]
        median = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
        each = ", ".join(f"{part} {1e6 * spent / len(documents):.1f}" for part, spent in median.items())
        rate = len(documents) / median["stories"]
        print(f"{name}: {len(documents):,} documents, microseconds each: {each}; {rate:,.0f} documents/s of stories")


if __name__ == "__main__":
    main()
