// The globe: dots and trails of the date, labels of the largest topics on the visible side.

import { cellIndex, currentReading, isActive, messages, page, topicName } from "./data.js";
import { $ } from "./dom.js";
import { dotBox, measuredLabel, placeLabels, shortened } from "./dotlabels.js";
import { inTheme, showFigure } from "./figures.js";
import { escapeLabel, format, percent } from "./format.js";
import { NEIGHBOURS } from "./neighbours.js";
import { select } from "./selection.js";
import { hasAny, state, views } from "./state.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const globe = { element: $("#globe"), fig: null, hits: [], rotation: null };
const GLOBE = { largest: 60, named: 16, dot: 0.14, smallest: 7, biggest: 0.06, widths: [1, 2, 3.2] };
const RADIANS = Math.PI / 180;
const toVector = (lon, lat) => [
  Math.cos(lat * RADIANS) * Math.cos(lon * RADIANS),
  Math.cos(lat * RADIANS) * Math.sin(lon * RADIANS),
  Math.sin(lat * RADIANS),
];
const toLonLat = (point) => [
  Math.atan2(point[1], point[0]) / RADIANS,
  Math.asin(Math.max(-1, Math.min(1, point[2]))) / RADIANS,
];
const dotProduct = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const addScaled = (start, x, one, y = 0, other = [0, 0, 0]) =>
  start.map((value, k) => value + x * one[k] + y * other[k]);

// east and north at a point of the sphere, as in views/globe/frame.py
function tangentBasis(point) {
  const far = Math.hypot(point[0], point[1]);
  const east = far > 1e-9 ? [-point[1] / far, point[0] / far, 0] : [0, 1, 0];
  return [
    east,
    [
      point[1] * east[2] - point[2] * east[1],
      point[2] * east[0] - point[0] * east[2],
      point[0] * east[1] - point[1] * east[0],
    ],
  ];
}

function tangentTo(point, target) {
  const cosine = dotProduct(point, target);
  const across = addScaled(target, -cosine, point);
  const length = Math.hypot(...across);
  const far = Math.atan2(length, cosine) / RADIANS / (length || 1);
  const [east, north] = tangentBasis(point);
  return [far * dotProduct(across, east), far * dotProduct(across, north)];
}

function moveAlong(point, [x, y]) {
  const far = Math.hypot(x, y) * RADIANS;
  const [east, north] = tangentBasis(point);
  const k = far > 1e-12 ? (Math.sin(far) / far) * RADIANS : RADIANS;
  return addScaled(
    point.map((value) => value * Math.cos(far)),
    x * k,
    east,
    y * k,
    north,
  );
}

// a path stretched so that its beginning is so many degrees from its end, as stretched() in views/globe/frame.py
function stretchPath(path, least) {
  const end = path.at(-1);
  const ways = path.map((point) => tangentTo(end, point));
  const far = Math.hypot(...ways[0]);
  const straight = far > 1e-9 ? ways[0].map((value) => value / far) : [1, 0];
  return ways.map(([x, y], k) => {
    const more = (least - far) * (1 - k / (path.length - 1));
    return moveAlong(end, [x + more * straight[0], y + more * straight[1]]);
  });
}

function topicsOnGlobe() {
  const { topics, lon, lat, drift, scale, back } = globe.fig.layout.meta;
  const positionAt = (slice, k) =>
    lat[slice][k] === -32768 ? null : toVector(lon[slice][k] / 100, lat[slice][k] / 100);
  const found = [];
  topics.forEach((topic, k) => {
    const here = isActive(state.slice, topic) && positionAt(state.slice, k);
    if (!here) return;
    const path = [];
    const from = [];
    for (let slice = Math.max(0, state.slice - back + 1); slice <= state.slice; slice++) {
      const point = positionAt(slice, k);
      if (point) {
        path.push(point);
        from.push(slice);
      }
    }
    const turn = drift[state.slice][k];
    found.push({
      topic,
      at: here,
      from: from[0],
      turn,
      path: path.length > 1 ? stretchPath(path, scale * turn) : [],
      share: currentReading().share[cellIndex(state.slice, topic)] || 0,
    });
  });
  return found.sort((a, b) => b.share - a.share);
}

// the visible side of the sphere, in plotly's own projection
function visibleSphere() {
  const plot = globe.element.querySelector(".plot");
  const { lon, lat } = globe.rotation;
  const size = globe.element.clientWidth;
  const radius = size * (0.5 - globe.fig.layout.meta.pad);
  const away = toVector(lon, lat);
  const [right, up] = tangentBasis(away);
  return {
    plot,
    size,
    radius,
    lon,
    lat,
    front: (point) => dotProduct(point, away),
    xy: (point) => [size / 2 + radius * dotProduct(point, right), size / 2 - radius * dotProduct(point, up)],
    lift(x, y) {
      const across = (x - size / 2) / radius;
      const upward = (size / 2 - y) / radius;
      const depth = 1 - across * across - upward * upward;
      return depth > 0
        ? addScaled(
            away.map((value) => value * Math.sqrt(depth)),
            across,
            right,
            upward,
            up,
          )
        : null;
    },
  };
}

const geoColumns = (list) => {
  const all = list.map((point) => (point ? toLonLat(point) : [NaN, NaN]));
  return { lon: all.map((point) => point[0]), lat: all.map((point) => point[1]) };
};

function visibleNames(dots, view) {
  const seen = dots.map((dot) => {
    const [x, y] = view.xy(dot.at);
    return { ...dot, x, y, depth: view.front(dot.at) };
  });
  const taken = seen.filter((dot) => dot.depth > 0).map((dot) => dotBox(dot.x, dot.y, dot.radius));
  globe.hits = seen.filter((dot) => dot.depth > 0);
  const wanted = seen
    .filter((dot) => dot.depth > 0.1)
    .sort((a, b) => (b.topic === state.topic) - (a.topic === state.topic))
    .slice(0, GLOBE.named);
  const marks = placeLabels(
    wanted.map((dot) => ({
      ...measuredLabel(dot.x, dot.y, dot.radius, shortened(topicName(state.slice, dot.topic, 2)), 12.5, 650),
      id: dot.topic,
    })),
    taken,
    view.size,
    NEIGHBOURS.sides,
  );
  const lifted = marks.map((mark) => ({ ...mark, point: view.lift(mark.x, mark.y) })).filter((mark) => mark.point);
  return { ...geoColumns(lifted.map((mark) => mark.point)), text: lifted.map((mark) => escapeLabel(mark.text)) };
}

function drawGlobe() {
  if (!globe.fig) return;
  const view = visibleSphere();
  const { size } = view;
  const light = page.colours.light;
  const all = topicsOnGlobe();
  const dots = all.slice(0, GLOBE.largest);
  const [trail, rings, points, names] = globe.fig.data;
  for (const dot of dots)
    dot.radius = Math.min(GLOBE.biggest * size, Math.max(GLOBE.smallest, GLOBE.dot * size * Math.sqrt(dot.share))) / 2;
  const data = [];
  const moving = dots.filter((dot) => dot.path.length);
  const ink = (list) => list.map((dot) => light.ink[dot.topic % 24]);
  for (const slot of new Set(moving.map((dot) => dot.topic % 24)))
    GLOBE.widths.forEach((width, k) => {
      const part = [];
      for (const { path } of moving.filter((dot) => dot.topic % 24 === slot)) {
        const end = (i) => Math.round((i * (path.length - 1)) / GLOBE.widths.length);
        part.push(...path.slice(end(k), end(k + 1) + 1), null);
      }
      data.push({ ...trail, ...geoColumns(part), line: { color: light.ink[slot], width } });
    });
  globe.dots = dots;
  data.push(
    {
      ...rings,
      ...geoColumns(moving.map((dot) => dot.path[0])),
      marker: { ...rings.marker, line: { width: 1.2, color: ink(moving) } },
    },
    {
      ...points,
      ...geoColumns(dots.map((dot) => dot.at)),
      marker: {
        ...points.marker,
        size: dots.map((dot) => 2 * dot.radius),
        color: dots.map((dot) => light.fill[dot.topic % 24]),
        line: { color: ink(dots), width: dots.map((dot) => (dot.topic === state.topic ? 2.6 : 1)) },
      },
    },
    { ...names, ...visibleNames(dots, view) },
  );
  const layout = {
    ...globe.fig.layout,
    width: size,
    height: size,
    geo: {
      ...globe.fig.layout.geo,
      projection: { ...globe.fig.layout.geo.projection, rotation: { lon: view.lon, lat: view.lat } },
    },
  };
  globe.element.style.height = size + "px";
  updateGlobeNote(all.length, dots.length, moving.length);
  return Plotly.react(view.plot, inTheme(data), inTheme({ ...layout, template: page.template }), {
    ...page.config,
    staticPlot: false,
  });
}

function updateGlobeNote(all, drawn, moving) {
  const sentences = [];
  const missing = !globe.fig.layout.meta.topics.length;
  if (missing) sentences.push(messages.globeMissing);
  else if (!all) sentences.push(format(messages.globeNone, { date: page.labels[state.slice] }));
  else {
    if (state.reading === "filtered") sentences.push(messages.globeFiltered);
    if (!moving) sentences.push(format(messages.globeFirst, { date: page.labels[state.slice] }));
    if (all > drawn) sentences.push(format(messages.globeRest, { n: all - drawn }));
  }
  $("#globe-note").textContent = sentences.join(" ");
}

function rotateTo(lon, lat) {
  globe.rotation = { lon: ((lon + 540) % 360) - 180, lat: Math.max(-80, Math.min(80, lat)) };
  drawGlobe();
}

function globeHitAt(event) {
  const box = globe.element.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const far = (hit) => Math.hypot(hit.x - x, hit.y - y) - hit.radius;
  const best = globe.hits.reduce((a, b) => (!a || far(b) < far(a) ? b : a), null);
  return best && far(best) < 8 ? best : null;
}

function globeTooltip({ topic, from, turn, share, path }) {
  const lines = [
    format(messages.hoverCount, {
      date: page.labels[state.slice],
      n: Math.round(currentReading().documents[cellIndex(state.slice, topic)] || 0),
      share: percent(share),
    }),
  ];
  if (path.length) lines.push(format(messages.globeTurned, { turn: Math.round(turn), date: page.labels[from] }));
  return [
    [topic, topicName(state.slice, topic) + " · " + format(messages.topic, { topic })],
    [...lines, messages.hoverOpen],
  ];
}

views.globe = {
  wire() {
    let down = null;
    const box = globe.element;
    box.addEventListener(
      "pointerdown",
      (event) => {
        down = { x: event.clientX, y: event.clientY };
      },
      true,
    );
    box.addEventListener("pointermove", (event) => {
      const hit = !event.buttons && event.pointerType !== "touch" && globeHitAt(event);
      hit ? showTooltip(event, globeTooltip(hit)) : hideTooltip();
    });
    box.addEventListener("pointerleave", hideTooltip);
    box.addEventListener(
      "click",
      (event) => {
        const hit = down && Math.hypot(event.clientX - down.x, event.clientY - down.y) < 5 && globeHitAt(event);
        if (hit) {
          globe.still = true;
          select({ topic: hit.topic, picked: true }, true);
          globe.still = false;
        }
      },
      true,
    );
    for (const button of document.querySelectorAll("[data-turn]"))
      button.onclick = () => {
        const { lon, lat } = visibleSphere();
        rotateTo(lon + Number(button.dataset.turn), lat);
      };
  },
  draw(changed) {
    if (!hasAny(changed, "topic", "slice", "reading", "theme", "size", "data")) return;
    const own = state.topic;
    const mayTurn = hasAny(changed, "topic") && !globe.still;
    return showFigure("globe", `globe/${state.reading}`, async (fig) => {
      globe.fig = fig;
      globe.rotation ??= fig.layout.geo.projection.rotation;
      const at = mayTurn && topicsOnGlobe().find((dot) => dot.topic === own)?.at;
      if (at && visibleSphere().front(at) < 0.3) {
        // only until it is 45 degrees from the middle: what was in view stays there as far as it can
        const away = toVector(globe.rotation.lon, globe.rotation.lat);
        const way = tangentTo(away, at);
        const part = 1 - 45 / Math.hypot(...way);
        const [lon, lat] = toLonLat(moveAlong(away, [way[0] * part, way[1] * part]));
        globe.rotation = { lon, lat: Math.max(-60, Math.min(60, lat)) };
      }
      await drawGlobe();
      if (globe.wired) return;
      globe.wired = true;
      globe.element.querySelector(".plot").on("plotly_relayout", (event) => {
        const lon = event["geo.projection.rotation.lon"];
        const lat = event["geo.projection.rotation.lat"];
        if (lon !== undefined) rotateTo(lon, lat);
      });
    });
  },
  cursor() {
    return drawGlobe();
  },
  rows() {
    const out = [["date", "topic", "words", "longitude", "latitude", "drift", "since"]];
    for (const dot of topicsOnGlobe()) {
      const [lon, lat] = toLonLat(dot.at);
      out.push([
        page.labels[state.slice],
        dot.topic,
        topicName(state.slice, dot.topic),
        Math.round(lon),
        Math.round(lat),
        dot.path.length ? Math.round(dot.turn) : "",
        dot.path.length ? page.labels[dot.from] : "",
      ]);
    }
    return out;
  },
};
