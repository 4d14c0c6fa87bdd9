// Hierarchy of topics: choice by date, areas and words at the date, zoom into groups and back.

import { cellIndex, currentReading, namingWords, isActive, messages, page } from "./data.js";
import { $, createElement } from "./dom.js";
import { inTheme, showFigure } from "./figures.js";
import { escapeLabel, format, percent } from "./format.js";
import { guard, select } from "./selection.js";
import { state, views } from "./state.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const tree = { element: $("#tree"), fig: null, key: null, level: "root" };
views.tree = { wire: wireTree, draw: drawTree, cursor: drawTree, rows: treeTable };

function treeSnapshot() {
  const all = page.tree.made;
  return all.findLast(([, slice]) => slice <= state.slice) ?? all[0] ?? null;
}

function drawTree() {
  const snapshot = treeSnapshot();
  $("#tree-none").hidden = !!snapshot;
  tree.element.parentElement.hidden = !snapshot;
  if (!snapshot) return;
  const key = "tree/" + snapshot[0];
  return showFigure("tree", key, (fig) => {
    if (!fig) return;
    if (key !== tree.key) {
      tree.key = key;
      tree.level = "root";
    }
    tree.fig = fig;
    const { topic: topics, share, leaf, words: snapshotWords } = fig.layout.meta;
    const [trace] = fig.data;
    const width = tree.element.clientWidth;
    const here = (tree.here = topics.map((topic) =>
      topic >= 0 && isActive(state.slice, topic) && page.counts[state.slice] > 0
        ? currentReading().share[cellIndex(state.slice, topic)]
        : 0,
    ));
    const empty = !here.some((value) => value > 0);
    tree.area = topics.map((topic, k) => (!leaf[k] ? 0 : topic < 0 || empty ? share[k] : here[k]));
    tree.named = topics.map((topic, k) => {
      const list = here[k] > 0 ? namingWords(state.slice, topic, 3) : [];
      return list.length ? list : snapshotWords[k];
    });
    trace.values = [0, ...tree.area];
    // fewer words where a cell is small: plotly would write none if it had no room for all
    const total = leavesBelow(tree.level).reduce((sum, k) => sum + tree.area[k], 0);
    const pixels = width * tree.element.clientHeight;
    const whole = (k) => (leaf[k] ? tree.area[k] : leavesBelow(String(k)).reduce((sum, j) => sum + tree.area[j], 0));
    const lines = (k) =>
      1 + fig.layout.meta.sides[leaf[k]].filter((side) => Math.sqrt((whole(k) / total) * pixels) >= side).length;
    trace.labels = [
      messages.treeTop,
      ...tree.named.map((list, k) =>
        list
          .slice(0, lines(k))
          .map(escapeLabel)
          .join(leaf[k] ? "<br>" : " "),
      ),
    ];
    trace.marker.line = {
      color: [
        "",
        ...topics.map((topic) =>
          topic >= 0 && topic === state.topic ? page.colours.light.text : page.colours.light.page,
        ),
      ],
      width: [0, ...topics.map((topic) => (topic >= 0 && topic === state.topic ? 2 : 1))],
    };
    Object.assign(trace, { level: tree.level, hoverinfo: "none" });
    Object.assign(fig.layout, { width, height: tree.element.clientHeight, hovermode: "closest" });
    const date = page.labels[state.slice];
    const made = page.labels[snapshot[1]];
    $("#tree-title").textContent =
      snapshot[1] === state.slice ? messages.treeTitle : format(messages.treeMade, { made });
    $("#tree-caption").textContent = [
      format(empty ? messages.treeEmpty : messages.treeCaption, { date }),
      snapshot[1] > state.slice ? messages.treeLater : "",
      topics.some((topic, k) => leaf[k] && topic < 0) ? messages.treeGrey : "",
    ].join(" ");
    drawTreePath();
    const plot = tree.element.querySelector(".plot");
    const fresh = !plot.on;
    Plotly.react(plot, inTheme(fig.data), inTheme({ ...fig.layout, template: page.template }), {
      ...page.config,
      staticPlot: false,
    });
    if (!fresh) return;
    plot.on("plotly_hover", ({ points: [node], event }) =>
      showTooltip(event, treeTooltip(node.id === "root" ? -1 : Number(node.id))),
    );
    plot.on("plotly_unhover", hideTooltip);
    plot.on("plotly_treemapclick", ({ points: [node] }) => {
      enterNode(node.id);
      return false;
    });
  });
}

const parentOf = (id) => {
  const { ids, parents } = tree.fig.data[0];
  return parents[ids.indexOf(id)];
};

// a topic is selected; a group is entered, or left if it is the one on top
function enterNode(id) {
  const topic = id === "root" ? -1 : tree.fig.layout.meta.topic[id];
  hideTooltip();
  if (topic >= 0) return select({ topic, picked: true }, true);
  if (id !== "root" && tree.fig.layout.meta.leaf[id]) return;
  showTreeLevel(id === tree.level ? parentOf(id) || "root" : id);
}

function showTreeLevel(id) {
  tree.level = id;
  guard("tree", drawTree);
}

// the way back, and for keyboards the groups that may be entered
function drawTreePath() {
  const steps = [];
  const button = (id) => {
    const element = createElement("button", id === "root" ? messages.treeTop : tree.named[id].join(" "), "quiet");
    element.onclick = () => showTreeLevel(id);
    return element;
  };
  for (let id = parentOf(tree.level); id; id = parentOf(id)) steps.unshift(button(id), createElement("span", "›"));
  const groups = createElement("span", undefined, "groups");
  groups.append(
    ...tree.fig.data[0].ids
      .filter((id) => id !== "root" && parentOf(id) === tree.level && !tree.fig.layout.meta.leaf[id])
      .map(button),
  );
  $("#tree-path").replaceChildren(
    ...steps,
    ...(steps.length ? [createElement("b", tree.named[tree.level].join(" "))] : []),
    groups,
  );
}

// the topics below a node
const leavesBelow = (id) =>
  tree.fig.layout.meta.leaf[id]
    ? [Number(id)]
    : tree.fig.data[0].ids.filter((k) => parentOf(k) === id).flatMap(leavesBelow);

function treeTooltip(k) {
  const topic = k < 0 ? -1 : tree.fig.layout.meta.topic[k];
  const leaves = leavesBelow(k < 0 ? "root" : String(k));
  const date = page.labels[state.slice];
  const part = percent(leaves.reduce((sum, j) => sum + tree.here[j], 0));
  const title = k < 0 ? messages.treeTop : tree.named[k].join(" ");
  if (topic >= 0)
    return [
      [topic, title + " · " + format(messages.topic, { topic })],
      [
        format(messages.hoverCount, {
          date,
          n: Math.round(currentReading().documents[cellIndex(state.slice, topic)] || 0),
          share: percent(tree.area[k]),
        }),
        messages.hoverOpen,
      ],
    ];
  if (k >= 0 && tree.fig.layout.meta.leaf[k]) return [[null, title], [messages.treeStranger]];
  const count = leaves.length === 1 ? messages.topicOne : format(messages.topicMany, { n: leaves.length });
  return [
    [null, title],
    [
      format(messages.treeGroup, { n: count, share: part, date }),
      (k < 0 ? "root" : String(k)) === tree.level ? (k < 0 ? "" : messages.treeBack) : messages.treeCloser,
    ],
  ];
}

function wireTree() {
  tree.element.addEventListener("pointerleave", hideTooltip);
}

function treeTable() {
  const rows = [["group", "topic", "words", "share"]];
  const name = (id) => {
    const words = [];
    for (let up = parentOf(id); up && up !== "root"; up = parentOf(up)) words.unshift(tree.named[up].join(" "));
    return words.join(" › ");
  };
  tree.fig?.layout.meta.leaf.forEach((leaf, k) => {
    if (leaf)
      rows.push([
        name(String(k)),
        tree.fig.layout.meta.topic[k] < 0 ? "" : tree.fig.layout.meta.topic[k],
        tree.named[k].join(" "),
        tree.area[k].toFixed(4),
      ]);
  });
  return rows;
}
