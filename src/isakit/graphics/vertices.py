"""What the vertex stages hand to the rasterizer. Source: [graphics] 3.2, 3.3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.stage import OUTPUT_WORDS, Emitted


class Vertices:
    """Outputs of the last vertex stage, one column per vertex.

    Attributes: `words` u32 [OUTPUT_WORDS, vertices]; `primitives` [n, 1 or 3] columns, provoking vertex in
    `provoking` [n]; `ids`, `instances` [vertices]: number and instance of each (None behind a geometry program).
    """

    def __init__(
        self,
        words: Array,
        primitives: Array,
        provoking: Array,
        ids: Array | None = None,
        instances: Array | None = None,
    ) -> None:
        self.words, self.primitives, self.provoking = words, primitives, provoking
        self.ids, self.instances = ids, instances


def emitted_vertices(found: Sequence[Emitted], output: str) -> Vertices:
    """Vertices in the order of input primitives; strips as triangles."""
    limit = found[0].limit if found else 0
    count = np.concatenate([e.count for e in found]) if found else np.zeros(0, np.int64)
    words = np.concatenate([e.words for e in found], axis=2) if found else np.zeros((0, OUTPUT_WORDS, 0), np.uint32)
    starts = np.concatenate([e.starts for e in found], axis=1) if found else np.zeros((0, 0), bool)
    table = words.transpose(1, 2, 0).reshape(OUTPUT_WORDS, -1)  # vertex k of lane n is column n * limit + k
    primitives: list[list[int]] = []
    for lane in np.flatnonzero(count).tolist():
        run: list[int] = []
        odd = 0
        for k in range(int(count[lane])):
            if starts[k, lane]:
                run, odd = [], 0
            run.append(lane * limit + k)
            if output == "points":
                primitives.append([run[-1]])
            elif len(run) >= 3:
                a, b, c = run[-3:]
                primitives.append([b, a, c] if odd else [a, b, c])
                odd ^= 1
    made = np.array(primitives, np.int64).reshape(-1, 1 if output == "points" else 3)
    return Vertices(table, made, made[:, -1])
