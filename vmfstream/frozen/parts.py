"""The parts of a frozen model, taken from the state of a run now or from its topics at the end of an earlier slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.bessel import inv_bessel_ratio
from vmfstream.engine.models.tracker import NO_TOPICS, TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.belief import Belief, current_belief, up_to_date
from vmfstream.online.state import TrackState
from vmfstream.records import Arrays
from vmfstream.text.encoders import Encoder, TextEncoder, TopWords
from vmfstream.text.top_words import topic_name

WORDS = 10
"""Words of a topic in a frozen model."""

_OF_STORIES = ("settings", "mixture.", "weights.")  # what labels need


@dataclass(frozen=True, slots=True, eq=False)
class ModelParts:
    """A frozen model as a value for JSON and flat arrays, see docs/run-file.md.

    ``about`` has title, slice, documents, settings and topics (number, name and words); ``arrays`` are named as in the
    file of the model.
    """

    about: dict[str, Any]
    arrays: Arrays

    def named(self, names: Mapping[int, str]) -> ModelParts:
        """Return these with the ``names`` of topics, by number; others are called by their strongest words."""
        topics = [one | {"name": names.get(one["topic"], one["name"])} for one in self.about["topics"]]
        return replace(self, about=self.about | {"topics": topics})


@dataclass(frozen=True, slots=True, eq=False)
class PastTopics:
    """The topics of a run at the end of a slice, as far as a run file keeps them; parallel columns of length K.

    ``words`` are the 60 strongest of each topic with their weights in its mean direction. ``tightness`` is the mean
    resultant length of documents about a topic, ``certainty`` (K,) those of the means. ``temperature`` is NaN where
    none was fitted. ``index`` and ``label`` are those of the slice.
    """

    index: int
    label: str
    ids: NDArray[np.int64]
    n: NDArray[np.float64]
    tightness: float
    certainty: NDArray[np.float64]
    temperature: float
    words: Sequence[Mapping[str, float]]


def current_parts(
    settings: RunSettings, model: TrackerModel, encoder: Encoder, stories: Arrays, label: str, documents: int
) -> ModelParts:
    """Return a model of what a run knows now.

    Parameters
    ----------
    settings : those of the run
    model, encoder : what it follows topics with, and encodes documents with
    stories : `vmfstream.engine.loop.stories.StoryLevel.arrays`, empty without stories
    label, documents : the label of the open slice, and how many documents were learnt

    Raises
    ------
    InputError
        If there are no topics yet.
    """
    state = _begun(model)
    belief = current_belief(up_to_date(state), settings.tracker())
    words = _words(encoder, belief, (state.slice, state.ids))
    arrays = _encoder_arrays(encoder.blank_state())
    arrays |= _topic_arrays(belief, state.ids, state.anchor, model.temperature)
    arrays |= {f"stories.{name}": array for name, array in stories.items() if name.startswith(_OF_STORIES)}
    return ModelParts(_about(settings, label, None, documents, state.ids, words), arrays)


def past_parts(
    settings: RunSettings, model: TrackerModel, encoder: Encoder, past: PastTopics, documents: int
) -> ModelParts:
    """Return a model of the topics as they stood at the end of an earlier slice, without stories.

    A run file keeps the 60 strongest words of a topic's mean direction. What is left of its length is spread over the
    other words that were known then, as today's mean of the topic spreads it, or the corpus mean if the topic is gone.
    Words that are no longer known are missing; weights of words in documents are those of today.

    Parameters
    ----------
    settings, model, encoder : as in `current_parts`
    past : the topics
    documents : how many documents were learnt by now

    Raises
    ------
    InputError
        If the run follows vectors, or none of its words is known any more.
    """
    state = _begun(model)
    if not isinstance(encoder, TextEncoder):
        raise InputError("topics of an earlier slice are kept by their words, and this run follows vectors")
    known = encoder.known_by(past.index)
    stored = encoder.blank_state()
    stored["columns"] = stored["columns"][known]
    names = [word for word, there in zip(encoder.vocabulary.words(), known.tolist(), strict=True) if there]
    d = len(names)
    if d < 2 or not any(word in topic for topic in past.words for word in names):
        raise InputError(f"no word of the topics of slice {past.label} is known any more")
    place = {word: column for column, word in enumerate(names)}
    anchor = np.asarray(state.anchor, np.float32)[known]
    means = up_to_date(state).f
    today = {topic: means[known, column] for column, topic in enumerate(state.ids.tolist())}
    f = np.zeros((d, len(past.ids)), np.float32)
    gamma = np.asarray(inv_bessel_ratio(d, np.clip(past.certainty, 0.0, 1.0 - 1e-9)), np.float64)
    for topic, weights in enumerate(past.words):
        columns = [place[word] for word in weights if word in place]
        now = today.get(int(past.ids[topic]), anchor)
        direction = _completed(now, anchor, columns, [weights[names[column]] for column in columns])
        f[:, topic] = gamma[topic] * direction
    kappa = float(inv_bessel_ratio(d, past.tightness))
    alpha = settings.tracker().alpha
    log_weights = np.log(past.n + alpha) - np.log(past.n.sum() + alpha * len(past.n))
    belief = Belief(f, column_norms(f), kappa, log_weights, 0.0)
    temperature = past.temperature if np.isfinite(past.temperature) else 1.0
    words = [list(weights.items())[:WORDS] for weights in past.words]
    arrays = _encoder_arrays(stored)
    arrays |= _topic_arrays(belief, past.ids, anchor, temperature)
    return ModelParts(_about(settings, past.label, past.label, documents, past.ids, words), arrays)


def missing_slice(at: str, labels: list[str]) -> str:
    """Say that there is no slice ``at``, and which ones there are."""
    some = f"from {labels[0]!r} to {labels[-1]!r}" if labels else "none"
    return f"there is no closed slice {at!r} with topics; there are: {some}"


def _begun(model: TrackerModel) -> TrackState:
    if model.state is None:
        raise InputError(NO_TOPICS)
    return model.state


def _completed(
    now: NDArray[np.float32], corpus: NDArray[np.float32], columns: list[int], weights: list[float]
) -> NDArray[np.float32]:
    """Return the unit vector that has these weights, and elsewhere a mix of today's mean and that of the corpus.

    The part of today's mean is the cosine of these weights with those that it has now.
    """
    given = np.array(weights)
    norms = float(np.linalg.norm(given) * np.linalg.norm(now[columns]))
    alike = max(float(given @ now[columns]) / norms, 0.0) if norms > 0.0 else 0.0
    out = alike * _elsewhere(now, columns) + (1.0 - alike) * _elsewhere(corpus, columns)
    length = float(np.linalg.norm(out))
    out *= np.sqrt(max(1.0 - float(given @ given), 0.0)) / length if length > 0.0 else 0.0
    out[columns] = weights
    length = float(np.linalg.norm(out))
    return np.asarray(out / length if length > 0.0 else out, np.float32)


def _elsewhere(mean: NDArray[np.float32], columns: list[int]) -> NDArray[np.float64]:
    """Return the direction of a mean in the other columns."""
    out = np.array(mean, np.float64)
    out[columns] = 0.0
    length = np.linalg.norm(out)
    return out / length if length > 0.0 else out


def _words(encoder: Encoder, belief: Belief, at: tuple[int, NDArray[np.int64]]) -> TopWords:
    k = len(belief.gamma)
    divisor = np.ones(belief.f.shape[1], np.float32)
    divisor[:k] = np.maximum(belief.gamma, 1e-12)
    return encoder.words(np.ascontiguousarray(belief.f / divisor), WORDS, k, at)


def _encoder_arrays(stored: Arrays) -> Arrays:
    """Name the arrays of an encoder, without those that only the end of a slice needs."""
    arrays = {f"encoder.{name}": array for name, array in stored.items() if not name.endswith("first_slice")}
    for name in ("encoder.recent", "encoder.words.recent"):
        if name in arrays:
            arrays[name] = np.zeros_like(arrays[name])
    return arrays


def _topic_arrays(belief: Belief, ids: NDArray[np.int64], anchor: NDArray[np.float32], temperature: float) -> Arrays:
    k = len(ids)
    return {
        "topics.ids": np.array(ids, np.int64),
        "topics.f": np.ascontiguousarray(belief.f[:, :k], np.float32),
        "topics.gamma": np.array(belief.gamma[:k], np.float64),
        "topics.log_weights": np.array(belief.log_weights[:k], np.float64),
        "topics.anchor": np.array(anchor, np.float32),
        "topics.scalars": np.array([belief.kappa, belief.lowest_cosine, temperature], np.float64),
    }


def _about(
    settings: RunSettings, label: str, at: str | None, documents: int, ids: NDArray[np.int64], words: TopWords
) -> dict[str, Any]:
    text = settings.as_text()
    named = zip(ids.tolist(), words, strict=True)
    return {
        "title": settings.title,
        "slice": label,
        "at": at,
        "documents": documents,
        "settings": text,
        "topics": [
            {"topic": topic, "name": topic_name([word for word, _ in of]), "words": [[w, float(v)] for w, v in of]}
            for topic, of in named
        ],
    }
