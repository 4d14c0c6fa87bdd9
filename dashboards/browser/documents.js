// The representative documents of the topic at the date, with their similarity to it, and a list of all.

import { cellIndex, currentReading, documentsByTopic, messages, nearestActive, page } from "./data.js";
import { keepsDocuments, showDocumentList } from "./documentlist.js";
import { $, createElement } from "./dom.js";
import { format } from "./format.js";
import { state, views } from "./state.js";

views.documents = { wire: wireListed, draw: drawDocuments, cursor: drawDocuments };
const listedDocuments = { scope: "date" };

function drawDocuments() {
  if (state.topic === null) return;
  drawListed();
  const slice = nearestActive(state.slice, state.topic);
  const box = $("#documents");
  const list = documentsByTopic.get(slice + "/" + state.topic) ?? [];
  const all = Math.max(list.length, Math.round(currentReading().documents[cellIndex(slice, state.topic)] || 0));
  box.hidden = !page.documents.length;
  box.querySelector("h3").textContent = format(messages.representativeAt, { date: page.labels[slice] });
  box.querySelector("p").textContent = list.length
    ? format(messages.kept, { n: list.length, all: all.toLocaleString("en") })
    : format(messages.representativeNone, { date: page.labels[slice] });
  box.querySelector("ol").replaceChildren(
    ...list.map(([, topic, title, date, score, url]) => {
      const item = createElement("li");
      const div = createElement("div");
      const head = createElement(url ? "a" : "div", title, "title");
      const meta = createElement("div", undefined, "meta");
      if (url) {
        head.href = url;
        head.rel = "noopener noreferrer";
      }
      if (date) meta.append(createElement("span", date));
      if (score !== null) {
        const bar = createElement("span", undefined, "bar");
        const inner = createElement("i");
        inner.style.width = Math.round(100 * Math.min(1, Math.max(0, score))) + "%";
        inner.style.background = page.colours[state.theme].ink[topic % 24];
        bar.append(inner);
        meta.append(bar, createElement("span", format(messages.score, { score: score.toFixed(2) })));
      }
      div.append(head, meta);
      item.append(div);
      return item;
    }),
  );
}

function drawListed() {
  const box = $("#listed");
  box.hidden = !keepsDocuments();
  if (box.hidden) return;
  box.querySelector("summary").textContent = format(messages.listTopic, { topic: state.topic });
  for (const button of $("#listed-scope").children)
    button.setAttribute("aria-pressed", String(button.dataset.value === listedDocuments.scope));
  const slice = listedDocuments.scope === "date" ? nearestActive(state.slice, state.topic) : null;
  if (box.open) showDocumentList(box.querySelector(".listed"), { slice, topic: state.topic, story: null });
}

function wireListed() {
  $("#listed").addEventListener("toggle", drawListed);
  $("#listed-scope").addEventListener("click", (event) => {
    const value = event.target.closest("button")?.dataset.value;
    if (!value) return;
    listedDocuments.scope = value;
    drawListed();
  });
}
