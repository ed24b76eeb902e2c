// Views of the launch that ask the server for more: memory, arrays, accesses, the profile, the pipeline, invocations.

import * as api from "./api.js";
import {access} from "./access.js";
import * as arrays from "./arrays.js";
import {hex, make} from "./dom.js";
import {grid} from "./grid.js";
import {invocations} from "./invocations.js";
import {page, trying} from "./page.js";
import {listing} from "./parts.js";
import {pipeline} from "./pipeline.js";
import {profile} from "./profile.js";
import {changed, focus, launchFields} from "./running.js";
import {panes} from "./views.js";

const BYTES = 512;
const MOST = 1 << 16;
const at = {space: "", address: 0, as: "words", width: 64};

const nothing = (pane, text) => pane.replaceChildren(make("p", {}, text));

export async function showMemory() {
  if (!page.state) { nothing(panes.memory, "Launch something to look at its memory."); return; }
  const names = page.state.memories.map((m) => m.name);
  if (!names.includes(at.space)) at.space = names.find((n) => n === "s" || n === "D") || names[0];
  const again = (change) => () => { change(); trying(showMemory); };
  const buffers = /^g\d*$/.test(at.space) ? page.state.buffers : [];
  const around = (b) => b.address <= at.address && at.address < b.address + b.size;
  if (buffers.length && !buffers.some(around)) at.address = buffers[0].address;
  const inside = buffers.find(around);
  const buffer = make("select", {"aria-label": "Buffer", onchange: again(() => { at.address = Number(buffer.value); })},
    ...buffers.map((b) => make("option", {value: b.address, selected: b === inside}, `${hex(b.address)}, ${b.size} bytes`)));
  const space = make("select", {"aria-label": "Memory", onchange: again(() => { at.space = space.value; at.address = 0; })}, ...names.map((n) => make("option", {selected: n === at.space}, n)));
  const address = make("input", {value: hex(at.address), size: 10, "aria-label": "Address", title: "A number or an expression: $r1 + 0x10", onchange: () => trying(async () => {
    at.address = Number(address.value === "" ? 0 : (await api.ask("evaluate", {expression: address.value})).value);
    await showMemory();
  })});
  const as = make("select", {"aria-label": "Shown as", onchange: again(() => { at.as = as.value; })}, ...arrays.SHAPES.map((n) => make("option", {selected: n === at.as}, n)));
  const width = make("input", {value: at.width, size: 4, "aria-label": "Values in a row", onchange: again(() => { at.width = Math.min(1024, Math.max(1, Number(width.value) || 64)); })});
  const size = Math.min(at.as === "words" ? BYTES : MOST, inside ? inside.address + inside.size - at.address : MOST);
  const answer = await api.ask("memory", {space: at.space, address: at.address, size});
  panes.memory.replaceChildren(
    make("div", {class: "bar"}, space, ...(buffers.length ? [" buffer ", buffer] : []), " at ", address, " as ", as, ...(at.as === "words" ? [] : [width, " in a row"])),
    at.as === "words" ? arrays.memory(answer, page.memory, (what, value) => changed("set", {what, value})) : arrays.memoryPicture(answer, at.as, at.width));
  page.memory = at.as === "words" ? answer : null;
}

// The grid of the last stop, and the one before it: a grid that is drawn again at one place marks what it has marked.
const grids = {position: null, now: null, before: null};

export async function showGrid() {
  if (!page.state || page.state.focus_name === "") { nothing(panes.grid, "Launch something to see the registers of all its lanes."); return; }
  const {position, focus: thread} = page.state;
  const answer = await api.ask("grid");
  if (position !== grids.position) Object.assign(grids, {position, before: grids.now});
  grids.now = answer;
  const set = (what, value, thread) => changed("set", {what, value, thread});
  panes.grid.replaceChildren(...grid(answer, grids.before, {...page.state, focus: thread}, page.numbers, {set, focus}));
}

export async function showArrays() {
  if (!page.state) { nothing(panes.arrays, "Launch a kernel to see its arrays."); return; }
  const answer = await api.ask("arrays");
  panes.arrays.replaceChildren(...arrays.pane(answer.arrays, 0, page.arrays));
  page.arrays = answer.arrays;
}

export async function showAccess() {
  if (!page.state || page.state.finished) { nothing(panes.access, "Launch a kernel and step to a load or store: here is drawn what it touches."); return; }
  panes.access.replaceChildren(...access(await api.ask("access"), page.state.instruction));
}

export async function showPipeline() {
  if (!page.state) { nothing(panes.pipeline, "Launch the program to see what the core has under way."); return; }
  panes.pipeline.replaceChildren(...pipeline(await api.ask("pipeline"), (address) => listing.go(address)));
}

let what = "";

export async function showInvocations() {
  if (!page.state) { nothing(panes.invocations, "Launch the shader to see its invocations as a picture."); return; }
  const look = (name) => { what = name; trying(showInvocations); };
  let answer;
  try {
    answer = await api.ask("invocations", {what});
  } catch (e) {
    what = "";
    throw e;
  }
  panes.invocations.replaceChildren(...invocations(answer, page.state, {look, focus}));
}

// Counts belong to one program as it was: those of another are not left standing.
export function forgetProfile() {
  panes.profile.replaceChildren(make("button", {type: "button", onclick: () => trying(showProfile)}, "Count this launch"));
}

export async function showProfile() {
  if (!page.unit) return;
  nothing(panes.profile, "The launch runs from its start and is counted …");
  try {
    const unit = page.unit;
    const data = await api.ask("profile", {unit: unit.unit, launch: launchFields()});
    if (page.unit !== unit) return;
    panes.profile.replaceChildren(...profile(data, (address) => listing.go(address)));
    listing.heat = new Map(data.instructions.map((i) => [i.address, i]));
    listing.heat.most = Math.max(1, ...data.instructions.map((i) => i.executions));
    listing.draw();
  } catch (e) {
    nothing(panes.profile, e.message);
    throw e;
  }
}
