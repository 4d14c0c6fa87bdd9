// Pictures as tables: the words of a topic as rows, and files of comma-separated values.

function save(name, text, type) {
  const a = make("a"); a.href = URL.createObjectURL(new Blob([text], { type })); a.download = name; a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 5000);
}
function csv(name) {
  const quoted = (v) => typeof v === "number" ? v : '"' + (/^[=+\-@]/.test(v) ? "'" : "") + String(v).replace(/"/g, '""') + '"';
  save(`${name}.csv`, "\ufeff" + views[name].rows().map((row) => row.map(quoted).join()).join("\r\n") + "\r\n", "text/csv");
}
function savePicture(name) {
  const { clientWidth: width, clientHeight: height } = $("#" + name);
  Plotly.downloadImage($(`#${name} .plot`), { format: "svg", filename: name, width, height });
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
