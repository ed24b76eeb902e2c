// The triangles, lines or points of a draw as a wire frame that can be turned.

import {make, say} from "./dom.js";

const SIZE = 320;
const TURN = 0.1;  // radians for a press of an arrow

// The middle and the half of the longest side of the box around points; points that are not numbers have none.
function box(points) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (const p of points) {
    if (p.includes(null)) continue;
    p.forEach((n, k) => { low[k] = Math.min(low[k], n); high[k] = Math.max(high[k], n); });
  }
  const half = Math.max(...high.map((n, k) => (n - low[k]) / 2));
  return {middle: high.map((n, k) => (n + low[k]) / 2), half: half > 0 && Number.isFinite(half) ? half : 1};
}

// Project points onto the canvas: turned about the upright and then the level axis, without perspective.
function projected(points, around, view) {
  const [sy, cy, sp, cp] = [Math.sin(view.yaw), Math.cos(view.yaw), Math.sin(view.pitch), Math.cos(view.pitch)];
  const scale = 0.45 * SIZE * view.zoom / around.half;
  return points.map((p) => {
    if (p.includes(null)) return null;
    const [x, y, z] = p.map((n, k) => n - around.middle[k]);
    return [SIZE / 2 + scale * (cy * x + sy * z), SIZE / 2 - scale * (cp * y - sp * (cy * z - sy * x))];
  });
}

function paint(canvas, corners, points, around, view) {
  const c = canvas.getContext("2d");
  c.clearRect(0, 0, SIZE, SIZE);
  c.strokeStyle = c.fillStyle = getComputedStyle(canvas).color;
  const at = projected(points, around, view);
  c.beginPath();
  for (const corner of corners) {
    const some = corner.map((n) => at[n]);
    if (some.includes(null)) continue;
    if (some.length === 1) c.rect(some[0][0] - 1, some[0][1] - 1, 2, 2);
    else {
      c.moveTo(...some[0]);
      for (const p of some.slice(1)) c.lineTo(...p);
      if (some.length > 2) c.closePath();
    }
  }
  c.stroke();
}

// The mesh of a draw: dragged or turned by the arrows, larger and smaller by + and -.
export function mesh(found) {
  const names = Object.keys(found.positions);
  if (!found.primitives.length || !names.length) return null;
  const view = {yaw: 0, pitch: 0, zoom: 1};
  const canvas = make("canvas", {width: SIZE, height: SIZE, tabIndex: 0, role: "img", class: "mesh",
    "aria-label": "Mesh of the draw; arrows turn it, plus and minus change its size, 0 goes back"});
  let points, around;
  const show = () => paint(canvas, found.primitives, points, around, view);
  const choose = (name) => { points = found.positions[name]; around = box(points); show(); };
  const turn = (yaw, pitch) => {
    view.yaw += yaw;
    view.pitch = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, view.pitch + pitch));
    show();
  };
  canvas.addEventListener("pointerdown", (e) => canvas.setPointerCapture(e.pointerId));
  canvas.addEventListener("pointermove", (e) => { if (e.buttons) turn(e.movementX / 100, e.movementY / 100); });
  canvas.addEventListener("keydown", (e) => {
    const turns = {ArrowLeft: [-TURN, 0], ArrowRight: [TURN, 0], ArrowUp: [0, -TURN], ArrowDown: [0, TURN]}[e.key];
    const zoom = {"+": 1.25, "-": 0.8}[e.key];
    if (!turns && !zoom && e.key !== "0") return;
    e.preventDefault();
    if (e.key === "0") Object.assign(view, {yaw: 0, pitch: 0, zoom: 1});
    else if (zoom) view.zoom *= zoom;
    turn(...(turns || [0, 0]));
    say(`turned ${Math.round(view.yaw * 180 / Math.PI)} degrees, tilted ${Math.round(view.pitch * 180 / Math.PI)}, size ${view.zoom.toFixed(2)}`);
  });
  const select = make("select", {"aria-label": "Positions of the mesh", onchange: () => choose(select.value)}, ...names.map((n) => make("option", {value: n}, n)));
  const more = found.count > found.primitives.length ? `, the first ${found.primitives.length} of ${found.count} primitives` : "";
  const part = make("details", {}, make("summary", {}, `Mesh: ${found.count} primitives`), make("div", {class: "bar"}, select, make("span", {class: "quiet"}, `drag it, or arrows, + - 0${more}`)), canvas);
  part.addEventListener("toggle", () => choose(select.value));
  return part;
}
