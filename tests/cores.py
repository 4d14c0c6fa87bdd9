"""Long searches in batches on all cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

T = TypeVar("T")


def on_all_cores(task: Callable[..., T], batches: Sequence[tuple[Any, ...]]) -> list[T]:
    """Call ``task`` with the arguments of each batch, and say how many are done; the first that fails ends all."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = [pool.submit(task, *batch) for batch in batches]
        try:
            for done, one in enumerate(as_completed(found), 1):
                one.result()
                print(f"{done:,} of {len(batches):,} batches: all right", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [one.result() for one in found]
