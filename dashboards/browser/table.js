// Every topic as a row at the date; heads sort, rows select.

views.table = { wire: wireTable, draw: drawTable, cursor: drawTable, rows: () => [Object.keys(topicRow(st.t ?? D.topics[0], true)), ...D.topics.map((t) => Object.values(topicRow(t, true)))] };
const sorted = { by: "topic", down: false };
// the cells of a topic: bare values to sort and to save
function topicRow(t, bare) {
  const [a, b] = life(t), s = seen(st.d, t), r = now(), i = cell(s, t), turned = D.table[st.r], v = turned.turned[i] ?? 255;
  const number = (x, digits) => x >= 0 ? Number(x.toFixed(digits)) : null, text = (at) => words(at, t, bare ? 8 : 5).map((w) => w[0]).join(" ");
  return { topic: t, now: text(s), first: text(a), documents: number(r.documents[i], 0), share: number(r.share[i], 4), drift: v === 255 ? null : number(v * turned.unit, 0),
    "last drift": st.r === "hindsight" && s > a ? number(r.drift_angle[i], 0) : null, certainty: number(r.certainty[i], 2), begun: D.labels[a] ?? "", ended: b < S - 1 ? D.labels[b] ?? "" : "" };
}
function drawTable() {
  const body = $("#topics tbody"), position = (label) => D.labels.indexOf(label);
  const rows = D.topics.filter((t) => life(t)[0] >= 0).map((t) => topicRow(t)), key = (row) => ["begun", "ended"].includes(sorted.by) ? position(row[sorted.by]) : row[sorted.by];
  rows.sort((x, y) => {
    const a = key(x), b = key(y), order = a === null || b === null ? (a === null) - (b === null) : (typeof a === "number" ? a - b : a.localeCompare(b, "en")) * (sorted.down ? -1 : 1);
    return order || x.topic - y.topic;
  });
  const degrees = (v) => v === null ? "" : v + "°", shown = { share: percent, drift: degrees, "last drift": degrees, certainty: (v) => v === null ? "" : Math.round(100 * v) + " %" };
  body.replaceChildren(...rows.map((row) => {
    const tr = make("tr", undefined, there(st.d, row.topic) ? "" : "muted");
    if (row.topic === st.t) tr.setAttribute("aria-current", "true");
    for (const [name, value] of Object.entries(row)) {
      const td = make("td", undefined, typeof value === "number" || value === null ? "number" : ["begun", "ended"].includes(name) ? "date" : "");
      if (name === "topic") { const a = make("a", String(value)); a.href = "#t=" + value; td.append(swatch(make("span", undefined, "swatch"), value), a); }
      else td.textContent = shown[name] ? shown[name](value) : value === null ? "" : name === "documents" ? value.toLocaleString("en") : value;
      tr.append(td);
    }
    return tr;
  }));
  for (const b of document.querySelectorAll("#topics [data-sort]")) b.parentNode.ariaSort = b.dataset.sort !== sorted.by ? "none" : sorted.down ? "descending" : "ascending";
}
function wireTable() {
  $("#topics thead").addEventListener("click", (e) => {
    const by = e.target.closest("[data-sort]")?.dataset.sort;
    if (!by) return;
    // numbers begin with the largest, texts with the first
    sorted.down = sorted.by === by ? !sorted.down : ["documents", "share", "drift", "last drift", "certainty"].includes(by);
    sorted.by = by;
    drawTable();
  });
}
