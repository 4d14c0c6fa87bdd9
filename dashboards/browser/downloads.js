// Downloads: rows of a view as comma-separated values, figures as SVG.

import { $, createElement } from "./dom.js";
import { views } from "./state.js";

function downloadFile(name, text, type) {
  const link = createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

export function saveTable(name) {
  const quoted = (value) =>
    typeof value === "number"
      ? value
      : '"' + (/^[=+\-@]/.test(value) ? "'" : "") + String(value).replace(/"/g, '""') + '"';
  downloadFile(
    `${name}.csv`,
    "\ufeff" +
      views[name]
        .rows()
        .map((row) => row.map(quoted).join())
        .join("\r\n") +
      "\r\n",
    "text/csv",
  );
}

export function savePicture(name) {
  const { clientWidth: width, clientHeight: height } = $("#" + name);
  Plotly.downloadImage($(`#${name} .plot`), { format: "svg", filename: name, width, height });
}
