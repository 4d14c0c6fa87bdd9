// What the badge of a live page says: how the run fares, and how old its newest data are.

import { format } from "./format.js";

const clockTime = (at) => new Date(1000 * at).toTimeString().slice(0, 5);
const elapsedText = (seconds) =>
  seconds < 60
    ? Math.round(seconds) + " s"
    : seconds < 3600
      ? Math.round(seconds / 60) + " min"
      : Math.round(seconds / 3600) + " h";

// its kind and text: from the last answer to a poll and the seconds since it came, the seconds of the clock, whether the
// page is hidden, which then polls rarely, and the page's texts
export function badgeOf(news, silent, now, hidden, texts) {
  const age = news.age === null ? null : news.age + silent;
  if (silent > (hidden ? 30 : 15)) return ["stopped", format(texts.silent, { time: clockTime(now - silent) })];
  if (news.problem) return ["stopped", news.problem];
  if (news.busy && news.at - news.busy > 30) return ["waiting", format(texts.busy, { time: clockTime(news.busy) })];
  const written = age === null ? "" : clockTime(news.at - news.age);
  if (news.finished) return ["stopped", format(texts.finished, { time: written })];
  if (!news.writing) return ["stopped", format(texts.stopped, { time: written })];
  const late = news.usual && age > Math.max(3 * news.usual, 10);
  return late
    ? ["waiting", format(texts.waitingFor, { ago: elapsedText(age) })]
    : ["live", format(texts.live, { ago: elapsedText(age) })];
}
