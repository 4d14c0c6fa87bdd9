"""Labels in a run file of a corpus: their agreement with known classes, and whether their probabilities are right.

    vmfstream replay crisislex --documents all --out crisislex.duckdb
    python tests/benchmarks/bench_run_labels.py crisislex.duckdb crisislex

One JSON line. NMI, ARI and B-cubed F1 of topics on arrival, of smoothed topics and of stories are over the documents
that have the label and a class. The rest is over those that have a topic on arrival and a smoothed one: how often the
two are the same (``smoothed``), how often the smoothed one is the first or the second (``of_two``), and how often the
class of a document is the commonest of its topic (``class``), each with the mean probability and its expected
calibration error in ten bins.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.bench_embeddings import scores
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.records import Document
from vmfstream.replay.sorted_source import CorpusSource

BINS = 10

QUERY = """SELECT d.id, d.topic, s.topic AS smoothed, d.story, d.probability, d.second, d.second_probability
FROM document d LEFT JOIN document_smoothed s USING (slice, place)"""


def classes_of(name: str) -> dict[str, str]:
    """Classes of the documents of a corpus by their ids."""
    with closing(CorpusSource(name)) as source:
        decoded = map(FieldCodec(meta=("label",)).decode, source.poll(source.total, 0.0))
        return {
            one.id: str(one.meta["label"]) for one in decoded if isinstance(one, Document) and one.meta.get("label")
        }


def calibration(probability: NDArray[np.float64], true: NDArray[np.bool_]) -> dict[str, float]:
    """Share of what is ``true`` (N,), its mean ``probability`` (N,), and the expected calibration error."""
    own = np.minimum((probability * BINS).astype(int), BINS - 1)
    differences = np.bincount(own, true - probability, BINS)
    error = float(np.abs(differences).sum() / len(own))
    found = {"true": true.mean(), "probability": probability.mean(), "error": error}
    return {name: round(float(value), 3) for name, value in found.items()}


def told(found: pd.DataFrame, classes: dict[str, str]) -> dict[str, Any]:
    """What is said of the documents of a run file."""
    found = found.assign(label=found.id.map(classes))
    out: dict[str, Any] = {"documents": len(found)}
    for kind in ("topic", "smoothed", "story"):
        known = found[found.label.notna() & (found[kind].fillna(-1) >= 0)]
        if len(known):
            out[f"nmi, ari, b3 of {kind}"] = scores(known[kind].to_numpy(np.int64), pd.factorize(known.label)[0])
    both = found[(found.topic.fillna(-1) >= 0) & (found.smoothed.fillna(-1) >= 0)]
    first = both.probability.to_numpy(np.float64)
    same, second = (both.smoothed == both.topic).to_numpy(), (both.smoothed == both.second).to_numpy()
    two = first + both.second_probability.fillna(0.0).to_numpy(np.float64)
    out |= {"both": len(both), "smoothed": calibration(first, same), "of_two": calibration(two, same | second)}
    known = both[both.label.notna()]
    if len(known):
        commonest = known.groupby("topic").label.agg(lambda labels: labels.value_counts().index[0])
        right = (known.label == known.topic.map(commonest)).to_numpy()
        out["class"] = calibration(known.probability.to_numpy(np.float64), right)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_file", type=Path)
    parser.add_argument("corpus")
    asked = parser.parse_args()
    with duckdb.connect(asked.run_file, read_only=True) as run:
        found = run.execute(QUERY).df()
    print(json.dumps({"run_file": asked.run_file.name} | told(found, classes_of(asked.corpus))))


if __name__ == "__main__":
    main()
