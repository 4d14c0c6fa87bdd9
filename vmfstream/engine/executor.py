"""Where pure functions are applied: here, in this process. Its twin on Dask is `vmfstream.engine.cluster`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class InProcess:
    """Applies functions one after the other in this process; a value is its own handle."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def share(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def hold(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Return the results."""
        return self.map(function, calls)

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results."""
        return [function(*arguments) for arguments in calls]

    def close(self) -> None:
        """Do nothing."""
