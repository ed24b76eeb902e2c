// Panes that are docked: moved by their tabs, split, resized, closed, and opened again. By dockview.

import {make} from "./dom.js";
import {createDockview} from "./vendor/dockview.js";

const WIDE = 1150;  // pixels from which text, code and views stand beside each other
const SIDE = 210;
const OF_LAUNCH = ["lanes", "registers", "grid", "stack", "memory", "arrays", "access", "pipeline", "invocations", "stops"];

export class Arrangement {
  // parts, views: {name, title, element}; allowed: names of the views that are there; on: {seen(name), changed()}
  constructor(parts, views, allowed, on) {
    this.parts = parts;
    this.views = views;
    this.on = on;
    this.panes = new Map([...parts, ...views].map((p) => [p.name, p]));
    this.allowed = allowed;
    this.several = true;      // views of a launch are seen beside others
    this.closed = new Set();  // what the user does not want to see
    this.busy = 0;            // panes are moved by the page, not by its user
    const main = document.querySelector("main");
    document.getElementById("look").hidden = true;
    main.classList.add("docked");
    this.host = main.appendChild(make("div", {id: "dock"}));
    for (const {element} of parts) element.removeAttribute("aria-label");  // their panes have it
    this.api = createDockview(this.host, {
      createComponent: ({name}) => this.content(name),
      createTabComponent: ({id}) => ({element: make("span", {id: `tab-${id}`, class: "tab-name"}, this.panes.get(id).title), init: () => {}}),
      createRightHeaderActionComponent: (group) => this.actions(group),
      defaultRenderer: "always", defaultTabComponent: "name", disableFloatingGroups: true, disableTabsOverflowList: true, theme: {name: "isakit", className: "dockview-theme-light"},
    });
    this.preset("usual");
    this.api.onDidActivePanelChange(() => this.looked());
    this.api.onDidRemovePanel(({id}) => { if (!this.busy) this.closed.add(id); });
    this.api.onDidLayoutChange(() => { if (!this.busy) { this.looked(); on.changed(); } });
    this.were = this.visible();
    this.host.addEventListener("keydown", (e) => this.key(e));
  }

  // Keys on a tab: arrows go to the next one, with Shift they split its pane off to that side; + and - make the pane
  // wider and narrower, Delete closes it.
  key(e) {
    const tab = e.target.closest("[role=tab]");
    const panel = tab && this.api.getPanel(tab.querySelector(".tab-name").id.slice("tab-".length));
    if (!panel) return;
    const others = panel.group.panels;
    const to = {ArrowRight: 1, ArrowLeft: -1, Home: -others.indexOf(panel), End: -1 - others.indexOf(panel)}[e.key];
    const side = {ArrowRight: "right", ArrowLeft: "left", ArrowUp: "top", ArrowDown: "bottom"}[e.key];
    const wider = {"+": 40, "-": -40}[e.key];
    let stays = panel;
    if (e.shiftKey && side && others.length > 1) panel.api.moveTo({group: panel.group, position: side});
    else if (!e.shiftKey && to !== undefined) (stays = others.at((others.indexOf(panel) + to) % others.length)).api.setActive();
    else if (wider) panel.group.api.setSize({width: panel.group.width + wider});
    else if (e.key === "Delete") panel.api.close();
    else if (e.key === "Enter" || e.key === " ") panel.api.setActive();
    else return;
    e.preventDefault();
    e.stopPropagation();
    document.getElementById(`tab-${stays.id}`)?.closest("[role=tab]").focus();
  }

  // What lies in a pane. Closed, it stays in the document: other parts of the page look for what is in it.
  content(name) {
    const {element} = this.panes.get(name);
    const holder = make("div", {class: "pane"}, element);
    return {element: holder, init: () => {}, dispose: () => { if (element.parentNode === holder) document.getElementById("view-store").append(element); }};
  }

  // Beside the tabs of a group: closing what is in front.
  actions(group) {
    const element = make("button", {type: "button", class: "close-pane", "aria-label": "Close this pane", title: "Close this pane (Panes opens it again)", onclick: () => group.activePanel?.api.close()}, "×");
    return {element, init: () => {}, dispose: () => {}};
  }

  quietly(what) {
    this.busy++;
    try { return what(); } finally { this.busy--; this.were = this.visible(); }
  }

  // Views that have come into sight since the last time are filled.
  looked() {
    if (this.busy) return;
    const now = this.visible();
    const fresh = [...now].filter((name) => !this.were.has(name) && !this.parts.some((p) => p.name === name));
    this.were = now;
    for (const name of fresh) this.on.seen(name);
  }

  visible() { return new Set(this.api.panels.filter((p) => p.api.isVisible).map((p) => p.id)); }

  add(name, position, more = {}) {
    if (this.api.getPanel(name)) return this.api.getPanel(name);
    const {title} = this.panes.get(name);
    return this.api.addPanel({id: name, component: name, title, position, inactive: true, ...more});
  }

  // Where a view is put that is nowhere: with its kin, else with any view, else to the right. Among the tabs there it
  // stands where it always does.
  home(name) {
    const order = this.views.map((v) => v.name), kin = order.filter((n) => this.api.getPanel(n));
    const near = kin.find((n) => OF_LAUNCH.includes(n) === OF_LAUNCH.includes(name)) ?? kin[0];
    if (!near) return {direction: "right"};
    const before = this.api.getPanel(near).group.panels.filter((p) => order.indexOf(p.id) < order.indexOf(name));
    return {referencePanel: near, direction: "within", index: before.length};
  }

  show(name) {
    this.quietly(() => {
      this.closed.delete(name);
      this.add(name, this.home(name)).api.setActive();
    });
  }

  // Only these views are there, and of them those the user has not closed.
  allow(names) {
    this.allowed = names;
    this.quietly(() => {
      for (const {name} of this.views) {
        const panel = this.api.getPanel(name);
        if (panel && !names.includes(name)) this.api.removePanel(panel);
        else if (!panel && names.includes(name) && !this.closed.has(name)) this.add(name, this.home(name));
      }
    });
  }

  list() {
    return [...this.panes.values()].filter((p) => this.parts.includes(p) || this.allowed.includes(p.name))
      .map(({name, title}) => ({name, title, there: Boolean(this.api.getPanel(name))}));
  }

  toggle(name, yes) {
    const panel = this.api.getPanel(name);
    if (!yes) {
      if (name === "write" && panel) this.putAway(panel);
      else panel?.api.close();
      return;
    }
    this.closed.delete(name);
    if (this.parts.some((p) => p.name === name)) {
      const place = name === "write" && this.api.getPanel("read") ? {referencePanel: "read", direction: "left"} : {direction: "left"};
      const side = this.api.getPanel("side")?.group, width = side?.width;
      this.add(name, place, name === "side" ? {initialWidth: SIDE} : {}).api.setActive();
      side?.api.setSize({width});  // what is added takes room from the code and the views
    } else this.show(name);
    this.on.changed();
  }

  // Close the text. Its room goes to the code and the views in equal parts: the lists beside it need no more than they had.
  putAway(text) {
    const [side, read] = ["side", "read"].map((name) => this.api.getPanel(name)?.group);
    const alone = text.group.panels.length === 1;
    const width = {side: alone ? side?.width : SIDE, read: read && read.width + text.group.width / 2};
    text.api.close();
    this.quietly(() => {
      side?.api.setSize({width: width.side});
      if (alone) read?.api.setSize({width: width.read});
    });
  }

  // usual: text, code, and views of the program above those of the launch; reading: without the text.
  preset(kind) {
    this.quietly(() => {
      this.api.clear();
      this.closed = new Set(kind === "reading" ? ["write"] : []);
      const width = this.host.clientWidth || innerWidth;
      const wide = width >= WIDE;
      this.add("side", undefined, {initialWidth: SIDE});
      let last = "side";
      if (kind !== "reading") this.add("write", wide ? {referencePanel: "side", direction: "right"} : {referencePanel: "side", direction: "within"});
      if (kind !== "reading" && wide) last = "write";
      this.add("read", {referencePanel: last, direction: "right"});
      const names = this.views.map((v) => v.name).filter((n) => this.allowed.includes(n));
      const [upper, lower] = [names.filter((n) => !OF_LAUNCH.includes(n)), names.filter((n) => OF_LAUNCH.includes(n))];
      upper.forEach((n, k) => this.add(n, k ? {referencePanel: upper[0], direction: "within"} : {referencePanel: "read", direction: wide ? "right" : "below"}));
      lower.forEach((n, k) => this.add(n, k ? {referencePanel: lower[0], direction: "within"} : {referencePanel: upper[0], direction: wide ? "below" : "right"}));
      const size = (name, width) => this.api.getPanel(name)?.group.api.setSize({width});
      if (wide) {
        const columns = kind === "reading" ? 2 : 3;
        size("side", SIDE);
        if (columns === 3) size("write", (width - SIDE) * 0.26);
        size("read", (width - SIDE) * (columns === 3 ? 0.4 : 0.5));
      } else size("side", kind === "reading" ? SIDE : width * 0.45);
      for (const name of [wide ? "side" : "write", "bits", "lanes", "read"]) this.api.getPanel(name)?.api.setActive();
    });
    this.on.changed();
  }

  // What is remembered; `restore` takes only what it has made itself, and keeps what is there otherwise.
  saved() { return {docked: this.api.toJSON(), closed: [...this.closed]}; }

  restore(state) {
    if (!state?.docked) return;
    try {
      const known = Object.keys(state.docked.panels).every((name) => this.panes.has(name));
      if (!known) return;
      this.quietly(() => {
        this.closed = new Set(state.closed);
        this.api.fromJSON(state.docked);
      });
    } catch (e) {
      this.preset("usual");
    }
    this.allow(this.allowed);
  }
}
