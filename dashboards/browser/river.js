// The river: labels of the right width, cursor, outlines, the band under the pointer, the open slice, zoom.

import {
  cellIndex,
  currentReading,
  driftRatio,
  driftText,
  isActive,
  messages,
  nearestActive,
  page,
  sliceCount,
  topicName,
} from "./data.js";
import { $, createElement } from "./dom.js";
import { drawFigure, live, showFigure } from "./figures.js";
import { format, percent } from "./format.js";
import { bandEdges, isOutside, isZoomed, mostZoom, storyStrips, zoomFigure, zoomSentence } from "./riverzoom.js";
import { select } from "./selection.js";
import { EVERYTHING, INSET, hasAny, isLive, state, views } from "./state.js";
import { allStoriesOfTopic, storiesOfTopic, storyHere } from "./stories.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const river = { element: $("#river"), fig: null, hover: null };
const isPhone = (width) => width <= 480;
views.river = { wire: wireRiver, draw: drawRiver, cursor: followDate, rows: riverTable };

function drawRiver(changed) {
  const fitted = isZoomed() && (isOutside() || hasAny(changed, "topic", "picked"));
  if (!fitted && !hasAny(changed, "reading", "measure", "theme", "all", "size", "data", "zoom")) {
    drawOutlines();
    return moveRiverCursor();
  }
  const width = river.element.clientWidth;
  const height = river.element.clientHeight;
  $("#river-caption").textContent = format(messages.river, {
    measure: state.measure === "share" ? messages.thicknessShare : messages.thicknessDocuments,
  });
  if (isZoomed()) $("#river-caption").append(" " + zoomSentence());
  const focused = document.activeElement;
  for (const button of $("#zoom").children)
    button.disabled = button.dataset.value === "in" ? state.zoom >= mostZoom() : state.zoom === 1;
  if (focused?.disabled) $("#zoom button:enabled")?.focus();
  if ($("#scope")) $("#scope").hidden = isPhone(width) || !page.many;
  if (isLive && changed.has("data")) writeNotes();
  $("#warm-up").hidden = state.reading !== "filtered" || !$("#warm-up").textContent;
  const size = isPhone(width) && !isZoomed() ? "phone" : state.all ? "all" : "wide";
  return showBands(size, width, height);
}

// what is said about the river, as of the newest data
function writeNotes() {
  const { words, warmUp, unfinished, notes } = page.river;
  $("#river-words").textContent = words;
  $("#warm-up").textContent = warmUp;
  $("#unfinished").textContent = unfinished;
  $("#unfinished").hidden = !unfinished;
  $("#river-notes").replaceChildren(...notes.map((note) => createElement("p", note, "note")));
}

function showBands(size, width, height) {
  return showFigure("river", `river/${state.reading}/${state.measure}/${size}`, (fig) => {
    if (!fig) return;
    river.bands = fig.data;
    const own = isZoomed() && state.picked ? bandOf(state.topic) : undefined;
    if (isZoomed() && state.picked && !own && size === "wide" && page.many) return showBands("all", width, height);
    const widths = Object.keys(fig.labels)
      .map(Number)
      .sort((a, b) => b - a);
    const widest = (across) => widths.find((k) => k <= across) ?? widths.at(-1);
    const labels = fig.labels[widest(isZoomed() ? width * state.zoom : width)];
    Object.assign(fig.layout.xaxis, fig.dates[widest(width)]);
    fig.layout.width = width;
    fig.layout.height = height;
    const best = isZoomed() ? zoomFigure(fig, labels, own, width, height) : labels;
    river.fig = fig;
    drawFigure(river.element.querySelector(".plot"), {
      data: [...fig.data, { ...fig.text, ...best }],
      layout: fig.layout,
    });
    drawOutlines();
    moveRiverCursor();
    drawOpenSlice();
  });
}

function riverTable() {
  const rows = [["date", "topic", "words", "documents", "share"]];
  for (let slice = 0; slice < sliceCount; slice++)
    for (const topic of page.topics)
      if (isActive(slice, topic)) {
        const index = cellIndex(slice, topic);
        rows.push([
          page.labels[slice],
          topic,
          topicName(slice, topic),
          Math.round(currentReading().documents[index] || 0),
          (currentReading().share[index] || 0).toFixed(4),
        ]);
      }
  return rows;
}

const riverX = (x) => {
  const [a, b] = river.fig.layout.meta.range;
  return INSET + ((x - a) / (b - a)) * (river.element.clientWidth - 2 * INSET);
};
const riverY = (y) => {
  const { t: top, b: bottom } = river.fig.layout.margin;
  const [low, high] = river.fig.layout.yaxis.range;
  return top + ((y - high) / (low - high)) * (river.element.clientHeight - top - bottom);
};

function bandPath(band) {
  const points = [];
  for (let i = 0; i < band.x.length; i++)
    points.push(riverX(band.x[i]).toFixed(1) + " " + riverY(band.y[i]).toFixed(1));
  return "M" + points.join("L") + "Z";
}

const MOST_LANES = 4;
const LANE = 9; // pixels of a lane, so that words of the band stay readable

// stories of the chosen topic as lines along its band, those at one time beside each other; as [path, width] pairs
function storyLines(band, stories) {
  const count = band.x.length / 2;
  const heights = stories.map(([, , , first, last]) => {
    const [upper, lower] = bandEdges(band, (first + last) / 2).map(riverY);
    return lower - upper;
  });
  const lanes = Math.min(MOST_LANES, Math.max(1, Math.floor(Math.max(...heights) / LANE)));
  const ends = [];
  const placed = [];
  for (const [, , size, first, last] of stories) {
    const lane = ends.findIndex((end) => end < first);
    const own = lane >= 0 ? lane : ends.length;
    if (own === lanes) continue;
    ends[own] = last;
    const [from, to] = [Math.max(first - 0.35, band.x[0]), Math.min(last + 0.35, band.x[count - 1])];
    placed.push({ size, from, to, lane: own });
  }
  const most = Math.max(...placed.map((one) => one.size));
  return placed.map(({ size, from, to, lane }) => {
    const steps = Math.max(1, Math.ceil((to - from) * 8));
    const points = Array.from({ length: steps + 1 }, (_, i) => {
      const x = from + ((to - from) * i) / steps;
      const [upper, lower] = bandEdges(band, x).map(riverY);
      return riverX(x).toFixed(1) + " " + (upper + ((lane + 0.5) / ends.length) * (lower - upper)).toFixed(1);
    });
    return ["M" + points.join("L"), 1 + 1.6 * Math.sqrt(size / most)];
  });
}

function drawBandStories(band) {
  const group = river.element.querySelector(".stories");
  if (!band || !state.picked) return group.replaceChildren();
  if (isZoomed())
    return group.replaceChildren(
      ...storyStrips(band, allStoriesOfTopic(state.topic), riverX, riverY).flatMap(({ story, points, text, x, y }) => [
        svgElement("path", {
          d: "M" + points.map((point) => point.map((at) => at.toFixed(1)).join(" ")).join("L") + "Z",
          class: "strip",
          "data-story": story[0],
        }),
        ...(text ? [svgElement("text", { x: x.toFixed(1), y: y.toFixed(1) }, text)] : []),
      ]),
    );
  const stories = storiesOfTopic(state.topic).largest;
  const lines = stories.length ? storyLines(band, stories) : [];
  group.replaceChildren(
    ...lines.map(([path, width]) => svgElement("path", { d: path, "stroke-width": width.toFixed(1) })),
  );
}

function svgElement(kind, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

const bandOf = (topic) =>
  topic === null || topic === undefined ? undefined : river.bands.find((band) => band.meta === topic);

function drawOutlines() {
  if (!river.fig) return;
  const [veil, hover, chosen] = river.element.querySelectorAll(".over path");
  const own = bandOf(state.topic);
  const over = bandOf(river.hover);
  const ink = page.colours[state.theme].ink;
  chosen.setAttribute("d", own ? bandPath(own) : "");
  chosen.style.stroke = own ? ink[state.topic % 24] : "";
  hover.setAttribute("d", over ? bandPath(over) : "");
  hover.style.stroke = over ? (over.meta < 0 ? page.colours[state.theme].muted : ink[over.meta % 24]) : "";
  const { t: top, b: bottom } = river.fig.layout.margin;
  const width = river.element.clientWidth;
  const height = river.element.clientHeight;
  river.element.querySelector(".over").style.clipPath = isZoomed()
    ? `inset(${top - 1}px ${INSET}px ${bottom - 1}px ${INSET}px)`
    : "";
  drawBandStories(own);
  veil.setAttribute("d", own && state.picked ? `M0 ${top - 1}H${width}V${height - bottom + 1}H0Z` + bandPath(own) : "");
}

function followDate() {
  return isZoomed() && isOutside() ? drawRiver(EVERYTHING) : moveRiverCursor();
}

function moveRiverCursor() {
  if (!river.fig) return;
  const cursor = river.element.querySelector(".cursor");
  const flag = cursor.firstElementChild;
  const width = river.element.clientWidth;
  const x = sliceCount > 1 ? riverX(state.slice) : riverX(0);
  cursor.style.transform = `translateX(${x - 0.75}px)`;
  flag.textContent = page.labels[state.slice];
  const half = flag.offsetWidth / 2;
  flag.style.marginLeft = Math.max(half - x, Math.min(0, width - x - half)) + "px";
}

function riverHitAt(event) {
  if (!river.fig) return { slice: state.slice, topic: null };
  const box = river.element.getBoundingClientRect();
  const { t: top, b: bottom } = river.fig.layout.margin;
  const [x0, x1] = river.fig.layout.meta.range;
  const [low, high] = river.fig.layout.yaxis.range;
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const dataX = x0 + ((x - INSET) / (box.width - 2 * INSET)) * (x1 - x0);
  const dataY = high + ((y - top) / (box.height - top - bottom)) * (low - high);
  const slice = sliceCount > 1 ? Math.min(Math.floor(x1), Math.max(Math.ceil(x0), Math.round(dataX))) : 0;
  for (const band of river.bands) {
    const count = band.x.length / 2;
    if (dataX < band.x[0] || dataX > band.x[count - 1]) continue;
    let k = 1;
    for (let first = 1, last = count - 1; first <= last;) {
      const middle = (first + last) >> 1;
      if (band.x[middle] >= dataX) {
        k = middle;
        last = middle - 1;
      } else first = middle + 1;
    }
    const fraction = (dataX - band.x[k - 1]) / (band.x[k] - band.x[k - 1] || 1);
    const mixed = (i, j) => band.y[i] + fraction * (band.y[j] - band.y[i]);
    const upper = mixed(k - 1, k);
    const lower = mixed(2 * count - k, 2 * count - 1 - k);
    if (dataY >= upper && dataY <= lower) return { slice, topic: band.meta };
  }
  return { slice, topic: null };
}

function riverTooltip(slice, topic) {
  if (topic < 0) return [[null, river.bands.find((band) => band.meta < 0).name], []];
  const known = isActive(slice, topic) ? slice : nearestActive(slice, topic);
  const index = cellIndex(known, topic);
  const drift = currentReading().drift_angle[index];
  const before = page.labels[known - 1];
  const lines = [
    format(messages.hoverCount, {
      date: page.labels[known],
      n: Math.round(currentReading().documents[index] || 0),
      share: percent(currentReading().share[index] || 0),
    }),
  ];
  if (known > 0 && drift >= 0 && !(state.reading === "filtered" && page.warm_up[known]))
    lines.push(
      format(state.reading === "smoothed" ? messages.hoverTurn : messages.hoverTurnFiltered, {
        turn: Math.round(drift),
        date: before,
        usual: driftText(driftRatio(known, topic)),
      }),
    );
  lines.push(...storyHere(known, topic), messages.hoverOpen);
  return [[topic, topicName(known, topic) + " · " + format(messages.topic, { topic })], lines];
}

function storyTooltip(number) {
  const [, name, size, first, last, topic] = page.stories.rows.find(([story]) => story === number);
  return [
    [topic, name],
    [
      format(messages.storyDocuments, { n: size.toLocaleString("en") }),
      page.labels[first] + (last > first ? " – " + page.labels[last] : ""),
    ],
  ];
}

// a step closer or farther; the first one selects the topic, whose band then fills the height
export function zoomRiver(step, change = {}) {
  const zoom = step === "all" ? 1 : Math.min(mostZoom(), Math.max(1, state.zoom * (step === "in" ? 2 : 0.5)));
  if (zoom === state.zoom) return;
  select({ zoom, picked: state.picked || (state.zoom === 1 && state.topic !== null), ...change });
}

function wireRiver() {
  let down = null;
  let turned = 0;
  const hover = (topic) => {
    if (topic !== river.hover) {
      river.hover = topic;
      drawOutlines();
    }
  };
  river.element.addEventListener("pointerdown", (event) => {
    down = { x: event.clientX, y: event.clientY, moved: false };
  });
  river.element.addEventListener("pointermove", (event) => {
    const hit = riverHitAt(event);
    if (down && (down.moved || Math.abs(event.clientX - down.x) > 6)) {
      down.moved = true;
      hideTooltip();
      return select({ slice: hit.slice });
    }
    if (event.pointerType === "touch") return;
    hover(hit.topic);
    const strip = event.target.closest?.("[data-story]");
    if (strip) return showTooltip(event, storyTooltip(Number(strip.dataset.story)));
    hit.topic === null ? hideTooltip() : showTooltip(event, riverTooltip(hit.slice, hit.topic));
  });
  $("#zoom").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button && !button.disabled) zoomRiver(button.dataset.value);
  });
  // with Ctrl, as pinching sends it: the page itself scrolls without
  river.element.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      turned += event.deltaY;
      if (Math.abs(turned) < 40) return;
      turned < 0 ? zoomRiver("in", { slice: riverHitAt(event).slice }) : zoomRiver("out");
      turned = 0;
    },
    { passive: false },
  );
  addEventListener("pointerup", () =>
    setTimeout(() => {
      down = null;
    }),
  );
  river.element.addEventListener("pointercancel", () => {
    down = null;
  });
  river.element.addEventListener("pointerleave", () => {
    hover(null);
    hideTooltip();
  });
  river.element.addEventListener("click", (event) => {
    if (down?.moved) return;
    const hit = riverHitAt(event);
    if (hit.topic === null || hit.topic < 0) return select({ slice: hit.slice, picked: false });
    $("#notice").hidden = true;
    select(
      hit.topic === state.topic && state.picked && hit.slice === state.slice
        ? { picked: false }
        : { topic: hit.topic, slice: hit.slice, picked: true },
      true,
    );
  });
}

export function drawOpenSlice() {
  const part = live.news?.open;
  const group = river.element.querySelector(".open");
  const says = $("#so-far");
  group.replaceChildren();
  says.hidden = !part;
  if (!part || !river.fig || isZoomed()) return;
  says.textContent = format(messages.soFar, { date: part.label, n: part.n.toLocaleString("en") });
  const width = river.element.clientWidth;
  const rows = river.bands.filter((band) => band.meta >= 0);
  const last = sliceCount - 1;
  const edges = river.bands.flatMap((band) => {
    const k = band.x.length / 2 - 1;
    return band.x[k] === last ? [riverY(band.y[k]), riverY(band.y[k + 1])] : [];
  });
  const low = Math.min(...edges);
  const high = Math.max(...edges);
  const total = part.documents.reduce((a, b) => a + b, 0);
  const unit = state.measure === "share" ? (high - low) / (total || 1) : (high - low) / (page.counts[last] || 1);
  const height = total * unit;
  let y = (low + high) / 2 - height / 2;
  for (const band of rows) {
    const index = part.topics.indexOf(band.meta);
    const thickness = index < 0 ? 0 : part.documents[index] * unit;
    if (thickness <= 0) continue;
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({
      x: width - INSET + 4,
      y,
      width: INSET - 5,
      height: thickness,
      fill: page.colours[state.theme].fill[band.meta % 24],
    }))
      rect.setAttribute(name, value);
    group.append(rect);
    y += thickness;
  }
  const hatch = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const top = (low + high) / 2 - height / 2;
  const lines = [];
  for (let at = top + 8; at <= top + height; at += 5) lines.push(`M${width - INSET + 4} ${at}l${INSET - 5} -8`);
  hatch.setAttribute("d", lines.join(""));
  group.append(hatch);
}
