// Lessons, and pages that are handed on: in an address, or as a file.

import * as api from "./api.js";
import {$, download, make, say} from "./dom.js";
import {page, remember, tell, trying} from "./page.js";
import {editor, listing} from "./parts.js";
import {choose, machineChosen, mayGo, openFiles, room, showFiles, showUnits, write} from "./programs.js";
import {rememberedProjects, restoreProjects} from "./project.js";
import {launchFields} from "./running.js";
import {decode, encode} from "./state.js";
import {arranged, panes, show} from "./views.js";

function paragraphs(text) {
  return text.trim().split(/\n\s*\n/).map((p) => make("p", {}, ...p.split(/(`[^`]+`)/).map((t) => t.startsWith("`") ? make("code", {}, t.slice(1, -1)) : t)));
}

// What an exercise has besides its task: hints, one after the other, and its check.
function judged(exercise) {
  const hints = make("ol", {class: "hints"}), verdicts = make("ul", {class: "verdicts", "aria-live": "polite"});
  const left = [...exercise.hints];
  const hint = make("button", {type: "button", id: "hint", onclick: () => {
    hints.append(make("li", {}, ...paragraphs(left.shift())[0].childNodes));
    hint.disabled = !left.length;
  }}, "Hint");
  const check = make("button", {type: "button", id: "check", onclick: () => trying(async () => {
    const {checks} = await api.ask("exercise", {name: exercise.name.replace("exercise-", ""), source: editor.text});
    verdicts.replaceChildren(...checks.map((c) => make("li", {class: c.passed ? "good" : "bad"}, `${c.passed ? "✓" : "✗"} ${c.asked}${c.found ? ` (${c.found})` : ""}`)));
    say(checks.every((c) => c.passed) ? "solved" : "not yet");
  })}, "Check");
  return [make("p", {}, check, " ", hint), verdicts, hints];
}

export async function openLesson(name) {
  const l = await api.lesson(name);
  if (await mayGo(`“${l.title}”`)) await showLesson(l, name);
}

async function showLesson(l, name) {
  page.lesson = name;
  $("earlier").parentNode.before($("own"));  // below the lessons, if a file has brought them up
  for (const b of document.querySelectorAll("[data-lesson]")) b.setAttribute("aria-current", String(b.dataset.lesson === name));
  const [task, ...more] = paragraphs(l.task.charAt(0).toUpperCase() + l.task.slice(1));
  task.prepend(make("b", {}, "Task. "));
  $("task").replaceChildren(make("strong", {}, l.title), ...paragraphs(l.about), task, ...more);
  const read = [];  // programs that are to be read, beside the text
  for (const [file, text] of Object.entries(l.files || {})) {
    const answer = await api.ask("open", {name: file, data: api.base64(new TextEncoder().encode(text)), isa: l.isa, variant: l.variant});
    showFiles(answer.files);
    if (answer.units) showUnits(answer.units, file);
    read.push(...answer.units ?? []);
  }
  for (const [file, spec] of Object.entries(l.arrays || {})) showFiles((await api.ask("array", {name: file, spec})).files);
  page.scene = l.scene ? {name: l.scene, program: l.program} : null;
  page.frames = null;
  await adopt(l);
  if (read.length) await choose(read[0]);
  if (l.kind === "exercise") $("task").append(...judged(l));  // not before there is a text to check
  if (l.view) await show(l.view);
  room("write");
  document.body.dataset.lesson = name;
}

// What somebody handed on in an address.
export async function openAddress(fragment) {
  const state = await decode(fragment);
  page.lesson = state.lesson || null;
  await adopt(state);
  if (state.odd.length) say(`left out of the address, since it cannot be used: ${state.odd.join(", ")}`, true);
}

export async function adopt(state) {
  $("language").value = state.language || "asm";
  $("isa").value = state.isa || "tesla";
  await machineChosen();
  if (state.variant) $("variant").value = state.variant;
  page.wanted = state.launch || null;
  await write(state.source);
}

// What a reload gives back.
export const remembered = () => ({
  page: current(), original: page.original, unit: page.unit?.unit, files: page.files, stops: [...page.stops], projects: rememberedProjects(), panes: arranged().saved(), hash: location.hash,
});

export async function restore(entry) {
  page.stops = new Map(entry.stops);
  const {lesson} = entry.page;
  if (lesson) await trying(async () => showLesson(await api.lesson(lesson), lesson));
  await openFiles(entry.files.map(({file, path}) => path ? Object.assign(file, {path}) : file));
  await restoreProjects(entry.projects);
  await adopt(entry.page);
  page.original = entry.original;
  const unit = page.units.find((u) => u.unit === entry.unit);
  if (unit && unit !== page.unit) await choose(unit);
  arranged().restore(entry.panes);
  if (page.unit) say(`as it was: ${page.unit.name || page.unit.file}`);
}

const current = () => ({
  isa: $("isa").value, variant: $("variant").value, language: $("language").value, source: editor.text, launch: launchFields(), lesson: page.lesson,
});

export async function share() {
  const fragment = await encode(current());
  history.replaceState(null, "", `#${fragment}`);
  remember.soon();  // under the new address: what is loaded again is this page, with its files
  // The address of a server holds its user's token, and is of use on this machine only: the part after # is handed on.
  const open = document.documentElement.dataset.backend === "page";
  const shared = open ? location.href : `#${fragment}`;
  const [what, how] = open ? ["Address to share", "Whoever opens it sees this page. "]
    : ["Fragment to share", "Whoever runs the workbench opens it by putting that part after their own address. "];
  let copied = "";
  try {
    await navigator.clipboard.writeText(shared);
    copied = `The ${open ? "address" : "part after #"} is in the clipboard.`;
  } catch (e) {
    copied = "";
  }
  tell("Share this page", make("p", {}, "The text and the launch are in the address, after #. Nothing was uploaded. ", how, copied),
    make("textarea", {readOnly: true, rows: 6, cols: 60, value: shared, "aria-label": what}));
}

const SAVED = ["lanes", "registers", "stack", "graph", "bits"];

// A page on its own: listing, state and pictures as they are now, without scripts.
export function save() {
  const style = [...document.styleSheets].flatMap((s) => [...s.cssRules].map((r) => r.cssText)).join("\n");
  const parts = SAVED.map((n) => panes[n].firstChild ? `<h2>${n}</h2>${panes[n].innerHTML}` : "");
  const text = make("pre", {}, editor.text);
  const rows = [];
  for (let n = 0; n < Math.min(listing.total, 5000); n++) {
    const l = listing.line(n);
    if (l) rows.push(`${l.address === page.state?.address ? ">" : " "} ${l.address.toString(16).padStart(4, "0")}  ${l.words.padEnd(18)}  ${l.label ? `${l.label}: ` : ""}${l.text}`);
  }
  const lines = make("pre", {}, rows.join("\n"));
  const title = make("title", {}, page.unit?.name || "isakit");
  const html = `<!doctype html><html lang="en"><meta charset="utf-8">${title.outerHTML}<style>${style.replace(/<\//g, "")}
body { display: block; overflow: auto; height: auto; padding: 1em }</style><h1>isakit</h1><h2>source</h2>${text.outerHTML}<h2>machine code</h2>${lines.outerHTML}${parts.join("")}</html>`;
  download(html, "text/html", `${page.unit?.name || "isakit"}.html`);
}
