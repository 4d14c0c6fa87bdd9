// The typical documents of the topic at the date, with how typical they are, and how many of all were kept.

views.documents = { draw: drawDocuments, cursor: drawDocuments };
function drawDocuments() {
  if (st.t === null) return;
  const s = seen(st.d, st.t), box = $("#documents"), list = docs.get(s + "/" + st.t) ?? [];
  const all = Math.max(list.length, Math.round(now().documents[cell(s, st.t)] || 0));
  box.hidden = !D.documents.length;
  box.querySelector("h3").textContent = fill(W.representativeAt, { date: D.labels[s] });
  box.querySelector("p").textContent = list.length ? fill(W.kept, { n: list.length, all: all.toLocaleString("en") }) : fill(W.representativeNone, { date: D.labels[s] });
  box.querySelector("ol").replaceChildren(...list.map(([, t, title, date, score, url]) => {
    const li = make("li"), div = make("div"), head = make(url ? "a" : "div", title, "title"), meta = make("div", undefined, "meta");
    if (url) { head.href = url; head.rel = "noopener noreferrer"; }
    if (date) meta.append(make("span", date));
    if (score !== null) {
      const bar = make("span", undefined, "bar"), inner = make("i");
      inner.style.width = Math.round(100 * Math.min(1, Math.max(0, score))) + "%";
      inner.style.background = D.colours[st.th].ink[t % 24];
      bar.append(inner); meta.append(bar, make("span", fill(W.score, { score: score.toFixed(2) })));
    }
    div.append(head, meta); li.append(div);
    return li;
  }));
}
