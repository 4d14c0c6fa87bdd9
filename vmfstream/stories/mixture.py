"""The sequential mixture: rows in, labels on arrival out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Rows
from vmfstream.locks import CopyableLock
from vmfstream.stories.ends import TOP_WORDS, RetiredArrays
from vmfstream.stories.grain import COUNT, GRAINS, set_grain, weight_of
from vmfstream.stories.lists import more_lists, wider_pool
from vmfstream.stories.memory import (
    DOCUMENTS,
    DONE,
    LIVING,
    NEEDS_PLACES,
    NEEDS_POOL,
    NEEDS_RETIRED,
    NEEDS_SLOTS,
    NEWEST,
    NEXT_ID,
    empty_memory,
    more_slots,
)
from vmfstream.stories.passes import RowArrays, label_rows, learn_rows, place_stories
from vmfstream.stories.settings import AUTO, StorySettings, constants
from vmfstream.stories.shortening import shortened
from vmfstream.stories.sums import strongest_story_words, sums_by_story

_RETIRED_PLACES = 64
_NO_VECTORS = np.zeros((0, 0), np.float32)


class Living(NamedTuple):
    """The living stories, those that were joined longest ago first; times are as they were given."""

    ids: NDArray[np.int64]
    size: NDArray[np.int64]
    """Documents of each."""
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    sums: Rows
    """(S, D) sums of their rows times their weights, float32: a csr_array, or dense if rows are."""


class Retired(NamedTuple):
    """Stories that ended, in this order: nobody joined them, or they were merged; times are as they were given."""

    ids: NDArray[np.int64]
    size: NDArray[np.int64]
    """Documents of each."""
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    words: NDArray[np.int32]
    """(R, 20) columns with the largest weights in absolute value, -1 where there are fewer."""
    weights: NDArray[np.float32]
    """(R, 20) their weights in the mean direction."""
    into: NDArray[np.int64]
    """(R,) the stories that they were merged into, -1 for those that nobody joined."""
    evidence: NDArray[np.float64]
    """(R,) log Bayes factor for one story instead of two, less log alpha; NaN for those that nobody joined."""


class Learnt(NamedTuple):
    """What learning rows gave: their labels (N,), -1 for rows of zeros, and the stories that ended meanwhile.

    ``cosines`` (N,) are those with the mean direction of the story before the row joined it, 0 for one that opened a
    story.
    """

    labels: NDArray[np.int64]
    retired: Retired
    cosines: NDArray[np.float32]


class SequentialMixture:
    """Sequential Dirichlet-process mixture of von Mises-Fisher distributions whose clusters have a tempo.

    Documents x are unit rows; story c has n_c documents, the sum r_c of their rows times their weights w, came first at
    s_c and last at t_c. A document that arrives at t joins for good the most probable of the stories and of a new one:

        log p(x | c)   = L(w kappa) + L(kappa r_c + C_0 m_0) - L(kappa (r_c + w x) + C_0 m_0)
        log p(x | new) = L(w kappa) + L(C_0) - L(w kappa x + C_0 m_0)
        log P(c)       = log n_c + log(n_c b_0 / b_c) - (n_c + 1) log(1 + (t - t_c) / b_c),   b_c = b_0 + t_c - s_c
        log P(new)     = log alpha

    with L(v) = log C_D(|v|), w kappa the concentration of the document, w = 1 if a grain is given (see
    `vmfstream.stories.grain`), the mean direction integrated out under its prior vMF(m_0, C_0), and m_0 orthogonal to
    all documents. P(c) is that of a Chinese restaurant process times the predictive density of the gap t - t_c in units
    of b_0: gaps of a story are exponential, their rate has an exponential prior of mean 1 / b_0. A story of one
    document loses half its weight in the half-life (sqrt(2) - 1) b_0; others follow the tempo that they had. A story
    that nobody joined for 8 half-lives is retired; two that began together and prove to be the same are merged, see
    `vmfstream.stories.ends`. A document of a sparse matrix joins only stories with r_c'x other than 0; a long one that
    would open a story is judged once more, see `vmfstream.stories.grain`.

    With ``vectors`` a document has a second log p(x | c) of the same form, of its vector, with a grain, a dimension and
    w = 1 of its own (`vmfstream.stories.settings`): given their story, words and vector are independent.

    Parameters
    ----------
    settings : StorySettings
    columns : int
        Columns of the rows.
    dense : bool
        Whether rows are dense.
    vectors : int
        Length of the vectors that documents have beside their rows, such as embeddings of their sentences; 0 for none.
    fixed : bool
        Whether there will be no more columns, as always with dense rows: rows that use most of them are vectors then,
        see `vmfstream.stories.grain`.

    Notes
    -----
    Work per document: one pass over the stories that hold its words. Labels do not depend on how rows are cut into
    batches. Times are those given, or the number of documents learnt before.

    References
    ----------
    [GY14] section 3.1 for the integral over the mean direction.

    Examples
    --------
    >>> mixture = SequentialMixture(StorySettings(), columns=4)
    >>> rows = csr_array(np.eye(4, dtype=np.float32)[[0, 0, 1, 0, 1]])
    >>> mixture.learn(rows).labels.tolist()
    [0, 0, 1, 0, 1]
    """

    def __init__(
        self, settings: StorySettings, columns: int, *, dense: bool = False, vectors: int = 0, fixed: bool = False
    ) -> None:
        self.settings = settings
        self._lock = CopyableLock()  # labelling counts in the memory, too
        self._fixed = fixed or dense
        self._constants = constants(settings, columns=columns if self._fixed else 0, vectors=vectors > 0)
        self._columns = columns
        self._dense = dense
        self._timed: bool | None = None
        self._memory = empty_memory(64, columns, dense, vectors)
        set_grain(self._memory, self._constants, settings.coarsest if settings.grain == AUTO else settings.grain)

    @property
    def columns(self) -> int:
        """Columns of the rows."""
        return self._columns

    @property
    def dense(self) -> bool:
        """Whether rows are dense."""
        return self._dense

    @property
    def vectors(self) -> int:
        """Length of the vectors beside the rows, 0 for none."""
        return int(self._memory.beside.shape[1])

    @property
    def n_documents(self) -> int:
        """Documents learnt, rows of zeros left out."""
        return int(self._memory.counters[DOCUMENTS])

    @property
    def n_stories(self) -> int:
        """Living stories."""
        return int(self._memory.counters[LIVING])

    @property
    def next_id(self) -> int:
        """Id of the next story: how many were opened so far."""
        return int(self._memory.counters[NEXT_ID])

    @property
    def newest(self) -> float:
        """Newest time so far, -inf before the first document."""
        return float(self._memory.clock.sum()) if self.n_documents else -math.inf

    @property
    def grain(self) -> float:
        """The grain given, or the mean of the automatic grains of documents."""
        if self.settings.grain != AUTO:
            return self.settings.grain
        grains, documents = self._memory.scale[[GRAINS, COUNT]].tolist()
        return grains / documents if documents else self.settings.coarsest

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        memory = self._memory
        flat = [array for part in memory for array in (part if isinstance(part, tuple) else (part,))]
        return sum(int(array.nbytes) for array in flat)

    def widen(self, columns: int) -> None:
        """Accept rows with so many columns from now on, at least as many as before; for sparse rows."""
        if columns > len(self._memory.postings.start):
            room = max(columns, 2 * len(self._memory.postings.start))
            self._memory = self._memory._replace(postings=more_lists(self._memory.postings, room))
        self._columns = columns

    def columns_in_use(self) -> NDArray[np.bool_]:
        """Tell which columns a living story holds, (D,); for sparse rows."""
        return np.asarray(self._memory.postings.length[: self._columns] > 0)

    def learn(self, rows: Rows, times: ArrayLike | None = None, vectors: NDArray[np.float32] | None = None) -> Learnt:
        """Give rows their stories, one after the other, and learn them.

        Parameters
        ----------
        rows : (N, D) csr_array or dense, unit rows or rows of zeros
            A row of zeros gets the label -1 and changes nothing.
        times : (N,) array_like, optional
            Times of the rows in the unit of ``half_life``; a time before the newest one so far counts as that.
        vectors : (N, E) float32, unit rows or rows of zeros, which say nothing; with ``vectors`` only

        Raises
        ------
        ValueError
            If rows or vectors have another number of columns, times are not finite, not one per row, or given for some
            batches and not for others. Nothing is learnt then.
        """
        with self._lock:
            return self._learnt(rows, times, vectors)

    def _learnt(self, rows: Rows, times: ArrayLike | None, vectors: NDArray[np.float32] | None) -> Learnt:
        """Return what `learn` does."""
        self._check_columns(rows)
        given = self._times(times, rows.shape[0])
        beside = self._beside(vectors, rows.shape[0])
        if self._timed is None and rows.shape[0]:
            self._timed = given is not None
            self._memory.clock[1] = 0.0 if given is None else given[0]
        documents = self._documents(rows, given, beside)
        labels = np.empty(rows.shape[0], np.int64)
        cosines = np.zeros(rows.shape[0], np.float32)
        retired = _retired_places(_RETIRED_PLACES)
        handed: list[Retired] = []
        done, reason, need = 0, NEEDS_RETIRED, 0
        while reason != DONE:
            done, reason, need = learn_rows(self._memory, self._constants, documents, done, labels, cosines, retired)
            if reason == NEEDS_SLOTS:
                self._memory = more_slots(self._memory, 2 * len(self._memory.ids))
            elif reason == NEEDS_POOL:
                self._memory = self._memory._replace(pool=wider_pool(self._memory.pool, need))
            elif reason == NEEDS_PLACES:
                self._memory = self._memory._replace(places=wider_pool(self._memory.places, need))
            elif reason == NEEDS_RETIRED:
                handed.append(self._retired(retired))
                retired = _retired_places(4 * len(retired.ids))
        handed.append(self._retired(retired))
        return Learnt(labels, Retired(*(np.concatenate(parts) for parts in zip(*handed, strict=True))), cosines)

    def checked_times(
        self, rows: Rows, times: ArrayLike | None, vectors: NDArray[np.float32] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the times of rows, None where time is counted in documents.

        ``rows``, ``times`` and ``vectors`` are what `learn` takes, errors those that it raises.
        """
        self._check_columns(rows)
        self._beside(vectors, rows.shape[0])
        return self._times(times, rows.shape[0])

    def relabel(
        self,
        rows: Rows,
        times: NDArray[np.floating[Any]],
        owners: NDArray[np.int64],
        vectors: NDArray[np.float32] | None = None,
    ) -> NDArray[np.int64]:
        """Return the most probable story of rows that were learnt, (N,), as stories are now.

        A row that would be alone, or one of zeros, gets -1.

        Parameters
        ----------
        rows : (N, D), unit rows or rows of zeros
        times : (N,), when they came; where time is counted in documents, how many were learnt before each.
        owners : (N,), ids of the stories that they are in, in which they are not counted here.
        vectors : as in `learn`.
        """
        labels = np.empty(rows.shape[0], np.int64)
        documents = self._documents(rows, times.astype(np.float64), self._beside(vectors, rows.shape[0]))
        with self._lock:
            label_rows(self._memory, self._constants, documents, owners, labels)
        return np.where(labels == self.next_id, -1, labels)

    def predict(
        self, rows: Rows, times: ArrayLike | None = None, vectors: NDArray[np.float32] | None = None
    ) -> NDArray[np.int64]:
        """Return the label that each row would get if it were learnt next; `next_id` for one that opens a story.

        Parameters and errors as in `learn`; without times it is now.
        """
        self._check_columns(rows)
        beside = self._beside(vectors, rows.shape[0])
        given = self._times(times, rows.shape[0], learning=False)
        if given is None and self._timed:
            given = np.full(rows.shape[0], self._memory.clock.sum())
        labels, documents = np.empty(rows.shape[0], np.int64), self._documents(rows, given, beside)
        with self._lock:
            label_rows(self._memory, self._constants, documents, np.zeros(0, np.int64), labels)
        return labels

    def living(self) -> Living:
        """Return the living stories."""
        memory, order = self._memory, self._order()
        return Living(
            memory.ids[order],
            memory.size[order],
            memory.first[order] + memory.clock[1],
            memory.last[order] + memory.clock[1],
            self._sums(order),
        )

    def strongest(self, ids: NDArray[np.int64], n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the ``n`` strongest columns of living stories and their weights in the mean directions, (len(ids), n).

        The order is that of `Retired.words`; ``ids`` must be those of living stories.
        """
        memory = self._memory
        order = np.argsort(memory.ids, kind="stable")
        slots = order[np.searchsorted(memory.ids, ids, sorter=order)]
        words, weights = np.empty((len(ids), n), np.int32), np.empty((len(ids), n), np.float32)
        strongest_story_words(memory, slots, words, weights)
        return words, weights

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays, for `from_arrays`."""
        memory, order = self._memory, self._order()
        stored = {name: getattr(memory, name)[order] for name in ("ids", "size", "square", "first", "last")}
        sums = self._sums(order)
        if isinstance(sums, csr_array):
            stored |= {"indptr": sums.indptr.astype(np.int64), "indices": sums.indices.astype(np.int32)}
        timed = -1 if self._timed is None else int(self._timed)
        form = [self._columns, timed, 1] if self._fixed and not self._dense else [self._columns, timed]
        if self.vectors:
            stored |= {"beside": memory.beside[order], "beside_square": memory.beside_square[order]}
        return stored | {
            "values": sums.data if isinstance(sums, csr_array) else sums,
            "clock": memory.clock.copy(),
            "counters": memory.counters[[NEXT_ID, DOCUMENTS]],
            "form": np.array(form, np.int64),
            "grains": memory.scale[[GRAINS, COUNT]],
        }

    @classmethod
    def from_arrays(cls, settings: StorySettings, arrays: Mapping[str, NDArray[Any]]) -> SequentialMixture:
        """Return the mixture whose state was stored; it goes on as if it had never been stored, to the last bit.

        In states of before documents had grains of their own, all documents weigh what the grain then in force says.

        Raises
        ------
        ValueError
            If stories hold columns that there are not, or a part of the sums of vectors is missing.
        """
        columns, timed, *fixed = arrays["form"].tolist()
        if len(arrays.get("indices", ())) and not arrays["indices"].max() < columns:
            raise ValueError(f"expected words below {columns}, got {arrays['indices'].max()}")
        if ("beside" in arrays) != ("beside_square" in arrays):
            raise ValueError("expected sums of the vectors beside the words and their squares, got one of them")
        beside = arrays.get("beside", np.zeros((0, 0), np.float32))
        dense = "indptr" not in arrays
        mixture = cls(settings, columns, dense=dense, vectors=beside.shape[1], fixed=bool(fixed))
        mixture._timed = None if timed < 0 else bool(timed)
        stories = len(arrays["ids"])
        memory = more_slots(mixture._memory, max(64, stories))
        for name in ("ids", "size", "square", "first", "last"):
            getattr(memory, name)[:stories] = arrays[name]
        if mixture.vectors:
            memory.beside[:stories], memory.beside_square[:stories] = beside, arrays["beside_square"]
        memory.clock[:] = arrays["clock"]
        memory.counters[[NEXT_ID, DOCUMENTS]] = arrays["counters"]
        memory.counters[LIVING] = stories
        weight = 1.0
        if "grains" in arrays:
            memory.scale[[GRAINS, COUNT]] = arrays["grains"]
        elif settings.grain == AUTO:
            weight = float(weight_of(float(arrays["grain"][0]), settings.coarsest))
            memory.square[:stories] *= weight * weight
        free = np.arange(len(memory.ids) - 1, -1, -1)
        mixture._memory = memory._replace(free=free)
        values = np.ascontiguousarray(arrays["values"], np.float32).reshape(-1) * np.float32(weight)
        if mixture._dense:
            sums = RowArrays(np.arange(stories + 1) * columns, np.zeros(0, np.int32), values, np.zeros(0), _NO_VECTORS)
        else:
            sums = RowArrays(arrays["indptr"], arrays["indices"], values, np.zeros(0), _NO_VECTORS)
        done = 0
        while done < stories:
            done, reason, need = place_stories(mixture._memory, mixture._constants, done, sums)
            if reason == NEEDS_POOL:
                mixture._memory = mixture._memory._replace(pool=wider_pool(mixture._memory.pool, need))
            elif reason == NEEDS_PLACES:
                mixture._memory = mixture._memory._replace(places=wider_pool(mixture._memory.places, need))
        return mixture

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings, "arrays": self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(self.from_arrays(state["settings"], state["arrays"])))

    def _order(self) -> NDArray[np.int64]:
        """Slots of the living stories, those joined longest ago first."""
        older: list[int] = []
        slot = int(self._memory.counters[NEWEST])
        while slot >= 0:
            older.append(slot)
            slot = int(self._memory.older[slot])
        return np.array(older[::-1], np.int64)

    def _sums(self, order: NDArray[np.int64]) -> Rows:
        memory = self._memory
        if self._dense:
            return memory.dense[order]
        rank = np.zeros(len(memory.ids), np.int64)
        rank[order] = np.arange(len(order))
        indptr = np.concatenate(([0], np.cumsum(memory.words.length[order], dtype=np.int64)))
        words, weights = np.empty(indptr[-1], np.int64), np.empty(indptr[-1], np.float32)
        sums_by_story(memory, rank, indptr[:-1].copy(), words, weights)
        return csr_array((weights, words, indptr), shape=(len(order), self._columns))

    def _times(self, times: ArrayLike | None, n: int, *, learning: bool = True) -> NDArray[np.float64] | None:
        if times is None:
            if learning and self._timed and n:
                raise ValueError(f"times: expected one for each of {n} rows, as in the batches before, got none")
            return None
        raw = np.asarray(times)
        if raw.dtype.kind in "iufb" or (raw.dtype == object and all(isinstance(one, Real) for one in raw.flat)):
            given = raw.astype(np.float64)
        else:
            kind = type(raw.flat[0]).__name__ if raw.dtype == object else raw.dtype
            raise ValueError(f"times: expected numbers in the unit of half_life, got {kind}")
        if given.shape != (n,):
            raise ValueError(f"times: expected one for each of {n} rows, got the shape {given.shape}")
        if not np.isfinite(given).all():
            row = int(np.argmin(np.isfinite(given)))
            raise ValueError(f"times: expected finite numbers, got {given[row]} in row {row}")
        if self._timed is False:
            raise ValueError("times: expected none, as in the batches before, for time is counted in documents")
        return given

    def _check_columns(self, rows: Rows) -> None:
        if rows.shape[1] != self._columns:
            raise ValueError(f"rows: expected {self._columns} columns, got {rows.shape[1]}")

    def _beside(self, vectors: NDArray[np.float32] | None, n: int) -> NDArray[np.float32]:
        if not self.vectors:
            if vectors is not None:
                raise ValueError("vectors: expected none, for this mixture was made without")
            return _NO_VECTORS
        if vectors is None or vectors.shape != (n, self.vectors):
            got = "none" if vectors is None else f"the shape {vectors.shape}"
            raise ValueError(f"vectors: expected the shape {(n, self.vectors)}, got {got}")
        return np.require(vectors, np.float32, ["C", "W"])

    def _documents(self, rows: Rows, times: NDArray[np.float64] | None, beside: NDArray[np.float32]) -> RowArrays:
        columns = self._columns
        since = np.zeros(0) if times is None else times - self._memory.clock[1]
        if self._dense:
            dense = rows.toarray() if isinstance(rows, csr_array) else rows
            values = np.require(dense, np.float32, ["C", "W"])
            lengths = np.where(values.any(axis=1), columns, 0)
            if not lengths.all():
                values = values[lengths > 0]
            return RowArrays(
                np.concatenate(([0], np.cumsum(lengths))), np.zeros(0, np.int32), values.reshape(-1), since, beside
            )
        plain = isinstance(rows, csr_array) and rows.dtype == np.float32
        sparse: Any = rows if plain else csr_array(rows, dtype=np.float32)
        if not sparse.data.all():
            sparse = sparse.copy()
            sparse.eliminate_zeros()
        values = np.require(sparse.data, requirements="W")  # read-only arrays would be compiled for anew
        parts = sparse.indptr.astype(np.int64), sparse.indices.astype(np.int32), values
        return RowArrays(*shortened(*parts, self._constants.columns), since, beside)

    def _retired(self, retired: RetiredArrays) -> Retired:
        number, origin = int(retired.number[0]), self._memory.clock[1]
        return Retired(
            retired.ids[:number],
            retired.size[:number],
            retired.first[:number] + origin,
            retired.last[:number] + origin,
            retired.words[:number],
            retired.weights[:number],
            retired.into[:number],
            retired.evidence[:number],
        )


def _retired_places(places: int) -> RetiredArrays:
    """Return room for so many stories that ended."""
    return RetiredArrays(
        np.zeros(1, np.int64),
        np.zeros(places, np.int64),
        np.zeros(places, np.int64),
        np.zeros(places),
        np.zeros(places),
        np.full((places, TOP_WORDS), -1, np.int32),
        np.zeros((places, TOP_WORDS), np.float32),
        np.zeros(places, np.int64),
        np.zeros(places),
    )
