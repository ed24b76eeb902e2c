// What a kernel costs: the counts of every instruction, with heat.

import {make} from "./dom.js";

const COUNTS = ["executions", "divergent", "requests", "coalesced", "transactions", "moved", "used", "serialized"];

export function profile(data, follow) {
  const most = Math.max(1, ...data.instructions.map((i) => i.executions));
  const moved = Math.max(1, ...data.instructions.map((i) => i.moved));
  const columns = COUNTS.filter((c) => c === "executions" || data.instructions.some((i) => i[c]));
  const rows = data.instructions.map((i) => make("tr", {},
    make("td", {class: "mono"}, make("a", {class: "target", onclick: () => follow(i.address)}, i.address.toString(16).padStart(4, "0")), ` ${i.text}`),
    ...columns.map((c) => {
      const cell = make("td", {class: "n"}, i[c] ? String(i[c]) : "");
      if (c === "executions") cell.style.background = `rgba(var(--hot), ${(0.6 * i[c] / most).toFixed(2)})`;
      if (c === "moved" && i[c]) cell.style.background = `rgba(var(--cold), ${(0.6 * i[c] / moved).toFixed(2)})`;
      return cell;
    }),
    make("td", {class: "n"}, i.possible ? `${Math.round(100 * i.lanes / i.possible)}%` : ""),
    make("td", {class: "n"}, i.moved ? efficiency(i) : "")));
  return [
    make("p", {class: "quiet"}, `Rules of compute capability ${data.capability}. Red: executed often. Blue: bytes moved. Counts of the whole launch; there is no model of time.`),
    make("table", {class: "counts"}, make("thead", {}, make("tr", {}, ...["instruction", ...columns, "lanes", "used of moved"].map((t) => make("th", {}, t)))), make("tbody", {}, ...rows)),
    make("h2", {}, "Counters"), make("table", {}, ...Object.entries(data.counters).map(([n, v]) => make("tr", {}, make("td", {class: "mono"}, n), make("td", {class: "n"}, String(v))))),
    make("h2", {}, "Occupancy"), make("table", {}, ...data.occupancy.map((o) => make("tr", {}, ...Object.entries(o).map(([k, v]) => make("td", {}, `${k}: ${v}`))))),
  ];
}

function efficiency(i) {
  const bar = make("meter", {min: 0, max: 1, value: Math.min(1, i.used / i.moved), title: `${i.used} of ${i.moved} bytes were used`});
  return bar;
}
