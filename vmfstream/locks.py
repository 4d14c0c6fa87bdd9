"""A lock for objects that are pickled and copied."""

from __future__ import annotations

from threading import RLock


class CopyableLock:
    """Lets one thread in at a time; what holds it can be pickled and copied, and such a copy has a lock of its own.

    Examples
    --------
    >>> import pickle
    >>> with pickle.loads(pickle.dumps(CopyableLock())):
    ...     print("inside")
    inside
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[CopyableLock], tuple[()]]:
        return CopyableLock, ()
