"""What people use instead of the tracker, for `bench_engine`: one pass over the same batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from river.cluster import TextClust
from scipy.sparse import csr_array
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from tests.benchmarks.engine_passes import BATCH, Clock, Pass


def kmeans(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run MiniBatchKMeans.partial_fit over the same batches."""
    model = MiniBatchKMeans(k, random_state=0, n_init=1, batch_size=BATCH)
    labels = []
    with threadpool_limits(threads):
        model.partial_fit(first)
        clock = Clock()
        for batch in batches:
            model.partial_fit(batch)
            labels.append(model.labels_)
        return clock.read(labels)


def online_lda(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run scikit-learn's online LDA; its labels are those of the end, and not in the time."""
    del threads
    model = LatentDirichletAllocation(k, learning_method="online", random_state=0)
    model.partial_fit(first)
    clock = Clock()
    for batch in batches:
        model.partial_fit(batch)
    return clock.read(None)._replace(labels=np.concatenate([model.transform(x).argmax(axis=1) for x in batches]))


def gensim_lda(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run gensim's LdaModel, one pass."""
    from gensim.models import LdaModel

    del threads
    model = LdaModel(_bags(first), num_topics=k, id2word={i: str(i) for i in range(first.shape[1])}, random_state=0)
    bags = [_bags(batch) for batch in batches]
    clock = Clock()
    for some in bags:
        model.update(some)
    found = clock.read(None)
    weights = (model.inference(some)[0] for some in bags)
    return found._replace(labels=np.concatenate([one.argmax(axis=1) for one in weights]))


def tomotopy_lda(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run one Gibbs sweep of tomotopy's LDA; a fit takes hundreds."""
    import tomotopy

    model = tomotopy.LDAModel(k=k, seed=0)
    for batch in batches:
        for bag in _bags(batch):
            model.add_doc([str(word) for word, count in bag for _ in range(int(count))])
    model.train(0, workers=threads)
    clock = Clock()
    model.train(1, workers=threads)
    return clock.read(None)


def textclust(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run river's TextClust with the settings of its own example, fading by counts: there are no times."""
    del first, k, threads
    model: Any = TextClust(  # type: ignore[no-untyped-call]
        radius=0.5, fading_factor=0.0005, tgap=100, num_macro=3, real_time_fading=False
    )
    bags = [{str(word): int(count) for word, count in bag} for batch in batches for bag in _bags(batch)]
    clock = Clock()
    labels = []
    for bag in bags:
        model.learn_one(bag)
        labels.append([model.predict_one(bag) or 0])
    return clock.read(labels)


def _bags(x: csr_array) -> list[list[tuple[int, float]]]:
    """Documents as lists of words and counts."""
    ends = zip(x.indptr[:-1], x.indptr[1:], strict=True)
    return [list(zip(x.indices[a:b].tolist(), x.data[a:b].tolist(), strict=True)) for a, b in ends]
