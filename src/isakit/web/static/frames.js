// A captured frame, taken apart: its draws, what each worked on, the history of a pixel, the program of a vertex.

import * as api from "./api.js";
import {make, pixelAt, say} from "./dom.js";
import {mesh} from "./mesh.js";
import {page, trying} from "./page.js";
import {listing} from "./parts.js";
import {showUnits} from "./programs.js";
import {adopt, showForm, showState} from "./running.js";
import {panes} from "./views.js";

const WIDEST = 320;  // so that beside it there is room for what is said of a pixel
const CHANNELS = ["red", "green", "blue"];

export function image(drawn, alt) {
  const scale = Math.max(1, Math.floor(WIDEST / Math.max(drawn.width, drawn.height)));
  const made = make("img", {src: `data:image/png;base64,${drawn.png}`, width: drawn.width * scale, height: drawn.height * scale, alt});
  made.style.imageRendering = "pixelated";
  made.style.maxWidth = "100%";
  made.style.height = "auto";
  return made;
}

// Step a program that the server has found, beside the picture.
export async function step(found, name) {
  const units = found.units.map((unit) => ({...unit, picked: true}));  // there is no other launch of it
  page.unit = units[0];
  showUnits(units, name);
  showForm(page.unit);
  await listing.show(page.unit);
  adopt(found.state);
  await showState();
}

// Let a picture be clicked, or walked with the arrows and chosen with Enter; `look` gets column and row. The answer is the
// picture with a frame around the pixel, and `facts` beside it.
export function pickable(shown, drawn, facts, look) {
  shown.tabIndex = 0;
  const at = {x: drawn.width >> 1, y: drawn.height >> 1};
  const frame = make("span", {class: "picked", hidden: true});
  const mark = () => {
    frame.hidden = false;
    for (const [edge, part, whole] of [["left", at.x, drawn.width], ["top", at.y, drawn.height], ["width", 1, drawn.width], ["height", 1, drawn.height]]) frame.style[edge] = `${100 * part / whole}%`;
  };
  shown.addEventListener("click", (e) => {
    [at.x, at.y] = pixelAt(e, drawn);
    mark();
    look(at.x, at.y);
  });
  shown.addEventListener("keydown", (e) => {
    const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
    if (move) {
      e.preventDefault();
      at.x = Math.min(drawn.width - 1, Math.max(0, at.x + move[0]));
      at.y = Math.min(drawn.height - 1, Math.max(0, at.y + move[1]));
      mark();
      say(`column ${at.x}, row ${at.y}`);
    } else if (e.key === "Enter") {
      mark();
      look(at.x, at.y);
    }
  });
  return make("div", {class: "picture"}, make("span", {class: "frame"}, shown, frame), make("div", {class: "facts"}, ...facts));
}

function table(columns, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...columns.map((c) => make("th", {scope: "col"}, c)))), make("tbody", {}, ...rows));
}

function row(cells, choose, current = false) {
  const [first, ...others] = cells;
  const button = choose ? make("button", {type: "button", onclick: choose, "aria-pressed": String(current)}, String(first)) : String(first);
  return make("tr", {}, make("td", {class: "mono"}, button), ...others.map((c) => make("td", {class: "mono"}, String(c))));
}

// How often each of sixteen ranges of brightness occurs, as bars of a text: it can be read aloud and copied.
function histogram(counts) {
  const bars = " ▁▂▃▄▅▆▇█";
  return make("table", {}, make("caption", {class: "quiet"}, "How often each brightness occurs, dark to bright"), make("tbody", {}, ...counts.map((of, c) => {
    const most = Math.max(1, ...of);
    const text = of.map((n) => bars[n ? Math.max(1, Math.round(8 * n / most)) : 0]).join("");
    return make("tr", {}, make("th", {scope: "row"}, CHANNELS[c]), make("td", {class: "mono", title: of.join(", ")}, text));
  })));
}

// Spread the brightness from `low` to `high` over black to white, as a copy of a picture shows it.
function ranged(canvas, from, low, high) {
  canvas.width = from.naturalWidth;
  canvas.height = from.naturalHeight;
  const c = canvas.getContext("2d");
  c.drawImage(from, 0, 0);
  const pixels = c.getImageData(0, 0, canvas.width, canvas.height);
  for (let k = 0; k < pixels.data.length; k++) if (k % 4 < 3) pixels.data[k] = 255 * (pixels.data[k] - low) / Math.max(1, high - low);
  c.putImageData(pixels, 0, 0);
}

function pictured(what) {
  if (!what.png) return make("p", {}, `${what.name}: too large to be shown`);
  const whole = image(what, what.name);
  const shown = make("canvas", {role: "img", "aria-label": what.name});
  shown.style.imageRendering = "pixelated";
  const input = (label, type, value, least, most) => make("input", {type, min: least, max: most, value, "aria-label": `${label} of ${what.name}`, oninput: () => show()});
  const zoom = input("Zoom", "range", Math.max(1, Math.round(whole.width / what.width)), 1, 16);
  const low = input("Darkest value", "number", 0, 0, 254), high = input("Brightest value", "number", 255, 1, 255);
  const show = () => {
    ranged(shown, whole, Number(low.value), Number(high.value));
    shown.style.width = `${what.width * Number(zoom.value)}px`;
  };
  whole.addEventListener("load", show);
  const frame = make("div", {tabIndex: 0, role: "group", "aria-label": `Picture of ${what.name}`}, shown);
  frame.style.overflow = "auto";
  frame.style.maxHeight = `${WIDEST}px`;
  return make("details", {}, make("summary", {}, `${what.name}, ${what.width} x ${what.height}`), what.filters ? make("p", {class: "quiet"}, `filters: ${what.filters}`) : null,
    make("div", {class: "bar"}, "Zoom ", zoom, " range ", low, " to ", high), frame, histogram(what.histogram));
}

function stage(found) {
  return make("details", {}, make("summary", {}, `${found.name} of ${found.count} vertices`),
    found.rows.length < found.count ? make("p", {class: "quiet"}, `The first ${found.rows.length} are shown.`) : null, table(found.columns, found.rows.map((r) => row(r))));
}

function buffer(found) {
  return make("details", {}, make("summary", {}, `${found.name}, ${found.bytes} bytes`),
    16 * found.rows.length < found.bytes ? make("p", {class: "quiet"}, `The first ${16 * found.rows.length} are shown.`) : null,
    table(["offset", ..."xyzw", ...[..."xyzw"].map((c) => `${c}, f32`)], found.rows.map((r) => row(r))));
}

function draws(drawn, choose) {
  const rows = drawn.draws.map((d, n) => row([n + 1, d.frame, d.mode, d.vertices, d.fragments, d.instructions, (1000 * d.seconds).toFixed(1), d.changed.join(" ")], () => choose(n + 1), n + 1 === drawn.draw));
  return make("details", {}, make("summary", {}, `All ${drawn.draws.length} draws, what they cost and what state changed before them`),
    table(["draw", "frame", "primitives", "vertices", "fragments", "instructions", "ms", "changed"], rows));
}

async function apart(at, name) {
  const found = await api.ask("details", {name, frame: at.frame, draw: at.draw});
  const vertex = (number) => trying(async () => step(await api.ask("vertex", {name, frame: at.frame, draw: at.draw, number}), name));
  const number = make("input", {type: "number", min: 0, value: 0, "aria-label": "Place of a vertex in the drawing order"});
  return [
    make("div", {class: "bar"}, "Vertex at place ", number, " of the drawing order ", make("button", {type: "button", onclick: () => vertex(Number(number.value))}, "Step its program")),
    ...found.stages.map(stage), mesh(found.mesh), ...found.buffers.map(buffer), ...found.textures.map(pictured), ...found.targets.map(pictured)].filter(Boolean);
}

export async function showFrame() {
  const f = page.frames;
  const drawn = await api.ask("frame", {name: f.name, draw: f.draw});
  const choose = (number) => { f.draw = number; trying(showFrame); };
  const slider = make("input", {type: "range", min: 1, max: drawn.draws.length, value: drawn.draw, "aria-label": "Draw", onchange: () => choose(Number(slider.value))});
  const at = drawn.draws[drawn.draw - 1];
  const history = make("div", {}, make("p", {class: "quiet"}, "Click a pixel for its history; arrows and Enter do the same."));
  const shown = image(drawn, `the picture after draw ${drawn.draw}`);
  const look = (x, y, fragment) => trying(async () => {
    const found = await api.ask("pixel", {name: f.name, x, y, frame: at.frame, draw: at.draw, ...(fragment === undefined ? {} : {fragment})});
    const lines = found.fragments.map((text, n) => make("li", {}, make("button", {type: "button", onclick: () => look(x, y, n), "aria-pressed": String(n === found.fragment)}, "Step"), ` ${text}`));
    history.replaceChildren(make("p", {}, found.about[0]), lines.length ? make("ol", {}, ...lines) : make("p", {class: "quiet"}, "No draw of the frame covers it."));
    if (found.units.length) await step(found, f.name);
  });
  const inside = make("div", {}, make("button", {type: "button", onclick: () => trying(async () => inside.replaceChildren(...await apart(at, f.name)))}, "Vertices, mesh, buffers, textures and targets of this draw"));
  panes.picture.replaceChildren(make("div", {class: "bar"}, "Draw ", slider, `${drawn.draw} of ${drawn.draws.length}`,
    make("span", {class: "quiet"}, at ? `frame ${at.frame}, draw ${at.draw}: ${at.mode}, ${at.fragments} fragments` : "")), pickable(shown, drawn, [history], (x, y) => look(x, y)), at ? inside : null, draws(drawn, choose));
}
