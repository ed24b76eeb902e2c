// Colours: rules that the server makes from the records of an instruction set, tried in order at each place.

import {ask} from "./api.js";

const known = new Map();

export class Grammar {
  constructor(data) {
    this.mnemonics = data.mnemonics;
    this.variants = data.variants;
    this.rules = data.rules.map(([kind, source]) => [kind, new RegExp(source.replace(/\(\?:\)/g, "(?!)"), "ym")]);
  }

  // [length, kind] of what stands at a place of a line.
  at(line, place) {
    for (const [kind, rule] of this.rules) {
      rule.lastIndex = place;
      const m = rule.exec(line);
      if (m && m[0].length) return [m[0].length, kind];
    }
    const rest = /[\w.$@?]+|\s+|./y;
    rest.lastIndex = place;
    const m = rest.exec(line);
    return [m ? m[0].length : 1, ""];
  }

  // Pieces of a line: [text, kind].
  pieces(line) {
    const out = [];
    for (let k = 0; k < line.length; ) {
      const [length, kind] = this.at(line, k);
      out.push([line.slice(k, k + length), kind]);
      k += length;
    }
    return out;
  }
}

export async function grammar(isa) {
  if (!known.has(isa)) known.set(isa, ask("grammar", {isa}).then((data) => new Grammar(data)));
  return known.get(isa);
}
