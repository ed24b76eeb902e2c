// The invocations of a shader as a picture; click one to look at its registers.

import {bytes} from "./api.js";
import {make, pixelAt} from "./dom.js";

const KINDS = ["automatic", "colour", "f32", "four bytes", "two halves", "bits"];
const TALLEST = 360;
let kind = KINDS[0];

const floats = (text) => new Float32Array(bytes(text).buffer);
const words = (text) => new Uint32Array(bytes(text).buffer);

function half(h) {
  const e = h >> 10 & 31, m = h & 1023;
  return (h >> 15 ? -1 : 1) * (e === 0 ? m / 1024 * 2 ** -14 : e === 31 ? (m ? NaN : Infinity) : (1 + m / 1024) * 2 ** (e - 15));
}

// on: {look(what), focus(invocation)}
export function invocations(data, state, on) {
  const names = ["place", ...data.results, ...Object.keys(state.widths).length ? Object.keys(state.registers).filter((n) => /^(pa|sa|r|i|o)\d+$/.test(n)) : []];
  if (!names.includes(data.what)) names.push(data.what);
  const what = make("select", {"aria-label": "Show", onchange: () => on.look(what.value)}, ...names.map((n) => make("option", {value: n, selected: n === data.what}, n === "place" ? "where each stands" : n)));
  const other = make("input", {size: 6, placeholder: "pa0", "aria-label": "Register", onchange: () => on.look(other.value.trim())});
  const as = make("select", {"aria-label": "As", onchange: () => { kind = as.value; on.look(data.what); }}, ...KINDS.map((k) => make("option", {selected: k === kind}, k)));
  const order = new Int32Array(bytes(data.order).buffer);
  const {canvas, text} = picture(data, order, state.focus);
  canvas.addEventListener("click", (e) => {
    const [column, row] = pixelAt(e, data);
    const number = order[row * data.width + column];
    if (number >= 0) on.focus(number);
  });
  canvas.tabIndex = 0;
  canvas.addEventListener("keydown", (e) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.width, ArrowDown: data.width}[e.key];
    const number = order[order.indexOf(state.focus) + step];
    if (step && number >= 0) { e.preventDefault(); on.focus(number); }
  });
  return [make("div", {class: "bar"}, what, ...(data.bits ? [" as ", as] : []), "register ", other), canvas,
    make("p", {class: "quiet"}, `${text} Framed: ${state.focus_name}; click another to look at its registers.`), table(data, order)];
}

// [red, green, blue] from 0 to 1 of every pixel, and what they stand for.
function colours(data) {
  const count = data.width * data.height, n = data.components, v = floats(data.data), w = words(data.data);
  const grey = (value, text) => ramp(Array.from({length: count}, (_, k) => value(k)), text);
  if (data.what === "place") return grey((k) => v[k], "Brighter invocations stand further on; those that have ended are dark.");
  const usual = n >= 3 ? "colour" : "f32";
  const choice = data.bits && kind !== "automatic" ? kind : usual;
  if (choice === "four bytes") return {of: (k) => [w[k] & 255, w[k] >> 8 & 255, w[k] >> 16 & 255].map((x) => x / 255), text: "Bytes 0 to 2 as red, green and blue."};
  if (choice === "two halves") return scaled((k) => [half(w[k] & 0xffff), half(w[k] >>> 16), 0], count, "Two f16 as red and green");
  if (choice === "bits") return grey((k) => w[k], "The word as a number");
  if (choice === "colour" && n >= 3) return scaled((k) => [v[k * n], v[k * n + 1], v[k * n + 2]], count, "Red, green and blue");
  return grey((k) => v[k * n], "The number");
}

function ramp(values, text) {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(...finite, Infinity), high = Math.max(...finite, -Infinity);
  return {of: (k) => { const t = high > low ? (values[k] - low) / (high - low) : 0.5; return [Math.min(1, 1.6 * t), t * t, (0.35 + 0.65 * t) * (1 - 0.5 * t)]; },
    text: `${text}${finite.length ? `, from ${low} to ${high}` : ""}.`};
}

function scaled(of, count, text) {
  let most = 1;
  for (let k = 0; k < count; k++) for (const x of of(k)) if (Number.isFinite(x)) most = Math.max(most, x);
  return {of: (k) => of(k).map((x) => Math.max(0, Math.min(1, x / most)) || 0), text: `${text}${most > 1 ? `, divided by ${most}` : ""}.`};
}

function picture(data, order, focus) {
  const scale = Math.max(1, Math.floor(Math.min(TALLEST / data.height, TALLEST / data.width)));
  const {of, text} = colours(data);
  const canvas = make("canvas", {width: data.width * scale, height: data.height * scale, role: "img", "aria-label": `${data.what} of ${data.width} by ${data.height} invocations`});
  const context = canvas.getContext("2d");
  for (let k = 0; k < order.length; k++) {
    if (order[k] < 0) continue;
    const [r, g, b] = of(k).map((x) => Math.round(255 * (x || 0)));
    context.fillStyle = `rgb(${r} ${g} ${b})`;
    context.fillRect(k % data.width * scale, Math.floor(k / data.width) * scale, scale, scale);
  }
  const at = order.indexOf(focus);
  if (at >= 0 && scale > 3) {
    context.lineWidth = 2;
    context.strokeStyle = "#fff";
    context.strokeRect(at % data.width * scale + 1, Math.floor(at / data.width) * scale + 1, scale - 2, scale - 2);
    context.lineWidth = 1;
    context.strokeStyle = "#c00";
    context.strokeRect(at % data.width * scale + .5, Math.floor(at / data.width) * scale + .5, scale - 1, scale - 1);
  }
  return {canvas, text};
}

function table(data, order) {
  const n = data.components, v = floats(data.data), w = words(data.data);
  const text = (k, c) => data.what === "place" ? v[k] < 0 ? "ended" : v[k].toString(16).padStart(4, "0") : data.bits && kind !== "f32" && kind !== "automatic" ? w[k].toString(16).padStart(8, "0") : String(Number(v[k * n + c].toPrecision(6)));
  const rows = [];
  for (let k = 0; k < Math.min(order.length, 32); k++) {
    if (order[k] < 0) continue;
    rows.push(make("tr", {}, make("th", {class: "n"}, String(order[k])), ...Array.from({length: n}, (_, c) => make("td", {class: "n mono"}, text(k, c)))));
  }
  return make("details", {}, make("summary", {}, "As numbers"), make("table", {}, make("tbody", {}, ...rows)), order.length > 32 ? make("p", {class: "quiet"}, `${order.length - 32} more`) : "");
}
