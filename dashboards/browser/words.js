// The words of one topic: form, column of the date, tooltips, and the same words as a table.

import {
  cellIndex,
  certaintyLevel,
  currentReading,
  isActive,
  isAfterWarmUp,
  lifespan,
  messages,
  page,
  readings,
  sliceCount,
  topWords,
} from "./data.js";
import { $, createElement } from "./dom.js";
import { drawFigure, showFigure } from "./figures.js";
import { format, ordinal } from "./format.js";
import { openTab, select } from "./selection.js";
import { hasAny, isLive, state, views } from "./state.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const wordsChart = { element: $("#words"), fig: null };

function wordsForm(width) {
  const [firstSlice, lastSlice] = lifespan(state.topic);
  const wanted = state.form === "both" && !readings.smoothed ? null : state.form;
  const form = wanted || (lastSlice - firstSlice + 1 <= 14 ? "ranks" : "heatmap");
  return form === "ranks" && width < 600 ? "heatmap" : form;
}

views.words = { wire: wireWords, draw: drawWords, cursor: moveWordsColumn, rows: wordsTable };

function drawWords(changed) {
  if (state.topic === null) return;
  if (!hasAny(changed, "topic", "reading", "form", "theme", "size", "data")) return moveWordsColumn();
  const width = wordsChart.element.clientWidth || wordsChart.element.parentElement.clientWidth;
  const form = wordsForm(width);
  const small = width < 560 ? "-phone" : "";
  $("#words-caption").textContent = {
    ranks: messages.wordsRanks,
    heatmap: messages.wordsHeatmap,
    both: messages.wordsBoth,
  }[form];
  for (const button of $("#form").children) button.setAttribute("aria-pressed", String(button.dataset.value === form));
  $("#form").firstElementChild.disabled = width < 600;
  if (isLive) $("#form").lastElementChild.hidden = !readings.smoothed;
  const key =
    form === "both"
      ? `words/both/${state.topic}/both${small}`
      : `words/${state.reading}/${state.topic}/${form}${form === "ranks" ? "" : small}`;
  return showFigure("words", key, (fig) => {
    wordsChart.fig = fig;
    wordsChart.element.hidden = !fig;
    if (!fig) return showWordsTable(true); // the picture was left out of the file
    fig.layout.width = width;
    wordsChart.element.style.height = fig.layout.height + "px";
    drawFigure(wordsChart.element.querySelector(".plot"), fig);
    moveWordsColumn();
    if (!$("#words-rows").hidden) showWordsTable(true);
  });
}

function wordsTable() {
  const rows = [["date", "topic", "rank", "word", "weight"]];
  for (let slice = 0; slice < sliceCount; slice++)
    if (isActive(slice, state.topic))
      topWords(slice, state.topic).forEach(([word, value], k) =>
        rows.push([page.labels[slice], state.topic, k + 1, word, value.toFixed(3)]),
      );
  return rows;
}

function wordsAxes() {
  const { l: left, r: right, t: top } = wordsChart.fig.layout.margin;
  const meta = wordsChart.fig.layout.meta;
  const width = wordsChart.element.clientWidth - left - right;
  const [x0, x1] = meta.range;
  const [y1, y0] = meta.vertical;
  return {
    x: (value) => left + ((value - x0) / (x1 - x0)) * width,
    col: (pixel) => Math.round(x0 + ((pixel - left) / width) * (x1 - x0)),
    wide: width / (x1 - x0),
    row: (pixel) => y0 + ((pixel - top) / (wordsChart.fig.layout.height - top)) * (y1 - y0),
  };
}

function moveWordsColumn() {
  const bar = wordsChart.element.querySelector(".column");
  bar.hidden = true;
  if (!wordsChart.fig?.layout.meta.columns) return;
  const columns = wordsChart.fig.layout.meta.columns;
  const axes = wordsAxes();
  const k = columns.findLastIndex((column) => column <= state.slice);
  if (k < 0 || (k === columns.length - 1 && columns[k] < state.slice)) return;
  // a date between two shown columns is a line between them
  const between = columns[k] === state.slice ? 0 : (state.slice - columns[k]) / (columns[k + 1] - columns[k]);
  const wide = between ? 4 : Math.max(axes.wide, 5);
  bar.hidden = false;
  bar.style.width = wide + "px";
  bar.style.transform = `translateX(${axes.x(k + between) - wide / 2}px)`;
}

function firstAmongStrongest(reading, topic, word) {
  for (let slice = 0; slice < sliceCount; slice++)
    if (isAfterWarmUp(reading, slice) && topWords(slice, topic, 8, reading).some((entry) => entry[0] === word))
      return page.labels[slice];
  return null;
}

function wordTooltip(slice, word) {
  const found = topWords(slice, state.topic).findIndex((entry) => entry[0] === word);
  const lines = [];
  const title =
    found < 0
      ? format(messages.wordBlank, { word, date: page.labels[slice] })
      : format(messages.wordAt, {
          word,
          date: page.labels[slice],
          rank: found ? ordinal(found + 1) : "",
          weight: topWords(slice, state.topic)[found][1].toFixed(2),
        }).replace(":  ", ": ");
  const first = firstAmongStrongest(currentReading(), state.topic, word);
  const two = readings.smoothed && readings.filtered;
  const filtered = two && firstAmongStrongest(readings.filtered, state.topic, word);
  const smoothed = two && firstAmongStrongest(readings.smoothed, state.topic, word);
  lines.push(
    filtered && smoothed
      ? format(messages.wordSinceBoth, { filtered, smoothed })
      : first
        ? format(messages.wordSince, { date: first, reading: messages[state.reading] })
        : format(messages.wordNever, { reading: messages[state.reading] }),
  );
  let often = 0;
  let all = 0;
  for (let k = 0; k < sliceCount; k++)
    if (isActive(k, state.topic)) {
      all++;
      if (topWords(k, state.topic, 20).some((entry) => entry[0] === word)) often++;
    }
  lines.push(format(messages.wordOften, { n: often, all, periods: page.period + (all === 1 ? "" : "s") }));
  return [[null, title], lines];
}

function wordHitAt(event) {
  if (!wordsChart.fig?.layout.meta.columns) return null;
  const box = wordsChart.element.getBoundingClientRect();
  const axes = wordsAxes();
  const meta = wordsChart.fig.layout.meta;
  const slice = meta.columns[axes.col(event.clientX - box.left)];
  const row = Math.round(axes.row(event.clientY - box.top));
  if (slice === undefined) return null;
  if (meta.form === "ranks")
    return {
      slice,
      word: row >= 1 && row <= 8 ? topWords(slice, state.topic, 8)[row - 1]?.[0] : undefined,
      rail: row > 8,
    };
  return { slice, word: meta.rows[row], rail: row >= meta.rows.length };
}

function wireWords() {
  wordsChart.element.addEventListener("pointermove", (event) => {
    const hit = event.pointerType === "touch" ? null : wordHitAt(event);
    if (hit?.word) return showTooltip(event, wordTooltip(hit.slice, hit.word));
    if (!hit?.rail) return hideTooltip();
    const certainty = currentReading().certainty[cellIndex(hit.slice, state.topic)];
    showTooltip(event, [
      [
        null,
        currentReading().documents[cellIndex(hit.slice, state.topic)] > 0 && certainty >= 0
          ? format(messages.certaintyAt, {
              date: page.labels[hit.slice],
              share: Math.round(100 * certainty) + " %",
              level: certaintyLevel(certainty),
            })
          : format(messages.emptyAt, { date: page.labels[hit.slice] }),
      ],
      [],
    ]);
  });
  wordsChart.element.addEventListener("pointerleave", hideTooltip);
  wordsChart.element.addEventListener("click", (event) => {
    const hit = wordHitAt(event);
    if (!hit) return;
    if (event.shiftKey) return select({ otherSlice: hit.slice });
    hit.word && !hit.rail ? openTab("search", { word: hit.word }) : select({ slice: hit.slice });
  });
  $("#words-table").onclick = () => showWordsTable($("#words-rows").hidden);
}

function showWordsTable(show) {
  const box = $("#words-rows");
  box.hidden = !show;
  $("#words-table").setAttribute("aria-expanded", String(show));
  if (!show) return;
  const table = createElement("table");
  const head = createElement("tr");
  head.append(createElement("th", ""));
  const shown = [];
  for (let slice = 0; slice < sliceCount; slice++)
    if (isActive(slice, state.topic)) {
      shown.push(slice);
      head.append(createElement("th", page.labels[slice]));
    }
  table.append(head);
  for (let k = 0; k < 8; k++) {
    const row = createElement("tr");
    row.append(
      createElement("th", String(k + 1)),
      ...shown.map((slice) => createElement("td", topWords(slice, state.topic, 8)[k]?.[0] ?? "")),
    );
    table.append(row);
  }
  box.replaceChildren(table);
}
