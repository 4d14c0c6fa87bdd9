// Zoom of the river: the dates that are shown, the height of what is selected, and stories as strips inside its band.

import { messages, page, sliceCount } from "./data.js";
import { format } from "./format.js";
import { session, state } from "./state.js";

const LEAST_SPAN = 2; // slices between the first and the last date of the closest zoom
const MOST_STRIPS = 40;
const STRIP = 17; // pixels of a strip, so that its title can be read
const LETTER = 11;
const pen = document.createElement("canvas").getContext("2d");

let shown = null; // first and last date that are shown, as positions of slices

export const isZoomed = () => state.zoom > 1 && !session.printing;
export const mostZoom = () => Math.max(2, 2 ** Math.floor(Math.log2(Math.max(1, (sliceCount - 1) / LEAST_SPAN))));

// the dates that are shown; they move only when the selected date leaves them
export function zoomSpan() {
  const last = sliceCount - 1;
  const span = Math.max(Math.min(LEAST_SPAN, last), last / state.zoom);
  if (!shown || Math.abs(shown[1] - shown[0] - span) > 1e-9 || isOutside()) {
    const from = Math.min(last - span, Math.max(0, state.slice - span / 2));
    shown = [from, from + span];
  }
  return shown;
}

export const isOutside = () => !shown || state.slice < shown[0] || state.slice > shown[1];

export function zoomSentence() {
  const [from, to] = zoomSpan();
  return format(messages.riverZoomed, { from: page.labels[Math.ceil(from)], to: page.labels[Math.floor(to)] });
}

// the upper and the lower edge of a band at a place of the axis of dates
export function bandEdges(band, x) {
  const count = band.x.length / 2;
  const k = Math.max(1, Math.min(count - 1, [...band.x.subarray(0, count)].findIndex((at) => at >= x)));
  const part = Math.min(1, Math.max(0, (x - band.x[k - 1]) / (band.x[k] - band.x[k - 1] || 1)));
  const mixed = (i, j) => band.y[i] + part * (band.y[j] - band.y[i]);
  return [mixed(k - 1, k), mixed(2 * count - k, 2 * count - 1 - k)];
}

// how far down each place of the axis of dates is moved so that the middle of a band lies on a straight line
function straightened(band) {
  const count = band.x.length / 2;
  const middle = (i) => -(band.y[i] + band.y[2 * count - 1 - i]) / 2;
  const moved = new Map([...band.x.subarray(0, count)].map((x, i) => [x, middle(i)]));
  return (x) => moved.get(x) ?? (x < band.x[0] ? middle(0) : x > band.x[count - 1] ? middle(count - 1) : null);
}

// set the ranges and the dates of a figure, and leave out labels that would not be inside; own is the selected band,
// which is straightened and fills the height
export function zoomFigure(fig, labels, own, width, height) {
  if (own) {
    const moved = straightened(own);
    const along = (x) => moved(x) ?? -bandEdges(own, x).reduce((a, b) => a + b) / 2;
    labels = { ...labels, y: labels.y.map((y, i) => y + along(labels.x[i])) };
    const straight = fig.data.map((band) => Float32Array.from(band.y, (y, i) => y + along(band.x[i])));
    fig.data.forEach((band, k) => Object.assign(band, { y: straight[k] }));
  }
  const [from, to] = sliceCount > 1 ? zoomSpan() : fig.layout.meta.range;
  const { l: left, r: right, t: top, b: bottom } = fig.layout.margin;
  const heights = (bands) =>
    bands.flatMap((band) => [...band.y].filter((_, i) => band.x[i] >= from - 0.01 && band.x[i] <= to + 0.01));
  let inside = heights(own ? [own] : fig.data);
  if (!inside.length) inside = heights(fig.data);
  const [high, low] = inside.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
  const margin = (low - high || 1) * 0.08;
  const range = [low + margin, high - margin];
  fig.layout.meta.range = fig.layout.xaxis.range = [from, to];
  fig.layout.yaxis.range = range;
  const unit = (width - left - right) / (to - from || 1);
  const longest = Math.max(...page.labels.map((label) => label.length));
  const step = Math.max(1, Math.ceil((7 * longest + 16) / unit));
  const dates = [];
  for (let slice = Math.ceil(from); slice <= to; slice += step) dates.push(slice);
  Object.assign(fig.layout.xaxis, { tickvals: dates, ticktext: dates.map((slice) => page.labels[slice]) });
  const kept = labels.x.map((x, i) => {
    const half = 0.3 * labels.textfont.size[i] * Math.max(...labels.text[i].split("<br>").map((line) => line.length));
    const y = ((labels.y[i] - range[1]) / (range[0] - range[1])) * (height - top - bottom);
    const place = (x - from) * unit;
    const apart = own && labels.customdata[i] === own.meta; // stories take the place of its words
    return !apart && place >= half && place <= (to - from) * unit - half && y > 8 && y < height - top - bottom - 8;
  });
  const only = (values) => values.filter((_, i) => kept[i]);
  const { x, y, text, customdata, textfont } = labels;
  return {
    x: only(x),
    y: only(y),
    text: only(text),
    customdata: only(customdata),
    textfont: { size: only(textfont.size), weight: only(textfont.weight) },
  };
}

// stories inside a band, the largest first, as { story, points, text, x, y }; toX and toY give pixels
export function storyStrips(band, stories, toX, toY) {
  const [first, last] = sliceCount > 1 ? zoomSpan() : [-0.5, 0.5];
  const count = band.x.length / 2;
  const found = stories
    .map((story) => ({
      story,
      from: Math.max(story[3] - 0.38, first, band.x[0]),
      to: Math.min(story[4] + 0.38, last, band.x[count - 1]),
    }))
    .filter(({ from, to }) => to > from)
    .slice(0, MOST_STRIPS);
  const thickness = (x) => {
    const [upper, lower] = bandEdges(band, x).map(toY);
    return lower - upper;
  };
  const heights = found.map(({ from, to }) => thickness((from + to) / 2)).sort((a, b) => a - b);
  const most = Math.max(1, Math.floor((heights[Math.floor(heights.length / 3)] ?? 0) / STRIP));
  const lanes = [];
  const placed = [];
  for (const one of found) {
    let lane = lanes.findIndex((taken) => taken.every((other) => one.from >= other.to || one.to <= other.from));
    if (lane < 0 && lanes.length < most) lane = lanes.push([]) - 1;
    if (lane < 0) continue;
    lanes[lane].push(one);
    placed.push({ ...one, lane });
  }
  return placed.map((one) => drawn(band, one, lanes.length, toX, toY));
}

function drawn(band, { story, from, to, lane }, lanes, toX, toY) {
  const steps = Math.max(2, Math.min(48, Math.ceil((to - from) * 12)));
  const upper = [];
  const lower = [];
  const across = [];
  for (let i = 0; i <= steps; i++) {
    const x = from + ((to - from) * i) / steps;
    const [top, bottom] = bandEdges(band, x).map(toY);
    const gap = Math.min(1.5, (bottom - top) / lanes / 4);
    across.push(toX(x));
    upper.push(top + (lane / lanes) * (bottom - top) + gap);
    lower.push(top + ((lane + 1) / lanes) * (bottom - top) - gap);
  }
  const points = [...across.keys()].map((i) => [across[i], upper[i]]);
  for (let i = steps; i >= 0; i--) points.push([across[i], lower[i]]);
  return { story, points, ...title(story, across, upper, lower) };
}

// a title on one line in the widest place of a strip that is high enough, cut off where it is longer; none where it is short
function title([, name, size], across, upper, lower) {
  let best = [0, 0, 0];
  for (let i = 0; i < across.length; i++) {
    let [top, bottom] = [-Infinity, Infinity];
    for (let j = i; j < across.length; j++) {
      top = Math.max(top, upper[j]);
      bottom = Math.min(bottom, lower[j]);
      if (bottom - top < LETTER + 1) break;
      if (across[j] - across[i] > best[1] - best[0]) best = [across[i], across[j], (top + bottom) / 2];
    }
  }
  const [left, right, y] = best;
  pen.font = `${LETTER}px ${getComputedStyle(document.body).fontFamily}`;
  const fits = (text) => pen.measureText(text).width <= right - left - 8;
  let text = `\u2068${name}\u2069 · ${size.toLocaleString("en")}`;
  if (!fits(text)) {
    let letters = name.length;
    while (letters > 5 && !fits(name.slice(0, letters).trimEnd() + "…")) letters--;
    text = letters > 5 ? name.slice(0, letters).trimEnd() + "…" : "";
  }
  return { text, x: left + 4, y };
}
