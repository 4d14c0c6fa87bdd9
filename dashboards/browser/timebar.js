// The time bar: one tick per slice, drift alarms on top.

import { page, sliceCount } from "./data.js";
import { $ } from "./dom.js";
import { state } from "./state.js";

export function drawTimeBar() {
  const canvas = $("#time canvas");
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const scale = devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  const colours = page.colours[state.theme];
  canvas.width = width * scale;
  canvas.height = height * scale;
  context.scale(scale, scale);
  const x = (slice) => 11 + (sliceCount > 1 ? slice / (sliceCount - 1) : 0.5) * (width - 22);
  context.strokeStyle = colours.muted;
  context.fillStyle = colours.outline;
  context.fillRect(11, height / 2 - 1, width - 22, 2);
  if ((width - 22) / sliceCount >= 3)
    for (let slice = 0; slice < sliceCount; slice++)
      page.counts[slice]
        ? context.fillRect(x(slice) - 0.5, height / 2 - 5, 1, 10)
        : (context.beginPath(), context.arc(x(slice), height / 2, 3, 0, 7), context.stroke());
  context.fillStyle = colours.alarm;
  for (const [slice, kind] of page.events)
    if (kind === "drift") {
      context.beginPath();
      context.moveTo(x(slice) - 3.5, 3);
      context.lineTo(x(slice) + 3.5, 3);
      context.lineTo(x(slice), 9);
      context.fill();
    }
}
