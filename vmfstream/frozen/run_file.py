"""The parts of a frozen model from a run file, which is only read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vmfstream.engine.loop.state import restore_model, stored_position, stored_stories
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.frozen.parts import ModelParts, PastTopics, current_parts, missing_slice, past_parts
from vmfstream.runfile.checkpoints import read_run
from vmfstream.runfile.queries import Reader
from vmfstream.text.own_tokeniser import Cut
from vmfstream.text.sentence_models import Embed


def parts_of_run(
    path: Path, at: str | None = None, *, tokeniser: Cut | str | None = None, embed: Embed | str | None = None
) -> ModelParts:
    """Return what the run file at ``path`` knows by now, or its topics at the end of the slice labelled ``at``.

    ``tokeniser`` and ``embed`` as in `vmfstream.engine.run.RunSettings.encoder`, which raises `NotNamedAgain`.

    Raises
    ------
    InputError
        If it is no run file, there are no topics yet, or no such slice.
    FormatVersion
        If it was written by a newer version.
    StoreLocked
        If another process does not release the file in time.
    """
    stored = read_run(path)
    settings, checkpoint = RunSettings.from_text(stored.settings), stored.checkpoint
    if checkpoint is None:
        raise InputError(f"{path}: no document was read yet")
    model, encoder = settings.new_model(), settings.encoder(tokeniser, embed)
    if not isinstance(model, TrackerModel):
        raise InputError(f"{path} follows its stream with the model {settings.model!r}, which labels no documents")
    restore_model(encoder, model, checkpoint.open_state, checkpoint.slice_state or {})
    newest, documents = stored_position(checkpoint.open_state)
    reader = Reader(path)
    if at is not None:
        past = past_topics(reader, at)
        names = reader.newest_names(past.index) | reader.topic_names()
        return past_parts(settings, model, encoder, past, documents).named(names)
    label = "" if newest is None else settings.engine().slices.slice(newest).label
    stories = stored_stories(checkpoint.open_state)
    names = reader.newest_names() | reader.topic_names()
    return current_parts(settings, model, encoder, stories, label, documents).named(names)


def past_topics(reader: Reader, at: str) -> PastTopics:
    """Return the filtered topics of the slice labelled ``at``.

    Raises
    ------
    InputError
        If there is no such closed slice, or it has no topics; names those that have.
    """
    topics, slices = reader.topics("filtered"), reader.slices()
    known = np.isin(slices.slice, topics.slice)
    labels = slices.label[known].tolist()
    if at not in labels:
        raise InputError(f"{reader.path}: {missing_slice(at, labels)}")
    index = int(slices.slice[known][labels.index(at)])
    own = topics.slice == index
    words: dict[int, dict[str, float]] = {int(topic): {} for topic in topics.topic[own]}
    of_slice = reader.words_of_slice("filtered", index)
    for topic, word, weight in zip(of_slice.topic.tolist(), of_slice.word, of_slice.weight.tolist(), strict=True):
        words[topic][word] = weight
    temperatures = reader.temperatures()
    return PastTopics(
        index=index,
        label=at,
        ids=topics.topic[own],
        n=topics.n[own],
        tightness=float(topics.tightness[own][0]),
        certainty=topics.certainty[own],
        temperature=float(temperatures.temperature[temperatures.slice == index][0]),
        words=[words[int(topic)] for topic in topics.topic[own]],
    )
