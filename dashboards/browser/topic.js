// The facts of the selected topic at the date.

import {
  cellIndex,
  certaintyLevel,
  currentReading,
  driftRatio,
  lifespan,
  messages,
  nearestActive,
  page,
  topWords,
  topicName,
} from "./data.js";
import { $, createElement } from "./dom.js";
import { format, percent } from "./format.js";
import { state, views } from "./state.js";
import { colourSwatch } from "./tooltip.js";

views.topic = { draw: drawTopic, cursor: drawTopic };

function drawTopic() {
  const name = $("#topic-name");
  const stateNote = $("#state");
  $("#topic").hidden = state.topic === null;
  if (state.topic === null) return;
  const [firstSlice, lastSlice] = lifespan(state.topic);
  const slice = nearestActive(state.slice, state.topic);
  const reading = currentReading();
  const index = cellIndex(slice, state.topic);
  const facts = [];
  colourSwatch($("#topic .swatch"), state.topic);
  name.textContent = topicName(slice, state.topic);
  const unsure = state.reading === "filtered" && page.warm_up[state.slice];
  stateNote.hidden = !unsure && state.slice >= firstSlice && state.slice <= lastSlice;
  stateNote.textContent =
    state.slice < firstSlice
      ? format(messages.notYet, { date: page.labels[state.slice], other: page.labels[firstSlice] })
      : state.slice > lastSlice
        ? format(messages.ended, { date: page.labels[lastSlice] })
        : format(messages.warmUpAt, { date: page.labels[state.slice] });
  const count = Math.round(reading.documents[index] || 0);
  facts.push([
    count.toLocaleString("en"),
    format(count === 1 ? messages.documentOf : messages.documentsOf, {
      share: percent(reading.share[index] || 0),
      date: page.labels[slice],
    }),
  ]);
  let from = firstSlice;
  while (state.reading === "filtered" && page.warm_up[from] && from < slice) from++;
  const first = new Set(topWords(from, state.topic, 8).map((word) => word[0]));
  const top = topWords(slice, state.topic, 8);
  if (slice > from)
    facts.push([
      format(messages.of, { n: top.filter((word) => !first.has(word[0])).length, all: top.length }),
      format(messages.newSince, { date: page.labels[from] }),
    ]);
  const far = page.table[state.reading][index] ?? 255;
  const step = state.reading === "smoothed" && slice > firstSlice ? reading.drift_angle[index] : -1;
  if (slice > from && far !== 255 && !(slice === from + 1 && step >= 0))
    facts.push([far + "°", format(messages.lastStep, { date: page.labels[from] })]);
  const judged = !(state.reading === "filtered" && (page.warm_up[slice] || page.warm_up[slice - 1]));
  if (state.reading === "smoothed") {
    if (step >= 0) facts.push([Math.round(step) + "°", format(messages.lastStep, { date: page.labels[slice - 1] })]);
  } else if (slice > firstSlice && judged) {
    const ratio = driftRatio(slice, state.topic);
    facts.push(
      ratio === null
        ? ["–", messages.unjudged]
        : [ratio.toFixed(1) + " ×", format(messages.ofUsual, { date: page.labels[slice - 1] })],
    );
  }
  const certainty = reading.certainty[index];
  if (certainty >= 0)
    facts.push([Math.round(100 * certainty) + " %", format(messages.certainty, { level: certaintyLevel(certainty) })]);
  const kept = page.pinned.includes(state.topic) ? messages.pinned : messages.numberNever;
  facts.push([format(messages.topic, { topic: state.topic }), unsure ? messages.numberMay : kept]);
  $("#facts").replaceChildren(
    ...facts.map(([big, small]) => {
      const item = createElement("div");
      item.append(createElement("dt", big), createElement("dd", small));
      return item;
    }),
  );
}
