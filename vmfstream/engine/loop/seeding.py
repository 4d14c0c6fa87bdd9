"""Seeds as directions in the vocabulary of the moment at which the first topics are fitted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Matrix
from vmfstream.errors import InputError
from vmfstream.records import Documents
from vmfstream.seeds import Seed
from vmfstream.text.encoders import TextEncoder

log = logging.getLogger(__name__)

PART_COSINE = 0.1
"""Cosine of a topic's mean with a seed from which on it is a part of the seed's topic. On New York Times headlines and
newsgroup posts the mean F1 of named classes is the same from .08 to .12, and larger than without parts."""


class Seeding:
    """Turns seeds into unit vectors by an encoder of its own, so that the stream's vocabulary does not notice.

    Parameters
    ----------
    seeds : in the order of the ids that their topics get.
    make_encoder : makes one like the run's.

    Attributes
    ----------
    names : of the seeds that have a direction, in order, once `directions` was called.
    newest : the directions that it returned last.

    Raises
    ------
    InputError
        If a seed has no word that could ever count: all are stop words, or none is a word.
    """

    def __init__(self, seeds: Sequence[Seed], make_encoder: Callable[[], TextEncoder]) -> None:
        self._seeds, self._make_encoder = seeds, make_encoder
        self.names: list[str] = []
        self.newest: Matrix | None = None
        encoder = make_encoder()
        for one in seeds:
            if not len(encoder.count(_documents(one.texts)).terms):
                raise InputError(
                    f"the topic {one.name!r} has no word that counts: all are stop words, or none is a word"
                )

    def directions(self, encoder: TextEncoder, *, begun: bool = False) -> Matrix | None:
        """Return the directions (D, J) of the seeds in the vocabulary of ``encoder``, None if there are none.

        Before the first topics have ``begun``, a seed none of whose words is known is left out, and what is not known
        is told. Afterwards the seeds with a topic have a column each; it is zero where no word is known any more.
        """
        seeds = [one for one in self._seeds if not begun or one.name in self.names]
        reader = self._make_encoder()
        reader.restore(encoder.blank_state())
        totals = [np.asarray(_rows(reader, one.texts).sum(axis=0), np.float64).ravel() for one in seeds]
        lengths = [float(np.linalg.norm(total)) for total in totals]
        if not begun:
            self.names = [one.name for one, length in zip(seeds, lengths, strict=True) if length]
            self._tell(reader)
        pairs = zip(totals, lengths, strict=True)
        found = [(total / (length or 1.0)).astype(np.float32) for total, length in pairs if length or begun]
        self.newest = np.ascontiguousarray(np.stack(found, axis=1)) if found else None
        return self.newest

    def parts(self, ids: NDArray[np.int64], f: Matrix) -> NDArray[np.int64]:
        """Return for each topic the topic of the seed that it is a part of, -1 for none; the seeds' own are their own.

        People name a class by a few words, and often it is more than one topic: those that were found, and whose means
        are near to a seed, are told as its parts.

        Parameters
        ----------
        ids : (K,) of the topics; the seeds' topics are the first that there were.
        f : (D, >= K) their natural vectors, in the vocabulary of the newest directions.
        """
        seeds = np.zeros((len(f), 0), np.float32) if self.newest is None else self.newest
        own = np.arange(seeds.shape[1])
        if not np.isin(own, ids).any():
            return np.full(len(ids), -1)
        means = f[:, : len(ids)] / np.maximum(np.linalg.norm(f[:, : len(ids)], axis=0), 1e-12)
        cosine = np.where(np.isin(own, ids), means.T @ seeds, -1.0)
        nearest = np.where(cosine.max(axis=1) >= PART_COSINE, cosine.argmax(axis=1), -1)
        return np.where(np.isin(ids, own), ids, nearest)

    def _tell(self, reader: TextEncoder) -> None:
        for one in self._seeds:
            missing = [word for word in one.words if not _rows(reader, [word]).nnz]
            if one.name not in self.names:
                log.warning("the topic %r is left out: the documents so far have none of its words", one.name)
            elif missing:
                words = ", ".join(map(repr, missing))
                log.warning("the topic %r begins without words that few documents have so far: %s", one.name, words)


def _rows(reader: TextEncoder, texts: Sequence[str]) -> csr_array:
    return reader.encode(reader.count(_documents(texts)))


def _documents(texts: Sequence[str]) -> Documents:
    n = len(texts)
    return Documents(["seeds"] * n, np.arange(n), [""] * n, np.zeros(n, np.int64), list(texts))
