// Recent changes in sentences; on the live page, changes since the reader's last visit.

import { messages, page, sliceCount, toAddress } from "./data.js";
import { $, createElement } from "./dom.js";
import { format } from "./format.js";
import { hasAny, isLive, state, views } from "./state.js";
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
  draw(changed) {
    if (!hasAny(changed, "reading", "data")) return;
    const { rows, lists } = page.changes[state.reading];
    const from = visits.before === null ? 0 : page.labels.indexOf(visits.before) + 1;
    const since = from && lists[from];
    const [span, picks] = since || lists.lately;
    $("#changes-title").textContent = format(since ? messages.changedSince : messages.changed, { span });
    $("#changes").replaceChildren(
      ...picks.map((k) => {
        const [slice, topic, kind, parts] = rows[k];
        const item = createElement("li", undefined, kind);
        const link = createElement("a");
        link.href =
          "#" +
          new URLSearchParams(
            topic < 0 ? { d: toAddress(page.labels[slice]) } : { d: toAddress(page.labels[slice]), t: topic },
          );
        link.append(...parts.map((part, i) => createElement(i % 2 ? "b" : "span", part.replace(/ (?=%)/g, "\u00a0"))));
        item.append(
          topic < 0 ? createElement("span") : colourSwatch(createElement("span", undefined, "swatch"), topic),
          link,
        );
        return item;
      }),
    );
    if (!picks.length) $("#changes").replaceChildren(createElement("li", messages.unchanged));
  },
};
