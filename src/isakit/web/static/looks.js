// Views of the program itself: bits, graph, PTX, comparison, manual.

import * as api from "./api.js";
import {explanation} from "./bits.js";
import {comparison, marks} from "./compare.js";
import {$, make} from "./dom.js";
import {graph} from "./graph.js";
import {hue} from "./listing.js";
import {markdown} from "./markdown.js";
import {page, trying} from "./page.js";
import {editor, listing} from "./parts.js";
import {panes} from "./views.js";

// --- bits ---

export async function showBits(line) {
  panes.bits.replaceChildren(...explanation(await api.ask("explain", {unit: page.unit.unit, address: line.address})));
}

export async function hover(line, place) {
  const box = $("hover");
  if (!line) { box.hidden = true; return; }
  const unit = page.unit;
  const answer = await api.ask("explain", {unit: unit.unit, address: line.address});
  if (page.unit !== unit || listing.hovered !== line) return;
  box.replaceChildren(...explanation(answer).slice(0, -1));
  box.hidden = false;
  const size = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(place.right + 8, innerWidth - size.width - 8))}px`;
  box.style.top = `${Math.max(4, Math.min(place.bottom + 4, innerHeight - size.height - 8))}px`;
}

// --- graph ---

const drawn = {of: null, picture: null};

export async function showGraph() {
  if (!page.unit) panes.graph.replaceChildren();
  if (drawn.of === page.unit) return;
  const unit = drawn.of = page.unit;
  if (!unit) return;
  const parts = graph(await api.ask("graph", {unit: unit.unit}), (address) => listing.go(address));
  if (drawn.of !== unit) return;
  drawn.picture = parts[0];
  panes.graph.replaceChildren(...parts);
  standInGraph(page.state?.address ?? null);
}

export const standInGraph = (address) => drawn.picture?.stand?.(address);

// --- lines that belong together ---

export function showPtx(text) {
  page.ptx = text;
  if (!text) { panes.ptx.replaceChildren(make("p", {}, "This program does not come from PTX.")); return; }
  panes.ptx.replaceChildren(make("pre", {}, ...text.split("\n").map((line, k) => make("div", {"data-ptx": k + 1}, line || " "))));
}

const band = (source) => `inset 4px 0 0 hsl(${hue(source)} 65% 55%)`;

// They have one colour in the text, in PTX and in the listing.
export async function colourLines() {
  const compiled = page.unit?.file === "editor" && page.unit.language !== "asm";
  listing.coloured = compiled;
  const hues = new Map();
  if (compiled) {
    for (let n = 0; n < Math.min(listing.total, 2000); n++) {
      const line = await listing.whole(n);
      if (!line?.source) continue;
      hues.set(line.source, hue(line.source));
      const row = panes.ptx.querySelector(`[data-ptx="${line.ptx}"]`);
      if (row) row.style.boxShadow = band(line.source);
    }
  }
  editor.colourLines(hues);
  listing.draw();
}

export async function linkListing(source) {
  if (page.unit?.file !== "editor") return;
  const found = [];
  for (let n = 0; n < Math.min(listing.total, 4000); n++) {
    const line = await listing.whole(n);
    if (line?.source === source) found.push(line.address);
  }
  listing.linked = new Set(found);
  if (found.length) listing.reveal(await listing.numberAt(Math.min(...found)));
  listing.draw();
}

// --- comparison ---

export async function showCompare() {
  const others = page.units.filter((u) => u.isa === page.unit?.isa && u.unit !== page.unit.unit);
  const other = make("select", {"aria-label": "Compare with"}, ...others.map((u) => make("option", {value: u.unit}, `${u.name || u.file} (${u.file})`)));
  const out = make("div");
  const compare = () => trying(async () => {
    if (!other.value) return;
    const unit = page.unit;
    const found = await api.ask("diff", {a: unit.unit, b: other.value});
    out.replaceChildren(...comparison(found, (address) => listing.go(address)));
    if (page.unit === unit) listing.mark(marks(found));
  });
  other.addEventListener("change", compare);
  if (other.value) panes.compare.replaceChildren(make("div", {class: "bar"}, `${page.unit?.name || "this program"} with `, other), out);
  else panes.compare.replaceChildren(make("p", {}, "Open another program of the same machine: drop a file, or keep this text with Keep."));
  await compare();
}

// --- manual ---

let manualOf = "";

export async function showManual() {
  const isa = page.unit?.isa || $("isa").value;
  if (panes.manual.firstChild && manualOf === isa) return;
  const before = panes.manual.querySelector("input")?.value;
  manualOf = isa;
  const out = make("div");
  const word = make("input", {type: "search", placeholder: "an instruction, a register, a word", "aria-label": "Look up", size: 30});
  const look = (name) => trying(async () => {
    word.value = name;
    const answer = await api.ask("manual", {isa, word: name});
    if (answer.pages.length) out.replaceChildren(...answer.pages.map((p) => make("article", {class: "manual"}, ...markdown(p))));
    else out.replaceChildren(make("ul", {}, ...answer.found.map(([isa, n, text]) => make("li", {}, make("button", {type: "button", onclick: () => look(n)}, n), ` ${isa} ${text}`))), answer.found.length ? "" : "Nothing has this word.");
  });
  panes.manual.replaceChildren(make("form", {class: "bar", onsubmit: (e) => { e.preventDefault(); look(word.value); }}, word, make("button", {}, "Look up"), make("span", {class: "quiet"}, `of ${isa}`)), out);
  if (before) await look(before);
}
