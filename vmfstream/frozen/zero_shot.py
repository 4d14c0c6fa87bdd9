"""Label by topics that are described by words or example documents only, without any training run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmfstream.engine.loop.seeding import Seeding
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.frozen.parts import WORDS, ModelParts
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.settings import GivenSettings
from vmfstream.seeds import Seed
from vmfstream.text.encoders import TextEncoder
from vmfstream.text.own_tokeniser import Cut

ONLY_KNOWN = "only_known"
"""Entry of ``model.json``: a document that a new topic explains better than all has none."""


def with_seeds(
    parts: ModelParts, seeds: Sequence[Seed], encoder: TextEncoder, tokeniser: Cut | str | None = None
) -> ModelParts:
    """Return a model whose topics are ``seeds``, under the vocabulary and the weights of words of another one.

    Of each topic ``frozen_seed_documents`` (`vmfstream.online.settings.GivenSettings`) documents of exactly the seed's
    direction are taken as seen. All topics have the same weight. A document that a topic of which nothing is known
    explains as well or better gets none. Stories stay as they are.

    Parameters
    ----------
    parts : the other model.
    seeds : topics by words or example documents.
    encoder : that of ``parts``.
    tokeniser : what the settings of ``parts`` name, see `vmfstream.engine.run.RunSettings.encoder`.

    Raises
    ------
    InputError
        If none of the words is known.
    """
    arrays = dict(parts.arrays)
    settings = RunSettings.from_text(parts.about["settings"])
    seeding = Seeding(seeds, lambda: settings.text_encoder(tokeniser))  # raises InputError for a seed without words
    directions = seeding.directions(encoder)
    if directions is None:
        raise InputError("the model knows none of the words of these topics")
    kappa, lowest, _ = arrays["topics.scalars"].tolist()
    f = arrays["topics.anchor"][:, None] + np.float32(GivenSettings().frozen_seed_documents * kappa) * directions
    k = len(seeding.names)
    arrays |= {
        "topics.ids": np.arange(k),
        "topics.f": np.ascontiguousarray(f, np.float32),
        "topics.gamma": column_norms(f),
        "topics.log_weights": np.full(k, -np.log(k)),
        "topics.scalars": np.array([kappa, lowest, 1.0]),
    }
    named = zip(seeding.names, encoder.words(directions, WORDS, k), strict=True)
    topics = [
        {"topic": topic, "name": name, "words": [[word, float(weight)] for word, weight in words]}
        for topic, (name, words) in enumerate(named)
    ]
    return ModelParts(parts.about | {"topics": topics, ONLY_KNOWN: True}, arrays)
