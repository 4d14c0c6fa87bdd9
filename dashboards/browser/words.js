// The words of one topic: which form, the column of the date, what a cell means.

const chart = { el: $("#words"), fig: null };
function wordsForm(w) {
  const [a, b] = life(st.t), form = st.v || (b - a + 1 <= 14 ? "ranks" : "heatmap");
  return form === "ranks" && w < 600 ? "heatmap" : form;
}
views.words = { wire: wireWords, draw: drawWords, cursor: moveColumn, rows: wordsRows };
function drawWords(changed) {
  if (st.t === null) return;
  if (!touches(changed, "t", "r", "v", "th", "size", "data")) return moveColumn();
  const w = chart.el.clientWidth || chart.el.parentElement.clientWidth, form = wordsForm(w), small = w < 560 ? "-phone" : "";
  $("#words-caption").textContent = { ranks: W.wordsRanks, heatmap: W.wordsHeatmap, both: W.wordsBoth }[form];
  for (const b of $("#form").children) b.setAttribute("aria-pressed", String(b.dataset.value === form));
  $("#form").firstElementChild.disabled = w < 600;
  const key = form === "both" ? `words/both/${st.t}/both${small}` : `words/${st.r}/${st.t}/${form}${form === "ranks" ? "" : small}`;
  return show("words", key, (fig) => {
    chart.fig = fig;
    chart.el.hidden = !fig;
    if (!fig) return wordRows(true);  // the picture was left out of the file
    fig.layout.width = w;
    chart.el.style.height = fig.layout.height + "px";
    picture(chart.el.querySelector(".plot"), fig);
    moveColumn();
    if (!$("#words-rows").hidden) wordRows(true);
  });
}
function wordsRows() {
  const rows = [["date", "topic", "rank", "word", "weight"]];
  for (let s = 0; s < S; s++) if (there(s, st.t)) words(s, st.t).forEach(([w, v], k) => rows.push([D.labels[s], st.t, k + 1, w, v.toFixed(3)]));
  return rows;
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
  const columns = chart.fig.layout.meta.columns, g = grid(), k = columns.findLastIndex((c) => c <= st.d);
  if (k < 0 || (k === columns.length - 1 && columns[k] < st.d)) return;
  // a date between two shown columns is a line between them
  const between = columns[k] === st.d ? 0 : (st.d - columns[k]) / (columns[k + 1] - columns[k]), wide = between ? 4 : Math.max(g.wide, 5);
  bar.hidden = false;
  bar.style.width = wide + "px";
  bar.style.transform = `translateX(${g.x(k + between) - wide / 2}px)`;
}
const settled = (r, s) => r !== readings.then || !D.warm_up[s];
function firstStrong(r, t, word) { for (let s = 0; s < S; s++) if (settled(r, s) && words(s, t, 8, r).some((w) => w[0] === word)) return D.labels[s]; return null; }
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
  if (m.form === "ranks") return { s, word: row >= 1 && row <= 8 ? words(s, st.t, 8)[row - 1]?.[0] : undefined, rail: row > 8 };
  return { s, word: m.rows[row], rail: row >= m.rows.length };
}
function wireWords() {
  chart.el.addEventListener("pointermove", (e) => {
    const hit = e.pointerType === "touch" ? null : wordAt(e);
    if (hit?.word) return showTip(e, wordTip(hit.s, hit.word));
    if (!hit?.rail) return hideTip();
    const c = now().certainty[cell(hit.s, st.t)];
    showTip(e, [[null, now().documents[cell(hit.s, st.t)] > 0 && c >= 0 ? fill(W.certaintyAt, { date: D.labels[hit.s], share: Math.round(100 * c) + " %", level: level(c) }) : fill(W.emptyAt, { date: D.labels[hit.s] })], []]);
  });
  chart.el.addEventListener("pointerleave", hideTip);
  chart.el.addEventListener("click", (e) => {
    const hit = wordAt(e);
    if (!hit) return;
    if (e.shiftKey) return go({ o: hit.s });
    hit.word && !hit.rail ? open("search", { w: hit.word }) : go({ d: hit.s });
  });
  $("#words-table").onclick = () => wordRows($("#words-rows").hidden);
}
