// The tooltip, and swatches in the colour of a topic.

import { page } from "./data.js";
import { $, createElement } from "./dom.js";
import { state } from "./state.js";

const tooltip = $("#tip");

export function showTooltip(event, [[topic, title], lines]) {
  const head = createElement("b");
  if (topic !== null) head.append(colourSwatch(createElement("span", undefined, "swatch"), topic));
  head.append(createElement("span", title));
  tooltip.replaceChildren(head, ...lines.map((line) => createElement("div", line)));
  tooltip.hidden = false;
  const width = tooltip.offsetWidth;
  const height = tooltip.offsetHeight;
  tooltip.style.left = Math.max(6, Math.min(innerWidth - width - 6, event.clientX + 16)) + "px";
  tooltip.style.top =
    (event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18) + "px";
}

export function colourSwatch(element, topic) {
  const colours = page.colours[state.theme];
  element.style.background = colours.fill[topic % 24];
  element.style.borderColor = colours.ink[topic % 24];
  return element;
}

export const hideTooltip = () => {
  tooltip.hidden = true;
};
