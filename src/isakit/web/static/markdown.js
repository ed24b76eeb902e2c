// Pages of the manual, drawn: the part of Markdown that they use. All that is in them becomes text, nothing becomes markup.

import {make} from "./dom.js";

const PIECE = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]*\]\([^)\s]*\)|<br>)/;

// Code, bold words, links (as their text) and breaks in a line.
export function inline(text) {
  return text.split(PIECE).filter(Boolean).map((piece) => {
    if (/^`[^`]+`$/.test(piece)) return make("code", {}, piece.slice(1, -1));
    if (/^\*\*[^*]+\*\*$/.test(piece)) return make("b", {}, piece.slice(2, -2));
    if (piece === "<br>") return make("br");
    const link = /^\[([^\]]*)\]\([^)\s]*\)$/.exec(piece);
    return link ? make("i", {}, link[1]) : piece.replace(/\\([|\\`*_])/g, "$1");
  });
}

const cells = (line) => line.replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => inline(cell.trim()));

function table(lines) {
  const row = (tag, line) => make("tr", {}, ...cells(line).map((c) => make(tag, tag === "th" ? {scope: "col"} : {}, ...c)));
  const ruled = /^\|[\s:|-]+\|$/.test(lines[1] ?? "");
  const body = make("tbody", {}, ...lines.slice(ruled ? 2 : 0).map((line) => row("td", line)));
  return make("table", {}, ruled ? make("thead", {}, row("th", lines[0])) : null, body);
}

export function markdown(text) {
  const lines = text.split("\n");
  const out = [];
  const taken = (belongs) => {
    const found = [];
    while (lines.length && belongs(lines[0])) found.push(lines.shift());
    return found;
  };
  while (lines.length) {
    const line = lines.shift();
    const heading = /^(#+)\s+(.*)/.exec(line);
    if (!line.trim()) continue;
    if (line.startsWith("```")) {
      out.push(make("pre", {}, taken((l) => !l.startsWith("```")).join("\n")));
      lines.shift();
    } else if (heading) out.push(make(`h${Math.min(6, heading[1].length + 1)}`, {}, ...inline(heading[2])));
    else if (line.startsWith("|")) out.push(table([line, ...taken((l) => l.startsWith("|"))]));
    else if (/^[-*] /.test(line)) out.push(make("ul", {}, ...[line, ...taken((l) => /^[-*] /.test(l))].map((l) => make("li", {}, ...inline(l.slice(2))))));
    else out.push(make("p", {}, ...inline([line, ...taken((l) => l.trim() && !/^(#|\||```|[-*] )/.test(l))].join(" "))));
  }
  return out;
}
