"""Documents per second from texts to unit tf-idf rows, beside scikit-learn's vectorisers in the same run; one thread.

Prints one JSON line per measurement: the median of interleaved rounds over 20 Newsgroups, in documents and megabytes of
text per second of processor time, which a busy machine disturbs least.

    python tests/benchmarks/bench_text.py [--documents 18846] [--batch 1000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
from scipy.sparse import vstack

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer

from vmfstream.folders import need_data
from vmfstream.records import Document
from vmfstream.text.encoders import TextEncoder


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--documents", type=int, default=18846)
    arguments.add_argument("--batch", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=5)
    asked = arguments.parse_args()
    column = pq.read_table(need_data("twenty_newsgroups/docs.parquet"), columns=["text"]).column("text")
    texts = [text or "" for text in column.slice(0, asked.documents).to_pylist()]
    now = datetime.now(UTC)
    documents = [Document("bench", i, str(i), now, text) for i, text in enumerate(texts)]
    batches = [documents[i : i + asked.batch] for i in range(0, len(documents), asked.batch)]

    known = TextEncoder()
    counted = [known.count(batch) for batch in batches]
    known.close_slice()

    def fresh() -> None:
        encoder = TextEncoder()
        counts = [encoder.count(batch) for batch in batches]
        encoder.close_slice()
        vstack([encoder.encode(part) for part in counts])

    def streaming() -> None:
        for batch in batches:
            known.encode(known.count(batch))

    def count() -> None:
        for batch in batches:
            known.count(batch)

    def encode() -> None:
        for counts in counted:
            known.encode(counts)

    hashing = HashingVectorizer(stop_words="english", n_features=2**17, norm=None, alternate_sign=False)

    def hashed() -> None:
        TfidfTransformer(sublinear_tf=True).fit_transform(hashing.transform(texts))

    def tfidf() -> None:
        TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=3, max_df=0.5).fit_transform(texts)

    methods: dict[str, Callable[[], None]] = {
        "count, close, encode": fresh,
        "count and encode, vocabulary known": streaming,
        "count": count,
        "encode": encode,
        "scikit-learn HashingVectorizer and TfidfTransformer": hashed,
        "scikit-learn TfidfVectorizer": tfidf,
    }
    streaming()  # compiles
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(asked.rounds):
        for name, method in methods.items():
            begun = time.process_time()
            method()
            seconds[name].append(time.process_time() - begun)
    megabytes = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    for name, found in seconds.items():
        median = statistics.median(found)
        line = {
            "bench": "text",
            "method": name,
            "documents_per_second": round(len(texts) / median),
            "best": round(len(texts) / min(found)),
            "megabytes_per_second": round(megabytes / median, 1),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
