// Neighbours of a topic: dots move along their rays with the date, and so do their labels.

import {
  cellIndex,
  currentReading,
  isAfterWarmUp,
  lifespan,
  messages,
  nearestActive,
  page,
  sliceCount,
  topWords,
  topicName,
} from "./data.js";
import { $, prefersReducedMotion } from "./dom.js";
import { dotBox, measuredLabel, placeLabels, shortened } from "./dotlabels.js";
import { drawFigure, inTheme, showFigure } from "./figures.js";
import { escapeLabel, format } from "./format.js";
import { select } from "./selection.js";
import { hasAny, state, views } from "./state.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const neighbours = { element: $("#neighbours"), fig: null, hits: [] };
export const NEIGHBOURS = {
  disc: 0.88,
  dot: 0.155,
  smallest: 6.5,
  biggest: 0.075,
  named: 14,
  dated: 5,
  apart: 36,
  nearest: 40,
  largest: 20,
  widths: 4,
  ring: 206,
  sides: ["right", "left", "above", "below"],
  datesides: ["above", "below", "left", "right"],
  selfsides: ["above", "below", "right", "left"],
};

// degrees to the k-th of the others at a date, NaN where one of the two is not there
export function angleTo(slice, k, { angles } = neighbours.fig.layout.meta) {
  const value = angles[slice]?.[k] ?? 255;
  return value === 255 ? NaN : value;
}

function firstTogether(k) {
  for (let slice = 0; slice < sliceCount; slice++)
    if (isAfterWarmUp(currentReading(), slice) && angleTo(slice, k) >= 0) return slice;
  return null;
}

// the oldest point of a trail, then always the one farthest from all chosen and from the middle
function datedPoints(trail, middle) {
  const chosen = trail.slice(0, 1);
  const near = (point) =>
    Math.min(
      Math.hypot(point.x - middle, point.y - middle),
      ...chosen.map((other) => Math.hypot(point.x - other.x, point.y - other.y)),
    );
  while (trail.length && chosen.length < NEIGHBOURS.dated) {
    const best = trail.reduce((a, b) => (near(b) > near(a) ? b : a));
    if (near(best) < NEIGHBOURS.apart) break;
    chosen.push(best);
  }
  return chosen;
}

function pastAt(slice) {
  const { date, at, past } = neighbours.fig.layout.meta;
  const [firstSlice, lastSlice] = lifespan(state.topic);
  const out = [];
  let k = 0;
  for (let row = 0; row < date.length && date[row] <= slice; row++)
    for (let column = 0; column < at.length && at[column] < date[row]; column++, k++)
      if (date[row] === slice)
        out.push({
          slice: at[column],
          angle: past[k],
          way: 156 + (48 * (at[column] - firstSlice)) / Math.max(lastSlice - firstSlice, 1),
        });
  return out;
}

function neighboursAt(slice, size) {
  const { others, reach } = neighbours.fig.layout.meta;
  const scale = size / 2 / reach;
  const share = (topic) => currentReading().share[cellIndex(slice, topic)] || 0;
  const point = (angle, way) => ({
    x: size / 2 + angle * scale * Math.cos((way * Math.PI) / 180),
    y: size / 2 - angle * scale * Math.sin((way * Math.PI) / 180),
  });
  const radius = (topic) =>
    Math.min(
      NEIGHBOURS.biggest * size,
      Math.max(NEIGHBOURS.smallest, NEIGHBOURS.dot * size * Math.sqrt(share(topic))),
    ) / 2;
  let dots = [];
  others.forEach((topic, k) => {
    const angle = angleTo(slice, k);
    const way = 208 + (304 * (k + 0.5)) / others.length;
    if (angle >= 0) dots.push({ topic, k, angle, radius: radius(topic), way, ...point(angle, way) });
  });
  dots.sort((a, b) => a.angle - b.angle);
  const all = dots.length;
  if (all > NEIGHBOURS.nearest + NEIGHBOURS.largest) {
    const kept = new Set([
      ...dots.slice(0, NEIGHBOURS.nearest),
      ...[...dots].sort((a, b) => share(b.topic) - share(a.topic)).slice(0, NEIGHBOURS.largest),
    ]);
    dots = dots.filter((dot) => kept.has(dot));
  }
  for (const dot of dots) {
    const since = firstTogether(dot.k);
    if (since !== null && since < slice) Object.assign(dot, { since, first: angleTo(since, dot.k) });
  }
  const trail = pastAt(slice).map((spot) => ({ ...spot, ...point(spot.angle, spot.way) }));
  return { dots, trail, point, own: radius(state.topic), rest: all - dots.length };
}

function drawNeighbours(move) {
  if (!neighbours.fig) return;
  const size = neighbours.element.clientWidth;
  const { reach } = neighbours.fig.layout.meta;
  const slice = nearestActive(state.slice, state.topic);
  const middle = size / 2;
  const scale = middle / reach;
  const light = page.colours.light;
  const ink = light.ink[state.topic % 24];
  const { dots, trail, point: pointAt, own, rest } = neighboursAt(slice, size);
  const dates = datedPoints(trail, middle);
  const first = dots.filter((dot) => dot.first >= 0).map((dot) => ({ ...dot, ...pointAt(dot.first, dot.way) }));
  const taken = [
    ...dots.map((dot) => dotBox(dot.x, dot.y, dot.radius)),
    ...first.map((ring) => dotBox(ring.x, ring.y, 2.5)),
    ...trail.map((point) => dotBox(point.x, point.y, 2)),
    dotBox(middle, middle, own),
  ];
  for (let angle = 30; angle <= reach * NEIGHBOURS.disc + 1; angle += 30) {
    const spot = pointAt(angle, NEIGHBOURS.ring);
    taken.push(dotBox(spot.x, spot.y, 9));
  }
  const when = placeLabels(
    dates.map((point) => ({
      ...measuredLabel(point.x, point.y, 3, page.labels[point.slice], 10.5, 650),
      id: "d" + point.slice,
    })),
    taken,
    size,
    NEIGHBOURS.datesides,
  );
  const full = topicName(slice, state.topic, 2);
  const named = (text) =>
    placeLabels(
      [{ ...measuredLabel(middle, middle, own, shortened(text), 13.5, 700), id: "self" }],
      taken,
      size,
      NEIGHBOURS.selfsides,
    );
  let self = named(full);
  if (!self.length) self = named(full.split(/,? /)[0]);
  taken.push(dotBox(middle, middle, own + 14));
  const names = placeLabels(
    dots.map((dot) => ({
      ...measuredLabel(dot.x, dot.y, dot.radius, shortened(topicName(slice, dot.topic, 2)), 11.5, 400),
      id: "t" + dot.topic,
    })),
    taken,
    size,
    NEIGHBOURS.sides,
    NEIGHBOURS.named,
  );
  const xy = (list) => ({
    x: list.map((point) => (point.x - middle) / scale),
    y: list.map((point) => (middle - point.y) / scale),
  });
  const texts = (list) => ({
    ...xy(list),
    text: list.map((point) => escapeLabel(point.text)),
    ids: list.map((point) => point.id),
  });
  const colours = (list, tone) => list.map((dot) => light[tone][dot.topic % 24]);
  const way = trail.length ? [...trail, { x: middle, y: middle }] : [];
  const parts = {
    rings: (() => {
      const list = [];
      for (let angle = 30; angle <= reach * NEIGHBOURS.disc + 1; angle += 30)
        list.push({ ...pointAt(angle, NEIGHBOURS.ring), text: angle + "°", id: "r" + angle });
      return texts(list);
    })(),
    "first-lines": xy(
      first.flatMap((ring) => [ring, dots.find((dot) => dot.topic === ring.topic), { x: NaN, y: NaN }]),
    ),
    first: {
      ...xy(first),
      ids: first.map((dot) => "t" + dot.topic),
      marker: { size: 5, color: light.page, line: { color: colours(first, "ink") } },
    },
    dated: {
      ...xy(dates),
      ids: dates.map((point) => "d" + point.slice),
      marker: { size: 6.5, color: ink, line: { color: light.page } },
    },
    dots: {
      ...xy(dots),
      ids: dots.map((dot) => "t" + dot.topic),
      marker: {
        size: dots.map((dot) => 2 * dot.radius),
        color: colours(dots, "fill"),
        line: { color: colours(dots, "ink") },
      },
    },
    self: { x: [0], y: [0], marker: { size: 2 * own, color: light.fill[state.topic % 24], line: { color: ink } } },
    names: texts(names),
    dates: { ...texts(when), textfont: { color: ink } },
    "self-name": texts(self),
  };
  for (let k = 0; k < NEIGHBOURS.widths; k++) {
    const from = Math.round((k * (way.length - 1)) / NEIGHBOURS.widths);
    const to = Math.round(((k + 1) * (way.length - 1)) / NEIGHBOURS.widths);
    parts["past-" + k] = { ...xy(way.slice(Math.max(from, 0), to + 1)), line: { color: ink } };
  }
  const merged = (a, b) =>
    b === undefined
      ? a
      : a && b && !Array.isArray(b) && typeof b === "object"
        ? { ...a, ...Object.fromEntries(Object.entries(b).map(([k, value]) => [k, merged(a[k], value)])) }
        : b;
  const data = page.neighbours.data.map((trace) => merged(trace, parts[trace.name]));
  neighbours.hits = [...dots, ...trail];
  updateNeighboursNote(slice, dots.length, trail.length, rest);
  const plot = neighbours.element.querySelector(".plot");
  const layout = { ...page.neighbours.layout, ...neighbours.fig.layout, width: size, height: size };
  neighbours.element.style.height = size + "px";
  if (!move || prefersReducedMotion() || !plot.data) return drawFigure(plot, { data, layout });
  Plotly.animate(
    plot,
    { data: inTheme(data), traces: data.map((_, k) => k) },
    { mode: "immediate", transition: { duration: 150, easing: "cubic-out" }, frame: { duration: 150, redraw: false } },
  ).catch(() => {});
}

function updateNeighboursNote(slice, dots, past, rest) {
  const sentences = [];
  const { others, angles } = neighbours.fig.layout.meta;
  if (others.length && !angles.some((row) => row.some((value) => value !== 255)))
    sentences.push(messages.neighboursMissing);
  else {
    if (state.reading === "filtered") sentences.push(messages.neighboursFiltered);
    if (!dots) sentences.push(messages.neighboursAlone);
    if (!past)
      sentences.push(isAfterWarmUp(currentReading(), slice) ? messages.neighboursNoPast : messages.neighboursWarmUp);
    if (rest) sentences.push(format(messages.neighboursRest, { n: rest }));
  }
  $("#neighbours-note").textContent = sentences.join(" ");
}

function neighbourHitAt(event) {
  const box = neighbours.element.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const far = (hit) => Math.hypot(hit.x - x, hit.y - y) - (hit.radius ?? 3);
  const best = neighbours.hits.reduce((a, b) => (!a || far(b) < far(a) ? b : a), null);
  return best && far(best) < 9 ? best : null;
}

function neighbourTooltip({ topic, angle, slice: past, since, first }) {
  const slice = nearestActive(state.slice, state.topic);
  if (topic === undefined)
    return [
      [
        state.topic,
        format(messages.pastAt, { date: page.labels[past], angle: Math.round(angle), other: page.labels[slice] }),
      ],
      [
        topWords(past, state.topic, 5)
          .map((word) => word[0])
          .join(" "),
      ],
    ];
  const own = new Map(topWords(slice, state.topic));
  const both = topWords(slice, topic)
    .filter(([word]) => own.has(word))
    .map(([word, value]) => [word, value * own.get(word)])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 4)
    .map((word) => word[0]);
  const born = since === lifespan(topic)[0] && since > 0;
  const template =
    since === undefined ? messages.neighbourAngle : born ? messages.neighbourAngleBorn : messages.neighbourAngleFirst;
  return [
    [topic, topicName(slice, topic) + " · " + format(messages.topic, { topic })],
    [
      format(template, { angle: Math.round(angle), first: Math.round(first), date: page.labels[since] }),
      both.length ? format(messages.neighbourShares, { words: both.join(", ") }) : messages.neighbourSharesNone,
      messages.hoverOpen,
    ],
  ];
}

views.neighbours = {
  wire() {
    neighbours.element.addEventListener("pointermove", (event) => {
      const hit = event.pointerType !== "touch" && neighbourHitAt(event);
      neighbours.element.style.cursor = hit ? "pointer" : "";
      hit ? showTooltip(event, neighbourTooltip(hit)) : hideTooltip();
    });
    neighbours.element.addEventListener("pointerleave", hideTooltip);
    neighbours.element.addEventListener("click", (event) => {
      const hit = neighbourHitAt(event);
      if (hit) {
        hideTooltip();
        hit.topic === undefined ? select({ slice: hit.slice }) : select({ topic: hit.topic, picked: true }, true);
      }
    });
  },
  draw(changed) {
    if (state.topic === null || !hasAny(changed, "topic", "reading", "theme", "size", "data"))
      return hasAny(changed, "slice") && drawNeighbours(true);
    return showFigure("neighbours", `neighbours/${state.reading}/${state.topic}`, (fig) => {
      neighbours.fig = fig;
      neighbours.element.hidden = !fig;
      fig ? drawNeighbours() : ($("#neighbours-note").textContent = messages.neighboursLeft);
    });
  },
  cursor() {
    drawNeighbours(true);
  },
  rows() {
    const slice = nearestActive(state.slice, state.topic);
    const out = [["date", "topic", "words", "degrees", "degrees at first", "first"]];
    for (const dot of neighboursAt(slice, 400).dots)
      out.push([
        page.labels[slice],
        dot.topic,
        topicName(slice, dot.topic),
        Math.round(dot.angle),
        dot.first >= 0 ? Math.round(dot.first) : "",
        dot.first >= 0 ? page.labels[dot.since] : "",
      ]);
    for (const point of neighboursAt(slice, 400).trail)
      out.push([
        page.labels[point.slice],
        state.topic,
        topWords(point.slice, state.topic, 3)
          .map((word) => word[0])
          .join(" "),
        Math.round(point.angle),
        "",
        "",
      ]);
    return out;
  },
};
