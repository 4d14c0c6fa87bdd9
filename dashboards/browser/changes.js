// What changed lately, in sentences; on a served page, since the reader's last visit to the newest date.

const visits = { key: () => "seen:" + D.title, before: null };
views.changes = {
  wire() {
    if (!LIVE) return;
    try { visits.before = localStorage.getItem(visits.key()); } catch { /* then every visit is the first */ }
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && st.d === S - 1) try { localStorage.setItem(visits.key(), D.labels[S - 1]); } catch { /* not stored */ }
    });
  },
  draw(changed) {
    if (!touches(changed, "r", "data")) return;
    const { rows, lists } = D.changes[st.r], from = visits.before === null ? 0 : D.labels.indexOf(visits.before) + 1;
    const since = from && lists[from], [span, picks] = since || lists.lately;
    $("#changes-title").textContent = fill(since ? W.changedSince : W.changed, { span });
    $("#changes").replaceChildren(...picks.map((k) => {
      const [s, t, kind, said] = rows[k], li = make("li", undefined, kind), a = make("a");
      a.href = "#" + new URLSearchParams(t < 0 ? { d: tag(D.labels[s]) } : { d: tag(D.labels[s]), t });
      a.append(...said.map((part, i) => make(i % 2 ? "b" : "span", part.replace(/ (?=%)/g, "\u00a0"))));
      li.append(t < 0 ? make("span") : swatch(make("span", undefined, "swatch"), t), a);
      return li;
    }));
    if (!picks.length) $("#changes").replaceChildren(make("li", W.unchanged));
  },
};
