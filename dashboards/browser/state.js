// The one selection of the page, the state of the session, and the registry of views.

export const INSET = 18;
export const EVERYTHING = new Set([
  "slice",
  "topic",
  "word",
  "otherSlice",
  "otherTopic",
  "reading",
  "measure",
  "form",
  "tab",
  "theme",
  "all",
  "picked",
  "zoom",
  "size",
  "data",
]);

// every view registers here: { wire(), draw(changed), cursor(), rows() }, each optional; wire once at the start, draw when
// something else than the date changed (the set says what), cursor when the date moved, rows for "save table"
export const views = {};
export const isLive = "live" in document.documentElement.dataset;

export const hasAny = (changed, ...keys) => keys.some((k) => changed.has(k));

export const state = { theme: "light" };

// timers and marks that are no part of the selection
export const session = { timer: 0, printing: false, mark: null };
