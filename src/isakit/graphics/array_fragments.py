"""Fragments of a draw on arrays: their program in batches, then the output merger, sample by sample.

Draws that compiled code cannot execute from end to end (`compiled_draw`) are executed here; the program itself may be
compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.draw_state import DrawState, DrawStats, GraphicsChoices, Multisampling, Viewport
from isakit.graphics.merge import Merger, ranged
from isakit.graphics.planes import Corners, Fragments
from isakit.graphics.raster import Quads
from isakit.graphics.shader import FragmentShader
from isakit.graphics.stage import LANES, Stage, StageState, at_sample
from isakit.graphics.stage_engine import StageEngine
from isakit.machine.tesla.launch import Launch

ONE = 0x3F80_0000


@dataclass(frozen=True)
class Shaded:
    """Results of a program: the surviving `lanes` of the draw, in order, and their values.

    Attributes: `colors` of the targets, u32 [n, 4] each; `second`, the colour that blending may use; `depth` f32 and
    `mask` u32, if the program writes them.
    """

    lanes: Array
    colors: list[Array]
    second: Array | None
    depth: Array | None
    mask: Array | None
    instructions: int


@dataclass(frozen=True)
class ArrayFragments:
    """The fragments of a draw, and their targets.

    Attributes: `threads`: number of threads for batches; `results`: registers that are read.
    """

    engine: StageEngine
    threads: int
    shader: FragmentShader
    launch: Launch
    results: set[int]
    corners: Corners
    quads: Quads
    state: DrawState
    view: Viewport
    merger: Merger
    choices: GraphicsChoices

    def shade(self, stats: DrawStats) -> None:
        """Run the program and merge its results. Raises MachineFault."""
        m, samples = self.state.multisampling, self.quads.samples
        varyings = fragments_of(self.shader, self.corners, self.quads, self.state)
        if m is not None and samples is not None and m.shading and m.enabled:
            self._for_samples(m, samples.reshape(-1, len(m.positions)), varyings, stats)
        else:
            self.merge(self._run(self.launch, varyings, self.quads.covered.ravel(), stats), varyings)

    def merge(self, s: Shaded, varyings: Fragments) -> None:
        """Merge the results of a program that ran once for each pixel."""
        m, samples = self.state.multisampling, self.quads.samples
        if m is None or samples is None:
            z = varyings.depth()[s.lanes] if s.depth is None else s.depth
            self._merge(s, np.arange(len(s.lanes)), z)
            return
        covered = samples.reshape(-1, len(m.positions))[s.lanes]
        for k in range(len(m.positions)):
            self._merge_sample(m, k, s, covered[:, k])

    def _for_samples(self, m: Multisampling, covered: Array, centre: Fragments, stats: DrawStats) -> None:
        """Run the program for every sample of a pixel that the primitive covers; `centre`: inputs at pixel centres."""
        for k, (dx, dy) in enumerate(m.positions):
            if not m.mask >> k & 1 or not covered[:, k].any():
                continue
            launch = self.launch
            if self.shader.program.reads_sample:
                launch = at_sample(launch, self.choices, k)
            here = fragments_of(self.shader, self.corners, self.quads, self.state, (dx / 16, dy / 16))
            varyings = centre.with_samples(here)
            s = self._run(launch, varyings, covered[:, k] & self.quads.covered.ravel(), stats)
            self._merge_sample(m, k, s, np.ones(len(s.lanes), bool))

    # --- the program --------------------------------------------------------------------------------------------------
    def _run(self, launch: Launch, varyings: Fragments, covered: Array, stats: DrawStats) -> Shaded:
        """Run the program in batches. Lanes that are not covered are helpers."""
        count = len(covered)

        def batch(start: int) -> Shaded:
            stop = min(count, start + LANES)
            part = Stage(
                stop - start, varyings=varyings.part(start, stop), visible=covered[start:stop], choices=self.choices
            )
            done = self.engine.run(launch, part, self.results, borrow=True)
            return self.left_by(done.state, start, done.stats.instructions)

        parts, others = [batch(0)], range(LANES, count, LANES)  # the first prepares the program's code for the others
        if self.threads < 2 or not others:
            parts += map(batch, others)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                try:
                    parts += pool.map(batch, others)
                except BaseException:
                    self.engine.interrupt()
                    raise
        for p in parts:
            stats.instructions += p.instructions
            stats.fragments += len(p.lanes)
        return parts[0] if len(parts) == 1 else _joined(parts)

    def left_by(self, s: StageState, start: int = 0, instructions: int = 0) -> Shaded:
        """Return the results of a batch whose first lane is lane `start` of the quads."""
        shader, file, alive = self.shader, s.files["r"], np.flatnonzero(s.visible)
        targets, shares = self.merger.targets, self.quads.shares
        colors = [registers(file, c, alive) for c in shader.colors[: len(targets)]]
        if shares is not None:
            here = shares.ravel()[alive + start]
            colors = [_scaled(c, here) if t.floating else c for c, t in zip(colors, targets, strict=False)]
        return Shaded(
            alive + start,
            colors,
            None if shader.second is None else registers(file, shader.second, alive),
            None if shader.depth is None else registers(file, (shader.depth,), alive)[:, 0].view(np.float32),
            None if shader.sample_mask is None else registers(file, (shader.sample_mask,), alive)[:, 0],
            instructions,
        )

    # --- the merger ---------------------------------------------------------------------------------------------------
    def _merge_sample(self, m: Multisampling, k: int, s: Shaded, some: Array) -> None:
        """Write sample `k` of the pixels where it is covered."""
        if not m.mask >> k & 1:
            return
        if m.alpha_to_coverage and s.colors:
            some = some & _alpha_mask(s.colors[0], len(m.positions))[:, k]
        if s.mask is not None:
            some = some & (s.mask >> np.uint32(k) & 1).astype(bool)
        here = np.flatnonzero(some)
        if not len(here):
            return
        if s.depth is None:
            dx, dy = m.positions[k]
            x, y, primitive = (of[s.lanes[here]] for of in self.quads.lanes())
            z = Fragments((), self.corners, x, y, primitive, shift=(dx / 16, dy / 16)).depth()
        else:
            z = s.depth[here]
        self._merge(s, here, z, m, k)

    def _merge(self, s: Shaded, here: Array, z: Array, m: Multisampling | None = None, k: int = 0) -> None:
        x, y, primitive = (of[s.lanes[here]] for of in self.quads.lanes())
        colors = [c[here] for c in s.colors]
        if m is not None:
            px, py = m.places[k]
            x, y = x * m.across + px, y * m.down + py
            if m.alpha_to_one:
                colors = [np.concatenate((c[:, :3], np.full((len(c), 1), ONE, np.uint32)), axis=1) for c in colors]
        front = self.corners.front[primitive]
        second = None if s.second is None else s.second[here]
        self.merger.write(x, y, ranged(z, self.view), front, colors, second)


def fragments_of(
    shader: FragmentShader, corners: Corners, quads: Quads, state: DrawState, place: tuple[float, float] = (0.5, 0.5)
) -> Fragments:
    """Return the inputs of the fragments of quads, at a place inside the pixels."""
    return Fragments(shader.inputs, corners, *quads.lanes(), shift=place, shown=state.pixel_center)


def registers(file: Array, numbers: Sequence[int], lanes: Array) -> Array:
    """Return registers of lanes as u32 [lanes, 4]; unallocated registers read 0."""
    out = np.zeros((len(lanes), 4), np.uint32)
    for k, n in enumerate(numbers):
        if n < len(file):
            out[:, k] = file[n, lanes]
    return out


def _joined(parts: Sequence[Shaded]) -> Shaded:
    """Join the results of batches."""
    others: list[Array | None] = []
    for of_batches in zip(*((p.second, p.depth, p.mask) for p in parts), strict=True):
        given = [a for a in of_batches if a is not None]
        others.append(np.concatenate(given) if given else None)
    colors = [np.concatenate(c) for c in zip(*(p.colors for p in parts), strict=True)]
    return Shaded(np.concatenate([p.lanes for p in parts]), colors, *others, instructions=0)


def _scaled(color: Array, shares: Array) -> Array:
    """Scale the alpha of a colour u32 [n, 4] by the coverage of a smooth primitive."""
    alpha = np.ascontiguousarray(color[:, 3]).view(np.float32) * shares
    return np.concatenate((color[:, :3], alpha.view(np.uint32)[:, None]), axis=1)


def _alpha_mask(color: Array, samples: int) -> Array:
    """Return the samples covered by alpha, bool [n, samples]: a fraction equal to alpha, the first ones (inferred)."""
    alpha = np.clip(np.nan_to_num(np.ascontiguousarray(color).view(np.float32)[:, 3]), 0, 1)
    return np.arange(samples) < np.floor(alpha * samples + 0.5)[:, None]


__all__ = ["ArrayFragments", "Shaded", "fragments_of", "registers"]
