"""The broker that a person starts to try things out."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.broker.cluster import free_ports
from tests.waiting import PATIENCE

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_the_process_that_started_it(how: signal.Signals) -> None:
    (port,) = free_ports(1)
    command = [sys.executable, "-u", "-m", "tests.system.broker.cluster", "--port", str(port)]
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        assert f"kafka://127.0.0.1:{port}/news" in process.stdout.readline()
        process.send_signal(how)
        assert process.wait(PATIENCE) == (128 + how if how == signal.SIGTERM else 0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1.0)
