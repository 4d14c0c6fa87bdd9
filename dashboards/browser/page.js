// The page's one selection: read from and written to the address, changed by mouse, keys and play, drawn by the views.

const $ = (s) => document.querySelector(s);
const INSET = 18, EVERYTHING = new Set(["d", "t", "w", "o", "p", "r", "m", "v", "tab", "th", "all", "picked", "size", "data"]);
// every view registers here: { wire(), draw(changed), cursor(), rows() }, each optional; wire once at the start, draw when
// something else than the date changed (the set says what), cursor when the date moved, rows for "save table"
const views = {};
let D, F, W, S, T, readings, docs, plain, arrays;
const LIVE = "live" in document.documentElement.dataset;
const store = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
  set(v) { try { localStorage.setItem("theme", v); } catch { /* a page from disk may not store */ } } };

// columns and figures -----------------------------------------------------------------------------------------------
const kinds = { Float32Array, Float64Array, Uint8Array, Int8Array, Uint16Array, Int16Array, Int32Array, Uint32Array };
const unbase = ([kind, body]) => new kinds[kind](Uint8Array.from(atob(body), (c) => c.charCodeAt(0)).buffer);
const array = (k) => arrays[k] ??= unbase(D.arrays[k]);
function unpack(v, from = array) {
  if (v === null || typeof v !== "object") return v;
  if (Array.isArray(v)) return v.map((x) => unpack(x, from));
  if ("$" in v) {
    const flat = from(v.$);
    if (!v.w) return flat;
    return Array.from({ length: flat.length / v.w }, (_, i) => flat.subarray(i * v.w, (i + 1) * v.w));
  }
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, unpack(x, from)]));
}
// the figure of a key, made anew at every call, or null; from the file or from the server
const figure = async (key) => F[key] ? unpack(F[key]) : LIVE ? asked(key) : null;
const turns = {};
// hand the figure of a key to a view unless the view has asked for another one meanwhile
async function show(name, key, use) {
  const mine = turns[name] = (turns[name] ?? 0) + 1, box = $("#" + name);
  const late = setTimeout(() => box?.setAttribute("aria-busy", "true"), 300), fig = await figure(key);
  clearTimeout(late);
  if (mine !== turns[name]) return;
  box?.removeAttribute("aria-busy");
  use(fig);
}
function painted(v) {
  if (typeof v === "string") return st.th === "dark" ? D.repaint[v] ?? v : v;
  if (v === null || typeof v !== "object" || ArrayBuffer.isView(v)) return v;
  if (Array.isArray(v)) return v.map(painted);
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, painted(x)]));
}
function load(data) {
  D = data; W = D.wording; S = D.labels.length; T = D.topics.length; arrays = []; readings = {}; docs = new Map();
  for (const [name, c] of Object.entries(D.readings)) {
    const r = { vocabulary: D.vocabulary[name], usual: c.usual, scale: c.scale };
    for (const key of ["documents", "share", "drift_angle", "certainty", "count", "word", "weight"]) r[key] = array(c[key].$);
    r.start = new Uint32Array(S * T + 1);
    for (let i = 0; i < S * T; i++) r.start[i + 1] = r.start[i] + r.count[i];
    readings[name] = r;
  }
  for (const d of D.documents) { const k = d[0] + "/" + d[1]; docs.has(k) ? docs.get(k).push(d) : docs.set(k, [d]); }
  for (const name of D.columns) D[name] = unpack(D[name]);
  plain = { d: S - 1, t: D.open.topic, w: null, o: null, p: null, r: D.open.reading, m: D.open.measure, v: "", tab: D.tabs[0], all: false, picked: false };
}
const cell = (s, t) => s * T + D.topics.indexOf(t);
const there = (s, t) => t !== null && !Number.isNaN(now().documents[cell(s, t)]);
const now = () => readings[st.r];
function words(s, t, top = 60, r = now()) {
  const i = cell(s, t), out = [];
  for (let k = r.start[i]; k < r.start[i + 1] && out.length < top; k++) out.push([r.vocabulary[r.word[k]], r.weight[k] ** 2 * r.scale]);
  return out;
}
// words for numbers -------------------------------------------------------------------------------------------------
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, k) => values[k]);
const percent = (p) => { const v = 100 * p; return v >= 9.95 ? v.toFixed(0) + " %" : v > 0 && v < 0.05 ? "under 0.1 %" : v.toFixed(1) + " %"; };
const nth = (k) => k + (k % 100 > 10 && k % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][k % 10] ?? "th");
const level = (c) => W.levels.split("|")[c >= 0.9 ? 0 : c >= 0.7 ? 1 : c >= 0.4 ? 2 : 3];
// its strongest words, no two of which begin alike
function called(s, t, top = 3) {
  const alike = (w) => w.slice(0, 4).toLowerCase(), out = [];
  for (const [w] of words(s, t, 4 * top)) if (out.length < top && !out.some((o) => alike(o) === alike(w))) out.push(w);
  return out.join(" ") || fill(W.topic, { topic: t });
}
function make(tag, text, cls) { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; }
function life(t) { let a = -1, b = -1; for (let s = 0; s < S; s++) if (there(s, t)) { if (a < 0) a = s; b = s; } return [a, b]; }
function seen(s, t) { const [a, b] = life(t); let k = Math.min(Math.max(s, a), b); while (k > a && !there(k, t)) k--; return k; }
function pace(s, t) {
  const usual = now().usual[D.topics.indexOf(t)], v = now().drift_angle[cell(s, t)];
  if (!usual || !(v >= 0)) return null;
  return v / usual;
}
const paceWords = (p) => p === null ? W.unjudged : p > 1.25 ? fill(W.faster, { times: p.toFixed(1) }) : p < 0.75 ? W.slower : W.usual;

// shared by the views -----------------------------------------------------------------------------------------------
const touches = (changed, ...keys) => keys.some((k) => changed.has(k));
function picture(holder, fig) { return Plotly.react(holder, painted(fig.data), painted({ ...fig.layout, template: D.template }), D.config); }
const tip = $("#tip");
function showTip(event, [[t, title], lines]) {
  const head = make("b"); 
  if (t !== null) head.append(swatch(make("span", undefined, "swatch"), t));
  head.append(make("span", title));
  tip.replaceChildren(head, ...lines.map((l) => make("div", l)));
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(6, Math.min(innerWidth - w - 6, event.clientX + 16)) + "px";
  tip.style.top = (event.clientY + 18 + h > innerHeight ? event.clientY - h - 12 : event.clientY + 18) + "px";
}
function swatch(e, t) { const c = D.colours[st.th]; e.style.background = c.fill[t % 24]; e.style.borderColor = c.ink[t % 24]; return e; }
const hideTip = () => { tip.hidden = true; };

// the one selection -------------------------------------------------------------------------------------------------
const st = { th: "light" };
const tag = (label) => label.replace(/\s+/g, "-");
const dated = (label) => D.labels.findIndex((l) => tag(l) === label);
const dark = () => matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
function readAddress() {
  const h = new URLSearchParams(LIVE ? location.search : location.hash.slice(1)), said = [];
  Object.assign(st, plain);
  if (["then", "hindsight"].includes(h.get("r"))) readings[h.get("r")] ? st.r = h.get("r") : said.push(W.noHindsight);
  if (D.measures.includes(h.get("m"))) st.m = h.get("m");
  const form = D.former[h.get("v")] ?? h.get("v"), tab = D.former[h.get("tab")] ?? h.get("tab");
  if (["ranks", "heatmap", "both"].includes(form) && (form !== "both" || readings.hindsight)) st.v = form;
  if (D.tabs.includes(tab)) st.tab = tab;
  if (h.has("all") && D.many) st.all = true;
  const d = h.get("d"), o = h.get("o");
  if (d && d !== "live") dated(d) < 0 ? said.push(fill(W.unknownDate, { date: d, other: D.labels[st.d] })) : st.d = dated(d);
  if (o) dated(o) < 0 ? said.push(fill(W.unknownDate, { date: o, other: D.labels[st.d] })) : st.o = dated(o);
  if (D.topics.includes(Number(h.get("p") ?? NaN))) st.p = Number(h.get("p"));
  if (h.get("w")) st.w = h.get("w").slice(0, 80);
  if (h.has("t")) {
    const t = Number(h.get("t"));
    if (D.topics.includes(t)) { st.t = t; st.picked = true; } else said.push(fill(W.unknownTopic, { topic: h.get("t"), other: st.t }));
  }
  st.th = (h.get("th") ?? store.get() ?? dark()) === "dark" ? "dark" : "light";
  return [...said, standIn()].filter(Boolean);
}
function writeAddress(push) {
  const h = new URLSearchParams();
  if (st.d !== S - 1) h.set("d", tag(D.labels[st.d]));
  if (st.picked) h.set("t", st.t);
  if (st.w) h.set("w", st.w);
  if (st.o !== null) h.set("o", tag(D.labels[st.o]));
  if (st.p !== null) h.set("p", st.p);
  for (const k of ["r", "m", "v", "tab"]) if (st[k] !== plain[k]) h.set(k, st[k]);
  if (st.all) h.set("all", "1");
  if (st.th !== dark()) h.set("th", st.th);
  const text = String(h), now = (LIVE ? location.search : location.hash).slice(1);
  if (text !== now) history[push ? "pushState" : "replaceState"](null, "", text ? (LIVE ? "?" : "#") + text : location.pathname + (LIVE ? "" : location.search));
}

// time bar ----------------------------------------------------------------------------------------------------------
function drawRail() {
  const c = $("#time canvas"), w = c.clientWidth, h = c.clientHeight, k = devicePixelRatio || 1, g = c.getContext("2d"), col = D.colours[st.th];
  c.width = w * k; c.height = h * k; g.scale(k, k);
  const x = (s) => 11 + (S > 1 ? s / (S - 1) : 0.5) * (w - 22);
  g.strokeStyle = col.muted; g.fillStyle = col.outline; g.fillRect(11, h / 2 - 1, w - 22, 2);
  if ((w - 22) / S >= 3) for (let s = 0; s < S; s++) D.n[s] ? g.fillRect(x(s) - 0.5, h / 2 - 5, 1, 10) : (g.beginPath(), g.arc(x(s), h / 2, 3, 0, 7), g.stroke());
  g.fillStyle = col.alarm;
  for (const [s, kind] of D.events) if (kind === "drift") { g.beginPath(); g.moveTo(x(s) - 3.5, 3); g.lineTo(x(s) + 3.5, 3); g.lineTo(x(s), 9); g.fill(); }
}
let spoken = 0, waiting = 0;
function speak() {
  if (timer) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    spoken = Date.now();
    const s = st.t === null ? st.d : seen(st.d, st.t);
    $("#speak").textContent = fill(W.speak, { date: D.labels[st.d], words: st.t === null ? "" : called(s, st.t, 5), n: st.t === null ? D.n[st.d] : Math.round(now().documents[cell(s, st.t)] || 0) });
  }, Math.max(250, 1000 - (Date.now() - spoken)));
}

// everything changes through here -------------------------------------------------------------------------------------
// a topic that the reading does not know gives way to one that it knows; say so
function standIn() {
  if (st.t === null || life(st.t)[0] >= 0) return "";
  const gone = st.t;
  st.t = [plain.t, ...D.order].find((t) => life(t)[0] >= 0) ?? null; st.picked = false;
  return fill(W.replacedTopic, { topic: gone, other: st.t });
}
function go(change, push) {
  const old = { ...st };
  Object.assign(st, change);
  const said = standIn();
  if (said) note(said);
  const changed = new Set(Object.keys(st).filter((k) => st[k] !== old[k]));
  if (changed.size) redraw(changed);
  if (!timer) writeAddress(push && touches(changed, "t", "tab"));
  speak();
}
const holder = (name) => $(`[data-view="${name}"]`);
const stale = new Set();
function redraw(changed) {
  frame(changed);
  if (!S) return;
  const moved = changed.size === 1 && changed.has("d");
  for (const [name, view] of Object.entries(views)) {
    if (holder(name)?.hidden) { stale.add(name); continue; }
    if (stale.delete(name)) attempt(name, () => view.draw?.(EVERYTHING));
    else attempt(name, () => moved ? view.cursor?.() : view.draw?.(changed));
  }
}
// an error of one view stays in its panel; the page lives on
async function attempt(name, act) {
  const box = holder(name) ?? $("main");
  try { await act(); box.querySelector(":scope > .failed")?.remove(); }
  catch (error) {
    console.error(error);
    const note = make("details", undefined, "note warn failed");
    note.append(make("summary", W.failed), make("pre", String(error?.stack ?? error)));
    box.querySelector(":scope > .failed")?.remove();
    box.prepend(note);
  }
}
// what belongs to no view: theme, pressed buttons, tabs, time bar
function frame(changed) {
  document.documentElement.dataset.theme = st.th;
  $("#theme span").textContent = st.th === "dark" ? W.light : W.dark;
  if (!S) return;
  $("#subtitle").textContent = D.subtitle[st.r];
  for (const [id, value] of [["reading", st.r], ["measure", st.m], ["scope", st.all ? "all" : "top"]])
    for (const b of $("#" + id)?.children ?? []) b.setAttribute("aria-pressed", String(b.dataset.value === value));
  for (const b of $("#tabs").children) {
    const open = b.dataset.value === st.tab;
    b.setAttribute("aria-selected", String(open)); b.tabIndex = open ? 0 : -1;
    holder(b.dataset.value).hidden = !open && !printing;
  }
  const input = $("#time input");
  input.max = S - 1;
  input.value = st.d;
  input.setAttribute("aria-valuetext", D.labels[st.d]);
  $("#time output").textContent = D.labels[st.d];
  if (touches(changed, "th", "size", "data")) drawRail();
}
let timer = 0, printing = false;
function play(on = !timer) {
  clearInterval(timer); timer = 0;
  if (on && S > 1) {
    if (st.d === S - 1) go({ d: 0 });
    timer = setInterval(() => { go({ d: st.d + 1 }); if (st.d >= S - 1) play(false); }, S <= 60 ? 700 : 40000 / S);
  } else { writeAddress(); speak(); }
  $("#play span").textContent = timer ? "❚❚" : "▶";
  $("#play .label").textContent = timer ? W.pause : W.play;
}
const step = (k) => { play(false); go({ d: Math.min(S - 1, Math.max(0, st.d + k)) }); };
function nextTopic(k) {
  const alive = D.order.filter((t) => t === st.t || there(st.d, t)), i = alive.indexOf(st.t);
  go({ t: alive[(i + k + alive.length) % alive.length], picked: true }, true);
}
const turn = () => { const th = st.th === "dark" ? "light" : "dark"; store.set(th); go({ th }); };
const reading = () => { if (readings.hindsight) go({ r: st.r === "then" ? "hindsight" : "then" }); };
let mark = null;
const comparing = () => st.o !== null || st.p !== null;
const compare = () => go({ p: null, o: !comparing() ? mark ?? Math.max(0, st.d - 1) : null });
// open a tab and bring it into sight
function open(tab, change) { go({ tab, ...change }, true); $("#more-views").scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" }); }
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
function find() { const header = $("header"); if (!header.classList.contains("open") && !$("#find").offsetHeight) $("#more").click(); $("#find").focus(); }
function back() {
  play(false); hideTip();
  comparing() ? go({ o: null, p: null }) : go({ picked: false });
}
function key(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $("#reader").open) return;
  const on = e.target, field = on.matches?.("input:not([type=range]),textarea,select"), control = on.matches?.("button,summary,a");
  if (field) return e.key === "Escape" ? on.blur() : undefined;
  const tabs = on.matches?.("[role=tab]"), along = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (tabs && along) {
    const list = D.tabs, next = list[(list.indexOf(st.tab) + along + list.length) % list.length];
    e.preventDefault(); go({ tab: next }, true);
    return $("#tab-" + next).focus();
  }
  const act = { ArrowLeft: () => step(e.shiftKey ? -10 : -1), ArrowRight: () => step(e.shiftKey ? 10 : 1), Home: () => step(-S), End: () => { step(S); if (!$("#pill").hidden) $("#pill").click(); },
    ArrowUp: () => nextTopic(-1), ArrowDown: () => nextTopic(1), " ": () => play(), h: reading, t: turn, "?": () => $("#reader").showModal(),
    s: () => { if (D.measures.length > 1) go({ m: st.m === "share" ? "documents" : "share" }); }, m: () => { mark = st.d; note(fill(W.marked, { date: D.labels[mark] })); },
    c: compare, "/": find, Enter: () => { go({ picked: true }, true); $("#topic").scrollIntoView({ block: "start" }); }, Escape: back }[e.key];
  if (!act || ([" ", "Enter"].includes(e.key) && control)) return;
  e.preventDefault(); act();
}
function note(text) { $("#notice").hidden = !text; $("#notice span").textContent = text; }
function start() {
  const data = JSON.parse($("#data").textContent);
  if (!data) { document.documentElement.dataset.theme = store.get() ?? dark(); return; }
  load(data);
  F = JSON.parse($("#figures")?.textContent ?? "{}");
  const said = readAddress();
  $("#theme").onclick = turn;
  if (S) wire();
  if (said.length || st.picked) note(said.join(" "));
  redraw(EVERYTHING);
  if (!LIVE && S) badge();
}
function wire() {
  wireLive();
  $("#play").onclick = () => play();
  $("#time input").oninput = (e) => { play(false); go({ d: Number(e.target.value) }); };
  $("#help").onclick = () => $("#reader").showModal();
  $("#more").onclick = () => $("#more").setAttribute("aria-expanded", String($("header").classList.toggle("open")));
  $("#notice button").onclick = () => note("");
  for (const [id, act] of [["reading", (r) => ({ r })], ["measure", (m) => ({ m })], ["form", (v) => ({ v })], ["scope", (k) => ({ all: k === "all" })], ["tabs", (tab) => ({ tab })]])
    $("#" + id)?.addEventListener("click", (e) => { const b = e.target.closest("button"); if (b && !b.disabled) go(act(b.dataset.value), true); });
  $("#find").onkeydown = (e) => { if (e.key === "Enter" && e.target.value.trim()) open("search", { w: e.target.value.trim() }); };
  for (const b of document.querySelectorAll("[data-csv]")) b.onclick = () => csv(b.dataset.csv);
  for (const b of document.querySelectorAll("[data-save]")) b.onclick = () => savePicture(b.dataset.save);
  // links of the page's own: #t=4 selects, #table opens the tab
  document.addEventListener("click", (e) => {
    const to = e.target.closest?.('a[href^="#"]')?.getAttribute("href").slice(1);
    if (!to) return;
    e.preventDefault();
    if (D.tabs.includes(to)) return open(to, {});
    const h = new URLSearchParams(to), change = {};
    if (h.has("t")) Object.assign(change, { t: Number(h.get("t")), picked: true });
    if (h.has("d") && dated(h.get("d")) >= 0) change.d = dated(h.get("d"));
    if (h.has("w")) change.w = h.get("w");
    go(change, true);
    if (h.has("t")) $("#topic").scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
  });
  addEventListener("keydown", key);
  addEventListener("click", (e) => { if (timer && !e.target.closest("#play")) play(false); });
  document.addEventListener("visibilitychange", () => { if (document.hidden && timer) play(false); });
  addEventListener("popstate", () => { readAddress(); redraw(EVERYTHING); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readAddress(); redraw(EVERYTHING); });
  let width = innerWidth, resized = 0, before = "";
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clearTimeout(resized); resized = setTimeout(() => redraw(EVERYTHING), 120); } });
  addEventListener("beforeprint", () => { before = st.th; st.th = "light"; printing = true; redraw(new Set(["th"])); });
  addEventListener("afterprint", () => { st.th = before; printing = false; redraw(new Set(["th"])); });
  for (const [name, view] of Object.entries(views)) attempt(name, () => view.wire?.());
}
