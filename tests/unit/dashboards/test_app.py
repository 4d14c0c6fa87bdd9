"""The live page without a browser: what it answers, what it refuses, and that a running tracker does not notice it."""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.written import write_run_file
from tests.unit.runfile.records import commit, epoch_report, slice_report, topic_rows
from tests.waiting import PATIENCE
from vmfstream.dashboards import app as live
from vmfstream.dashboards.app import Server, beside, create_app
from vmfstream.dashboards.page import connection
from vmfstream.dashboards.page.run_file_watch import RunFileWatch
from vmfstream.errors import InputError
from vmfstream.records import Commit, Slice
from vmfstream.runfile.connection import connected
from vmfstream.runfile.lease import lease
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

pytest.importorskip("dash")  # the live page is an extra


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_file(tmp_path_factory.mktemp("log") / "run.duckdb", gazette(slices=5, topics=4))


@pytest.fixture
def run_file(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(kept, tmp_path / "run.duckdb"))


def test_page_and_file_have_one_script_and_the_same_data(kept: Path) -> None:
    client = create_app(kept).server.test_client()
    text = client.get("/").get_data(as_text=True)
    data = _json(text, "data")
    assert "data-live" in text
    assert data["labels"] == [f"1996 Q{k}" for k in (1, 2, 3, 4)] + ["1997 Q1"]
    assert data["stamp"]
    assert set(_json(text, "figures")) >= {"river/smoothed/documents/wide"}
    assert "Harbour Gazette" in text
    assert "function redraw(" in text


def test_nothing_but_this_machine_is_named(kept: Path) -> None:
    client = create_app(kept).server.test_client()
    answer = client.get("/")
    for src in re.findall(r'(?:src|href)="([^"]+)"', answer.get_data(as_text=True)):
        assert not src.startswith(("http", "//")), src
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    allowed = dict(one.strip().split(" ", 1) for one in answer.headers["Content-Security-Policy"].split(";"))
    assert [name for name, sources in allowed.items() if "unsafe" in sources] == ["style-src"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert client.get("/plotly.js").mimetype == "text/javascript"


def test_strange_names_are_refused(kept: Path) -> None:
    client = create_app(kept, ("127.0.0.1", "localhost", "::1")).server.test_client()
    for host in ("127.0.0.1:8050", "localhost:8050", "[::1]:8050", "localhost", "[::1]"):
        assert client.get("/", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example:8050", "[::2]", "evil.example:[::1]"):
        assert client.get("/", headers={"Host": host}).status_code == 403


def test_figures_come_by_key(kept: Path) -> None:
    client = create_app(kept).server.test_client()
    strange = ["words/filtered/99/ranks", "river/../../etc/passwd", "", "nothing/1", 7, "x" * 1000]
    asked = {"id": 3, "stamp": "gone", "keys": ["words/filtered/0/ranks", *strange]}
    answer = _call(client, "answer", "ask", asked)
    assert answer["id"] == 3
    figures = answer["figures"]
    assert {key for key, text in figures.items() if text} == {"words/filtered/0/ranks"}
    assert len(figures) == 5
    figure = json.loads(figures["words/filtered/0/ranks"])
    assert figure["figure"]["data"]
    assert figure["arrays"]


_NEWS = {
    "output": "news.data",
    "outputs": {"id": "news", "property": "data"},
    "inputs": [{"id": "want", "property": "data", "value": 1}],
    "changedPropIds": ["want.data"],
}
_ANSWER: dict[str, Any] = {
    "output": "answer.data",
    "outputs": {"id": "answer", "property": "data"},
    "inputs": [{"id": "ask", "property": "data", "value": {"id": 1, "stamp": "", "keys": []}}],
    "changedPropIds": ["ask.data"],
}


def _asking(value: object) -> dict[str, Any]:
    return _ANSWER | {"inputs": [{"id": "ask", "property": "data", "value": value}]}


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "5",
        "[" * 100_000,
        '{"keys":5}',
        "\xff",
        *(
            json.dumps(one)
            for one in (
                [_NEWS],
                _NEWS | {"output": "other.data"},
                _NEWS | {"output": ["news.data"]},
                _NEWS | {"outputs": [{"id": "news", "property": "data"}]},
                _NEWS | {"outputs": {"id": ["news"], "property": "data"}},
                _NEWS | {"outputs": {"id": "news", "property": 7}},
                _NEWS | {"inputs": 5},
                _NEWS | {"inputs": []},
                _NEWS | {"inputs": [5]},
                _NEWS | {"inputs": [[{"id": "want", "property": "data"}]]},
                _NEWS | {"inputs": [{"id": {"a": 1}, "property": "data"}]},
                _NEWS | {"changedPropIds": 5},
                _NEWS | {"changedPropIds": [{}]},
                _NEWS | {"state": [5]},
                {name: value for name, value in _NEWS.items() if name != "inputs"},
                _asking(None),
                _asking([]),
                _asking({"id": 1, "stamp": "", "keys": 5}),
                _asking({"id": 1, "stamp": 5, "keys": []}),
                _asking({"id": [], "stamp": "", "keys": []}),
            )
        ),
    ],
)
def test_calls_that_are_none_are_refused(kept: Path, caplog: pytest.LogCaptureFixture, body: str) -> None:
    client = create_app(kept).server.test_client()
    for mimetype in ("application/json", "text/plain"):
        answer = client.post("/_dash-update-component", data=body.encode("latin-1"), content_type=mimetype)
        assert (answer.status_code, answer.text) == (400, "This page makes no such call.")
    assert not caplog.records


def test_calls_as_dash_makes_them_are_answered(kept: Path) -> None:
    client = create_app(kept).server.test_client()
    for call in (_NEWS, _ANSWER, {name: value for name, value in _NEWS.items() if name != "changedPropIds"}):
        assert client.post("/_dash-update-component", json=call).status_code == 200


def test_figures_that_do_not_exist_are_not_kept(kept: Path) -> None:
    copy = RunFileWatch(kept).newest()
    assert copy is not None
    for number in range(50):
        assert copy.figure(f"river/none/{number}") is None
    assert not copy._turns


def test_a_poll_opens_the_run_file_only_after_a_change(run_file: Path) -> None:
    watch = RunFileWatch(run_file)
    first = watch.poll()
    assert (first["finished"], first["slice"], first["open"], first["writing"]) == (True, 4, None, False)
    for _ in range(5):
        assert watch.poll()["stamp"] == first["stamp"]
    assert watch.looks == 1
    os.utime(run_file)
    watch.poll()
    assert watch.looks == 2
    with lease(run_file):
        assert watch.poll()["writing"]


def test_a_clock_that_is_set_back_does_not_make_a_run_young(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [100.0]
    monkeypatch.setattr("vmfstream.dashboards.page.run_file_watch.time.monotonic", lambda: passed[0])
    monkeypatch.setattr("vmfstream.dashboards.page.run_file_watch.now", lambda: 0.0)  # 1970
    watch = RunFileWatch(kept)
    assert watch.poll()["age"] == 0.0
    passed[0] = 1000.0
    assert watch.poll()["age"] == 900.0


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve where clocks do not show UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_the_age_is_that_of_the_newest_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock; by what this process saw, if the clock says less."""
    passed, clock = [500.0], [0.0]
    monkeypatch.setattr("vmfstream.dashboards.page.run_file_watch.time.monotonic", lambda: passed[0])
    monkeypatch.setattr("vmfstream.dashboards.page.run_file_watch.now", lambda: clock[0])
    writer, todo = RunFile(tmp_path / "run.duckdb"), commits(3)
    watch = RunFileWatch(writer.path)
    assert (watch.poll()["age"], watch.poll()["usual"]) == (None, None)  # no epoch yet
    for _ in range(2):
        writer.commit(next(todo))
        _begun(writer.path, "2026-01-01", every=10)
        passed[0], clock[0] = passed[0] + 100.0, 0.0
        assert watch.poll()["age"] == 0.0  # seen just now
        passed[0] += 7.0
        os.utime(writer.path)  # looked at again, and nothing is new
        found = watch.poll()
        assert (found["age"], found["at"]) == (7.0, 0.0)
    written = datetime(2026, 1, 1, tzinfo=UTC).timestamp() + 10 + 1.5  # the second epoch, which took so long
    clock[0] = written + 300
    found = watch.poll()
    assert (found["age"], found["at"], found["usual"]) == (300.0, clock[0], 10.0)
    clock[0] = written - 300
    assert watch.poll()["age"] == 7.0


def _begun(run_file: Path, first: str, every: int) -> None:
    """Let the epochs of a run file have begun at ``first`` and ``every`` seconds apart, and have taken 1.5."""
    with connected(run_file, read_only=False, timeout=1.0) as connection:
        connection.execute(f"update epoch set seconds = 1.5, begun = timestamp '{first}' + to_seconds({every} * epoch)")


@pytest.mark.thorough
def test_new_slices_arrive_in_one_copy_for_all_pages(tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    writer, todo = RunFile(run_file), commits(6)
    watch = RunFileWatch(run_file)
    writer.commit(next(todo))
    assert watch.newest() is None
    assert watch.poll()["said"].startswith("No complete date yet")
    while watch.poll()["slice"] is None:
        writer.commit(next(todo))
    one = watch.newest()
    assert one is not None
    assert watch.newest() is one
    before = watch.poll()["stamp"]
    while watch.poll()["stamp"] == before:
        writer.commit(next(todo))
    watch._next = float("inf")  # too soon for another copy
    assert watch.newest() is one
    watch._next = 0.0
    two = watch.newest()
    assert two is not None
    assert two.stamp != one.stamp
    assert watch.state(one.stamp) is one  # who still shows the old one gets figures of it
    assert watch.state("unknown") is two


def test_another_run_in_the_same_file_is_shown_though_it_has_as_many_slices(run_file: Path) -> None:
    watch = RunFileWatch(run_file)
    before, known = watch.newest(), watch.poll()
    other = Path(shutil.copy(run_file, run_file.with_name("other.duckdb")))
    with connected(other, read_only=False, timeout=1.0) as connection:
        connection.execute("update epoch set begun = begun + interval 1 minute")
        connection.execute("update meta set value = 'Another Gazette' where key = 'title'")
    other.replace(run_file)
    watch._next = 0.0
    after = watch.newest()
    assert before is not None
    assert after is not None
    assert "Another Gazette" in after.opening()[0]
    assert watch.poll()["slice"] == known["slice"]
    assert watch.poll()["stamp"] == after.stamp != before.stamp == known["stamp"]


def test_missing_broken_and_busy_run_files_are_said_and_tried_again(tmp_path: Path, kept: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    watch = RunFileWatch(run_file)
    assert "no run file run.duckdb yet" in watch.poll()["problem"]
    client = create_app(watch).server.test_client()
    assert "no run file run.duckdb yet" in client.get("/").get_data(as_text=True)
    run_file.write_text("something else")
    assert "not a DuckDB file" in watch.poll()["problem"]
    shutil.copy(kept, run_file)
    with _held(run_file):
        stored = watch.poll()
    assert stored["busy"] is not None
    assert stored["problem"] == ""
    after = watch.poll()
    assert (after["busy"], after["problem"], after["slice"]) == (None, "", 4)


def test_a_full_folder_of_temporary_files_is_said_and_tried_again(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    watch = RunFileWatch(kept)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        assert watch.newest() is None
        said = watch.poll()["said"]
    assert re.fullmatch(
        r"cannot copy the run file to .*: No space left on device; make room, or let TMPDIR name .*", said
    )
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(watch, "_next", 0.0)
    assert watch.newest() is not None
    assert watch.poll()["problem"] == ""
    assert len(list(tmp_path.iterdir())) == 1
    watch.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_leaves_no_copy_behind(kept: Path, tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "vmfstream", "dashboard", str(kept), "--port", "0"]
    given = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=given) as process:
        assert process.stdout is not None
        (address,) = re.findall(r"http://\S+", process.stdout.readline())
        urllib.request.urlopen(address).close()
        assert [path.name for path in tmp_path.glob("vmfstream-*/*")] == ["run.duckdb"]
        process.send_signal(number)
    assert process.returncode == 0
    assert list(tmp_path.glob("vmfstream-*")) == []


def test_a_run_file_between_two_formats_is_being_brought_up_to_date(run_file: Path) -> None:
    watch = RunFileWatch(run_file)
    watch.poll()
    with connected(run_file, read_only=False, timeout=1.0) as connection:
        connection.execute("update meta set value = '1' where key = 'format'")
    said = watch.poll()
    assert "being migrated" in said["problem"]
    assert said["slice"] == 4  # what was known stays


def test_the_run_file_is_only_read(run_file: Path) -> None:
    before = run_file.read_bytes()
    client = create_app(run_file).server.test_client()
    client.get("/")
    hostile = "'; drop table slice; --"
    _call(client, "answer", "ask", {"id": 1, "stamp": hostile, "keys": [hostile, f"words/filtered/{hostile}/ranks"]})
    assert client.post("/", data={"x": 1}).status_code == 405
    assert run_file.read_bytes() == before
    assert Reader(run_file).slices().slice.size == 5


@pytest.mark.thorough
def test_a_tracker_at_full_speed_loses_nothing_to_two_pollers(tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    writer = RunFile(run_file)
    stop = threading.Event()
    problems: list[object] = []

    def poll() -> None:
        watch = RunFileWatch(run_file)
        while not stop.is_set():
            found, state = watch.poll(), watch.newest()
            time.sleep(0.1)  # twenty times as often as a page asks
            if found["problem"]:
                problems.append(found["problem"])
            if state is not None and state.rows.slices().slice.size == 0:
                problems.append("empty")

    script = "import sys; from tests.unit.dashboards.test_app import write_all; write_all(sys.argv[1])"
    pollers = [threading.Thread(target=poll) for _ in range(2)]
    writer.close()
    for poller in pollers:
        poller.start()
    done = subprocess.run([sys.executable, "-c", script, str(run_file)], capture_output=True, text=True, cwd=Path.cwd())
    stop.set()
    for poller in pollers:
        poller.join()
    assert done.returncode == 0, done.stderr
    assert problems == []
    reader = Reader(run_file)
    assert reader.epochs().epoch.tolist() == list(range(20))
    assert reader.slices().slice.tolist() == list(range(10))


def write_all(run_file: str) -> None:
    """Commit twenty epochs as fast as the log takes them; runs in a process of its own."""
    writer = RunFile(Path(run_file))
    for one in commits(20):
        writer.commit(one)


def test_taken_ports_and_missing_dash_are_one_sentence(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(kept, port=0)
    taken = int(server.url.rsplit(":", 1)[1].strip("/"))
    with pytest.raises(InputError, match=f"cannot listen at 127.0.0.1:{taken}"):
        Server(kept, port=taken)
    server.stop()
    server.run()
    monkeypatch.setitem(sys.modules, "dash", None)
    with pytest.raises(InputError, match=r"pip install 'vmfstream\[dash\]'"):
        create_app(kept)


@contextmanager
def served(run_file: Path, host: str = "127.0.0.1") -> Iterator[str]:
    """Serve in a thread, which has to end whatever requests there are."""
    server = Server(run_file, host, port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_half_requests_hold_no_threads_and_do_not_keep_the_server(kept: Path) -> None:
    with served(kept) as url:
        place = urlsplit(url)
        urllib.request.urlopen(url).read()
        before = threading.active_count()
        half = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(50)]
        for one in half:
            one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert b"Harbour Gazette" in urllib.request.urlopen(url, timeout=PATIENCE).read()
        assert threading.active_count() == before
    for one in half:
        one.close()


@pytest.mark.parametrize(("head", "drop"), [(b"GET / HTTP/1.1\r\nX: ", b"x"), (b"", b"\r\n")])
def test_requests_that_never_end_do_not_shut_others_out(
    kept: Path, monkeypatch: pytest.MonkeyPatch, head: bytes, drop: bytes
) -> None:
    """One header that goes on for ever, or blank lines before a request: neither is silent."""
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.5)
    monkeypatch.setitem(live._LIMITS, "connection_limit", 10)
    with served(kept) as url:
        place = urlsplit(url)
        endless = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(12)]
        for one in endless:
            one.sendall(head)
        with socket.create_connection((place.hostname or "", place.port or 0)) as asking:
            asking.sendall(b"GET /_dash-layout HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            asking.settimeout(0.1)
            answer, began = b"", time.monotonic()
            while not answer and time.monotonic() - began < PATIENCE:
                for one in endless:
                    with suppress(OSError):  # closed by the server
                        one.sendall(drop)
                with suppress(TimeoutError):
                    answer = asking.recv(100)
            assert answer.startswith(b"HTTP/1.1 200")
    for one in endless:
        one.close()


def test_a_connection_with_whole_requests_stays_open(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 2.0)
    with served(kept) as url:
        one = http.client.HTTPConnection(urlsplit(url).netloc)
        one.connect()
        first = one.sock
        for _ in range(6):
            one.request("GET", "/_dash-layout")
            assert one.getresponse().read()
            assert one.sock is first
            time.sleep(0.5)
        one.close()


@pytest.mark.thorough
def test_the_command_ends_in_two_seconds_with_a_thousand_half_requests(kept: Path) -> None:
    command = [sys.executable, "-m", "vmfstream", "dashboard", str(kept), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            place = urlsplit(process.stdout.readline().split()[1])
            half = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(1000)]
            for one in half:
                with suppress(OSError):  # what is beyond the limit was refused
                    one.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf")
            began, waited = time.monotonic(), _waited(process.pid)
            process.send_signal(signal.SIGTERM)
            kept_waiting = 0.0
            while process.poll() is None and time.monotonic() - began < PATIENCE:
                with suppress(OSError, ValueError):  # it ends meanwhile
                    kept_waiting = _waited(process.pid) - waited
                time.sleep(0.01)
            seconds = time.monotonic() - began - kept_waiting  # as on a machine with nothing else to do
            assert process.returncode == 0
            assert seconds < 2.0
        finally:
            process.kill()
    for one in half:
        one.close()


def _waited(pid: int) -> float:
    """Seconds for which a process has waited for a processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def test_long_bodies_are_refused(kept: Path) -> None:
    with served(kept) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname or "", place.port or 0)) as one:
            head = "POST /_dash-update-component HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 300000000\r\n\r\n"
            one.sendall(head.encode() + b"x" * 1000)
            assert b" 413 " in one.recv(1000)


def test_beyond_this_machine_a_token_is_needed(kept: Path) -> None:
    with served(kept, "0.0.0.0") as url:
        place = urlsplit(url)
        assert len(place.query) > 20
        bare = f"http://127.0.0.1:{place.port}"
        for refused in (f"{bare}/", f"{bare}/plotly.js", f"{bare}/?token=", f"{bare}/?token={place.query[6:-1]}"):
            with pytest.raises(urllib.error.HTTPError, match="403") as told:
                urllib.request.urlopen(refused)
            told.value.close()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        for asked in (f"?{place.query}", ""):
            with opener.open(f"{bare}/{asked}") as answer:
                assert b"Harbour Gazette" in answer.read()


@pytest.mark.thorough
def test_a_server_beside_a_run_ends_with_it(kept: Path) -> None:
    with beside(kept, port=0) as url:
        assert b"Harbour Gazette" in urllib.request.urlopen(url).read()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=5)
    assert live.POLL_SECONDS == 2.0


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_cleanly(kept: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "vmfstream", "dashboard", str(kept), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline()
        assert said.startswith("dashboard: http://127.0.0.1:")
        assert b"Harbour Gazette" in urllib.request.urlopen(said.split()[1]).read()
        process.send_signal(number)
        try:
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
        assert process.stderr.read() == ""


def commits(count: int) -> Iterator[Commit]:
    """Every second epoch closes a slice."""
    for epoch in range(count):
        index = epoch // 2
        report = replace(epoch_report(epoch, topic_rows()), slice=Slice(index, f"slice {index}"))
        closed = (slice_report(index, topic_rows()),) if epoch % 2 else ()
        yield replace(commit(epoch), epoch=report, closed=closed)


def _call(client: Any, output: str, given: str, value: object) -> Any:
    """Call a Dash callback as the browser does."""
    body = {
        "output": f"{output}.data",
        "outputs": {"id": output, "property": "data"},
        "inputs": [{"id": given, "property": "data", "value": value}],
        "changedPropIds": [f"{given}.data"],
    }
    answer = client.post("/_dash-update-component", json=body)
    assert answer.status_code == 200
    return answer.get_json()["response"][output]["data"]


def _json(text: str, name: str) -> Any:
    match = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.S)
    assert match
    return json.loads(match[1])


@contextmanager
def _held(run_file: Path) -> Iterator[None]:
    """Hold a log open for writing, as a commit does."""
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(run_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate()
