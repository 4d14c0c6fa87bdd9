"""What the soak takes for growth."""

from __future__ import annotations

import pytest

from tests.system.broker.soak import judged


def run(*, memory: float = 0.0, file: float = 0.0, pace: float = 0.0) -> bool:
    """Judge half an hour in which memory, the file's growth per slice and the time of an epoch grow by so much."""
    seen = [
        {
            "minutes": minute,
            "documents": 500_000 * minute,
            "slices": 100 * minute,
            "resident_mib": 450.0 + 60 * (minute % 2) + memory * minute,
            "file_mib": 10.0 * minute + file * minute**2,
        }
        for minute in range(1, 31)
    ]
    return judged(seen, [0.2 + pace * epoch / 100 for epoch in range(3000)])


def test_what_stays_is_flat() -> None:
    assert run()


@pytest.mark.parametrize("grows", [{"memory": 4.0}, {"file": 0.2}, {"pace": 0.003}])
def test_what_grows_is_seen(grows: dict[str, float]) -> None:
    assert not run(**grows)
