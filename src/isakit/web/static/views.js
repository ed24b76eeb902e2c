// The views: each has a pane, and may have a function that fills it when it is seen. How panes lie on the screen is the
// arrangement's: docked where dockview is there and the screen is wide enough, else in columns.

import {$, has} from "./dom.js";
import {page, trying} from "./page.js";

export const NARROW = "(max-width: 760px)";

const views = new Map();
export const panes = {};
let arrangement = null;

// A view; `applies`: whether it makes sense for what the page holds; `live`: whether it is filled again after each move;
// `costly`: filled only when someone asks for it, not with every change of the program.
export function addView(name, title, {fill = null, applies = () => true, live = false, costly = false} = {}) {
  panes[name] = $("view-store").appendChild(document.createElement("div"));
  panes[name].id = `view-${name}`;
  panes[name].tabIndex = 0;
  views.set(name, {name, title, element: panes[name], fill, applies, live, costly});
}

const applicable = () => [...views.values()].filter((v) => v.applies(page)).map((v) => v.name);

const filled = (names) => Promise.all(names.map((n) => views.get(n)).filter((v) => v.fill).map((v) => trying(v.fill)));

// The arrangement is made once all views are known; `changed` is called when there is something to remember.
export async function arrange(changed) {
  const docked = has("dockview") && !matchMedia(NARROW).matches;
  const {Arrangement} = await import(docked ? "./dock.js" : "./columns.js");
  const parts = ["side", "write", "read"].map((id) => ({name: id, title: $(id).getAttribute("aria-label"), element: $(id)}));
  arrangement = new Arrangement(parts, [...views.values()], applicable(), {seen: (name) => filled([name]), changed});
}

export const arranged = () => arrangement;

export const isShown = (name) => arrangement.visible().has(name);

// Bring a view to the front; one that says nothing about this program gives way to the bits.
export function show(name) {
  const found = applicable().includes(name) ? name : "bits";
  arrangement.show(found);
  return filled([found]);
}

const seen = (which) => [...views.values()].filter((v) => arrangement.visible().has(v.name) && which(v)).map((v) => v.name);

// Another program: only views that say something about it stay.
export function fit() {
  arrangement.allow(applicable());
  return filled(seen((v) => !v.costly));
}

// The launch has moved.
export const refresh = () => filled(seen((v) => v.live));
