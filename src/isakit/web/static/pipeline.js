// A vµc core over time: what issues in each cycle, when its results can be read, what goes wrong, and the rings.

import {draw, hex, make} from "./dom.js";

const CELL = 13;
const ROW = 18;
const TEXT = 208;

export function pipeline(data, follow) {
  if (!data.issues.length) return [make("p", {}, data.halted ? "The core is halted." : "Nothing is under way."), ...around(data)];
  return [
    make("p", {class: "quiet"}, "A row per cycle. ■ the instruction issues, ─ its result is under way, ▶ from here on it can be read. Nothing is ever held back: who reads too early gets the old value (red)."),
    picture(data, follow), ...notes(data, follow), ...around(data),
  ];
}

function picture(data, follow) {
  const first = data.issues[0].cycle;
  const last = data.issues.reduce((end, i) => Math.max(end, ...i.writes.map((w) => w.cycle)), data.issues[data.issues.length - 1].cycle);
  const cycles = Math.min(40, last - first + 1);
  const width = TEXT + cycles * CELL + 4;
  const height = (data.issues.length + 1) * ROW + 6;
  const made = draw("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "instructions by cycle", class: "pipeline"});
  const x = (cycle) => TEXT + (cycle - first) * CELL;
  for (let c = first; c < first + cycles; c++) {
    if (c === data.now) made.append(draw("rect", {x: x(c), y: 2, width: CELL, height: height - 4, class: "now"}));
    if (c % 2 === 0 || c === data.now) made.append(draw("text", {x: x(c) + CELL / 2, y: 13, "text-anchor": "middle", "font-size": 9}, String(c)));
  }
  data.issues.forEach((i, k) => {
    const y = (k + 1) * ROW;
    const text = i.text ? `${i.slot ? "↳ " : ""}${i.executed ? i.text : `(${i.text})`}` : i.fault || "waits";
    const address = (i.address >> 2).toString(16).padStart(3, "0");
    const seen = `${address} ${text.length > 25 ? text.slice(0, 24) + "…" : text}`;
    const row = draw("g", {class: `issue ${i.cycle === data.now ? "present" : ""} ${i.notes.length || i.fault ? "hazard" : ""} ${i.cycle > data.now ? "future" : ""}`,
      tabindex: 0, role: "button", "aria-label": [seen, `cycle ${i.cycle}`, text.length > 25 ? text : "", i.slot ? "in a delay slot" : "", ...i.writes.map((w) => `${w.register} from cycle ${w.cycle} on`), ...i.notes].filter(Boolean).join("; "),
      onclick: () => follow(i.address), onkeydown: (e) => { if (e.key === "Enter") follow(i.address); }},
    draw("rect", {x: 0, y: y + 1, width: TEXT - 4, height: ROW - 2, class: "back"}),
    draw("text", {x: 2, y: y + 13, "font-size": 11}, seen));
    if (i.text) row.append(draw("rect", {x: x(i.cycle) + 2, y: y + 4, width: CELL - 5, height: ROW - 8, class: i.executed ? "issued" : "skipped"}));
    for (const w of i.writes) {
      if (w.cycle > i.cycle + 1) row.append(draw("path", {d: `M${x(i.cycle) + CELL - 2} ${y + ROW / 2}H${x(w.cycle) + 2}`, class: "way"}));
      row.append(draw("path", {d: `M${x(w.cycle) + 2} ${y + 5}l8 4 -8 4z`, class: "landed"}, draw("title", {}, `${w.register} = ${w.value} from cycle ${w.cycle} on`)));
    }
    made.append(row);
  });
  return made;
}

function notes(data, follow) {
  const found = data.issues.filter((i) => i.notes.length || i.fault);
  if (!found.length) return [make("p", {}, "No hazards in these cycles.")];
  return [make("h2", {}, "Hazards"), make("ul", {}, ...found.map((i) => make("li", {}, make("button", {type: "button", onclick: () => follow(i.address)}, `cycle ${i.cycle}`), ` ${i.text} ${[...i.notes, i.fault].filter(Boolean).join("; ")}`)))];
}

function around(data) {
  return [
    data.waits ? make("p", {}, make("strong", {}, data.waits)) : null,
    make("h2", {}, "Rings"),
    make("table", {}, make("thead", {}, make("tr", {}, ...["ring", "direction", "at", "bytes", "position", "filled", "about"].map((t) => make("th", {}, t)))), make("tbody", {}, ...data.rings.map((r) => make("tr", {},
      make("td", {class: "mono"}, r.name), make("td", {}, r.direction === "in" ? "→ core" : "core →"), make("td", {class: "mono"}, hex(r.offset, 1)), make("td", {class: "mono"}, hex(r.size, 1)),
      make("td", {class: "mono"}, hex(r.position, 1)), make("td", {}, make("meter", {min: 0, max: Math.max(1, r.size), value: Math.min(r.filled, r.size), title: `${r.filled} bytes`}), ` ${r.filled}`), make("td", {}, r.more))))),
    make("table", {}, ...data.surfaces.map((s) => make("tr", {}, make("td", {class: "mono"}, s.name), make("td", {class: "mono"}, hex(s.offset, 1)), make("td", {}, `${s.left} records left`)))),
    data.diagnostics.length ? make("ul", {}, ...data.diagnostics.map((t) => make("li", {}, t))) : null,
  ].filter(Boolean);
}
