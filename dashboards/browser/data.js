// The page's data: columns of both readings, and what is computed from them for one topic and slice.

import { format } from "./format.js";
import { state } from "./state.js";

export let page;
export let figures;
export let messages;
export let sliceCount;
export let topicCount;
export let readings;
export let documentsByTopic;
export let defaults;
let pairs;
let nameAt;
export let decodedArrays;

const arrayTypes = {
  Float32Array,
  Float64Array,
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Int32Array,
  Uint32Array,
};
export function decodeArray([kind, body]) {
  const text = atob(body);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new arrayTypes[kind](bytes.buffer);
}
const arrayAt = (k) => (decodedArrays[k] ??= decodeArray(page.arrays[k]));

export function resolveArrays(value, from = arrayAt) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((x) => resolveArrays(x, from));
  if ("$" in value) {
    const flat = from(value.$);
    if (!value.width) return flat;
    return Array.from({ length: flat.length / value.width }, (_, i) =>
      flat.subarray(i * value.width, (i + 1) * value.width),
    );
  }
  return Object.fromEntries(Object.entries(value).map(([k, x]) => [k, resolveArrays(x, from)]));
}

export function loadData(data, given = {}) {
  page = data;
  figures = given;
  messages = page.wording;
  sliceCount = page.labels.length;
  topicCount = page.topics.length;
  decodedArrays = [];
  readings = {};
  documentsByTopic = new Map();
  pairs = new Set(page.pairs);
  nameAt = arrayAt(page.names.at.$);
  for (const [name, columns] of Object.entries(page.readings)) {
    const reading = { vocabulary: page.vocabulary[name], usual: columns.usual, scale: columns.scale };
    for (const key of ["documents", "share", "drift_angle", "certainty", "count", "word", "weight"])
      reading[key] = arrayAt(columns[key].$);
    reading.start = new Uint32Array(sliceCount * topicCount + 1);
    for (let i = 0; i < sliceCount * topicCount; i++) reading.start[i + 1] = reading.start[i] + reading.count[i];
    readings[name] = reading;
  }
  for (const row of page.documents) {
    const key = row[0] + "/" + row[1];
    documentsByTopic.has(key) ? documentsByTopic.get(key).push(row) : documentsByTopic.set(key, [row]);
  }
  for (const name of page.columns) page[name] = resolveArrays(page[name]);
  defaults = {
    slice: sliceCount - 1,
    topic: page.open.topic,
    word: null,
    otherSlice: null,
    otherTopic: null,
    reading: page.open.reading,
    measure: page.open.measure,
    form: "",
    tab: page.tabs[0],
    all: false,
    picked: false,
    zoom: 1,
  };
}

export const cellIndex = (slice, topic) => slice * topicCount + page.topics.indexOf(topic);
export const isActive = (slice, topic) =>
  topic !== null && !Number.isNaN(currentReading().documents[cellIndex(slice, topic)]);
export const currentReading = () => readings[state.reading];

export function topWords(slice, topic, top = 60, reading = currentReading()) {
  const index = cellIndex(slice, topic);
  const out = [];
  for (let k = reading.start[index]; k < reading.start[index + 1] && out.length < top; k++)
    out.push([reading.vocabulary[reading.word[k]], reading.weight[k] ** 2 * reading.scale]);
  return out;
}

export const certaintyLevel = (certainty) =>
  messages.levels.split("|")[certainty >= 0.9 ? 0 : certainty >= 0.7 ? 1 : certainty >= 0.4 ? 2 : 3];

// the name of a topic: the one it was given, or parts of it until they have so many words, as text/topic_names.py; without a name its strongest
// words, no two with the same first four letters
export function topicName(slice, topic, top = 3) {
  if (topic in page.given) return page.given[topic];
  const named = [];
  let count = 0;
  for (const part of page.names.list[nameAt[cellIndex(slice, topic)]] ?? []) {
    if (count >= top) break;
    named.push(part);
    count += part.split(" ").length;
  }
  if (named.length) return named.join(", ");
  const alike = (word) => word.slice(0, 4).toLowerCase();
  const out = [];
  for (const [word] of topWords(slice, topic, 4 * top))
    if (out.length < top && !out.some((other) => alike(other) === alike(word))) out.push(word);
  return inOrder(out).join(" ") || format(messages.topic, { topic });
}

// words of a pair that stand beside each other in the order in which texts have them; as rows/word_order.py
function inOrder(words) {
  for (let pass = 1; pass < words.length; pass++)
    for (let i = 0; i + 1 < words.length; i++)
      if (pairs.has(words[i + 1] + " " + words[i])) [words[i], words[i + 1]] = [words[i + 1], words[i]];
  return words;
}

export function lifespan(topic) {
  let a = -1;
  let b = -1;
  for (let slice = 0; slice < sliceCount; slice++)
    if (isActive(slice, topic)) {
      if (a < 0) a = slice;
      b = slice;
    }
  return [a, b];
}

export function nearestActive(slice, topic) {
  const [firstSlice, lastSlice] = lifespan(topic);
  let known = Math.min(Math.max(slice, firstSlice), lastSlice);
  while (known > firstSlice && !isActive(known, topic)) known--;
  return known;
}

export function driftRatio(slice, topic) {
  const usual = currentReading().usual[page.topics.indexOf(topic)];
  const drift = currentReading().drift_angle[cellIndex(slice, topic)];
  if (!usual || !(drift >= 0)) return null;
  return drift / usual;
}

export const driftText = (ratio) =>
  ratio === null
    ? messages.unjudged
    : ratio > 1.25
      ? format(messages.faster, { times: ratio.toFixed(1) })
      : ratio < 0.75
        ? messages.slower
        : messages.usual;
export const toAddress = (label) => label.replace(/\s+/g, "-");
export const sliceOfAddress = (label) => page.labels.findIndex((known) => toAddress(known) === label);
export const isAfterWarmUp = (reading, slice) => reading !== readings.filtered || !page.warm_up[slice];

// the name that a topic was given, else its strongest words, none of which begins with the first letters of another
export function namingWords(slice, topic, top) {
  if (topic in page.given) return [page.given[topic]];
  const out = [];
  for (const [word] of topWords(slice, topic, 4 * top))
    if (
      out.length < top &&
      !out.some((other) => word.startsWith(other.slice(0, 4)) || other.startsWith(word.slice(0, 4)))
    )
      out.push(word);
  return out;
}
