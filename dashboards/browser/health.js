// Diagnostics of the run: rows on one axis of time, each with its last value; the verdict in words.

import { messages, page, sliceCount } from "./data.js";
import { $, createElement } from "./dom.js";
import { drawFigure, showFigure } from "./figures.js";
import { format } from "./format.js";
import { select } from "./selection.js";
import { hasAny, state, views } from "./state.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

views.health = { wire: wireHealth, draw: drawHealth, cursor: moveHealthCursor, rows: healthTable };
const health = { fig: null, element: $("#health") };

function drawHealth(changed) {
  if (!hasAny(changed, "theme", "size", "data")) return;
  $("#health-verdict").replaceChildren(...page.health.verdict.map((line) => createElement("li", line)));
  const missing = page.health.missing.join(", ");
  $("#health-missing").textContent = missing && format(messages.notKnown, { what: missing });
  return showFigure("health", `health/${health.element.clientWidth < 900 ? "phone" : "wide"}`, (fig) => {
    if (!fig) return;
    health.fig = fig;
    fig.layout.width = health.element.clientWidth;
    health.element.style.height = fig.layout.height + "px";
    drawFigure(health.element.querySelector(".plot"), fig);
    moveHealthCursor();
  });
}

function healthAxis() {
  const { l: left, r: right } = health.fig.layout.margin;
  const width = health.element.clientWidth - left - right;
  const last = health.fig.layout.meta.range[1];
  return { x: (slice) => left + (slice / last) * width, slice: (x) => Math.round(((x - left) / width) * last) };
}

function moveHealthCursor() {
  if (health.fig)
    health.element.querySelector(".cursor").style.transform = `translateX(${healthAxis().x(state.slice)}px)`;
}

function healthHitAt(event) {
  if (!health.fig) return null;
  const box = health.element.getBoundingClientRect();
  const { t: top, b: bottom } = health.fig.layout.margin;
  const high = health.fig.layout.height - top - bottom;
  const slice = healthAxis().slice(event.clientX - box.left);
  const row = page.health.rows[Math.floor(((event.clientY - box.top - top) / high) * page.health.rows.length)];
  return row && slice >= 0 && slice < sliceCount ? { slice, row } : null;
}

function wireHealth() {
  health.element.addEventListener("pointermove", (event) => {
    const hit = event.pointerType === "touch" ? null : healthHitAt(event);
    if (!hit) return hideTooltip();
    const shown = hit.row.shown[hit.slice] || messages.missing;
    showTooltip(event, [
      [null, `${page.labels[hit.slice]}: ${hit.row.name} ${shown}`],
      [
        hit.row.odd.includes(hit.slice) ? messages.outside : "",
        hit.row.usual && format(messages.usualNow, { usual: hit.row.usual }),
      ].filter(Boolean),
    ]);
  });
  health.element.addEventListener("pointerleave", hideTooltip);
  health.element.addEventListener("click", (event) => {
    const hit = healthHitAt(event);
    if (hit) select({ slice: hit.slice });
  });
}

function healthTable() {
  return [
    ["date", ...page.health.rows.map((row) => row.name)],
    ...page.labels.map((label, slice) => [
      label,
      ...page.health.rows.map((row) => row.shown[slice] + (row.odd.includes(slice) ? " !" : "")),
    ]),
  ];
}
