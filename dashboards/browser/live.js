// The page on a server: one question every two seconds, data when it changed, figures by key; nothing moves under a reader.

const live = { ready: false, news: null, kept: new Map(), wanted: new Map(), out: null, serial: 0, want: 0, touched: -1e9, hours: 0 };
const set = (id, props) => window.dash_clientside.set_props(id, props);
const clock = (at) => new Date(1000 * at).toTimeString().slice(0, 5);
const ago = (s) => s < 60 ? Math.round(s) + " s" : s < 3600 ? Math.round(s / 60) + " min" : Math.round(s / 3600) + " h";

// figures: asked for together, one question under way at a time ---------------------------------------------------------
function asked(key) {
  const known = live.kept.get(key);
  if (known !== undefined) return opened(known);
  return new Promise((done) => {
    live.wanted.has(key) ? live.wanted.get(key).push(done) : live.wanted.set(key, [done]);
    queueMicrotask(ask);
  });
}
function opened(text) {
  if (text === null) return null;
  const { figure, arrays } = JSON.parse(text), made = [];
  return unpack(figure, (k) => made[k] ??= unbase(arrays[k]));
}
function ask() {
  if (!live.ready || !live.wanted.size || (live.out && Date.now() - live.out.at < 15000)) return;
  live.out = { id: ++live.serial, at: Date.now(), stamp: D.stamp };
  set("ask", { data: { id: live.out.id, stamp: D.stamp, keys: [...live.wanted.keys()].slice(0, 20) } });
}
function answered(answer) {
  if (!answer || answer.id !== live.out?.id) return;
  const current = live.out.stamp === D.stamp;
  live.out = null;
  for (const [key, text] of Object.entries(answer.figures)) {
    if (current) live.kept.set(key, text);
    for (const done of live.wanted.get(key) ?? []) done(opened(text));
    live.wanted.delete(key);
  }
  ask();
}

// what is new ----------------------------------------------------------------------------------------------------------
const reads = () => st.d !== S - 1 || timer || comparing() || $("#reader").open || $("header").classList.contains("open")
  || performance.now() - live.touched < 20000 || String(getSelection()) !== "";
function polled(news) {
  live.ready = true; live.news = news; live.heard = Date.now();
  if (D === undefined || !S) {
    if (news.slice !== null && news.stamp) return location.reload();
    $("#waiting").textContent = news.said;
    return;
  }
  ask(); badge(); drawOpen();
  if (!news.stamp || news.stamp === D.stamp) { $("#pill").hidden = true; live.end = false; return; }
  const more = news.slice - D.last;
  if (live.end || (more > 0 && !reads())) return follow();  // a wish for the newest stands until it is there
  $("#pill").hidden = false;
  $("#pill").textContent = more > 0 ? fill(W.newSlices, { n: more, periods: D.period + (more === 1 ? "" : "s") })
    : fill(W.newHindsight, { date: D.labels[S - 1] });
}
function follow() {
  if (Date.now() - live.want < 10000) return;  // it is on its way
  live.want = Date.now();
  set("want", { data: { at: live.want } });
}
function arrived(text) {
  live.want = 0;
  const data = text && JSON.parse(text);
  if (!data || data.stamp === D.stamp) return;
  const newest = st.d === S - 1, was = { ...st }, label = D.labels[st.d], other = st.o === null ? null : D.labels[st.o];
  load(data);
  F = {}; live.kept.clear();
  Object.assign(st, was, { d: newest || live.end ? S - 1 : Math.max(0, D.labels.indexOf(label)), o: other === null ? null : D.labels.indexOf(other) });
  if (!D.topics.includes(st.t)) st.t = plain.t;
  live.end = false;
  $("#pill").hidden = true;
  redraw(EVERYTHING); speak();
}
function badge() {
  const b = $("#badge"), news = live.news;
  if (!LIVE) { b.textContent = D.recorded && fill(W.recorded, { date: D.recorded }); return; }
  const silent = (Date.now() - live.heard) / 1000, age = news.age === null ? null : news.age + silent;
  const [kind, text] = silent > (document.hidden ? 30 : 15) ? ["stopped", fill(W.silent, { time: clock(live.heard / 1000) })]
    : news.problem ? ["stopped", news.problem]
    : news.busy && news.at - news.busy > 30 ? ["waiting", fill(W.busy, { time: clock(news.busy) })]
    : news.finished ? ["stopped", fill(W.finished, { time: clock(news.at - news.age) })]
    : !news.writing ? ["stopped", fill(W.stopped, { time: age === null ? "" : clock(news.at - news.age) })]
    : news.usual && age > Math.max(3 * news.usual, 10) ? ["waiting", fill(W.waitingFor, { ago: ago(age) })]
    : ["live", fill(W.live, { ago: ago(age ?? 0) })];
  b.className = kind; b.textContent = text;
}

// the open slice: a hatched column behind the newest, in the order and scale of the river ------------------------------
function drawOpen() {
  const part = live.news?.open, g = river.el.querySelector(".open"), says = $("#so-far");
  g.replaceChildren();
  says.hidden = !part;
  if (!part || !river.fig) return;
  says.textContent = fill(W.soFar, { date: part.label, n: part.n.toLocaleString("en") });
  const w = river.el.clientWidth, rows = river.bands.filter((b) => b.meta >= 0), last = S - 1;
  const edges = river.bands.flatMap((b) => { const k = b.x.length / 2 - 1; return b.x[k] === last ? [py(b.y[k]), py(b.y[k + 1])] : []; });
  const low = Math.min(...edges), high = Math.max(...edges), total = part.documents.reduce((a, b) => a + b, 0);
  const unit = st.m === "share" ? (high - low) / (total || 1) : (high - low) / (D.n[last] || 1), height = total * unit;
  let y = (low + high) / 2 - height / 2;
  for (const band of rows) {
    const k = part.topics.indexOf(band.meta), tall = k < 0 ? 0 : part.documents[k] * unit;
    if (tall <= 0) continue;
    const r = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ x: w - INSET + 4, y, width: INSET - 5, height: tall, fill: D.colours[st.th].fill[band.meta % 24] })) r.setAttribute(name, value);
    g.append(r);
    y += tall;
  }
  const hatch = document.createElementNS("http://www.w3.org/2000/svg", "path"), top = (low + high) / 2 - height / 2, lines = [];
  for (let at = top + 8; at <= top + height; at += 5) lines.push(`M${w - INSET + 4} ${at}l${INSET - 5} -8`);
  hatch.setAttribute("d", lines.join(""));
  g.append(hatch);
}

function wireLive() {
  if (!LIVE) return;
  $("#pill").onclick = () => { live.end = true; follow(); };
  document.addEventListener("visibilitychange", () => { if (live.ready) set("poll", { interval: document.hidden ? 10000 : 2000 }); });
  for (const event of ["pointermove", "focusin"]) addEventListener(event, (e) => { if (e.target.closest?.(".chart")) live.touched = performance.now(); });
  addEventListener("pointerout", (e) => { if (!e.relatedTarget) live.touched = -1e9; });
  setInterval(() => { if (live.news && S) badge(); }, 1000);
}
if (LIVE) window.dash_clientside = { ...window.dash_clientside, page: Object.fromEntries(
  Object.entries({ polled, arrived, answered }).map(([name, act]) => [name, (data) => { if (data !== undefined) act(data); }])) };
