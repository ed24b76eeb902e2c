// One access to memory, drawn: which lane goes to which bank, or to which segment of memory.

import {draw, make} from "./dom.js";

const BANKS = 16;
const SEGMENT = 128;
const HUES = [210, 25, 130, 285, 50, 340, 175, 95];

export function access(data, next) {
  if (!data.accesses.length) return [make("p", {}, `The next instruction${next ? `, ${next},` : ""} touches no memory.`)];
  return [make("p", {}, next || ""), ...data.accesses.flatMap((a) => a.space === "s" ? banks(a) : a.space.startsWith("g") ? segments(a, data.capability) : others(a))];
}

const title = (a) => make("h2", {}, `${a.access} ${a.space}[], ${a.size} bytes, threads ${a.first} to ${a.first + a.addresses.length - 1}`);

function banks(a) {
  const picture = draw("svg", {viewBox: `0 0 ${BANKS * 34 + 10} 150`, width: "100%", role: "img", "aria-label": `${a.steps} steps`});
  const served = Array.from({length: BANKS}, () => new Map());
  a.addresses.forEach((at, lane) => {
    const x = 22 + lane * 34;
    picture.append(draw("text", {x, y: 14, "text-anchor": "middle", "font-size": 11}, String(a.first + lane)));
    if (at < 0) return;
    const word = Math.floor(at / 4);
    const bank = word % BANKS;
    if (!served[bank].has(word)) served[bank].set(word, served[bank].size);
    const line = draw("path", {d: `M${x} 20 C ${x} 60, ${22 + bank * 34} 50, ${22 + bank * 34} 92`, fill: "none", "stroke-width": 2});
    line.style.stroke = `hsl(${HUES[served[bank].get(word) % HUES.length]} 65% 50%)`;
    picture.append(line);
  });
  for (let bank = 0; bank < BANKS; bank++) {
    const words = served[bank].size;
    const box = draw("rect", {x: 8 + bank * 34, y: 92, width: 28, height: 22, class: "bit"});
    if (words > 1) box.style.fill = `rgba(var(--hot), ${Math.min(0.8, 0.15 * words)})`;
    picture.append(box, draw("text", {x: 22 + bank * 34, y: 107, "text-anchor": "middle", "font-size": 11}, String(bank)),
      draw("text", {x: 22 + bank * 34, y: 130, "text-anchor": "middle", "font-size": 10}, words > 1 ? `${words} words` : ""));
  }
  return [title(a), make("p", {}, a.steps > 1 ? `${a.steps} steps: a bank gives one word at a time.` : "One step: no bank is asked for two words."), picture];
}

function segments(a, capability) {
  const taking = a.addresses.filter((at) => at >= 0);
  const low = Math.floor(Math.min(...taking) / SEGMENT) * SEGMENT;
  const high = Math.max(...taking) + a.size;
  const shown = Math.min(8, Math.ceil((high - low) / SEGMENT));
  const picture = draw("svg", {viewBox: `0 0 ${34 * 16 + 20} ${40 + 26 * shown}`, width: "100%", role: "img", "aria-label": `${a.transactions.length} transactions`});
  for (let row = 0; row < shown; row++) {
    picture.append(draw("text", {x: 2, y: 36 + 26 * row, "font-size": 10}, (low + row * SEGMENT).toString(16)));
    for (let part = 0; part < 4; part++) picture.append(draw("rect", {x: 70 + part * 118, y: 20 + 26 * row, width: 118, height: 20, class: "bit"}));
  }
  a.addresses.forEach((at, lane) => {
    const row = Math.floor((at - low) / SEGMENT);
    if (at < 0 || row >= shown) return;
    const mark = draw("rect", {x: 70 + (at - low) % SEGMENT * 472 / SEGMENT, y: 22 + 26 * row, width: Math.max(3, a.size * 472 / SEGMENT - 1), height: 16}, draw("title", {}, `thread ${a.first + lane}`));
    mark.style.fill = `hsl(${lane * 22} 65% 50% / .75)`;
    picture.append(mark);
  });
  const bytes = a.transactions.reduce((x, y) => x + y, 0);
  return [title(a), make("p", {}, `${a.coalesced ? "Coalesced" : "Not coalesced"} by the rules of ${capability}: ${a.transactions.length} transaction${a.transactions.length === 1 ? "" : "s"} (${a.transactions.join(", ")} bytes), `,
    `${bytes} bytes moved for ${taking.length * a.size} used.`), picture, make("p", {class: "quiet"}, `Rows are segments of ${SEGMENT} bytes, boxes 32 bytes.${high - low > shown * SEGMENT ? " The rest is not shown." : ""}`)];
}

function others(a) {
  return [title(a), make("p", {}, `${new Set(a.addresses.filter((x) => x >= 0)).size} different addresses${a.steps ? `, ${a.steps} steps` : ""}: `, make("code", {}, a.addresses.map((x) => x < 0 ? "-" : x.toString(16)).join(" ")))];
}
