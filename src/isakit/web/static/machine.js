// Where a launch stands: activity of lanes, registers, stack, breakpoints.

import {make} from "./dom.js";

const STATES = {"#": "on", ".": "off", "-": "ended"};

// on: {focus(thread), move(how, where)}
export function activity(state, on) {
  const rows = state.rows.flatMap((g) => {
    const cells = [...g.picture].map((mark, k) => {
      const thread = g.first + k;
      return make("button", {
        class: `cell ${STATES[mark]} ${thread === state.focus ? "focus" : ""}`, type: "button", tabIndex: -1,
        title: `thread ${thread}: ${mark === "#" ? "active" : mark === "-" ? "has ended" : "waits"}`, "aria-label": `thread ${thread}`, onclick: () => on.focus(thread),
      });
    });
    const where = g.address === null ? "ended" : `${g.address.toString(16).padStart(4, "0")}${g.state === "waiting" ? " waits" : ""}`;
    return [make("span", {}, g.name), make("span", {class: "cells", role: "group", "aria-label": `${[...g.picture].filter((m) => m === "#").length} of ${g.picture.length} active`}, ...cells), make("span", {}, where)];
  });
  const text = state.fault ? `fault: ${state.text}` : state.text;
  return [
    make("p", {}, make("strong", {}, text || state.reason), ` — ${state.unit} ${state.position}`, state.place ? `, at ${state.place}` : ""),
    make("div", {class: "matrix"}, ...rows),
    make("p", {class: "quiet"}, `Focus: ${state.focus_name}. Green lanes take part in the next instruction, the others wait on the stack; click one to look at its registers.`),
  ];
}

export function frames(state) {
  if (!state.frames.length) return [make("p", {}, "The stack is empty.")];
  return [make("table", {}, make("thead", {}, make("tr", {}, ...["entry", "goes on at", "lanes", "meaning"].map((t) => make("th", {}, t)))),
    make("tbody", {}, ...state.frames.map((f) => make("tr", {}, make("td", {class: "mono"}, f.kind), make("td", {class: "mono"}, f.address.toString(16).padStart(4, "0")),
      make("td", {class: "mono"}, f.lanes || ""), make("td", {}, f.meaning)))))];
}

export function shown(text, kind, width) {
  const n = BigInt(text);
  if (kind === "hex") return text;
  if (kind === "float" && width === 32) {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, Number(n));
    return String(Math.fround(view.getFloat32(0)));
  }
  if (kind === "signed") return String(BigInt.asIntN(width, n));
  return String(n);
}

// Bits of a register.
export function widthOf(state, name) {
  for (const [pattern, bits] of Object.entries(state.widths)) {
    const [before, after] = pattern.split("{n}");
    if (after === undefined ? name === pattern : name.startsWith(before) && /^\d+$/.test(name.slice(before.length, after ? -after.length : undefined))) return bits;
  }
  return 32;
}

export function registers(state, kind, on) {
  const changed = new Set(state.changed);
  const names = Object.keys(state.registers);
  const interesting = names.filter((n) => state.registers[n] !== "0x0" || changed.has(n));
  const cells = interesting.map((name) => make("button", {
    type: "button", class: changed.has(name) ? "changed" : "", title: `${name}: click for the instruction that wrote it last`,
    "data-register": name, onclick: () => on.move("last_write", name),
  }, `${name} = ${shown(state.registers[name], kind, widthOf(state, name))}`));
  const variables = (state.variables ?? []).map(([name, type, text]) => make("span", {title: type}, `${name} = ${text}`));
  if (variables.length) {
    const rest = cells.length ? [make("div", {class: "registers"}, ...cells)] : [];
    return [make("div", {class: "registers variables"}, ...variables), ...rest];
  }
  return cells.length ? [make("div", {class: "registers"}, ...cells), make("p", {class: "quiet"}, "All other registers are 0.")] : [make("p", {}, "All registers are 0.")];
}

// on: {remove(number), add(where, condition, kind)}
export function breakpoints(state, on) {
  const where = make("input", {size: 14, placeholder: "0x28, bar, s[0x40]", "aria-label": "Place"});
  const condition = make("input", {size: 18, placeholder: "$r2 > 5 and lane == 3", "aria-label": "Condition"});
  const kind = make("select", {"aria-label": "Kind"}, make("option", {value: "break"}, "break at"), make("option", {value: "watch"}, "watch"));
  return [
    make("form", {class: "bar", onsubmit: (e) => { e.preventDefault(); on.add(where.value, condition.value, kind.value); }},
      kind, where, " if ", condition, make("button", {}, "Add")),
    make("ul", {}, ...state.breakpoints.map((b) => make("li", {}, `${b.number} ${b.kind} ${b.where}${b.condition ? ` if ${b.condition}` : ""}, hit ${b.hits} times `,
      make("button", {type: "button", "aria-label": `remove breakpoint ${b.number}`, onclick: () => on.remove(b.number)}, "×")))),
  ];
}
