// The page: wires the editor, the listing and the views together. All facts come from the server.

import * as api from "./api.js";
import {access} from "./access.js";
import * as arrays from "./arrays.js";
import {explanation} from "./bits.js";
import {comparison} from "./compare.js";
import {$, hex, make, say} from "./dom.js";
import {Editor} from "./editor.js";
import {grammar} from "./grammar.js";
import {graph} from "./graph.js";
import {hue, Listing} from "./listing.js";
import * as machine from "./machine.js";
import {profile} from "./profile.js";
import {decode, encode} from "./state.js";

const VIEWS = [
  ["picture", "Picture"],
  ["bits", "Bits"], ["graph", "Graph"], ["lanes", "Lanes"], ["registers", "Registers"], ["stack", "Stack"], ["memory", "Memory"],
  ["arrays", "Arrays"], ["access", "Access"], ["stops", "Breakpoints"], ["profile", "Profile"], ["ptx", "PTX"], ["compare", "Compare"],
  ["manual", "Manual"],
];

const page = {
  units: [], unit: null, state: null, launched: null, lesson: null, scene: null, ptx: "", arrays: null, memory: null,
  numbers: "hex", memoryAt: {space: "", address: 0}, checks: 0, view: "bits", picture: null,
};

// --- telling ----------------------------------------------------------------------------------------------------------

async function trying(what) {
  try {
    return await what();
  } catch (e) {
    if (!(e instanceof api.Failure)) console.error(e);
    if (e.kind === "ended") forget();
    say(e.message, true);
    return undefined;
  }
}

function forget() {
  page.state = null;
  page.launched = null;
  showState();
}

function tell(title, ...content) {
  $("dialog-title").textContent = title;
  $("dialog-body").replaceChildren(...content);
  $("dialog").showModal();
}

// --- views ------------------------------------------------------------------------------------------------------------

const panes = {};

function makeViews() {
  for (const [name, title] of VIEWS) {
    $("tabs").append(make("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-selected": "false", tabIndex: -1,
      onclick: () => show(name),
    }, title));
    panes[name] = make("div", {id: `view-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, tabIndex: 0, hidden: true});
    $("views").append(panes[name]);
  }
  $("tabs").addEventListener("keydown", (e) => {
    const k = VIEWS.findIndex(([n]) => n === page.view);
    const next = {ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: VIEWS.length - 1}[e.key];
    if (next === undefined) return;
    e.preventDefault();
    const name = VIEWS[(next + VIEWS.length) % VIEWS.length][0];
    show(name);
    $(`tab-${name}`).focus();
  });
}

function show(name) {
  page.view = name;
  for (const [n] of VIEWS) {
    $(`tab-${n}`).setAttribute("aria-selected", String(n === name));
    $(`tab-${n}`).tabIndex = n === name ? 0 : -1;
    panes[n].hidden = n !== name;
  }
  const fill = {picture: showPicture, graph: showGraph, memory: showMemory, arrays: showArrays, access: showAccess, profile: showProfile, compare: showCompare, manual: showManual}[name];
  return fill ? trying(fill) : undefined;
}

async function showBits(line) {
  panes.bits.replaceChildren(...explanation(await api.ask("explain", {unit: page.unit.unit, address: line.address})));
}

async function hover(line, place) {
  if (!line) { $("hover").hidden = true; return; }
  const unit = page.unit;
  const answer = await api.ask("explain", {unit: unit.unit, address: line.address});
  if (page.unit !== unit || listing.hovered !== line) return;
  $("hover").replaceChildren(...explanation(answer).slice(0, -1));
  $("hover").hidden = false;
  const box = $("hover").getBoundingClientRect();
  $("hover").style.left = `${Math.max(4, Math.min(place.right + 8, innerWidth - box.width - 8))}px`;
  $("hover").style.top = `${Math.max(4, Math.min(place.bottom + 4, innerHeight - box.height - 8))}px`;
}

async function showGraph() {
  if (!page.unit || page.graphOf === page.unit) return;
  page.graphOf = page.unit;
  const parts = graph(await api.ask("graph", {unit: page.unit.unit}), (address) => listing.go(address));
  page.picture = parts[0];
  panes.graph.replaceChildren(...parts);
  page.picture.stand?.(page.state?.address ?? null);
}

async function showMemory() {
  if (!page.state) { panes.memory.replaceChildren(make("p", {}, "Launch something to look at its memory.")); return; }
  const at = page.memoryAt;
  const names = page.state.memories.map((m) => m.name);
  if (!names.includes(at.space)) at.space = names.find((n) => n === "s" || n === "D") || names[0];
  const space = make("select", {"aria-label": "Memory", onchange: () => { at.space = space.value; at.address = 0; trying(showMemory); }}, ...names.map((n) => make("option", {selected: n === at.space}, n)));
  const address = make("input", {value: hex(at.address), size: 10, "aria-label": "Address", onchange: () => { at.address = Number(address.value) || 0; trying(showMemory); }});
  const answer = await api.ask("memory", {space: at.space, address: at.address, size: 512});
  panes.memory.replaceChildren(make("div", {class: "bar"}, space, " at ", address), arrays.memory(answer, page.memory));
  page.memory = answer;
}

async function showArrays() {
  if (!page.state) { panes.arrays.replaceChildren(make("p", {}, "Launch a kernel to see its arrays.")); return; }
  const answer = await api.ask("arrays");
  panes.arrays.replaceChildren(...arrays.pane(answer.arrays, 0, page.arrays));
  page.arrays = answer.arrays;
}

async function showPicture() {
  const scene = page.scene;
  if (!scene) { panes.picture.replaceChildren(make("p", {}, "Drop a scene (.json) with its programs, or open the lesson about pixels.")); return; }
  const files = scene.program ? {[scene.program]: editor.text} : {};
  const drawn = await api.ask("scene", {name: scene.name, files});
  const scale = Math.max(1, Math.floor(420 / Math.max(drawn.width, drawn.height)));
  const about = make("div", {}, make("p", {class: "quiet"}, "Click a pixel to step its fragment program. Arrows and Enter do the same."));
  const image = make("img", {src: `data:image/png;base64,${drawn.png}`, width: drawn.width * scale, height: drawn.height * scale, alt: "the drawn scene", tabIndex: 0});
  image.style.imageRendering = "pixelated";
  const at = {x: drawn.width >> 1, y: drawn.height >> 1};
  const look = () => trying(async () => {
    const found = await api.ask("pixel", {name: scene.name, x: at.x, y: at.y});
    about.replaceChildren(make("ul", {}, ...found.about.map((t) => make("li", {}, t))));
    showUnits(found.units, scene.name);
    page.unit = found.units[0];
    await listing.show(page.unit);
    showUnits([], "");
    page.state = found.state;
    page.launched = page.unit;
    await showState();
  });
  image.addEventListener("click", (e) => {
    const box = image.getBoundingClientRect();
    at.x = Math.min(drawn.width - 1, Math.floor((e.clientX - box.left) / scale));
    at.y = drawn.height - 1 - Math.min(drawn.height - 1, Math.floor((e.clientY - box.top) / scale));
    look();
  });
  image.addEventListener("keydown", (e) => {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[e.key];
    if (step) {
      e.preventDefault();
      at.x = Math.min(drawn.width - 1, Math.max(0, at.x + step[0]));
      at.y = Math.min(drawn.height - 1, Math.max(0, at.y + step[1]));
      say(`pixel ${at.x}, ${at.y}`);
    } else if (e.key === "Enter") look();
  });
  panes.picture.replaceChildren(image, about, make("p", {class: "quiet"}, drawn.draws.map((d, n) => `draw ${n}: ${d.primitives} primitives, ${d.fragments} fragments, ${d.instructions} instructions`).join("; ")));
}

async function showAccess() {
  if (!page.state || page.state.finished) { panes.access.replaceChildren(make("p", {}, "Launch a kernel and step to a load or store: here is drawn what it touches.")); return; }
  const data = await api.ask("access");
  panes.access.replaceChildren(...access(data, page.state.instruction));
}

async function showCompare() {
  const other = make("select", {"aria-label": "Compare with"}, ...page.units.filter((u) => u.isa === page.unit?.isa && u.unit !== page.unit.unit).map((u) => make("option", {value: u.unit}, `${u.name || u.file} (${u.file})`)));
  const out = make("div");
  const compare = () => trying(async () => { if (other.value) out.replaceChildren(...comparison(await api.ask("diff", {a: page.unit.unit, b: other.value}), (address) => listing.go(address))); });
  other.addEventListener("change", compare);
  panes.compare.replaceChildren(make("div", {class: "bar"}, `${page.unit?.name || "this program"} with `, other), out);
  if (!other.value) out.replaceChildren(make("p", {}, "Open another program of the same machine: drop a file, or keep this text with Keep."));
  await compare();
}

function showPtx(text) {
  if (!text) { panes.ptx.replaceChildren(make("p", {}, "This program does not come from PTX.")); return; }
  panes.ptx.replaceChildren(make("pre", {}, ...text.split("\n").map((line, k) => make("div", {"data-ptx": k + 1}, line || " "))));
}

// Lines that belong together have one colour: in the text, in PTX and in the listing.
async function colourLines() {
  const compiled = page.unit?.file === "editor" && page.unit.language !== "asm";
  listing.coloured = compiled;
  const hues = new Map();
  if (compiled) {
    for (let n = 0; n < Math.min(listing.total, 2000); n++) {
      const line = await listing.whole(n);
      if (!line?.source) continue;
      hues.set(line.source, hue(line.source));
      const row = panes.ptx.querySelector(`[data-ptx="${line.ptx}"]`);
      if (row) row.style.boxShadow = `inset 4px 0 0 hsl(${hue(line.source)} 65% 55%)`;
    }
  }
  editor.colourLines(hues);
  listing.draw();
}

async function showProfile() {
  if (!page.unit) return;
  panes.profile.replaceChildren(make("p", {}, "The launch runs from its start and is counted …"));
  try {
    const data = await api.ask("profile", {unit: page.unit.unit, launch: launchFields()});
    panes.profile.replaceChildren(...profile(data, (address) => listing.go(address)));
    listing.heat = new Map(data.instructions.map((i) => [i.address, i]));
    listing.heat.most = Math.max(1, ...data.instructions.map((i) => i.executions));
    listing.draw();
  } catch (e) {
    panes.profile.replaceChildren(make("p", {}, e.message));
    throw e;
  }
}

async function showManual() {
  if (panes.manual.firstChild) return;
  const out = make("div");
  const word = make("input", {type: "search", placeholder: "an instruction, a register, a word", "aria-label": "Look up", size: 30});
  const look = (name) => trying(async () => {
    word.value = name;
    const answer = await api.ask("manual", {isa: page.unit?.isa || $("isa").value, word: name});
    if (answer.pages.length) out.replaceChildren(...answer.pages.map((p) => make("pre", {}, p)));
    else out.replaceChildren(make("ul", {}, ...answer.found.map(([isa, n, text]) => make("li", {}, make("button", {type: "button", onclick: () => look(n)}, n), ` ${isa} ${text}`))), answer.found.length ? "" : "Nothing has this word.");
  });
  panes.manual.replaceChildren(make("form", {class: "bar", onsubmit: (e) => { e.preventDefault(); look(word.value); }}, word, make("button", {}, "Look up")), out);
}

// --- programs ---------------------------------------------------------------------------------------------------------

const listing = new Listing($("listing"), {
  select: (line) => trying(async () => {
    editor.link([line.source], true);
    await showBits(line);
  }),
  hover: (line, place) => trying(() => hover(line, place)),
  follow: (address) => listing.go(address),
  stop: (line) => trying(() => toggleStop(line)),
});

const editor = new Editor($("editor"), () => trying(check), (line) => {
  if (page.unit?.file !== "editor") return;
  trying(async () => {
    listing.linked = new Set(await addressesOf(line));
    const first = Math.min(...listing.linked);
    if (listing.linked.size) listing.reveal(await listing.numberAt(first));
    listing.draw();
  });
});

async function addressesOf(source) {
  const out = [];
  for (let n = 0; n < Math.min(listing.total, 4000); n++) {
    const line = await listing.whole(n);
    if (line?.source === source) out.push(line.address);
  }
  return out;
}

function showUnits(units, file) {
  page.units = [...page.units.filter((u) => u.file !== file), ...units];
  $("programs").replaceChildren(...page.units.map((u) => make("li", {}, make("button", {
    type: "button", "aria-current": String(u.unit === page.unit?.unit), onclick: () => trying(() => choose(u)),
  }, u.name || u.file, make("small", {}, `${u.file}, ${u.isa} ${u.variant}, ${u.bytes} bytes`)))));
}

async function choose(unit) {
  page.unit = unit;
  page.state = null;
  page.launched = null;
  page.graphOf = null;
  page.arrays = null;
  showUnits([], "");
  await listing.show(unit);
  await colourLines();
  showForm(unit);
  showState();
  if (page.scene?.program && unit.file === "editor" && page.view === "picture") await trying(showPicture);
  if (["graph", "memory", "arrays", "compare", "access"].includes(page.view)) await show(page.view);
  say(`${unit.name || unit.file}: ${listing.total} instructions`);
}

async function check() {
  const mine = ++page.checks;
  const language = $("language").value;
  $("verdict").textContent = "…";
  let answer;
  try {
    answer = await api.ask("assemble", {source: editor.text, language, isa: $("isa").value, variant: $("variant").value});
  } catch (e) {
    if (mine !== page.checks) return;
    $("verdict").textContent = "not compiled";
    $("verdict").className = "bad";
    $("errors").replaceChildren(make("li", {}, e.message));
    throw e;
  }
  if (mine !== page.checks) return;
  editor.errors(answer.diagnostics);
  $("errors").replaceChildren(...answer.diagnostics.map((d) => make("li", {}, make("button", {type: "button", onclick: () => editor.go(d.line)}, `line ${d.line}`), ` ${[d.message, ...d.notes].join("; ")}`)));
  const wrong = answer.diagnostics.length;
  $("verdict").textContent = wrong ? `${wrong} error${wrong === 1 ? "" : "s"}` : "assembles";
  $("verdict").className = wrong ? "bad" : "good";
  showPtx(answer.ptx);
  if (answer.units.length) {
    const keep = answer.units.find((u) => u.name === page.unit?.name) || answer.units[0];
    showUnits(answer.units, "editor");
    await choose(keep);
  }
}

// The text as it is now, as a program of its own, to be compared with what becomes of it.
async function keep() {
  page.kept = (page.kept || 0) + 1;
  const answer = await api.ask("keep", {name: `kept ${page.kept}`});
  showUnits(answer.units, `kept ${page.kept}`);
  say(`kept as “kept ${page.kept}”; change the text and look at Compare`);
}

async function machineChosen() {
  const rules = await grammar($("isa").value);
  const before = $("variant").value;
  $("variant").replaceChildren(...rules.variants.map((v) => make("option", {selected: v === before || v === "gt200" && !rules.variants.includes(before)}, v)));
  const language = $("language").value;
  editor.colour(language === "asm" ? rules : null, language);
}

function showFiles(files) {
  $("files").replaceChildren(...files.filter((f) => !f.startsWith("editor.")).map((f) => make("li", {class: "mono"}, f)));
}

async function openFiles(files) {
  for (const file of files) {
    await trying(async () => {
      const name = file.name.replace(/[^A-Za-z0-9_.+ -]/g, "_").replace(/^[^A-Za-z0-9_]+/, "") || "file";
      say(`opening ${name} …`);
      const answer = await api.ask("open", {name, data: api.base64(new Uint8Array(await file.arrayBuffer()))});
      showFiles(answer.files);
      if (answer.kind === "programs") {
        showUnits(answer.units, name);
        await choose(answer.units[0]);
        room("read");
      } else if (answer.kind === "scene") {
        page.scene = {name, program: null};
        await show("picture");
      } else if (answer.kind === "text" && page.scene && files.length > 1) {
        say(`${name} is kept for the scene`);
      } else if (answer.kind === "text") {
        $("language").value = answer.language;
        await write(answer.text);
      } else {
        say(`${name}: ${answer.dtype}, ${answer.shape.join(" × ")}; use it as in:${name}`);
      }
    });
  }
}

async function write(text) {
  await machineChosen();
  editor.set(text);
  await check();
}

// --- lessons and shared pages -----------------------------------------------------------------------------------------

function paragraphs(text) {
  return text.trim().split(/\n\s*\n/).map((p) => make("p", {}, ...p.split(/(`[^`]+`)/).map((t) => t.startsWith("`") ? make("code", {}, t.slice(1, -1)) : t)));
}

async function openLesson(name) {
  const l = await api.lesson(name);
  page.lesson = name;
  for (const b of $("lessons").querySelectorAll("button")) b.setAttribute("aria-current", String(b.dataset.lesson === name));
  $("task").replaceChildren(make("strong", {}, l.title), ...paragraphs(l.about), ...paragraphs(`Task: ${l.task}`));
  for (const [file, text] of Object.entries(l.files || {})) showFiles((await api.ask("open", {name: file, data: api.base64(new TextEncoder().encode(text))})).files);
  page.scene = l.scene ? {name: l.scene, program: l.program} : null;
  for (const [file, spec] of Object.entries(l.arrays || {})) showFiles((await api.ask("array", {name: file, spec})).files);
  await adopt(l);
  if (l.view) await show(l.view);
  room("write");
  document.body.dataset.lesson = name;
}

async function adopt(state) {
  $("language").value = state.language || "asm";
  $("isa").value = state.isa || "tesla";
  await machineChosen();
  if (state.variant) $("variant").value = state.variant;
  page.wanted = state.launch || null;
  await write(state.source);
}

const current = () => ({
  isa: $("isa").value, variant: $("variant").value, language: $("language").value, source: editor.text, launch: launchFields(), lesson: page.lesson,
});

async function share() {
  const fragment = await encode(current());
  history.replaceState(null, "", `#${fragment}`);
  const link = location.href;
  let copied = "";
  try {
    await navigator.clipboard.writeText(`#${fragment}`);
    copied = "The part behind # is in the clipboard.";
  } catch (e) {
    copied = "";
  }
  tell("Share this page", make("p", {}, "The text and the launch are in the address, behind #. Nothing was uploaded. Whoever runs the workbench opens it by putting that part behind their own address. ", copied),
    make("textarea", {readOnly: true, rows: 6, cols: 60, value: link.slice(link.indexOf("#")), "aria-label": "Fragment to share"}));
}

// A page on its own: listing, state and pictures as they are now, without scripts.
function save() {
  const style = [...document.styleSheets].flatMap((s) => [...s.cssRules].map((r) => r.cssText)).join("\n");
  const parts = ["lanes", "registers", "stack", "graph", "bits"].map((n) => panes[n].firstChild ? `<h2>${n}</h2>${panes[n].innerHTML}` : "");
  const text = document.createElement("pre");
  text.textContent = editor.text;
  const lines = document.createElement("pre");
  const rows = [];
  for (let n = 0; n < Math.min(listing.total, 5000); n++) {
    const l = listing.line(n);
    if (l) rows.push(`${l.address === page.state?.address ? ">" : " "} ${l.address.toString(16).padStart(4, "0")}  ${l.words.padEnd(18)}  ${l.label ? `${l.label}: ` : ""}${l.text}`);
  }
  lines.textContent = rows.join("\n");
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${page.unit ? page.unit.name : "isakit"}</title><style>${style.replace(/<\//g, "")}
body { display: block; overflow: auto; height: auto; padding: 1em }</style><h1>isakit</h1><h2>source</h2>${text.outerHTML}<h2>machine code</h2>${lines.outerHTML}${parts.join("")}</html>`;
  const url = URL.createObjectURL(new Blob([html], {type: "text/html"}));
  make("a", {href: url, download: `${page.unit?.name || "isakit"}.html`}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// --- launches ---------------------------------------------------------------------------------------------------------

function example(p) {
  if (/^(f32|f64)$/.test(p.kind)) return `${p.kind}:1.0`;
  if (p.kind.startsWith("ptr") || (!p.kind && p.size === 4)) return "out:f32:256";
  return `i${8 * p.size}:1`;
}

function showForm(unit) {
  const wanted = page.wanted || {};
  if (page.wanted) page.wantedBy = null;
  page.wanted = null;
  if (wanted.grid) $("grid").value = wanted.grid.join(",");
  if (wanted.textures) $("textures").value = wanted.textures.join(" ");
  if (wanted.block) $("block").value = wanted.block.join(",");
  const before = page.wantedBy === unit.unit ? [...$("args").querySelectorAll("input")].map((i) => i.value) : [];
  page.wantedBy = unit.unit;
  const params = unit.params || [];
  const count = params.length || (unit.isa === "tesla" ? 0 : Math.max(1, (wanted.args || []).length + 1));
  $("args").replaceChildren(...Array.from({length: count}, (_, k) => make("label", {}, make("span", {}, params[k] ? `${params[k].name || `#${k}`} ${params[k].kind}` : `argument ${k}`),
    make("input", {value: (wanted.args || [])[k] ?? before[k] ?? (params[k] ? example(params[k]) : ""), onchange: summary}))));
  summary();
}

function launchFields() {
  const numbers = (text) => text.split(/[,x×\s]+/).filter(Boolean).map(Number);
  return {grid: numbers($("grid").value), block: numbers($("block").value), args: [...$("args").querySelectorAll("input")].map((i) => i.value.trim()).filter(Boolean), textures: $("textures").value.split(/\s+/).filter(Boolean)};
}

function summary() {
  const l = launchFields();
  $("launch-summary").textContent = page.unit?.isa === "tesla" ? `${l.grid.join("×")} blocks of ${l.block.join("×")} threads, ${l.args.join(" ")}` : l.args.join(" ");
}

async function launch() {
  if (!page.unit) throw new api.Failure({error: "open a program first"});
  page.arrays = null;
  page.state = await api.ask("launch", {unit: page.unit.unit, launch: launchFields()});
  page.launched = page.unit;
  if (!["lanes", "registers", "stack", "memory", "arrays", "access"].includes(page.view)) show("lanes");
  await showState();
}

async function move(how, where = "") {
  if (!page.state) await launch();
  say("…");
  page.state = await api.ask("move", {how, where});
  await showState();
}

async function showState() {
  const s = page.state;
  for (const b of document.querySelectorAll("[data-move]")) b.disabled = !page.unit;
  if (!s) {
    for (const n of ["lanes", "registers", "stack", "stops"]) panes[n].replaceChildren(make("p", {}, "Nothing is launched: press Launch, or L."));
    listing.here = null;
    listing.stops = new Set();
    listing.draw();
    return;
  }
  panes.lanes.replaceChildren(...machine.activity(s, {focus: (thread) => trying(async () => { page.state = await api.ask("focus", {thread}); await showState(); })}));
  const kinds = make("select", {"aria-label": "Numbers as", onchange: () => { page.numbers = kinds.value; showState(); }}, ...["hex", "signed", "float"].map((k) => make("option", {selected: k === page.numbers}, k)));
  const expression = make("input", {size: 22, placeholder: "s[0x40]:f32 * 2", "aria-label": "Expression"});
  const result = make("output");
  panes.registers.replaceChildren(make("div", {class: "bar"}, kinds, make("form", {class: "bar", onsubmit: (e) => {
    e.preventDefault();
    trying(async () => { result.textContent = `= ${(await api.ask("evaluate", {expression: expression.value})).value}`; });
  }}, expression, make("button", {}, "Evaluate"), result)), ...machine.registers(s, page.numbers, {move: (how, where) => trying(() => move(how, where))}));
  panes.stack.replaceChildren(...machine.frames(s));
  panes.stops.replaceChildren(...machine.breakpoints(s, {
    remove: (number) => trying(async () => { page.state = await api.ask("breakpoint", {delete: number}); await showState(); }),
    add: (where, condition, kind) => trying(async () => { page.state = await api.ask("breakpoint", {where, condition, kind}); await showState(); }),
  }));
  listing.stops = new Set(s.breakpoints.flatMap((b) => b.kind === "breakpoint" ? b.addresses : []));
  await listing.stand(s.address);
  if (s.address !== null && listing.unit?.file === "editor") {
    const line = await listing.whole(await listing.numberAt(s.address));
    if (line) editor.link([line.source], true);
  }
  page.picture?.stand?.(s.address);
  if (page.view === "memory") await showMemory();
  if (page.view === "arrays") await showArrays();
  if (page.view === "access") await trying(showAccess);
  say(s.text || s.reason, s.reason === "fault");
}

async function toggleStop(line) {
  if (!page.state) await launch();
  const there = page.state.breakpoints.find((b) => b.kind === "breakpoint" && b.addresses.length === 1 && b.addresses[0] === line.address);
  page.state = await api.ask("breakpoint", there ? {delete: there.number} : {where: hex(line.address)});
  await showState();
}

// --- search -----------------------------------------------------------------------------------------------------------

const search = {lines: [], at: 0, pattern: ""};

async function find() {
  const pattern = $("search").value.trim();
  if (!pattern || !page.unit) return;
  if (pattern !== search.pattern || search.unit !== page.unit) {
    const answer = await api.ask("search", {unit: page.unit.unit, pattern});
    Object.assign(search, {lines: answer.lines, at: 0, pattern, unit: page.unit});
  } else {
    search.at = (search.at + 1) % Math.max(1, search.lines.length);
  }
  $("found").textContent = search.lines.length ? `${search.at + 1} of ${search.lines.length}` : "none";
  if (search.lines.length) {
    await listing.whole(search.lines[search.at]);
    listing.select(search.lines[search.at]);
  }
}

// --- the page itself --------------------------------------------------------------------------------------------------

function room(name) {
  for (const s of document.querySelectorAll("main > section")) s.classList.toggle("shown", s.id === name);
  for (const b of $("rooms").children) b.setAttribute("aria-current", String(b.dataset.room === name));
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("theme", name); } catch (e) { /* not kept then */ }
}

const KEYS = {
  l: ["Launch", launch], s: ["Step", () => move("step")], n: ["Step over a call", () => move("next")], c: ["Run on", () => move("cont")],
  j: ["To the next join or barrier", () => move("join")], f: ["To the end of the function", () => move("finish")],
  b: ["One step back", () => move("back")], r: ["Back to a breakpoint", () => move("reverse")], 0: ["Back to the start", () => move("restart")],
  Escape: ["Interrupt", () => api.interrupt()],
};

function wire() {
  for (const b of document.querySelectorAll("[data-move]")) b.addEventListener("click", () => trying(() => move(b.dataset.move)));
  $("launch").addEventListener("click", () => trying(launch));
  $("interrupt").addEventListener("click", () => trying(() => api.interrupt()));
  $("file").addEventListener("change", () => openFiles($("file").files));
  $("share").addEventListener("click", () => trying(share));
  $("save").addEventListener("click", save);
  $("keep").addEventListener("click", () => trying(keep));
  $("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  $("help").addEventListener("click", () => tell("Keys", make("table", {}, ...Object.entries(KEYS).map(([k, [text]]) => make("tr", {}, make("th", {}, k.toUpperCase()), make("td", {}, text)))),
    make("p", {}, "In the listing: arrows move, Enter follows a branch, Space sets a breakpoint. Escape leaves the editor.")));
  $("search").addEventListener("keydown", (e) => { if (e.key === "Enter") trying(find); });
  $("show-words").addEventListener("change", (e) => { listing.options.words = e.target.checked; listing.draw(); });
  $("show-live").addEventListener("change", (e) => { listing.options.live = e.target.checked; listing.draw(); });
  for (const id of ["grid", "block"]) $(id).addEventListener("change", summary);
  for (const id of ["language", "isa"]) $(id).addEventListener("change", () => trying(async () => { await machineChosen(); await check(); }));
  $("variant").addEventListener("change", () => trying(check));
  for (const b of $("rooms").children) b.addEventListener("click", () => room(b.dataset.room));
  document.addEventListener("keydown", (e) => {
    const at = e.composedPath()[0];
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.isContentEditable || $("dialog").open) return;
    const key = KEYS[e.key];
    if (key) { e.preventDefault(); trying(key[1]); }
  });
  document.addEventListener("dragover", (e) => { e.preventDefault(); document.body.classList.add("dropping"); });
  document.addEventListener("dragleave", (e) => { if (!e.relatedTarget) document.body.classList.remove("dropping"); });
  document.addEventListener("drop", (e) => { e.preventDefault(); document.body.classList.remove("dropping"); openFiles(e.dataTransfer.files); });
}

async function begin() {
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch (e) { /* no storage */ }
  theme(kept || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  makeViews();
  wire();
  room("write");
  show("bits");
  showState();
  const answer = await api.open((text) => say(text, true));
  $("lessons").replaceChildren(...answer.lessons.map((l) => make("li", {}, make("button", {type: "button", "data-lesson": l.name, onclick: () => trying(() => openLesson(l.name))}, l.title))));
  await machineChosen();
  if (answer.given.length) {
    await openFiles(await Promise.all(answer.given.map(async (name) => new File([await api.given(name)], name))));
  } else if (location.hash.length > 1) {
    const state = await decode(location.hash.slice(1));
    page.lesson = state.lesson || null;
    await adopt(state);
  } else if (answer.lessons.length) {
    await openLesson(answer.lessons[0].name);
  }
  document.body.dataset.ready = "yes";
}

trying(begin);
