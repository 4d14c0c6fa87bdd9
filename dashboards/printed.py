"""The whole page as a PDF: printed by a browser on this machine, as its own print command would."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from vmfstream.dashboards.export import ExportReport, build_page
from vmfstream.errors import InputError, MissingExtra
from vmfstream.folders import write_file
from vmfstream.runfile.queries import Reader

_logger = logging.getLogger(__name__)

PaperSize = Literal["a4", "letter"]

_INCHES: dict[PaperSize, tuple[float, float]] = {"a4": (8.27, 11.69), "letter": (8.5, 11.0)}
_DRAWN = (  # everything is read, and what is packed has run
    "document.readyState === 'complete' && Boolean(document.querySelector('title'))"
    " && !document.querySelector('script[data-type]')"
)
_TRIES = 2
_WAIT = 90.0  # seconds that a browser has, which now and then never answers from its start on
_CLOSING = 10.0  # seconds until it is killed


def print_page(
    run_file: str | os.PathLike[str], out_path: str | os.PathLike[str], *, paper: PaperSize = "a4", max_mb: float = 8.0
) -> ExportReport:
    """Write the page of a run file as a PDF: light, all views one after the other.

    Parameters
    ----------
    run_file : path of a run file
    out_path : path of the PDF; an existing file is replaced
    paper : {"a4", "letter"}
    max_mb : float
        Size of the HTML page that is printed, see `vmfstream.dashboards.export.export_page`.

    Raises
    ------
    InputError
        If the run file cannot be read, no Chromium or Chrome answers, or the PDF cannot be written.
    MissingExtra
        Without the extra ``stills``.
    """
    text, report = build_page(Reader(Path(run_file)), max_mb=max_mb)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(text, encoding="utf-8")
        made = asyncio.run(_printed(page.as_uri(), *_INCHES[paper]))
    write_file(Path(out_path), made)
    return ExportReport(bytes=len(made), dropped=report.dropped)


async def _printed(address: str, width: float, height: float) -> bytes:
    try:
        from choreographer import Browser
        from choreographer.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError
    except ImportError:
        raise MissingExtra("a PDF needs kaleido: pip install 'vmfstream[stills]'") from None
    paper = {"paperWidth": width, "paperHeight": height, "printBackground": True, "preferCSSPageSize": False}
    why = ""
    for _ in range(_TRIES):
        try:
            browser = Browser(headless=True)
            try:
                async with asyncio.timeout(_WAIT):
                    await browser.open()
                    tab = await browser.create_tab(address)
                    while not await _asked(tab, _DRAWN):
                        await asyncio.sleep(0.05)
                    return base64.b64decode((await _sent(tab, "Page.printToPDF", paper))["data"])
            finally:
                await _closed(browser)
        except ChromeNotFoundError:
            raise InputError("a PDF needs Chromium or Chrome on this machine, and none was found") from None
        except TimeoutError:
            why = f"no answer within {_WAIT:g} seconds"
        except (BrowserClosedError, BrowserFailedError):
            why = "it ended by itself, or was too slow to start"
        _logger.warning("the browser did not print the page: %s", why)
    raise InputError(f"the browser did not print the page, at {_TRIES} tries: {why}")


async def _closed(browser: Any) -> None:
    try:
        async with asyncio.timeout(_CLOSING):
            await browser.close()
    except TimeoutError:
        browser.subprocess.kill()


async def _asked(tab: Any, condition: str) -> bool:
    answer = await _sent(tab, "Runtime.evaluate", {"expression": condition, "returnByValue": True})
    return bool(answer["result"].get("value"))


async def _sent(tab: Any, command: str, given: dict[str, Any]) -> Any:
    answer = await tab.send_command(command, given)
    if "error" in answer:  # as where its temporary files have no room
        raise InputError(f"the browser did not print the page: {answer['error'].get('message', answer['error'])}")
    return answer["result"]
