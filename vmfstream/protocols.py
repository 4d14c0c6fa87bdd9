"""Interfaces: what a source, a codec, a model, an executor and a store must do. Everything else is a concrete class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vmfstream.records import (
    Arrays,
    Checkpoint,
    Commit,
    Decision,
    Document,
    Documents,
    Event,
    Message,
    Position,
    Range,
    Rejected,
)

if TYPE_CHECKING:
    from vmfstream.arrays import Rows


class Source(Protocol):
    """Yields messages that carry part and offset.

    The engine owns the position: it folds ``offset + 1`` per part from the messages it consumed and hands it back to
    ``seek`` after a restart, so a source remembers nothing.
    """

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        ...

    @property
    def exhausted(self) -> bool:
        """True once nothing will come any more; always False for endless sources."""
        ...

    @property
    def total(self) -> int | None:
        """Number of messages if known beforehand (progress bars), else None."""
        ...

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` messages; never block longer than ``timeout`` seconds; an empty answer is normal."""
        ...

    def seek(self, position: Position) -> None:
        """Continue with these offsets; parts not named start at their beginning."""
        ...

    def close(self) -> None:
        """Release files and connections; a second call does nothing."""
        ...


@runtime_checkable
class Live(Protocol):
    """What a source can do besides that is written while it is read."""

    def lag(self, position: Position) -> int:
        """Return how many messages lie behind a position; may be asked while another thread polls."""
        ...

    def committed(self, position: Position) -> None:
        """Receive what was committed, for monitoring only."""
        ...


@runtime_checkable
class Local(Protocol):
    """What a source can do besides whose messages have no numbers of their own and are counted from its beginning."""

    def first(self, stop: Callable[[], bool]) -> Message | None:
        """Return the first message, which `poll` returns too; None if there is none, or none has come at ``stop()``.

        By it a run file knows its source again. To be called before any other function.
        """
        ...


@runtime_checkable
class Renewed(Protocol):
    """What a local source can do besides that may begin with new messages, as a pipe may and a file may not."""

    def count_from(self, position: Position) -> None:
        """Take all messages for new ones, and count them from these offsets on."""
        ...


class RangeReader(Protocol):
    """Reads what a range names, in any process: it is pickled, and a range read twice gives the same messages."""

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        """Return messages of a range and the offset after them, before its end if they have ``limit`` bytes."""
        ...


@runtime_checkable
class Ranged(Protocol):
    """What a source can do besides whose messages can be read in any order."""

    def extents(self, position: Position) -> Sequence[Range]:
        """Return for every part what it holds from these offsets on, which may be nothing, in a fixed order.

        `SourceAway` is raised if it does not answer now.
        """
        ...

    def reader(self) -> RangeReader:
        """Return what reads ranges elsewhere."""
        ...


class Executor(Protocol):
    """Applies pure functions to arguments in this process or in others.

    What ``share`` and ``hold`` return stands for a value that stays where it is; it may be among the arguments of later
    calls, and is forgotten when nobody refers to it any more. Where a process is lost its part is done again by others;
    `WorkersLost` tells that held or shared values are gone and that all has to be done again from the start.
    """

    @property
    def workers(self) -> int:
        """How many calls can run at once now."""
        ...

    def share(self, value: Any) -> Any:
        """Bring a value to the workers, once."""
        ...

    def hold(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Call the function with each of the arguments; results stay where they were made."""
        ...

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the function with each of the arguments; return the results in this order."""
        ...

    def close(self) -> None:
        """Release the workers; a second call does nothing."""
        ...


class Codec(Protocol):
    """Turns a message into a document, or says why it cannot be one. Never raises on bad data."""

    def decode(self, message: Message) -> Document | Rejected:
        """Decode one message."""
        ...


@runtime_checkable
class ColumnCodec(Protocol):
    """What a codec can do besides that decodes many messages at once."""

    def decode_all(self, messages: Sequence[Message]) -> Documents:
        """Decode messages, each as ``decode`` would."""
        ...


class Scores(NamedTuple):
    """What a model says of N documents before it learns them.

    ``loglik`` (N,) are log-densities in nats relative to the uniform density; ``topic`` (N,) the ids of the most
    probable topics, -1 for documents without a direction; ``novelty`` (N,) the nats by which a topic without documents
    explains a document better than all known ones, 0 for documents without a direction. ``second`` (N,) are the ids of
    the second topics, -1 for none; ``probability`` (N, 2) are the calibrated probabilities of both, 0 without a topic.
    """

    loglik: NDArray[np.float64]
    topic: NDArray[np.int64]
    novelty: NDArray[np.float64]
    second: NDArray[np.int64]
    probability: NDArray[np.float32]


class TopicView(Protocol):
    """The K topics of one slice as numbers, from which words and reports are made."""

    @property
    def slice(self) -> int:
        """Number of the slice."""
        ...

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the topics, (K,)."""
        ...

    @property
    def f(self) -> NDArray[np.float32]:
        """Natural vectors of the means, (D, >= K), in the vocabulary in force."""
        ...

    @property
    def gamma(self) -> NDArray[np.float64]:
        """Lengths of the natural vectors, (K,): concentrations of the belief about the means."""
        ...

    @property
    def n(self) -> NDArray[np.float64]:
        """Documents of the topics, (K,)."""
        ...

    @property
    def kappa(self) -> float:
        """Concentration of documents around the means."""
        ...

    @property
    def drift_angle(self) -> NDArray[np.float64]:
        """Angles in degrees to the means of the slice before, (K,); NaN if unknown."""
        ...

    @property
    def drift_angle_error(self) -> NDArray[np.float64]:
        """Standard deviations of these angles, (K,)."""
        ...


class DocumentTopics(NamedTuple):
    """The topics of the kept documents of a ``slice``: ids (N,), in the order of learning, -1 for none."""

    slice: int
    topic: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SliceSummary:
    """What a model says of a slice when it has ended.

    Attributes
    ----------
    predicted : mean log-density of its documents under the prediction made before it began, in nats relative to the
        uniform density; NaN if nothing was predicted.
    persistence : expected cosine between a topic's means in consecutive slices.
    warm_up : whether ids may still change their meaning.
    temperature : softmax temperature that calibrates the topic probabilities on arrival; NaN if nothing was predicted.
    topics : its topics given the documents up to its end.
    smoothed : the topics of slices that became final, given all documents up to the end of this one.
    resp : (N, >= K) memberships of its kept documents.
    cosine : (N, K) cosines of these documents with the topics' means.
    events : what happened to topics.
    refused : why decisions were not applied, by their numbers.
    labelled : the topics of the documents of slices that left the window, which do not change any more.
    isotropy : (K,) how evenly recent documents spread around each topic, see `vmfstream.directional.isotropy`; None if
        documents are words.
    """

    predicted: float
    persistence: float
    warm_up: bool
    temperature: float
    topics: TopicView
    smoothed: Sequence[TopicView]
    resp: NDArray[np.float32]
    cosine: NDArray[np.float32]
    events: Sequence[Event]
    refused: Mapping[int, str] = field(default_factory=dict)
    labelled: Sequence[DocumentTopics] = ()
    isotropy: NDArray[np.float64] | None = None


class Regrown(NamedTuple):
    """The documents that a model keeps, in a new vocabulary.

    ``columns`` (D,) are the old columns of the new ones, -1 where a column is new; ``documents`` is how many are kept.
    ``encode`` returns numbers and rows of the closed slices, oldest first, and the rows of the open slice: a pass over
    all of them. ``seeds`` (D, J) are unit columns, where the first topics are to stand, or the prior of those that do;
    None without seeds.
    """

    columns: NDArray[np.int32]
    documents: int
    encode: Callable[[], tuple[Sequence[tuple[int, Rows]], Rows]]
    seeds: NDArray[np.float32] | None = None


Regrow: TypeAlias = Callable[[], Regrown]


class Model(Protocol):
    """Learns topics from documents as unit rows.

    The engine encodes documents, keeps those that the model wants to see again, and names the topics that the model
    describes. It calls ``learn`` for every batch once the model has begun, ``end_epoch`` after the last batch of an
    epoch, and ``end_slice`` at the end of a slice. A model that waits for documents before its first fit has not begun;
    its documents are kept until ``begin`` or ``end_slice`` fits them.
    """

    @property
    def begun(self) -> bool:
        """Whether it can score documents."""
        ...

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the topics, (K,); none before it has begun."""
        ...

    @property
    def active(self) -> int:
        """Number of topics that are active: the others may wake."""
        ...

    @property
    def next_id(self) -> int:
        """The id of the next new topic: all below were given."""
        ...

    @property
    def kept_documents(self) -> int:
        """Most documents of a slice that it wants to see again; with as many it begins at the latest."""
        ...

    @property
    def window(self) -> Sequence[int]:
        """Numbers of the closed slices whose documents it wants to see again, oldest first."""
        ...

    def begin(
        self,
        slices: Sequence[tuple[int, Rows]],
        open_slice: int,
        open_rows: Rows,
        seeds: NDArray[np.float32] | None = None,
    ) -> bool:
        """Fit the first topics to closed slices and the open one; False if no document has a direction.

        Parameters
        ----------
        slices : numbers and rows of closed slices, oldest first.
        open_slice, open_rows : those of the open one.
        seeds : (D, J) unit columns, where the topics with the ids 0 to J - 1 are to stand.
        """
        ...

    def learn(self, x: Rows, *, donate: bool) -> Scores:
        """Score a batch of the open slice, then add it; ``donate`` allows to overwrite the arrays of the state."""
        ...

    def end_epoch(self) -> None:
        """Bring the state to what ``restore`` would make of its arrays, to the last bit."""
        ...

    def end_slice(
        self, index: int, regrow: Regrow, *, last: bool, decisions: Sequence[Decision] = ()
    ) -> SliceSummary | None:
        """End slice ``index``; None if there are no topics yet.

        Parameters
        ----------
        index : number of the slice
        regrow : changes the vocabulary; has to be called once, after the slice was judged under the old one.
        last : no document follows: a model that has not begun does so with what it has.
        decisions : what people have decided about its topics, numbered and in order; none before it has begun.
        """
        ...

    def skip_to(self, index: int) -> None:
        """Let slice ``index`` be the open one; the slices before it have no documents and are not ended."""
        ...

    def describe(self) -> TopicView | None:
        """Return the topics in the middle of the open slice, None if there are none yet."""
        ...

    def smoothed(self) -> Sequence[TopicView]:
        """Return the topics of the slices in the window, given all documents, oldest first."""
        ...

    def labels(self) -> Sequence[DocumentTopics]:
        """Return the topics of the documents of the slices in the window, and of the kept ones of the open slice."""
        ...

    def topics_of(self, x: Rows) -> NDArray[np.int64]:
        """Return the most probable topics of unit rows (N, D), given all documents so far: ids (N,), -1 for none."""
        ...

    def arrays(self) -> tuple[Arrays, Arrays]:
        """Return the state, without rows of documents: what changes with every epoch, and at slice ends."""
        ...

    def restore(self, open_part: Arrays, slice_part: Arrays, window: Sequence[Rows], rows: Rows) -> None:
        """Continue from ``arrays()`` and the kept documents; what follows is the same to the last bit.

        ``open_part`` and ``slice_part`` are what ``arrays()`` returned; ``window`` are the rows of the closed slices in
        it, oldest first, and ``rows`` those of the open one.
        """
        ...


class Sums(Protocol):
    """What a worker returns to the model of its documents, to be added along a tree."""

    def merged(self, later: Any) -> Any:
        """Return the sums of these documents and of later ones."""
        ...


class Prediction(Protocol):
    """What workers need of a model during a slice."""

    def score(self, x: Rows, so_far: Any, keep: int) -> tuple[Scores, Sums]:
        """Score documents given what the slice has gathered before this epoch, and sum them.

        ``x`` are unit rows (N, D), of which the first ``keep`` will be kept; ``so_far`` is from `Distributed.gathered`.
        """
        ...


@runtime_checkable
class Distributed(Protocol):
    """What a model can do besides so that workers score its documents."""

    def prediction(self) -> Prediction:
        """Return what workers need during a slice."""
        ...

    def gathered(self, lowest_cosine: float) -> Any:
        """Return what the open slice has gathered so far; documents of this lowest cosine with a mean follow."""
        ...

    def add(self, sums: Any, rows: Rows) -> None:
        """Add the sums of an epoch and the rows of those of its documents that are kept."""
        ...


class Store(Protocol):
    """Keeps what the engine reports and what it needs to continue."""

    def resume(self) -> Checkpoint | None:
        """Return the last commit's state, or None for a new store."""
        ...

    def settings(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        """Record the run's settings in a new store; in an old one return those it was made with."""
        ...

    def commit(self, *commits: Commit) -> None:
        """Write epochs that follow each other, all or nothing; an epoch number is accepted once and in order."""
        ...

    def name_topics(self, names: Sequence[tuple[int, int, str]]) -> None:
        """Add ``names`` that a namer gave after the last epoch: slice, topic and name."""
        ...

    def close(self) -> None:
        """Release the store; a second call does nothing."""
        ...


@runtime_checkable
class Deciding(Protocol):
    """What a store can do besides to which people bring decisions; ``commit`` forgets those that it was given."""

    def pending(self) -> Sequence[Decision]:
        """Return the decisions that wait to be applied, in order."""
        ...
