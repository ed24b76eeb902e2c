// A captured frame, taken apart: its draws, what each worked on, the history of a pixel, the program of a vertex.

import * as api from "./api.js";
import {make, pixelAt, say} from "./dom.js";
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

function pictured(what) {
  if (!what.png) return make("p", {}, `${what.name}: too large to be shown`);
  const shown = image(what, what.name);
  const zoom = make("input", {type: "range", min: 1, max: 16, value: Math.max(1, Math.round(shown.width / what.width)), "aria-label": `Zoom of ${what.name}`, oninput: () => {
    shown.style.maxWidth = "none";
    shown.width = what.width * Number(zoom.value);
    shown.height = what.height * Number(zoom.value);
  }});
  const frame = make("div", {}, shown);
  frame.style.overflow = "auto";
  frame.style.maxHeight = `${WIDEST}px`;
  return make("details", {}, make("summary", {}, `${what.name}, ${what.width} x ${what.height}`), what.filters ? make("p", {class: "quiet"}, `filters: ${what.filters}`) : null,
    make("div", {class: "bar"}, "Zoom ", zoom), frame, histogram(what.histogram));
}

function draws(drawn, choose) {
  const rows = drawn.draws.map((d, n) => row([n + 1, d.frame, d.mode, d.vertices, d.fragments, d.instructions, (1000 * d.seconds).toFixed(1), d.changed.join(" ")], () => choose(n + 1), n + 1 === drawn.draw));
  return make("details", {}, make("summary", {}, `All ${drawn.draws.length} draws, what they cost and what state changed before them`),
    table(["draw", "frame", "primitives", "vertices", "fragments", "instructions", "ms", "changed"], rows));
}

async function apart(at, name) {
  const found = await api.ask("details", {name, frame: at.frame, draw: at.draw});
  const v = found.vertices;
  const vertex = (number) => trying(async () => step(await api.ask("vertex", {name, frame: at.frame, draw: at.draw, number}), name));
  const number = make("input", {type: "number", min: 0, value: 0, "aria-label": "Place of a vertex in the drawing order"});
  return [
    make("details", {}, make("summary", {}, `Vertices: ${v.count}, results of the last program before the rasterizer`),
      make("div", {class: "bar"}, "Vertex at place ", number, " of the drawing order ", make("button", {type: "button", onclick: () => vertex(Number(number.value))}, "Step its program")),
      v.rows.length < v.count ? make("p", {class: "quiet"}, `The first ${v.rows.length} are shown.`) : null, table(v.columns, v.rows.map((r) => row(r)))),
    ...found.textures.map(pictured), ...found.targets.map(pictured)];
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
  const inside = make("div", {}, make("button", {type: "button", onclick: () => trying(async () => inside.replaceChildren(...await apart(at, f.name)))}, "Vertices, textures and targets of this draw"));
  panes.picture.replaceChildren(make("div", {class: "bar"}, "Draw ", slider, `${drawn.draw} of ${drawn.draws.length}`,
    make("span", {class: "quiet"}, at ? `frame ${at.frame}, draw ${at.draw}: ${at.mode}, ${at.fragments} fragments` : "")), pickable(shown, drawn, [history], (x, y) => look(x, y)), at ? inside : null, draws(drawn, choose));
}
