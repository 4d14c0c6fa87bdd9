"""`FrozenModel`: texts in; topic, probability, story and novelty out. Nothing is learnt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from vmfstream.directional.kernels import padded, zeros
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError, NotNamedAgain
from vmfstream.frozen.parts import ModelParts
from vmfstream.frozen.zero_shot import ONLY_KNOWN, with_seeds
from vmfstream.locks import CopyableLock
from vmfstream.online.belief import Belief, label, lowest_cosine, new_topic_log_density, score_polynomial
from vmfstream.protocols import ColumnCodec
from vmfstream.records import Arrays, Documents, arrays_under
from vmfstream.seeds import seeds_of
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import StorySettings
from vmfstream.stories.weights import RunningTfidf
from vmfstream.text.counts import Counts
from vmfstream.text.encoders import TextEncoder, WordCounting
from vmfstream.text.given_texts import checked_texts
from vmfstream.text.own_tokeniser import Cut
from vmfstream.text.sentence_models import Embed

_BATCH = 5_000  # documents that are labelled at once, which bounds memory
_NEW_WORDS = 2**17  # unknown words after which the vocabulary is read anew, which bounds memory


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """What N documents got; columns.

    ``topic`` and ``story`` are -1 for none, ``probability`` and ``novelty`` NaN without a topic. ``name`` is that of
    the topic, None without one.
    """

    topic: NDArray[np.int64]
    name: NDArray[np.object_]
    probability: NDArray[np.float32]
    story: NDArray[np.int64]
    novelty: NDArray[np.float32]

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {
            "topic": self.topic,
            "name": self.name,
            "probability": self.probability,
            "story": self.story,
            "novelty": self.novelty,
        }


class FrozenModel:
    """What a run knows at one moment: its topics and living stories, which texts are labelled by.

    Made by `load`, of a run file or of a model that ``vmfstream freeze`` or `save` has written, and by
    `vmfstream.TopicTracker.freeze`. It learns nothing and never changes. Several threads may label by it: they take
    turns.

    Parameters
    ----------
    parts : ModelParts
        Of `vmfstream.frozen.parts` or `vmfstream.frozen.storage`, which have checked them.
    tokeniser, embed : callable or str, optional
        The function or model that the settings in ``parts`` name, see `load`.

    Examples
    --------
    >>> from vmfstream import TopicTracker
    >>> tracker = TopicTracker(topics=2, slices="year")
    >>> texts = ["cat fur paw", "ship sea harbour"] * 20
    >>> _ = tracker.learn(texts, 2001).learn(texts, 2002)
    >>> labels = tracker.freeze().label(["the ship left the harbour", "a cat", "nothing known"])
    >>> labels["name"].tolist(), labels["topic"].tolist(), labels["story"].tolist()
    (['ship sea harbour, cat fur, paw', 'cat fur paw, sea harbour, ship', None], [1, 0, -1], [1, 0, -1])
    """

    def __init__(
        self, parts: ModelParts, *, tokeniser: Cut | str | None = None, embed: Embed | str | None = None
    ) -> None:
        self._parts, self._tokeniser, self._embed = parts, tokeniser, embed
        self._lock = CopyableLock()  # the encoder numbers new words
        arrays = parts.arrays
        self._settings = RunSettings.from_text(parts.about["settings"])
        self._encoder = self._settings.encoder(tokeniser, embed)
        self._stored = arrays_under(arrays, "encoder.")
        if isinstance(self._encoder, WordCounting):
            self._encoder.vocabulary.reserve(_NEW_WORDS)
        self._encoder.restore(self._stored)
        kappa, lowest, temperature = arrays["topics.scalars"].tolist()
        self._ids = arrays["topics.ids"]
        d, k = arrays["topics.f"].shape
        f = zeros(d, padded(k))
        f[:, :k] = arrays["topics.f"]
        self._belief = Belief(f, arrays["topics.gamma"], kappa, arrays["topics.log_weights"], lowest)
        self._polynomial = score_polynomial(self._belief)
        self._beta = 1.0 / temperature
        self._anchor = arrays["topics.anchor"]
        names = [topic["name"] for topic in parts.about["topics"]]
        self._names = np.array([*names, None], np.object_)
        self._stories = _Stories.of(arrays_under(arrays, "stories."))
        self._only_known = bool(parts.about.get(ONLY_KNOWN, False))

    @property
    def topic_ids(self) -> NDArray[np.int64]:
        """Numbers of the topics, (K,)."""
        return self._ids.copy()

    @property
    def topics(self) -> list[dict[str, Any]]:
        """The topics: ``topic`` (number), ``name``, and ``words``, ten pairs of word and weight."""
        return [dict(topic) for topic in self._parts.about["topics"]]

    @property
    def title(self) -> str:
        """The title of the stream."""
        return str(self._parts.about["title"])

    @property
    def slice(self) -> str:
        """Label of the slice that was open at that moment, or at whose end the topics stood so."""
        return str(self._parts.about["slice"])

    @property
    def follows_stories(self) -> bool:
        """Whether documents can be given stories."""
        return self._stories is not None

    @property
    def dimension(self) -> int:
        """Length of the vectors that are labelled instead of texts, 0 for texts."""
        return self._settings.dimension

    @property
    def parts(self) -> ModelParts:
        """What the model is made of."""
        return self._parts

    @classmethod
    def load(
        cls,
        path: str | Path,
        at: str | int | None = None,
        *,
        tokeniser: Cut | str | None = None,
        embed: Embed | str | None = None,
    ) -> FrozenModel:
        """Read a model that was frozen, or what a run file knows at its last commit, also while it is written.

        Parameters
        ----------
        path : str or Path
            A run file, or a model: a zip file or a folder.
        at : str or int, optional
            Label of an earlier slice of a run file, such as ``"2003"`` or ``2003``: the topics are those of its end, as
            far as the run file keeps them, see `vmfstream.frozen.parts.past_parts`; there are no stories.
        tokeniser, embed : callable or str, optional
            The function or model that the run was made with, or its name: what a file asks for is only loaded if its
            user names it too, since it is code. ``wordllama`` needs no naming.

        Raises
        ------
        NotNamedAgain
            If the file asks for a function or model that is not named.
        InputError
            If there is no such file, it is none of these or damaged, there are no topics yet, no such slice, or ``at``
            is given for a model.
        FormatVersion
            If it was written by a newer version.
        StoreLocked
            If another process does not release the run file in time.
        """
        from vmfstream.frozen.storage import is_model, read_model

        path = Path(path).expanduser()
        if is_model(path):
            if at is not None:
                raise InputError(f"{path} holds one moment; topics of an earlier slice are in the run file")
            parts = read_model(path)
            try:
                return cls(parts, tokeniser=tokeniser, embed=embed)
            except NotNamedAgain:
                raise
            except (ValueError, KeyError, InputError) as error:  # MissingExtra is told as it is
                raise InputError(f"the model {path} is damaged, or of other settings than it says: {error}") from error
        from vmfstream.frozen.run_file import parts_of_run
        from vmfstream.runfile.queries import label_of

        named: Any = {"tokeniser": tokeniser, "embed": embed}
        return cls(parts_of_run(path, label_of(at), **named), **named)

    def with_topics(self, topics_from: Any) -> FrozenModel:
        """Return a model with the same vocabulary and stories whose topics are only named: zero-shot labels.

        A topic is known by its words alone. A document gets the one that explains it best, or none if a topic of which
        nothing is known explains it as well; probabilities are those of the model, and not calibrated.

        Parameters
        ----------
        topics_from : str, Path, mapping or sequence
            Topics as of `vmfstream.TopicTracker`: a TOML file, a mapping of names to words, or mappings with ``name``,
            ``words`` and ``documents``. They are numbered from 0.

        Raises
        ------
        InputError
            If it is none of these, the model has no words, or it knows none of the words.

        Examples
        --------
        >>> from vmfstream import TopicTracker
        >>> texts = ["cat fur paw", "ship sea harbour"] * 20
        >>> model = TopicTracker(topics=2, slices="year").learn(texts, 2001).learn(texts, 2002).freeze()
        >>> named = model.with_topics({"Pets": ["fur", "paw"], "Travel": ["harbour"]})
        >>> named.label(["fur on a paw", "the harbour", "the sea"])["name"].tolist()
        ['Pets', 'Travel', None]
        """
        if not isinstance(self._encoder, TextEncoder):
            raise InputError("topics to label by are told by words; this model labels vectors")
        parts = with_seeds(self._parts, seeds_of(topics_from), self._encoder, self._tokeniser)
        return FrozenModel(parts, tokeniser=self._tokeniser, embed=self._embed)

    def save(self, path: str | Path) -> None:
        """Write the model: a zip file if the name ends in .zip, else a folder; see docs/run-file.md for what is in it.

        Raises
        ------
        InputError
            If there is something already, or the path cannot be written.
        """
        from vmfstream.frozen.storage import write_model

        write_model(self._parts, Path(path).expanduser())

    def label(self, texts: Sequence[str] | None = None, vectors: ArrayLike | None = None) -> dict[str, NDArray[Any]]:
        """Return the labels of texts, or of vectors, as columns that become a DataFrame.

        Parameters
        ----------
        texts : sequence of N str, optional
            Not needed where there are vectors; without texts these have no stories.
        vectors : (N, D) array_like, optional
            For a run that follows vectors: those of the documents.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            ``topic`` (-1 for texts without a known word), ``name`` (of the topic), ``probability`` (calibrated),
            ``story`` (of the living ones; -1 where a new one would open, and without stories) and ``novelty`` (nats by
            which a new topic would explain the text better than all known ones; NaN where the topic is -1). Each text
            is labelled as if it came next, by itself.

        Raises
        ------
        InputError
            If ``texts`` is one string or a table, or holds anything but strings, or vectors are missing, of another
            shape or not finite.
        """
        rows = self._checked(vectors)
        texts = checked_texts(texts) if rows is None or texts is not None else [""] * len(rows)
        n = len(texts)
        if rows is not None and len(rows) != n:
            raise InputError(f"vectors: expected one for each of {n} texts, got {len(rows)}")
        columns = None if rows is None else list(rows)
        documents = Documents(["texts"] * n, np.arange(n), [""] * n, np.zeros(n, np.int64), texts, vector=columns)
        return self.label_documents(documents).columns()

    def with_vectors(self, codec: ColumnCodec) -> ColumnCodec:
        """Return a ``codec`` that also gives documents the vectors of their texts, where a sentence model makes them.

        It rejects texts on which the model fails. Otherwise it is the one given.
        """
        return self._settings.embedding(codec, self._embed) or codec

    def label_documents(self, documents: Documents) -> Labels:
        """Return the labels of decoded documents, of which none is rejected."""
        found = []
        for low in range(0, max(len(documents), 1), _BATCH):
            with self._lock:
                found.append(self._label(documents[low : low + _BATCH]))
        if len(found) == 1:
            return found[0]
        return Labels(*(np.concatenate(parts) for parts in zip(*map(_fields, found), strict=True)))

    def _label(self, documents: Documents) -> Labels:
        counts = self._encoder.count(documents)
        x = self._encoder.encode(counts)
        belief, polynomial = self._belief, self._polynomial
        lowest = lowest_cosine([x])
        if lowest < belief.lowest_cosine:
            belief = belief._replace(lowest_cosine=lowest)
            polynomial = score_polynomial(belief)
        found = label(x, belief, threads=1, poly=polynomial, beta=self._beta)
        new = new_topic_log_density(x, self._anchor, belief.kappa) - found.loglik
        strongest = found.label if not self._only_known else np.where(new < 0.0, found.label, -1)
        known = strongest >= 0
        stories = np.full(len(documents), -1, np.int64)
        if self._stories is not None and isinstance(self._encoder, WordCounting):
            stories = self._stories.label(self._encoder.word_counts(counts), self._encoder.vectors_beside(counts))
        if isinstance(self._encoder, WordCounting) and self._encoder.vocabulary.crowded:
            self._encoder.restore(self._stored)
        return Labels(
            np.where(known, self._ids[strongest], -1),
            self._names[strongest],
            np.where(known, found.sure, np.float32(np.nan)),
            stories,
            np.where(known, new, np.nan).astype(np.float32),
        )

    def _checked(self, vectors: ArrayLike | None) -> NDArray[np.float32] | None:
        d = self._settings.dimension
        if not d:
            if vectors is not None:
                raise InputError("vectors: this model labels texts, got vectors")
            return None
        if vectors is None:
            raise InputError(f"vectors: this model labels vectors of {d} numbers, got texts only")
        try:
            rows = np.asarray(vectors, np.float32)
        except (TypeError, ValueError):
            raise InputError(
                f"vectors: expected an array of numbers, (N, {d}), got {type(vectors).__name__}; numpy.stack makes one "
                "of a column of vectors"
            ) from None
        if rows.ndim != 2 or rows.shape[1] != d:
            raise InputError(f"vectors: expected the shape (N, {d}), got {rows.shape}")
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            raise InputError(f"vectors: expected finite numbers, got others in row {np.argmin(finite)}")
        return rows

    def __repr__(self) -> str:
        stories = f", {self._stories.mixture.n_stories:,} living stories" if self._stories is not None else ""
        return f"FrozenModel({self.title!r}, slice {self.slice}): {len(self._ids)} topics{stories}"


@dataclass(frozen=True, slots=True, eq=False)
class _Stories:
    """The living stories of a run and its weights of words."""

    mixture: SequentialMixture
    weights: RunningTfidf

    @classmethod
    def of(cls, arrays: Arrays) -> _Stories | None:
        if not arrays:
            return None
        settings = StorySettings.from_numbers(arrays["settings"])
        mixture = SequentialMixture.from_arrays(settings, arrays_under(arrays, "mixture."))
        return cls(mixture, RunningTfidf.from_arrays(arrays_under(arrays, "weights.")))

    def label(self, counts: Counts, vectors: NDArray[np.float32] | None) -> NDArray[np.int64]:
        """Return the story that each document would join if it came next, -1 for a new one or no words."""
        mixture = self.mixture
        columns = max(mixture.columns, len(self.weights.document_frequency), int(counts.terms.max(initial=-1)) + 1)
        mixture.widen(columns)
        rows = csr_array((counts.counts, counts.terms, counts.indptr), shape=(len(counts), columns))
        found = mixture.predict(self.weights.weigh_next(rows), vectors=vectors if mixture.vectors else None)
        return np.where(found == mixture.next_id, -1, found)


def _fields(labels: Labels) -> Iterator[NDArray[Any]]:
    return iter(labels.columns().values())
