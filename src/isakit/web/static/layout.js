// Places of the blocks of a graph: by dagre where it is there, else by a layered layout of our own.
// Nodes: {id, width, height}, edges: {source, target} of ids. The answer: width and height, the middle {x, y} of each
// node by its id, and the points of each edge.

import {has} from "./dom.js";

const BETWEEN_LAYERS = 34;
const BETWEEN_NODES = 26;
const MARGIN = 8;
const SWEEPS = 4;

const dagre = has("dagre") ? await import("./vendor/dagre.js") : null;

export const arrange = (nodes, edges) => dagre ? byDagre(nodes, edges) : inLayers(nodes, edges);

function byDagre(nodes, edges) {
  const g = new dagre.Graph({multigraph: true});
  g.setGraph({ranksep: BETWEEN_LAYERS, nodesep: BETWEEN_NODES, marginx: MARGIN, marginy: MARGIN});
  g.setDefaultEdgeLabel(() => ({}));
  for (const {id, width, height} of nodes) g.setNode(String(id), {width, height});
  edges.forEach((e, k) => g.setEdge(String(e.source), String(e.target), {}, String(k)));
  dagre.layout(g);
  const {width, height} = g.graph();
  return {
    width, height, nodes: new Map(nodes.map(({id}) => [id, g.node(String(id))])),
    edges: edges.map((e, k) => g.edge(String(e.source), String(e.target), String(k)).points),
  };
}

// Each node is one layer below the lowest of those that lead to it, as far as no edge leads back. In a layer nodes
// stand in the order of the middles of their neighbours. Edges that lead back, or past a layer, go around on the right.
export function inLayers(nodes, edges) {
  const back = leadsBack(nodes, edges);
  const forward = edges.filter((e) => !back.has(e));
  const layer = layersOf(nodes, forward);
  const layers = [];
  for (const n of nodes) (layers[layer.get(n.id)] ??= []).push(n);
  for (let k = 0; k < SWEEPS; k++) sorted(k % 2 ? [...layers].reverse() : layers, forward);
  const size = (row) => row.reduce((sum, n) => sum + n.width + BETWEEN_NODES, -BETWEEN_NODES);
  const inner = Math.max(0, ...layers.map(size));
  const at = new Map();
  let y = MARGIN;
  for (const row of layers) {
    const height = Math.max(...row.map((n) => n.height));
    let x = MARGIN + (inner - size(row)) / 2;
    for (const n of row) {
      at.set(n.id, {x: x + n.width / 2, y: y + n.height / 2, width: n.width, height: n.height});
      x += n.width + BETWEEN_NODES;
    }
    y += height + BETWEEN_LAYERS;
  }
  let around = 0;
  const points = edges.map((e) => {
    const from = at.get(e.source), to = at.get(e.target);
    const below = {x: from.x, y: from.y + from.height / 2}, above = {x: to.x, y: to.y - to.height / 2};
    if (layer.get(e.target) === layer.get(e.source) + 1) return [below, above];
    const x = MARGIN + inner + 10 + 7 * around++;
    return [below, {x: below.x, y: below.y + 10}, {x, y: below.y + 10}, {x, y: above.y - 10}, {x: above.x, y: above.y - 10}, above];
  });
  return {width: 2 * MARGIN + inner + (around ? 10 + 7 * around : 0), height: y - BETWEEN_LAYERS + 2 * MARGIN, nodes: at, edges: points};
}

// The edges to a node from which the walk that found them came: without these there is no way around.
function leadsBack(nodes, edges) {
  const out = new Map(nodes.map((n) => [n.id, []]));
  for (const e of edges) out.get(e.source).push(e);
  const state = new Map();  // of a node: 1 while the walk is below it, 2 afterwards
  const back = new Set();
  for (const root of nodes) {
    if (state.has(root.id)) continue;
    state.set(root.id, 1);
    const way = [[root.id, 0]];
    while (way.length) {
      const top = way[way.length - 1];
      const e = out.get(top[0])[top[1]++];
      if (!e) {
        state.set(top[0], 2);
        way.pop();
      } else if (state.get(e.target) === 1) {
        back.add(e);
      } else if (!state.has(e.target)) {
        state.set(e.target, 1);
        way.push([e.target, 0]);
      }
    }
  }
  return back;
}

function layersOf(nodes, forward) {
  const layer = new Map(nodes.map((n) => [n.id, 0]));
  const before = new Map(nodes.map((n) => [n.id, 0]));
  const out = new Map(nodes.map((n) => [n.id, []]));
  for (const e of forward) {
    before.set(e.target, before.get(e.target) + 1);
    out.get(e.source).push(e.target);
  }
  const ready = nodes.filter((n) => !before.get(n.id)).map((n) => n.id);
  for (let k = 0; k < ready.length; k++) {
    for (const target of out.get(ready[k])) {
      layer.set(target, Math.max(layer.get(target), layer.get(ready[k]) + 1));
      before.set(target, before.get(target) - 1);
      if (!before.get(target)) ready.push(target);
    }
  }
  return layer;
}

function sorted(layers, forward) {
  const neighbours = new Map();
  for (const {source, target} of forward) {
    for (const [a, b] of [[source, target], [target, source]]) neighbours.set(a, [...(neighbours.get(a) ?? []), b]);
  }
  const place = new Map(layers.flatMap((row) => row.map((n, k) => [n.id, (k + 0.5) / row.length])));
  for (const row of layers) {
    const middle = new Map(row.map((n) => {
      const around = (neighbours.get(n.id) ?? []).map((id) => place.get(id));
      return [n.id, around.length ? around.reduce((a, b) => a + b) / around.length : place.get(n.id)];
    }));
    row.sort((a, b) => middle.get(a.id) - middle.get(b.id));
    row.forEach((n, k) => place.set(n.id, (k + 0.5) / row.length));
  }
}
