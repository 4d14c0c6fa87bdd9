// Comparison of two dates of a topic, or of two topics at one date, in the figure that Python laid out.

import { isActive, lifespan, messages, nearestActive, page, topWords, topicName } from "./data.js";
import { $, createElement } from "./dom.js";
import { drawFigure, figureOf, showFigure } from "./figures.js";
import { escapeLabel, format } from "./format.js";
import { angleTo } from "./neighbours.js";
import { select } from "./selection.js";
import { state, views } from "./state.js";

views.compare = { wire: wireCompare, draw: drawCompare, cursor: drawCompare, rows: compareTable };

// what is compared, the earlier date left; null if nothing is chosen
function comparedSides() {
  if (state.topic === null) return null;
  const slice = nearestActive(state.slice, state.topic);
  const side = (date, topic, label) => ({ slice: date, topic, label, words: topWords(date, topic, 14) });
  if (state.otherTopic !== null && state.otherTopic !== state.topic && isActive(slice, state.otherTopic))
    return {
      topics: true,
      sides: [state.topic, state.otherTopic].map((topic) => side(slice, topic, format(messages.topic, { topic }))),
    };
  if (state.otherSlice === null) return null;
  const otherSlice = nearestActive(state.otherSlice, state.topic);
  const dates = otherSlice < slice ? [otherSlice, slice] : [slice, otherSlice];
  return { topics: false, sides: dates.map((date) => side(date, state.topic, page.labels[date])) };
}

// the angle between the two, in words, or empty where the run file does not hold it
async function angleText({ topics, sides: [a, b] }) {
  const inWords = (degrees) =>
    Number.isNaN(degrees) ? "" : format(topics ? messages.apart : messages.driftOf, { turn: Math.round(degrees) });
  if (topics) {
    const neighbours = (await figureOf(`neighbours/${state.reading}/${a.topic}`))?.layout.meta;
    return inWords(neighbours ? angleTo(a.slice, neighbours.others.indexOf(b.topic), neighbours) : NaN);
  }
  if (a.slice === b.slice) return inWords(0);
  const known = await figureOf(`compare/${state.reading}/${a.topic}`);
  const value = known?.drift[(b.slice * (b.slice - 1)) / 2 + a.slice] ?? 255;
  return inWords(value === 255 ? NaN : value);
}

async function drawCompare() {
  const both = comparedSides();
  const box = $("#compare-box");
  fillChoices(false);
  box.hidden = !both;
  if (!both) return;
  const element = $("#compare");
  const width = element.clientWidth;
  const angle = await angleText(both);
  return showFigure("compare", `compare/${width < 480 ? "phone" : "wide"}`, (fig) => {
    fillComparison(fig, both, angle);
    fig.layout.width = width;
    element.style.height = fig.layout.height + "px";
    drawFigure(element.querySelector(".plot"), fig);
    const [left, right] = both.sides.map(({ words }) => words.map(([word]) => word));
    const without = (a, b) => a.filter((word) => !b.includes(word)).join(", ");
    const names = {
      left: both.sides[0].label,
      right: both.sides[1].label,
      gone: without(left, right),
      entered: without(right, left),
      drift: angle && ", " + angle,
    };
    $("#compare-caption").textContent = format(both.topics ? messages.compareTopics : messages.compareDates, names);
    $("#compare-words").textContent = format(both.topics ? messages.ownWords : messages.goneAndNew, names);
  });
}

function fillComparison(fig, { topics, sides }, angle) {
  const [kept, bars, texts] = fig.data;
  const meta = fig.layout.meta;
  const colours = page.colours.light;
  const slot = (topic) => topic % 24;
  const rank = sides.map((side) => new Map(side.words.map(([word], radius) => [word, radius + 1])));
  const most = Math.max(...sides.flatMap((side) => side.words.map((word) => word[1]))) || 1;
  const steps = meta.down.length;
  kept.line.color = topics ? colours.outline : colours.fill[slot(sides[0].topic)];
  for (const [word, leftRank] of rank[0]) {
    const rightRank = rank[1].get(word);
    if (rightRank)
      (meta.down.forEach((down, i) => {
        kept.x.push(meta.bar[0] + ((meta.bar[1] - meta.bar[0]) * i) / (steps - 1));
        kept.y.push(leftRank + (rightRank - leftRank) * down);
      }),
        kept.x.push(null),
        kept.y.push(null));
  }
  sides.forEach(({ topic, words }, k) =>
    words.forEach(([word, weight], radius) => {
      const shared = rank[1 - k].has(word);
      const fresh = k === 1 && !shared && !topics;
      const fillOf = colours.fill[slot(topic)];
      const ink = colours.ink[slot(topic)];
      const [bar, tone] = shared
        ? [topics ? colours.outline : fillOf, colours.text]
        : topics
          ? [fillOf, ink]
          : k
            ? [ink, ink]
            : [colours.outline, colours.muted];
      bars.base.push(meta.bar[k]);
      bars.x.push(((k ? 1 : -1) * meta.long * weight) / most);
      bars.y.push(radius + 1);
      bars.marker.color.push(bar);
      const text = fresh ? "+ " + word : word;
      texts.x.push(meta.text[k]);
      texts.y.push(radius + 1);
      texts.text.push(escapeLabel(text.length > meta.letters ? text.slice(0, meta.letters - 1) + "…" : text));
      texts.textposition.push(k ? "middle right" : "middle left");
      texts.textfont.color.push(tone);
      texts.textfont.weight.push(fresh ? 700 : 450);
    }),
  );
  fig.layout.annotations.forEach((note, k) => {
    note.text = escapeLabel([sides[0].label, angle, sides[1].label][k]);
  });
}

// the choices are made when the list opens: other dates of the topic, other topics of the date
function fillChoices(whole) {
  const list = $("#compare-with");
  const chosen =
    state.otherTopic !== null ? "t" + state.otherTopic : state.otherSlice !== null ? "d" + state.otherSlice : "";
  const option = (value, text) => {
    const element = createElement("option", text);
    element.value = value;
    return element;
  };
  const group = (label, options) => {
    const element = createElement("optgroup");
    element.label = label;
    element.append(...options);
    return element;
  };
  const slice = state.topic === null ? state.slice : nearestActive(state.slice, state.topic);
  const [firstSlice, lastSlice] = state.topic === null ? [0, -1] : lifespan(state.topic);
  const named = (topic) => `${topicName(slice, topic)} (${topic})`;
  const out = [option("", messages.nothing)];
  if (whole) {
    const dates = [];
    for (let date = firstSlice; date <= lastSlice; date++)
      if (date !== slice && isActive(date, state.topic)) dates.push(option("d" + date, page.labels[date]));
    out.push(
      group(messages.otherDates, dates),
      group(
        format(messages.otherTopics, { date: page.labels[slice] }),
        page.order
          .filter((topic) => topic !== state.topic && isActive(slice, topic))
          .map((topic) => option("t" + topic, named(topic))),
      ),
    );
  } else if (chosen)
    out.push(option(chosen, state.otherTopic !== null ? named(state.otherTopic) : page.labels[state.otherSlice]));
  list.replaceChildren(...out);
  list.value = chosen;
}

function wireCompare() {
  const list = $("#compare-with");
  for (const kind of ["pointerdown", "focus"])
    list.addEventListener(kind, () => {
      if (list.length < 3) fillChoices(true);
    });
  list.onchange = () => {
    const value = list.value;
    const index = Number(value.slice(1));
    select({ otherSlice: value[0] === "d" ? index : null, otherTopic: value[0] === "t" ? index : null });
  };
}

function compareTable() {
  const rows = [["topic", "date", "rank", "word", "weight"]];
  for (const { slice, topic, words } of comparedSides()?.sides ?? [])
    words.forEach(([word, weight], k) =>
      rows.push([topic, page.labels[slice], k + 1, word, Number(weight.toFixed(3))]),
    );
  return rows;
}
