// Health: rows on one axis of time, each with its last value; the verdict in words.

views.health = { wire: wireHealth, draw: drawHealth, cursor: healthCursor, rows: healthRows };
const health = { fig: null, el: $("#health") };
function drawHealth(changed) {
  if (!touches(changed, "th", "size", "data")) return;
  $("#health-verdict").replaceChildren(...D.health.verdict.map((line) => make("li", line)));
  const missing = D.health.missing.join(", ");
  $("#health-missing").textContent = missing && fill(W.notKnown, { what: missing });
  return show("health", `health/${health.el.clientWidth < 560 ? "phone" : "wide"}`, (fig) => {
    if (!fig) return;
    health.fig = fig;
    fig.layout.width = health.el.clientWidth;
    health.el.style.height = fig.layout.height + "px";
    picture(health.el.querySelector(".plot"), fig);
    healthCursor();
  });
}
function healthPlace() {
  const { l, r } = health.fig.layout.margin, w = health.el.clientWidth - l - r, last = health.fig.layout.meta.range[1];
  return { x: (s) => l + s / last * w, slice: (x) => Math.round((x - l) / w * last) };
}
function healthCursor() {
  if (health.fig) health.el.querySelector(".cursor").style.transform = `translateX(${healthPlace().x(st.d)}px)`;
}
function healthAt(e) {
  if (!health.fig) return null;
  const box = health.el.getBoundingClientRect(), { t, b } = health.fig.layout.margin, high = health.fig.layout.height - t - b;
  const s = healthPlace().slice(e.clientX - box.left), row = D.health.rows[Math.floor((e.clientY - box.top - t) / high * D.health.rows.length)];
  return row && s >= 0 && s < S ? { s, row } : null;
}
function wireHealth() {
  health.el.addEventListener("pointermove", (e) => {
    const hit = e.pointerType === "touch" ? null : healthAt(e);
    if (!hit) return hideTip();
    const shown = hit.row.shown[hit.s] || W.missing;
    showTip(e, [[null, `${D.labels[hit.s]}: ${hit.row.name} ${shown}`], [hit.row.odd.includes(hit.s) ? W.outside : "", hit.row.usual && fill(W.usualNow, { usual: hit.row.usual })].filter(Boolean)]);
  });
  health.el.addEventListener("pointerleave", hideTip);
  health.el.addEventListener("click", (e) => { const hit = healthAt(e); if (hit) go({ d: hit.s }); });
}
function healthRows() {
  return [["date", ...D.health.rows.map((row) => row.name)], ...D.labels.map((label, s) => [label, ...D.health.rows.map((row) => row.shown[s] + (row.odd.includes(s) ? " !" : ""))])];
}
