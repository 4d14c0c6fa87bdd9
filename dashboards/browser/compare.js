// Two dates of a topic, or two topics at one date: fills the blank figure that Python laid out.

views.compare = { wire: wireCompare, draw: drawCompare, cursor: drawCompare, rows: compareRows };
// what is compared, the earlier date left; null if nothing is chosen
function compared() {
  if (st.t === null) return null;
  const s = seen(st.d, st.t), side = (d, t, label) => ({ d, t, label, words: words(d, t, 14) });
  if (st.p !== null && st.p !== st.t && there(s, st.p))
    return { topics: true, sides: [st.t, st.p].map((t) => side(s, t, fill(W.topic, { topic: t }))) };
  if (st.o === null) return null;
  const o = seen(st.o, st.t), dates = o < s ? [o, s] : [s, o];
  return { topics: false, sides: dates.map((d) => side(d, st.t, D.labels[d])) };
}
// the angle between the two, in words, or nothing where the log does not hold it
async function turnedWords({ topics, sides: [a, b] }) {
  const said = (degrees) => Number.isNaN(degrees) ? "" : fill(topics ? W.apart : W.turned, { turn: Math.round(degrees) });
  if (topics) {
    const rays = (await figure(`neighbours/${st.r}/${a.t}`))?.layout.meta;
    return said(rays ? apart(a.d, rays.others.indexOf(b.t), rays) : NaN);
  }
  if (a.d === b.d) return said(0);
  const known = await figure(`compare/${st.r}/${a.t}`), v = known?.turned[b.d * (b.d - 1) / 2 + a.d] ?? 255;
  return said(v === 255 ? NaN : v * known.unit);
}
async function drawCompare() {
  const both = compared(), box = $("#compare-box");
  pickList(false);
  box.hidden = !both;
  if (!both) return;
  const el = $("#compare"), w = el.clientWidth, said = await turnedWords(both);
  return show("compare", `compare/${w < 480 ? "phone" : "wide"}`, (fig) => {
    fillCompare(fig, both, said);
    fig.layout.width = w;
    el.style.height = fig.layout.height + "px";
    picture(el.querySelector(".plot"), fig);
    const [left, right] = both.sides.map(({ words }) => words.map(([word]) => word)), without = (a, b) => a.filter((w) => !b.includes(w)).join(", ");
    const names = { left: both.sides[0].label, right: both.sides[1].label, gone: without(left, right), entered: without(right, left), turned: said && ", " + said };
    $("#compare-caption").textContent = fill(both.topics ? W.compareTopics : W.compareDates, names);
    $("#compare-words").textContent = fill(both.topics ? W.ownWords : W.goneAndNew, names);
  });
}
function fillCompare(fig, { topics, sides }, said) {
  const [kept, bars, texts] = fig.data, m = fig.layout.meta, c = D.colours.light, slot = (t) => t % 24;
  const rank = sides.map((side) => new Map(side.words.map(([word], r) => [word, r + 1]))), most = Math.max(...sides.flatMap((side) => side.words.map((w) => w[1]))) || 1;
  const n = m.down.length, safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/^(?=\$.*\$$)/, "\u200b");
  kept.line.color = topics ? c.outline : c.fill[slot(sides[0].t)];
  for (const [word, a] of rank[0]) {
    const b = rank[1].get(word);
    if (b) m.down.forEach((down, i) => { kept.x.push(m.bar[0] + (m.bar[1] - m.bar[0]) * i / (n - 1)); kept.y.push(a + (b - a) * down); }), kept.x.push(null), kept.y.push(null);
  }
  sides.forEach(({ t, words }, k) => words.forEach(([word, weight], r) => {
    const shared = rank[1 - k].has(word), fresh = k === 1 && !shared && !topics, fillOf = c.fill[slot(t)], ink = c.ink[slot(t)];
    const [bar, tone] = shared ? [topics ? c.outline : fillOf, c.text] : topics ? [fillOf, ink] : k ? [ink, ink] : [c.outline, c.muted];
    bars.base.push(m.bar[k]); bars.x.push((k ? 1 : -1) * m.long * weight / most); bars.y.push(r + 1); bars.marker.color.push(bar);
    const text = fresh ? "+ " + word : word;
    texts.x.push(m.text[k]); texts.y.push(r + 1); texts.text.push(safe(text.length > m.letters ? text.slice(0, m.letters - 1) + "…" : text));
    texts.textposition.push(k ? "middle right" : "middle left"); texts.textfont.color.push(tone); texts.textfont.weight.push(fresh ? 700 : 450);
  }));
  fig.layout.annotations.forEach((note, k) => { note.text = safe([sides[0].label, said, sides[1].label][k]); });
}
// the choices are made when the list opens: other dates of the topic, other topics of the date
function pickList(whole) {
  const list = $("#compare-with"), chosen = st.p !== null ? "t" + st.p : st.o !== null ? "d" + st.o : "";
  const option = (value, text) => { const o = make("option", text); o.value = value; return o; }, group = (label, options) => { const g = make("optgroup"); g.label = label; g.append(...options); return g; };
  const s = st.t === null ? st.d : seen(st.d, st.t), [a, b] = st.t === null ? [0, -1] : life(st.t), named = (t) => `${called(s, t)} (${t})`;
  const out = [option("", W.nothing)];
  if (whole) {
    const dates = []; for (let d = a; d <= b; d++) if (d !== s && there(d, st.t)) dates.push(option("d" + d, D.labels[d]));
    out.push(group(W.otherDates, dates), group(fill(W.otherTopics, { date: D.labels[s] }), D.order.filter((t) => t !== st.t && there(s, t)).map((t) => option("t" + t, named(t)))));
  } else if (chosen) out.push(option(chosen, st.p !== null ? named(st.p) : D.labels[st.o]));
  list.replaceChildren(...out);
  list.value = chosen;
}
function wireCompare() {
  const list = $("#compare-with");
  for (const kind of ["pointerdown", "focus"]) list.addEventListener(kind, () => { if (list.length < 3) pickList(true); });
  list.onchange = () => { const v = list.value, k = Number(v.slice(1)); go({ o: v[0] === "d" ? k : null, p: v[0] === "t" ? k : null }); };
}
function compareRows() {
  const rows = [["topic", "date", "rank", "word", "weight"]];
  for (const { d, t, words } of compared()?.sides ?? []) words.forEach(([word, weight], k) => rows.push([t, D.labels[d], k + 1, word, Number(weight.toFixed(3))]));
  return rows;
}
