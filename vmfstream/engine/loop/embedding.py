"""Vectors of texts, made where messages are decoded: in the thread that reads ahead, or in the workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.protocols import Codec, ColumnCodec
from vmfstream.records import Document, Documents, Message, Rejected

if TYPE_CHECKING:
    from vmfstream.text.sentence_models import SentenceModel

_EXCERPT = 200


class EmbeddingCodec:
    """Decodes as another codec does, and gives the documents the vectors of their texts.

    A text that the model fails on, or makes other than finite numbers of, is rejected with the reason.

    Parameters
    ----------
    codec : what decodes messages.
    load : returns the model; called when the first message comes, once in each process.
    name : what the model is called in reasons.
    """

    def __init__(self, codec: Codec | ColumnCodec, load: Callable[[], SentenceModel], name: str) -> None:
        self._codec, self._load, self._name = codec, load, name
        self.seconds = 0.0
        """Seconds spent in the model so far."""

    @cached_property
    def model(self) -> SentenceModel:
        """The model."""
        return self._load()

    def decode(self, message: Message) -> Document | Rejected:
        """Decode one message."""
        found = self.decode_all([message])
        return found.rejected.get(0) or found[0]

    def decode_all(self, messages: Sequence[Message]) -> Documents:
        """Decode messages and embed their texts.

        Raises
        ------
        InputError
            If the model fails on all of several texts.
        """
        documents = self._decoded(messages)
        began = time.perf_counter()
        lacking = [
            at
            for at, text in enumerate(documents.text)
            if at not in documents.rejected and (documents.vector is None or documents.vector[at] is None)
        ]
        found, reasons = self._embedded([documents.text[at] or "" for at in lacking])
        self.seconds += time.perf_counter() - began
        vectors = list(documents.vector or [None] * len(documents))
        rejected, names, texts = dict(documents.rejected), list(documents.id), list(documents.text)
        for place, (at, vector) in enumerate(zip(lacking, found, strict=True)):
            if place in reasons:
                part, offset = documents.part[at], int(documents.offset[at])
                rejected[at] = Rejected(part, offset, reasons[place], (texts[at] or "")[:_EXCERPT])
                names[at], texts[at] = "", None
            else:
                vectors[at] = vector
        if not reasons:
            return replace(documents, vector=vectors)
        return replace(documents, id=names, text=texts, vector=vectors, rejected=rejected)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "model"}

    def _decoded(self, messages: Sequence[Message]) -> Documents:
        if isinstance(self._codec, ColumnCodec):
            return self._codec.decode_all(messages)
        return Documents.of([self._codec.decode(message) for message in messages])

    def _embedded(self, texts: list[str]) -> tuple[NDArray[np.float32], dict[int, str]]:
        """Return the vectors of texts, and why some have none, by their places."""
        reasons: dict[int, str] = {}
        failure: Exception | None = None
        try:
            vectors = self.model.embed(texts)
        except InputError:
            raise
        except Exception as error:
            failure = error
            vectors, reasons = self._one_by_one(texts)
        for at in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
            reasons.setdefault(at, f"{self._name} made numbers of the text that are not finite")
        if len(reasons) == len(texts) > 1:
            raise InputError(f"{self._name} failed on all of {len(texts)} texts: {failure or reasons[0]}") from failure
        return vectors, reasons

    def _one_by_one(self, texts: list[str]) -> tuple[NDArray[np.float32], dict[int, str]]:
        vectors = np.zeros((len(texts), self.model.dimension), np.float32)
        reasons: dict[int, str] = {}
        for at, text in enumerate(texts):
            try:
                vectors[at] = self.model.embed([text])[0]
            except Exception as error:
                reasons[at] = f"{self._name} failed with {type(error).__name__}: {error}"
        return vectors, reasons
