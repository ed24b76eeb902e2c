// The bits of an instruction: a drawing whose fields light up together with the rows of the table.

import {draw, make} from "./dom.js";

const HUES = [210, 25, 130, 285, 50, 340, 175, 95, 245, 5];

export function explanation(e) {
  const rows = e.rows.map((r, k) => ({...r, mask: BigInt("0x" + r.mask), hue: HUES[k % HUES.length]}));
  const cells = [];
  const picture = draw("svg", {viewBox: `0 0 ${e.unit_bits * 14 + 4} ${e.words.length * 40 + 4}`, width: "100%", role: "img",
    "aria-label": `${e.words.length} words of ${e.unit_bits} bits; the table below has the fields`});
  const word = e.words.map((w) => BigInt("0x" + w));
  for (let unit = 0; unit < e.words.length; unit++) {
    for (let bit = 0; bit < e.unit_bits; bit++) {
      const x = 2 + (e.unit_bits - 1 - bit) * 14;
      const y = 2 + unit * 40;
      const global = BigInt(unit * e.unit_bits + bit);
      const owner = rows.findIndex((r) => r.mask >> global & 1n);
      const box = draw("rect", {x, y: y + 10, width: 14, height: 20, class: "bit"});
      if (owner >= 0) box.style.fill = `hsl(${rows[owner].hue} 70% 60% / .35)`;
      const group = draw("g", {"data-row": owner}, box,
        draw("text", {x: x + 7, y: y + 24, "text-anchor": "middle", "font-size": 11}, String(word[unit] >> BigInt(bit) & 1n)));
      if (bit % 4 === 0 || bit === e.unit_bits - 1) group.append(draw("text", {x: x + 7, y: y + 7, "text-anchor": "middle", "font-size": 7}, String(bit)));
      picture.append(group);
      cells.push(group);
    }
  }
  const body = make("tbody");
  const light = (number) => {
    for (const c of cells) c.classList.toggle("fade", number >= 0 && Number(c.dataset.row) !== number);
    [...body.children].forEach((tr, k) => tr.classList.toggle("changed", k === number));
  };
  rows.forEach((r, k) => {
    const swatch = make("td", {class: "mono"}, ...(r.bits.match(/[^, ]+[, ]?/g) ?? []).flatMap((part) => [part, make("wbr")]));
    swatch.style.borderLeft = `6px solid hsl(${r.hue} 70% 60% / .7)`;
    body.append(make("tr", {onmouseenter: () => light(k), onmouseleave: () => light(-1)},
      swatch, make("td", {class: "field"}, r.field), make("td", {class: "mono n"}, r.value), make("td", {}, r.meaning, make("small", {class: "quiet"}, r.reference))));
  });
  picture.addEventListener("mouseover", (event) => {
    const g = event.target.closest("g");
    light(g ? Number(g.dataset.row) : -1);
  });
  picture.addEventListener("mouseleave", () => light(-1));
  const facts = [e.status && `this is ${e.status}`, e.reads.length && `reads ${e.reads.join(" ")}`, e.writes.length && `writes ${e.writes.join(" ")}`];
  return [
    make("h2", {}, e.text), e.error ? make("p", {}, `decode error: ${e.error}`) : null,
    make("p", {}, e.doc), make("p", {class: "quiet"}, facts.filter(Boolean).join("; ")), picture,
    make("table", {}, make("thead", {}, make("tr", {}, ...["bits", "field", "value", "meaning and source"].map((t) => make("th", {}, t)))), body),
    e.meaning.length ? make("details", {}, make("summary", {}, "What it computes"), make("pre", {}, e.meaning.join("\n"))) : null,
  ].filter(Boolean);
}
