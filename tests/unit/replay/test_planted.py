from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.errors import InputError
from vmfstream.records import Document, Message
from vmfstream.replay.planted import PlantedDocument, PlantedSource, PlantedStream
from vmfstream.replay.planted.sentences import ASIDES, BODIES, CLOSERS, COMMON, HEADLINES, LEADS
from vmfstream.replay.planted.topics import PLANTED_TOPICS, TOPICAL
from vmfstream.replay.planted.truth import TruthEvent, recovery

SMALL = PlantedStream(documents_per_slice=60)

DIGEST = """
import hashlib
from vmfstream.replay.planted import PlantedStream
digest = hashlib.sha256()
for document in PlantedStream(seed=5, documents_per_slice=20).documents():
    digest.update(repr(document).encode())
print(digest.hexdigest())
"""


def by_topic(documents: list[PlantedDocument], topic: str) -> list[PlantedDocument]:
    number = [topic.name for topic in PLANTED_TOPICS].index(topic)
    return [document for document in documents if document.truth == number]


def words(documents: list[PlantedDocument]) -> Counter[str]:
    return Counter(word for document in documents for word in re.findall(r"[a-z-]+", document.text.lower()))


@pytest.fixture(scope="module")
def documents() -> list[PlantedDocument]:
    return list(PlantedStream(documents_per_slice=200, asides=0.0).documents())


def test_every_process_gets_the_same_documents() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    digest = hashlib.sha256()
    for document in PlantedStream(seed=5, documents_per_slice=20).documents():
        digest.update(repr(document).encode())
    assert digests == {digest.hexdigest() + "\n"}


def test_the_seed_chooses_the_documents_and_not_the_truth() -> None:
    other = PlantedStream(seed=1, documents_per_slice=60)
    assert next(SMALL.documents()).text != next(other.documents()).text
    assert SMALL.truth.events == other.truth.events


@pytest.mark.parametrize("start", [0, 1, 399, 1000, 1001, 2500, 5199])
def test_starting_anywhere_equals_the_rest_of_the_whole(start: int) -> None:
    # 2,600 documents in each of the first slices: several blocks per slice
    stream = PlantedStream(documents_per_slice=2600)
    rest = list(islice(stream.documents(start), 60))
    assert rest == list(islice(stream.documents(), start, start + 60))


def test_slices_are_the_months_of_their_documents() -> None:
    found = [document for index in range(SMALL.slices) for document in SMALL.slice(index)]
    assert found == list(SMALL.documents())
    assert len(found) == SMALL.total
    for index in (0, 7, 23):
        assert {document.time.strftime("%Y-%m") for document in SMALL.slice(index)} == {SMALL.labels[index]}
    assert SMALL.labels[0] == "2021-01"
    assert SMALL.labels[-1] == "2022-12"


def test_time_never_goes_back_and_ids_are_unique(documents: list[PlantedDocument]) -> None:
    times = [document.time for document in documents]
    assert times == sorted(times)
    assert len({document.id for document in documents}) == len(documents)


def test_topics_can_be_had_without_the_text() -> None:
    np.testing.assert_array_equal(SMALL.topics(), [document.truth for document in SMALL.documents()])


def test_the_dead_are_silent_and_the_unborn_absent() -> None:
    stream = PlantedStream(documents_per_slice=300, asides=1.0)
    counts = np.zeros((stream.slices, len(PLANTED_TOPICS)), dtype=int)
    for index in range(stream.slices):
        for document in stream.slice(index):
            counts[index, document.truth] += 1
    for topic in stream.truth.topics:
        lives = np.zeros(stream.slices, dtype=bool)
        lives[topic.birth : topic.death] = True
        assert not counts[~lives, topic.topic].any()
        assert (topic.expected[lives] > 0).all()
        assert not topic.expected[~lives].any()
        assert counts[topic.birth, topic.topic] > 0
    after = [text for index in range(10, 24) for text in (document.text for document in stream.slice(index))]
    assert not any("picket lines" in text for text in after)  # not even asides speak of the strike


def test_counts_agree_with_the_expectation() -> None:
    stream = PlantedStream(documents_per_slice=2000)
    expected = np.column_stack([topic.expected for topic in stream.truth.topics])
    topics = stream.topics()
    index = np.repeat(np.arange(stream.slices), np.rint(expected.sum(axis=1)).astype(int))
    counts = np.zeros_like(expected)
    np.add.at(counts, (index, topics), 1)
    alive = expected > 0
    z = (counts[alive] - expected[alive]) / np.sqrt(expected[alive])
    assert np.abs(z).max() < 5
    assert stream.total == pytest.approx(24 * 2000, rel=0.001)


def test_the_truth_names_every_kind_of_event() -> None:
    kinds = Counter(event.kind for event in SMALL.truth.events)
    assert kinds["born"] >= 2
    assert kinds["dormant"] >= 2
    assert kinds["merged"] == kinds["split"] == 1
    assert kinds["drift"] >= 2
    assert kinds["burst"] >= 2
    assert TruthEvent("merged", 12, 2, 1) in SMALL.truth.events
    assert TruthEvent("split", 14, 8, 9) in SMALL.truth.events
    assert 0 in SMALL.truth.alive(9)
    assert 0 not in SMALL.truth.alive(10)


def test_leading_words_of_a_phase_are_those_that_are_written(documents: list[PlantedDocument]) -> None:
    stream = PlantedStream(documents_per_slice=200, asides=0.0)
    shared = set(re.findall(r"[a-z-]+", " ".join([*sum(COMMON.values(), ()), *LEADS, *BODIES, *CLOSERS]).lower()))
    functions = {"off", "behind", "above", "along", "beyond"}
    bounds = np.cumsum([0, *(sum(1 for _ in stream.slice(index)) for index in range(24))])
    for topic in stream.truth.topics:
        for phase in topic.phases:
            if phase.ends - phase.begins < 24 and len(topic.phases) > 1 and phase.begins > topic.birth:
                continue  # a cross-fading phase is told with words of its neighbours too
            shown = documents[bounds[phase.begins] : bounds[phase.ends]]
            counted = words([document for document in shown if document.truth == topic.topic])
            common = [word for word, _ in counted.most_common(90) if word not in shared | functions][:25]
            assert len(set(phase.words[:8]) & set(common)) >= 5, (topic.name, phase.name)


def test_drift_moves_the_words(documents: list[PlantedDocument]) -> None:
    phones = by_topic(documents, "phones")
    early, late = words(phones[:80]), words(phones[-80:])
    assert early["handsets"] > 5 * late["handsets"]
    assert late["touchscreens"] > 5 * early["touchscreens"]
    assert early["keypads"] > 0


def test_phases_fade_into_each_other(documents: list[PlantedDocument]) -> None:
    phones = by_topic(documents, "phones")
    months = ["2021-06", "2021-08", "2021-10"]
    counts = [words([one for one in phones if one.time.strftime("%Y-%m") == month]) for month in months]
    old = ("handsets", "keypads", "text", "dialled", "ringtones", "prepaid")
    shares = [sum(count[word] for word in old) / count.total() for count in counts]
    assert shares[0] > 1.3 * shares[1] > 1.3 * 1.3 * shares[2] > 0


def test_a_merger_speaks_both_languages(documents: list[PlantedDocument]) -> None:
    clean = by_topic(documents, "solar power")
    before, after = words(clean[:100]), words(clean[-200:])
    assert before["turbines"] == 0
    assert after["turbines"] > 10
    assert after["solar"] > 10


def test_a_split_parts_the_words(documents: list[PlantedDocument]) -> None:
    space = by_topic(documents, "space")
    before, after = words(space[:100]), words(space[-100:])
    assert before["rockets"] > 5
    assert after["rockets"] == 0
    assert words(by_topic(documents, "moon rocket"))["rockets"] > 5


def test_documents_read_like_short_news(documents: list[PlantedDocument]) -> None:
    lengths = np.array([len(f"{document.title} {document.text}".split()) for document in documents])
    assert 35 < lengths.mean() < 60
    assert (lengths >= 20).mean() > 0.99
    assert lengths.max() < 95
    for document in documents[::7]:
        assert document.text.endswith(".") or document.text.endswith('."')
        assert document.text[0].isupper() or document.text[0] == '"'
        assert document.title[0].isupper()
        assert not re.search(r"[{}%]|  |\ba [aeio]", f"{document.title} {document.text}"), document


def test_frames_use_known_slots_and_lists_have_no_repeats() -> None:
    known = {*TOPICAL, *COMMON}
    for frame in (*HEADLINES, *LEADS, *BODIES, *ASIDES, *CLOSERS):
        assert {slot.lower() for slot in re.findall(r"\{(\w+)\}", frame)} <= known
        assert "%" not in frame
    for entries in COMMON.values():
        assert len(set(entries)) == len(entries)
    for topic in PLANTED_TOPICS:
        for phase in topic.phases:
            for kind in TOPICAL:
                entries = phase.entries(kind)
                assert len(set(entries)) == len(entries), (topic.name, phase.name, kind)
                assert all(entries)
        assert sum(len(phase.entries(kind)) for phase in topic.phases for kind in TOPICAL) >= 55, topic.name


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_stream() -> None:
    stream = PlantedStream(documents_per_slice=1500)
    peaks = []
    tracemalloc.start()
    try:
        documents = stream.documents()
        for _ in range(3):
            for _document in islice(documents, 6_000):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()
    finally:
        tracemalloc.stop()
    assert max(peaks[1:]) < 1.2 * peaks[0]
    assert peaks[0] < 12_000_000


def test_stretched_streams_keep_their_events() -> None:
    for slices in (12, 36):
        stream = PlantedStream(slices=slices, documents_per_slice=30)
        kinds = Counter(event.kind for event in stream.truth.events)
        assert kinds["born"] >= 2
        assert kinds["merged"] == kinds["split"] == 1
        assert stream.total == len(list(stream.documents()))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seed": -1}, "seed"),
        ({"slices": 5}, "slices"),
        ({"documents_per_slice": 0}, "documents_per_slice"),
        ({"asides": 1.5}, "asides"),
        ({"begins": "2021-13"}, "begins"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        PlantedStream(**arguments)  # type: ignore[arg-type]


def drain(source: PlantedSource, limit: int = 97) -> list[Message]:
    messages: list[Message] = []
    while not source.exhausted:
        messages.extend(source.poll(limit, 0.0))
    return messages


def test_the_source_hands_out_every_document() -> None:
    source = PlantedSource(SMALL)
    messages = drain(source)
    assert [message.offset for message in messages] == list(range(SMALL.total))
    assert source.total == SMALL.total
    assert source.poll(5, 0.0) == []
    decoded = FieldCodec(meta=("truth",)).decode(messages[3])
    assert isinstance(decoded, Document)
    written = next(SMALL.documents(3))
    assert (decoded.id, decoded.time, decoded.title, decoded.text) == (
        written.id,
        written.time,
        written.title,
        written.text,
    )
    assert decoded.meta["truth"] == written.truth


def test_seeking_equals_reading_on() -> None:
    whole = drain(PlantedSource(SMALL))
    source = PlantedSource(SMALL)
    source.poll(1000, 0.0)
    for start in (700, 0, SMALL.total):
        source.seek({"planted": start})
        assert [message.value for message in drain(source)] == [message.value for message in whole[start:]]
    source.seek({})
    assert source.poll(1, 0.0)[0].value == whole[0].value
    source.close()
    source.close()


def test_recovery_ignores_the_numbers_of_topics() -> None:
    assert recovery([0, 0, 1, 2], [5, 5, 3, 9]) == recovery([1, 1, 0, 2], [0, 0, 1, 2])
    assert recovery([0, 0, 1, 1], [1, 1, 0, 0]).nmi == pytest.approx(1.0)
    assert recovery([0, 1, 0, 1], [0, 0, 1, 1]).ari < 0.1
    with pytest.raises(ValueError, match="length"):
        recovery([0, 1], [0])


@pytest.mark.thorough
def test_a_static_mixture_finds_most_and_not_all() -> None:
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfVectorizer

    stream = PlantedStream()
    rows = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit_transform(
        document.text for document in stream.documents()
    )
    found = recovery(stream.topics(), KMeans(16, n_init=3, random_state=0).fit_predict(rows))
    assert 0.75 < found.nmi < 0.95
