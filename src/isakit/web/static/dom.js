// Small helpers for building the page.

export const $ = (id) => document.getElementById(id);

const packages = (document.documentElement.dataset.packages ?? "").split(" ");

// Whether a bundle of other people's JavaScript is there; the page works without.
export const has = (name) => packages.includes(name);

export function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name === "class") e.className = value;
    else if (name in e && name !== "list") e[name] = value;
    else e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

const SVG = "http://www.w3.org/2000/svg";

export function draw(tag, attributes = {}, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null) e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// [column, row] of the pixel that was clicked in a picture of so many, which may be shown larger.
export function pixelAt(click, {width, height}) {
  const box = click.currentTarget.getBoundingClientRect();
  const number = (place, length, count) => Math.min(count - 1, Math.floor(place / length * count));
  return [number(click.clientX - box.left, box.width, width), number(click.clientY - box.top, box.height, height)];
}

export const hex = (n, digits = 4) => "0x" + n.toString(16).padStart(digits, "0");

// Give the user a file.
export function download(content, type, name) {
  const url = URL.createObjectURL(new Blob([content], {type}));
  make("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
  $("status").title = text;
}
