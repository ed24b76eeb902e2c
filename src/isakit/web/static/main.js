// The page: wires its parts together and begins. All facts come from the server.

import * as api from "./api.js";
import {$, has, make, say} from "./dom.js";
import * as kept from "./kept.js";
import * as looks from "./looks.js";
import {page, remember, tell, trying} from "./page.js";
import {editor, inEditor, listing} from "./parts.js";
import {showPicture} from "./pictures.js";
import * as programs from "./programs.js";
import * as project from "./project.js";
import * as running from "./running.js";
import {find} from "./search.js";
import * as share from "./share.js";
import * as views from "./state_views.js";
import {NARROW, addView, arrange, arranged, fit, show} from "./views.js";

const of = (...isas) => (p) => !p.unit || isas.includes(p.unit.isa);

function makeViews() {
  addView("picture", "Picture", {fill: showPicture, applies: (p) => p.scene || p.frames});
  addView("bits", "Bits");
  addView("graph", "Graph", {fill: looks.showGraph});
  addView("pipeline", "Pipeline", {fill: views.showPipeline, applies: (p) => p.unit?.isa === "vuc", live: true});
  addView("invocations", "Invocations", {fill: views.showInvocations, applies: (p) => p.unit?.isa === "usse", live: true});
  addView("lanes", "Lanes");
  addView("registers", "Registers");
  addView("grid", "Grid", {fill: views.showGrid, live: true});
  addView("stack", "Stack", {applies: of("tesla", "vuc")});
  addView("memory", "Memory", {fill: views.showMemory, live: true});
  addView("arrays", "Arrays", {fill: views.showArrays, applies: of("tesla"), live: true});
  addView("access", "Access", {fill: views.showAccess, applies: of("tesla"), live: true});
  addView("stops", "Breakpoints");
  addView("profile", "Profile", {fill: views.showProfile, applies: of("tesla"), costly: true});
  addView("ptx", "PTX", {applies: (p) => p.ptx});
  addView("compare", "Compare", {fill: looks.showCompare});
  addView("notes", "Notes", {fill: project.showNotes, applies: (p) => p.unit && p.unit.file !== "editor" && !p.unit.launch});
  addView("glsl", "GLSL", {fill: project.showGlsl, applies: (p) => p.unit?.isa === "usse" && p.unit.file !== "editor"});
  addView("manual", "Manual", {fill: looks.showManual});
}

const move = (how) => () => running.move(how);

const KEYS = {
  l: ["Launch", running.launch], s: ["Step", move("step")], n: ["Step over a call", move("next")], c: ["Run on", move("cont")],
  j: ["To the next join or barrier", move("join")], f: ["To the end of the function", move("finish")],
  b: ["One step back", move("back")], r: ["Back to a breakpoint", move("reverse")], 0: ["Back to the start", move("restart")],
  "/": ["Search", () => $("search").focus()], Escape: ["Interrupt", () => api.interrupt()],
};

function theme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("theme", name); } catch (e) { /* not kept then */ }
}

const button = (id, what) => $(id).addEventListener("click", () => trying(what));

// Which panes there are, and usual arrangements of them.
function showPanes() {
  const preset = (kind, text) => make("button", {type: "button", onclick: () => { arranged().preset(kind); showPanes(); }}, text);
  const boxes = arranged().list().map(({name, title, there}) => make("li", {}, make("label", {},
    make("input", {type: "checkbox", checked: there, onchange: (e) => arranged().toggle(name, e.target.checked)}), ` ${title}`)));
  if ($("dialog").open) $("dialog").close();
  tell("Panes", make("p", {class: "bar"}, preset("usual", "Usual"), preset("reading", "Reading")), make("ul", {class: "choices"}, ...boxes),
    make("p", {class: "quiet"}, has("dockview") ? "Drag a tab to move its pane beside another, or a border to make it larger; × closes what is in front." : "Choose views that stand below the one in front; drag a border, or move it with the arrow keys."));
}

function wireHeader() {
  $("file").addEventListener("change", () => programs.openFiles([...$("file").files]));
  button("share", share.share);
  button("save", share.save);
  button("keep", programs.keep);
  button("theme", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  button("panes", showPanes);
  button("help", () => tell("Keys", make("table", {}, ...Object.entries(KEYS).map(([k, [text]]) => make("tr", {}, make("th", {}, k.toUpperCase()), make("td", {}, text)))),
    make("p", {}, "In the listing: arrows move, Enter follows a branch, Space sets a breakpoint; F2 names a place, ; comments it, M is a bookmark, Ctrl+Z takes a note back. Escape leaves the editor."),
    has("dockview") ? make("p", {}, "On a tab: arrows go to the next one, with Shift they split its pane off to that side; + and − make the pane wider and narrower, Delete closes it.") : null));
  for (const b of $("rooms").children) b.addEventListener("click", () => programs.room(b.dataset.room));
}

function wireText() {
  inEditor.changed = () => { remember.soon(); trying(programs.check); };
  inEditor.moved = (line) => trying(() => looks.linkListing(line));
  for (const id of ["language", "isa"]) $(id).addEventListener("change", () => trying(async () => { await programs.machineChosen(); await programs.check(); }));
  $("variant").addEventListener("change", () => trying(programs.check));
}

function wireListing() {
  Object.assign(listing.on, {
    select: (line) => trying(async () => { editor.link([line.source], true); await looks.showBits(line); }),
    hover: (line, place) => trying(() => looks.hover(line, place)),
    follow: (address) => listing.go(address),
    stop: (line) => trying(() => running.toggleStop(line)),
    note: (kind) => trying(() => project.annotate(kind)),
    undo: () => trying(project.undo),
    redo: () => trying(project.redo),
  });
  for (const b of document.querySelectorAll("[data-move]")) b.addEventListener("click", () => trying(move(b.dataset.move)));
  button("launch", running.launch);
  button("interrupt", () => api.interrupt());
  $("search").addEventListener("keydown", (e) => { if (e.key === "Enter") trying(() => find(e.shiftKey ? -1 : 1)); });
  $("search").addEventListener("search", () => { if (!$("search").value) trying(find); });
  $("show-words").addEventListener("change", (e) => trying(() => listing.showWords(e.target.checked)));
  $("show-live").addEventListener("change", (e) => trying(() => {
    $("show-words").checked = !e.target.checked;  // both together leave no room for the text
    listing.options.words = !e.target.checked;
    return listing.showRanges(e.target.checked);
  }));
  if (matchMedia(NARROW).matches) {  // the words leave no room for the text
    $("show-words").checked = listing.options.words = false;
  }
  for (const id of ["grid", "block"]) $(id).addEventListener("change", running.summary);
}

function wirePage() {
  document.addEventListener("worker-ended", running.forget);
  document.addEventListener("keydown", (e) => {
    const at = e.composedPath()[0];
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.isContentEditable || $("dialog").open) return;
    const key = KEYS[e.key];
    if (key) { e.preventDefault(); trying(key[1]); }
  });
  const dropping = (yes) => document.body.classList.toggle("dropping", yes);
  document.addEventListener("dragover", (e) => { e.preventDefault(); dropping(true); });
  document.addEventListener("dragleave", (e) => { if (!e.relatedTarget) dropping(false); });
  document.addEventListener("drop", (e) => {
    e.preventDefault();
    dropping(false);
    const items = [...e.dataTransfer.items];
    trying(async () => programs.openFiles(await programs.dropped(items)));
  });
}

// What this tab held before it was loaded again; an address that somebody handed on comes first.
async function remembered() {
  const remembers = await kept.open(share.remembered);
  const before = await kept.mine();
  remember.soon = kept.later;
  addEventListener("beforeunload", (e) => { if (!kept.remembers() && editor.text !== page.original) e.preventDefault(); });
  const earlier = remembers ? await kept.others() : [];
  $("earlier").replaceChildren(...earlier.map((entry) => make("li", {}, make("button", {type: "button", onclick: () => trying(async () => {
    if (await programs.mayGo("The earlier page")) await share.restore(entry);
  })}, entry.unit?.split(":").at(-1) || entry.page.lesson || "a text", make("small", {}, new Date(entry.when).toLocaleString())))));
  $("earlier").parentNode.hidden = !earlier.length;
  return before && (location.hash.length < 2 || location.hash === before.hash) ? before : null;
}

async function begin() {
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch (e) { /* no storage */ }
  theme(kept || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  makeViews();
  await arrange(() => remember.soon());
  wireHeader();
  wireText();
  wireListing();
  wirePage();
  programs.room("write");
  looks.showPtx("");
  fit();
  show("bits");
  running.showState();
  const answer = await api.open((text) => say(text, true));
  for (const [kind, list] of [["lesson", "lessons"], ["exercise", "exercises"]]) {
    const own = answer.lessons.filter((l) => l.kind === kind);
    $(list).replaceChildren(...own.map((l) => make("li", {}, make("button", {type: "button", "data-lesson": l.name, onclick: () => trying(() => share.openLesson(l.name))}, l.title))));
  }
  page.largest = answer.largest ?? Infinity;
  await programs.machineChosen();
  const before = await remembered();
  if (before) {
    await share.restore(before);
  } else if (answer.given.length) {
    await programs.openFiles(await Promise.all(answer.given.map(async (path) => Object.assign(new File([await api.given(path)], path.split("/").at(-1)), {path: path.includes("/") ? path : ""}))));
  } else if (location.hash.length > 1) {
    await share.openAddress(location.hash.slice(1));
  } else if (answer.lessons.length) {
    await share.openLesson(answer.lessons[0].name);
  }
}

// Whatever the address or a file made of it, the page can be used from here on.
trying(begin).finally(() => { document.body.dataset.ready = "yes"; });
