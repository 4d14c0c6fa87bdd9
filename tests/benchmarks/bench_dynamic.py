"""The temporal mixture of NIPS 1987-1999 beside tomotopy's dynamic and correlated topic models, on the same counts.

Prints one JSON line per method: seconds of the fit (wall and processor, one thread), and how well the ten strongest
words of a topic and year go together: their mean normalised pointwise mutual information, NPMI, over the papers; then
topics side by side with those of the dynamic model, matched by their words. Topics of the correlated model are of all
years together: the temporal mixture with one slice stands beside it. ``tomotopy`` is not a dependency: install it for
this comparison. With ``--sequence`` also gensim's LdaSeqModel (install gensim): one iteration on two topics, few words
and four years, whose processor time, which grows with topics times words, is then multiplied up; the whole would take
days.

    python tests/benchmarks/bench_dynamic.py [--topics 30] [--sweeps 500] [--methods CTModel] [--shown 6]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, load_npz

from vmfstream.datasets import weigh
from vmfstream.estimators.temporal import TemporalVMFMixture
from vmfstream.folders import need_data

Words = NDArray[np.int64]
"""(T, K, 10) columns of the strongest words, strongest first."""


def vmfmix(counts: csr_array, years: NDArray[np.int64], k: int, sweeps: int) -> Words:
    """Fit the temporal mixture with its defaults; ``sweeps`` are its own affair."""
    model = TemporalVMFMixture(k, random_state=0).fit(weigh(counts).astype(np.float32), slices=years)
    return np.argsort(-model.means_, axis=2)[:, :, :10]


def dtm(counts: csr_array, years: NDArray[np.int64], k: int, sweeps: int) -> Words:
    """Sample tomotopy's model for so many sweeps."""
    import tomotopy

    model = tomotopy.DTModel(k=k, t=len(np.unique(years)), seed=0)
    for words, year in zip(tokens(counts), years, strict=True):
        model.add_doc(words, timepoint=int(year - years.min()))
    model.train(sweeps, workers=1)
    times, topics = range(model.num_timepoints), range(k)
    return np.array([[[int(w) for w, _ in model.get_topic_words(z, t, 10)] for z in topics] for t in times])


def ctm(counts: csr_array, years: NDArray[np.int64], k: int, sweeps: int) -> Words:
    """Sample tomotopy's correlated topic model, which knows no years, for so many sweeps."""
    import tomotopy

    model = tomotopy.CTModel(k=k, seed=0)
    for words in tokens(counts):
        model.add_doc(words)
    model.train(sweeps, workers=1)
    return np.array([[[int(w) for w, _ in model.get_topic_words(z, 10)] for z in range(k)]])


def tokens(counts: csr_array) -> Iterator[list[str]]:
    """Yield the columns of the words of each document, as often as they occur."""
    for low, high in pairwise(counts.indptr):
        yield np.repeat(counts.indices[low:high], counts.data[low:high].astype(int)).astype(str).tolist()


def lda_sequence(counts: csr_array, years: NDArray[np.int64], k: int, words: int) -> dict[str, float]:
    """Time one iteration of gensim's LdaSeqModel on two topics, so many frequent words and four years."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaSeqModel

    kept = np.argsort(-counts.sum(axis=0))[:words]
    early = np.flatnonzero(years < years.min() + 4)
    part = csr_array(counts[early[np.argsort(years[early], kind="stable")]][:, kept])
    spans = np.unique(years[early], return_counts=True)[1].tolist()
    corpus = Sparse2Corpus(part, documents_columns=False)
    names = {column: str(column) for column in range(words)}

    def spent(iterations: int) -> float:
        began = time.process_time()
        rounds = {"passes": 1, "em_min_iter": iterations, "em_max_iter": iterations}
        LdaSeqModel(corpus, time_slice=spans, id2word=names, num_topics=2, random_state=0, **rounds)
        return time.process_time() - began

    seconds = spent(2) - spent(1)
    return {
        "cpu_per_iteration": round(seconds, 2),
        "topics": 2,
        "words": words,
        "years": 4,
        "papers": len(early),
        "extrapolated_hours_of_6_iterations": round(6 * seconds * k / 2 * counts.shape[1] / words / 3600, 1),
    }


METHODS: dict[str, Callable[[csr_array, NDArray[np.int64], int, int], Words]] = {
    "vmfstream": vmfmix,
    "DTModel": dtm,
    "vmfstream, one slice": lambda counts, years, k, sweeps: vmfmix(counts, np.zeros_like(years), k, sweeps),
    "CTModel": ctm,
}


def coherence(counts: csr_array, words: Words) -> float:
    """Mean NPMI of all pairs of words in a list, over all lists: 1 always together, 0 as by chance, -1 never."""
    seen = csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), counts.shape).tocsc()
    scores = []
    for chosen in words.reshape(-1, words.shape[-1]):
        some = seen[:, chosen]
        both = (some.T @ some).toarray() / counts.shape[0]
        alone = np.diag(both)
        with np.errstate(divide="ignore", invalid="ignore"):
            npmi = np.where(both > 0, np.log(both / np.outer(alone, alone)) / -np.log(both), -1.0)
        scores.append(npmi[np.triu_indices(len(chosen), 1)].mean())
    return float(np.mean(scores))


def main() -> None:
    """Fit them, print figures and words."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=30)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sweeps", type=int, default=500, help="of tomotopy's models")
    parser.add_argument("--sequence", type=int, default=0, metavar="WORDS", help="time LdaSeqModel on so many words")
    parser.add_argument("--shown", type=int, default=6, help="topics printed side by side")
    given = parser.parse_args()
    counts = csr_array(load_npz(need_data("nips_1987_1999/counts.npz")))
    years = pd.read_parquet(need_data("nips_1987_1999/meta.parquet"))["timestamp"].to_numpy(np.int64)
    vocabulary = need_data("nips_1987_1999/vocab.txt").read_text(encoding="utf-8").split()
    vmfmix(counts[:200], years[:200], 5, 0)  # compiles
    found: dict[str, Words] = {}
    for name in given.methods:
        fit = METHODS[name]
        began = time.perf_counter(), time.process_time()
        found[name] = fit(counts, years, given.topics, given.sweeps)
        wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        figures = {"seconds": round(wall, 1), "cpu": round(cpu, 1), "npmi": round(coherence(counts, found[name]), 3)}
        print(json.dumps({"method": name, "topics": given.topics} | figures), flush=True)
    if given.sequence:
        print(json.dumps({"method": "LdaSeqModel"} | lda_sequence(counts, years, given.topics, given.sequence)))
    if not {"vmfstream", "DTModel"} <= found.keys():
        return
    ours, theirs = found["vmfstream"], found["DTModel"]
    shared = [[len(np.intersect1d(a, b)) for b in theirs.transpose(1, 0, 2)] for a in ours.transpose(1, 0, 2)]
    rows, columns = linear_sum_assignment(np.array(shared), maximize=True)
    for at in np.argsort([-shared[r][c] for r, c in zip(rows, columns, strict=True)])[: given.shown]:
        for name, words, topic in (("vmfstream", ours, rows[at]), ("DTModel", theirs, columns[at])):
            for year in (0, len(words) // 2, len(words) - 1):
                shown = " ".join(vocabulary[w] for w in words[year, topic])
                print(f"{name:<10}{int(years.min()) + year}  {shown}")


if __name__ == "__main__":
    main()
