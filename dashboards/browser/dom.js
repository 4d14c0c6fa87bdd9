// Small helpers for the document, the reader's preferences, and the stored theme.

export const $ = (selector) => document.querySelector(selector);
const stored = (name) => ({
  get() {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  },
  set(value) {
    try {
      localStorage.setItem(name, value);
    } catch {
      /* a page from disk may not store */
    }
  },
});
export const themeStore = stored("theme");
export const keysStore = stored("keys");

export function createElement(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

export const systemTheme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
export const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
