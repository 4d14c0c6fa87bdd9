// The tree: which snapshot the date sees, areas and words at the date, the way into a group and back.

const tree = { el: $("#tree"), fig: null, key: null, level: "root" };
views.tree = { wire: wireTree, draw: drawTree, cursor: drawTree, rows: treeRows };
function treeMade() { const all = D.tree.made; return all.findLast(([, s]) => s <= st.d) ?? all[0] ?? null; }
function drawTree() {
  const of = treeMade();
  $("#tree-none").hidden = !!of;
  tree.el.parentElement.hidden = !of;
  if (!of) return;
  const key = "tree/" + of[0];
  return show("tree", key, (fig) => {
    if (!fig) return;
    if (key !== tree.key) { tree.key = key; tree.level = "root"; }
    tree.fig = fig;
    const { topic, share, leaf, words: told } = fig.layout.meta, [trace] = fig.data, w = tree.el.clientWidth;
    const here = tree.here = topic.map((t) => t >= 0 && there(st.d, t) && D.n[st.d] > 0 ? now().share[cell(st.d, t)] : 0), empty = !here.some((v) => v > 0);
    tree.area = topic.map((t, k) => !leaf[k] ? 0 : t < 0 || empty ? share[k] : here[k]);
    tree.named = topic.map((t, k) => { const list = here[k] > 0 ? telling(st.d, t, 3) : []; return list.length ? list : told[k]; });
    trace.values = [0, ...tree.area];
    // fewer words where a cell is small: plotly would write none if it had no room for all
    const total = under(tree.level).reduce((sum, k) => sum + tree.area[k], 0), pixels = w * tree.el.clientHeight;
    const whole = (k) => leaf[k] ? tree.area[k] : under(String(k)).reduce((sum, j) => sum + tree.area[j], 0);
    const lines = (k) => 1 + fig.layout.meta.sides[leaf[k]].filter((side) => Math.sqrt(whole(k) / total * pixels) >= side).length;
    trace.labels = [W.treeTop, ...tree.named.map((list, k) => list.slice(0, lines(k)).map(shownText).join(leaf[k] ? "<br>" : " "))];
    trace.marker.line = { color: ["", ...topic.map((t) => (t >= 0 && t === st.t ? D.colours.light.text : D.colours.light.page))], width: [0, ...topic.map((t) => (t >= 0 && t === st.t ? 2 : 1))] };
    Object.assign(trace, { level: tree.level, hoverinfo: "none" });
    Object.assign(fig.layout, { width: w, height: tree.el.clientHeight, hovermode: "closest" });
    const date = D.labels[st.d], made = D.labels[of[1]];
    $("#tree-title").textContent = of[1] === st.d ? W.treeTitle : fill(W.treeMade, { made });
    $("#tree-caption").textContent = [fill(empty ? W.treeEmpty : W.treeCaption, { date }), of[1] > st.d ? W.treeLater : "", topic.some((t, k) => leaf[k] && t < 0) ? W.treeGrey : ""].join(" ");
    treePath();
    const plot = tree.el.querySelector(".plot"), fresh = !plot.on;
    Plotly.react(plot, painted(fig.data), painted({ ...fig.layout, template: D.template }), { ...D.config, staticPlot: false });
    if (!fresh) return;
    plot.on("plotly_hover", ({ points: [p], event }) => showTip(event, treeTip(p.id === "root" ? -1 : Number(p.id))));
    plot.on("plotly_unhover", hideTip);
    plot.on("plotly_treemapclick", ({ points: [p] }) => { treeGo(p.id); return false; });
  });
}
const above = (id) => { const { ids, parents } = tree.fig.data[0]; return parents[ids.indexOf(id)]; };
// a topic is selected; a group is entered, or left if it is the one on top
function treeGo(id) {
  const t = id === "root" ? -1 : tree.fig.layout.meta.topic[id];
  hideTip();
  if (t >= 0) return go({ t, picked: true }, true);
  if (id !== "root" && tree.fig.layout.meta.leaf[id]) return;
  treeLevel(id === tree.level ? above(id) || "root" : id);
}
function treeLevel(id) { tree.level = id; attempt("tree", drawTree); }
// the way back, and for keyboards the groups that may be entered
function treePath() {
  const steps = [], button = (id) => { const b = make("button", id === "root" ? W.treeTop : tree.named[id].join(" "), "quiet"); b.onclick = () => treeLevel(id); return b; };
  for (let id = above(tree.level); id; id = above(id)) steps.unshift(button(id), make("span", "›"));
  const groups = make("span", undefined, "groups");
  groups.append(...tree.fig.data[0].ids.filter((id) => id !== "root" && above(id) === tree.level && !tree.fig.layout.meta.leaf[id]).map(button));
  $("#tree-path").replaceChildren(...steps, ...(steps.length ? [make("b", tree.named[tree.level].join(" "))] : []), groups);
}
// the topics below a node
const under = (id) => tree.fig.layout.meta.leaf[id] ? [Number(id)] : tree.fig.data[0].ids.filter((k) => above(k) === id).flatMap(under);
function treeTip(k) {
  const t = k < 0 ? -1 : tree.fig.layout.meta.topic[k], leaves = under(k < 0 ? "root" : String(k)), date = D.labels[st.d];
  const part = percent(leaves.reduce((sum, j) => sum + tree.here[j], 0)), title = k < 0 ? W.treeTop : tree.named[k].join(" ");
  if (t >= 0) return [[t, title + " · " + fill(W.topic, { topic: t })], [fill(W.hoverCount, { date, n: Math.round(now().documents[cell(st.d, t)] || 0), share: percent(tree.area[k]) }), W.hoverOpen]];
  if (k >= 0 && tree.fig.layout.meta.leaf[k]) return [[null, title], [W.treeStranger]];
  const n = leaves.length === 1 ? W.topicOne : fill(W.topicMany, { n: leaves.length });
  return [[null, title], [fill(W.treeGroup, { n, share: part, date }), (k < 0 ? "root" : String(k)) === tree.level ? (k < 0 ? "" : W.treeBack) : W.treeCloser]];
}
function wireTree() { tree.el.addEventListener("pointerleave", hideTip); }
function treeRows() {
  const rows = [["group", "topic", "words", "share"]], name = (id) => { const words = []; for (let up = above(id); up && up !== "root"; up = above(up)) words.unshift(tree.named[up].join(" ")); return words.join(" › "); };
  tree.fig?.layout.meta.leaf.forEach((leaf, k) => { if (leaf) rows.push([name(String(k)), tree.fig.layout.meta.topic[k] < 0 ? "" : tree.fig.layout.meta.topic[k], tree.named[k].join(" "), tree.area[k].toFixed(4)]); });
  return rows;
}
