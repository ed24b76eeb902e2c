// Programs of the page: those of dropped files and captures, and those of the text.

import * as api from "./api.js";
import {$, make, say} from "./dom.js";
import {grammar} from "./grammar.js";
import {colourLines, showPtx} from "./looks.js";
import {asked, page, remember, trying} from "./page.js";
import {editor, listing} from "./parts.js";
import {openProject} from "./project.js";
import {showForm, showState, usual} from "./running.js";
import {forgetProfile} from "./state_views.js";
import {arranged, fit, panes, show} from "./views.js";

// Programs of a file in place of those it had; without a file the list is drawn again.
export function showUnits(units = [], file = "") {
  if (file) page.units = [...page.units.filter((u) => u.file !== file), ...units];
  $("programs").replaceChildren(...page.units.map((u) => make("li", {}, make("button", {
    type: "button", "aria-current": String(u.unit === page.unit?.unit), onclick: () => trying(() => choose(u)),
  }, u.name || u.file, make("small", {}, `${u.file}, ${u.isa} ${u.variant}, ${u.bytes} bytes`)))));
}

let machine = "tesla";  // of the program that was chosen last

export async function choose(unit) {
  page.unit = unit;
  $("stale").hidden = true;
  page.state = null;  // now, and not below: it may be launched before all of it is shown
  remember.soon();
  showUnits();
  panes.bits.replaceChildren(make("p", {class: "quiet"}, "Click an instruction, or walk through the listing with the arrow keys: here is what each of its bits means."));
  forgetProfile();
  const settled = async (step) => (await step, page.unit === unit);  // another program may be chosen meanwhile
  if (!await settled(listing.show(unit)) || !await settled(colourLines())) return;
  if (unit.file !== "editor") {
    $("isa").value = unit.isa;
    await machineChosen();
    $("variant").value = unit.variant;
  }
  showForm(unit);
  if (!await settled(showState()) || !await settled(fit())) return;
  if (arranged().several && machine !== unit.isa) show(usual(unit));  // views of another machine are of no use
  machine = unit.isa;
  say(`${unit.name || unit.file}: ${listing.total} instructions`);
}

// --- the text ---

let checks = 0;

// An error with what helps most; what else could stand there is folded.
function complaint({line, message, notes: [first, ...more]}) {
  const place = make("button", {type: "button", onclick: () => editor.go(line)}, `line ${line}`);
  return make("li", {}, place, ` ${message}${first ? `; ${first}` : ""}`,
    more.length ? make("details", {}, make("summary", {}, "more"), ...more.map((note) => make("div", {}, note))) : null);
}

export async function check() {
  const mine = ++checks;
  const shown = page.unit;
  const verdict = (text, kind) => { $("verdict").textContent = text; $("verdict").className = kind; };
  verdict("…", "");
  let answer;
  try {
    answer = await api.ask("assemble", {source: editor.text, language: $("language").value, isa: $("isa").value, variant: $("variant").value});
  } catch (e) {
    if (mine !== checks) return;
    verdict("not compiled", "bad");
    $("errors").replaceChildren(make("li", {}, e.message));
    throw e;
  }
  if (mine !== checks) return;
  editor.errors(answer.diagnostics);
  $("errors").replaceChildren(...answer.diagnostics.map(complaint));
  const wrong = answer.diagnostics.length;
  $("stale").hidden = !wrong || answer.units.length > 0 || page.unit?.file !== "editor";
  verdict(wrong ? `${wrong} error${wrong === 1 ? "" : "s"}` : "assembles", wrong ? "bad" : "good");
  showPtx(answer.ptx);
  if ($("language").value === "text") {
    verdict("", "");
    await fit();  // it may be a scene
  }
  if (answer.units.length) {
    const same = answer.units.find((u) => u.name === page.unit?.name) || answer.units[0];
    showUnits(answer.units, "editor");
    remember.soon();
    if (page.unit === shown || page.unit?.file === "editor") await choose(same);  // a file opened meanwhile stays in view
  }
}

let kept = 0;

// The text as it is now, as a program of its own, to be compared with what becomes of it.
export async function keep() {
  const name = `kept ${++kept}`;
  const answer = await api.ask("keep", {name});
  showUnits(answer.units, name);
  say(`kept as “${name}”; change the text and look at Compare`);
}

const USUAL = ["gt200", "vp3"];  // what is chosen at first

export async function machineChosen() {
  const rules = await grammar($("isa").value);
  const before = $("variant").value;
  $("variant").replaceChildren(...rules.variants.map((v) => make("option", {selected: v === before || USUAL.includes(v) && !rules.variants.includes(before)}, v)));
  const language = $("language").value;
  editor.colour(language === "asm" ? rules : null, language);
}

export async function write(text) {
  await machineChosen();
  editor.set(text);
  page.original = text;
  await check();
}

// Whether the text may go: one that its user has changed is asked about.
export async function mayGo(what) {
  if (editor.text === page.original || !editor.text.trim()) return true;
  return asked("Your text has been changed", `${what} takes its place. To keep it, press Share or Save page first.`, "Replace it", "Stay");
}

// --- files ---

export function showFiles(files) {
  $("files").replaceChildren(...files.filter((f) => !f.startsWith("editor.")).map((f) => make("li", {class: "mono"}, f)));
}

const nameOf = (text) => text.replace(/[^A-Za-z0-9_.+ -]/g, "_").replace(/^[^A-Za-z0-9_]+/, "") || "file";

async function contentOf(file) {
  const size = (bytes) => `${(bytes / (1 << 20)).toFixed(1)} MB`;
  if (file.size > page.largest) throw new api.Failure({error: `${file.name} has ${size(file.size)}; a file that is opened here may have ${size(page.largest)}`, kind: "request"});
  return api.base64(new Uint8Array(await file.arrayBuffer()));
}

const PART = /([^/]+)\/(capture\.json|launches\/\d+\.json|blobs\/[0-9a-f]{32})$/;

const SCENE = /\.json$/i;

// files: of the kind File; those of a capture's folder have a `path` in it. What is opened together with a scene are
// its parts, whatever they hold.
export async function openFiles(files) {
  const opened = [...files].map((file) => ({file, path: file.path || file.webkitRelativePath || ""}));
  page.files = [...page.files.filter((old) => !opened.some((o) => o.file.name === old.file.name && o.path === old.path)), ...opened];
  remember.soon();
  const parts = new Map(), single = [];
  for (const file of files) {
    const part = PART.exec(file.path || file.webkitRelativePath || "");
    if (part) {
      const folder = nameOf(part[1]);
      parts.set(folder, [...(parts.get(folder) || []), [part[2], file]]);
    } else if (file.size !== undefined) single.push(file);
  }
  const json = single.filter((file) => SCENE.test(file.name));
  const texts = await Promise.all(json.map((file) => file.slice(0, 4096).text()));
  const projects = json.filter((_, k) => texts[k].includes('"isakit_project"'));
  const scenes = json.filter((file) => !projects.includes(file));
  const others = single.filter((file) => !SCENE.test(file.name));
  for (const file of others) await trying(() => scenes.length ? keepPart(file) : openFile(file));
  for (const file of scenes) await trying(() => openFile(file));
  for (const file of projects) await trying(() => openFile(file));  // of files that are open now
  for (const [folder, found] of parts) await trying(() => openCapture(folder, found));
}

async function keepPart(file) {
  const name = nameOf(file.name);
  say(`opening ${name} …`);
  showFiles((await api.ask("open", {name, data: await contentOf(file), role: "part"})).files);
}

async function openFile(file) {
  const name = nameOf(file.name);
  say(`opening ${name} …`);
  const raw = await rawMachine(name);
  const answer = await api.ask("open", {name, data: await contentOf(file), ...raw});
  showFiles(answer.files);
  if (answer.kind === "programs") {
    showUnits(answer.units, name);
    await choose(answer.units[0]);
    reading();
    if (raw.isa && answer.undecoded) say(`${answer.undecoded} of ${listing.total} are no instructions of ${raw.isa} ${raw.variant}: if ${name} is for another machine, choose Machine and Chip and open it again`, true);
  } else if (answer.kind === "project") {
    await openProject(answer.project, name);
  } else if (answer.kind === "scene" || answer.kind === "frames") {
    page.scene = answer.kind === "scene" ? {name, program: null} : null;
    page.frames = answer.kind === "frames" ? {name, draw: 0} : null;
    if (page.frames) {
      await none();
      reading();
    }
    await fit();
    await show("picture");
    room("look");
    if (panes.picture.querySelector("img, canvas")) say(`${name} is drawn under Picture`);
  } else if (answer.kind === "text" && await mayGo(name)) {
    $("language").value = answer.language;
    await write(answer.text);
  } else if (answer.kind === "array") {
    say(`${name}: ${answer.dtype}, ${answer.shape.join(" × ")}; use it as in:${name}`);
  }
}

// No program is in view: that of the text has nothing to do with what was opened.
async function none() {
  page.unit = page.state = null;
  showUnits();
  listing.clear();
  $("launch-form").hidden = true;
  await showState();
}

// Words that no file format explains are of the machine that is chosen.
async function rawMachine(name) {
  if (!/\.(bin|hex|raw)$/i.test(name)) return {};
  await machineChosen();
  return {isa: $("isa").value, variant: $("variant").value};
}

async function openCapture(name, parts) {
  for (const [k, [path, file]] of parts.entries()) {
    say(`opening ${name}: ${k + 1} of ${parts.length} files …`);
    await api.ask("part", {name, path, data: await contentOf(file)});
  }
  const answer = await api.ask("capture", {name});
  showUnits(answer.units, name);
  await choose(answer.units[0]);
  reading();
}

// A file is read: the text of something else is put away, its machine is the one that is chosen, and the programs stand
// above the lessons, of which none is the one in view.
function reading() {
  for (const b of document.querySelectorAll("[data-lesson]")) b.setAttribute("aria-current", "false");
  arranged().toggle("write", false);
  $("side").prepend($("own"));
  room("read");
}

// All files of what was dropped, those of folders too.
export async function dropped(items) {
  const entries = [...items].map((i) => i.webkitGetAsEntry?.()).filter(Boolean);
  const out = [];
  const walk = async (entry, path) => {
    if (entry.isFile) {
      const file = await new Promise((done, failed) => entry.file(done, failed));
      if (path) file.path = `${path}${entry.name}`;
      out.push(file);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return;
      for (const e of some) await walk(e, `${path}${entry.name}/`);
    }
  };
  for (const e of entries) await walk(e, "");
  return out;
}

// A part of the page is wanted: it is opened, and on a narrow screen it is the one that is shown.
export function room(name) {
  if (name !== "look") arranged().toggle(name, true);
  if (name === "look" && $("rooms").offsetHeight) $("look").prepend($("run-bar"));  // what is looked at changes with steps
  if (name === "read") $("read").prepend($("run-bar"));
  for (const s of document.querySelectorAll("main > section")) s.classList.toggle("shown", s.id === name);
  for (const b of $("rooms").children) b.setAttribute("aria-current", String(b.dataset.room === name));
}
