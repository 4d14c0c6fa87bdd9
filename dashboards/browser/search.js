// Word search: the topics that have a word, as areas over time, drawn from the page's own columns. A word is only matched.

const finder = { el: $("#search"), fig: null, found: null, all: false };
views.search = { wire: wireSearch, draw: drawSearch, cursor: moveSearch, rows: searchRows };
const MOST_FOUND = 8;
// the stored form of a word, or null
function stored(word) {
  const list = now().vocabulary, small = word.trim().toLowerCase();
  return list.find((w) => w === word.trim()) ?? ((small && list.find((w) => w.toLowerCase() === small)) || null);
}
// the strongest words of a topic of which no two begin alike
function telling(s, t, top) {
  const out = [];
  for (const [w] of words(s, t, 4 * top)) if (out.length < top && !out.some((o) => w.startsWith(o.slice(0, 4)) || o.startsWith(w.slice(0, 4)))) out.push(w);
  return out;
}
function lookUp(word) {
  const r = now(), code = r.vocabulary.indexOf(word), rows = [];
  D.topics.forEach((t, at) => {
    const weight = new Float64Array(S), rank = new Uint8Array(S), sure = new Float64Array(S);
    for (let s = 0; s < S; s++) {
      const i = s * T + at, k = r.word.subarray(r.start[i], r.start[i + 1]).indexOf(code);
      if (k >= 0) { rank[s] = k + 1; weight[s] = r.weight[r.start[i] + k] ** 2 * r.scale; if (settled(r, s)) sure[s] = weight[s]; }
    }
    if (!rank.some((k) => k)) return;
    const told = sure.some((v) => v) ? sure : weight, top = told.reduce((best, v, s) => (v > told[best] ? s : best), 0), [first, last] = life(t);
    rows.push({ t, weight, rank, top, peak: told[top], first, last });
  });
  return rows.sort((a, b) => b.peak - a.peak || a.t - b.t);
}
// how many letters must be put in, taken out or changed to turn one word into the other
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1])));
    row = next;
  }
  return row.at(-1);
}
function nearest(word) {
  const small = word.trim().toLowerCase().slice(0, 40), far = now().vocabulary.map((w) => [distance(small, w.slice(0, 40)), w]);
  return far.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1)).slice(0, 5).map((v) => v[1]);
}
function completions(text) {
  const small = text.trim().toLowerCase(), own = st.t === null ? [] : words(seen(st.d, st.t), st.t).map((w) => w[0]), out = new Set();
  for (const list of [own, now().vocabulary]) for (const w of list) if (out.size < 12 && w.toLowerCase().startsWith(small)) out.add(w);
  return [...out];
}
function drawSearch(changed) {
  const asked = st.w ?? "", field = $("#search-word");
  if (document.activeElement !== field) field.value = asked;
  if (!touches(changed, "w", "r", "th", "size", "data") && (asked || !touches(changed, "t"))) return moveSearch();
  if (touches(changed, "w")) finder.all = false;
  const word = stored(asked), w = finder.el.clientWidth || finder.el.parentElement.clientWidth;
  finder.found = word === null ? [] : lookUp(word);
  offer(asked, word);
  finder.el.hidden = !finder.found.length;
  finder.el.parentElement.querySelector(".tools").hidden = !finder.found.length;
  if (!finder.found.length) return;
  return show("search", `search/${w < 560 ? "phone" : "wide"}`, (fig) => {
    finder.fig = fig;
    fig.layout.width = w;
    const rows = finder.all ? finder.found : finder.found.slice(0, MOST_FOUND);
    fig.layout.height += (rows.length - 1) * fig.layout.meta.row;
    fig.layout.yaxis.range[0] = rows.length;
    fig.data = searchTraces(rows, fig.data, fig.layout, w);
    finder.el.style.height = fig.layout.height + "px";
    picture(finder.el.querySelector(".plot"), fig);
    moveSearch();
  });
}
// the sentence above, and below it what to do if there is nothing to show: five like it, or words of the topic
function offer(asked, word) {
  const n = finder.found.length, more = n - MOST_FOUND, near = $("#search-near"), shown = asked ? word === null ? nearest(asked) : [] : completions("").slice(0, 8);
  $("#search-caption").textContent = word !== null ? fill(W.searchFound, { word, n: n === 1 ? W.topicOne : fill(W.topicMany, { n }) }) : asked ? fill(W.searchUnknown, { word: asked }) : W.searchNone;
  near.hidden = !shown.length;
  near.replaceChildren(...shown.map((w) => { const b = make("button", w); b.onclick = () => go({ w }, true); return b; }));
  $("#search-more").hidden = more <= 0;
  $("#search-more").textContent = finder.all ? W.searchFewer : fill(W.searchMore, { n: more });
  let most = 0;
  for (const k of now().count) most = Math.max(most, k);
  $("#search-foot").textContent = n ? fill(W.searchFoot, { n: most }) : "";
}
// data into the looks that came with the axis
function searchTraces(rows, [lives, looks, peaks, names, numbers], { meta, margin }, w) {
  const c = D.colours.light, small = w < 560, high = Math.max(...rows.map((row) => row.peak)), wide = w - margin.l - margin.r, [low, end] = meta.range;
  const y = (k, v = 0) => k + meta.base - meta.high * Math.min(v / high, 1), areas = [];
  rows.forEach((row, k) => {
    const pad = row.last > row.first ? 0 : 0.5, slot = row.t % 24;
    lives.x.push(row.first - pad, row.last + pad, null); lives.y.push(y(k), y(k), null);
    for (const sure of [true, false]) {
      const a = area(row, (s) => settled(now(), s) === sure);
      if (a.x.length) areas.push({ ...looks, name: fill(W.topic, { topic: row.t }), x: a.x, y: a.y.map((v) => v === null ? null : y(k, v)),
        fillcolor: sure ? c.fill[slot] : c.rule, line: { ...looks.line, color: sure ? c.ink[slot] : c.muted } });
    }
  });
  const said = rows.map((row) => fill(small ? W.searchPeakShort : W.searchPeak, { rank: row.rank[row.top], date: D.labels[row.top] }));
  const side = (row, k) => { const x = (row.top - low) / (end - low) * wide, half = 3.1 * said[k].length; return x < half ? "top right" : wide + margin.r - x < half ? "top left" : "top center"; };
  Object.assign(peaks, { x: rows.map((row) => row.top), y: rows.map((row, k) => y(k, row.peak)), text: said.map(shownText), textposition: rows.map(side) });
  peaks.marker.color = rows.map((row) => c.ink[row.t % 24]);
  const most = (margin.l - 22) / 7.6, cut = (text) => text.length > most ? text.slice(0, most - 1) + "…" : text;
  const left = (trace, up, text) => Object.assign(trace, { x: rows.map(() => low), y: rows.map((_, k) => y(k) - up), text: text.map(shownText) });
  left(names, meta.up.names, rows.map((row) => cut(telling(row.top, row.t, small ? 1 : 2).join(" ") || fill(W.topic, { topic: row.t }))));
  left(numbers, meta.up.numbers, rows.map((row) => fill(W.topic, { topic: row.t })));
  return [lives, ...areas, peaks, names, numbers];
}
// plotly reads tags and formulas in texts: words of strangers must not bring any
const shownText = (t) => { const safe = t.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"); return /^\$.*\$$/s.test(safe) ? "\u200b" + safe : safe; };
// the outline of every stretch in which the word is stored, ending half a slice around it unless the life ends there
function area(row, where) {
  const x = [], y = [], edge = (s, step) => s === (step < 0 ? row.first : row.last) && S > 1 ? [s, row.weight[s]] : [s + step / 2, row.rank[s + step] ? (row.weight[s] + row.weight[s + step]) / 2 : 0];
  for (let a = 0; a < S; a++) {
    if (!row.rank[a] || !where(a)) continue;
    let b = a;
    while (b + 1 < S && row.rank[b + 1] && where(b + 1)) b++;
    const [x0, y0] = edge(a, -1), [x1, y1] = edge(b, 1);
    if (x.length) { x.push(null); y.push(null); }
    x.push(x0, x0); y.push(0, y0);
    for (let s = a; s <= b; s++) { x.push(s); y.push(row.weight[s]); }
    x.push(x1, x1, x0); y.push(y1, 0, 0);
    a = b;
  }
  return { x, y };
}
function searchX(s) { const { margin: { l, r }, meta: { range: [a, b] }, width } = finder.fig.layout; return l + (s - a) / (b - a) * (width - l - r); }
function moveSearch() {
  if (finder.fig) finder.el.querySelector(".cursor").style.transform = `translateX(${searchX(S > 1 ? st.d : 0) - 0.75}px)`;
}
function foundAt(e) {
  if (!finder.fig || !finder.found?.length) return null;
  const box = finder.el.getBoundingClientRect(), { margin: { l, r, t }, meta, yaxis, width } = finder.fig.layout, [a, b] = meta.range;
  const row = finder.found[Math.floor((e.clientY - box.top - t) / meta.row + yaxis.range[1])], s = Math.round(a + (e.clientX - box.left - l) / (width - l - r) * (b - a));
  return row && (finder.all || finder.found.indexOf(row) < MOST_FOUND) ? { row, s: Math.min(S - 1, Math.max(0, s)) } : null;
}
function wireSearch() {
  const field = $("#search-word"), list = $("#search-words"), complete = (e) => list.replaceChildren(...completions(e.target.value).map((w) => { const o = make("option"); o.value = w; return o; }));
  $("#find").setAttribute("list", "search-words");
  for (const input of [field, $("#find")]) { input.addEventListener("input", complete); input.addEventListener("focus", complete); }
  const ask = () => go({ w: field.value.trim() || null }, true);
  field.addEventListener("input", () => { if (stored(field.value) !== null) go({ w: field.value.trim() }); });
  field.addEventListener("change", ask);
  field.addEventListener("keydown", (e) => { if (e.key === "Enter") ask(); });
  $("#search-more").onclick = () => { finder.all = !finder.all; attempt("search", () => drawSearch(new Set(["size"]))); };
  finder.el.addEventListener("pointermove", (e) => {
    const hit = e.pointerType === "touch" ? null : foundAt(e);
    if (!hit) return hideTip();
    const { row, s } = hit, k = row.rank[s], title = called(seen(s, row.t), row.t) + " · " + fill(W.topic, { topic: row.t });
    const said = k ? fill(W.wordAt, { word: stored(st.w), date: D.labels[s], rank: k > 1 ? nth(k) : "", weight: row.weight[s].toFixed(2) }).replace(":  ", ": ") : fill(W.wordBlank, { word: stored(st.w), date: D.labels[s] });
    showTip(e, [[row.t, title], [said, W.hoverOpen]]);
  });
  finder.el.addEventListener("pointerleave", hideTip);
  finder.el.addEventListener("click", (e) => { const hit = foundAt(e); if (hit) go({ t: hit.row.t, d: hit.s, picked: true }, true); });
}
function searchRows() {
  const rows = [["word", "date", "topic", "rank", "weight"]];
  for (const row of finder.found ?? []) for (let s = 0; s < S; s++) if (row.rank[s]) rows.push([stored(st.w), D.labels[s], row.t, row.rank[s], row.weight[s].toFixed(3)]);
  return rows;
}
