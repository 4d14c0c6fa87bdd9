"""The live page: the HTML, script and data of the exported file, kept up to date by Dash callbacks.

The page comes with the newest state of the run file in it. From then on three callbacks serve it: ``newest`` every two
seconds (one look at the run file for all pages), ``news`` when the page wants a newer state, ``answer`` for figures by
key.
"""

from __future__ import annotations

import hmac
import logging
import multiprocessing
import os
import re
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import clean
from vmfstream.dashboards.page.calls import CALLS, is_call
from vmfstream.dashboards.page.data import parts_of
from vmfstream.dashboards.page.markup import NO_COASTS, hashed, page, waiting
from vmfstream.dashboards.page.run_file_watch import RunFileWatch
from vmfstream.dashboards.page.script import script
from vmfstream.errors import InputError, VmfstreamError
from vmfstream.machine import leave_stopping_to_others

if TYPE_CHECKING:
    from dash import Dash

POLL_SECONDS = 2.0

_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_MOST_FIGURES = 20
_LOCAL = ("127.0.0.1", "localhost", "::1")

_COOKIE = "vmfstream"
_LIMITS = {
    "threads": 8,
    "connection_limit": 200,
    "channel_timeout": 30,  # seconds without a byte, also of requests that are half here
    "cleanup_interval": 10,
    "max_request_body_size": 2**20,
    "max_request_header_size": 2**16,
}
"""A page asks for a few kilobytes in five requests at a time."""


def create_app(run_file: str | os.PathLike[str] | RunFileWatch, hosts: tuple[str, ...] = (), token: str = "") -> Dash:
    """Return the Dash application of a run file.

    Parameters
    ----------
    run_file : path or RunFileWatch
        A run file that need not exist yet.
    hosts : tuple of str
        Names under which pages may ask; others are refused, so that no page of a stranger can read along by pointing a
        name of its own at this machine. Empty: any name.
    token : str
        Pages are served to those who know it: as ``?token=`` the first time, as a cookie from then on. Empty: to all.

    Raises
    ------
    InputError
        If Dash is not installed.
    """
    try:
        import dash
        from dash import ClientsideFunction, Input, Output, dcc, html
    except ImportError:
        raise InputError("the live page needs Dash: pip install 'vmfstream[dash]'") from None

    watch = run_file if isinstance(run_file, RunFileWatch) else RunFileWatch(run_file)

    class LivePage(dash.Dash):
        """Dash with our own page around it."""

        def interpolate_index(self, *_: Any, **given: Any) -> str:
            own = f'<script>{NO_COASTS}</script>\n<script src="plotly.js"></script>\n<script>{script()}</script>\n'
            machinery = "".join(given[name] for name in ("app_entry", "config", "scripts", "renderer"))
            return _page(watch, own + f"<div hidden>{machinery}</div>\n")

    app = LivePage(
        __name__,
        title=texts.TITLE,
        update_title=None,  # type: ignore[arg-type]
        include_assets_files=False,
        add_log_handler=False,
        enable_mcp=False,
    )
    app.layout = html.Div(
        [dcc.Interval(id="poll", interval=1000 * POLL_SECONDS)]
        + [dcc.Store(id=name) for name in ("newest", "want", "news", "ask", "answer")]
    )

    @app.callback(Output("newest", "data"), Input(*CALLS["newest"]))
    def newest(_: int | None) -> dict[str, Any]:
        return watch.poll()

    @app.callback(Output("news", "data"), Input(*CALLS["news"]), prevent_initial_call=True)
    def news(_: object) -> str | None:
        found = watch.opening()
        return None if found is None else found[1][0]

    @app.callback(Output("answer", "data"), Input(*CALLS["answer"]), prevent_initial_call=True)
    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return _answer(watch, asked)

    for store, function in (("newest", "polled"), ("news", "arrived"), ("answer", "answered")):
        callback = ClientsideFunction("page", function)
        app.clientside_callback(callback, Input(store, "data"), prevent_initial_call=True)  # type: ignore[no-untyped-call]
    # the components of Dash bring styles of their own
    policy = (
        f"default-src 'self'; script-src 'self' {hashed(NO_COASTS, script())} {' '.join(app.csp_hashes())}; "
        f"style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    _serve_around(app.server, hosts, token, _HEADERS | {"Content-Security-Policy": policy})
    _refuse_other_calls(app.server)
    _serve_documents(app.server, watch)
    return app


def _page(watch: RunFileWatch, scripts: str) -> str:
    """Return the page with the newest state and its first figures in it, or one that waits for them."""
    found = watch.opening()
    data, figures = ("null", "{}") if found is None else found[1]
    page_scripts = (
        f'<script type="application/json" id="data">{data}</script>\n'
        f'<script type="application/json" id="figures">{figures}</script>\n'
    )
    if found is None:
        return waiting(texts.TITLE, watch.poll()["said"], "", page_scripts + scripts, live=True)
    state = found[0]
    return page(parts_of(state.rows, state.plan(), live=True), "", page_scripts + scripts)


def _answer(watch: RunFileWatch, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of some keys as JSON, null for those that do not exist."""
    keys = [key for key in asked["keys"] if isinstance(key, str) and len(key) < 100][:_MOST_FIGURES]
    state = watch.state(asked["stamp"])
    figures: dict[str, str | None] = dict.fromkeys(keys)
    for key in keys:
        try:
            figures[key] = None if state is None else state.figure(key)
        except InputError as error:
            watch.say(error)
    return {"figures": figures, "id": asked["id"]}


def _refuse_other_calls(server: Any) -> None:
    """Answer 400 to calls that the page does not make: Dash would end with an exception."""
    import flask

    @server.before_request
    def whole_call() -> flask.Response | None:
        if flask.request.method != "POST" or not flask.request.path.endswith("/_dash-update-component"):
            return None
        try:
            body = flask.request.get_json(silent=True)
        except RecursionError:  # lists in lists
            body = None
        if is_call(body):
            return None
        return flask.Response("This page makes no such call.", 400, mimetype="text/plain")


def _serve_documents(server: Any, watch: RunFileWatch) -> None:
    """Serve lists of documents, page by page."""
    import flask

    @server.route("/documents.json")
    def documents() -> flask.Response:
        asked = flask.request.args.to_dict()
        state = watch.state(asked.get("stamp", ""))
        if state is None:
            return flask.Response("There is no closed slice yet.", 503, mimetype="text/plain")
        try:
            found = state.documents(asked)
        except VmfstreamError as error:
            return flask.Response(clean(str(error), 300), 400, mimetype="text/plain")
        return flask.Response(found, mimetype="application/json", headers={"Cache-Control": "no-store"})


def _serve_around(server: Any, hosts: tuple[str, ...], token: str, headers: Mapping[str, str]) -> None:
    """Serve the plotly library, send ``headers`` along, refuse strange names and those who do not know the token."""
    import flask
    from plotly.offline import get_plotlyjs

    library = get_plotlyjs().encode()

    @server.route("/plotly.js")
    def plotly() -> flask.Response:
        return flask.Response(library, mimetype="text/javascript", headers={"Cache-Control": "max-age=3600"})

    @server.before_request
    def known_name() -> flask.Response | None:
        name = re.sub(r":\d*$", "", flask.request.host)
        if hosts and name.strip("[]") not in hosts:
            return flask.Response("This server answers under its own name only.", 403, mimetype="text/plain")
        return None

    def knows(told: str) -> bool:
        return hmac.compare_digest(told.encode(), token.encode())

    @server.before_request
    def known_token() -> flask.Response | None:
        if (
            token
            and not knows(flask.request.cookies.get(_COOKIE, ""))
            and not knows(flask.request.args.get("token", ""))
        ):
            message = "This page needs its whole address, with the token that the program told when it began."
            return flask.Response(message, 403, mimetype="text/plain")
        return None

    @server.after_request
    def guarded(response: flask.Response) -> flask.Response:
        response.headers.update(headers)
        if token and response.status_code != 403 and knows(flask.request.args.get("token", "")):
            response.set_cookie(_COOKIE, token, httponly=True, samesite="Strict")
        return response


class Server:
    """The live page of a run file at an address of this machine.

    Parameters
    ----------
    run_file : path
    host : str
    port : int
        0 for any free one.

    Requests are bounded in size, number and time. Beyond this machine the page is served to those only who know its
    address with the token in it.

    Raises
    ------
    InputError
        If Dash is not installed or the address is taken.
    """

    def __init__(self, run_file: str | os.PathLike[str], host: str = "127.0.0.1", port: int = 8050) -> None:
        local = host in _LOCAL
        token = "" if local else secrets.token_urlsafe(16)
        self._watch = RunFileWatch(run_file)
        app = create_app(self._watch, _LOCAL if local else (), token)
        import waitress

        from vmfstream.dashboards.page.connection import Connection

        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listening = socket.create_server((host, port), family=family)
        except OSError as error:
            raise InputError(
                f"cannot listen at {host}:{port}: it is taken or not allowed; choose another --port"
            ) from error
        # one page more that waits for a thread tells nobody anything
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._connections: dict[int, Any] = {}
        self._server = waitress.create_server(app.server, map=self._connections, sockets=[listening], **_LIMITS)
        self._server.channel_class = Connection
        self._stopped = threading.Event()
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")

    def run(self) -> None:
        """Serve until `stop` is called; requests that go on then have a second."""
        from waitress import wasyncore

        try:
            while not self._stopped.is_set():
                wasyncore.loop(timeout=0.5, map=self._connections, count=1)
        finally:
            self._server.task_dispatcher.shutdown(timeout=1)
            wasyncore.close_all(self._connections, ignore_all=True)
            self._watch.close()

    def stop(self) -> None:
        """Let `run` return; from another thread."""
        self._stopped.set()


def serve(run_file: Path, host: str, port: int, *, show: bool = False, tell: Any = print) -> None:
    """Serve the live page of ``run_file`` until Ctrl-C or SIGTERM; with ``show`` open it in the browser.

    ``host`` and ``port`` are where it listens, 0 for any free port; ``tell`` is called with a sentence that names the
    address. Raises InputError as `beside` does.
    """
    server = Server(run_file, host, port)
    for number in (signal.SIGINT, signal.SIGTERM):  # what was started in the background ignores Ctrl-C unless told
        signal.signal(number, lambda *_: threading.Thread(target=server.stop, daemon=True).start())
    tell(f"dashboard: {server.url} (Ctrl-C ends it)")
    if show:
        webbrowser.open(server.url)
    server.run()


@contextmanager
def beside(run_file: Path, host: str = "127.0.0.1", port: int = 8050) -> Iterator[str]:
    """Serve the live page of ``run_file`` from a process of its own while the body runs, and yield its address.

    ``host`` and ``port`` are where it listens.

    Raises
    ------
    InputError
        If Dash is not installed or the address is taken.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve_beside, args=(run_file, host, port, there), daemon=True)
    process.start()
    there.close()
    try:
        said = here.recv()
    except EOFError:
        raise InputError("the dashboard ended before it began") from None
    if isinstance(said, InputError):
        process.join()
        raise said
    try:
        yield said
    finally:
        here.close()
        process.join(5.0)
        if process.is_alive():
            process.kill()


def _serve_beside(run_file: Path, host: str, port: int, parent: Any) -> None:
    """Serve until the other end of the pipe is closed, also if the process that holds it is killed."""
    leave_stopping_to_others()  # the run ends first, and then closes the pipe
    try:
        server = Server(run_file, host, port)
    except InputError as error:
        parent.send(error)
        return

    def wait() -> None:
        with suppress(EOFError, OSError):
            parent.recv()
        server.stop()

    threading.Thread(target=wait, daemon=True).start()
    parent.send(server.url)
    server.run()
