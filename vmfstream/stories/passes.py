"""The passes over documents, compiled: find the story of each document and update the stories.

``memory`` is what the mixture remembers, changed in place where documents are learnt; ``model`` are its settings as
numbers; ``documents`` are rows with their times. ``labels`` (N,) are filled with ids of stories, -1 for rows of zeros.
What is called for every document takes arrays one by one, see `vmfstream.stories.lists`; ``columns`` and ``values`` are
those of one row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel_scalars import ell
from vmfstream.stories.ends import merge_twin, retire, to_examine
from vmfstream.stories.grain import (
    COUNT,
    GRAINS,
    KAPPA_SQUARED,
    OPENING,
    PRIOR_SQUARED,
    cauchy,
    grain_of,
    rescore,
    weight_of,
)
from vmfstream.stories.memory import (
    DOCUMENTS,
    DONE,
    EXAMINE,
    LIVING,
    MARK,
    NEEDS_PLACES,
    NEEDS_POOL,
    NEEDS_RETIRED,
    NEEDS_SLOTS,
    NEXT_ID,
    OLDEST,
)
from vmfstream.stories.sums import add, link, need_of, product_of, shorten, unlink, visit, visit_all
from vmfstream.stories.tables import make_room
from vmfstream.stories.tables import wanted as wanted_of_table

_MARGIN = 1e-9  # by which a bound may miss the score that it bounds, relative: rounding


class RowArrays(NamedTuple):
    """Unit rows for the compiled code: of a sparse matrix its parts, of a dense one the values and no columns."""

    bounds: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    times: NDArray[np.float64]
    """(N,) relative to the origin; (0,) where time is the number of documents."""
    beside: NDArray[np.float32]
    """(N, E) vectors beside the rows, of unit length or zeros; (0, 0) without."""


Documents = RowArrays  # numba looks for former names of what compiled code takes, in what it stored before an upgrade


@njit(cache=True, nogil=True)
def _best(  # type: ignore[no-untyped-def]
    number,
    now,
    weight,
    share,
    dense,
    model,
    scale,
    ids,
    size,
    square,
    first,
    last,
    base,
    ceiling,
    slope,
    dot,
    candidates,
    bounds,
    vector,
    beside,
    beside_square,
    beside_dot,
    beside_slope,
):
    """Return the slot of the most probable story, -1 for a new one; of equals the one with the smallest id.

    Products ``dot`` count ``share`` times. Stories that are silent for too long, but not retired yet, do not count.
    ``vector`` is that beside the row, of no length without one; its products are filled in.
    """
    kappa_squared, prior_squared, own = scale[KAPPA_SQUARED], scale[PRIOR_SQUARED], weight * weight
    best = scale[OPENING] + ell(model.dimension, math.sqrt(kappa_squared * own + prior_squared))
    two = beside.shape[1] > 0
    own_beside = 0.0
    if two:
        own_beside = product_of(vector, vector)
        best += ell(model.beside, math.sqrt(model.beside_kappa * own_beside + model.beside_prior))
    winner = np.int64(-1)
    highest, most = -1, -np.inf
    for c in range(number):
        slot = candidates[c]
        bounds[c] = ceiling[slot] + slope[slot] * (share * dot[slot] + 0.5 * own)
        if two:
            beside_dot[slot] = product_of(beside[slot], vector)
            bounds[c] += beside_slope[slot] * (beside_dot[slot] + 0.5 * own_beside)
        if bounds[c] > most:
            highest, most = c, bounds[c]
    if highest > 0:  # the candidate with the highest bound first: then few others are evaluated
        candidates[0], candidates[highest] = candidates[highest], candidates[0]
        bounds[0], bounds[highest] = bounds[highest], bounds[0]
    threshold = best - _MARGIN * (1.0 + abs(best))
    for c in range(number):
        if bounds[c] < threshold:
            continue
        slot = candidates[c]
        gap = max(now - last[slot], first[slot] - now, 0.0)
        if gap > model.silence or (not dense and dot[slot] == 0.0):
            continue
        silent = (size[slot] + 1.0) * math.log1p(gap / (model.tempo + last[slot] - first[slot]))
        if bounds[c] - silent < threshold:
            continue
        joined = max(square[slot] + 2.0 * share * dot[slot] + own, 0.0)
        score = base[slot] - silent + ell(model.dimension, math.sqrt(kappa_squared * joined + prior_squared))
        if two:
            joined = max(beside_square[slot] + 2.0 * beside_dot[slot] + own_beside, 0.0)
            score += ell(model.beside, math.sqrt(model.beside_kappa * joined + model.beside_prior))
        if score > best or (score == best and winner >= 0 and ids[slot] < ids[winner]):
            best, winner = score, np.int64(slot)
            threshold = best - _MARGIN * (1.0 + abs(best))
    return winner


@njit(cache=True, nogil=True)
def _best_cauchy(  # type: ignore[no-untyped-def]
    number, now, weight, share, grain, dense, model, scale, ids, size, square, first, last, base, dot, candidates,
    vector, beside, beside_square, beside_dot,
):  # fmt: skip
    """Do as `_best` for stories that are spherical Cauchy distributions; ``grain`` is that of the document."""
    kappa, prior = math.sqrt(scale[KAPPA_SQUARED]), math.sqrt(scale[PRIOR_SQUARED])
    two = beside.shape[1] > 0 and vector.any()
    kappa_beside, prior_beside = math.sqrt(model.beside_kappa), math.sqrt(model.beside_prior)
    best = model.log_alpha + cauchy(model.dimension, grain, kappa, prior, 0.0, 0.0)
    if two:
        best += cauchy(model.beside, model.beside_grain, kappa_beside, prior_beside, 0.0, 0.0)
    winner = np.int64(-1)
    for c in range(number):
        slot = candidates[c]
        if beside.shape[1] > 0:
            beside_dot[slot] = product_of(beside[slot], vector)
        gap = max(now - last[slot], first[slot] - now, 0.0)
        if gap > model.silence or size[slot] == 0 or (not dense and dot[slot] == 0.0):
            continue
        silent = (size[slot] + 1.0) * math.log1p(gap / (model.tempo + last[slot] - first[slot]))
        score = base[slot] - silent
        score += cauchy(model.dimension, grain, kappa, prior, square[slot], share * dot[slot] / weight)
        if two:
            of_vector = beside_square[slot], beside_dot[slot]
            score += cauchy(model.beside, model.beside_grain, kappa_beside, prior_beside, *of_vector)
        if score > best or (score == best and winner >= 0 and ids[slot] < ids[winner]):
            best, winner = score, np.int64(slot)
    return winner


@njit(cache=True, nogil=True)
def _second_best(  # type: ignore[no-untyped-def]
    number, now, weight, model, scale, ids, size, square, first, last, base, ceiling, slope, dot, candidates, bounds,
    no_vector, no_vectors, no_products,
):  # fmt: skip
    """Judge a document of words that would open a story once more; return a slot as `_best` does.

    It is judged at the coarsest grain, and the story has to stand out, see `vmfstream.stories.grain`.
    """
    dense = np.bool_(False)  # not a literal, for which `_best` would be compiled anew
    if model.cauchy:
        winner = _best_cauchy(
            number, now, 1.0, 1.0 / weight, model.coarsest, dense, model, scale, ids, size, square, first, last, base,
            dot, candidates, no_vector, no_vectors, no_products, no_products,
        )  # fmt: skip
    else:
        winner = _best(
            number, now, 1.0, 1.0 / weight, dense, model, scale, ids, size, square, first, last, base, ceiling, slope,
            dot, candidates, bounds, no_vector, no_vectors, no_products, no_products, no_products,
        )  # fmt: skip
    if winner < 0:
        return winner
    nearest = dot[winner] / math.sqrt(max(square[winner], 1e-300))
    elsewhere = 0.0
    for c in range(number):
        slot = candidates[c]
        if slot == winner or size[slot] == 0 or max(now - last[slot], first[slot] - now) > model.silence:
            continue
        if model.nearer * dot[slot] > nearest * math.sqrt(max(square[slot], 1e-300)):
            return np.int64(-1)
        if size[slot] > 1:
            elsewhere += dot[slot]
    others, documents = 0, 0
    for slot in range(ids.size):
        if ids[slot] < 0 or slot == winner or size[slot] < 2:
            continue
        if max(now - last[slot], first[slot] - now) <= model.silence:
            others += 1
            documents += size[slot]
    near = dot[winner] * documents >= model.nearer * elsewhere * size[winner]
    return winner if near and others >= model.others else np.int64(-1)


@njit(cache=True, nogil=True)
def learn_rows(memory, model, documents, begin, labels, cosines, retired):  # type: ignore[no-untyped-def]
    """Give documents from ``begin`` on their stories, one after the other, and learn them.

    Returns how many are done, why no more are, and how many places a pool lacks.

    ``cosines`` are filled with those of documents and the stories that they joined, ``retired`` with the stories that
    ended meanwhile.
    """
    dense = memory.dense.shape[1] > 0
    ids, size, square, first, last = memory.ids, memory.size, memory.square, memory.first, memory.last
    base, ceiling, slope, scale = memory.base, memory.ceiling, memory.slope, memory.scale
    older, newer, free, dot, visited = memory.older, memory.newer, memory.free, memory.dot, memory.visited
    candidates, bounds, counters, clock = memory.candidates, memory.bounds, memory.counters, memory.clock
    words, places, postings, pool = memory.words, memory.places, memory.postings, memory.pool
    table, table_length, table_room = words.start, words.length, words.room
    key, value, places_free, places_used = places.key, places.value, places.free, places.used
    start, length, room = postings.start, postings.length, postings.room
    slots, weights, pool_free, pool_used = pool.key, pool.value, pool.free, pool.used
    rows, all_columns, all_values, times = documents.bounds, documents.columns, documents.values, documents.times
    number, ended, sums, no_columns = retired.number, retired.ids.size, memory.dense, documents.columns[:0]
    beside, beside_square, beside_dot = memory.beside, memory.beside_square, memory.beside_dot
    beside_slope, vectors, two, no_vector = (
        memory.beside_slope,
        documents.beside,
        memory.beside.shape[1] > 0,
        all_values[:0],
    )
    for i in range(begin, labels.size + 1):
        if counters[EXAMINE] >= 0:
            reason, need = merge_twin(memory, model, retired)
            if reason != DONE:
                return i, reason, need
        if i == labels.size:
            break
        if rows[i] == rows[i + 1]:
            labels[i] = -1
            continue
        columns = no_columns if dense else all_columns[rows[i] : rows[i + 1]]
        values = all_values[rows[i] : rows[i + 1]]
        weight, grain = 1.0, model.grain
        if model.automatic:
            grain = grain_of(values, model)
            weight = weight_of(grain, model.coarsest)
            values = values * np.float32(weight)
        now = max(clock[0], times[i]) if times.size else np.float64(counters[DOCUMENTS])
        while counters[OLDEST] >= 0 and now - last[counters[OLDEST]] > model.silence:
            if number[0] == ended:
                return i, NEEDS_RETIRED, np.int64(0)
            retire(memory, retired)
        counters[MARK] += 1
        if dense:
            found = visit_all(values, sums, counters[OLDEST], newer, dot, candidates)
        else:
            found = visit(columns, values, start, length, slots, weights, dot, visited, candidates, counters[MARK])
        if model.cauchy:
            slot = _best_cauchy(
                found, now, weight, 1.0, grain, dense, model, scale, ids, size, square, first, last, base, dot,
                candidates, vectors[i] if two else no_vector, beside, beside_square, beside_dot,
            )  # fmt: skip
        else:
            slot = _best(
                found, now, weight, 1.0, dense, model, scale, ids, size, square, first, last, base, ceiling, slope, dot,
                candidates, bounds, vectors[i] if two else no_vector, beside, beside_square, beside_dot, beside_slope,
            )  # fmt: skip
        if slot < 0 and weight > 1.0 and grain <= model.finest and not (dense or two):
            slot = _second_best(
                found, now, weight, model, scale, ids, size, square, first, last, base, ceiling, slope, dot, candidates,
                bounds, no_vector, beside, beside_square,
            )  # fmt: skip
        opened = slot < 0
        if opened:
            if counters[LIVING] >= model.max_stories:
                if number[0] == ended:
                    return i, NEEDS_RETIRED, np.int64(0)
                retire(memory, retired)
            if counters[LIVING] == ids.size:
                return i, NEEDS_SLOTS, np.int64(0)
            slot = free[ids.size - counters[LIVING] - 1]
        if not dense:
            need = need_of(columns, length, room)
            if pool_used[0] + need > slots.size:
                return i, NEEDS_POOL, need
            need = wanted_of_table(table_length[slot], table_room[slot], columns.size)
            if places_used[0] + need > key.size:
                return i, NEEDS_PLACES, need
        if opened:
            ids[slot] = counters[NEXT_ID]
            size[slot] = 0
            square[slot] = 0.0
            dot[slot] = 0.0
            beside_square[slot] = 0.0
            beside_dot[slot] = 0.0
            first[slot] = now
            counters[NEXT_ID] += 1
            counters[LIVING] += 1
        else:
            unlink(slot, older, newer, counters)
            cosines[i] = dot[slot] / weight / math.sqrt(max(square[slot], 1e-300))
        link(slot, older, newer, counters)
        if dense:
            sums[slot] += values
        else:
            make_room(slot, columns, table, table_length, table_room, key, value, places_free, places_used)
            table_length[slot] += add(
                slot, columns, values, key, value, table[slot], np.int64(table_room[slot]), start, length, room, slots,
                weights, pool_free, pool_used,
            )  # fmt: skip
        size[slot] += 1
        square[slot] += 2.0 * dot[slot] + weight * weight
        if two:
            beside[slot] += vectors[i]
            beside_square[slot] += 2.0 * beside_dot[slot] + product_of(vectors[i], vectors[i])
        last[slot] = now
        if table_length[slot] > model.max_words:
            shorten(memory, slot, model.max_words - model.max_words // 4)
        rescore(
            slot, model, scale, size, square, first, last, base, ceiling, slope, beside_square, beside_slope
        )  # fmt: skip
        labels[i] = ids[slot]
        counters[DOCUMENTS] += 1
        clock[0] = now
        if to_examine(size[slot], first[slot], now, model):
            counters[EXAMINE] = slot
        if model.automatic:
            scale[GRAINS] += grain
            scale[COUNT] += 1.0
    return labels.size, DONE, np.int64(0)


@njit(cache=True, nogil=True)
def _leave_out(slot, weight, model, memory, vector):  # type: ignore[no-untyped-def]
    """Take the document whose products with rows are known, and its ``vector``, out of its story, for a while."""
    own, dot = weight * weight, memory.dot
    if vector.size:
        memory.beside_square[slot] += product_of(vector, vector) - 2.0 * product_of(memory.beside[slot], vector)
        memory.beside[slot] -= vector
    memory.size[slot] -= 1
    memory.square[slot] += own - 2.0 * dot[slot]
    dot[slot] -= own
    if memory.size[slot] == 0:  # it is alone: a story of its own is a new one
        memory.ceiling[slot] = -np.inf
        return
    rescore(
        slot, model, memory.scale, memory.size, memory.square, memory.first, memory.last, memory.base, memory.ceiling,
        memory.slope, memory.beside_square, memory.beside_slope,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def label_rows(memory, model, documents, owners, labels):  # type: ignore[no-untyped-def]
    """Give every document the label that it would get if it were learnt next.

    Documents that have ``owners``, ids of the stories that they are in, (N,) or (0,), come at their own times, and are
    not counted in their stories. A story that began after a document is as improbable as one that was silent for as
    long before it.
    """
    dense = memory.dense.shape[1] > 0
    counters, clock, rows = memory.counters, memory.clock, documents.bounds
    two = memory.beside.shape[1] > 0
    for i in range(labels.size):
        if rows[i] == rows[i + 1]:
            labels[i] = -1
            continue
        now = documents.times[i] if documents.times.size else np.float64(counters[DOCUMENTS])
        if not owners.size:
            now = max(clock[0], now)
        values = documents.values[rows[i] : rows[i + 1]]
        weight, grain = 1.0, model.grain
        if model.automatic:
            grain = grain_of(values, model)
            weight = weight_of(grain, model.coarsest)
            values = values * np.float32(weight)
        vector = documents.beside[i] if two else documents.values[:0]
        counters[MARK] += 1
        if dense:
            found = visit_all(values, memory.dense, counters[OLDEST], memory.newer, memory.dot, memory.candidates)
        else:
            found = visit(
                documents.columns[rows[i] : rows[i + 1]], values, memory.postings.start, memory.postings.length,
                memory.pool.key, memory.pool.value, memory.dot, memory.visited, memory.candidates, counters[MARK],
            )  # fmt: skip
        owner = np.int64(-1)
        for c in range(found if owners.size else 0):
            if memory.ids[memory.candidates[c]] == owners[i]:
                owner = memory.candidates[c]
        if owner >= 0:
            square, beside_square = memory.square[owner], memory.beside_square[owner]
            sums = memory.beside[owner].copy() if two else vector
            _leave_out(owner, weight, model, memory, vector)
        if model.cauchy:
            slot = _best_cauchy(
                found, now, weight, 1.0, grain, dense, model, memory.scale, memory.ids, memory.size, memory.square,
                memory.first, memory.last, memory.base, memory.dot, memory.candidates, vector, memory.beside,
                memory.beside_square, memory.beside_dot,
            )  # fmt: skip
        else:
            slot = _best(
                found, now, weight, 1.0, dense, model, memory.scale, memory.ids, memory.size, memory.square,
                memory.first, memory.last, memory.base, memory.ceiling, memory.slope, memory.dot, memory.candidates,
                memory.bounds, vector, memory.beside, memory.beside_square, memory.beside_dot, memory.beside_slope,
            )  # fmt: skip
        if slot < 0 and weight > 1.0 and grain <= model.finest and not (dense or two):
            slot = _second_best(
                found, now, weight, model, memory.scale, memory.ids, memory.size, memory.square, memory.first,
                memory.last, memory.base, memory.ceiling, memory.slope, memory.dot, memory.candidates, memory.bounds,
                vector, memory.beside, memory.beside_square,
            )  # fmt: skip
        if owner >= 0:
            memory.size[owner] += 1
            memory.square[owner] = square
            memory.beside_square[owner] = beside_square
            if two:
                memory.beside[owner] = sums
            rescore(
                owner, model, memory.scale, memory.size, memory.square, memory.first, memory.last, memory.base,
                memory.ceiling, memory.slope, memory.beside_square, memory.beside_slope,
            )  # fmt: skip
        labels[i] = memory.ids[slot] if slot >= 0 else counters[NEXT_ID]


@njit(cache=True, nogil=True)
def place_stories(memory, model, begin, sums):  # type: ignore[no-untyped-def]
    """Put stories from slot ``begin`` on into an empty memory whose figures are set; ``sums`` are their sums of rows.

    Returns how many are done, what the next one lacks, and how many places of it.
    """
    dense = memory.dense.shape[1] > 0
    words, places, postings, pool = memory.words, memory.places, memory.postings, memory.pool
    for slot in range(begin, sums.bounds.size - 1):
        low, high = sums.bounds[slot], sums.bounds[slot + 1]
        values = sums.values[low:high]
        if dense:
            memory.dense[slot] += values
        else:
            columns = sums.columns[low:high]
            need = need_of(columns, postings.length, postings.room)
            if pool.used[0] + need > pool.key.size:
                return slot, NEEDS_POOL, need
            need = wanted_of_table(words.length[slot], words.room[slot], columns.size)
            if places.used[0] + need > places.key.size:
                return slot, NEEDS_PLACES, need
            make_room(
                slot, columns, words.start, words.length, words.room, places.key, places.value, places.free,
                places.used,
            )  # fmt: skip
            words.length[slot] += add(
                slot, columns, values, places.key, places.value, words.start[slot], np.int64(words.room[slot]),
                postings.start, postings.length, postings.room, pool.key, pool.value, pool.free, pool.used,
            )  # fmt: skip
        link(slot, memory.older, memory.newer, memory.counters)
        rescore(
            slot, model, memory.scale, memory.size, memory.square, memory.first, memory.last, memory.base,
            memory.ceiling, memory.slope, memory.beside_square, memory.beside_slope,
        )  # fmt: skip
    return sums.bounds.size - 1, DONE, np.int64(0)
