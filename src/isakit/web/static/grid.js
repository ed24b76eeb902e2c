// Registers of all lanes of a group as a grid: what changed has a colour, and cells can be written.

import {make} from "./dom.js";
import {shown, widthOf} from "./machine.js";

// answer: {name, first, threads, registers: {name: [value of each lane]}}; before: the one of the last stop, or null.
// on: {set(what, value, thread), focus(thread)}
export function grid(answer, before, state, kind, on) {
  const same = before && before.first === answer.first && before.threads === answer.threads ? before.registers : null;
  const names = Object.keys(answer.registers);
  if (!names.length) return [make("p", {}, `All registers of ${answer.name} are 0.`)];
  const lanes = Array.from({length: answer.threads}, (_, k) => k);
  const group = state.rows.find((g) => g.first === answer.first);
  const waits = (k) => group && group.picture[k] !== "#";
  const cell = (name, k) => {
    const value = answer.registers[name][k], thread = answer.first + k;
    return make("td", {class: same && same[name]?.[k] !== value && (same[name] || value !== "0x0") ? "changed" : ""}, make("input", {
      class: "cell-value", value: shown(value, kind, widthOf(state, name)), "aria-label": `${name} of thread ${thread}`,
      onchange: (e) => on.set(name, e.target.value, thread),
    }));
  };
  return [make("div", {class: "grid"}, make("table", {},
    make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "lane"), ...names.map((n) => make("th", {scope: "col"}, n)))),
    make("tbody", {}, ...lanes.map((k) => make("tr", {class: `${answer.first + k === state.focus ? "here" : ""} ${waits(k) ? "waits" : ""}`},
      make("th", {scope: "row"}, make("button", {type: "button", "aria-label": `Look at thread ${answer.first + k}${waits(k) ? ", which takes no part" : ""}`, onclick: () => on.focus(answer.first + k)}, String(k))),
      ...names.map((n) => cell(n, k))))))),
  make("p", {class: "quiet"}, `${answer.name}. Grey lanes take no part in the next instruction. Registers that are 0 in every lane are left out; a value that is typed here is written, and what was computed after this place is forgotten.`)];
}
