// Start of the page: controls, keys, and all views.

import { readAddress } from "./address.js";
import { isActive, loadData, messages, page, readings, sliceCount, sliceOfAddress } from "./data.js";
import { $, keysStore, prefersReducedMotion, systemTheme, themeStore } from "./dom.js";
import { savePicture, saveTable } from "./downloads.js";
import { format } from "./format.js";
import { updateBadge, wireLive } from "./live.js";
import { zoomRiver } from "./river.js";
import { guard, isComparing, openTab, play, redraw, select, showNotice } from "./selection.js";
import { EVERYTHING, isLive, session, state, views } from "./state.js";
import { hideTooltip } from "./tooltip.js";
import "./topic.js";

const stepSlice = (k) => {
  play(false);
  select({ slice: Math.min(sliceCount - 1, Math.max(0, state.slice + k)) });
};

function stepTopic(k) {
  const alive = page.order.filter((topic) => topic === state.topic || isActive(state.slice, topic));
  const index = alive.indexOf(state.topic);
  select({ topic: alive[(index + k + alive.length) % alive.length], picked: true }, true);
}

const switchTheme = () => {
  const theme = state.theme === "dark" ? "light" : "dark";
  themeStore.set(theme);
  select({ theme });
};
const switchReading = () => {
  if (readings.smoothed) select({ reading: state.reading === "filtered" ? "smoothed" : "filtered" });
};
const switchComparison = () =>
  select({ otherTopic: null, otherSlice: !isComparing() ? (session.mark ?? Math.max(0, state.slice - 1)) : null });

function focusSearch() {
  const header = $("header");
  if (!header.classList.contains("open") && !$("#find").offsetHeight) $("#more").click();
  $("#find").focus();
}

function goBack() {
  play(false);
  hideTooltip();
  if (isComparing()) return select({ otherSlice: null, otherTopic: null });
  state.zoom > 1 ? zoomRiver("all") : select({ picked: false });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("#reader").open) return;
  if (event.key.length === 1 && event.key !== " " && !$("#letters").checked) return;
  const target = event.target;
  const field = target.matches?.("input:not([type=range]),textarea,select");
  const control = target.matches?.("button,summary,a");
  if (field) return event.key === "Escape" ? target.blur() : undefined;
  const tabs = target.matches?.("[role=tab]");
  const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (tabs && along) {
    const list = page.tabs;
    const next = list[(list.indexOf(state.tab) + along + list.length) % list.length];
    event.preventDefault();
    select({ tab: next }, true);
    return $("#tab-" + next).focus();
  }
  const act = {
    ArrowLeft: () => stepSlice(event.shiftKey ? -10 : -1),
    ArrowRight: () => stepSlice(event.shiftKey ? 10 : 1),
    Home: () => stepSlice(-sliceCount),
    End: () => {
      stepSlice(sliceCount);
      if (!$("#pill").hidden) $("#pill").click();
    },
    ArrowUp: () => stepTopic(-1),
    ArrowDown: () => stepTopic(1),
    " ": () => play(),
    h: switchReading,
    t: switchTheme,
    "?": () => $("#reader").showModal(),
    s: () => {
      if (page.measures.length > 1) select({ measure: state.measure === "share" ? "documents" : "share" });
    },
    m: () => {
      session.mark = state.slice;
      showNotice(format(messages.marked, { date: page.labels[session.mark] }));
    },
    c: switchComparison,
    "+": () => zoomRiver("in"),
    "-": () => zoomRiver("out"),
    0: () => zoomRiver("all"),
    "/": focusSearch,
    Enter: () => {
      select({ picked: true }, true);
      $("#topic").scrollIntoView({ block: "start" });
    },
    Escape: goBack,
  }[event.key];
  if (!act || ([" ", "Enter"].includes(event.key) && control)) return;
  event.preventDefault();
  act();
}

function start() {
  const data = JSON.parse($("#data").textContent);
  if (!data) {
    document.documentElement.dataset.theme = themeStore.get() ?? systemTheme();
    return;
  }
  loadData(data, JSON.parse($("#figures")?.textContent ?? "{}"));
  const notes = readAddress();
  $("#theme").onclick = switchTheme;
  if (sliceCount) wireControls();
  if (notes.length || state.picked) showNotice(notes.join(" "));
  redraw(EVERYTHING);
  if (!isLive && sliceCount) updateBadge();
}

function wireControls() {
  wireLive();
  $("#play").onclick = () => play();
  $("#time input").oninput = (event) => {
    play(false);
    select({ slice: Number(event.target.value) });
  };
  $("#help").onclick = () => $("#reader").showModal();
  $("#letters").checked = keysStore.get() !== "off";
  $("#letters").onchange = (event) => keysStore.set(event.target.checked ? "on" : "off");
  $("#more").onclick = () => $("#more").setAttribute("aria-expanded", String($("header").classList.toggle("open")));
  $("#notice button").onclick = () => showNotice("");
  for (const [id, act] of [
    ["reading", (reading) => ({ reading })],
    ["measure", (measure) => ({ measure })],
    ["form", (form) => ({ form })],
    ["scope", (scope) => ({ all: scope === "all" })],
    ["tabs", (tab) => ({ tab })],
  ])
    $("#" + id)?.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button && !button.disabled) select(act(button.dataset.value), true);
    });
  $("#find").onkeydown = (event) => {
    if (event.key === "Enter" && event.target.value.trim()) openTab("search", { word: event.target.value.trim() });
  };
  for (const button of document.querySelectorAll("[data-csv]")) button.onclick = () => saveTable(button.dataset.csv);
  for (const button of document.querySelectorAll("[data-save]"))
    button.onclick = () => savePicture(button.dataset.save);
  // the page's own links: #t=4 selects, #table opens the tab
  document.addEventListener("click", (event) => {
    const target = event.target.closest?.('a[href^="#"]')?.getAttribute("href").slice(1);
    if (!target) return;
    event.preventDefault();
    if (page.tabs.includes(target)) return openTab(target, {});
    const params = new URLSearchParams(target);
    const change = {};
    if (params.has("t")) Object.assign(change, { topic: Number(params.get("t")), picked: true });
    if (params.has("d") && sliceOfAddress(params.get("d")) >= 0) change.slice = sliceOfAddress(params.get("d"));
    if (params.has("w")) change.word = params.get("w");
    select(change, true);
    if (params.has("t"))
      $("#topic").scrollIntoView({ block: "nearest", behavior: prefersReducedMotion() ? "auto" : "smooth" });
  });
  addEventListener("keydown", onKey);
  addEventListener("click", (event) => {
    if (session.timer && !event.target.closest("#play")) play(false);
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && session.timer) play(false);
  });
  addEventListener("popstate", () => {
    readAddress();
    redraw(EVERYTHING);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readAddress();
    redraw(EVERYTHING);
  });
  let width = innerWidth;
  let resized = 0;
  let before = "";
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      clearTimeout(resized);
      resized = setTimeout(() => redraw(EVERYTHING), 120);
    }
  });
  const forPaper = (on) => {
    session.printing = on;
    document.documentElement.toggleAttribute("data-print", on);
    redraw(EVERYTHING);
  };
  addEventListener("beforeprint", () => {
    before = state.theme;
    state.theme = "light";
    forPaper(true);
  });
  addEventListener("afterprint", () => {
    state.theme = before;
    forPaper(false);
  });
  for (const [name, view] of Object.entries(views)) guard(name, () => view.wire?.());
}

start();
