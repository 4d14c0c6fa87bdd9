"""Metrics of a run for Prometheus: the newest figures at ``/metrics`` of a port."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from vmfstream.engine.loop.settings import Progress
from vmfstream.engine.observers.latency import Latency
from vmfstream.errors import InputError


class Exposition:
    """Serves the newest figures of a run from a thread until it is closed.

    Parameters
    ----------
    port : int
        0 takes a free one, which the attribute ``port`` names.
    address : str
        Address of this machine to listen on; ``0.0.0.0`` serves other machines too.
    latency : Latency, optional
        Of the labels that are sent.

    Raises
    ------
    InputError
        If the address or port cannot be listened on.
    """

    def __init__(self, port: int, address: str = "127.0.0.1", latency: Latency | None = None) -> None:
        from prometheus_client import CollectorRegistry, start_http_server

        self._now: Progress | None = None
        self._latency = latency
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(port, address, registry)
        except OSError as error:
            raise InputError(f"cannot serve metrics at {address}:{port}: {error.strerror}") from error
        self.port = int(self._server.server_port)

    def __call__(self, now: Progress) -> None:
        """Take the newest figures."""
        self._now = now

    def collect(self) -> Iterator[Any]:
        """Yield the figures in the form of the client library."""
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

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
