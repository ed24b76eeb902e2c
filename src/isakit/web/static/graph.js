// The control-flow graph: blocks laid out in layers, drawn as SVG.

import {draw, make} from "./dom.js";
import {arrange} from "./layout.js";

const LINE = 14;
const WIDTH = 6.7;
const SHOWN = 14;
const MOST = 400;

export function graph(data, follow) {
  if (data.blocks.length > MOST) return [make("p", {}, `${data.blocks.length} blocks are too many for a picture; the listing separates them.`)];
  const texts = data.blocks.map((b) => {
    const lines = b.instructions.length > SHOWN ? [...b.instructions.slice(0, SHOWN - 1), `… ${b.instructions.length - SHOWN + 1} more`] : b.instructions;
    return [`${b.address.toString(16).padStart(4, "0")}:`, ...lines.map((t) => t.length > 46 ? t.slice(0, 45) + "…" : t)];
  });
  const size = arrange(data.blocks.map((b, k) => ({
    id: b.number, width: 16 + WIDTH * Math.max(...texts[k].map((t) => t.length)), height: 12 + LINE * texts[k].length,
  })), data.edges);
  const picture = draw("svg", {viewBox: `0 0 ${size.width} ${size.height}`, width: size.width, height: size.height, role: "group", "aria-label": "control-flow graph"});
  picture.append(draw("defs", {}, draw("marker", {id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse"}, draw("path", {d: "M0 0 8 4 0 8z", fill: "currentColor"}))));
  const heads = new Set(data.loops.map((l) => l.head));
  data.edges.forEach((e, k) => {
    const d = size.edges[k].map((p, n) => `${n ? "L" : "M"}${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("");
    const back = heads.has(e.target) && data.blocks[e.target].address <= data.blocks[e.source].address;
    picture.append(draw("path", {d, class: `edge ${e.kind} ${back ? "back" : ""}`, "marker-end": "url(#tip)"}, draw("title", {}, e.kind)));
  });
  const nodes = new Map();
  data.blocks.forEach((b, k) => {
    const n = size.nodes.get(b.number);
    const node = draw("g", {class: `node ${b.joins ? "joins" : ""}`, tabindex: 0, role: "button",
      onclick: () => follow(b.address), onkeydown: (e) => { if (e.key === "Enter") follow(b.address); }},
    draw("rect", {x: n.x - n.width / 2, y: n.y - n.height / 2, width: n.width, height: n.height, rx: 4}));
    texts[k].forEach((t, row) => node.append(draw("text", {x: n.x - n.width / 2 + 8, y: n.y - n.height / 2 + 17 + LINE * row, "font-size": 11}, `${t} `)));
    nodes.set(b.number, node);
    picture.append(node);
  });
  picture.stand = (address) => data.blocks.forEach((b) => nodes.get(b.number).classList.toggle("here", address !== null && b.address <= address && address < b.end));
  const edges = make("details", {}, make("summary", {}, "As text"), make("pre", {}, data.blocks.map((b) =>
    `block ${b.number} at ${b.address.toString(16)}${b.joins ? ", lanes meet here" : ""}: ` +
    (data.edges.filter((e) => e.source === b.number).map((e) => `${e.kind} → ${e.target}`).join(", ") || "ends")).join("\n")));
  return [picture, edges];
}
