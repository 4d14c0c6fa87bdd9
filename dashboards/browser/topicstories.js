// The stories of the selected topic, each with its life; the river draws the same ones inside the topic's band.

import { messages, page, toAddress } from "./data.js";
import { $, createElement } from "./dom.js";
import { format } from "./format.js";
import { state, views } from "./state.js";
import { storiesOfTopic, storyLife } from "./stories.js";

views.topicstories = { draw: drawTopicStories, cursor: drawTopicStories };

function drawTopicStories() {
  const { largest, all } = storiesOfTopic(state.topic);
  const box = $("#topic-stories");
  box.hidden = !largest.length;
  if (box.hidden) return;
  box.querySelector("p").textContent = format(messages.storiesOfTopic, {
    n: largest.length,
    all: all.toLocaleString("en"),
  });
  box.querySelector("ol").replaceChildren(
    ...largest.map(([, title, size, first, last, topic]) => {
      const item = createElement("li");
      const link = createElement("a", title, "title");
      link.href = "#" + new URLSearchParams({ d: toAddress(page.labels[first]), t: topic });
      const meta = createElement("span", undefined, "meta");
      meta.append(
        storyLife(first, last, topic),
        createElement("span", format(messages.storyDocuments, { n: size.toLocaleString("en") })),
        createElement("span", page.labels[first] + (last > first ? " – " + page.labels[last] : "")),
      );
      if (first <= state.slice && state.slice <= last) item.setAttribute("aria-current", "date");
      item.append(link, meta);
      return item;
    }),
  );
}
