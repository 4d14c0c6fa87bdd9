// Labels beside dots that overlap neither dots nor each other; the counterpart of looks/dotlabels.py.

import { createElement } from "./dom.js";

const measuringContext = createElement("canvas").getContext("2d");

export function measuredLabel(x, y, radius, text, size, weight) {
  measuringContext.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return { x, y, radius, text, width: measuringContext.measureText(text).width + 2, height: 1.25 * size };
}

export const dotBox = (x, y, radius) => [x - radius, y - radius, x + radius, y + radius];
const overlaps = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

function labelBox({ x, y, radius, width, height }, side) {
  const far = radius + 3;
  return {
    right: [x + far, y - height / 2, x + far + width, y + height / 2],
    left: [x - far - width, y - height / 2, x - far, y + height / 2],
    above: [x - width / 2, y - far - height, x + width / 2, y - far],
    below: [x - width / 2, y + far, x + width / 2, y + far + height],
  }[side];
}

export function placeLabels(marks, taken, size, sides, most = Infinity) {
  const out = [];
  for (const mark of marks) {
    if (out.length >= most) break;
    const box = sides
      .map((side) => labelBox(mark, side))
      .find(
        (candidate) =>
          Math.min(candidate[0], candidate[1]) >= 0 &&
          Math.max(candidate[2], candidate[3]) <= size &&
          !taken.some((occupied) => overlaps(candidate, occupied)),
      );
    if (box) {
      taken.push(box);
      out.push({ x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, text: mark.text, id: mark.id });
    }
  }
  return out;
}

export const shortened = (text) => (text.length > 24 ? text.slice(0, 23).trimEnd() + "…" : text);
