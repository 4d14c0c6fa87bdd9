// Lineage: cursor, lane of the selected topic, and tooltips of events and topics.

import { cellIndex, currentReading, lifespan, messages, nearestActive, page, sliceCount, topicName } from "./data.js";
import { $, createElement } from "./dom.js";
import { drawFigure, showFigure } from "./figures.js";
import { format, percent } from "./format.js";
import { guard, select } from "./selection.js";
import { EVERYTHING, hasAny, session, state, views } from "./state.js";
import { storyHere } from "./stories.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const SHEET = 800; // of the 940 px that A4 and Letter both have, heading and sentences take the rest
const lineage = { element: $("#lineage"), fig: null, scope: "top" };
views.lineage = { wire: wireLineage, draw: drawLineage, cursor: moveLineageCursor, rows: lineageTable };

function drawLineage(changed) {
  if (lineage.fig && !hasAny(changed, "reading", "theme", "size", "data")) return moveLineageCursor();
  if (!page.lineage[state.reading].left) lineage.scope = "top";
  const width = lineage.element.clientWidth;
  const key = `lineage/${state.reading}/${lineage.scope}/${width < 900 ? "phone" : "wide"}`;
  return showFigure("lineage", key, (drawn) => {
    const fig = drawn && session.printing ? onOneSheet(drawn) : drawn;
    lineage.fig = fig;
    lineage.element.parentElement.hidden = !fig;
    if (!fig) return;
    const tall = lineage.scope === "all";
    const axis = lineage.element.querySelector(".axis");
    fig.layout.width = width;
    lineage.element.classList.toggle("tall", tall);
    $("#lineage-caption").textContent = width < 560 ? messages.lineageShort : messages.lineageCaption;
    // the dates stay on top while the lanes scroll
    axis.hidden = !tall;
    axis.replaceChildren(
      ...fig.layout.meta.ticks.map(([value, text]) => {
        const element = createElement("span", text);
        element.style.left = lineageX(value) + "px";
        return element;
      }),
    );
    $("#lineage-scope").hidden = !page.lineage[state.reading].left;
    for (const button of $("#lineage-scope").children)
      button.setAttribute("aria-pressed", String(button.dataset.value === lineage.scope));
    $("#lineage-summary").textContent =
      page.lineage[state.reading].summary + (tall ? "" : " " + page.lineage[state.reading].left);
    drawFigure(lineage.element.querySelector(".plot"), fig);
    moveLineageCursor();
  });
}

// with lanes so narrow that no sheet of paper ends in the middle of one
function onOneSheet({ data, layout }) {
  const { t: top, b: bottom } = layout.margin;
  const height = Math.min(layout.height, SHEET);
  const narrower = (height - top - bottom) / (layout.height - top - bottom);
  return { data, layout: { ...layout, height, meta: { ...layout.meta, lane: layout.meta.lane * narrower } } };
}

function lineageX(position) {
  const { l: left, r: right } = lineage.fig.layout.margin;
  const [rangeStart, rangeEnd] = lineage.fig.layout.meta.range;
  return left + ((position - rangeStart) / (rangeEnd - rangeStart)) * (lineage.fig.layout.width - left - right);
}

const lineageY = (k) =>
  lineage.fig.layout.margin.t + (k - lineage.fig.layout.yaxis.range[1]) * lineage.fig.layout.meta.lane;

function moveLineageCursor() {
  if (!lineage.fig) return;
  const [cursor, lane] = [".cursor", ".lane"].map((selector) => lineage.element.querySelector(selector));
  const meta = lineage.fig.layout.meta;
  const own = meta.lives.find((entry) => entry[0] === state.topic);
  cursor.style.transform = `translateX(${lineageX(sliceCount > 1 ? state.slice : 0) - 0.75}px)`;
  cursor.style.height = lineage.fig.layout.height - 30 + "px";
  lane.hidden = !own;
  if (own) {
    lane.style.transform = `translateY(${lineageY(own[1] - 0.5)}px)`;
    lane.style.height = meta.lane + "px";
  }
}

// how a topic ended, by the slices for which it had been silent: 0 if it was split, null at the end of its trial
const endOf = (silent) => (silent === null ? "notKept" : silent === 0 ? "replaced" : "ended");

function eventSentence([slice, kind, topic, other, count, byHand]) {
  const name = (x) => topicName(nearestActive(slice, x), x, 2);
  return (
    format(messages[(byHand ? kind + "ByHand" : kind === "ended" ? endOf(count) : kind) + "At"], {
      date: page.labels[slice],
      one: name(topic),
      a: topic,
      other: other < 0 ? "" : name(other),
      b: other,
      n: count ?? "?",
      periods: page.period + (count === 1 ? "" : "s"),
    }) + smoothedRemark(slice, kind, topic)
  );
}

// a smoothed topic may have ended before the tracker detected it
function smoothedRemark(slice, kind, topic) {
  if (state.reading === "filtered" || kind !== "merged") return "";
  const [, last] = lifespan(topic);
  return last < slice - 1 ? format(messages.untilAt, { date: page.labels[last] }) : "";
}

// the event mark and the topic under the pointer, and the slice there
function lineageHitAt(event) {
  if (!lineage.fig) return {};
  const box = lineage.element.querySelector(".plot").getBoundingClientRect();
  const meta = lineage.fig.layout.meta;
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const [rangeStart, rangeEnd] = meta.range;
  const { l: left, r: right } = lineage.fig.layout.margin;
  const slice = Math.round(
    Math.min(
      rangeEnd,
      Math.max(rangeStart, rangeStart + ((x - left) / (box.width - left - right)) * (rangeEnd - rangeStart)),
    ),
  );
  let mark = null;
  let near = 10;
  for (const k of meta.marks) {
    const far = Math.hypot(lineageX(k[0]) - x, lineageY(k[1]) - y);
    if (far < near) {
      near = far;
      mark = k;
    }
  }
  const lane = meta.lives
    .filter((entry) => Math.abs(lineageY(entry[1]) - y - 2) < meta.lane / 2)
    .sort((one, other) => one[2] - other[2]);
  return { slice: Math.max(0, slice), mark, life: lane.findLast((entry) => lineageX(entry[2]) - 12 <= x) ?? null };
}

function lineageTooltip({ slice, mark, life: own }) {
  if (mark) {
    const sentences = mark[2].map((k) => eventSentence(page.lineage[state.reading].events[k]));
    return [[page.lineage[state.reading].events[mark[2][0]][2], sentences[0]], sentences.slice(1)];
  }
  const [topic] = own;
  const known = nearestActive(slice, topic);
  const index = cellIndex(known, topic);
  return [
    [topic, topicName(known, topic) + " · " + format(messages.topic, { topic })],
    [
      format(messages.hoverCount, {
        date: page.labels[known],
        n: Math.round(currentReading().documents[index] || 0),
        share: percent(currentReading().share[index] || 0),
      }),
      ...storyHere(known, topic),
      messages.hoverOpen,
    ],
  ];
}

function wireLineage() {
  lineage.element.addEventListener("pointermove", (event) => {
    const hit = event.pointerType === "touch" ? {} : lineageHitAt(event);
    hit.mark || hit.life ? showTooltip(event, lineageTooltip(hit)) : hideTooltip();
  });
  lineage.element.addEventListener("pointerleave", hideTooltip);
  lineage.element.addEventListener("click", (event) => {
    const { slice, mark, life: own } = lineageHitAt(event);
    const topicEvent = mark && page.lineage[state.reading].events[mark[2][0]];
    if (topicEvent) return select({ topic: topicEvent[2], slice: topicEvent[0], picked: true }, true);
    if (own)
      select(
        slice >= own[2] && slice <= own[3] ? { topic: own[0], slice, picked: true } : { topic: own[0], picked: true },
        true,
      );
  });
  $("#lineage-scope").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) {
      lineage.scope = button.dataset.value;
      guard("lineage", () => drawLineage(EVERYTHING));
    }
  });
}

function lineageTable() {
  const rows = [["topic", "first", "words at first", "last", "words at last", "what happened"]];
  for (const topic of page.topics) {
    const [firstSlice, lastSlice] = lifespan(topic);
    if (firstSlice >= 0)
      rows.push([
        topic,
        page.labels[firstSlice],
        topicName(firstSlice, topic),
        page.labels[lastSlice],
        topicName(lastSlice, topic),
        page.lineage[state.reading].events
          .filter((entry) => entry[2] === topic || entry[3] === topic)
          .map(eventSentence)
          .join("; "),
      ]);
  }
  return rows;
}
