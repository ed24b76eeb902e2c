// Pictures of scenes; those of captured frames are in frames.js.

import * as api from "./api.js";
import {make} from "./dom.js";
import {image, pickable, showFrame, step} from "./frames.js";
import {page, trying} from "./page.js";
import {editor} from "./parts.js";
import {panes} from "./views.js";

export async function showPicture() {
  if (page.frames) { await showFrame(); return; }
  if (page.scene) { await showScene(page.scene); return; }
  panes.picture.replaceChildren(make("p", {}, "Drop a scene (.json) with its programs or a capture of an OpenGL program, or open the lesson about pixels."));
}

async function showScene(scene) {
  const files = scene.program ? {[scene.program]: editor.text} : {};
  const drawn = await api.ask("scene", {name: scene.name, files});
  const about = make("div", {}, make("p", {class: "quiet"}, "Click a pixel to step its fragment program. Arrows and Enter do the same."));
  const shown = image(drawn, "the drawn scene");
  const picture = pickable(shown, drawn, [about], (x, row) => trying(async () => {
    const found = await api.ask("pixel", {name: scene.name, x, y: drawn.height - 1 - row});
    about.replaceChildren(make("ul", {}, ...found.about.map((t) => make("li", {}, t))));
    await step(found, scene.name);
  }));
  const draws = drawn.draws.map((d, n) => `draw ${n}: ${d.primitives} primitive${d.primitives === 1 ? "" : "s"}, ${d.fragments} fragments, ${d.instructions} instructions`);
  panes.picture.replaceChildren(picture, make("p", {class: "quiet"}, draws.join("; ")));
}
