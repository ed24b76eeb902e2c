// The views: tabs, one of which is shown. Each has a pane, and may have a function that fills it when it is shown.

import {$, make} from "./dom.js";
import {page, trying} from "./page.js";

const views = new Map();
export const panes = {};
let current = "bits";

// A view; `applies`: whether it makes sense for what the page holds; `live`: whether it is filled again after each move;
// `costly`: filled only when someone asks for it, not with every change of the program.
export function addView(name, title, {fill = null, applies = () => true, live = false, costly = false} = {}) {
  const tab = make("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-selected": "false", tabIndex: -1,
    onclick: () => show(name),
  }, title);
  panes[name] = make("div", {id: `view-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, tabIndex: 0, hidden: true});
  $("tabs").append(tab);
  $("views").append(panes[name]);
  views.set(name, {tab, fill, applies, live, costly});
}

export const shown = () => current;

const there = () => [...views].filter(([, v]) => !v.tab.hidden).map(([name]) => name);

export function show(name) {
  if (views.get(name).tab.hidden) name = "bits";
  current = name;
  for (const [n, v] of views) {
    v.tab.setAttribute("aria-selected", String(n === name));
    v.tab.tabIndex = n === name ? 0 : -1;
    panes[n].hidden = n !== name;
  }
  const {fill} = views.get(name);
  return fill ? trying(fill) : undefined;
}

// Another program: only tabs that say something about it stay.
export function fit() {
  for (const v of views.values()) v.tab.hidden = !v.applies(page);
  const {costly, tab} = views.get(current);
  return costly && !tab.hidden ? undefined : show(current);
}

// The launch has moved.
export function refresh() {
  const {fill, live} = views.get(current);
  return live ? trying(fill) : undefined;
}

$("tabs").addEventListener("keydown", (e) => {
  const names = there();
  const k = names.indexOf(current);
  const next = {ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: names.length - 1}[e.key];
  if (next === undefined) return;
  e.preventDefault();
  const name = names[(next + names.length) % names.length];
  show(name);
  views.get(name).tab.focus();
});
