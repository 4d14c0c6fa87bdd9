"""Serve metrics of a run for Prometheus at ``/metrics``, and its health checks ``/healthz`` and ``/readyz``."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Iterable, Iterator
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from vmfstream.engine.loop.settings import Progress
from vmfstream.engine.observers.latency import Latency
from vmfstream.errors import InputError

STILL = 600.0
"""Seconds without a step of the loop after which a run counts as stuck; the end of a slice is one step."""

_REQUEST_SECONDS = 5  # in which a request has to come


class Exposition:
    """Serves the newest figures of a run, and its health, from a thread until it is closed.

    ``/metrics`` are figures for Prometheus. ``/healthz`` answers 200 while the loop moves, and 503 after `STILL`
    seconds without a step. ``/readyz`` answers 200 once the source is connected and the run file is open and brought up
    to date, and 503 before.

    Parameters
    ----------
    port : int
        0 takes a free one, which the attribute ``port`` names.
    address : str
        Address of this machine to listen on; ``0.0.0.0`` serves other machines too.
    latency : Latency, optional
        Of the labels that are sent.
    silence : callable
        Returns the seconds since the loop's last step.

    Raises
    ------
    InputError
        If the address or port cannot be listened on.
    """

    def __init__(
        self,
        port: int,
        address: str = "127.0.0.1",
        latency: Latency | None = None,
        silence: Callable[[], float] = lambda: 0.0,
    ) -> None:
        from prometheus_client import CollectorRegistry, make_wsgi_app

        self._now: Progress | None = None
        self._latency, self._silence = latency, silence
        registry = CollectorRegistry()
        registry.register(self)
        self._metrics = make_wsgi_app(registry)
        try:
            family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
            server = type("Server", (_Server,), {"address_family": family})
            self._server: Any = make_server(address, port, self._answer, server, _Handler)
        except OSError as error:
            raise InputError(f"cannot serve metrics at {address}:{port}: {error.strerror}") from error
        # looks every 50 ms whether it shall end: a run that is done waits for it
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), name="vmfstream-metrics", daemon=True)
        self._thread.start()
        self.port = int(self._server.server_port)

    def __call__(self, now: Progress) -> None:
        """Take the newest figures."""
        self._now = now

    def _answer(self, environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, as WSGI has it."""
        path = environment.get("PATH_INFO", "")
        if path in ("/metrics", "/"):
            answer: Iterable[bytes] = self._metrics(environment, start)
            return answer
        if path == "/healthz":
            silence = self._silence()
            good, said = silence < STILL, f"the loop's last step was {silence:.1f} s ago"
        elif path == "/readyz":
            good = self._now is not None
            said = (
                "the source is connected, the run file is open"
                if good
                else "the source or the run file is not open yet"
            )
        else:
            start("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"there are /metrics, /healthz and /readyz\n"]
        start("200 OK" if good else "503 Service Unavailable", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{said}\n".encode()]

    def collect(self) -> Iterator[Any]:
        """Yield the figures in the form of the client library."""
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        yield GaugeMetricFamily("vmfstream_still_seconds", "Since the last step of the loop.", self._silence())
        now = self._now
        if now is None:
            return
        surprise = -now.prequential
        yield CounterMetricFamily("vmfstream_documents", "Documents learnt, earlier runs included.", now.documents)
        yield CounterMetricFamily("vmfstream_rejected", "Messages that were no documents.", now.rejected)
        yield CounterMetricFamily("vmfstream_late", "Documents of closed slices since the start.", now.late)
        yield CounterMetricFamily("vmfstream_epochs", "Transactions committed.", now.epoch)
        yield GaugeMetricFamily("vmfstream_epoch_seconds", "Computing time of the newest epoch.", now.seconds)
        yield GaugeMetricFamily("vmfstream_topics", "Topics that are followed.", now.topics)
        if math.isfinite(surprise):
            yield GaugeMetricFamily(
                "vmfstream_surprise", "Mean negative log-density of new documents before they were learnt.", surprise
            )
        if now.lag is not None:
            yield GaugeMetricFamily("vmfstream_lag", "Messages that wait in the source.", now.lag)

        latency = self._latency
        if latency is None:
            return
        yield CounterMetricFamily("vmfstream_labels", "Labels sent since the start.", latency.sent)
        if latency.timed:
            seconds = GaugeMetricFamily(
                "vmfstream_label_latency_seconds",
                "From messages of since the start to their labels.",
                labels=["quantile"],
            )
            for share in (0.5, 0.99):
                seconds.add_metric([str(share)], latency.quantile(share))
            yield seconds

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    """A thread for each request, which ends with the process."""

    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = _REQUEST_SECONDS

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: Prometheus asks every few seconds."""
