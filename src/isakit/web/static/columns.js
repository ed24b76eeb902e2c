// Panes in columns: the text, the code, and the views under tabs. A view can be set beside the others, and the columns are
// as wide as one likes. This is what the page has without dockview, and on narrow screens.

import {$, make} from "./dom.js";

const MOST_BESIDE = 4;
const STEP = 24;    // pixels that a key moves a border
const LEAST = 120;  // pixels of a column

export class Arrangement {
  // parts, views: {name, title, element}; allowed: names of the views that are there; on: {seen(name), changed()}
  constructor(parts, views, allowed, on) {
    this.parts = parts;
    this.views = views;
    this.on = on;
    this.current = "bits";
    this.beside = [];  // names of the views that stand below the one in front
    this.closed = new Set();
    this.widths = {};
    this.tabs = new Map(views.map(({name, title, element}) => [name, make("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-selected": "false", tabIndex: -1,
      onclick: () => { this.show(name); on.seen(name); on.changed(); },
    }, title)]));
    for (const {name, title, element} of views) {
      element.setAttribute("role", "tabpanel");
      element.setAttribute("aria-labelledby", `tab-${name}`);
      $("tabs").append(this.tabs.get(name));
      $("views").append(make("section", {class: "view", hidden: true}, make("div", {class: "bar", hidden: true}, make("strong", {}, title),
        make("button", {type: "button", "aria-label": `Close ${title}`, onclick: () => this.toggle(name, false)}, "×")), element));
    }
    $("tabs").addEventListener("keydown", (e) => this.key(e));
    for (const {name, element} of parts) element.after(this.border(name, element));
    this.allow(allowed);
  }

  border(name, element) {
    const border = make("div", {class: "border", role: "separator", tabIndex: 0, "aria-orientation": "vertical", "aria-label": `Width of ${element.getAttribute("aria-label")}`, "aria-valuenow": 0});
    const wide = (width) => {
      this.widths[name] = Math.max(LEAST, Math.round(width));
      this.draw();
    };
    border.addEventListener("pointerdown", (e) => {
      border.setPointerCapture(e.pointerId);
      const from = e.clientX, width = element.offsetWidth;
      const move = (m) => wide(width + m.clientX - from);
      border.addEventListener("pointermove", move);
      border.addEventListener("pointerup", () => { border.removeEventListener("pointermove", move); this.on.changed(); }, {once: true});
    });
    border.addEventListener("keydown", (e) => {
      const by = {ArrowLeft: -STEP, ArrowRight: STEP}[e.key];
      if (!by) return;
      e.preventDefault();
      e.stopPropagation();
      wide(element.offsetWidth + by);
      this.on.changed();
    });
    return border;
  }

  draw() {
    for (const {name, element} of this.parts) {
      element.classList.toggle("closed", this.closed.has(name));
      element.nextElementSibling.hidden = this.closed.has(name);
      element.nextElementSibling.setAttribute("aria-valuenow", this.widths[name] ?? element.offsetWidth);
      element.style.flex = this.widths[name] ? `0 0 ${this.widths[name]}px` : "";
    }
    for (const {name, element} of this.views) {
      const tab = this.tabs.get(name), front = name === this.current, below = !front && this.beside.includes(name) && !tab.hidden;
      tab.setAttribute("aria-selected", String(front));
      tab.tabIndex = front ? 0 : -1;
      element.parentNode.hidden = !front && !below;
      element.previousElementSibling.hidden = !below;
      element.parentNode.classList.toggle("below", below);
    }
  }

  key(e) {
    const names = [...this.tabs].filter(([, tab]) => !tab.hidden).map(([name]) => name);
    const k = names.indexOf(this.current);
    const next = {ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: names.length - 1}[e.key];
    if (next === undefined) return;
    e.preventDefault();
    this.tabs.get(names[(next + names.length) % names.length]).click();
    this.tabs.get(this.current).focus();
  }

  visible() {
    return new Set([this.current, ...this.beside].filter((name) => !this.tabs.get(name).hidden));
  }

  show(name) {
    this.current = name;
    this.draw();
  }

  allow(names) {
    for (const [name, tab] of this.tabs) tab.hidden = !names.includes(name);
    if (this.tabs.get(this.current).hidden) this.current = "bits";
    this.draw();
  }

  list() {
    return [...this.parts.map(({name, title}) => ({name, title, there: !this.closed.has(name)})),
      ...this.views.filter((v) => !this.tabs.get(v.name).hidden).map(({name, title}) => ({name, title, there: this.visible().has(name)}))];
  }

  toggle(name, yes) {
    if (this.tabs.has(name)) {
      this.beside = [...this.beside.filter((n) => n !== name), ...(yes ? [name] : [])].slice(-MOST_BESIDE);
      if (yes) this.on.seen(name);
    } else if (yes) this.closed.delete(name);
    else this.closed.add(name);
    this.draw();
    this.on.changed();
  }

  preset(kind) {
    this.closed = new Set(kind === "reading" ? ["write"] : []);
    this.widths = {};
    this.beside = [];
    this.draw();
    this.on.changed();
  }

  saved() { return {columns: {current: this.current, beside: this.beside, closed: [...this.closed], widths: this.widths}}; }

  restore(state) {
    const found = state?.columns;
    if (!found || !this.tabs.has(found.current)) return;
    this.current = found.current;
    this.beside = found.beside.filter((name) => this.tabs.has(name));
    this.closed = new Set(found.closed);
    this.widths = found.widths;
    if (this.tabs.get(this.current).hidden) this.current = "bits";
    this.draw();
  }
}
