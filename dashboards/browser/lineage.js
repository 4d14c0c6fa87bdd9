// Life lines: the cursor, the lane of the selected topic, what a mark or a line under the pointer means.

const lines = { el: $("#lineage"), fig: null, scope: "top" };
views.lineage = { wire: wireLines, draw: drawLines, cursor: moveLines, rows: linesRows };
function drawLines(changed) {
  if (lines.fig && !touches(changed, "r", "th", "size", "data")) return moveLines();
  if (!D.lineage[st.r].left) lines.scope = "top";
  const w = lines.el.clientWidth, key = `lineage/${st.r}/${lines.scope}/${w < 560 ? "phone" : "wide"}`;
  return show("lineage", key, (fig) => {
    lines.fig = fig;
    lines.el.parentElement.hidden = !fig;
    if (!fig) return;
    const tall = lines.scope === "all", axis = lines.el.querySelector(".axis");
    fig.layout.width = w;
    lines.el.classList.toggle("tall", tall);
    $("#lineage-caption").textContent = w < 560 ? W.lineageShort : W.lineageCaption;
    // the dates stay on top while the lanes scroll
    axis.hidden = !tall;
    axis.replaceChildren(...fig.layout.meta.ticks.map(([v, text]) => { const e = make("span", text); e.style.left = lineX(v) + "px"; return e; }));
    $("#lineage-scope").hidden = !D.lineage[st.r].left;
    for (const b of $("#lineage-scope").children) b.setAttribute("aria-pressed", String(b.dataset.value === lines.scope));
    $("#lineage-summary").textContent = D.lineage[st.r].summary + (tall ? "" : " " + D.lineage[st.r].left);
    picture(lines.el.querySelector(".plot"), fig);
    moveLines();
  });
}
function lineX(v) { const { l, r } = lines.fig.layout.margin, [a, b] = lines.fig.layout.meta.range; return l + (v - a) / (b - a) * (lines.fig.layout.width - l - r); }
const lineY = (k) => lines.fig.layout.margin.t + (k - lines.fig.layout.yaxis.range[1]) * lines.fig.layout.meta.lane;
function moveLines() {
  if (!lines.fig) return;
  const [cursor, lane] = [".cursor", ".lane"].map((c) => lines.el.querySelector(c)), m = lines.fig.layout.meta, own = m.lives.find((v) => v[0] === st.t);
  cursor.style.transform = `translateX(${lineX(S > 1 ? st.d : 0) - 0.75}px)`;
  cursor.style.height = lines.fig.layout.height - 30 + "px";
  lane.hidden = !own;
  if (own) { lane.style.transform = `translateY(${lineY(own[1] - 0.5)}px)`; lane.style.height = m.lane + "px"; }
}
function happened([s, kind, t, o, n]) {
  const name = (x) => called(seen(s, x), x, 2);
  return fill(W[kind + "At"], { date: D.labels[s], one: name(t), a: t, other: o < 0 ? "" : name(o), b: o, n: n ?? "?", periods: D.period + (n === 1 ? "" : "s") }) + inHindsight(s, kind, t, o);
}
// later documents may tell that a topic was there before the tracker noticed, or had gone
function inHindsight(s, kind, t, o) {
  if (st.r === "then") return "";
  const [first, last] = life(kind === "split" ? o : t);
  if (["born", "split"].includes(kind) && first < s) return fill(W.sinceAt, { date: D.labels[first] });
  return kind === "merged" && last < s - 1 ? fill(W.untilAt, { date: D.labels[last] }) : "";
}
// the mark and the life under the pointer, and the date there
function lineAt(e) {
  if (!lines.fig) return {};
  const box = lines.el.querySelector(".plot").getBoundingClientRect(), m = lines.fig.layout.meta, x = e.clientX - box.left, y = e.clientY - box.top;
  const [a, b] = m.range, { l, r } = lines.fig.layout.margin, s = Math.round(Math.min(b, Math.max(a, a + (x - l) / (box.width - l - r) * (b - a))));
  let mark = null, near = 10;
  for (const k of m.marks) { const far = Math.hypot(lineX(k[0]) - x, lineY(k[1]) - y); if (far < near) { near = far; mark = k; } }
  const lane = m.lives.filter((v) => Math.abs(lineY(v[1]) - y - 2) < m.lane / 2).sort((p, q) => p[2] - q[2]);
  return { s: Math.max(0, s), mark, life: lane.findLast((v) => lineX(v[2]) - 12 <= x) ?? null };
}
function lineTip({ s, mark, life: own }) {
  if (mark) { const said = mark[2].map((k) => happened(D.lineage[st.r].events[k])); return [[D.lineage[st.r].events[mark[2][0]][2], said[0]], said.slice(1)]; }
  const [t] = own, k = seen(s, t), i = cell(k, t);
  return [[t, called(k, t) + " · " + fill(W.topic, { topic: t })],
    [fill(W.hoverCount, { date: D.labels[k], n: Math.round(now().documents[i] || 0), share: percent(now().share[i] || 0) }), W.hoverOpen]];
}
function wireLines() {
  lines.el.addEventListener("pointermove", (e) => {
    const hit = e.pointerType === "touch" ? {} : lineAt(e);
    hit.mark || hit.life ? showTip(e, lineTip(hit)) : hideTip();
  });
  lines.el.addEventListener("pointerleave", hideTip);
  lines.el.addEventListener("click", (e) => {
    const { s, mark, life: own } = lineAt(e), event = mark && D.lineage[st.r].events[mark[2][0]];
    if (event) return go({ t: event[2], d: event[0], picked: true }, true);
    if (own) go(s >= own[2] && s <= own[3] ? { t: own[0], d: s, picked: true } : { t: own[0], picked: true }, true);
  });
  $("#lineage-scope").addEventListener("click", (e) => {
    const b = e.target.closest("button");
    if (b) { lines.scope = b.dataset.value; attempt("lineage", () => drawLines(EVERYTHING)); }
  });
}
function linesRows() {
  const rows = [["topic", "first", "words at first", "last", "words at last", "what happened"]];
  for (const t of D.topics) {
    const [a, b] = life(t);
    if (a >= 0) rows.push([t, D.labels[a], called(a, t), D.labels[b], called(b, t), D.lineage[st.r].events.filter((v) => v[2] === t || v[3] === t).map(happened).join("; ")]);
  }
  return rows;
}
