// Lists of documents of a topic or a story: those in the page, or page by page from the server; with a search.

import { messages, page } from "./data.js";
import { createElement } from "./dom.js";
import { folded, format } from "./format.js";
import { isLive } from "./state.js";

const ROWS_AT_ONCE = 20;

export const keepsDocuments = () => page.listed.keeps !== "none" && (isLive || page.listed.rows.length > 0);

// fill a holder with the list of { slice, topic, story }, each null for any; it stays as it is if it shows that already
export function showDocumentList(holder, wanted) {
  const key = JSON.stringify([wanted, page.stamp]);
  if (holder.dataset.wanted === key) return;
  holder.dataset.wanted = key;
  const field = createElement("input");
  field.type = "search";
  field.placeholder = messages.listFind;
  field.setAttribute("aria-label", messages.listFind);
  field.autocomplete = "off";
  field.spellcheck = false;
  field.maxLength = 200;
  const caption = createElement("p", messages.listWaits, "muted");
  caption.setAttribute("role", "status");
  const list = createElement("ol");
  const more = createElement("button", undefined, "quiet");
  more.type = "button";
  more.hidden = true;
  const notes = [];
  if (/^\d+$/.test(page.listed.keeps)) notes.push(format(messages.listNewest, { n: page.listed.keeps }));
  if (!page.listed.texts) notes.push(messages.listNoTexts);
  holder.replaceChildren(field, caption, list, more, createElement("p", notes.join(" "), "muted"));
  let serial = 0;
  let timer = 0;
  const load = async (skip) => {
    const mine = ++serial;
    const search = field.value.trim();
    const found = isLive ? await fetchDocuments(wanted, search, skip) : storedDocuments(wanted, search, skip);
    if (mine !== serial) return;
    more.hidden = true;
    if (found === null) {
      caption.textContent = messages.listFailed;
      return;
    }
    const items = found.rows.map(documentItem);
    skip ? list.append(...items) : list.replaceChildren(...items);
    const shown = list.childElementCount;
    caption.textContent = listCaption(search, shown, found);
    more.hidden = shown >= found.here;
    more.textContent = format(messages.listMore, { n: Math.min(ROWS_AT_ONCE, found.here - shown) });
    more.onclick = () => load(shown);
  };
  field.oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(() => load(0), isLive ? 300 : 60);
  };
  timer = setTimeout(() => load(0), isLive ? 150 : 0); // while the date moves nothing is asked
}

function listCaption(search, shown, { here, all }) {
  const numbers = { n: shown.toLocaleString("en"), all: here.toLocaleString("en") };
  if (!here) return messages.listNone;
  if (search) return format(isLive ? messages.listFound : messages.listFoundSome, isLive ? numbers : { n: numbers.all });
  if (here >= all) return format(messages.listEvery, numbers);
  return format(messages.listSome, { n: numbers.all, all: all.toLocaleString("en"), most: page.listed.most });
}

// of the page's own rows those that are wanted; here are so many, and in all there were so many in the run file
function storedDocuments({ slice, topic, story, size }, search, skip) {
  const words = folded(search).split(/\s+/).filter(Boolean);
  const found = page.listed.rows.filter(
    ([at, ofTopic, ofStory, id, , , text]) =>
      (slice === null || at === slice) &&
      (topic === null || ofTopic === topic) &&
      (story === null || ofStory === story) &&
      words.every((word) => folded(id + " " + text).includes(word)),
  );
  const counted = page.listed.counts.filter(([at, of]) => of === topic && (slice === null || at === slice));
  const all = story === null ? counted.reduce((sum, row) => sum + row[2], 0) : size;
  return { rows: found.slice(skip, skip + ROWS_AT_ONCE), here: found.length, all: Math.max(all, found.length) };
}

async function fetchDocuments({ slice, topic, story }, search, skip) {
  const asked = new URLSearchParams({ stamp: page.stamp, search, skip });
  for (const [name, value] of Object.entries({ slice, topic, story })) if (value !== null) asked.set(name, value);
  try {
    const response = await fetch("documents.json?" + asked);
    if (!response.ok) return null;
    const { rows, all } = await response.json();
    return { rows, here: all, all };
  } catch {
    return null;
  }
}

function documentItem([slice, , , id, time, probability, text, url]) {
  const item = createElement("li");
  const head = createElement(url ? "a" : "div", text || id, "title");
  if (url) {
    head.href = url;
    head.rel = "noopener noreferrer";
  }
  const meta = createElement("div", undefined, "meta");
  if (text) meta.append(createElement("span", id));
  meta.append(createElement("span", /^(\d{4}-01-01)?$/.test(time) ? (page.labels[slice] ?? time) : time));
  if (probability !== null)
    meta.append(createElement("span", format(messages.listProbability, { p: probability.toFixed(2) })));
  item.append(head, meta);
  return item;
}
