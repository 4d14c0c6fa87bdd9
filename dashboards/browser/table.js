// All topics as rows at the date; headings sort, rows select.

import { cellIndex, currentReading, isActive, lifespan, nearestActive, page, sliceCount, topWords } from "./data.js";
import { $, createElement } from "./dom.js";
import { percent } from "./format.js";
import { state, views } from "./state.js";
import { colourSwatch } from "./tooltip.js";

views.table = {
  wire: wireTable,
  draw: drawTable,
  cursor: drawTable,
  rows: () => [
    Object.keys(topicRow(state.topic ?? page.topics[0], true)),
    ...page.topics.map((topic) => Object.values(topicRow(topic, true))),
  ],
};
const sorting = { by: "topic", down: false };

// the cells of a topic: bare values to sort and to save
function topicRow(topic, bare) {
  const [firstSlice, lastSlice] = lifespan(topic);
  const slice = nearestActive(state.slice, topic);
  const reading = currentReading();
  const index = cellIndex(slice, topic);
  const drift = page.table[state.reading][index] ?? 255;
  const spread = page.table.isotropy; // of documents that are vectors
  const even = spread?.[index] ?? 255;
  const number = (x, digits) => (x >= 0 ? Number(x.toFixed(digits)) : null);
  const text = (at) =>
    topWords(at, topic, bare ? 8 : 5)
      .map((word) => word[0])
      .join(" ");
  const step = state.reading === "smoothed" && slice > firstSlice ? number(reading.drift_angle[index], 0) : null;
  const far = drift === 255 ? null : drift; // of a short form of the words, which may miss the step by a degree
  return {
    topic,
    now: text(slice),
    first: text(firstSlice),
    documents: number(reading.documents[index], 0),
    share: number(reading.share[index], 4),
    drift: slice === firstSlice + 1 ? (step ?? far) : far,
    "last drift": step,
    certainty: number(reading.certainty[index], 2),
    ...(spread && { isotropy: even === 255 ? null : even / 100 }),
    begun: page.labels[firstSlice] ?? "",
    ended: lastSlice < sliceCount - 1 ? (page.labels[lastSlice] ?? "") : "",
  };
}

function drawTable() {
  const body = $("#topics tbody");
  const position = (label) => page.labels.indexOf(label);
  const rows = page.topics.filter((topic) => lifespan(topic)[0] >= 0).map((topic) => topicRow(topic));
  const key = (row) => (["begun", "ended"].includes(sorting.by) ? position(row[sorting.by]) : row[sorting.by]);
  rows.sort((x, y) => {
    const a = key(x);
    const b = key(y);
    const order =
      a === null || b === null
        ? (a === null) - (b === null)
        : (typeof a === "number" ? a - b : a.localeCompare(b, "en")) * (sorting.down ? -1 : 1);
    return order || x.topic - y.topic;
  });
  const degrees = (drift) => (drift === null ? "" : drift + "°");
  const shown = {
    share: percent,
    drift: degrees,
    "last drift": degrees,
    certainty: (drift) => (drift === null ? "" : Math.round(100 * drift) + " %"),
    isotropy: (value) => (value === null ? "" : percent(value)),
  };
  $("#topics [data-sort=isotropy]").parentNode.hidden = !page.table.isotropy;
  body.replaceChildren(
    ...rows.map((row) => {
      const tr = createElement("tr", undefined, isActive(state.slice, row.topic) ? "" : "muted");
      if (row.topic === state.topic) tr.setAttribute("aria-current", "true");
      for (const [name, value] of Object.entries(row)) {
        const td = createElement(
          "td",
          undefined,
          typeof value === "number" || value === null ? "number" : ["begun", "ended"].includes(name) ? "date" : "",
        );
        if (name === "topic") {
          const link = createElement("a", String(value));
          link.href = "#t=" + value;
          td.append(colourSwatch(createElement("span", undefined, "swatch"), value), link);
        } else
          td.textContent = shown[name]
            ? shown[name](value)
            : value === null
              ? ""
              : name === "documents"
                ? value.toLocaleString("en")
                : value;
        tr.append(td);
      }
      return tr;
    }),
  );
  for (const button of document.querySelectorAll("#topics [data-sort]"))
    button.parentNode.ariaSort =
      button.dataset.sort !== sorting.by ? "none" : sorting.down ? "descending" : "ascending";
}

function wireTable() {
  $("#topics thead").addEventListener("click", (event) => {
    const by = event.target.closest("[data-sort]")?.dataset.sort;
    if (!by) return;
    // numbers begin with the largest, texts with the first
    sorting.down =
      sorting.by === by ? !sorting.down : ["documents", "share", "drift", "last drift", "certainty", "isotropy"].includes(by);
    sorting.by = by;
    drawTable();
  });
}
