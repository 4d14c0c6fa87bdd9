"""Topics as rows of a report: with their words, geometry and uncertainty, and with representative documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmfstream.arrays import Mask, Matrix, Vector
from vmfstream.engine.loop.document_buffer import KeptDocument, times_of
from vmfstream.protocols import SliceSummary, TopicView
from vmfstream.records import Representative, TopicRows
from vmfstream.text.encoders import TopicNaming


def topic_rows(view: TopicView, encoder: TopicNaming, words: int, *, geometry: bool = False) -> TopicRows:
    """Return the topics of a ``view`` as rows; with ``geometry`` also intervals, angles and sketches of their means.

    ``encoder`` names each by at most ``words`` words. What smoothing brings from later slices has no place where no
    document could hold it: words that were not there yet are left out of the means.
    """
    from vmfstream.bayes.factors.credible_regions import angular_radius, share_intervals
    from vmfstream.directional.bessel import bessel_ratio

    dim, k = len(view.f), len(view.ids)
    total = view.n.sum()
    directions, gamma = _means(view, encoder.known_by(view.slice))
    shares = share_intervals(view.n)
    return TopicRows(
        topic=view.ids,
        n=view.n,
        share=view.n / total if total > 0.0 else np.zeros(k),
        kappa=np.full(k, view.kappa),
        gamma=gamma,
        tightness=np.full(k, float(bessel_ratio(dim, view.kappa))),
        certainty=np.asarray(bessel_ratio(dim, gamma)),
        drift_angle=view.drift_angle,
        drift_angle_error=view.drift_angle_error,
        words=encoder.words(directions, words, k, (view.slice, view.ids)),
        share_low=shares[:, 0] if geometry else None,
        share_high=shares[:, 1] if geometry else None,
        radius=np.degrees(angular_radius(dim, gamma)) if geometry else None,
        angles=_angles(directions[:, :k]) if geometry else None,
        sketches=encoder.sketches(directions[:, :k]) if geometry else None,
    )


def _angles(directions: Matrix) -> Vector:
    """Degrees between the columns of ``directions``, (K, K)."""
    return np.asarray(np.degrees(np.arccos(np.clip(directions.T @ directions, -1.0, 1.0))), np.float64)


def _means(view: TopicView, known: Mask) -> tuple[Matrix, Vector]:
    """Mean directions (D, >= K) and lengths of the natural vectors (K,) of a view, over the ``known`` columns (D,)."""
    from vmfstream.mixtures.columns import column_norms

    f, lengths = view.f, view.gamma
    if not known.all():
        f = np.where(known[:, None], f, np.float32(0.0))
        lengths = column_norms(f)[: len(lengths)]
    divisor = np.ones(f.shape[1])
    divisor[: len(lengths)] = np.maximum(lengths, 1e-12)
    return np.asarray(f / divisor.astype(np.float32)), lengths


def representative(closed: SliceSummary, kept: Sequence[KeptDocument], per_topic: int) -> Representative | None:
    """Return the documents of each topic nearest to its mean, at most ``per_topic``, among those that were ``kept``.

    ``closed`` has the memberships of these documents; None if there are none.
    """
    if not len(closed.resp):
        return None
    label = closed.resp.argmax(axis=1)
    own = closed.cosine[np.arange(len(label)), np.minimum(label, closed.cosine.shape[1] - 1)]
    own = np.where(closed.resp.max(axis=1) > 0.0, own, -np.inf)  # documents without known words belong nowhere
    order = np.lexsort((np.arange(len(label)), -own, label))
    label, own = label[order], own[order]
    first = np.searchsorted(label, label)
    rank = np.arange(len(label)) - first + 1
    keep = (rank <= per_topic) & np.isfinite(own)
    chosen = order[keep]
    return Representative(
        topic=closed.topics.ids[label[keep]],
        rank=rank[keep],
        id=[kept[i].id for i in chosen],
        title=[kept[i].title for i in chosen],
        time=times_of([kept[i] for i in chosen]).tolist(),
        score=own[keep].astype(np.float64),
    )
