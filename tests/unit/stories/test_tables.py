"""Hash tables in one pool of memory, against dictionaries."""

from __future__ import annotations

import numpy as np

from vmfstream.stories.lists import drop, empty_lists, empty_pool, wider_pool
from vmfstream.stories.tables import make_room, place, wanted


def test_tables_hold_what_dictionaries_hold() -> None:
    rng = np.random.default_rng(0)
    tables, pool = empty_lists(7), empty_pool(8, np.int32)
    truth: list[dict[int, int]] = [{} for _ in range(7)]
    for step in range(400):
        i, more = int(rng.integers(7)), int(rng.integers(1, 30))
        if rng.random() < 0.05:
            if truth[i]:
                drop(i, tables.start, tables.length, tables.room, pool.key, pool.free)
            truth[i] = {}
        need = wanted(tables.length[i], tables.room[i], more)
        if pool.used[0] + need > len(pool.key):
            pool = wider_pool(pool, need)
        keys = rng.integers(200, size=more)
        make_room(i, keys, tables.start, tables.length, tables.room, pool.key, pool.value, pool.free, pool.used)
        assert pool.used[0] <= len(pool.key)
        for key in keys.tolist():
            at = place(pool.key, tables.start[i], int(tables.room[i]), key)
            assert (pool.key[at] == key) == (key in truth[i])
            if key not in truth[i]:
                pool.key[at], pool.value[at] = key, step
                tables.length[i] += 1
                truth[i][key] = step
        assert tables.length[i] <= 0.75 * (1 << int(tables.room[i]))
    assert any(truth)
    for i, expected in enumerate(truth):
        block = slice(tables.start[i], tables.start[i] + (1 << int(tables.room[i])) if expected else 0)
        held = {k: v for k, v in zip(pool.key[block].tolist(), pool.value[block].tolist(), strict=True) if k >= 0}
        assert held == expected
        assert tables.length[i] == len(expected)


def test_keys_that_a_table_has_take_no_room() -> None:
    tables, pool = empty_lists(1), empty_pool(100, np.int32)
    keys = np.arange(0, 36, 3)
    arrays = tables.start, tables.length, tables.room, pool.key, pool.value, pool.free, pool.used
    make_room(0, keys, *arrays)
    for key in keys.tolist():
        pool.key[place(pool.key, tables.start[0], int(tables.room[0]), key)] = key
        tables.length[0] += 1
    make_room(0, keys, *arrays)
    assert 1 << int(tables.room[0]) == 16
    make_room(0, keys[:3] + 1, *arrays)
    assert 1 << int(tables.room[0]) == 32
