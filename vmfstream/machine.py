"""What the machine has: memory, and a place where compiled code is kept."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path

LIMIT = Path("/sys/fs/cgroup/memory.max")
"""File with the bytes that a container may use, or max."""


def memory_there() -> int | None:
    """Return the bytes of memory that this machine or container has, None if the system does not say."""
    found = []
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # no such file, or no limit
        found.append(int(LIMIT.read_text()))
    return min(found, default=None)


def keep_compiled_code(package: Path) -> None:
    """Give compiled code a folder for the time of this process where it can be kept nowhere else, and warn.

    numba keeps it beside the modules of the ``package`` or in the cache of the user, and refuses to start if it may
    write neither, as in a container that is read-only. The folder is told to it, and to processes that are started from
    here, by ``NUMBA_CACHE_DIR``; one that is named there already is left alone.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or os.access(package, os.W_OK):
        return
    cache = Path("~/Library/Caches" if sys.platform == "darwin" else os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    with suppress(OSError, RuntimeError):  # it cannot be made, or the user has no home
        own = cache.expanduser() / "numba"
        own.mkdir(parents=True, exist_ok=True)
        if os.access(own, os.W_OK):
            return
    import atexit
    import shutil
    import tempfile

    made = tempfile.mkdtemp(prefix="vmfstream-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = made
    warnings.warn(
        f"compiled code is not kept, for neither {package} nor {cache} can be written; each start takes a minute "
        "longer: let NUMBA_CACHE_DIR name a folder that can",
        RuntimeWarning,
        stacklevel=2,
    )
