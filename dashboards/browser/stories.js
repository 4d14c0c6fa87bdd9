// Stories: those at the date, or all, each with its life, its parent topic and its documents.

import { isActive, messages, nearestActive, page, sliceCount, topicName } from "./data.js";
import { keepsDocuments, showDocumentList } from "./documentlist.js";
import { $, createElement } from "./dom.js";
import { format } from "./format.js";
import { isLive, state, views } from "./state.js";
import { colourSwatch } from "./tooltip.js";

const AT_ONCE = 20;
const IN_TOPIC = 8;
const storyList = { scope: "date", shown: AT_ONCE, open: new Set(), listed: new Set() };

views.stories = {
  wire: wireStories,
  draw: drawStories,
  cursor: drawStories,
  rows: () => [
    ["story", "title", "documents", "first", "last", "topic", "now", "words"],
    ...page.stories.rows.map(([story, title, size, first, last, topic, trend, words]) => [
      story,
      title,
      size,
      page.labels[first],
      page.labels[last],
      topic < 0 ? "" : topic,
      trend,
      words.join(" "),
    ]),
  ],
};

// the stories of a topic that the page has, the largest first
export const allStoriesOfTopic = (topic) => page.stories.rows.filter((row) => row[5] === topic);

// the largest stories of a topic, by their first slice, and how many it has
export function storiesOfTopic(topic) {
  const own = allStoriesOfTopic(topic);
  const largest = own.slice(0, IN_TOPIC).sort((a, b) => a[3] - b[3] || a[4] - b[4]);
  return { largest, all: page.stories.topics[topic] };
}

// a line of a tooltip about the largest story of a topic in a slice, if there is one
export function storyHere(slice, topic) {
  const found = storiesAt(slice).find((row) => row[5] === topic);
  return found ? [format(messages.storyHere, { title: found[1] })] : [];
}

const asNow = (slice) => slice >= sliceCount - 1 || slice < page.stories.since;

// the stories of a slice as they were at its end, the largest first: rows as those of the page
function storiesAt(slice) {
  const living = page.stories.rows.filter(([, , , first, last]) => first <= slice && slice <= last);
  if (asNow(slice)) return living;
  return living.flatMap((row) => asThen(row, slice)).sort((a, b) => b[2] - a[2] || a[0] - b[0]);
}

function asThen([story, endTitle, , first, , , , endWords, documents, before], slice) {
  const then = before.findLast(([at]) => at <= slice);
  if (!then) return [];
  const [newest, size, topic, trend, title, words] = then;
  const came = documents.filter(([, , at]) => at >= 0 && at <= slice);
  return [[story, title || endTitle, size, first, newest, topic, trend, words || endWords, came]];
}

function drawStories() {
  const { rows, all } = page.stories;
  const atDate = storyList.scope === "date";
  const chosen = atDate ? storiesAt(state.slice) : rows;
  for (const button of $("#stories-scope").children)
    button.setAttribute("aria-pressed", String(button.dataset.value === storyList.scope));
  const count = chosen.length.toLocaleString("en");
  const alive = page.stories.dates[state.slice];
  $("#stories-caption").textContent = !all
    ? messages.storiesNone
    : atDate
      ? format(alive ? captionAt(state.slice) : messages.storiesNoneAt, {
          n: chosen.length < alive ? format(messages.of, { n: count, all: alive.toLocaleString("en") }) : count,
          date: page.labels[state.slice],
        })
      : format(messages.storiesOf, { n: count, all: all.toLocaleString("en") });
  $("#stories").replaceChildren(...chosen.slice(0, storyList.shown).map(storyItem));
  const left = chosen.length - storyList.shown;
  $("#stories-more").hidden = left <= 0;
  $("#stories-more").textContent = format(messages.storiesMore, { n: left });
}

const captionAt = (slice) =>
  slice < page.stories.since
    ? messages.storiesAtOld
    : slice < sliceCount - 1
      ? messages.storiesAt
      : messages.storiesAtNewest;

function storyItem([story, title, size, first, last, topic, trend, words, documents]) {
  const item = createElement("li");
  const box = createElement("details");
  box.open = storyList.open.has(story);
  box.addEventListener("toggle", () => storyList.open[box.open ? "add" : "delete"](story));
  const summary = createElement("summary");
  summary.append(createElement("span", title, "title"));
  const span = page.labels[first] + (last > first ? " – " + page.labels[last] : "");
  const meta = createElement("span", undefined, "meta");
  meta.append(
    storyLife(first, last, topic),
    createElement("span", format(messages.storyDocuments, { n: size.toLocaleString("en") })),
    createElement("span", trendText(trend), "trend " + trend),
    createElement("span", span),
  );
  const list = createElement("ul");
  list.append(
    ...documents.map(([text, url]) => {
      const entry = createElement("li");
      const shown = createElement(url ? "a" : "span", text);
      if (url) {
        shown.href = url;
        shown.rel = "noopener noreferrer";
      }
      entry.append(shown);
      return entry;
    }),
  );
  summary.append(createElement("span", words.join(" "), "muted about"), meta);
  box.append(summary, list);
  const kept = page.stories.rows.find((row) => row[0] === story);
  // a page that was exported lists documents with the story that goes on
  if (keepsDocuments() && (isLive || kept[6] !== "merged")) box.append(storyListed(story, kept[2]));
  item.append(box, storyParent(topic, last));
  return item;
}

// all documents are listed, whatever the date
function storyListed(story, size) {
  const holder = createElement("div", undefined, "listed");
  const button = createElement("button", messages.listStory, "quiet");
  const show = () => showDocumentList(holder, { slice: null, topic: null, story, size });
  button.type = "button";
  button.onclick = () => {
    storyList.listed.add(story);
    show();
  };
  storyList.listed.has(story) ? show() : holder.append(button);
  return holder;
}

const trendText = (trend) =>
  ({
    rising: messages.trendRising,
    falling: messages.trendFalling,
    ended: messages.trendEnded,
    merged: messages.trendMerged,
  })[trend] ?? messages.trendSteady;

// from the first to the last date of the page, the part in which the story lived
export function storyLife(first, last, topic) {
  const line = createElement("span", undefined, "life");
  const lived = createElement("i");
  lived.style.left = (100 * first) / sliceCount + "%";
  lived.style.width = (100 * (last + 1 - first)) / sliceCount + "%";
  if (topic >= 0) lived.style.background = page.colours[state.theme].ink[topic % 24];
  line.append(lived);
  line.setAttribute("aria-hidden", "true");
  return line;
}

function storyParent(topic, last) {
  if (topic < 0 || !page.topics.includes(topic)) return createElement("span", "", "parent");
  const link = createElement("a", undefined, "parent");
  link.href = "#t=" + topic;
  const slice = isActive(last, topic) ? last : nearestActive(last, topic);
  const name = slice >= 0 ? topicName(slice, topic, 2) : format(messages.topic, { topic });
  link.append(colourSwatch(createElement("span", undefined, "swatch"), topic), createElement("span", name));
  link.title = format(messages.topic, { topic });
  return link;
}

function wireStories() {
  $("#stories-scope").addEventListener("click", (event) => {
    const value = event.target.closest("button")?.dataset.value;
    if (!value) return;
    storyList.scope = value;
    storyList.shown = AT_ONCE;
    drawStories();
  });
  $("#stories-more").onclick = () => {
    storyList.shown += 5 * AT_ONCE;
    drawStories();
  };
}
