// Figures by key, from the file or from the server, and their drawing in the chosen theme.

import { decodeArray, figures, page, resolveArrays } from "./data.js";
import { $ } from "./dom.js";
import { isLive, state } from "./state.js";

// the figure of a key, made anew at every call, or null; from the file or from the server
export const figureOf = async (key) =>
  figures[key] ? resolveArrays(figures[key]) : isLive ? requestFigure(key) : null;
const requestNumbers = {};

// pass the figure of a key to a view, unless the view has requested another one meanwhile
export async function showFigure(name, key, use) {
  const mine = (requestNumbers[name] = (requestNumbers[name] ?? 0) + 1);
  const box = $("#" + name);
  const late = setTimeout(() => box?.setAttribute("aria-busy", "true"), 300);
  const fig = await figureOf(key);
  clearTimeout(late);
  if (mine !== requestNumbers[name]) return;
  box?.removeAttribute("aria-busy");
  use(fig);
}

export function inTheme(value) {
  if (typeof value === "string") return state.theme === "dark" ? (page.repaint[value] ?? value) : value;
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(inTheme);
  return Object.fromEntries(Object.entries(value).map(([k, x]) => [k, inTheme(x)]));
}

export function drawFigure(holder, fig) {
  return Plotly.react(holder, inTheme(fig.data), inTheme({ ...fig.layout, template: page.template }), page.config);
}

export const live = {
  ready: false,
  news: null,
  kept: new Map(),
  wanted: new Map(),
  out: null,
  serial: 0,
  want: 0,
  touched: -1e9,
};
export const setStore = (id, props) => window.dash_clientside.set_props(id, props);

function requestFigure(key) {
  const known = live.kept.get(key);
  if (known !== undefined) return parseFigure(known);
  return new Promise((done) => {
    live.wanted.has(key) ? live.wanted.get(key).push(done) : live.wanted.set(key, [done]);
    queueMicrotask(sendRequest);
  });
}

function parseFigure(text) {
  if (text === null) return null;
  const { figure, arrays } = JSON.parse(text);
  const made = [];
  return resolveArrays(figure, (k) => (made[k] ??= decodeArray(arrays[k])));
}

export function sendRequest() {
  if (!live.ready || !live.wanted.size || (live.out && performance.now() - live.out.at < 15000)) return;
  live.out = { id: ++live.serial, at: performance.now(), stamp: page.stamp };
  setStore("ask", { data: { id: live.out.id, stamp: page.stamp, keys: [...live.wanted.keys()].slice(0, 20) } });
}

export function onFigures(answer) {
  if (!answer || answer.id !== live.out?.id) return;
  const current = live.out.stamp === page.stamp;
  live.out = null;
  for (const [key, text] of Object.entries(answer.figures)) {
    if (current) live.kept.set(key, text);
    for (const done of live.wanted.get(key) ?? []) done(parseFigure(text));
    live.wanted.delete(key);
  }
  sendRequest();
}
