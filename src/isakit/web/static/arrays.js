// Memory and arrays, as numbers or as a picture.

import {bytes} from "./api.js";
import {make} from "./dom.js";

const TYPES = {
  int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
};
const SHOWN = 512;

export function values(array) {
  const data = bytes(array.data);
  const Type = TYPES[array.dtype] || Uint8Array;
  return new Type(data.buffer, 0, Math.floor(data.length / Type.BYTES_PER_ELEMENT));
}

export function pane(arrays, wide, before) {
  if (!arrays.length) return [make("p", {}, "This launch has no arrays.")];
  return arrays.map((a) => {
    const v = values(a);
    const old = before?.find((b) => b.index === a.index);
    const was = old && old.dtype === a.dtype ? values(old) : null;
    const width = a.shape.length > 1 ? a.shape[a.shape.length - 1] : wide || Math.min(16, v.length);
    return make("section", {}, make("h2", {}, `argument ${a.index}: ${a.spec}`), picture(v, a.shape.length > 1 ? width : wide || Math.ceil(Math.sqrt(v.length))), numbers(v, width, was));
  });
}

function numbers(v, width, was) {
  const rows = [];
  for (let k = 0; k < Math.min(v.length, SHOWN); k += width) {
    rows.push(make("tr", {}, make("th", {class: "n"}, String(k)), ...[...v.slice(k, Math.min(k + width, SHOWN))].map((x, n) =>
      make("td", {class: `n mono ${was && was[k + n] !== x ? "changed" : ""}`}, typeof x === "number" && !Number.isInteger(x) ? x.toPrecision(6) : String(x)))));
  }
  const out = make("div", {}, make("table", {}, make("tbody", {}, ...rows)));
  if (v.length > SHOWN) out.append(make("p", {class: "quiet"}, `${v.length - SHOWN} more elements`));
  return out;
}

function picture(v, width) {
  if (v.length < 64 || !width) return null;
  const height = Math.ceil(v.length / width);
  let low = Infinity;
  let high = -Infinity;
  const all = Array.from(v, Number);
  for (const x of all) if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
  const canvas = sized(width, height, `picture of the values from ${low} to ${high}`);
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  all.forEach((x, k) => {
    const t = high > low ? (x - low) / (high - low) : 0;
    image.data.set([255 * Math.min(1, 1.6 * t), 255 * t * t, 255 * (0.35 + 0.65 * t) * (1 - 0.5 * t), 255], 4 * k);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

export const SHAPES = ["words", "bytes", "u16", "f32", "colours"];

// Memory as a picture; `shape`: what its values are.
export function memoryPicture(answer, shape, width) {
  const data = Uint8Array.from(answer.data.match(/../g) || [], (h) => parseInt(h, 16)).buffer;
  const v = shape === "bytes" ? new Uint8Array(data) : shape === "u16" ? new Uint16Array(data, 0, data.byteLength >> 1) : shape === "f32" ? new Float32Array(data, 0, data.byteLength >> 2) : new Uint32Array(data, 0, data.byteLength >> 2);
  let used = v.length;
  while (used > width && v[used - 1] === 0) used--;
  used = Math.min(v.length, Math.ceil(used / width) * width);
  return make("div", {}, shape === "colours" ? coloured(v.slice(0, used), width) : picture(v.slice(0, used), width),
    make("p", {class: "quiet"}, `${used} values from ${answer.space}[0x${answer.address.toString(16)}] on; rows of zeros at the end are left out.`));
}

// Words as colours: red in the lowest byte.
function coloured(v, width) {
  const canvas = sized(width, Math.ceil(v.length / width), "words of memory as colours");
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  v.forEach((x, k) => image.data.set([x & 255, x >> 8 & 255, x >> 16 & 255, 255], 4 * k));
  context.putImageData(image, 0, 0);
  return canvas;
}

function sized(width, height, label) {
  const canvas = make("canvas", {width, height: Math.max(1, height), role: "img", "aria-label": label});
  canvas.style.width = `${Math.max(64, Math.min(384, width * Math.max(1, Math.floor(256 / width))))}px`;
  return canvas;
}

// set(what, value): a word is written.
export function memory(answer, before, set) {
  const data = answer.data;
  const old = before && before.space === answer.space && before.address === answer.address ? before.data : null;
  const lines = [];
  for (let k = 0; k < data.length; k += 32) {
    const row = data.slice(k, k + 32);
    const words = [];
    for (let j = 0; j < row.length; j += 8) {
      const word = row.slice(j, j + 8);
      const text = word.match(/../g).reverse().join("");
      const what = `${answer.space}[0x${(answer.address + (k + j) / 2).toString(16)}]`;
      words.push(make("input", {class: `cell-value ${old && old.slice(k + j, k + j + 8) !== word ? "changed" : ""}`, value: text, "aria-label": what, size: 8, onchange: (e) => set(what, `0x${e.target.value.replace(/^0x/, "")}`)}), " ");
    }
    const letters = row.match(/../g).map((h) => parseInt(h, 16)).map((c) => c >= 32 && c < 127 ? String.fromCharCode(c) : "·").join("");
    lines.push(make("div", {}, `${answer.space}[0x${(answer.address + k / 2).toString(16).padStart(4, "0")}] `, ...words, ` ${letters}`));
  }
  return make("pre", {class: "dump"}, ...lines);
}
