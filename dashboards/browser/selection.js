// Changes of the selection: redraw the views, write the address, announce the change, play.

import { replaceMissingTopic, writeAddress } from "./address.js";
import { cellIndex, currentReading, messages, nearestActive, page, readings, sliceCount, topicName } from "./data.js";
import { $, createElement, prefersReducedMotion } from "./dom.js";
import { format } from "./format.js";
import { isZoomed, zoomSentence } from "./riverzoom.js";
import { EVERYTHING, hasAny, session, state, views } from "./state.js";
import { drawTimeBar } from "./timebar.js";

let announcedAt = 0;
let announceTimer = 0;

export function announce() {
  if (session.timer) return;
  clearTimeout(announceTimer);
  announceTimer = setTimeout(
    () => {
      announcedAt = performance.now();
      const slice = state.topic === null ? state.slice : nearestActive(state.slice, state.topic);
      $("#speak").textContent = format(messages.speak, {
        date: page.labels[state.slice],
        words: state.topic === null ? "" : topicName(slice, state.topic, 5),
        n:
          state.topic === null
            ? page.counts[state.slice]
            : Math.round(currentReading().documents[cellIndex(slice, state.topic)] || 0),
      });
      if (isZoomed()) $("#speak").append(" " + zoomSentence());
    },
    Math.max(250, 1000 - (performance.now() - announcedAt)),
  );
}

export function select(change, push) {
  const old = { ...state };
  Object.assign(state, change);
  const notice = replaceMissingTopic();
  if (notice) showNotice(notice);
  const changed = new Set(Object.keys(state).filter((k) => state[k] !== old[k]));
  if (changed.size) redraw(changed);
  if (!session.timer) writeAddress(push && hasAny(changed, "topic", "tab"));
  announce();
}

const panelOf = (name) => $(`[data-view="${name}"]`);
const stalePanels = new Set();

export function redraw(changed) {
  updateControls(changed);
  if (!sliceCount) return;
  const moved = changed.size === 1 && changed.has("slice");
  for (const [name, view] of Object.entries(views)) {
    if (panelOf(name)?.hidden) {
      stalePanels.add(name);
      continue;
    }
    if (stalePanels.delete(name)) guard(name, () => view.draw?.(EVERYTHING));
    else guard(name, () => (moved ? view.cursor?.() : view.draw?.(changed)));
  }
}

// an error of one view is shown in its panel and does not stop the others
export async function guard(name, act) {
  const box = panelOf(name) ?? $("main");
  try {
    await act();
    box.querySelector(":scope > .failed")?.remove();
  } catch (error) {
    console.error(error);
    const note = createElement("details", undefined, "note warn failed");
    note.append(createElement("summary", messages.failed), createElement("pre", String(error?.stack ?? error)));
    box.querySelector(":scope > .failed")?.remove();
    box.prepend(note);
  }
}

// what belongs to no view: theme, pressed buttons, tabs, time bar
function updateControls(changed) {
  document.documentElement.dataset.theme = state.theme;
  $("#theme span").textContent = state.theme === "dark" ? messages.light : messages.dark;
  if (!sliceCount) return;
  $("#subtitle").textContent = page.subtitle[state.reading];
  for (const [id, value] of [
    ["reading", state.reading],
    ["measure", state.measure],
    ["scope", state.all ? "all" : "top"],
  ])
    for (const button of $("#" + id)?.children ?? [])
      button.setAttribute("aria-pressed", String(button.dataset.value === value));
  const smoothed = $("#reading").lastElementChild;
  if (smoothed.disabled && readings.smoothed) {
    smoothed.disabled = false;
    smoothed.title = "smoothed";
  }
  for (const button of $("#tabs").children) {
    const open = button.dataset.value === state.tab;
    button.setAttribute("aria-selected", String(open));
    button.tabIndex = open ? 0 : -1;
    panelOf(button.dataset.value).hidden = !open && !session.printing;
  }
  const input = $("#time input");
  input.max = sliceCount - 1;
  input.value = state.slice;
  input.setAttribute("aria-valuetext", page.labels[state.slice]);
  $("#time output").textContent = page.labels[state.slice];
  if (hasAny(changed, "theme", "size", "data")) drawTimeBar();
}

export function play(on = !session.timer) {
  clearInterval(session.timer);
  session.timer = 0;
  if (on && sliceCount > 1) {
    if (state.slice === sliceCount - 1) select({ slice: 0 });
    session.timer = setInterval(
      () => {
        select({ slice: state.slice + 1 });
        if (state.slice >= sliceCount - 1) play(false);
      },
      sliceCount <= 60 ? 700 : 40000 / sliceCount,
    );
  } else {
    writeAddress();
    announce();
  }
  $("#play span").textContent = session.timer ? "❚❚" : "▶";
  $("#play .label").textContent = session.timer ? messages.pause : messages.play;
}

export const isComparing = () => state.otherSlice !== null || state.otherTopic !== null;

// open a tab and bring it into sight
export function openTab(tab, change) {
  select({ tab, ...change }, true);
  $("#more-views").scrollIntoView({ block: "start", behavior: prefersReducedMotion() ? "auto" : "smooth" });
}

export function showNotice(text) {
  $("#notice").hidden = !text;
  $("#notice span").textContent = text;
}
