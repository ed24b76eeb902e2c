// Two programs side by side: aligned instructions, and why they differ.

import {make} from "./dom.js";

const MARKS = {same: " ", moved: "~", changed: "≠", removed: "−", added: "+"};

// The sign of every instruction of the first program that is not the same in the second.
export const marks = (data) => new Map(data.rows.filter((r) => r.a && r.change !== "same").map((r) => [r.a.address, MARKS[r.change]]));

export function comparison(data, follow) {
  const rows = data.rows.map((r) => {
    const left = make("td", {class: "mono"}, r.a ? make("a", {class: "target", onclick: () => follow(r.a.address)}, r.a.address.toString(16).padStart(4, "0")) : "", r.a ? ` ${r.a.text}` : "");
    const right = make("td", {class: "mono"}, r.b ? `${r.b.address.toString(16).padStart(4, "0")} ${r.b.text}` : "");
    return make("tr", {class: r.change === "same" ? "quiet" : r.change === "moved" ? "" : "changed"}, make("td", {class: "mono"}, MARKS[r.change]), left, right, make("td", {}, r.why.join("; ")));
  });
  const counts = Object.entries(data.counts).filter(([, n]) => n).map(([what, n]) => `${n} ${what}`).join(", ");
  return [
    make("p", {}, make("strong", {}, data.identical ? "The programs are the same. " : data.equal ? "Only registers, addresses or encodings differ. " : "The programs differ. "), counts),
    data.facts.length ? make("ul", {}, ...data.facts.map((f) => make("li", {}, `${f.what}: ${f.a} → ${f.b}`))) : null,
    make("table", {}, make("thead", {}, make("tr", {}, ...["change", data.a, data.b, "why"].map((t) => make("th", {}, t)))), make("tbody", {}, ...rows)),
  ].filter(Boolean);
}
