// Launching and stepping: the form, the moves, and what shows where the launch stands.

import * as api from "./api.js";
import {$, hex, make, say} from "./dom.js";
import {showBits, standInGraph} from "./looks.js";
import * as machine from "./machine.js";
import {page, remember, stopsOf, trying} from "./page.js";
import {editor, listing} from "./parts.js";
import {isShown, panes, refresh, show} from "./views.js";

// --- the form ---

const LOOKED_AT = 200;  // instructions

// What arrays hold of which nothing is said: floats where the program computes with any.
function element() {
  const texts = Array.from({length: Math.min(listing.total, LOOKED_AT)}, (_, k) => listing.line(k)?.text ?? "");
  return texts.some((text) => /\bf32\b/.test(text)) ? "f32" : "u32";
}

function example(p) {
  if (/^(f32|f64)$/.test(p.kind)) return `${p.kind}:1.0`;
  if (p.kind.endsWith("*")) return `out:${p.kind.slice(0, -1)}:256`;
  if (p.kind.startsWith("ptr") || (!p.kind && p.size === 4)) return `out:${element()}:256`;
  return `i${8 * p.size}:1`;
}

let formOf = null;

export function showForm(unit) {
  const wanted = page.wanted || {};
  if (page.wanted) formOf = null;
  page.wanted = null;
  $("launch-form").hidden = unit.launch > 0 || unit.picked === true;
  if (wanted.grid) $("grid").value = wanted.grid.join(",");
  if (wanted.textures) $("textures").value = wanted.textures.join(" ");
  if (wanted.block) $("block").value = wanted.block.join(",");
  const before = formOf === unit.unit ? [...$("args").querySelectorAll("input")].map((i) => i.value) : [];
  formOf = unit.unit;
  const params = unit.params || [];
  const count = params.length || (unit.isa === "tesla" ? 0 : Math.max(1, (wanted.args || []).length + 1));
  $("args").replaceChildren(...Array.from({length: count}, (_, k) => make("label", {}, make("span", {}, params[k] ? `${params[k].name || `#${k}`} ${params[k].kind}` : `argument ${k}`),
    make("input", {value: (wanted.args || [])[k] ?? before[k] ?? (params[k] ? example(params[k]) : ""), onchange: summary}))));
  summary();
}

export function launchFields() {
  const numbers = (text) => text.split(/[,x×\s]+/).filter(Boolean).map(Number);
  return {
    grid: numbers($("grid").value), block: numbers($("block").value),
    args: [...$("args").querySelectorAll("input")].map((i) => i.value.trim()).filter(Boolean),
    textures: $("textures").value.split(/\s+/).filter(Boolean),
  };
}

const many = (numbers, what) => `${numbers.join("×")} ${what}${numbers.length === 1 && numbers[0] === 1 ? "" : "s"}`;

export function summary() {
  const l = launchFields();
  remember.soon();
  $("launch-summary").textContent = page.unit?.isa === "tesla" ? [`${many(l.grid, "block")} of ${many(l.block, "thread")}`, ...l.args].join(", ") : l.args.join(" ") || "as it is";
}

// --- moves ---

const LIVE = ["lanes", "registers", "grid", "stack", "memory", "arrays", "access", "pipeline", "invocations"];

// The view of a launch that says most.
export const usual = (unit) => ({vuc: "pipeline", usse: "invocations"})[unit.isa] || "lanes";

let launching = null;

// Begin a launch; whoever asks for one while it begins waits for the same.
export function launch() {
  launching ??= begin().finally(() => { launching = null; });
  return launching;
}

async function begin() {
  if (!page.unit) throw new api.Failure({error: "open a program first"});
  say("launching …");
  adopt(await api.ask("launch", {unit: page.unit.unit, launch: launchFields()}));
  for (const {kind, where, condition} of stopsOf(page.unit)) await trying(async () => { page.state = await api.ask("breakpoint", {kind: kind.startsWith("watch") ? "watch" : "break", where, condition}); });
  if (!LIVE.some(isShown)) show(usual(page.unit));
  await showState();
}

// A launch that begins here, or was begun for a pixel.
export function adopt(state) {
  page.arrays = page.memory = null;
  page.state = state;
}

export async function move(how, where = "") {
  if (launching || !page.state) await launch();
  say("…");
  page.state = await api.ask("move", {how, where});
  await showState();
}

export function forget() {
  page.state = null;
  return showState();
}

export const changed = (verb, fields) => trying(async () => { page.state = await api.ask(verb, fields); await showState(); });

export const focus = (thread) => changed("focus", {thread});

export async function toggleStop(line) {
  if (!page.state) await launch();
  const there = page.state.breakpoints.find((b) => b.kind === "breakpoint" && b.addresses.length === 1 && b.addresses[0] === line.address);
  await changed("breakpoint", there ? {delete: there.number} : {where: hex(line.address)});
}

// --- where it stands ---

const addresses = (stops) => new Set(stops.flatMap((b) => b.kind === "breakpoint" ? b.addresses : []));

function registerBar() {
  const kinds = make("select", {"aria-label": "Numbers as", onchange: () => { page.numbers = kinds.value; showState(); }}, ...["hex", "signed", "float"].map((k) => make("option", {selected: k === page.numbers}, k)));
  const expression = make("input", {size: 22, placeholder: "s[0x40]:f32 * 2", "aria-label": "Expression"});
  const result = make("output");
  return make("div", {class: "bar"}, kinds, make("form", {class: "bar", onsubmit: (e) => {
    e.preventDefault();
    trying(async () => { result.textContent = `= ${(await api.ask("evaluate", {expression: expression.value})).value}`; });
  }}, expression, make("button", {}, "Evaluate"), result));
}

export async function showState() {
  const s = page.state;
  for (const b of document.querySelectorAll("[data-move]")) b.disabled = !page.unit;
  if (!s) {
    for (const n of ["lanes", "registers", "stack", "stops"]) panes[n].replaceChildren(make("p", {}, "Nothing is launched: press Launch, or L."));
    listing.here = null;
    listing.stops = addresses(stopsOf(page.unit));
    listing.draw();
    standInGraph(null);
    return;
  }
  panes.lanes.replaceChildren(...machine.activity(s, {focus}));
  panes.registers.replaceChildren(registerBar(), ...machine.registers(s, page.numbers, {move: (how, where) => trying(() => move(how, where))}));
  panes.stack.replaceChildren(...machine.frames(s));
  panes.stops.replaceChildren(...machine.breakpoints(s, {
    remove: (number) => changed("breakpoint", {delete: number}),
    add: (where, condition, kind) => changed("breakpoint", {where, condition, kind}),
  }));
  listing.stops = addresses(s.breakpoints);
  page.stops.set(page.unit.unit, s.breakpoints.map(({kind, where, condition, addresses}) => ({kind, where, condition: condition ?? "", addresses})));
  remember.soon();
  await listing.stand(s.address);
  if (s.address !== null && listing.unit?.file === "editor") {
    const line = await listing.whole(await listing.numberAt(s.address));
    if (line) editor.link([line.source], true);
  }
  standInGraph(s.address);
  if (s.address !== null && listing.selected < 0 && isShown("bits")) await showBits(s);  // nothing else was asked for
  await refresh();
  const where = s.finished || !s.position ? "" : `: ${s.unit} ${s.position}${s.place ? `, at ${s.place}` : ""}`;
  say(`${s.text || s.reason}${s.reason === "fault" ? "" : where}`, s.reason === "fault");
}
