// The page's one selection: read from and written to the address, changed by mouse, keys and play, drawn by the views.

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
  for (let k = r.start[i]; k < r.start[i + 1] && out.length < top; k++) out.push([r.vocabulary[r.word[k]], r.weight[k] ** 2 * r.scale]);
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

// shared by the views -----------------------------------------------------------------------------------------------
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
const plain = { d: S - 1, t: D.open.topic, r: D.open.reading, m: D.open.measure, v: "", all: false, picked: false };
const st = { ...plain, th: "light" };
const tag = (label) => label.replace(/\s+/g, "-");
function readHash() {
  const h = new URLSearchParams(location.hash.slice(1)), said = [];
  Object.assign(st, plain);
  if (["then", "hindsight"].includes(h.get("r"))) readings[h.get("r")] ? st.r = h.get("r") : said.push(W.noHindsight);
  if (["documents", "share"].includes(h.get("m")) && (h.get("m") === "documents" || D.share)) st.m = h.get("m");
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
  let from = a;
  while (st.r === "then" && D.settling[from] && from < s) from++;
  const first = new Set(words(from, st.t, 8).map((w) => w[0])), top = words(s, st.t, 8);
  if (s > from) facts.push([fill(W.of, { n: top.filter((w) => !first.has(w[0])).length, all: top.length }), fill(W.newSince, { date: D.labels[from] })]);
  const judged = !(st.r === "then" && (D.settling[s] || D.settling[s - 1]));
  if (st.r === "hindsight") {
    const v = r.speed[i];
    if (s > a && v >= 0) facts.push([Math.round(v) + "°", fill(W.lastStep, { date: D.labels[s - 1] })]);
  } else if (s > a && judged) {
    const p = pace(s, st.t);
    facts.push(p === null ? ["–", W.unjudged] : [p.toFixed(1) + " ×", fill(W.ofUsual, { date: D.labels[s - 1] })]);
  }
  const c = r.certainty[i];
  if (c >= 0) facts.push([Math.round(100 * c) + " %", fill(W.certainty, { level: level(c) })]);
  facts.push([fill(W.topic, { topic: st.t }), unsure ? W.numberMay : W.numberNever]);
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
  $("#river-caption").textContent = fill(W.river, { measure: st.m === "share" ? W.thicknessShare : W.thicknessDocuments });
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
function start() {
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
}
