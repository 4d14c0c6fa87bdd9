"""Batch models fitted to the sample: whether they find other topics than the tracker, and predict better.

A snapshot is fitted to the sample of all slices but the newest closed one, in the vocabulary that was in force when
that one began. The documents of the newest slice then measure the predictive log-likelihood of the fit and of the
tracker as it was at that moment, in the same columns. The tracker learns nothing from a snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from vmfstream.bayes.factors.beliefs import anchored
from vmfstream.bayes.factors.concentration import KappaFactor
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import moment_prior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.hierarchical.prior import moment_tree_prior
from vmfstream.bayes.hierarchical.trees import Tree, arrange, read_tree, resultants
from vmfstream.bayes.hierarchical.variational import fit_tree
from vmfstream.bayes.predictive import predictive
from vmfstream.bayes.starts import annealed_starts
from vmfstream.bayes.temporal.chain import convolve
from vmfstream.bayes.temporal.smoother import fit_smoother
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.directional.kernels import accumulate, padded
from vmfstream.engine.loop.saved_state import checked_state
from vmfstream.engine.loop.state import restore_model
from vmfstream.engine.models.tracker import NO_TOPICS, TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.mixtures.columns import column_norms, directed
from vmfstream.online.reading import predictive_log_likelihood
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState, Vector, rows_of, stack
from vmfstream.runfile.snapshots import Snapshot, Stored, check_writable, read_stored, write_snapshots
from vmfstream.runtime_tuning import product_threads
from vmfstream.text.encoders import Counted, CountStorage, TopicNaming, TopWords
from vmfstream.text.named_vectors import NamedVectorEncoder
from vmfstream.text.own_tokeniser import Cut
from vmfstream.text.sentence_models import Embed

Kind: TypeAlias = Literal["flat", "tree", "smoothed"]
"""Bayesian mixture; tree over its topics; temporal mixture, all slices at once."""

KINDS: tuple[Kind, ...] = get_args(Kind)

STARTS = 3
"""Annealed starts of the mixture that all kinds begin from; the largest bound wins."""

WORDS = 60
"""Words per topic."""

CHAIN_BYTES = 2**30
"""Memory for the smoother's matrices, four a slice; neighbouring slices are joined where there are too many."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The sample in the columns of one moment: rows ``xs`` of the slices ``index``, oldest first, and the state.

    ``weight`` is how many documents of its slice one of the sample stands for; ``judged`` are those of the slice after;
    ``documents`` are the counts that all rows were encoded from.
    """

    encoder: TopicNaming
    track: TrackerSettings
    state: TrackState
    index: NDArray[np.int64]
    xs: Sequence[Rows]
    weight: Vector
    judged: Rows | None
    documents: Counted

    @property
    def k(self) -> int:
        """Topics to fit: as many as the tracker has, but at most one for two documents."""
        return max(1, min(self.state.k, sum(int(directed(x).sum()) for x in self.xs) // 2))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A fit: nodes with natural vectors ``f`` (D, n or more), the leaves first, and the leaves' weights.

    ``resp`` (N, kp) are the leaves' memberships and ``tree`` their ancestors, None for topics that have none. ``kappa``
    is of the leaves and ``tightness`` (n,) of all nodes.
    """

    kind: Kind
    f: Matrix
    gamma: Vector
    kappa: KappaFactor
    log_weights: Vector
    resp: Matrix
    tightness: Vector
    bound: float
    predicted: Vector
    tree: Tree | None = None


def take_snapshots(
    path: Path,
    kinds: Sequence[Kind] = KINDS,
    *,
    seed: int | None = None,
    tokeniser: Cut | str | None = None,
    embed: Embed | str | None = None,
) -> list[Snapshot]:
    """Fit batch models to the sample of a run file and write them into it; a run may go on meanwhile.

    Parameters
    ----------
    path : Path
        The run file.
    kinds : sequence of {"flat", "tree", "smoothed"}
    seed : int, optional
        Of the starts; by default that of the run.
    tokeniser, embed : callable or str, optional
        What the run was made with, see `vmfstream.engine.run.RunSettings.encoder`, which raises `NotNamedAgain`.

    Raises
    ------
    InputError
        If there is no run file, it cannot be written, it has no sample, or no topics yet.
    """
    stored = read_stored(path)
    material = material_of(stored, tokeniser, embed)
    check_writable(path)
    own = int(stored.settings.get("seed", 0)) if seed is None else seed
    rng = np.random.default_rng([own, int(material.index[-1]) % 2**32, 4])
    with product_threads():
        snapshots = [snapshot_of(found, material) for found in fitted(material, kinds, rng)]
    write_snapshots(path, snapshots)
    return snapshots


def material_of(stored: Stored, tokeniser: Cut | str | None = None, embed: Embed | str | None = None) -> Material:
    """Encode the sample in the vocabulary from before the newest slice ended, else in the one now.

    ``stored`` is that of a run file; ``tokeniser`` and ``embed`` as in `take_snapshots`.
    """
    settings = RunSettings.from_text(stored.settings)
    if not len(stored.slice):
        raise InputError(
            "the run file holds no sample of documents; it was written with --sample 0, by TopicTracker.save, or "
            "before there were any"
        )
    for states, judging in ((stored.before, True), (stored.now, False)):
        if states is None:
            continue
        encoder, track = settings.encoder(tokeniser, embed), settings.tracker()
        model = TrackerModel(track)
        with checked_state(*states):
            restore_model(encoder, model, *states)
        state = model.state
        index = np.unique(stored.slice)
        if state is None or not (index < state.slice).any():
            continue
        counts = {int(i): _counts(stored, encoder, int(i)) for i in index[index <= state.slice]}
        rows = {i: encoder.encode(some) for i, some in counts.items()}
        past = index[index < state.slice]
        weight = np.array([stored.sizes[int(i)] / rows_of(rows[int(i)]) for i in past])
        judged = rows.get(state.slice) if judging else None
        documents = encoder.concat([counts[int(i)] for i in past])
        return Material(encoder, track, state, past, [rows[int(i)] for i in past], weight, judged, documents)
    raise InputError(f"{NO_TOPICS}; a snapshot needs a closed slice that has some")


def fitted(material: Material, kinds: Sequence[Kind], rng: np.random.Generator) -> list[Found]:
    """Fit each of ``kinds`` to ``material``, all from the best of the annealed starts of the mixture; ``rng`` draws."""
    x, k = stack(list(material.xs), material.state.dim), material.k
    fits = []
    for resp in annealed_starts(x, k, rng, STARTS):
        prior = moment_prior(x, resp, k, alpha=material.track.alpha)
        fits.append(variational.fit(x, resp, k, prior))
    best = max(fits, key=lambda fit: float(fit.trace[-1]))
    makers = {"flat": _flat, "tree": _tree, "smoothed": _smoothed}
    return [makers[kind](material, x, best, rng) for kind in kinds]


def snapshot_of(found: Found, material: Material) -> Snapshot:
    """Match the topics with those of the tracker, and name their words."""
    k, d, state = len(found.log_weights), len(found.f), material.state
    parent, level = np.full(k, -1), np.zeros(k, np.int64)
    if found.tree is not None:
        parent, level = found.tree.parent, found.tree.depth
    nodes = len(parent)
    per_leaf = np.repeat(material.weight, [rows_of(x) for x in material.xs])
    n, mass = (
        _subtree_sums(w @ found.resp[:, :k].astype(np.float64), found.tree) for w in (np.ones_like(per_leaf), per_leaf)
    )
    directions = _directions(found.f[:, :nodes])
    topic = np.full(nodes, -1)
    topic[:k] = aligned(directions[:, :k], _directions(state.base[:, : state.k]), state.anchor, state.ids)
    certainty = np.asarray(bessel_ratio(d, found.gamma), np.float64)
    if found.tree is not None:
        certainty[-1] = np.nan  # the root is given
    live = (
        predictive_log_likelihood(state, material.judged, material.track)
        if material.judged is not None
        else np.zeros(0)
    )
    return Snapshot(
        kind=found.kind,
        slice=int(material.index[-1]),
        documents=sum(int(directed(x).sum()) for x in material.xs),
        bound=found.bound / max(1, sum(int(directed(x).sum()) for x in material.xs)),
        predicted=_mean(found.predicted),
        live=_mean(live),
        parent=parent,
        level=level,
        topic=topic,
        n=n,
        share=mass / max(float(mass[:k].sum()), 1e-300),
        tightness=found.tightness,
        certainty=certainty,
        words=_words(material, found, directions, nodes),
    )


def aligned(new: Matrix, live: Matrix, background: Matrix, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the id of the tracker's topic that each new one is matched with, or -1, (K',).

    Pairs are those of the largest sum of cosines; one counts only if the new topic is nearer to the live one than the
    background is.

    Parameters
    ----------
    new : (D, K') unit columns
    live : (D, K) unit columns
    background : (D,), of any length
    ids : (K,), of the live topics
    """
    cosine = np.asarray(new.T @ live, np.float64)
    rows, columns = linear_sum_assignment(cosine, maximize=True)
    length = float(np.linalg.norm(background.astype(np.float64)))
    common = (background @ live).astype(np.float64) / length if length > 0.0 else np.zeros(live.shape[1])
    good = cosine[rows, columns] > common[columns]
    found = np.full(new.shape[1], -1, np.int64)
    found[rows[good]] = ids[columns[good]]
    return found


def two_levels(k: int) -> Tree:
    """Return a tree of k leaves under about sqrt(k) nodes of nearly equal size, under one root."""
    groups = max(1, round(float(np.sqrt(k))))
    sizes = [len(part) for part in np.array_split(np.arange(k), groups)]
    return read_tree([None, *[0] * groups, *np.repeat(np.arange(1, groups + 1), sizes).tolist()])


def _flat(material: Material, x: Rows, fit: variational.FlatFit, rng: np.random.Generator) -> Found:
    weights = np.log(fit.rho / fit.rho.sum())
    return _found("flat", material, fit.f, fit.gamma, fit.kappa, weights, fit.resp, float(fit.trace[-1]))


def _tree(material: Material, x: Rows, fit: variational.FlatFit, rng: np.random.Generator) -> Found:
    k, d = material.k, x.shape[1]
    tree, resp = two_levels(k), fit.resp.copy()
    resp[:, :k] = resp[:, arrange(tree, accumulate(x, resp), fit.nk, rng)]
    nothing = np.zeros(1)
    leaf = KappaModel("quadrature", None, "shared", nothing, nothing, rng)
    prior = moment_tree_prior(x, resp, tree, alpha=material.track.alpha, leaf=leaf)
    found = fit_tree(x, resp, tree, prior)
    state, rho = found.state, found.state.weights.rho
    f = state.branches.f[:, : padded(k)].copy()
    f[:, k:] = 0
    gamma = state.branches.gamma
    own = np.concatenate([np.broadcast_to(state.leaf.mean, k), state.inner.mean, [np.linalg.norm(prior.b)]])
    return Found(
        "tree",
        state.branches.f[:, : tree.n],
        gamma,
        state.leaf,
        np.log(rho / rho.sum()),
        state.resp,
        np.asarray(bessel_ratio(d, own), np.float64),
        float(found.trace.max()),
        _predicted(material, f, gamma[:k], state.leaf, np.log(rho / rho.sum())),
        tree,
    )


def _smoothed(material: Material, x: Rows, fit: variational.FlatFit, rng: np.random.Generator) -> Found:
    k, d, track = material.k, x.shape[1], material.track
    kp, omega = padded(k), track.persistences[material.state.leader]
    anchor = np.asarray(fit.prior.b, np.float32)
    step, xs = _chain(material, kp)
    linked = fit_smoother(
        xs,
        np.split(fit.resp, np.cumsum([rows_of(part) for part in xs])[:-1]),
        float(fit.kappa.mean[0]),
        np.zeros(k),
        np.zeros((d, kp), np.float32),
        anchor,
        omega**step,
        track.alpha,
    )
    weights = np.log(linked.nk + track.alpha) - np.log(linked.nk.sum() + k * track.alpha)
    newest, ahead = (anchored(anchor, h, k) for h in (linked.h, convolve(linked.h, omega)))
    resp = np.concatenate(linked.resps)
    gamma = column_norms(newest)[:k]
    return _found("smoothed", material, newest, gamma, linked.factor, weights, resp, linked.bound, ahead)


def _found(
    kind: Kind,
    material: Material,
    f: Matrix,
    gamma: Vector,
    kappa: KappaFactor,
    log_weights: Vector,
    resp: Matrix,
    bound: float,
    ahead: Matrix | None = None,
) -> Found:
    """Return topics without a tree; ``ahead`` are their natural vectors in the next slice if they differ."""
    k = len(gamma)
    tightness = np.broadcast_to(np.asarray(bessel_ratio(len(f), kappa.mean), np.float64), k)
    then = f if ahead is None else ahead
    predicted = _predicted(material, then, column_norms(then)[:k], kappa, log_weights)
    return Found(kind, f, gamma, kappa, log_weights, resp, tightness, bound, predicted)


def _predicted(material: Material, f: Matrix, gamma: Vector, kappa: KappaFactor, log_weights: Vector) -> Vector:
    if material.judged is None:
        return np.zeros(0)
    density = predictive(material.judged, f, gamma, kappa, log_weights)
    return density[directed(material.judged)]


def _chain(material: Material, kp: int) -> tuple[int, list[Rows]]:
    """Return how many neighbouring slices are joined to save memory, and the rows of all slices joined so."""
    dim, first = material.state.dim, int(material.index[0])
    span = int(material.index[-1]) - first + 1
    most = max(4, CHAIN_BYTES // (16 * dim * kp))
    step = -(-span // most)
    parts: list[list[Rows]] = [[] for _ in range(-(-span // step))]
    for index, x in zip(material.index.tolist(), material.xs, strict=True):
        parts[(index - first) // step].append(x)
    return step, [stack(part, dim) for part in parts]


def _subtree_sums(leaves: Vector, tree: Tree | None) -> Vector:
    """Return the sums of the leaves below every node."""
    return leaves if tree is None else np.asarray(resultants(tree, leaves[None, :])[0])


def _distinctive(directions: Matrix, tree: Tree | None) -> Matrix:
    """Return directions to read words from; of nodes between leaves and root, what differs from their parent.

    All nodes above the leaves share the words of the background, and would be named alike.
    """
    out = directions.astype(np.float32)
    if tree is not None:
        above = directions[:, tree.parent[tree.inner]]
        out[:, tree.inner] -= above * np.einsum("dn,dn->n", above, directions[:, tree.inner])
    return out


def _words(material: Material, found: Found, directions: Matrix, nodes: int) -> TopWords:
    """Name the words of all nodes: from their directions, or from the texts of their documents."""
    encoder, k = material.encoder, len(found.log_weights)
    if not isinstance(encoder, NamedVectorEncoder):
        return encoder.words(_distinctive(directions, found.tree), WORDS, nodes)
    counts = encoder.by_topic(material.documents, found.resp[:, :k])
    levels = np.zeros(nodes, np.int64) if found.tree is None else found.tree.depth
    every = counts if found.tree is None else resultants(found.tree, counts.T).T
    words: TopWords = [[] for _ in range(nodes)]
    for level in np.unique(levels):  # nodes of one depth are told apart from each other
        here = np.flatnonzero(levels == level)
        for node, named in zip(here.tolist(), encoder.class_words(every[here], WORDS), strict=True):
            words[node] = named
    return words


def _counts(stored: Stored, encoder: CountStorage, index: int) -> Counted:
    return encoder.unpack([stored.packed[i] for i in np.flatnonzero(stored.slice == index).tolist()])


def _directions(f: Matrix) -> Matrix:
    """Scale columns to unit length; zero columns stay zero."""
    norms = column_norms(f)
    return f * np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0).astype(f.dtype)


def _mean(values: Vector) -> float:
    return float(values.mean()) if len(values) else float("nan")
