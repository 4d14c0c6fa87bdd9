"""Runs over three plain subjects that models are frozen of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.engine.documents import SUBJECTS
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.runfile.writer import RunFile

YEARS = (2001, 2002, 2003)


def texts(n: int, seed: int = 0) -> list[str]:
    """Six to nine words of one subject, at times one of another or one that nobody knows."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        words = list(rng.choice(SUBJECTS[i % 3], rng.integers(5, 9)))
        other = [f"unknown{seed}x{i}", str(rng.choice(SUBJECTS[(i + 1) % 3]))]
        found.append(" ".join([*words, *other[: rng.integers(0, 3)]]))
    return found


def tracker(**given: Any) -> TopicTracker:
    """Return a tracker that has learnt two years and is in the middle of a third."""
    made = TopicTracker(topics=3, slices="year", **given)
    for year in YEARS:
        made.learn(texts(60, year), year)
    return made


def vectors(n: int, seed: int = 0) -> np.ndarray:
    """Three directions of six dimensions, with noise."""
    rng = np.random.default_rng(seed)
    means = np.eye(6)[:3] - 0.3
    return (means[np.arange(n) % 3] + rng.normal(0.0, 0.1, (n, 6))).astype(np.float32)


def followed(path: Path, *, dimension: int = 0, **given: Any) -> Path:
    """Write a run file of texts, or of vectors with texts if there is a ``dimension``."""
    items: list[Any] = []
    for year in YEARS:
        values = vectors(60, year)
        for i, text in enumerate(texts(60, year)):
            items.append({"id": f"{year}-{i}", "time": year, "text": text, "vector": values[i].tolist()})
    codec = FieldCodec(vector="vector", dimension=6) if dimension else FieldCodec()
    settings = RunSettings(topics=3, dimension=dimension, title="three subjects", **given)
    follow(MemorySource(items), codec, RunFile(path), settings)
    return path
