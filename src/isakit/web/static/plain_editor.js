// The editor where CodeMirror is not there: a text field with the numbers of its lines beside it.

import {make} from "./dom.js";

const PAUSE = 250;  // milliseconds after the last key
const LINE = 18;    // pixels

export class Editor {
  // changed(text): some time after the last key; moved(line): the cursor is in another line.
  constructor(place, changed, moved) {
    this.bars = make("div", {class: "bars"});
    this.numbers = make("div", {class: "numbers", "aria-hidden": "true"}, make("div"), this.bars);
    this.field = make("textarea", {"aria-label": "Source text", spellcheck: false, wrap: "off", autocapitalize: "off", autocomplete: "off"});
    place.classList.add("plain");
    place.append(this.numbers, this.field);
    this.linked = new Set();
    this.wrong = new Map();
    this.hues = new Map();
    this.line = 0;
    this.field.addEventListener("input", () => {
      this.draw();
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => changed(this.text), PAUSE);
    });
    this.field.addEventListener("scroll", () => { this.numbers.scrollTop = this.field.scrollTop; });
    this.field.addEventListener("keydown", (e) => { if (e.key === "Escape") this.field.blur(); });
    document.addEventListener("selectionchange", () => {
      if (document.activeElement !== this.field) return;
      const line = this.text.slice(0, this.field.selectionStart).split("\n").length;
      if (line !== this.line) moved(line);
      this.line = line;
    });
  }

  get text() { return this.field.value; }

  set(text) {
    clearTimeout(this.waiting);
    this.field.value = text;
    this.field.setSelectionRange(0, 0);
    this.draw();
  }

  // Numbers are one text, made again when there are more or fewer lines; lines that are marked have a bar behind them.
  draw() {
    const count = this.text.split("\n").length;
    if (count !== this.count) this.numbers.firstChild.textContent = Array.from({length: count}, (_, k) => k + 1).join("\n");
    this.count = count;
    const marked = [...new Set([...this.linked, ...this.wrong.keys(), ...this.hues.keys()])].filter((n) => n > 0 && n <= count);
    this.bars.replaceChildren(...marked.map((n) => {
      const bar = make("div", {class: `${this.linked.has(n) ? "linked" : ""} ${this.wrong.has(n) ? "wrong" : ""}`, title: this.wrong.get(n)});
      bar.style.top = `${(n - 1) * LINE}px`;
      if (this.hues.has(n)) bar.style.boxShadow = `inset 4px 0 0 hsl(${this.hues.get(n)} 65% 55%)`;
      return bar;
    }));
    this.numbers.scrollTop = this.field.scrollTop;
  }

  colour() {}  // a text field has one colour

  errors(diagnostics) {
    this.wrong = new Map(diagnostics.map((d) => [d.line, [d.message, ...d.notes].join("\n")]));
    this.draw();
  }

  link(lines, scroll) {
    this.linked = new Set(lines);
    this.draw();
    const first = lines.find((n) => n > 0);
    if (scroll && first) this.reveal(first);
  }

  colourLines(map) {
    this.hues = map;
    this.draw();
  }

  reveal(line) {
    const top = (line - 1) * LINE;
    if (top < this.field.scrollTop || top > this.field.scrollTop + this.field.clientHeight - 2 * LINE) this.field.scrollTop = top - this.field.clientHeight / 2;
  }

  go(line) {
    const at = this.text.split("\n").slice(0, Math.max(0, line - 1)).join("\n").length + (line > 1 ? 1 : 0);
    this.field.focus();
    this.field.setSelectionRange(at, at);
    this.reveal(line);
  }
}
