"""Clusters in vectors of texts, every method on the same vectors: agreement with known classes, and processor time.

    python tests/benchmarks/bench_embeddings.py --sets mstream-news-t crisislex newsgroups
    python tests/benchmarks/bench_embeddings.py --sets newsgroups --methods online-vmf minibatch-kmeans
    python tests/benchmarks/bench_embeddings.py --speed
    python tests/benchmarks/bench_embeddings.py --memory 1000000

One JSON line a method: NMI, ARI and B-cubed F1 of labels on arrival (each batch of 1,000 is labelled before it is
learnt, stories one by one) and in the end (all rows labelled by what was learnt), clusters, and seconds of processor
time from the first row to the last on one thread, without the loading of compiled code. Methods that need a number of
clusters are told that of the classes. Documents without a class are learnt and not scored. BERTopic is left out where
it is not installed; it is given the vectors and makes no words of topics. DBSTREAM and DenStream learn the first 2,000
documents, one by one.

``--speed``: rows per second of the dense pass, 256 numbers of float32 and 100 topics, beside the matrix product of the
scores alone by BLAS and beside MiniBatchKMeans. ``--memory N``: memory of the process after each tenth of N vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.cluster import HDBSCAN, MiniBatchKMeans

from vmfstream import OnlineVMFMixture, StoryMixture, VMFMixture
from vmfstream.clustering_metrics import b_cubed
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.directional.sphere import unit_rows
from vmfstream.metrics import adjusted_rand_index, normalized_mutual_information
from vmfstream.records import Document
from vmfstream.replay.corpora import get
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.stories.weights import RunningTfidf
from vmfstream.text.encoders import TextEncoder
from vmfstream.text.sentence_models import sentence_model

BATCH, FEW = 1_000, 2_000
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Given:
    """N documents: tf-idf weights of their words, unit vectors (N, D), classes (N,), -1 for none."""

    words: csr_array
    vectors: NDArray[np.float32]
    classes: Labels
    seed: int = 0

    @property
    def k(self) -> int:
        return int(self.classes.max()) + 1

    def batches(self) -> Iterator[slice]:
        return (slice(low, low + BATCH) for low in range(0, len(self.vectors), BATCH))


@dataclass(frozen=True)
class Found:
    """Labels on arrival and in the end, None where a method has none; ``rows`` were learnt in ``seconds``."""

    arrival: Labels | None
    end: Labels | None
    seconds: float
    rows: int


def given_of(name: str, model: str) -> Given:
    corpus, encoder, weights = get(name), TextEncoder(extra_stop_words=get(name).stop_words), RunningTfidf()
    with closing(CorpusSource(name)) as source:
        messages = source.poll(source.total, 0.0)
    decoded = [FieldCodec(meta=("label",)).decode(message) for message in messages]
    documents = [one for one in decoded if isinstance(one, Document)]
    parts = []
    for low in range(0, len(documents), 5_000):
        counts = encoder.count(documents[low : low + 5_000])
        shape = (len(counts), encoder.vocabulary.n_terms)
        parts.append(weights.weigh(csr_array((counts.counts, counts.terms, counts.indptr), shape=shape)))
    for part in parts:
        part.resize((part.shape[0], parts[-1].shape[1]))
    began = time.process_time()
    vectors = unit_rows(sentence_model(model).embed([one.text or "" for one in documents]))[0]
    tell(corpus.name, "embedding", documents=len(documents), seconds=round(time.process_time() - began, 2))
    labels = np.array([str(one.meta.get("label") or "") for one in documents])
    known, classes = np.unique(labels, return_inverse=True)
    if known[0] == "":
        classes = classes - 1
    return Given(csr_array(vstack(parts)), np.asarray(vectors, np.float32), classes)


def stories(x: Any, vectors: NDArray[np.float32] | None = None) -> Found:
    StoryMixture().partial_fit(x[:50], vectors=None if vectors is None else vectors[:50])
    model, began = StoryMixture(), time.process_time()
    labels = model.partial_fit(x, vectors=vectors).labels_
    return Found(labels, None, time.process_time() - began, x.shape[0])


def batch_by_batch(given: Given, model: Any, labels: Callable[[Any, NDArray[np.float32]], Labels]) -> Found:
    began, arrival = time.process_time(), []
    for part in given.batches():
        arrival.append(labels(model, given.vectors[part]))
    seconds = time.process_time() - began
    return Found(np.concatenate(arrival), model.predict(given.vectors), seconds, len(given.vectors))


def online_vmf(given: Given) -> Found:
    def labels(model: OnlineVMFMixture, x: NDArray[np.float32]) -> Labels:
        return model.partial_fit(x).labels_

    OnlineVMFMixture(3, random_state=0).partial_fit(given.vectors[:200])
    return batch_by_batch(given, OnlineVMFMixture(given.k, random_state=given.seed), labels)


def minibatch_kmeans(given: Given) -> Found:
    def labels(model: MiniBatchKMeans, x: NDArray[np.float32]) -> Labels:
        first = not hasattr(model, "cluster_centers_")
        found = None if first else model.predict(x)
        if len(x) >= given.k or not first:
            model.partial_fit(x)
        return np.asarray(model.labels_ if found is None else found, np.int64)

    return batch_by_batch(given, MiniBatchKMeans(given.k, random_state=given.seed), labels)


def minibatch_kmeans_batch(given: Given) -> Found:
    began = time.process_time()
    labels = MiniBatchKMeans(given.k, random_state=given.seed, n_init=3).fit_predict(given.vectors)
    return Found(None, labels, time.process_time() - began, len(labels))


def vmf_batch(given: Given) -> Found:
    VMFMixture(2, random_state=0).fit(given.vectors[:100])
    began = time.process_time()
    labels = VMFMixture(given.k, random_state=given.seed).fit_predict(given.vectors)
    return Found(None, labels, time.process_time() - began, len(labels))


def hdbscan(given: Given) -> Found:
    began = time.process_time()
    labels = HDBSCAN(min_cluster_size=10, copy=True).fit_predict(given.vectors)
    return Found(None, labels, time.process_time() - began, len(labels))


def one_by_one(given: Given, model: Any) -> Found:
    rows = [dict(enumerate(row)) for row in given.vectors[:FEW].tolist()]
    began, arrival = time.process_time(), []
    for row in rows:
        model.learn_one(row)
        arrival.append(model.predict_one(row))
    return Found(np.array(arrival), None, time.process_time() - began, len(rows))


def dbstream(given: Given) -> Found:
    from river.cluster import DBSTREAM

    return one_by_one(given, DBSTREAM(clustering_threshold=0.8, intersection_factor=0.1, minimum_weight=1.0))


def denstream(given: Given) -> Found:
    from river.cluster import DenStream

    return one_by_one(given, DenStream(epsilon=0.8, n_samples_init=500, mu=2.0, beta=0.6))


def bertopic_online(given: Given) -> Found:
    from sklearn.decomposition import IncrementalPCA

    pca, kmeans = IncrementalPCA(n_components=5), MiniBatchKMeans(given.k, random_state=given.seed)
    model = _bertopic(umap_model=pca, hdbscan_model=kmeans)
    began, arrival = time.process_time(), []
    for part in given.batches():
        x = given.vectors[part].astype(np.float64)
        if len(x) < given.k:
            arrival.append(kmeans.predict(pca.transform(x)))
            continue
        model.umap_model.partial_fit(x)
        reduced = pca.transform(x)
        kmeans.partial_fit(reduced)
        arrival.append(kmeans.labels_)
    end = kmeans.predict(pca.transform(given.vectors.astype(np.float64)))
    return Found(np.concatenate(arrival), end, time.process_time() - began, len(end))


def bertopic_batch(given: Given) -> Found:
    model = _bertopic()
    texts, began = [""] * len(given.vectors), time.process_time()
    reduced = model._reduce_dimensionality(given.vectors)
    import pandas as pd

    frame = pd.DataFrame({"Document": texts, "ID": range(len(texts)), "Topic": None})
    labels = model._cluster_embeddings(reduced, frame)[0].Topic.to_numpy(np.int64)
    return Found(None, labels, time.process_time() - began, len(labels))


def _bertopic(**parts: Any) -> Any:
    from bertopic import BERTopic

    return BERTopic(**parts)


METHODS: dict[str, Callable[[Given], Found]] = {
    "stories-words": lambda given: stories(given.words),
    "stories-vectors": lambda given: stories(given.vectors),
    "stories-both": lambda given: stories(given.words, given.vectors),
    "online-vmf": online_vmf,
    "vmf-batch": vmf_batch,
    "minibatch-kmeans": minibatch_kmeans,
    "minibatch-kmeans-batch": minibatch_kmeans_batch,
    "hdbscan": hdbscan,
    "dbstream": dbstream,
    "denstream": denstream,
    "bertopic-online": bertopic_online,
    "bertopic-batch": bertopic_batch,
}


def scores(labels: Labels | None, classes: Labels) -> list[float] | None:
    if labels is None:
        return None
    known = classes[: len(labels)] >= 0
    found, truth = labels[known], classes[: len(labels)][known]
    agreement = normalized_mutual_information(truth, found), adjusted_rand_index(truth, found)
    return [round(float(one), 3) for one in (*agreement, b_cubed(found, truth).f1)]


def tell(name: str, method: str, **what: Any) -> None:
    print(json.dumps({"set": name, "method": method} | what), flush=True)


def speed(rows: int = 100_000, k: int = 100) -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((k, 256)).astype(np.float32)
    x = centres[rng.integers(k, size=rows)] + 1.5 * rng.standard_normal((rows, 256)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)

    def rate(work: Callable[[], object]) -> int:
        best = min(_seconds(work) for _ in range(3))
        return round(rows / best)

    def learnt(model: Any) -> None:
        for low in range(0, rows, 5_000):
            model.partial_fit(x[low : low + 5_000])

    matrix = np.ascontiguousarray(centres.T)
    tell(
        "planted",
        "blas scores alone",
        rows_per_second=rate(lambda: [x[i : i + 5000] @ matrix for i in range(0, rows, 5000)]),
    )
    learnt(OnlineVMFMixture(k, random_state=0))
    tell("planted", "online-vmf", rows_per_second=rate(lambda: learnt(OnlineVMFMixture(k, random_state=0))))
    fitted = OnlineVMFMixture(k, random_state=0)
    learnt(fitted)
    tell("planted", "online-vmf, going on", rows_per_second=rate(lambda: learnt(fitted)))
    tell("planted", "minibatch-kmeans", rows_per_second=rate(lambda: learnt(MiniBatchKMeans(k, random_state=0))))


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def memory(rows: int) -> None:
    rng, model = np.random.default_rng(0), OnlineVMFMixture(30, random_state=0)
    centres = rng.standard_normal((30, 256)).astype(np.float32)
    for tenth in range(10):
        for _ in range(0, rows // 10, BATCH):
            x = centres[rng.integers(30, size=BATCH)] + rng.standard_normal((BATCH, 256), np.float32)
            model.partial_fit(x)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        tell("planted", "online-vmf", rows=(tenth + 1) * rows // 10, peak_megabytes=peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=["mstream-news-t", "crisislex", "newsgroups"])
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--model", default="wordllama")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="runs with the random states 0 to N - 1")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--memory", type=int, default=0, metavar="N")
    asked = parser.parse_args()
    if asked.speed:
        return speed()
    if asked.memory:
        return memory(asked.memory)
    for name in asked.sets:
        given = given_of(name, asked.model)
        for method, seed in product(asked.methods, range(asked.seeds)):
            try:
                found = METHODS[method](replace(given, seed=seed))
            except ImportError as error:
                tell(name, method, left_out=str(error))
                continue
            labels = found.arrival if found.end is None else found.end
            assert labels is not None
            told: dict[str, Any] = {
                "arrival": scores(found.arrival, given.classes),
                "end": scores(found.end, given.classes),
            }
            told |= {
                "seed": seed,
                "clusters": len(np.unique(labels)),
                "seconds": round(found.seconds, 2),
                "rows": found.rows,
            }
            tell(name, method, **told)
    return None


if __name__ == "__main__":
    main()
