"""The conditional probabilities from which the multilevel sampler draws, one at a time, its state left as it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.multilevel.concentrations import REST
from vmfstream.bayes.multilevel.group_updates import move_group, score_group, topics_of
from vmfstream.bayes.multilevel.sampler import Chain
from vmfstream.bayes.multilevel.slots import free_slot
from vmfstream.bayes.multilevel.token_updates import move_token, weigh_token


def group_conditional(chain: Chain, j: int) -> NDArray[np.float64]:
    """P(z_j = k | all else) for every cluster that has other groups, in the order of slots; a new one last."""
    groups, content = chain.groups, chain.content
    if groups.members.min() > 0:
        chain.make_room(2 * len(groups.members), len(content.tokens))
        groups, content = chain.groups, chain.content
    present, number = np.empty(len(content.tokens), np.int64), np.zeros(len(content.tokens))
    topics = present[: topics_of(j, content, present, number)]
    move_group(j, groups.z[j], groups, chain.contexts, topics, number, -1.0)
    score = np.empty(len(groups.members))
    score_group(j, groups, content, chain.contexts, chain.levels, topics, number, score)
    weight = np.exp(score - score.max())
    free = free_slot(groups.members)
    weight = np.append(weight[groups.members > 0], weight[free])
    move_group(j, groups.z[j], groups, chain.contexts, topics, number, 1.0)
    return np.asarray(weight / weight.sum())


def token_conditional(chain: Chain, i: int) -> NDArray[np.float64]:
    """P(l_i = m | all else) for every topic that has other tokens, in the order of slots; a new one last."""
    if free_slot(chain.content.tokens) < 0:
        chain.make_room(len(chain.groups.members), 2 * len(chain.content.tokens))
    groups, content, levels = chain.groups, chain.content, chain.levels.copy()
    k, old = groups.z[np.searchsorted(content.indptr, i, side="right") - 1], content.l[i]
    share = content.share.copy()
    groups.of[k, old] -= 1.0
    move_token(i, old, content, -1.0)
    if content.tokens[old] == 0:
        levels[REST] += share[old]
        share[old] = 0.0
    weight, free = np.empty(len(share)), free_slot(content.tokens)
    weigh_token(i, groups.of[k], content._replace(share=share), levels, free, weight, np.empty(len(share)))
    weight = np.append(weight[content.tokens > 0], weight[free])
    groups.of[k, old] += 1.0
    move_token(i, old, content, 1.0)
    return np.asarray(weight / weight.sum())
