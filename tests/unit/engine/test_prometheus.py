"""Metrics and health of a run, as Prometheus and a supervisor ask for them."""

from __future__ import annotations

import math
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing

import pytest

from vmfstream.engine.loop.settings import Progress
from vmfstream.engine.observers.prometheus import STILL, Exposition
from vmfstream.errors import InputError


class Clock:
    silence = 0.0

    def __call__(self) -> float:
        return self.silence


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def served(clock: Clock) -> Iterator[Exposition]:
    with closing(Exposition(0, silence=clock)) as one:
        yield one


def ask(one: Exposition, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{one.port}{path}", timeout=30) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_run_is_ready_once_it_reports(served: Exposition) -> None:
    assert ask(served, "/readyz") == (503, "the source or the run file is not open yet\n")
    assert "vmfstream_documents" not in ask(served, "/metrics")[1]
    served(Progress(3, "2021", 40, 2, -1.5, finished=False, lag=7))
    assert ask(served, "/readyz") == (200, "the source is connected, the run file is open\n")
    status, metrics = ask(served, "/metrics")
    assert status == 200
    for line in ("vmfstream_documents_total 40.0", "vmfstream_lag 7.0", "vmfstream_surprise 1.5"):
        assert line in metrics.splitlines()
    served(Progress(3, "2021", 40, 2, math.nan, finished=False))
    assert "vmfstream_surprise" not in ask(served, "/metrics")[1]


def test_a_run_is_healthy_while_its_loop_moves(served: Exposition, clock: Clock) -> None:
    clock.silence = 1.25
    assert ask(served, "/healthz") == (200, "the loop's last step was 1.2 s ago\n")
    assert "vmfstream_still_seconds 1.25" in ask(served, "/metrics")[1]
    clock.silence = STILL
    assert ask(served, "/healthz")[0] == 503


def test_other_paths_name_those_there_are(served: Exposition) -> None:
    assert ask(served, "/health") == (404, "there are /metrics, /healthz and /readyz\n")


@pytest.mark.thorough
def test_it_ends_at_once_whatever_strangers_keep_open(clock: Clock) -> None:
    one = Exposition(0, silence=clock)
    strangers = [socket.create_connection(("127.0.0.1", one.port)) for _ in range(100)]
    for stranger in strangers:
        stranger.sendall(b"GET /metr")
    assert ask(one, "/healthz")[0] == 200
    began = time.thread_time()
    one.close()
    assert time.thread_time() - began < 2
    for stranger in strangers:
        stranger.close()


def test_a_taken_port_is_told() -> None:
    with (
        closing(Exposition(0)) as one,
        pytest.raises(InputError, match=f"cannot serve metrics at 127.0.0.1:{one.port}"),
    ):
        Exposition(one.port)
