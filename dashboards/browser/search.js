// Word search: the topics that use a word as areas over time, drawn from the page's columns.

import {
  currentReading,
  namingWords,
  isAfterWarmUp,
  lifespan,
  messages,
  nearestActive,
  page,
  sliceCount,
  topWords,
  topicCount,
  topicName,
} from "./data.js";
import { $, createElement } from "./dom.js";
import { drawFigure, showFigure } from "./figures.js";
import { escapeLabel, folded, format, ordinal } from "./format.js";
import { guard, select } from "./selection.js";
import { hasAny, state, views } from "./state.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const wordSearch = { element: $("#search"), fig: null, found: null, all: false };
views.search = { wire: wireSearch, draw: drawSearch, cursor: moveSearchCursor, rows: searchTable };
const MOST_FOUND = 8;

// the stored form of a word, or null
function storedWord(word) {
  const list = currentReading().vocabulary;
  const wanted = folded(word.trim());
  return (
    list.find((entry) => entry === word.trim()) ?? ((wanted && list.find((entry) => folded(entry) === wanted)) || null)
  );
}

function topicsWithWord(word) {
  const reading = currentReading();
  const code = reading.vocabulary.indexOf(word);
  const rows = [];
  page.topics.forEach((topic, at) => {
    const weight = new Float64Array(sliceCount);
    const rank = new Uint8Array(sliceCount);
    const sure = new Float64Array(sliceCount);
    for (let slice = 0; slice < sliceCount; slice++) {
      const index = slice * topicCount + at;
      const k = reading.word.subarray(reading.start[index], reading.start[index + 1]).indexOf(code);
      if (k >= 0) {
        rank[slice] = k + 1;
        weight[slice] = reading.weight[reading.start[index] + k] ** 2 * reading.scale;
        if (isAfterWarmUp(reading, slice)) sure[slice] = weight[slice];
      }
    }
    if (!rank.some((k) => k)) return;
    const counted = sure.some((value) => value) ? sure : weight;
    const top = counted.reduce((best, value, slice) => (value > counted[best] ? slice : best), 0);
    const [first, last] = lifespan(topic);
    rows.push({ topic, weight, rank, top, peak: counted[top], first, last });
  });
  return rows.sort((a, b) => b.peak - a.peak || a.topic - b.topic);
}

// how many letters must be put in, taken out or changed to turn one word into the other
function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1])));
    row = next;
  }
  return row.at(-1);
}

function nearestWords(word) {
  const wanted = folded(word.trim()).slice(0, 40);
  const byDistance = currentReading().vocabulary.map((other) => [editDistance(wanted, other.slice(0, 40)), other]);
  return byDistance
    .sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
    .slice(0, 5)
    .map((value) => value[1]);
}

function completions(text) {
  const wanted = folded(text.trim());
  const own =
    state.topic === null ? [] : topWords(nearestActive(state.slice, state.topic), state.topic).map((word) => word[0]);
  const out = new Set();
  for (const list of [own, currentReading().vocabulary])
    for (const word of list) if (out.size < 12 && folded(word).startsWith(wanted)) out.add(word);
  return [...out];
}

function drawSearch(changed) {
  const asked = state.word ?? "";
  const field = $("#search-word");
  if (document.activeElement !== field) field.value = asked;
  if (!hasAny(changed, "word", "reading", "theme", "size", "data") && (asked || !hasAny(changed, "topic")))
    return moveSearchCursor();
  if (hasAny(changed, "word")) wordSearch.all = false;
  const word = storedWord(asked);
  const width = wordSearch.element.clientWidth || wordSearch.element.parentElement.clientWidth;
  wordSearch.found = word === null ? [] : topicsWithWord(word);
  showSuggestions(asked, word);
  wordSearch.element.hidden = !wordSearch.found.length;
  wordSearch.element.parentElement.querySelector(".tools").hidden = !wordSearch.found.length;
  if (!wordSearch.found.length) return;
  return showFigure("search", `search/${width < 560 ? "phone" : "wide"}`, (fig) => {
    wordSearch.fig = fig;
    fig.layout.width = width;
    const rows = wordSearch.all ? wordSearch.found : wordSearch.found.slice(0, MOST_FOUND);
    fig.layout.height += (rows.length - 1) * fig.layout.meta.row;
    fig.layout.yaxis.range[0] = rows.length;
    fig.data = searchTraces(rows, fig.data, fig.layout, width);
    wordSearch.element.style.height = fig.layout.height + "px";
    drawFigure(wordSearch.element.querySelector(".plot"), fig);
    moveSearchCursor();
  });
}

// the caption, and below it suggestions if there is nothing to show: similar words, or words of the topic
function showSuggestions(asked, word) {
  const count = wordSearch.found.length;
  const more = count - MOST_FOUND;
  const near = $("#search-near");
  const shown = asked ? (word === null ? nearestWords(asked) : []) : completions("").slice(0, 8);
  $("#search-caption").textContent =
    word !== null
      ? format(messages.searchFound, {
          word,
          n: count === 1 ? messages.topicOne : format(messages.topicMany, { n: count }),
        })
      : asked
        ? format(messages.searchUnknown, { word: asked })
        : messages.searchNone;
  near.hidden = !shown.length;
  near.replaceChildren(
    ...shown.map((other) => {
      const button = createElement("button", other);
      button.onclick = () => select({ word: other }, true);
      return button;
    }),
  );
  $("#search-more").hidden = more <= 0;
  $("#search-more").textContent = wordSearch.all ? messages.searchFewer : format(messages.searchMore, { n: more });
  let most = 0;
  for (const k of currentReading().count) most = Math.max(most, k);
  $("#search-foot").textContent = count ? format(messages.searchFoot, { n: most }) : "";
}

// data into the looks that came with the axis
function searchTraces(rows, [lives, looks, peaks, names, numbers], { meta, margin }, width) {
  const colours = page.colours.light;
  const small = width < 560;
  const high = Math.max(...rows.map((row) => row.peak));
  const wide = width - margin.l - margin.r;
  const [low, end] = meta.range;
  const y = (k, value = 0) => k + meta.base - meta.high * Math.min(value / high, 1);
  const areas = [];
  rows.forEach((row, k) => {
    const pad = row.last > row.first ? 0 : 0.5;
    const slot = row.topic % 24;
    lives.x.push(row.first - pad, row.last + pad, null);
    lives.y.push(y(k), y(k), null);
    for (const sure of [true, false]) {
      const outline = areaOutline(row, (slice) => isAfterWarmUp(currentReading(), slice) === sure);
      if (outline.x.length)
        areas.push({
          ...looks,
          name: format(messages.topic, { topic: row.topic }),
          x: outline.x,
          y: outline.y.map((value) => (value === null ? null : y(k, value))),
          fillcolor: sure ? colours.fill[slot] : colours.rule,
          line: { ...looks.line, color: sure ? colours.ink[slot] : colours.muted },
        });
    }
  });
  const peakTexts = rows.map((row) =>
    format(small ? messages.searchPeakShort : messages.searchPeak, {
      rank: row.rank[row.top],
      date: page.labels[row.top],
    }),
  );
  const side = (row, k) => {
    const x = ((row.top - low) / (end - low)) * wide;
    const half = 3.1 * peakTexts[k].length;
    return x < half ? "top right" : wide + margin.r - x < half ? "top left" : "top center";
  };
  Object.assign(peaks, {
    x: rows.map((row) => row.top),
    y: rows.map((row, k) => y(k, row.peak)),
    text: peakTexts.map(escapeLabel),
    textposition: rows.map(side),
  });
  peaks.marker.color = rows.map((row) => colours.ink[row.topic % 24]);
  const most = (margin.l - 22) / 7.6;
  const cut = (text) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const left = (trace, up, text) =>
    Object.assign(trace, { x: rows.map(() => low), y: rows.map((_, k) => y(k) - up), text: text.map(escapeLabel) });
  left(
    names,
    meta.up.names,
    rows.map((row) =>
      cut(namingWords(row.top, row.topic, small ? 1 : 2).join(" ") || format(messages.topic, { topic: row.topic })),
    ),
  );
  left(
    numbers,
    meta.up.numbers,
    rows.map((row) => format(messages.topic, { topic: row.topic })),
  );
  return [lives, ...areas, peaks, names, numbers];
}

// the outline of every stretch in which the word is stored, ending half a slice beyond it unless the topic ends there
function areaOutline(row, where) {
  const x = [];
  const y = [];
  const edge = (slice, step) =>
    slice === (step < 0 ? row.first : row.last) && sliceCount > 1
      ? [slice, row.weight[slice]]
      : [slice + step / 2, row.rank[slice + step] ? (row.weight[slice] + row.weight[slice + step]) / 2 : 0];
  for (let start = 0; start < sliceCount; start++) {
    if (!row.rank[start] || !where(start)) continue;
    let end = start;
    while (end + 1 < sliceCount && row.rank[end + 1] && where(end + 1)) end++;
    const [x0, y0] = edge(start, -1);
    const [x1, y1] = edge(end, 1);
    if (x.length) {
      x.push(null);
      y.push(null);
    }
    x.push(x0, x0);
    y.push(0, y0);
    for (let slice = start; slice <= end; slice++) {
      x.push(slice);
      y.push(row.weight[slice]);
    }
    x.push(x1, x1, x0);
    y.push(y1, 0, 0);
    start = end;
  }
  return { x, y };
}

function searchX(slice) {
  const {
    margin: { l: left, r: right },
    meta: {
      range: [rangeStart, rangeEnd],
    },
    width,
  } = wordSearch.fig.layout;
  return left + ((slice - rangeStart) / (rangeEnd - rangeStart)) * (width - left - right);
}

function moveSearchCursor() {
  if (wordSearch.fig)
    wordSearch.element.querySelector(".cursor").style.transform =
      `translateX(${searchX(sliceCount > 1 ? state.slice : 0) - 0.75}px)`;
}

function searchHitAt(event) {
  if (!wordSearch.fig || !wordSearch.found?.length) return null;
  const box = wordSearch.element.getBoundingClientRect();
  const {
    margin: { l: left, r: right, t: top },
    meta,
    yaxis,
    width,
  } = wordSearch.fig.layout;
  const [rangeStart, rangeEnd] = meta.range;
  const row = wordSearch.found[Math.floor((event.clientY - box.top - top) / meta.row + yaxis.range[1])];
  const slice = Math.round(
    rangeStart + ((event.clientX - box.left - left) / (width - left - right)) * (rangeEnd - rangeStart),
  );
  return row && (wordSearch.all || wordSearch.found.indexOf(row) < MOST_FOUND)
    ? { row, slice: Math.min(sliceCount - 1, Math.max(0, slice)) }
    : null;
}

function wireSearch() {
  const field = $("#search-word");
  const list = $("#search-words");
  const complete = (event) =>
    list.replaceChildren(
      ...completions(event.target.value).map((word) => {
        const option_ = createElement("option");
        option_.value = word;
        return option_;
      }),
    );
  $("#find").setAttribute("list", "search-words");
  for (const input of [field, $("#find")]) {
    input.addEventListener("input", complete);
    input.addEventListener("focus", complete);
  }
  const ask = () => select({ word: field.value.trim() || null }, true);
  field.addEventListener("input", () => {
    if (storedWord(field.value) !== null) select({ word: field.value.trim() });
  });
  field.addEventListener("change", ask);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") ask();
  });
  $("#search-more").onclick = () => {
    wordSearch.all = !wordSearch.all;
    guard("search", () => drawSearch(new Set(["size"])));
  };
  wordSearch.element.addEventListener("pointermove", (event) => {
    const hit = event.pointerType === "touch" ? null : searchHitAt(event);
    if (!hit) return hideTooltip();
    const { row, slice } = hit;
    const k = row.rank[slice];
    const title =
      topicName(nearestActive(slice, row.topic), row.topic) + " · " + format(messages.topic, { topic: row.topic });
    const sentence = k
      ? format(messages.wordAt, {
          word: storedWord(state.word),
          date: page.labels[slice],
          rank: k > 1 ? ordinal(k) : "",
          weight: row.weight[slice].toFixed(2),
        }).replace(":  ", ": ")
      : format(messages.wordBlank, { word: storedWord(state.word), date: page.labels[slice] });
    showTooltip(event, [
      [row.topic, title],
      [sentence, messages.hoverOpen],
    ]);
  });
  wordSearch.element.addEventListener("pointerleave", hideTooltip);
  wordSearch.element.addEventListener("click", (event) => {
    const hit = searchHitAt(event);
    if (hit) select({ topic: hit.row.topic, slice: hit.slice, picked: true }, true);
  });
}

function searchTable() {
  const rows = [["word", "date", "topic", "rank", "weight"]];
  for (const row of wordSearch.found ?? [])
    for (let slice = 0; slice < sliceCount; slice++)
      if (row.rank[slice])
        rows.push([
          storedWord(state.word),
          page.labels[slice],
          row.topic,
          row.rank[slice],
          row.weight[slice].toFixed(3),
        ]);
  return rows;
}
