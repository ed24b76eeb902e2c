// What a reader has found out about a file: names, comments, bookmarks, types of parameters. Every change can be taken
// back; the whole is saved as a project file, which `isakit dis`, `debug` and `asm` read.

import * as api from "./api.js";
import {$, download, hex, make, say} from "./dom.js";
import {page, remember, stopsOf, tell, trying} from "./page.js";
import {listing} from "./parts.js";
import {showForm, showState} from "./running.js";
import {fit, panes} from "./views.js";

// The file of a unit in `page.projects`: the project as it is, those before, those that were taken back.
function entry(file) {
  if (!page.projects.has(file)) page.projects.set(file, {now: {}, past: [], future: []});
  return page.projects.get(file);
}

// Names come from files: `__proto__` and `constructor` are names like others.
const said = (of, name) => of && Object.hasOwn(of, name) ? of[name] : undefined;

const put = (of, name, value) => Object.defineProperty(of, name, {value, configurable: true, enumerable: true, writable: true});

function program(project, name) {
  const programs = project.programs ??= {};
  if (!Object.hasOwn(programs, name)) put(programs, name, {});
  return programs[name];
}

// The worker checks a project and gives the programs of the file again, with what it says of them.
async function adopted(file, project) {
  const answer = await api.ask("project", {file, project});
  const found = entry(file);
  found.now = answer.project;
  found.text = answer.text;
  page.units = page.units.map((u) => answer.units.find((n) => n.unit === u.unit) ?? u);
  const unit = page.units.find((u) => u.unit === page.unit?.unit);
  if (unit && unit.file === file) {
    page.unit = unit;
    if (!page.state) showForm(unit);
    await listing.again(unit);
    await fit();
  }
  remember.soon();
  return answer;
}

// Whether notes can be kept of what is in view: those of a text stand in the text.
const kept = () => page.unit && page.unit.file !== "editor" && !page.unit.launch;

let last = Promise.resolve();

// Changes come one after the other: keys may be pressed faster than the worker answers.
function inTurn(what) {
  last = last.catch(() => {}).then(what);
  return last;
}

const change = (edit) => inTurn(async () => {
  if (!kept()) throw new api.Failure({error: page.unit ? "names and comments of a text stand in the text; notes are kept of a file" : "open a file first"});
  const {file} = page.unit;
  const found = entry(file);
  const before = found.now, next = structuredClone(before);
  edit(next, program(next, page.unit.name));
  await adopted(file, next);
  found.past.push(before);
  found.future = [];
  await showNotes();
});

const step = (from, to) => inTurn(async () => {
  const found = page.unit && entry(page.unit.file);
  if (!found?.[from].length) { say(from === "past" ? "nothing to undo" : "nothing to redo"); return; }
  const before = found.now;
  await adopted(page.unit.file, found[from].at(-1));
  found[from].pop();
  found[to].push(before);
  await showNotes();
});

export const undo = () => step("past", "future");
export const redo = () => step("future", "past");

// --- what is said of an instruction ---

const KINDS = {
  labels: ["Name of this place", "name", false], comments: ["Comment", "comment", true], bookmarks: ["Bookmark", "bookmark", false],
};

function keep(of, key, text) {
  if (text) put(of, key, text);
  else delete of[key];
}

// Ask for a text about the selected instruction; an empty one takes away what was said.
export async function annotate(kind) {
  if (!kept()) { await change(() => {}); return; }
  const line = listing.selected >= 0 && await listing.whole(listing.selected);
  if (!line) { say("select an instruction in the listing first", true); return; }
  const [title, label, several] = KINDS[kind];
  const before = said(entry(page.unit.file).now.programs, page.unit.name)?.[kind]?.[line.address] ?? "";
  const input = make(several ? "textarea" : "input", {value: before, "aria-label": label, id: "note-text", ...several ? {rows: 4, cols: 60} : {size: 40}});
  const form = make("form", {class: "bar", onsubmit: (e) => {
    e.preventDefault();
    $("dialog").close();
    trying(() => change((_, own) => keep(own[kind] ??= {}, line.address, several ? input.value.trimEnd() : input.value.trim()))).then(() => listing.place.focus());
  }}, input, make("button", {}, "Keep"));
  tell(`${title} at ${hex(line.address)}`, form);
  input.focus();
}

// --- the view ---

function row(kind, address, text) {
  return make("tr", {}, make("td", {}, make("button", {type: "button", onclick: () => listing.go(Number(address))}, hex(Number(address)))),
    make("td", {}, KINDS[kind][1]), make("td", {}, text),
    make("td", {}, make("button", {type: "button", "aria-label": `Remove ${KINDS[kind][1]} at ${hex(Number(address))}`, onclick: () => trying(() => change((_, own) => { delete own[kind][address]; }))}, "×")));
}

const heads = (...names) => make("thead", {}, make("tr", {}, ...names.map((n) => make("th", {scope: "col"}, n))));

function parameters(own) {
  const params = page.unit.params ?? [];
  if (!params.length) return [];
  const field = (k, what, shown) => make("input", {value: own.params?.[k]?.[what] ?? "", placeholder: shown || "", size: 12, "aria-label": `${what} of parameter ${k}`, onchange: (e) => trying(() => change((_, of) => {
    const param = (of.params ??= {})[k] ??= {};
    param[what] = e.target.value.trim();
    if (!param.name && !param.type) delete of.params[k];
  }))});
  return [make("h3", {}, "Parameters"), make("table", {}, heads("parameter", "name", "type"), make("tbody", {}, ...params.map((p, k) => make("tr", {}, make("th", {scope: "row"}, `#${k}, ${p.size} bytes`), make("td", {}, field(k, "name", p.name)), make("td", {}, field(k, "type", p.kind))))))];
}

async function names(project) {
  if (page.unit.isa !== "usse") return [];
  const known = (await api.ask("glsl", {unit: page.unit.unit})).names;
  return [make("h3", {}, "Names of the shader"), make("table", {}, heads("in the file", "here"), make("tbody", {}, ...known.map((n) => make("tr", {}, make("th", {scope: "row"}, n),
    make("td", {}, make("input", {value: said(project.names, n) ?? "", size: 20, "aria-label": `Name for ${n}`, onchange: (e) => trying(() => change((whole) => keep(whole.names ??= {}, n, e.target.value.trim())))})))))) ];
}

export async function showNotes() {
  const unit = page.unit;
  if (!kept()) { panes.notes.replaceChildren(make("p", {}, "Open a file: names, comments and bookmarks of its programs are kept here, and saved as a project file.")); return; }
  const project = entry(unit.file).now, own = said(project.programs, unit.name) ?? {};
  const action = (text, what, key = "") => make("button", {type: "button", title: key, onclick: () => trying(what)}, text);
  const rows = Object.keys(KINDS).flatMap((kind) => Object.entries(own[kind] ?? {}).map(([a, text]) => [Number(a), row(kind, a, text)])).sort(([a], [b]) => a - b);
  const parts = [
    make("div", {class: "bar"}, action("Name", () => annotate("labels"), "F2"), action("Comment", () => annotate("comments"), ";"), action("Bookmark", () => annotate("bookmarks"), "M"),
      action("Undo", undo, "Ctrl+Z"), action("Redo", redo, "Ctrl+Y"), action("Save project", saveProject)),
    make("label", {class: "wide"}, "About the file ", make("textarea", {rows: 3, value: project.notes ?? "", onchange: (e) => trying(() => change((whole) => { whole.notes = e.target.value; }))})),
    rows.length ? make("table", {}, heads("at", "what", "text", "remove"), make("tbody", {}, ...rows.map(([, r]) => r))) : make("p", {class: "quiet"}, "Select an instruction: F2 gives its place a name, ; a comment, M a bookmark."),
    ...parameters(own),
  ];
  panes.notes.replaceChildren(...parts);
  const more = await names(project).catch((e) => [make("p", {class: "quiet"}, e.message)]);
  if (page.unit === unit) panes.notes.replaceChildren(...parts, ...more);
}

// The shader as GLSL, in the names that were given.
export async function showGlsl() {
  const unit = page.unit;
  const {text} = await api.ask("glsl", {unit: unit.unit});
  if (page.unit === unit) panes.glsl.replaceChildren(make("pre", {}, text));
}

// --- the file ---

export async function saveProject() {
  if (!kept()) throw new api.Failure({error: "open a file first"});
  const {file} = page.unit;
  const next = structuredClone(entry(file).now);
  for (const unit of page.units.filter((u) => u.file === file)) {
    const stops = stopsOf(unit).filter(({kind}) => kind === "breakpoint").map(({where, condition}) => ({where, condition}));
    if (stops.length || said(next.programs, unit.name)) program(next, unit.name).breakpoints = stops;
  }
  const {text} = await adopted(file, next);
  download(text, "application/json", `${file}.project.json`);
  say(`saved; isakit dis --project ${file}.project.json ${file} shows it in a terminal`);
}

// A project file that was opened belongs to the file that it names, or to the one in view.
export async function openProject(project, name) {
  const file = [project.file, page.unit?.file].find((f) => f && f !== "editor" && page.units.some((u) => u.file === f));
  if (!file) throw new api.Failure({error: `${name} is a project: open ${project.file || "its file"} first, or both together`});
  const before = entry(file).now;
  const {fits} = await adopted(file, project);
  Object.assign(entry(file), {past: [...entry(file).past, before], future: []});
  for (const unit of page.units.filter((u) => u.file === file)) {
    const stops = said(project.programs, unit.name)?.breakpoints ?? [];
    if (stops.length) page.stops.set(unit.unit, stops.map(({where, condition}) => ({kind: "breakpoint", where, condition: condition ?? "", addresses: /^(0x[0-9a-f]+|\d+)$/i.test(where) ? [Number(where)] : []})));
  }
  if (!page.state) await showState();
  await showNotes();
  say(fits ? `${name}: notes of ${file}` : `${name} belongs to another content of ${project.file || file}: its addresses may mean something else`, !fits);
}

export const rememberedProjects = () => [...page.projects].filter(([, {now}]) => now.sha256).map(([file, {now}]) => [file, now]);

export async function restoreProjects(projects) {
  for (const [file, project] of projects ?? []) {
    if (page.units.some((u) => u.file === file)) await trying(() => adopted(file, project));
  }
}
