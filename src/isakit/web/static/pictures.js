// Pictures of scenes and of captured frames.

import * as api from "./api.js";
import {make, pixelAt, say} from "./dom.js";
import {page, trying} from "./page.js";
import {editor, listing} from "./parts.js";
import {showUnits} from "./programs.js";
import {adopt, showState} from "./running.js";
import {panes} from "./views.js";

const WIDEST = 420;

function image(drawn, alt) {
  const scale = Math.max(1, Math.floor(WIDEST / Math.max(drawn.width, drawn.height)));
  const made = make("img", {src: `data:image/png;base64,${drawn.png}`, width: drawn.width * scale, height: drawn.height * scale, alt});
  made.style.imageRendering = "pixelated";
  made.style.maxWidth = "100%";
  made.style.height = "auto";
  return made;
}

export async function showPicture() {
  if (page.frames) { await showFrame(); return; }
  if (page.scene) { await showScene(page.scene); return; }
  panes.picture.replaceChildren(make("p", {}, "Drop a scene (.json) with its programs or a capture of an OpenGL program, or open the lesson about pixels."));
}

async function showFrame() {
  const f = page.frames;
  const drawn = await api.ask("frame", {name: f.name, draw: f.draw});
  const slider = make("input", {type: "range", min: 1, max: drawn.draws.length, value: drawn.draw, "aria-label": "Draw", onchange: () => { f.draw = Number(slider.value); trying(showFrame); }});
  const at = drawn.draws[drawn.draw - 1];
  panes.picture.replaceChildren(image(drawn, `the picture after draw ${drawn.draw}`), make("div", {class: "bar"}, "Draw ", slider, `${drawn.draw} of ${drawn.draws.length}`),
    make("p", {class: "quiet"}, at ? `frame ${at.frame}, draw ${at.draw}: ${at.mode}, ${at.fragments} fragments` : ""));
}

async function showScene(scene) {
  const files = scene.program ? {[scene.program]: editor.text} : {};
  const drawn = await api.ask("scene", {name: scene.name, files});
  const about = make("div", {}, make("p", {class: "quiet"}, "Click a pixel to step its fragment program. Arrows and Enter do the same."));
  const shown = image(drawn, "the drawn scene");
  shown.tabIndex = 0;
  const at = {x: drawn.width >> 1, y: drawn.height >> 1};
  const look = () => trying(async () => {
    const found = await api.ask("pixel", {name: scene.name, x: at.x, y: at.y});
    about.replaceChildren(make("ul", {}, ...found.about.map((t) => make("li", {}, t))));
    page.unit = found.units[0];
    showUnits(found.units, scene.name);
    await listing.show(page.unit);
    adopt(found.state);
    await showState();
  });
  shown.addEventListener("click", (e) => {
    const [column, row] = pixelAt(e, drawn);
    at.x = column;
    at.y = drawn.height - 1 - row;
    look();
  });
  shown.addEventListener("keydown", (e) => {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[e.key];
    if (step) {
      e.preventDefault();
      at.x = Math.min(drawn.width - 1, Math.max(0, at.x + step[0]));
      at.y = Math.min(drawn.height - 1, Math.max(0, at.y + step[1]));
      say(`pixel ${at.x}, ${at.y}`);
    } else if (e.key === "Enter") look();
  });
  const draws = drawn.draws.map((d, n) => `draw ${n}: ${d.primitives} primitive${d.primitives === 1 ? "" : "s"}, ${d.fragments} fragments, ${d.instructions} instructions`);
  panes.picture.replaceChildren(shown, about, make("p", {class: "quiet"}, draws.join("; ")));
}
