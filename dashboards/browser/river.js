// The river: labels of the right width, cursor line, outlines, look-up of the band under the pointer.

const river = { el: $("#river"), fig: null, hover: null };
const phone = (w) => w <= 480;
views.river = { wire: wireRiver, draw: drawRiver, cursor: moveCursor, rows: riverRows };
function drawRiver(changed) {
  if (!touches(changed, "r", "m", "th", "all", "size", "data")) { outline(); return moveCursor(); }
  const w = river.el.clientWidth, h = river.el.clientHeight;
  $("#river-caption").textContent = fill(W.river, { measure: st.m === "share" ? W.thicknessShare : W.thicknessDocuments });
  if ($("#scope")) $("#scope").hidden = phone(w);
  $("#warm-up").hidden = st.r !== "then" || !$("#warm-up").textContent;
  return show("river", `river/${st.r}/${st.m}/${phone(w) ? "phone" : st.all ? "all" : "wide"}`, (fig) => {
    if (!fig) return;
    const widths = Object.keys(fig.labels).map(Number).sort((a, b) => b - a);
    const best = fig.labels[widths.find((k) => k <= w) ?? widths.at(-1)];
    river.bands = fig.data;
    fig.layout.width = w; fig.layout.height = h;
    river.fig = fig;
    picture(river.el.querySelector(".plot"), { data: [...fig.data, { ...fig.text, ...best }], layout: fig.layout });
    outline(); moveCursor(); drawOpen();
  });
}
function riverRows() {
  const rows = [["date", "topic", "words", "documents", "share"]];
  for (let s = 0; s < S; s++) for (const t of D.topics) if (there(s, t)) {
    const i = cell(s, t);
    rows.push([D.labels[s], t, called(s, t), Math.round(now().documents[i] || 0), (now().share[i] || 0).toFixed(4)]);
  }
  return rows;
}
const px = (x) => { const [a, b] = river.fig.layout.meta.range; return INSET + (x - a) / (b - a) * (river.el.clientWidth - 2 * INSET); };
const py = (y) => { const { t, b } = river.fig.layout.margin, [low, high] = river.fig.layout.yaxis.range; return t + (y - high) / (low - high) * (river.el.clientHeight - t - b); };
function shape(band) {
  const p = [];
  for (let i = 0; i < band.x.length; i++) p.push(px(band.x[i]).toFixed(1) + " " + py(band.y[i]).toFixed(1));
  return "M" + p.join("L") + "Z";
}
function outline() {
  if (!river.fig) return;
  const [veil, hover, chosen] = river.el.querySelectorAll(".over path");
  const find = (t) => t === null || t === undefined ? undefined : river.bands.find((b) => b.meta === t);
  const own = find(st.t), over = find(river.hover), ink = D.colours[st.th].ink;
  chosen.setAttribute("d", own ? shape(own) : ""); chosen.style.stroke = own ? ink[st.t % 24] : "";
  hover.setAttribute("d", over ? shape(over) : ""); hover.style.stroke = over ? over.meta < 0 ? D.colours[st.th].muted : ink[over.meta % 24] : "";
  const { t, b } = river.fig.layout.margin, w = river.el.clientWidth, h = river.el.clientHeight;
  veil.setAttribute("d", own && st.picked ? `M0 ${t - 1}H${w}V${h - b + 1}H0Z` + shape(own) : "");
}
function moveCursor() {
  if (!river.fig) return;
  const c = river.el.querySelector(".cursor"), flag = c.firstElementChild, w = river.el.clientWidth;
  const x = S > 1 ? px(st.d) : px(0);
  c.style.transform = `translateX(${x - 0.75}px)`;
  flag.textContent = D.labels[st.d];
  const half = flag.offsetWidth / 2;
  flag.style.marginLeft = Math.max(half - x, Math.min(0, w - x - half)) + "px";
}
function at(event) {
  if (!river.fig) return { s: st.d, t: null };
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
  const k = there(s, t) ? s : seen(s, t), i = cell(k, t), v = now().drift_angle[i], before = D.labels[k - 1];
  const lines = [fill(W.hoverCount, { date: D.labels[k], n: Math.round(now().documents[i] || 0), share: percent(now().share[i] || 0) })];
  if (k > 0 && v >= 0 && !(st.r === "then" && D.warm_up[k]))
    lines.push(fill(st.r === "hindsight" ? W.hoverTurn : W.hoverTurnThen, { turn: Math.round(v), date: before, usual: paceWords(pace(k, t)) }));
  lines.push(W.hoverOpen);
  return [[t, called(k, t) + " · " + fill(W.topic, { topic: t })], lines];
}
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
