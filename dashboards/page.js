(() => {
"use strict";
const $ = (s) => document.querySelector(s);
const D = JSON.parse($("#data").textContent), F = JSON.parse($("#figures").textContent), W = D.wording;
const S = D.labels.length, T = D.topics.length, INSET = 18;
const store = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
  set(v) { try { localStorage.setItem("theme", v); } catch { /* a page from disk may not store */ } } };

// columns and figures -----------------------------------------------------------------------------------------------
const kinds = { Float32Array, Float64Array, Uint8Array, Int8Array, Uint16Array, Int16Array, Int32Array, Uint32Array };
const arrays = [];
const array = (k) => arrays[k] ??= (([kind, body]) =>
  new kinds[kind](Uint8Array.from(atob(body), (c) => c.charCodeAt(0)).buffer))(D.arrays[k]);
function unpack(v) {
  if (v === null || typeof v !== "object") return v;
  if (Array.isArray(v)) return v.map(unpack);
  if ("$" in v) {
    const flat = array(v.$);
    if (!v.w) return flat;
    return Array.from({ length: flat.length / v.w }, (_, i) => flat.subarray(i * v.w, (i + 1) * v.w));
  }
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, unpack(x)]));
}
function painted(v) {
  if (typeof v === "string") return st.th === "dark" ? D.repaint[v] ?? v : v;
  if (v === null || typeof v !== "object" || ArrayBuffer.isView(v)) return v;
  if (Array.isArray(v)) return v.map(painted);
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, painted(x)]));
}
const readings = {};
for (const [name, c] of Object.entries(D.readings)) {
  const r = { vocabulary: D.vocabulary[name], usual: c.usual, scale: c.scale };
  for (const key of ["documents", "share", "speed", "certainty", "count", "word", "weight"]) r[key] = array(c[key].$);
  r.start = new Uint32Array(S * T + 1);
  for (let i = 0; i < S * T; i++) r.start[i + 1] = r.start[i] + r.count[i];
  readings[name] = r;
}
const cell = (s, t) => s * T + D.topics.indexOf(t);
const there = (s, t) => t !== null && !Number.isNaN(now().documents[cell(s, t)]);
const now = () => readings[st.r];
function words(s, t, top = 60, r = now()) {
  const i = cell(s, t), out = [];
  for (let k = r.start[i]; k < r.start[i + 1] && out.length < top; k++) out.push([r.vocabulary[r.word[k]], r.weight[k] * r.scale]);
  return out;
}
const docs = new Map();
for (const d of D.documents) { const k = d[0] + "/" + d[1]; docs.has(k) ? docs.get(k).push(d) : docs.set(k, [d]); }

// words for numbers -------------------------------------------------------------------------------------------------
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, k) => values[k]);
const percent = (p) => { const v = 100 * p; return v >= 9.95 ? v.toFixed(0) + " %" : v > 0 && v < 0.05 ? "under 0.1 %" : v.toFixed(1) + " %"; };
const nth = (k) => k + (k % 100 > 10 && k % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][k % 10] ?? "th");
const level = (c) => W.levels.split("|")[c >= 0.9 ? 0 : c >= 0.7 ? 1 : c >= 0.4 ? 2 : 3];
const called = (s, t, top = 3) => words(s, t, top).map((w) => w[0]).join(" ") || fill(W.topic, { topic: t });
function make(tag, text, cls) { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; }
function life(t) { let a = -1, b = -1; for (let s = 0; s < S; s++) if (there(s, t)) { if (a < 0) a = s; b = s; } return [a, b]; }
function seen(s, t) { const [a, b] = life(t); let k = Math.min(Math.max(s, a), b); while (k > a && !there(k, t)) k--; return k; }
function pace(s, t) {
  const usual = now().usual[D.topics.indexOf(t)], v = now().speed[cell(s, t)];
  if (!usual || !(v >= 0)) return null;
  return v / usual;
}
const paceWords = (p) => p === null ? W.unjudged : p > 1.25 ? fill(W.faster, { times: p.toFixed(1) }) : p < 0.75 ? W.slower : W.usual;

// the one selection -------------------------------------------------------------------------------------------------
const plain = { d: S - 1, t: D.open.topic, r: D.open.reading, m: "documents", v: "", all: false, picked: false };
const st = { ...plain, th: "light" };
const tag = (label) => label.replace(/\s+/g, "-");
function readHash() {
  const h = new URLSearchParams(location.hash.slice(1)), said = [];
  Object.assign(st, plain);
  if (["then", "hindsight"].includes(h.get("r"))) readings[h.get("r")] ? st.r = h.get("r") : said.push(W.noHindsight);
  if (h.get("m") === "share" && D.share) st.m = "share";
  if (["ladder", "strips", "both"].includes(h.get("v")) && (h.get("v") !== "both" || readings.hindsight)) st.v = h.get("v");
  if (h.has("all") && D.many) st.all = true;
  const d = h.get("d");
  if (d && d !== "live") { const k = D.labels.findIndex((l) => tag(l) === d); k < 0 ? said.push(fill(W.unknownDate, { date: d, other: D.labels[st.d] })) : st.d = k; }
  if (h.has("t")) {
    const t = Number(h.get("t"));
    if (D.topics.includes(t)) { st.t = t; st.picked = true; } else said.push(fill(W.unknownTopic, { topic: h.get("t"), other: st.t }));
  }
  const th = h.get("th") ?? store.get() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  st.th = th === "dark" ? "dark" : "light";
  return said;
}
function writeHash(push) {
  const h = new URLSearchParams();
  if (st.d !== S - 1) h.set("d", tag(D.labels[st.d]));
  if (st.picked) h.set("t", st.t);
  for (const k of ["r", "m", "v"]) if (st[k] !== plain[k]) h.set(k, st[k]);
  if (st.all) h.set("all", "1");
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  if (st.th !== system) h.set("th", st.th);
  const url = String(h) ? "#" + h : location.pathname + location.search;
  if (("#" + h) !== (location.hash || "#")) history[push ? "pushState" : "replaceState"](null, "", url);
}

// river -------------------------------------------------------------------------------------------------------------
const river = { el: $("#river"), fig: null, hover: null };
const phone = (w) => w <= 480;
function picture(holder, fig) { return Plotly.react(holder, painted(fig.data), painted({ ...fig.layout, template: D.template }), D.config); }
function drawRiver() {
  const w = river.el.clientWidth, h = river.el.clientHeight;
  const raw = F[`river/${st.r}/${st.m}/${phone(w) ? "phone" : st.all ? "all" : "wide"}`];
  const fig = unpack({ data: raw.data, layout: raw.layout });
  const widths = Object.keys(raw.labels).map(Number).sort((a, b) => b - a);
  const best = raw.labels[widths.find((k) => k <= w) ?? widths.at(-1)];
  river.bands = fig.data;
  fig.layout.width = w; fig.layout.height = h;
  river.fig = fig;
  picture(river.el.querySelector(".plot"), { data: [...fig.data, { ...raw.text, ...best }], layout: fig.layout });
  outline(); moveCursor();
}
const px = (x) => { const [a, b] = river.fig.layout.meta.range; return INSET + (x - a) / (b - a) * (river.el.clientWidth - 2 * INSET); };
const py = (y) => { const { t, b } = river.fig.layout.margin, [low, high] = river.fig.layout.yaxis.range; return t + (y - high) / (low - high) * (river.el.clientHeight - t - b); };
function shape(band) {
  const p = [];
  for (let i = 0; i < band.x.length; i++) p.push(px(band.x[i]).toFixed(1) + " " + py(band.y[i]).toFixed(1));
  return "M" + p.join("L") + "Z";
}
function outline() {
  const [veil, hover, chosen] = river.el.querySelectorAll("path");
  const find = (t) => t === null || t === undefined ? undefined : river.bands.find((b) => b.meta === t);
  const own = find(st.t), over = find(river.hover), ink = D.colours[st.th].ink;
  chosen.setAttribute("d", own ? shape(own) : ""); chosen.style.stroke = own ? ink[st.t % 24] : "";
  hover.setAttribute("d", over ? shape(over) : ""); hover.style.stroke = over ? over.meta < 0 ? D.colours[st.th].muted : ink[over.meta % 24] : "";
  const { t, b } = river.fig.layout.margin, w = river.el.clientWidth, h = river.el.clientHeight;
  veil.setAttribute("d", own && st.picked ? `M0 ${t - 6}H${w}V${h - b + 1}H0Z` + shape(own) : "");
}
function moveCursor() {
  const c = river.el.querySelector(".cursor"), flag = c.firstElementChild, w = river.el.clientWidth;
  const x = S > 1 ? px(st.d) : px(0);
  c.style.transform = `translateX(${x - 0.75}px)`;
  flag.textContent = D.labels[st.d];
  const half = flag.offsetWidth / 2;
  flag.style.marginLeft = Math.max(half - x, Math.min(0, w - x - half)) + "px";
}
function at(event) {
  const box = river.el.getBoundingClientRect(), { t, b } = river.fig.layout.margin, [x0, x1] = river.fig.layout.meta.range;
  const [low, high] = river.fig.layout.yaxis.range, x = event.clientX - box.left, y = event.clientY - box.top;
  const xd = x0 + (x - INSET) / (box.width - 2 * INSET) * (x1 - x0), yd = high + (y - t) / (box.height - t - b) * (low - high);
  const s = S > 1 ? Math.min(S - 1, Math.max(0, Math.round(xd))) : 0;
  for (const band of river.bands) {
    const n = band.x.length / 2;
    if (xd < band.x[0] || xd > band.x[n - 1]) continue;
    let k = 1;
    for (let a = 1, z = n - 1; a <= z;) { const m = (a + z) >> 1; if (band.x[m] >= xd) { k = m; z = m - 1; } else a = m + 1; }
    const u = (xd - band.x[k - 1]) / (band.x[k] - band.x[k - 1] || 1), mixed = (i, j) => band.y[i] + u * (band.y[j] - band.y[i]);
    const top = mixed(k - 1, k), bottom = mixed(2 * n - k, 2 * n - 1 - k);
    if (yd >= top && yd <= bottom) return { s, t: band.meta };
  }
  return { s, t: null };
}
function riverTip(s, t) {
  if (t < 0) return [[null, river.bands.find((b) => b.meta < 0).name], []];
  const k = there(s, t) ? s : seen(s, t), i = cell(k, t), v = now().speed[i], before = D.labels[k - 1];
  const lines = [fill(W.hoverCount, { date: D.labels[k], n: Math.round(now().documents[i] || 0), share: percent(now().share[i] || 0) })];
  if (k > 0 && v >= 0 && !(st.r === "then" && D.settling[k]))
    lines.push(fill(st.r === "hindsight" ? W.hoverTurn : W.hoverTurnThen, { turn: Math.round(v), date: before, usual: paceWords(pace(k, t)) }));
  lines.push(W.hoverOpen);
  return [[t, called(k, t) + " · " + fill(W.topic, { topic: t })], lines];
}
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
function wireRiver() {
  let down = null;
  const hover = (t) => { if (t !== river.hover) { river.hover = t; outline(); } };
  river.el.addEventListener("pointerdown", (e) => { down = { x: e.clientX, y: e.clientY, moved: false }; });
  river.el.addEventListener("pointermove", (e) => {
    const hit = at(e);
    if (down && (down.moved || Math.abs(e.clientX - down.x) > 6)) { down.moved = true; hideTip(); return go({ d: hit.s }); }
    if (e.pointerType === "touch") return;
    hover(hit.t);
    hit.t === null ? hideTip() : showTip(e, riverTip(hit.s, hit.t));
  });
  addEventListener("pointerup", () => setTimeout(() => { down = null; }));
  river.el.addEventListener("pointercancel", () => { down = null; });
  river.el.addEventListener("pointerleave", () => { hover(null); hideTip(); });
  river.el.addEventListener("click", (e) => {
    if (down?.moved) return;
    const hit = at(e);
    if (hit.t === null || hit.t < 0) return go({ d: hit.s, picked: false });
    $("#notice").hidden = true;
    go(hit.t === st.t && st.picked && hit.s === st.d ? { picked: false } : { t: hit.t, d: hit.s, picked: true }, true);
  });
}

// words -------------------------------------------------------------------------------------------------------------
const chart = { el: $("#words"), fig: null };
function wordsForm(w) {
  const [a, b] = life(st.t), form = st.v || (b - a + 1 <= 14 ? "ladder" : "strips");
  return form === "ladder" && w < 600 ? "strips" : form;
}
function drawWords() {
  const w = chart.el.clientWidth, form = wordsForm(w), small = w < 560 ? "-phone" : "";
  const key = form === "both" ? `words/both/${st.t}/both${small}` : `words/${st.r}/${st.t}/${form}${form === "ladder" ? "" : small}`;
  $("#words-caption").textContent = { ladder: W.wordsLadder, strips: W.wordsStrips, both: W.wordsBoth }[form];
  for (const b of $("#form").children) b.setAttribute("aria-pressed", String(b.dataset.value === form));
  $("#form").firstElementChild.disabled = w < 600;
  if (!F[key]) { chart.fig = null; chart.el.hidden = true; $("#words-rows").hidden = true; return wordRows(true); }
  chart.el.hidden = false;
  const fig = unpack(F[key]);
  fig.layout.width = w;
  chart.el.style.height = fig.layout.height + "px";
  chart.fig = fig;
  picture(chart.el.querySelector(".plot"), fig);
  moveColumn();
  if (!$("#words-rows").hidden) wordRows(true);
}
function grid() {
  const { l, r, t } = chart.fig.layout.margin, m = chart.fig.layout.meta, w = chart.el.clientWidth - l - r, [x0, x1] = m.range, [y1, y0] = m.vertical;
  return { x: (v) => l + (v - x0) / (x1 - x0) * w, col: (p) => Math.round(x0 + (p - l) / w * (x1 - x0)), wide: w / (x1 - x0),
    row: (p) => y0 + (p - t) / (chart.fig.layout.height - t) * (y1 - y0) };
}
function moveColumn() {
  const bar = chart.el.querySelector(".column");
  bar.hidden = true;
  if (!chart.fig?.layout.meta.columns) return;
  const columns = chart.fig.layout.meta.columns, g = grid();
  let k = columns.indexOf(st.d);
  if (k < 0 && columns.length > 1 && columns[1] - columns[0] > 1) k = columns.findIndex((c, i) => st.d > c - (columns[1] - columns[0]) / 2 && st.d <= c + (columns[1] - columns[0]) / 2);
  if (k < 0) return;
  const wide = Math.max(g.wide, 5);
  bar.hidden = false;
  bar.style.width = wide + "px";
  bar.style.transform = `translateX(${g.x(k) - wide / 2}px)`;
}
function firstStrong(r, t, word) { for (let s = 0; s < S; s++) if (words(s, t, 8, r).some((w) => w[0] === word)) return D.labels[s]; return null; }
function wordTip(s, word) {
  const found = words(s, st.t).findIndex((w) => w[0] === word), lines = [];
  const title = found < 0 ? fill(W.wordBlank, { word, date: D.labels[s] })
    : fill(W.wordAt, { word, date: D.labels[s], rank: found ? nth(found + 1) : "", weight: words(s, st.t)[found][1].toFixed(2) }).replace(":  ", ": ");
  const first = firstStrong(now(), st.t, word), two = readings.hindsight && readings.then;
  const a = two && firstStrong(readings.then, st.t, word), b = two && firstStrong(readings.hindsight, st.t, word);
  lines.push(a && b ? fill(W.wordSinceBoth, { then: a, hindsight: b }) : first ? fill(W.wordSince, { date: first, reading: W[st.r] }) : fill(W.wordNever, { reading: W[st.r] }));
  let often = 0, all = 0;
  for (let k = 0; k < S; k++) if (there(k, st.t)) { all++; if (words(k, st.t, 20).some((w) => w[0] === word)) often++; }
  lines.push(fill(W.wordOften, { n: often, all, periods: D.period + (all === 1 ? "" : "s") }));
  return [[null, title], lines];
}
function wordAt(event) {
  if (!chart.fig?.layout.meta.columns) return null;
  const box = chart.el.getBoundingClientRect(), g = grid(), m = chart.fig.layout.meta;
  const s = m.columns[g.col(event.clientX - box.left)], row = Math.round(g.row(event.clientY - box.top));
  if (s === undefined) return null;
  if (m.form === "ladder") return { s, word: row >= 1 && row <= 8 ? words(s, st.t, 8)[row - 1]?.[0] : undefined, rail: row > 8 };
  return { s, word: m.rows[row], rail: row >= m.rows.length };
}
function wireWords() {
  chart.el.addEventListener("pointermove", (e) => {
    const hit = e.pointerType === "touch" ? null : wordAt(e);
    if (hit?.word) return showTip(e, wordTip(hit.s, hit.word));
    if (!hit?.rail) return hideTip();
    const c = now().certainty[cell(hit.s, st.t)];
    showTip(e, [[null, D.n[hit.s] && c >= 0 ? fill(W.certaintyAt, { date: D.labels[hit.s], share: Math.round(100 * c) + " %", level: level(c) }) : fill(W.emptyAt, { date: D.labels[hit.s] })], []]);
  });
  chart.el.addEventListener("pointerleave", hideTip);
  chart.el.addEventListener("click", (e) => { const hit = wordAt(e); if (hit) go({ d: hit.s }); });
}
function wordRows(show) {
  const box = $("#words-rows");
  box.hidden = !show;
  $("#words-table").setAttribute("aria-expanded", String(show));
  if (!show) return;
  const table = make("table"), head = make("tr");
  head.append(make("th", ""));
  const shown = [];
  for (let s = 0; s < S; s++) if (there(s, st.t)) { shown.push(s); head.append(make("th", D.labels[s])); }
  table.append(head);
  for (let k = 0; k < 8; k++) {
    const row = make("tr");
    row.append(make("th", String(k + 1)), ...shown.map((s) => make("td", words(s, st.t, 8)[k]?.[0] ?? "")));
    table.append(row);
  }
  box.replaceChildren(table);
}

// headline, documents, time bar ---------------------------------------------------------------------------------------
function drawTopic() {
  const name = $("#topic-name"), state = $("#state");
  $("#topic").hidden = st.t === null;
  if (st.t === null) return;
  const [a, b] = life(st.t), s = seen(st.d, st.t), r = now(), i = cell(s, st.t), facts = [];
  swatch($("#topic .swatch"), st.t);
  name.textContent = called(s, st.t);
  const unsure = st.r === "then" && D.settling[st.d];
  state.hidden = !unsure && st.d >= a && st.d <= b;
  state.textContent = st.d < a ? fill(W.notYet, { date: D.labels[st.d], other: D.labels[a] })
    : st.d > b ? fill(W.ended, { date: D.labels[b] }) : fill(W.settlingAt, { date: D.labels[st.d] });
  const n = Math.round(r.documents[i] || 0);
  facts.push([n.toLocaleString("en"), fill(n === 1 ? W.documentOf : W.documentsOf, { share: percent(r.share[i] || 0), date: D.labels[s] })]);
  const judged = !(st.r === "then" && (D.settling[s] || D.settling[s - 1]));
  if (st.r === "hindsight") {
    let sum = 0;
    for (let k = a + 1; k <= s; k++) { const v = r.speed[cell(k, st.t)]; if (v >= 0) sum += v; }
    if (s > a) facts.push([Math.round(sum) + "°", fill(W.travelled, { date: D.labels[a] })]);
    const v = r.speed[i];
    if (s > a && v >= 0) facts.push([Math.round(v) + "°", fill(W.lastStep, { date: D.labels[s - 1] })]);
  } else if (s > a && judged) {
    const p = pace(s, st.t);
    facts.push(p === null ? ["–", W.unjudged] : [p.toFixed(1) + " ×", fill(W.ofUsual, { date: D.labels[s - 1] })]);
  }
  const c = r.certainty[i];
  if (c >= 0) facts.push([Math.round(100 * c) + " %", fill(W.certainty, { level: level(c) })]);
  facts.push([fill(W.topic, { topic: st.t }), W.numberNever]);
  $("#facts").replaceChildren(...facts.map(([big, small]) => { const d = make("div"); d.append(make("dt", big), make("dd", small)); return d; }));
  drawDocuments(s);
}
function drawDocuments(s) {
  const box = $("#documents"), list = docs.get(s + "/" + st.t) ?? [];
  box.hidden = !D.documents.length;
  box.querySelector("h3").textContent = fill(W.typicalAt, { date: D.labels[s] });
  box.querySelector("p").textContent = list.length ? W.kept : fill(W.typicalNone, { date: D.labels[s] });
  box.querySelector("ol").replaceChildren(...list.map(([, t, title, date, score, url]) => {
    const li = make("li"), div = make("div"), head = make(url ? "a" : "div", title, "title"), meta = make("div", undefined, "meta");
    if (url) { head.href = url; head.rel = "noopener noreferrer"; }
    if (date) meta.append(make("span", date));
    if (score !== null) {
      const bar = make("span", undefined, "bar"), inner = make("i");
      inner.style.width = Math.round(100 * Math.min(1, Math.max(0, score))) + "%";
      inner.style.background = D.colours[st.th].ink[t % 24];
      bar.append(inner); meta.append(bar, make("span", fill(W.score, { score: score.toFixed(2) })));
    }
    div.append(head, meta); li.append(div);
    return li;
  }));
}
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
function go(change, push) {
  const old = { ...st };
  Object.assign(st, change);
  if (old.r !== st.r || old.m !== st.m || old.th !== st.th || old.all !== st.all) drawAll();
  else {
    if (old.t !== st.t || old.picked !== st.picked) outline();
    moveCursor(); drawTopic();
    if (old.t !== st.t || old.v !== st.v) drawWords(); else moveColumn();
    bar();
  }
  if (!timer) writeHash(push && old.t !== st.t);
  speak();
}
function bar() {
  const input = $("#time input");
  input.value = st.d;
  input.setAttribute("aria-valuetext", D.labels[st.d]);
  $("#time output").textContent = D.labels[st.d];
}
function drawAll() {
  document.documentElement.dataset.theme = st.th;
  $("#theme span").textContent = st.th === "dark" ? W.light : W.dark;
  if (!S) return;
  for (const [id, value] of [["reading", st.r], ["measure", st.m], ["scope", st.all ? "all" : "top"]])
    for (const b of $("#" + id)?.children ?? []) b.setAttribute("aria-pressed", String(b.dataset.value === value));
  if ($("#settling")) $("#settling").hidden = st.r !== "then";
  drawRiver(); drawTopic(); if (st.t !== null) drawWords(); bar(); drawRail();
}
let timer = 0;
function play(on = !timer) {
  clearInterval(timer); timer = 0;
  if (on && S > 1) {
    if (st.d === S - 1) go({ d: 0 });
    timer = setInterval(() => { go({ d: st.d + 1 }); if (st.d >= S - 1) play(false); }, S <= 60 ? 700 : 40000 / S);
  } else { writeHash(); speak(); }
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
function key(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $("#reader").open) return;
  const on = e.target, field = on.matches?.("input:not([type=range]),textarea,select"), control = on.matches?.("button,summary,a");
  if (field) return;
  const act = { ArrowLeft: () => step(e.shiftKey ? -10 : -1), ArrowRight: () => step(e.shiftKey ? 10 : 1), Home: () => step(-S), End: () => step(S),
    ArrowUp: () => nextTopic(-1), ArrowDown: () => nextTopic(1), " ": () => play(), h: reading, t: turn, "?": () => $("#reader").showModal(),
    m: () => { if (D.share) go({ m: st.m === "share" ? "documents" : "share" }); }, Escape: () => { play(false); hideTip(); go({ picked: false }); } }[e.key];
  if (!act || (e.key === " " && control)) return;
  e.preventDefault(); act();
}
function save(name, text, type) {
  const a = make("a"); a.href = URL.createObjectURL(new Blob([text], { type })); a.download = name; a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 5000);
}
function csv(what) {
  const safe = (v) => { const s = String(v); return '"' + (/^[=+\-@]/.test(s) ? "'" : "") + s.replace(/"/g, '""') + '"'; }, rows = [];
  if (what === "river") rows.push("date,topic,words,documents,share");
  else rows.push("date,topic,rank,word,weight");
  for (let s = 0; s < S; s++) for (const t of what === "river" ? D.topics : [st.t]) {
    if (!there(s, t)) continue;
    const i = cell(s, t);
    if (what === "river") rows.push([safe(D.labels[s]), t, safe(called(s, t)), Math.round(now().documents[i] || 0), (now().share[i] || 0).toFixed(4)].join());
    else words(s, t).forEach(([w, v], k) => rows.push([safe(D.labels[s]), t, k + 1, safe(w), v.toFixed(4)].join()));
  }
  save(`${what}.csv`, "\ufeff" + rows.join("\r\n") + "\r\n", "text/csv");
}

const said = readHash();
$("#theme").onclick = turn;
if (S) {
  wireRiver(); wireWords();
  $("#play").onclick = () => play();
  $("#time input").oninput = (e) => { play(false); go({ d: Number(e.target.value) }); };
  $("#help").onclick = () => $("#reader").showModal();
  $("#more").onclick = () => $("#more").setAttribute("aria-expanded", String($("header").classList.toggle("open")));
  $("#notice button").onclick = () => { $("#notice").hidden = true; };
  for (const [id, act] of [["reading", (r) => ({ r })], ["measure", (m) => ({ m })], ["form", (v) => ({ v })], ["scope", (k) => ({ all: k === "all" })]])
    $("#" + id)?.addEventListener("click", (e) => { const b = e.target.closest("button"); if (b && !b.disabled) go(act(b.dataset.value)); });
  $("#words-table").onclick = () => wordRows($("#words-rows").hidden);
  for (const b of document.querySelectorAll("[data-csv]")) b.onclick = () => csv(b.dataset.csv);
  for (const b of document.querySelectorAll("[data-save]")) b.onclick = () =>
    Plotly.downloadImage($(`#${b.dataset.save} .plot`), { format: "svg", filename: b.dataset.save, width: $("#" + b.dataset.save).clientWidth, height: $("#" + b.dataset.save).clientHeight });
  document.querySelector('a[href="#table"]').onclick = (e) => { e.preventDefault(); const d = $("#table details"); d.open = true; d.scrollIntoView(); d.firstElementChild.focus(); };
  addEventListener("keydown", key);
  addEventListener("click", (e) => { if (timer && !e.target.closest("#play")) play(false); });
  document.addEventListener("visibilitychange", () => { if (document.hidden && timer) play(false); });
  addEventListener("popstate", () => { readHash(); drawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readHash(); drawAll(); });
  let width = innerWidth, before = "";
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clearTimeout(waiting); setTimeout(drawAll, 120); } });
  addEventListener("beforeprint", () => { before = st.th; if (before === "dark") { st.th = "light"; drawAll(); } });
  addEventListener("afterprint", () => { if (before === "dark") { st.th = "dark"; drawAll(); } });
  if (said.length || st.picked) { $("#notice").hidden = !said.length; $("#notice span").textContent = said.join(" "); }
}
drawAll();
})();
