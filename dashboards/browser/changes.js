// What changed until the date, in sentences; at the newest date of a live page, since the reader's last visit.

import { messages, page, sliceCount, toAddress } from "./data.js";
import { $, createElement } from "./dom.js";
import { format } from "./format.js";
import { isLive, state, views } from "./state.js";
import { colourSwatch } from "./tooltip.js";

const visits = { key: () => "seen:" + page.title, before: null };
views.changes = {
  wire() {
    if (!isLive) return;
    try {
      visits.before = localStorage.getItem(visits.key());
    } catch {
      /* then every visit is the first */
    }
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && state.slice === sliceCount - 1)
        try {
          localStorage.setItem(visits.key(), page.labels[sliceCount - 1]);
        } catch {
          /* not stored */
        }
    });
  },
  draw: drawChanges,
  cursor: drawChanges,
};

function drawChanges() {
  const { rows, dates, visits: since } = page.changes[state.reading];
  const first = visits.before === null ? -1 : page.labels.indexOf(visits.before) + 1;
  const visit = state.slice === sliceCount - 1 && since.find(([from]) => from === first);
  const [, span, picks] = visit || dates.findLast(([at]) => at <= state.slice) || dates[0];
  $("#changes-title").textContent = format(visit ? messages.changedSince : messages.changed, { span });
  $("#changes").replaceChildren(
    ...picks.map((k) => {
      const [slice, topic, kind, parts] = rows[k];
      const item = createElement("li", undefined, kind);
      const link = createElement("a");
      const date = { d: toAddress(page.labels[slice]) };
      link.href = "#" + new URLSearchParams(topic < 0 ? date : { ...date, t: topic });
      link.append(...parts.map((part, i) => createElement(i % 2 ? "b" : "span", part.replace(/ (?=%)/g, "\u00a0"))));
      item.append(
        topic < 0 ? createElement("span") : colourSwatch(createElement("span", undefined, "swatch"), topic),
        link,
      );
      return item;
    }),
  );
  if (!picks.length) $("#changes").replaceChildren(createElement("li", messages.unchanged, "none"));
}
