// Search in the listing: all instructions that match are marked, Enter goes to the next one.

import {ask} from "./api.js";
import {$} from "./dom.js";
import {page} from "./page.js";
import {listing} from "./parts.js";

let lines = [];
let at = 0;
let last = {pattern: "", unit: null};

export async function find(step = 1) {
  const pattern = $("search").value.trim();
  if (!page.unit) return;
  if (!pattern) { lines = []; last.pattern = ""; $("found").textContent = ""; listing.hits = new Set(); listing.draw(); return; }
  if (pattern !== last.pattern || last.unit !== page.unit) {
    lines = (await ask("search", {unit: page.unit.unit, pattern})).lines;
    last = {pattern, unit: page.unit};
    at = 0;
    listing.hits = new Set(lines);
  } else {
    at = (at + step + lines.length) % Math.max(1, lines.length);
  }
  $("found").textContent = lines.length ? `${at + 1} of ${lines.length}` : "none";
  listing.draw();
  if (lines.length) {
    await listing.whole(lines[at]);
    listing.select(lines[at]);
  }
}
