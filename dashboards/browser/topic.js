// The topic in figures at the date.

views.topic = { draw: drawTopic, cursor: drawTopic };
function drawTopic() {
  const name = $("#topic-name"), state = $("#state");
  $("#topic").hidden = st.t === null;
  if (st.t === null) return;
  const [a, b] = life(st.t), s = seen(st.d, st.t), r = now(), i = cell(s, st.t), facts = [];
  swatch($("#topic .swatch"), st.t);
  name.textContent = called(s, st.t);
  const unsure = st.r === "then" && D.warm_up[st.d];
  state.hidden = !unsure && st.d >= a && st.d <= b;
  state.textContent = st.d < a ? fill(W.notYet, { date: D.labels[st.d], other: D.labels[a] })
    : st.d > b ? fill(W.ended, { date: D.labels[b] }) : fill(W.warmUpAt, { date: D.labels[st.d] });
  const n = Math.round(r.documents[i] || 0);
  facts.push([n.toLocaleString("en"), fill(n === 1 ? W.documentOf : W.documentsOf, { share: percent(r.share[i] || 0), date: D.labels[s] })]);
  let from = a;
  while (st.r === "then" && D.warm_up[from] && from < s) from++;
  const first = new Set(words(from, st.t, 8).map((w) => w[0])), top = words(s, st.t, 8);
  if (s > from) facts.push([fill(W.of, { n: top.filter((w) => !first.has(w[0])).length, all: top.length }), fill(W.newSince, { date: D.labels[from] })]);
  const turned = D.table[st.r], far = turned.turned[i] ?? 255;
  if (s > from && far !== 255) facts.push([Math.round(far * turned.unit) + "°", fill(W.lastStep, { date: D.labels[from] })]);
  const judged = !(st.r === "then" && (D.warm_up[s] || D.warm_up[s - 1]));
  if (st.r === "hindsight") {
    const v = r.drift_angle[i];
    if (s > a && v >= 0) facts.push([Math.round(v) + "°", fill(W.lastStep, { date: D.labels[s - 1] })]);
  } else if (s > a && judged) {
    const p = pace(s, st.t);
    facts.push(p === null ? ["–", W.unjudged] : [p.toFixed(1) + " ×", fill(W.ofUsual, { date: D.labels[s - 1] })]);
  }
  const c = r.certainty[i];
  if (c >= 0) facts.push([Math.round(100 * c) + " %", fill(W.certainty, { level: level(c) })]);
  facts.push([fill(W.topic, { topic: st.t }), unsure ? W.numberMay : W.numberNever]);
  $("#facts").replaceChildren(...facts.map(([big, small]) => { const d = make("div"); d.append(make("dt", big), make("dd", small)); return d; }));
}
