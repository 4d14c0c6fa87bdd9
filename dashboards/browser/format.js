// Texts from numbers and names.

export const format = (text, values) => text.replace(/\{(\w+)\}/g, (_, k) => values[k]);
export const percent = (share) => {
  const value = 100 * share;
  return value >= 9.95 ? value.toFixed(0) + " %" : value > 0 && value < 0.05 ? "under 0.1 %" : value.toFixed(1) + " %";
};
// a text as it is compared with what readers look for: small letters, accents composed, as the tokeniser has words
export const folded = (text) => text.normalize("NFC").toLowerCase().replaceAll("i\u0307", "i");
export const ordinal = (k) => k + (k % 100 > 10 && k % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][k % 10] ?? "th"));

// plotly reads tags and formulas in texts: foreign words are escaped
export const escapeLabel = (topic) => {
  const safe = topic.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return /^\$.*\$$/s.test(safe) ? "\u200b" + safe : safe;
};
