"""The page's HTML: everything that is known before a script runs, escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache

import numpy as np

from vmfstream.dashboards import TABS, panel
from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import clean, for_html
from vmfstream.dashboards.looks.theme import FONT, Theme, theme
from vmfstream.dashboards.page.compression import compressed_script
from vmfstream.dashboards.page.data import subtitle
from vmfstream.dashboards.page.script import asset, script
from vmfstream.dashboards.panels import PageParts
from vmfstream.dashboards.rows.history import History
from vmfstream.runfile.queries import shortened

# plotly would ask a public server for coast lines, even of a globe that shows none
NO_COASTS = (
    'window.PlotlyGeoAssets={topojson:{world_110m:{type:"Topology",arcs:[],objects:'
    '{coastlines:{type:"GeometryCollection",geometries:[]},land:{type:"GeometryCollection",geometries:[]},'
    'ocean:{type:"GeometryCollection",geometries:[]},lakes:{type:"GeometryCollection",geometries:[]},'
    'rivers:{type:"GeometryCollection",geometries:[]},countries:{type:"GeometryCollection",geometries:[]},'
    'subunits:{type:"GeometryCollection",geometries:[]}}}}};'
)
_SURFACES = ("page", "panel", "text", "muted", "rule", "outline", "alarm", "live")


@cache
def no_map_styles(library: str) -> str:
    """Return empty style elements in the place of those that the plotly ``library`` would make for maps.

    No view has a map, and the page's policy would block them.
    """
    return "".join(f'<style id="{name}"></style>' for name in re.findall(r'getElementById\("(\w{64})"\)', library))


@cache
def _packed(library: str) -> str:
    return compressed_script("library", "text/javascript", library)


def hashed(*texts: str) -> str:
    """Return sources for a Content-Security-Policy that let inline scripts or styles of these texts run, no others.

    Examples
    --------
    >>> hashed("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def style() -> str:
    """Return the text of the page's style element."""
    return f"\n{_variables()}{asset('page.css')}"


def exported(parts: PageParts, library: str, data: str, figures: str) -> str:
    """Return the whole page as one file; its policy lets nothing run but the scripts that it came with.

    Parameters
    ----------
    parts : PageParts
    library : str
        The plotly library.
    data, figures : str
        JSON that may stand inside a script element.
    """
    scripts = (
        compressed_script("data", "application/json", data)
        + compressed_script("figures", "application/json", figures)
        + no_map_styles(library)
        + _packed(library)
        + compressed_script("script", "text/javascript", script())
        + f"<script>{NO_COASTS}</script>\n<script>{asset('unpack.js')}</script>\n"
    )
    # plotly begins with an empty style element, and sets style attributes, of which no hash can be told
    allowed = (
        f"default-src 'none'; script-src {hashed(library, script(), NO_COASTS, asset('unpack.js'))}; "
        f"style-src {hashed(style(), '')}; style-src-attr 'unsafe-inline'; img-src data: blob:"
    )
    policy = f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
    return page(parts, policy, scripts)


def page(parts: PageParts, head: str, scripts: str) -> str:
    """Return the page's HTML of ``parts``; its face adds to the ``head`` and, by ``scripts``, behind the body."""
    title = for_html(clean(parts.meta.get("title") or texts.TITLE))
    if not parts.history.index.size:
        return waiting(title, phrases.nothing_closed(0), head, scripts, footer=_footer(parts))
    return _document(title, head, _body(parts, title), scripts, live=parts.live)


def waiting(title: str, sentence: str, head: str, scripts: str, *, footer: str = "", live: bool = False) -> str:
    """Return a page that says by a ``sentence`` why there is no river yet; ``title`` is escaped already.

    ``head``, ``scripts`` and ``footer`` are HTML; a ``live`` page looks for news by itself.
    """
    body = (
        f'<header><h1>{title}</h1><div class="controls"><button id="theme" aria-label="Light or dark">◐ <span></span>'
        f"</button></div></header><main><section><h2>{texts.RIVER}</h2>"
        f'<p id="waiting" aria-live="polite">{for_html(sentence)}</p></section></main>{footer}'
    )
    return _document(title, head, body, scripts, live=live)


def _document(title: str, head: str, body: str, scripts: str, *, live: bool) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"{" data-live" if live else ""}>\n<head>\n<meta charset="utf-8">\n{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{title}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{style()}</style>\n"
        f"</head>\n<body>\n{body}\n{scripts}</body>\n</html>\n"
    )


def _body(parts: PageParts, title: str) -> str:
    history = parts.history
    newest = history.index.size - 1
    return f"""<header>
<div><h1>{title}</h1>
<p class="sub" id="subtitle">{for_html(subtitle(history))}</p></div>
<button id="more" aria-expanded="false" aria-controls="controls">Menu</button>
<div class="controls" id="controls">
<input id="find" type="search" placeholder="{texts.FIND}" aria-label="{texts.FIND}"
autocomplete="off" spellcheck="false">
{_readings(parts)}
<button id="theme" aria-label="Light or dark">◐ <span></span></button>
<button id="help">How to read this</button>
</div>
</header>
<div id="time" role="region" aria-label="Date">
<button id="play"><span aria-hidden="true">▶</span> <span class="label">{texts.PAGE["play"]}</span></button>
<div class="rail"><canvas aria-hidden="true"></canvas>
<input type="range" min="0" max="{newest}" value="{newest}" step="1" aria-label="Date"></div>
<output>{for_html(history.labels[newest])}</output>
<span id="badge"></span><button id="pill" hidden></button>
</div>
<main>
<p class="note" id="old" hidden>{texts.OLD_BROWSER}</p>
<noscript><p class="note">{texts.NO_SCRIPT}</p>{_words_table(history)}</noscript>
<p class="note" id="notice"{"" if history.topic.size else " hidden"}><span>{texts.NOTICE}</span>
<button class="quiet">Got it</button></p>
{_placed("river", parts, "section")}
{_placed("changes", parts, "section")}
<section id="topic" aria-labelledby="topic-name">
<h2 class="name"><span class="swatch" aria-hidden="true"></span><span id="topic-name"></span></h2>
<p class="note" id="state" hidden></p>
<dl class="facts" id="facts"></dl>
<div class="columns">
<div>{_placed("words", parts)}{_placed("compare", parts)}</div>
<div>{_placed("neighbours", parts)}</div>
{_placed("documents", parts)}
{_placed("topicstories", parts)}
</div>
</section>
{_tabs(parts)}
</main>
{_footer(parts)}
<dialog id="reader" aria-labelledby="reader-title">{_help()}</dialog>
<div id="tip" hidden></div>
<p class="only-read" aria-live="polite" id="speak"></p>
"""


def _placed(name: str, parts: PageParts, element: str = "div") -> str:
    """Return a panel in its place; an empty one takes no room."""
    return f'<{element} data-view="{name}">{panel(name).section(parts)}</{element}>'


def _tabs(parts: PageParts) -> str:
    heads = "".join(
        f'<button role="tab" id="tab-{name}" data-value="{name}" aria-controls="panel-{name}" '
        f'aria-selected="false" tabindex="-1">{for_html(panel(name).title)}</button>'
        for name in TABS
    )
    panels = "\n".join(
        f'<div role="tabpanel" id="panel-{name}" aria-labelledby="tab-{name}" data-view="{name}" hidden>'
        f"{panel(name).section(parts)}</div>"
        for name in TABS
    )
    label = for_html(texts.MORE)
    return (
        f'<section id="more-views"><div role="tablist" id="tabs" aria-label="{label}">{heads}</div>\n{panels}</section>'
    )


def _readings(parts: PageParts) -> str:
    why = for_html(phrases.no_smoothed(parts.live))
    off = ' title="smoothed"' if parts.smoothed else f' disabled title="{why}"'
    return (
        '<div class="switch" role="group" aria-label="Reading" id="reading">'
        f'<button data-value="filtered" title="filtered">{texts.PAGE["filtered"]}</button>'
        f'<button data-value="smoothed"{off}>{texts.PAGE["smoothed"]}</button></div>'
    )


def _words_table(history: History) -> str:
    """Return the names of every topic at up to twelve dates, for pages without scripts."""
    count = history.index.size
    shown = np.unique(np.linspace(0, count - 1, min(count, 12)).round().astype(int))
    head = "".join(f'<th scope="col">{for_html(history.labels[s])}</th>' for s in shown)
    rows = []
    for t, topic in enumerate(history.topic):
        cells = "".join(f"<td>{for_html(_called(history, int(s), t))}</td>" for s in shown)
        given = history.given.get(int(topic))
        name = f" {for_html(given)}" if given else ""
        rows.append(f'<tr><th scope="row">topic {int(topic)}{name}</th>{cells}</tr>')
    body = f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table>{body}</table></div>'


def _called(history: History, s: int, t: int) -> str:
    return shortened(history.names.get((s, t), ()), 3) or " ".join(history.strongest(s, t, 3))


def _footer(parts: PageParts) -> str:
    lines = []
    licence = parts.meta.get("licence") or parts.meta.get("license")
    if licence:
        lines.append(f"{texts.LICENCE}: {for_html(clean(licence, 300))}")
    settings = phrases.settings_in_words({key: clean(value, 200) for key, value in parts.meta.items()})
    if settings:
        lines.append(for_html("; ".join(settings)))
    if parts.dropped:
        lines.append(for_html(phrases.dropped_sentence(parts.dropped)))
    lines.append(texts.SERVED if parts.live else texts.OFFLINE)
    return f"<footer>{'<br>'.join(lines)}</footer>"


def _help() -> str:
    meaning = "".join(f"<dt>{for_html(name)}</dt><dd>{for_html(text)}</dd>" for name, text in texts.HOW_TO_READ)
    keys = "".join(
        f"<dt>{' '.join(f'<kbd>{for_html(k)}</kbd>' for k in names.split())}</dt><dd>{for_html(text)}</dd>"
        for names, text in texts.KEYS
    )
    return (
        '<form method="dialog"><button autofocus>Close</button></form><h2 id="reader-title">How to read this</h2>'
        f'<div class="two"><dl>{meaning}</dl><div><h3>Keys</h3><dl>{keys}</dl>'
        f'<label><input type="checkbox" id="letters" checked> {for_html(texts.LETTER_KEYS)}</label></div></div>'
    )


def _variables() -> str:
    def block(colours: Theme) -> str:
        return "".join(f"--{name}:{getattr(colours, name)};" for name in _SURFACES)

    light, dark = theme("light"), theme("dark")
    return (
        f":root{{--font:{FONT};{block(light)}}}\n"
        f"@media (prefers-color-scheme: dark){{:root:not([data-theme]){{{block(dark)}}}}}\n"
        f':root[data-theme="dark"]{{{block(dark)}}}\n'
    )
