"""The page's HTML: everything that can be said before a script runs, escaped at the border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from vmfstream.dashboards import wording
from vmfstream.dashboards.escape import clean, for_html
from vmfstream.dashboards.history import History
from vmfstream.dashboards.theme import FONT, Theme, theme

CSP = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

# plotly would ask a public server for coast lines, even of a globe that shows none
_NO_COASTS = (
    'window.PlotlyGeoAssets={topojson:{world_110m:{type:"Topology",arcs:[],objects:'
    '{coastlines:{type:"GeometryCollection",geometries:[]},land:{type:"GeometryCollection",geometries:[]},'
    'ocean:{type:"GeometryCollection",geometries:[]},lakes:{type:"GeometryCollection",geometries:[]},'
    'rivers:{type:"GeometryCollection",geometries:[]},countries:{type:"GeometryCollection",geometries:[]},'
    'subunits:{type:"GeometryCollection",geometries:[]}}}}};'
)
_SCRIPTS = ("page.js", "river.js", "words.js", "tables.js")
_SURFACES = ("page", "panel", "text", "muted", "rule", "outline", "alarm", "live")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a page is made of: the reading it opens with, the run's settings, and what was left out."""

    history: History
    meta: Mapping[str, str]
    hindsight: bool
    many: bool
    share: bool
    dropped: Sequence[str]


def page(parts: Parts, plotly: str, data: str, figures: str) -> str:
    """Return the whole page.

    Parameters
    ----------
    parts : Parts
    plotly : str
        The plotly library.
    data, figures : str
        JSON that may stand inside a script element.
    """
    title = for_html(clean(parts.meta.get("title") or wording.TITLE))
    script = '(() => {\n"use strict";\n' + "\n".join(map(_asset, _SCRIPTS)) + "start();\n})();"
    body = _body(parts, title) if parts.history.index.size else _nothing(parts, title)
    scripts = (
        f'<script type="application/json" id="data">{data}</script>\n'
        f'<script type="application/json" id="figures">{figures}</script>\n'
        f"<script>{_NO_COASTS}</script>\n<script>{plotly}</script>\n<script>{script}</script>\n"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CSP}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{title}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{_variables()}{_asset('page.css')}</style>\n"
        f"</head>\n<body>\n{body}\n{scripts}</body>\n</html>\n"
    )


def _body(parts: Parts, title: str) -> str:
    history = parts.history
    reading = "" if parts.hindsight else f' disabled title="{for_html(wording.no_hindsight())}"'
    both = '<button data-value="both">then and hindsight</button>' if parts.hindsight else ""
    caption = wording.PAGE["river"].replace("{measure}", wording.PAGE["thicknessDocuments"])
    newest = history.index.size - 1
    settling = [history.labels[s] for s in np.flatnonzero(history.settling)]
    return f"""<header>
<h1>{title}</h1>
<p class="sub">{for_html(_subtitle(history))}</p>
<button id="more" aria-expanded="false" aria-controls="controls">Menu</button>
<div class="controls" id="controls">
<div class="switch" role="group" aria-label="Reading" id="reading">
<button data-value="then">{wording.PAGE["then"]}</button>
<button data-value="hindsight"{reading}>{wording.PAGE["hindsight"]}</button>
</div>
<button id="theme" aria-label="Light or dark">◐ <span></span></button>
<button id="help">How to read this</button>
</div>
</header>
<div id="time" role="group" aria-label="Date">
<button id="play"><span aria-hidden="true">▶</span> <span class="label">{wording.PAGE["play"]}</span></button>
<div class="rail"><canvas aria-hidden="true"></canvas>
<input type="range" min="0" max="{newest}" value="{newest}" step="1" aria-label="Date"></div>
<output>{for_html(history.labels[newest])}</output>
</div>
<main>
<section aria-labelledby="river-title">
<figure role="group" aria-labelledby="river-title" aria-describedby="river-words">
<div class="head"><h2 id="river-title">{wording.RIVER}</h2>
<div class="choices">{_scope(parts)}{_measure(parts)}</div></div>
<figcaption id="river-caption">{caption}</figcaption>
<p class="only-read" id="river-words">{for_html(_river_sentence(history))}</p>
<p class="note" id="notice"><span>{wording.NOTICE}</span><button class="quiet">Got it</button></p>
{f'<p class="note" id="settling" hidden>{for_html(wording.settling_sentence(settling))}</p>' if settling else ""}
<div class="chart" id="river"><div class="plot" aria-hidden="true"></div>
<svg class="over" aria-hidden="true"><path class="veil" fill-rule="evenodd"></path>
<path class="outline hover"></path><path class="outline chosen"></path></svg>
<div class="cursor" aria-hidden="true"><b></b></div></div>
<div class="tools"><a class="quiet" href="#table">as table</a>{_save("river")}</div>
</figure>
</section>
<section id="topic" aria-labelledby="topic-name">
<h2 class="name"><span class="swatch" aria-hidden="true"></span><span id="topic-name"></span></h2>
<p class="note" id="state" hidden></p>
<dl class="facts" id="facts"></dl>
<div class="columns">
<figure role="group" aria-labelledby="words-title" aria-describedby="words-caption">
<div class="head"><h3 id="words-title">{wording.WORDS}</h3>
<div class="switch" role="group" aria-label="Form" id="form"><button data-value="ladder">ladder</button>
<button data-value="strips">strips</button>{both}</div></div>
<figcaption id="words-caption"></figcaption>
<div class="chart" id="words"><div class="plot" aria-hidden="true"></div>
<div class="column" aria-hidden="true"></div></div>
<div class="tools"><button class="quiet" id="words-table" aria-expanded="false">as table</button>{_save("words")}</div>
<div class="scroll" id="words-rows" hidden></div>
</figure>
<div id="documents" aria-live="off"><h3></h3><ol></ol><p class="muted"></p></div>
</div>
</section>
<section id="table"><details><summary>{wording.TABLE}</summary>
<div class="scroll">{_table(history)}</div></details></section>
</main>
{_footer(parts)}
<dialog id="reader" aria-labelledby="reader-title">{_help()}</dialog>
<div id="tip" hidden></div>
<p class="only-read" aria-live="polite" id="speak"></p>
<noscript><p class="note">{wording.NO_SCRIPT}</p>{_words_table(history)}</noscript>"""


def _nothing(parts: Parts, title: str) -> str:
    return (
        f'<header><h1>{title}</h1><div class="controls"><button id="theme" aria-label="Light or dark">◐ <span></span>'
        "</button>"
        f"</div></header><main><section><h2>{wording.RIVER}</h2><p>{for_html(wording.nothing_closed(0))}</p></section></main>"
        f"{_footer(parts)}"
    )


def _save(what: str) -> str:
    return (
        f'<button class="quiet" data-save="{what}">save picture</button>'
        f'<button class="quiet" data-csv="{what}">save table</button>'
    )


def _scope(parts: Parts) -> str:
    if not parts.many:
        return ""
    return (
        '<div class="switch" role="group" aria-label="Topics drawn" id="scope"><button data-value="top">top 40</button>'
        '<button data-value="all">all</button></div>'
    )


def _measure(parts: Parts) -> str:
    off = "" if parts.share else " disabled"
    return (
        '<div class="switch" role="group" aria-label="Thickness" id="measure">'
        '<button data-value="documents">documents</button>'
        f'<button data-value="share"{off}>share</button></div>'
    )


def _subtitle(history: History) -> str:
    return wording.subtitle(history.labels, int(history.n.sum()), int(history.topic.size))


def _river_sentence(history: History) -> str:
    last = history.index.size - 1
    alive = np.where(history.alive()[last], history.documents[last], -1.0) if history.topic.size else np.empty(0)
    largest = " ".join(history.strongest(last, int(np.argmax(alive)), 3)) if alive.size and alive.max() > 0 else ""
    return wording.river_sentence(history.labels, int(history.n.sum()), int(history.topic.size), largest)


def _table(history: History) -> str:
    """Return every topic as a row: its words when it was last seen and at first, and its numbers there."""
    heads = [
        ("topic", "number"),
        ("words now", ""),
        ("words at first", ""),
        ("documents", "number"),
        ("share", "number"),
        ("last step", "number"),
        ("sure of its words", "number"),
        ("first", ""),
        ("last", ""),
    ]
    rows = []
    for t, topic in enumerate(history.topic):
        seen = np.flatnonzero(~np.isnan(history.documents[:, t]))
        if not seen.size:
            continue
        a, b = int(seen[0]), int(seen[-1])
        speed = history.speed[b, t]
        step = "" if np.isnan(speed) or history.reading == "then" else f"{speed:.0f}°"
        sure = history.certainty[b, t]
        cells = [
            (f'<a href="#t={int(topic)}">{int(topic)}</a>', "number"),
            (for_html(" ".join(history.strongest(b, t, 5))), ""),
            (for_html(" ".join(history.strongest(a, t, 5))), ""),
            (f"{history.documents[b, t]:.0f}", "number"),
            (wording.percent(float(np.nan_to_num(history.share[b, t]))), "number"),
            (step, "number"),
            ("" if np.isnan(sure) else f"{100 * sure:.0f} %", "number"),
            (for_html(history.labels[a]), ""),
            (for_html(history.labels[b]), ""),
        ]
        rows.append("<tr>" + "".join(f"<td{_class(c)}>{text}</td>" for text, c in cells) + "</tr>")
    head = "".join(f'<th scope="col"{_class(c)}>{text}</th>' for text, c in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _words_table(history: History) -> str:
    """Return the three strongest words of every topic at up to twelve dates, for pages without scripts."""
    count = history.index.size
    shown = np.unique(np.linspace(0, count - 1, min(count, 12)).round().astype(int))
    head = "".join(f'<th scope="col">{for_html(history.labels[s])}</th>' for s in shown)
    rows = []
    for t, topic in enumerate(history.topic):
        cells = "".join(f"<td>{for_html(' '.join(history.strongest(int(s), t, 3)))}</td>" for s in shown)
        rows.append(f'<tr><th scope="row">topic {int(topic)}</th>{cells}</tr>')
    body = f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table>{body}</table></div>'


def _footer(parts: Parts) -> str:
    lines = []
    licence = parts.meta.get("licence") or parts.meta.get("license")
    if licence:
        lines.append(f"{wording.LICENCE}: {for_html(clean(licence, 300))}")
    settings = wording.settings_in_words({key: clean(value, 200) for key, value in parts.meta.items()})
    if settings:
        lines.append(for_html("; ".join(settings)))
    if parts.dropped:
        lines.append(for_html(wording.dropped_sentence(parts.dropped)))
    lines.append(wording.OFFLINE)
    return f"<footer>{'<br>'.join(lines)}</footer>"


def _help() -> str:
    meaning = "".join(f"<dt>{for_html(name)}</dt><dd>{for_html(text)}</dd>" for name, text in wording.HOW_TO_READ)
    keys = "".join(
        f"<dt>{' '.join(f'<kbd>{for_html(k)}</kbd>' for k in names.split())}</dt><dd>{for_html(text)}</dd>"
        for names, text in wording.KEYS
    )
    return (
        f'<h2 id="reader-title">How to read this</h2><dl>{meaning}</dl><h3>Keys</h3><dl>{keys}</dl>'
        '<form method="dialog"><button autofocus>Close</button></form>'
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


def _asset(name: str) -> str:
    return resources.files("vmfstream.dashboards").joinpath(name).read_text(encoding="utf-8")


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
