// Pictures as tables: the words of a topic as rows, and files of comma-separated values.

function save(name, text, type) {
  const a = make("a"); a.href = URL.createObjectURL(new Blob([text], { type })); a.download = name; a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 5000);
}
function csv(what) {
  const safe = (v) => { const s = String(v); return '"' + (/^[=+\-@]/.test(s) ? "'" : "") + s.replace(/"/g, '""') + '"'; }, rows = [];
  if (what === "river") rows.push("date,topic,words,documents,share");
  else rows.push("date,topic,rank,word,weight");
  for (let s = 0; s < S; s++) for (const t of what === "river" ? D.topics : [st.t]) {
    if (!there(s, t)) continue;
    const i = cell(s, t);
    if (what === "river") rows.push([safe(D.labels[s]), t, safe(called(s, t)), Math.round(now().documents[i] || 0), (now().share[i] || 0).toFixed(4)].join());
    else words(s, t).forEach(([w, v], k) => rows.push([safe(D.labels[s]), t, k + 1, safe(w), v.toFixed(3)].join()));
  }
  save(`${what}.csv`, "\ufeff" + rows.join("\r\n") + "\r\n", "text/csv");
}

function wordRows(show) {
  const box = $("#words-rows");
  box.hidden = !show;
  $("#words-table").setAttribute("aria-expanded", String(show));
  if (!show) return;
  const table = make("table"), head = make("tr");
  head.append(make("th", ""));
  const shown = [];
  for (let s = 0; s < S; s++) if (there(s, st.t)) { shown.push(s); head.append(make("th", D.labels[s])); }
  table.append(head);
  for (let k = 0; k < 8; k++) {
    const row = make("tr");
    row.append(make("th", String(k + 1)), ...shown.map((s) => make("td", words(s, st.t, 8)[k]?.[0] ?? "")));
    table.append(row);
  }
  box.replaceChildren(table);
}
