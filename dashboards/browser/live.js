// The live page: one poll every two seconds, new data on request, figures by key; nothing moves under a reader.

import { writeAddress } from "./address.js";
import { badgeOf } from "./badge.js";
import { defaults, loadData, messages, page, readings, sliceCount } from "./data.js";
import { $ } from "./dom.js";
import { live, onFigures, sendRequest, setStore } from "./figures.js";
import { format } from "./format.js";
import { dateIn } from "./place.js";
import { drawOpenSlice } from "./river.js";
import { announce, isComparing, redraw } from "./selection.js";
import { EVERYTHING, isLive, session, state } from "./state.js";

const isReading = () =>
  state.slice !== sliceCount - 1 ||
  session.timer ||
  isComparing() ||
  $("#reader").open ||
  $("header").classList.contains("open") ||
  performance.now() - live.touched < 20000 ||
  String(getSelection()) !== "";

function onPoll(news) {
  live.ready = true;
  live.news = news;
  live.heard = performance.now(); // which does not go back with the clock
  if (page === undefined || !sliceCount) {
    if (news.slice !== null && news.stamp) return location.reload();
    $("#waiting").textContent = news.said;
    return;
  }
  sendRequest();
  updateBadge();
  drawOpenSlice();
  if (!news.stamp || news.stamp === page.stamp) {
    $("#pill").hidden = true;
    live.end = false;
    return;
  }
  const more = news.slice - page.last;
  if (live.end || (more > 0 && !isReading())) return requestNewest(); // a request for the newest state holds until it has come
  $("#pill").hidden = false;
  $("#pill").textContent =
    more > 0
      ? format(messages.newSlices, { n: more, periods: page.period + (more === 1 ? "" : "s") })
      : format(messages.newSmoothed, { date: page.labels[sliceCount - 1] });
}

function requestNewest() {
  if (live.want && performance.now() - live.want < 10000) return; // it is on its way
  live.want = performance.now();
  setStore("want", { data: { at: live.want } });
}

function onNewData(text) {
  live.want = 0;
  const data = text && JSON.parse(text);
  if (!data || data.stamp === page.stamp) return;
  const newest = state.slice === sliceCount - 1;
  const was = { ...state };
  const dates = [state.slice, state.otherSlice, session.mark];
  const [slice, otherSlice, mark] = dates.map((at) => (at === null ? at : dateIn(data, page, at)));
  session.mark = mark;
  loadData(data);
  live.kept.clear();
  Object.assign(state, was, {
    slice: newest || live.end ? sliceCount - 1 : slice,
    otherSlice,
  });
  if (!page.topics.includes(state.topic)) state.topic = defaults.topic;
  if (!readings[state.reading]) state.reading = defaults.reading; // the run file is another one
  live.end = false;
  $("#pill").hidden = true;
  redraw(EVERYTHING);
  if (!session.timer) writeAddress();
  announce();
}

export function updateBadge() {
  if (!isLive) return;
  const element = $("#badge");
  const silent = (performance.now() - live.heard) / 1000;
  const [kind, text] = badgeOf(live.news, silent, Date.now() / 1000, document.hidden, messages);
  element.className = kind;
  element.textContent = text;
}

export function wireLive() {
  if (!isLive) return;
  $("#pill").onclick = () => {
    live.end = true;
    requestNewest();
  };
  document.addEventListener("visibilitychange", () => {
    if (live.ready) setStore("poll", { interval: document.hidden ? 10000 : 2000 });
  });
  for (const kind of ["pointermove", "focusin"])
    addEventListener(kind, (event) => {
      if (event.target.closest?.(".chart")) live.touched = performance.now();
    });
  addEventListener("pointerout", (event) => {
    if (!event.relatedTarget) live.touched = -1e9;
  });
  setInterval(() => {
    if (live.news && sliceCount) updateBadge();
  }, 1000);
}
if (isLive)
  window.dash_clientside = {
    ...window.dash_clientside,
    page: Object.fromEntries(
      Object.entries({ polled: onPoll, arrived: onNewData, answered: onFigures }).map(([name, act]) => [
        name,
        (data) => {
          if (data !== undefined) act(data);
        },
      ]),
    ),
  };
