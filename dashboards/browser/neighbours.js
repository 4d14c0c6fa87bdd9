// Seen from here: when the date moves, dots move along their rays; names follow the words of the date.

const rays = { el: $("#neighbours"), fig: null, hits: [] };
const RAYS = { disc: 0.88, dot: 0.155, smallest: 6.5, biggest: 0.075, named: 14, dated: 5, apart: 36, nearest: 40, largest: 20, widths: 4, ring: 206,
  sides: ["right", "left", "above", "below"], datesides: ["above", "below", "left", "right"], selfsides: ["above", "below", "right", "left"] };
// degrees to the k-th of the others at a date, NaN where one of the two is not there
function apart(s, k, { angles, step } = rays.fig.layout.meta) { const v = angles[s]?.[k] ?? 255; return v === 255 ? NaN : v * step; }
function firstTogether(k) { for (let s = 0; s < S; s++) if (settled(now(), s) && apart(s, k) >= 0) return s; return null; }

// names beside dots -------------------------------------------------------------------------------------------------
const pen = make("canvas").getContext("2d");
function marked(x, y, r, text, size, weight) {
  pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return { x, y, r, text, w: pen.measureText(text).width + 2, h: 1.25 * size };
}
const boxed = (x, y, r) => [x - r, y - r, x + r, y + r];
const touching = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
function beside({ x, y, r, w, h }, side) {
  const far = r + 3;
  return { right: [x + far, y - h / 2, x + far + w, y + h / 2], left: [x - far - w, y - h / 2, x - far, y + h / 2],
    above: [x - w / 2, y - far - h, x + w / 2, y - far], below: [x - w / 2, y + far, x + w / 2, y + far + h] }[side];
}
function placed(marks, taken, wide, sides, most = Infinity) {
  const out = [];
  for (const mark of marks) {
    if (out.length >= most) break;
    const box = sides.map((side) => beside(mark, side)).find((b) => Math.min(b[0], b[1]) >= 0 && Math.max(b[2], b[3]) <= wide && !taken.some((o) => touching(b, o)));
    if (box) { taken.push(box); out.push({ x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, text: mark.text, id: mark.id }); }
  }
  return out;
}
// the oldest point of a trail, then always the one farthest from all chosen and from the middle
function datedOf(trail, middle) {
  const chosen = trail.slice(0, 1), near = (p) => Math.min(Math.hypot(p.x - middle, p.y - middle), ...chosen.map((c) => Math.hypot(p.x - c.x, p.y - c.y)));
  while (trail.length && chosen.length < RAYS.dated) {
    const best = trail.reduce((a, b) => near(b) > near(a) ? b : a);
    if (near(best) < RAYS.apart) break;
    chosen.push(best);
  }
  return chosen;
}

// the chart at a date -----------------------------------------------------------------------------------------------
const short = (text) => text.length > 24 ? text.slice(0, 23).trimEnd() + "…" : text;
function pastAt(s) {
  const { date, at, past, unit } = rays.fig.layout.meta, [a, b] = life(st.t), out = [];
  let k = 0;
  for (let row = 0; row < date.length && date[row] <= s; row++)
    for (let c = 0; c < at.length && at[c] < date[row]; c++, k++) if (date[row] === s) out.push({ s: at[c], a: past[k] * unit, way: 156 + 48 * (at[c] - a) / Math.max(b - a, 1) });
  return out;
}
function raysAt(s, wide) {
  const { others, reach } = rays.fig.layout.meta, scale = wide / 2 / reach, share = (t) => now().share[cell(s, t)] || 0;
  const point = (a, way) => ({ x: wide / 2 + a * scale * Math.cos(way * Math.PI / 180), y: wide / 2 - a * scale * Math.sin(way * Math.PI / 180) });
  const radius = (t) => Math.min(RAYS.biggest * wide, Math.max(RAYS.smallest, RAYS.dot * wide * Math.sqrt(share(t)))) / 2;
  let dots = [];
  others.forEach((t, k) => {
    const a = apart(s, k), way = 208 + 304 * (k + 0.5) / others.length;
    if (a >= 0) dots.push({ t, k, a, r: radius(t), way, ...point(a, way) });
  });
  dots.sort((a, b) => a.a - b.a);
  const all = dots.length;
  if (all > RAYS.nearest + RAYS.largest) {
    const kept = new Set([...dots.slice(0, RAYS.nearest), ...[...dots].sort((a, b) => share(b.t) - share(a.t)).slice(0, RAYS.largest)]);
    dots = dots.filter((dot) => kept.has(dot));
  }
  for (const dot of dots) {
    const since = firstTogether(dot.k);
    if (since !== null && since < s) Object.assign(dot, { since, first: apart(since, dot.k) });
  }
  const trail = pastAt(s).map((p) => ({ ...p, ...point(p.a, p.way) }));
  return { dots, trail, point, own: radius(st.t), rest: all - dots.length };
}
function layRays(move) {
  if (!rays.fig) return;
  const wide = rays.el.clientWidth, { reach } = rays.fig.layout.meta, s = seen(st.d, st.t), middle = wide / 2, scale = middle / reach, light = D.colours.light, ink = light.ink[st.t % 24];
  const { dots, trail, point, own, rest } = raysAt(s, wide), dates = datedOf(trail, middle), first = dots.filter((d) => d.first >= 0).map((d) => ({ ...d, ...point(d.first, d.way) }));
  const taken = [...dots.map((d) => boxed(d.x, d.y, d.r)), ...first.map((f) => boxed(f.x, f.y, 2.5)), ...trail.map((p) => boxed(p.x, p.y, 2)), boxed(middle, middle, own)];
  for (let a = 30; a <= reach * RAYS.disc + 1; a += 30) { const p = point(a, RAYS.ring); taken.push(boxed(p.x, p.y, 9)); }
  const when = placed(dates.map((p) => ({ ...marked(p.x, p.y, 3, D.labels[p.s], 10.5, 650), id: "d" + p.s })), taken, wide, RAYS.datesides);
  const full = called(s, st.t, 2), named = (text) => placed([{ ...marked(middle, middle, own, short(text), 13.5, 700), id: "self" }], taken, wide, RAYS.selfsides);
  let self = named(full);
  if (!self.length) self = named(full.split(" ")[0]);
  taken.push(boxed(middle, middle, own + 14));
  const names = placed(dots.map((d) => ({ ...marked(d.x, d.y, d.r, short(called(s, d.t, 2)), 11.5, 400), id: "t" + d.t })), taken, wide, RAYS.sides, RAYS.named);
  const xy = (list) => ({ x: list.map((p) => (p.x - middle) / scale), y: list.map((p) => (middle - p.y) / scale) });
  const texts = (list) => ({ ...xy(list), text: list.map((p) => shownText(p.text)), ids: list.map((p) => p.id) });
  const colours = (list, tone) => list.map((d) => light[tone][d.t % 24]), way = trail.length ? [...trail, { x: middle, y: middle }] : [];
  const parts = {
    rings: (() => { const list = []; for (let a = 30; a <= reach * RAYS.disc + 1; a += 30) list.push({ ...point(a, RAYS.ring), text: a + "°", id: "r" + a }); return texts(list); })(),
    "first-lines": xy(first.flatMap((f, k) => [f, dots.find((d) => d.t === f.t), { x: NaN, y: NaN }])),
    first: { ...xy(first), ids: first.map((d) => "t" + d.t), marker: { size: 5, color: light.page, line: { color: colours(first, "ink") } } },
    dated: { ...xy(dates), ids: dates.map((p) => "d" + p.s), marker: { size: 6.5, color: ink, line: { color: light.page } } },
    dots: { ...xy(dots), ids: dots.map((d) => "t" + d.t), marker: { size: dots.map((d) => 2 * d.r), color: colours(dots, "fill"), line: { color: colours(dots, "ink") } } },
    self: { x: [0], y: [0], marker: { size: 2 * own, color: light.fill[st.t % 24], line: { color: ink } } }, names: texts(names),
    dates: { ...texts(when), textfont: { color: ink } },
    "self-name": texts(self),
  };
  for (let k = 0; k < RAYS.widths; k++) {
    const from = Math.round(k * (way.length - 1) / RAYS.widths), to = Math.round((k + 1) * (way.length - 1) / RAYS.widths);
    parts["past-" + k] = { ...xy(way.slice(Math.max(from, 0), to + 1)), line: { color: ink } };
  }
  const merged = (a, b) => b === undefined ? a : a && b && !Array.isArray(b) && typeof b === "object" ? { ...a, ...Object.fromEntries(Object.entries(b).map(([k, v]) => [k, merged(a[k], v)])) } : b;
  const data = D.neighbours.data.map((trace) => merged(trace, parts[trace.name]));
  rays.hits = [...dots, ...trail];
  tellRays(s, dots.length, trail.length, rest);
  const plot = rays.el.querySelector(".plot"), layout = { ...D.neighbours.layout, ...rays.fig.layout, width: wide, height: wide };
  rays.el.style.height = wide + "px";
  if (!move || calm() || !plot.data) return picture(plot, { data, layout });
  Plotly.animate(plot, { data: painted(data), traces: data.map((_, k) => k) },
    { mode: "immediate", transition: { duration: 150, easing: "cubic-out" }, frame: { duration: 150, redraw: false } }).catch(() => {});
}
function tellRays(s, dots, past, rest) {
  const said = [];
  const { others, angles } = rays.fig.layout.meta;
  if (others.length && !angles.some((row) => row.some((v) => v !== 255))) said.push(W.neighboursMissing);
  else {
    if (st.r === "then") said.push(W.neighboursThen);
    if (!dots) said.push(W.neighboursAlone);
    if (!past) said.push(settled(now(), s) ? W.neighboursNoPast : W.neighboursWarmUp);
    if (rest) said.push(fill(W.neighboursRest, { n: rest }));
  }
  $("#neighbours-note").textContent = said.join(" ");
}

// the pointer -------------------------------------------------------------------------------------------------------
function rayAt(event) {
  const box = rays.el.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const far = (h) => Math.hypot(h.x - x, h.y - y) - (h.r ?? 3);
  const best = rays.hits.reduce((a, b) => !a || far(b) < far(a) ? b : a, null);
  return best && far(best) < 9 ? best : null;
}
function rayTip({ t, a, s: past, since, first }) {
  const s = seen(st.d, st.t);
  if (t === undefined) return [[st.t, fill(W.pastAt, { date: D.labels[past], angle: Math.round(a), other: D.labels[s] })], [words(past, st.t, 5).map((w) => w[0]).join(" ")]];
  const own = new Map(words(s, st.t)), both = words(s, t).filter(([w]) => own.has(w)).map(([w, v]) => [w, v * own.get(w)]).sort((a, b) => b[1] - a[1]).slice(0, 4).map((w) => w[0]);
  const born = since === life(t)[0] && since > 0, told = since === undefined ? W.neighbourAngle : born ? W.neighbourAngleBorn : W.neighbourAngleFirst;
  return [[t, called(s, t) + " · " + fill(W.topic, { topic: t })],
    [fill(told, { angle: Math.round(a), first: Math.round(first), date: D.labels[since] }), both.length ? fill(W.neighbourShares, { words: both.join(", ") }) : W.neighbourSharesNone, W.hoverOpen]];
}
views.neighbours = {
  wire() {
    rays.el.addEventListener("pointermove", (e) => { const hit = e.pointerType !== "touch" && rayAt(e); rays.el.style.cursor = hit ? "pointer" : ""; hit ? showTip(e, rayTip(hit)) : hideTip(); });
    rays.el.addEventListener("pointerleave", hideTip);
    rays.el.addEventListener("click", (e) => { const hit = rayAt(e); if (hit) { hideTip(); hit.t === undefined ? go({ d: hit.s }) : go({ t: hit.t, picked: true }, true); } });
  },
  draw(changed) {
    if (st.t === null || !touches(changed, "t", "r", "th", "size", "data")) return touches(changed, "d") && layRays(true);
    return show("neighbours", `neighbours/${st.r}/${st.t}`, (fig) => {
      rays.fig = fig;
      rays.el.hidden = !fig;
      fig ? layRays() : $("#neighbours-note").textContent = W.neighboursLeft;
    });
  },
  cursor() { layRays(true); },
  rows() {
    const s = seen(st.d, st.t), out = [["date", "topic", "words", "degrees", "degrees at first", "first"]];
    for (const d of raysAt(s, 400).dots) out.push([D.labels[s], d.t, called(s, d.t), Math.round(d.a), d.first >= 0 ? Math.round(d.first) : "", d.first >= 0 ? D.labels[d.since] : ""]);
    for (const p of raysAt(s, 400).trail) out.push([D.labels[p.s], st.t, words(p.s, st.t, 3).map((w) => w[0]).join(" "), Math.round(p.a), "", ""]);
    return out;
  },
};
