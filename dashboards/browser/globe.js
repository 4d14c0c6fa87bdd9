// The globe: dots and trails of the date, names of the largest topics on the side in sight.

const globe = { el: $("#globe"), fig: null, hits: [], turned: null };
const GLOBE = { largest: 60, named: 16, dot: 0.14, smallest: 7, biggest: 0.06, widths: [1, 2, 3.2] }, RAD = Math.PI / 180;
const onto = (lon, lat) => [Math.cos(lat * RAD) * Math.cos(lon * RAD), Math.cos(lat * RAD) * Math.sin(lon * RAD), Math.sin(lat * RAD)];
const lonlat = (p) => [Math.atan2(p[1], p[0]) / RAD, Math.asin(Math.max(-1, Math.min(1, p[2]))) / RAD];
const dotted = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const plus = (a, x, b, y = 0, c = [0, 0, 0]) => a.map((v, k) => v + x * b[k] + y * c[k]);
// east and north at a point of the sphere, as in globeframe.py
function compass(p) {
  const far = Math.hypot(p[0], p[1]), east = far > 1e-9 ? [-p[1] / far, p[0] / far, 0] : [0, 1, 0];
  return [east, [p[1] * east[2] - p[2] * east[1], p[2] * east[0] - p[0] * east[2], p[0] * east[1] - p[1] * east[0]]];
}
function wayTo(p, q) {
  const cosine = dotted(p, q), across = plus(q, -cosine, p), length = Math.hypot(...across), far = Math.atan2(length, cosine) / RAD / (length || 1), [east, north] = compass(p);
  return [far * dotted(across, east), far * dotted(across, north)];
}
function movedBy(p, [x, y]) {
  const far = Math.hypot(x, y) * RAD, [east, north] = compass(p), k = far > 1e-12 ? Math.sin(far) / far * RAD : RAD;
  return plus(p.map((v) => v * Math.cos(far)), x * k, east, y * k, north);
}
// a path whose beginning is moved away from its end until it is so many degrees off: stretched() in globeframe.py
function stretchedTo(path, least) {
  const end = path.at(-1), ways = path.map((p) => wayTo(end, p)), far = Math.hypot(...ways[0]), straight = far > 1e-9 ? ways[0].map((v) => v / far) : [1, 0];
  return ways.map(([x, y], k) => { const more = (least - far) * (1 - k / (path.length - 1)); return movedBy(end, [x + more * straight[0], y + more * straight[1]]); });
}
function topicsOnGlobe() {
  const { topics, lon, lat, turned, unit, scale, back } = globe.fig.layout.meta, at = (s, k) => lat[s][k] === -32768 ? null : onto(lon[s][k] / 100, lat[s][k] / 100);
  const found = [];
  topics.forEach((t, k) => {
    const here = there(st.d, t) && at(st.d, k);
    if (!here) return;
    const path = [], from = [];
    for (let s = Math.max(0, st.d - back + 1); s <= st.d; s++) { const p = at(s, k); if (p) { path.push(p); from.push(s); } }
    const turn = turned[st.d][k] * unit;
    found.push({ t, at: here, from: from[0], turn, path: path.length > 1 ? stretchedTo(path, scale * turn) : [], share: now().share[cell(st.d, t)] || 0 });
  });
  return found.sort((a, b) => b.share - a.share);
}
// where the sphere is in sight: the projection of plotly's own
function sight() {
  const plot = globe.el.querySelector(".plot"), { lon, lat } = globe.turned, wide = globe.el.clientWidth;
  const radius = wide * (0.5 - globe.fig.layout.meta.pad), away = onto(lon, lat), [right, up] = compass(away);
  return { plot, wide, radius, lon, lat, front: (p) => dotted(p, away), xy: (p) => [wide / 2 + radius * dotted(p, right), wide / 2 - radius * dotted(p, up)],
    lift(x, y) { const u = (x - wide / 2) / radius, v = (wide / 2 - y) / radius, depth = 1 - u * u - v * v; return depth > 0 ? plus(away.map((a) => a * Math.sqrt(depth)), u, right, v, up) : null; } };
}
const geo = (list) => { const all = list.map((p) => p ? lonlat(p) : [NaN, NaN]); return { lon: all.map((p) => p[0]), lat: all.map((p) => p[1]) }; };
function namesInSight(dots, view) {
  const seen = dots.map((d) => { const [x, y] = view.xy(d.at); return { ...d, x, y, in: view.front(d.at) }; }), taken = seen.filter((d) => d.in > 0).map((d) => boxed(d.x, d.y, d.r));
  globe.hits = seen.filter((d) => d.in > 0);
  const wanted = seen.filter((d) => d.in > 0.1).sort((a, b) => (b.t === st.t) - (a.t === st.t)).slice(0, GLOBE.named);
  const marks = placed(wanted.map((d) => ({ ...marked(d.x, d.y, d.r, short(called(st.d, d.t, 2)), 12.5, 650), id: d.t })), taken, view.wide, RAYS.sides);
  const lifted = marks.map((m) => ({ ...m, p: view.lift(m.x, m.y) })).filter((m) => m.p);
  return { ...geo(lifted.map((m) => m.p)), text: lifted.map((m) => shownText(m.text)) };
}
function layGlobe() {
  if (!globe.fig) return;
  const view = sight(), { wide } = view, light = D.colours.light, all = topicsOnGlobe(), dots = all.slice(0, GLOBE.largest), [trail, rings, points, names] = globe.fig.data;
  for (const d of dots) d.r = Math.min(GLOBE.biggest * wide, Math.max(GLOBE.smallest, GLOBE.dot * wide * Math.sqrt(d.share))) / 2;
  const data = [], moving = dots.filter((d) => d.path.length), ink = (list) => list.map((d) => light.ink[d.t % 24]);
  for (const slot of new Set(moving.map((d) => d.t % 24))) GLOBE.widths.forEach((width, k) => {
    const part = [];
    for (const { path } of moving.filter((d) => d.t % 24 === slot)) {
      const end = (i) => Math.round(i * (path.length - 1) / GLOBE.widths.length);
      part.push(...path.slice(end(k), end(k + 1) + 1), null);
    }
    data.push({ ...trail, ...geo(part), line: { color: light.ink[slot], width } });
  });
  globe.dots = dots;
  data.push({ ...rings, ...geo(moving.map((d) => d.path[0])), marker: { ...rings.marker, line: { width: 1.2, color: ink(moving) } } },
    { ...points, ...geo(dots.map((d) => d.at)), marker: { ...points.marker, size: dots.map((d) => 2 * d.r), color: dots.map((d) => light.fill[d.t % 24]), line: { color: ink(dots), width: dots.map((d) => d.t === st.t ? 2.6 : 1) } } },
    { ...names, ...namesInSight(dots, view) });
  const layout = { ...globe.fig.layout, width: wide, height: wide, geo: { ...globe.fig.layout.geo, projection: { ...globe.fig.layout.geo.projection, rotation: { lon: view.lon, lat: view.lat } } } };
  globe.el.style.height = wide + "px";
  tellGlobe(all.length, dots.length, moving.length);
  return Plotly.react(view.plot, painted(data), painted({ ...layout, template: D.template }), { ...D.config, staticPlot: false });
}
function tellGlobe(all, drawn, moving) {
  const said = [], missing = !globe.fig.layout.meta.topics.length;
  if (missing) said.push(W.globeMissing);
  else if (!all) said.push(fill(W.globeNone, { date: D.labels[st.d] }));
  else {
    if (st.r === "then") said.push(W.globeThen);
    if (!moving) said.push(fill(W.globeFirst, { date: D.labels[st.d] }));
    if (all > drawn) said.push(fill(W.globeRest, { n: all - drawn }));
  }
  $("#globe-note").textContent = said.join(" ");
}
function turnTo(lon, lat) {
  globe.turned = { lon: (lon + 540) % 360 - 180, lat: Math.max(-80, Math.min(80, lat)) };
  layGlobe();
}
function globeAt(event) {
  const box = globe.el.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top, far = (h) => Math.hypot(h.x - x, h.y - y) - h.r;
  const best = globe.hits.reduce((a, b) => !a || far(b) < far(a) ? b : a, null);
  return best && far(best) < 8 ? best : null;
}
function globeTip({ t, from, turn, share, path }) {
  const lines = [fill(W.hoverCount, { date: D.labels[st.d], n: Math.round(now().documents[cell(st.d, t)] || 0), share: percent(share) })];
  if (path.length) lines.push(fill(W.globeTurned, { turn: Math.round(turn), date: D.labels[from] }));
  return [[t, called(st.d, t) + " · " + fill(W.topic, { topic: t })], [...lines, W.hoverOpen]];
}
views.globe = {
  wire() {
    let down = null;
    const box = globe.el;
    box.addEventListener("pointerdown", (e) => { down = { x: e.clientX, y: e.clientY }; }, true);
    box.addEventListener("pointermove", (e) => { const hit = !e.buttons && e.pointerType !== "touch" && globeAt(e); hit ? showTip(e, globeTip(hit)) : hideTip(); });
    box.addEventListener("pointerleave", hideTip);
    box.addEventListener("click", (e) => {
      const hit = down && Math.hypot(e.clientX - down.x, e.clientY - down.y) < 5 && globeAt(e);
      if (hit) { globe.still = true; go({ t: hit.t, picked: true }, true); globe.still = false; }
    }, true);
    for (const b of document.querySelectorAll("[data-turn]")) b.onclick = () => { const { lon, lat } = sight(); turnTo(lon + Number(b.dataset.turn), lat); };
  },
  draw(changed) {
    if (!touches(changed, "t", "d", "r", "th", "size", "data")) return;
    const own = st.t, mayTurn = touches(changed, "t") && !globe.still;
    return show("globe", `globe/${st.r}`, async (fig) => {
      globe.fig = fig;
      globe.turned ??= fig.layout.geo.projection.rotation;
      const at = mayTurn && topicsOnGlobe().find((d) => d.t === own)?.at;
      if (at && sight().front(at) < 0.3) { const [lon, lat] = lonlat(at); globe.turned = { lon, lat: Math.max(-60, Math.min(60, lat)) }; }
      await layGlobe();
      if (globe.wired) return;
      globe.wired = true;
      globe.el.querySelector(".plot").on("plotly_relayout", (e) => {
        const lon = e["geo.projection.rotation.lon"], lat = e["geo.projection.rotation.lat"];
        if (lon !== undefined) turnTo(lon, lat);
      });
    });
  },
  cursor() { return layGlobe(); },
  rows() {
    const out = [["date", "topic", "words", "longitude", "latitude", "drift", "since"]];
    for (const d of topicsOnGlobe()) { const [lon, lat] = lonlat(d.at); out.push([D.labels[st.d], d.t, called(st.d, d.t), Math.round(lon), Math.round(lat), d.path.length ? Math.round(d.turn) : "", d.path.length ? D.labels[d.from] : ""]); }
    return out;
  },
};
