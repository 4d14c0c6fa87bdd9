// What the badge of a live page says of the run and the age of its data.

import { format } from "./format.js";

const clockTime = (at) => new Date(1000 * at).toTimeString().slice(0, 5);
const elapsedText = (seconds) =>
  seconds < 60
    ? Math.round(seconds) + " s"
    : seconds < 3600
      ? Math.round(seconds / 60) + " min"
      : Math.round(seconds / 3600) + " h";

// its kind and text, `silent` seconds after the last answer to a poll; hidden pages poll rarely
export function badgeOf(news, silent, now, hidden, messages) {
  const age = news.age === null ? null : news.age + silent;
  const time = age === null ? "" : clockTime(news.at - news.age);
  const ago = elapsedText(age);
  if (silent > (hidden ? 30 : 15)) return ["stopped", format(messages.silent, { time: clockTime(now - silent) })];
  if (news.problem) return ["stopped", news.problem];
  if (news.busy && news.at - news.busy > 30) return ["waiting", format(messages.busy, { time: clockTime(news.busy) })];
  if (news.finished) return ["stopped", format(messages.finished, { time })];
  if (!news.writing) return ["stopped", format(messages.stopped, { time })];
  if (news.usual !== null && age > Math.max(3 * news.usual, 10)) return ["waiting", format(messages.waitingFor, { ago })];
  return ["live", format(messages.live, { ago })];
}
