// The selection in the address of the page.

import { defaults, lifespan, messages, page, readings, sliceCount, sliceOfAddress, toAddress } from "./data.js";
import { systemTheme, themeStore } from "./dom.js";
import { format } from "./format.js";
import { mostZoom } from "./riverzoom.js";
import { isLive, state } from "./state.js";

// links of earlier versions have former names of views, forms and readings
const currentName = (name) => page.former[name] ?? name;

export function readAddress() {
  const params = new URLSearchParams(isLive ? location.search : location.hash.slice(1));
  const sentences = [];
  Object.assign(state, defaults);
  const reading = currentName(params.get("r"));
  if (["filtered", "smoothed"].includes(reading))
    readings[reading] ? (state.reading = reading) : sentences.push(messages.noSmoothed);
  if (page.measures.includes(params.get("m"))) state.measure = params.get("m");
  const form = currentName(params.get("v"));
  const tab = currentName(params.get("tab"));
  if (["ranks", "heatmap", "both"].includes(form) && (form !== "both" || readings.smoothed)) state.form = form;
  if (page.tabs.includes(tab)) state.tab = tab;
  if (params.has("all") && page.many) state.all = true;
  const zoom = Number(params.get("z") ?? 1);
  if (Number.isInteger(Math.log2(zoom))) state.zoom = Math.min(mostZoom(), Math.max(1, zoom));
  const date = params.get("d");
  const otherDate = params.get("o");
  if (date && date !== "live")
    sliceOfAddress(date) < 0
      ? sentences.push(format(messages.unknownDate, { date, other: page.labels[state.slice] }))
      : (state.slice = sliceOfAddress(date));
  if (otherDate)
    sliceOfAddress(otherDate) < 0
      ? sentences.push(format(messages.unknownDate, { date: otherDate, other: page.labels[state.slice] }))
      : (state.otherSlice = sliceOfAddress(otherDate));
  if (page.topics.includes(Number(params.get("p") ?? NaN))) state.otherTopic = Number(params.get("p"));
  if (params.get("w")) state.word = params.get("w").slice(0, 80);
  if (params.has("t")) {
    const topic = Number(params.get("t"));
    if (page.topics.includes(topic)) {
      state.topic = topic;
      state.picked = true;
    } else sentences.push(format(messages.unknownTopic, { topic: params.get("t"), other: state.topic }));
  }
  state.theme = (params.get("th") ?? themeStore.get() ?? systemTheme()) === "dark" ? "dark" : "light";
  return [...sentences, replaceMissingTopic()].filter(Boolean);
}

export function writeAddress(push) {
  const params = new URLSearchParams();
  if (state.slice !== sliceCount - 1) params.set("d", toAddress(page.labels[state.slice]));
  if (state.picked) params.set("t", state.topic);
  if (state.word) params.set("w", state.word);
  if (state.otherSlice !== null) params.set("o", toAddress(page.labels[state.otherSlice]));
  if (state.otherTopic !== null) params.set("p", state.otherTopic);
  for (const [name, key] of [
    ["r", "reading"],
    ["m", "measure"],
    ["v", "form"],
    ["tab", "tab"],
    ["z", "zoom"],
  ])
    if (state[key] !== defaults[key]) params.set(name, state[key]);
  if (state.all) params.set("all", "1");
  if (state.theme !== systemTheme()) params.set("th", state.theme);
  const text = String(params);
  const now = (isLive ? location.search : location.hash).slice(1);
  if (text !== now)
    history[push ? "pushState" : "replaceState"](
      null,
      "",
      text ? (isLive ? "?" : "#") + text : location.pathname + (isLive ? "" : location.search),
    );
}

// if the reading does not have the selected topic, select another one and return a note
export function replaceMissingTopic() {
  if (state.topic === null || lifespan(state.topic)[0] >= 0) return "";
  const gone = state.topic;
  state.topic = [defaults.topic, ...page.order].find((topic) => lifespan(topic)[0] >= 0) ?? null;
  state.picked = false;
  return format(messages.replacedTopic, { topic: gone, other: state.topic });
}
