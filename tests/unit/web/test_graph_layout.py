"""Places of the blocks of a graph, by the page's own layout: as the page computes them, by its own script."""

from __future__ import annotations

import json
import random
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from support.clients.node_tools import needs_node, node

SCRIPT = """
import {readFileSync} from "node:fs";
globalThis.document = {documentElement: {dataset: {packages: ""}}};
const {arrange} = await import("./layout.mjs");
const graphs = JSON.parse(readFileSync(process.argv[2]));
console.log(JSON.stringify(graphs.map(({nodes, edges}) => {
  const found = arrange(nodes, edges);
  return {...found, nodes: [...found.nodes]};
})));
"""


def arranged(folder: Path, graphs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the page makes of each graph."""
    static = files("isakit.web") / "static"
    (folder / "layout.mjs").write_text((static / "layout.js").read_text().replace("./dom.js", "./dom.mjs"))
    shutil.copy(str(static / "dom.js"), folder / "dom.mjs")
    (folder / "arrange.mjs").write_text(SCRIPT)
    (folder / "graphs.json").write_text(json.dumps(graphs))
    return json.loads(node(str(folder / "arrange.mjs"), str(folder / "graphs.json")))


def graph(count: int, edges: list[tuple[int, int]]) -> dict[str, Any]:
    return {
        "nodes": [{"id": n, "width": 40 + 10 * (n % 5), "height": 20 + 8 * (n % 3)} for n in range(count)],
        "edges": [{"source": a, "target": b} for a, b in edges],
    }


def random_graph(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    count = rng.randint(1, 40)
    return graph(count, [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(0, 2 * count))])


@needs_node()
def test_blocks_do_not_overlap_and_lie_in_the_picture(tmp_path: Path) -> None:
    graphs = [graph(0, []), graph(1, [(0, 0)]), *(random_graph(seed) for seed in range(200))]
    for given, found in zip(graphs, arranged(tmp_path, graphs), strict=True):
        places = [n for _, n in found["nodes"]]
        boxes = [(n["x"] - n["width"] / 2, n["y"] - n["height"] / 2, n["width"], n["height"]) for n in places]
        assert len(boxes) == len(given["nodes"])
        for k, (x, y, w, h) in enumerate(boxes):
            assert min(x, y) >= 0
            assert max(x + w - found["width"], y + h - found["height"]) <= 0
            for x2, y2, w2, h2 in boxes[:k]:
                assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
        at = dict(found["nodes"])
        for e, points in zip(given["edges"], found["edges"], strict=True):
            assert points[0] == {"x": at[e["source"]]["x"], "y": at[e["source"]]["y"] + at[e["source"]]["height"] / 2}
            assert points[-1] == {"x": at[e["target"]]["x"], "y": at[e["target"]]["y"] - at[e["target"]]["height"] / 2}
            assert all(0 <= p["x"] <= found["width"] for p in points)


@needs_node()
def test_a_diamond_and_a_loop_are_drawn_downwards(tmp_path: Path) -> None:
    """Branches lead down; the edge of a loop, the only one that leads up, goes around."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (3, 4)]
    (found,) = arranged(tmp_path, [graph(5, edges)])
    y = {n: place["y"] for n, place in found["nodes"]}
    assert y[0] < y[1] < y[3] < y[4]
    assert len({p["y"] + h for p, h in ((dict(found["nodes"])[n], 0) for n in (1, 2))}) <= 2
    assert [a for (a, b), points in zip(edges, found["edges"], strict=True) if len(points) > 2] == [3]
