"""All settings that decide what a tracker finds, with units: those that a user chooses, and the rules by subject.

Bounds on memory (`vmfstream.online.slice_end.WINDOW_BYTES`), sizes of stored arrays
(`vmfstream.online.state.TOLD_WORDS`) and numerical tolerances (`vmfstream.online.belief.TOLERANCE`) are no rules and
stay where they are used. So do the rules of names, phrases and listed stories, which change no topic.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import inf
from typing import Any, TypeVar

_Settings = TypeVar("_Settings", bound=Any)


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How recent slices are refitted together at the end of a slice.

    Attributes
    ----------
    least_documents : documents of the window, at least, where no number is asked for.
    documents_per_topic : documents of the window for each topic, at least, where no number is asked for.
    short_coordinates : stored coordinates that the window may then always hold: refitting short documents costs little
        and more of them help.
    least_slice_limit : documents of one slice that are kept for refits, at least.
    reheating : inverse temperature where restarted annealing begins, as a multiple of the one at which topics melt;
        farther above, less moves.
    melted : inverse temperature where topics of many documents are annealed again, as such a multiple: below 1, they
        melt first. From ``reheating`` on, New York Times front pages are predicted worse by 2 nats.
    cooling : factor between consecutive inverse temperatures.
    cold_documents : documents that the fits from nothing see together, ``least_starts`` fits at least: fits to many
        documents differ less.
    least_starts : fits from nothing, at least, where as many are asked for: one alone is too often poor.
    sampled_documents : documents in which fits from nothing look for topics, at least. In a window of more, topics
        that are there already are annealed again instead.
    sampled_per_topic : the same for each topic. Of 100 planted topics 50 documents each find fewer: NMI .833 on
        arrival instead of .846, four seeds; 100 each find as many as all documents.
    warm_sweeps : most sweeps of a fit that continues.
    cold_sweeps : most sweeps of the smoother in a fit from nothing.
    flat_sweeps : most sweeps of the static model in a fit from nothing.
    continuing : share of the smaller topic's documents that two topics must have in common to be one topic before and
        after a fit from nothing.
    surely_continuing : the same where their means are not alike.
    early_documents : documents of the stream until which every slice that is in the window with all others ends with
        fits from nothing.
    new_documents : share of the window's documents that must have come since its last refit for another one.
    free_documents : documents of the stream during which refits cost nothing, or as many as the window holds if that
        is more; later ones are paid from the budget.
    counted_sweeps : passes over the documents of the window that a refit is counted as.
    least_gain : share of the bound that a refit must gain; after one that gains less the next slices end without, twice
        as many each time.
    least_free_gain : the same for refits of the first ``free_documents``, once something has left the window.
    longest_pause : most slices that end without a refit for that reason.
    most_slices : most slices of the window; the end of a slice costs a pass over the words of all of them.
    growth : factor by which the window must then have grown before there is another fit from nothing.
    least_shown : documents until the end of a smoothed slice without which a topic is not shown in it.
    """

    least_documents: int = 1500
    documents_per_topic: int = 50
    short_coordinates: int = 100_000
    least_slice_limit: int = 4000
    reheating: float = 1.3
    melted: float = 0.5
    cooling: float = 1.4
    cold_documents: int = 7500
    least_starts: int = 2
    sampled_documents: int = 4000
    sampled_per_topic: int = 100
    warm_sweeps: int = 3
    cold_sweeps: int = 6
    flat_sweeps: int = 25
    continuing: float = 0.2
    surely_continuing: float = 0.5
    early_documents: int = 2000
    new_documents: float = 0.1
    free_documents: int = 16_000
    counted_sweeps: int = 20
    least_gain: float = 0.005
    least_free_gain: float = 0.001
    longest_pause: int = 32
    most_slices: int = 16
    growth: float = 2.0
    least_shown: float = 0.5


@dataclass(frozen=True, slots=True)
class PersistenceSettings:
    """How the leading persistence is chosen from the grid.

    Attributes
    ----------
    score_memory : share of a persistence's score that survives a slice.
    judged_documents : most documents of a slice that judge the grid; their mean score is all that is needed.
    """

    score_memory: float = 0.8
    judged_documents: int = 1000


@dataclass(frozen=True, slots=True)
class BirthSettings:
    """When groups of badly explained documents become topics.

    Attributes
    ----------
    recent_slices : slices in which groups are looked for; six find groups of 3 to 12 % no sooner.
    slice_documents : most documents of one slice among which groups are looked for.
    control_documents : most documents of the control sample.
    least_control : documents that the control sample must hold before there are births.
    most_births : births of one slice.
    proposing_documents : documents among which groups are looked for; all pairs of them are compared.
    badly_explained : share of the half that proposes, those with the lowest scores.
    log_share : log of the share of documents that a group is given while it is being found.
    candidates : groups that each half may propose.
    proposing_slices : newest slices whose documents propose groups that are tested for being new.
    new_candidates : groups that they may propose.
    joining_rounds : how often the documents of such a group are chosen anew.
    least_new : documents of the newest slices that it must have then.
    least_odds : how many times as frequent its kind must be there as before.
    worth_testing : probability below which such a group is tested, see `vmfstream.online.new_groups`.
    nearest_old : older documents most like the group that those of a new one must differ from.
    old_weight : how much the likeness to these, and that to all older documents, count against a document.
    new_chance : probability below which it is new then: that as many documents are new by chance.
    joining_share : share of its documents that must join: if topics explain most of them already, the rest is not the
        group that was tested.
    sweeps : most passes that refine a group.
    least_members : documents of a proposed group, at least.
    least_joining : documents of the testing half that must join.
    least_gain : nats that a group must gain on the testing half.
    refining_gain : nats that a group must gain if it is not new: it refines the topics, and there is no end of finer
        structure.
    chance : probability below which a group counts as new: that as many recent documents join if it was always as
        frequent. A slice tests many groups.
    document_gain : nats that a document must gain to count as one of the group.
    same_cosine : cosine of a new group with a topic above which it may be that topic.
    trial_slices : slices for which a new topic may exceed the bound on active topics; then it must be worth its slot.
    trial_cosine : cosine of a topic on trial with another from which on it is part of it, both seen from the mean of
        all topics. Chosen on the planted newswire, where parts of a topic had .46 to .68 with it, and on NIPS
        abstracts, where new topics had at most .33 with any.
    """

    recent_slices: int = 3
    slice_documents: int = 2000
    control_documents: int = 2000
    least_control: int = 300
    most_births: int = 4
    proposing_documents: int = 400
    badly_explained: float = 0.6
    log_share: float = -4.0
    candidates: int = 6
    proposing_slices: int = 2
    new_candidates: int = 24
    joining_rounds: int = 2
    least_new: int = 5
    least_odds: float = 6.0
    worth_testing: float = 1e-4
    nearest_old: int = 60
    old_weight: float = 0.4
    new_chance: float = 1e-5
    joining_share: float = 0.5
    sweeps: int = 5
    least_members: int = 3
    least_joining: int = 2
    least_gain: float = 10.0
    refining_gain: float = 200.0
    chance: float = 1e-5
    document_gain: float = 3.0
    same_cosine: float = 0.8
    trial_slices: int = 3
    trial_cosine: float = 0.5


@dataclass(frozen=True, slots=True)
class DormancySettings:
    """When topics become dormant and active again.

    Attributes
    ----------
    recent_slices : slices over which dormancy is noticed.
    slots : topic slots for dormant topics, as a share of the most active ones: a seasonal topic keeps its id.
    memory : share of a topic's usual share that survives a slice.
    decline : factor by which the reference share may fall per slice, at most, so that a slow decline is noticed too.
    chance : probability with which an active topic may have as few documents by chance.
    dormant_below : share of the expected documents below which a topic becomes dormant.
    active_above : share of the expected documents above which it becomes active again.
    least_waking : documents in the recent slices without which no topic becomes active again.
    least_documents : documents of all slices together without which a topic ends: it has none.
    """

    recent_slices: int = 3
    slots: float = 0.5
    memory: float = 0.8
    decline: float = 0.95
    chance: float = 1e-4
    dormant_below: float = 0.1
    active_above: float = 0.5
    least_waking: float = 3.0
    least_documents: float = 0.5


@dataclass(frozen=True, slots=True)
class MergerSettings:
    """When two topics become one.

    Attributes
    ----------
    least_cosine : cosine of two topics above which they may be one.
    least_documents : documents that each of the two must have.
    document_gain : nats by which a topic must explain each of its documents in the window better than its neighbour
        would. More topics always explain text a little better; readers want few. Dormant topics have no documents to
        explain. A merger may not cost the newest documents more than as many nats each either: in long texts, which
        take hundreds of nats to learn a mean, the evidence for one topic outweighs all that two are worth later (UN
        speeches, on which this was found: 1,162 nats without, 1,194 with).
    most_refused : pairs of topics of one slice that may be tried in vain.
    least_judged : documents of the newest slices, at least, that say whether a merger loses more than it may.
    crowded_cosine : cosine of two topics above which they may become one only to make room. Topics farther apart are
        worth their slots for longer than the news that would take one (New York Times: 2 nats per document).
    """

    least_cosine: float = 0.3
    least_documents: float = 20.0
    document_gain: float = 1.0
    most_refused: int = 8
    least_judged: int = 50
    crowded_cosine: float = 0.5


@dataclass(frozen=True, slots=True)
class TakeoverSettings:
    """When the newest documents of a topic become a topic of their own, because they are about something else.

    Attributes
    ----------
    recent_slices : newest slices whose documents are compared with the topic before them.
    same_cosine : cosine of a topic's mean with what it was before these slices, both seen from the mean of all topics,
        from which on it is the same topic. Chosen by eye on the New York Times by quarters: below it the strongest
        words are about other matters.
    least_gain : nats by which two topics must explain the documents before and since better than one.
    least_documents : documents that the new topic must get.
    least_of_dormant : the same where the topic was dormant: next to nothing is known of it, so that each document turns
        it.
    """

    recent_slices: int = 2
    same_cosine: float = 0.3
    least_gain: float = 10.0
    least_documents: int = 3
    least_of_dormant: int = 1


@dataclass(frozen=True, slots=True)
class DriftSettings:
    """When documents that fit otherwise than before raise an alarm.

    Attributes
    ----------
    history : newest documents whose scores on arrival are watched.
    false_alarm : chance of a false alarm of one watch at the end of one slice, at most: the delta of ADWIN.
    least_documents : documents without which nothing is watched.
    spreads : width, in interquartile ranges around the median, of the scores that are compared: they are scaled to
        [0, 1], and those outside are taken for 0 or 1.
    """

    history: int = 5000
    false_alarm: float = 2e-3
    least_documents: int = 60
    spreads: float = 4.0


@dataclass(frozen=True, slots=True)
class GivenSettings:
    """How strongly topics are held to what people say of them: pins, splits, names given beforehand.

    Attributes
    ----------
    pin_strength : weight of the prior of a pinned topic, as a multiple of all that is known about it when it is pinned.
    least_split : fewest documents of either half of a topic that is split.
    seed_documents : documents of exactly its direction that a seed counts as.
    frozen_seed_documents : the same in a model whose topics do not grow. Few words are far from what documents of their
        topic are about on average: with the 3 of a run half of the documents got no topic.
    seed_cosine : cosine with a seed from which on a document of the first fit begins in its topic.
    seed_sweeps : most sweeps in which topics of seeds grow.
    """

    pin_strength: float = 9.0
    least_split: int = 2
    seed_documents: float = 3.0
    frozen_seed_documents: float = 0.3
    seed_cosine: float = 0.08
    seed_sweeps: int = 20


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """How the softmax temperature of probabilities on arrival is fitted at the end of a slice.

    Attributes
    ----------
    most_documents : most documents of the slice that it is fitted to.
    least_documents : fewest, without which it stays as it is.
    """

    most_documents: int = 500
    least_documents: int = 20


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    """What a user may choose, and the rules; the defaults are those that worked on news, abstracts and papers.

    Attributes
    ----------
    topics : number of topics K; of those that may come and go, the most that are active when one is born, those on
        trial left out.
    window : documents that are refitted together at the end of a slice; None means at least
        ``fitting.least_documents`` and ``fitting.documents_per_topic`` times K, and more as long as they are short
        (``fitting.short_coordinates``).
    persistences : grid of omega = A_D(C_0), the expected cosine between a topic's means in consecutive slices.
    cold_starts : most fits from nothing that compete at each slice end while nothing has left the window; to thousands
        of documents there are fewer, but two.
    refit : False follows the stream by the filter alone after the first fit.
    refit_budget : most work of refits, as a multiple of the work of scoring; the first ``free_documents`` are
        refitted whatever it costs, since what is missed in the beginning stays missed.
    alpha : Dirichlet parameter of the proportions.
    concentration_step : how far log kappa moves towards a slice's estimate, from 0 to 1.
    threads : chunks that a batch is split into; results depend on it (float summation order), so a run keeps it.
    seed : of all random choices; those of a slice depend on (seed, slice) only.
    living_topics : whether topics may be born, split, merge and become dormant at slice ends, with alarms; else those
        of the first fits stay for ever.
    lag : factor by which a slice may grow before its belief is made anew in donated steps where that is work of the
        size of the vocabulary.
    fitting, persistence, births, dormancy, mergers, takeovers, drift, given, calibration : rules by subject.
    """

    topics: int = 30
    window: int | None = None
    persistences: tuple[float, ...] = (0.8, 0.9, 0.95, 0.98, 0.995)
    cold_starts: int = 5
    refit: bool = True
    refit_budget: float = inf
    alpha: float = 1.0
    concentration_step: float = 0.2
    threads: int = 2
    seed: int = 0
    living_topics: bool = False
    lag: float = 1.25
    fitting: WindowSettings = field(default_factory=WindowSettings)
    persistence: PersistenceSettings = field(default_factory=PersistenceSettings)
    births: BirthSettings = field(default_factory=BirthSettings)
    dormancy: DormancySettings = field(default_factory=DormancySettings)
    mergers: MergerSettings = field(default_factory=MergerSettings)
    takeovers: TakeoverSettings = field(default_factory=TakeoverSettings)
    drift: DriftSettings = field(default_factory=DriftSettings)
    given: GivenSettings = field(default_factory=GivenSettings)
    calibration: CalibrationSettings = field(default_factory=CalibrationSettings)

    @property
    def window_documents(self) -> int:
        """Documents that the window holds before its oldest slice is committed."""
        if self.window is not None:
            return self.window
        return max(self.fitting.least_documents, self.fitting.documents_per_topic * self.topics)

    @property
    def window_coordinates(self) -> int:
        """Stored coordinates up to which the window may hold more documents than that."""
        return self.fitting.short_coordinates if self.window is None else 0

    @property
    def free_documents(self) -> int:
        """Documents of the stream that are refitted whatever it costs."""
        return max(self.fitting.free_documents, self.window_documents)

    @property
    def slice_limit(self) -> int:
        """Documents of one slice that are kept for refits; a larger slice is followed by the filter alone.

        Refits of samples would bring it nothing: years of the New York Times (2,800 documents) are predicted to 91.2
        nats without any refit and to 91.7 with refits of all, two seeds each, which differ by as much.
        """
        return max(self.window_documents, self.fitting.least_slice_limit)

    def as_text(self) -> dict[str, str]:
        """Flatten to text by dotted names, as ``births.least_gain``: ``10.0``."""
        return {name: repr(value) for name, value in _flat(self, "")}

    def with_text(self, stored: Mapping[str, str]) -> TrackerSettings:
        """Return the settings with the values that `as_text` made; fields that are not stored keep theirs.

        Raises
        ------
        ValueError
            If a stored value is not of the field's kind; names both.
        """
        return _with_text(self, stored, "")


def _flat(settings: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Name and value of every field, those of nested settings by dotted names."""
    for f in fields(settings):
        value = getattr(settings, f.name)
        if is_dataclass(value):
            yield from _flat(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name, value


def _with_text(settings: _Settings, stored: Mapping[str, str], prefix: str) -> _Settings:
    changes: dict[str, Any] = {}
    for f in fields(settings):
        name, value = prefix + f.name, getattr(settings, f.name)
        if is_dataclass(value):
            changes[f.name] = _with_text(value, stored, f"{name}.")
        elif name in stored:
            changes[f.name] = _read(name, stored[name], value)
    return replace(settings, **changes)


def _read(name: str, text: str, present: Any) -> Any:
    """Read a literal of the kind of the present value; the window may be None or a whole number."""
    try:
        value = float(text) if isinstance(present, float) else literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"{name}: expected a value like {present!r}, got {text!r}") from error
    kinds = {int, type(None)} if name == "window" else {type(present)}
    if type(value) not in kinds:
        raise ValueError(f"{name}: expected a value like {present!r}, got {text!r}")
    return value
