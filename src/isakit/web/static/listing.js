// The listing: a list of which only the visible rows exist, so that its length does not matter.

import {ask} from "./api.js";
import {grammar} from "./grammar.js";
import {hex, make} from "./dom.js";

const ROW = 20;
const CHUNK = 200;
const NOTES = {F2: "labels", ";": "comments", m: "bookmarks"};  // keys, and what is said of an instruction then
const TALLEST = 8_000_000;  // pixels; browsers cannot scroll over much more

// The colour of a source line, in the text as in the listing.
export const hue = (line) => line * 137 % 360;

export class Listing {
  // on: {select(line), follow(address), stop(line), hover(line or null, place), note(kind), undo(), redo()}
  constructor(place, on) {
    this.place = place;
    this.on = on;
    this.rows = make("div", {class: "rows"});
    this.space = make("div");
    this.options = {words: true, ranges: false};
    this.head = make("div", {class: "heads", "aria-hidden": "true", hidden: true});
    place.append(this.head, this.space, this.rows);
    this.clear();
    place.addEventListener("scroll", () => this.draw());
    place.addEventListener("keydown", (e) => this.key(e));
    place.addEventListener("mouseleave", () => this.hover(null));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  clear() {
    this.unit = null;
    this.total = 0;
    this.chunks = new Map();
    this.selected = -1;
    this.here = null;
    this.stops = new Set();
    this.linked = new Set();
    this.hits = new Set();
    this.marked = new Map();
    this.heat = null;
    this.head.hidden = true;
    this.rows.replaceChildren();
    this.space.style.height = "0";
  }

  async show(unit) {
    this.clear();
    this.unit = unit;
    this.grammar = await grammar(unit.isa);
    await this.load(0);
    this.place.scrollTop = 0;
    this.draw();
  }

  // The same program, of which something else is said: the place in it stays.
  async again(unit) {
    if (this.unit?.unit !== unit.unit) return;
    this.unit = unit;
    this.chunks.clear();
    await this.load(Math.floor(this.place.scrollTop * this.scale / ROW / CHUNK));
    if (this.selected >= 0) await this.whole(this.selected);
    this.draw();
  }

  load(chunk) {
    const unit = this.unit;
    if (!this.chunks.has(chunk)) {
      const ranges = this.options.ranges;
      this.chunks.set(chunk, ask("listing", {unit: unit.unit, start: chunk * CHUNK, count: CHUNK, ranges: ranges ? 1 : 0}).then((answer) => {
        if (this.unit !== unit || this.options.ranges !== ranges) return null;
        this.total = answer.total;
        this.headOf(answer.heads);
        this.space.style.height = `${Math.min(TALLEST, this.total * ROW)}px`;
        this.chunks.set(chunk, answer.lines);
        return answer.lines;
      }, () => { this.chunks.delete(chunk); return null; }));
    }
    return this.chunks.get(chunk);
  }

  // The live range of every register as a column; the lines are fetched again.
  async showRanges(yes) {
    this.options.ranges = yes;
    this.chunks.clear();
    this.head.hidden = true;
    if (!this.unit) return;
    await this.load(Math.floor(this.place.scrollTop * this.scale / ROW / CHUNK));
    this.draw();
  }

  showWords(yes) {
    this.options.words = yes;
    return this.options.ranges ? this.showRanges(true) : this.draw();
  }

  headOf(lines) {
    this.head.hidden = !lines.length;
    const empty = (name) => make("span", {class: name}, name === "address" ? "    " : " ");
    this.head.replaceChildren(...lines.map((text) => make("div", {class: "row"}, empty("stop"), empty("address"), this.options.words ? empty("words") : null, make("span", {class: "ranges"}, text))));
  }

  // marks: a sign for addresses that a comparison found different.
  mark(marks) {
    this.marked = marks;
    this.draw();
  }

  // The line of a number, if it is loaded.
  line(n) {
    const chunk = this.chunks.get(Math.floor(n / CHUNK));
    return Array.isArray(chunk) ? chunk[n % CHUNK] : null;
  }

  async whole(n) {
    await this.load(Math.floor(n / CHUNK));
    return this.line(n);
  }

  // The number of the line at an address: loads chunks from the most likely one outwards.
  async numberAt(address) {
    let low = 0;
    let high = this.total - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const line = await this.whole(middle);
      if (!line) return -1;
      if (line.address === address) return middle;
      if (line.address < address) low = middle + 1; else high = middle - 1;
    }
    return -1;
  }

  get scale() { return this.total * ROW > TALLEST ? this.total * ROW / TALLEST : 1; }

  draw() {
    if (!this.unit || !this.total) return;
    const first = Math.floor(this.place.scrollTop * this.scale / ROW);
    const count = Math.ceil(this.place.clientHeight / ROW) + 1;
    const missing = new Set();
    const made = [];
    for (let n = first; n < Math.min(this.total, first + count); n++) {
      const line = this.line(n);
      if (!line) missing.add(Math.floor(n / CHUNK));
      made.push(line ? this.row(n, line) : make("div", {class: "row"}, "…"));
    }
    this.rows.style.top = `${this.head.offsetHeight + this.place.scrollTop - (this.place.scrollTop * this.scale % ROW)}px`;
    this.rows.replaceChildren(...made);
    if (this.selected >= 0) this.place.setAttribute("aria-activedescendant", `line-${this.selected}`);
    for (const chunk of missing) Promise.resolve(this.load(chunk)).then((lines) => lines && this.draw());
  }

  row(n, line) {
    const marks = ["row"];
    if (line.first) marks.push("first");
    if (line.address === this.here) marks.push("here");
    if (n === this.selected) marks.push("selected");
    if (this.linked.has(line.address)) marks.push("linked");
    if (line.error) marks.push("invalid");
    if (this.hits.has(n)) marks.push("hit");
    const stop = this.stops.has(line.address);
    const text = make("span", {class: "text"});
    if (line.label) text.append(make("span", {class: "label"}, `${line.label}: `));
    for (const [piece, kind] of this.grammar.pieces(line.text)) text.append(kind ? make("span", {class: kind}, piece) : piece);
    if (line.target !== null && line.target !== undefined) {
      text.append(" ", make("a", {class: "target", onclick: (e) => { e.stopPropagation(); this.on.follow(line.target); }}, `→${hex(line.target)}`));
    }
    if (line.error) text.append(` ; ${line.error}`);
    if (line.comment) text.append(make("span", {class: "comment", title: line.comment}, `  // ${line.comment.split("\n")[0]}`));
    if (line.bookmark) text.append(make("span", {class: "bookmark", title: line.bookmark}, ` ⚑ ${line.bookmark}`));
    const row = make("div", {
      class: marks.join(" "), id: `line-${n}`, role: "option", "aria-selected": String(n === this.selected),
      "aria-setsize": this.total, "aria-posinset": n + 1,
      onclick: () => this.select(n), ondblclick: () => this.on.stop(line),
    },
    make("span", {class: "stop", title: "Breakpoint", onclick: (e) => { e.stopPropagation(); this.on.stop(line); }}, stop ? "●" : line.address === this.here ? "▸" : " "),
    make("span", {class: "address"}, line.address.toString(16).padStart(4, "0")));
    if (this.coloured && line.source) row.style.boxShadow = `inset 4px 0 0 hsl(${hue(line.source)} 65% 55%)`;
    row.querySelector(".address").addEventListener("mouseenter", () => this.hover(line, row.querySelector(".address")));
    row.addEventListener("mouseleave", () => this.hover(null));
    if (this.heat) {
      const cost = this.heat.get(line.address);
      const cell = make("span", {class: "live"}, cost ? String(cost.executions) : "");
      if (cost) cell.style.background = `rgba(var(--hot), ${(0.6 * cost.executions / this.heat.most).toFixed(2)})`;
      row.append(cell);
    }
    if (this.options.words) row.append(make("span", {class: "words"}, line.words));
    if (this.options.ranges) row.append(make("span", {class: "ranges", title: "live ranges: ^ written, v read, x both, : live"}, line.ranges || ""));
    if (this.marked.size) row.append(make("span", {class: "mark"}, this.marked.get(line.address) || " "));
    row.append(text);
    return row;
  }

  // A row under the pointer for a while: what it means is shown beside it.
  hover(line, row) {
    clearTimeout(this.waiting);
    this.hovered = line;
    if (!line) { this.on.hover(null); return; }
    this.waiting = setTimeout(() => { if (this.hovered === line && row.isConnected) this.on.hover(line, row.getBoundingClientRect()); }, 600);
  }

  select(n, quiet = false) {
    if (n < 0 || n >= this.total) return;
    this.selected = n;
    this.reveal(n);
    this.draw();
    if (!quiet) Promise.resolve(this.whole(n)).then((line) => line && this.on.select(line, n));
  }

  reveal(n) {
    const top = n * ROW / this.scale;
    const height = this.place.clientHeight;
    if (top < this.place.scrollTop || top > this.place.scrollTop + height - 2 * ROW) this.place.scrollTop = Math.max(0, top - height / 3);
  }

  async go(address, quiet = false) {
    const n = await this.numberAt(address);
    if (n >= 0) this.select(n, quiet);
  }

  async stand(address) {
    this.here = address;
    if (address !== null && address !== undefined) {
      const n = await this.numberAt(address);
      if (n >= 0) this.reveal(n);
    }
    this.draw();
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.place.clientHeight / ROW) - 1);
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.total, End: this.total};
    if (e.key in moves) {
      e.preventDefault();
      this.select(Math.min(this.total - 1, Math.max(0, this.selected + moves[e.key])));
    } else if (e.key === "Enter" && this.line(this.selected)?.target !== null) {
      this.on.follow(this.line(this.selected)?.target);
    } else if (NOTES[e.key]) {
      e.preventDefault();
      this.on.note(NOTES[e.key]);
    } else if ((e.ctrlKey || e.metaKey) && /^[zy]$/i.test(e.key)) {
      e.preventDefault();
      if (e.key.toLowerCase() === "z" && !e.shiftKey) this.on.undo(); else this.on.redo();
    } else if (e.key === " " && this.line(this.selected)) {
      e.preventDefault();
      this.on.stop(this.line(this.selected));
    }
  }
}
