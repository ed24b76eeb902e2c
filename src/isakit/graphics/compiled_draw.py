"""Fragments of a draw on compiled code from end to end: inputs, program and output merger, batch by batch.

Batches go to threads; their results are merged in drawing order. A batch that compiled code cannot finish runs on the
reference machine, and the array merger takes its fragments in its turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.forks import in_child
from isakit.graphics.compiled_inputs import InputsKey, Word, inputs_function, put_columns
from isakit.graphics.compiled_merge import MergeKey, fits, merge_function, put_depth_range, put_state, stencil_names
from isakit.graphics.compiled_quads import GROUP_QUADS, CompiledFunction
from isakit.graphics.compiled_stage import StageLaunch, brief, stage_key
from isakit.graphics.draw_state import DrawState, DrawStats, GraphicsChoices, Multisampling
from isakit.graphics.kept_launches import keep, kept
from isakit.graphics.merge import DepthBuffer, RenderTarget
from isakit.graphics.merge_rules import ColorMerge
from isakit.graphics.planes import Corners, Fragments
from isakit.graphics.raster import Quads
from isakit.graphics.shader import FragmentShader
from isakit.graphics.stage import LANES, Stage, StageMachine, StageState
from isakit.graphics.stage_engine import StageEngine, no_memory
from isakit.machine.interrupts import submitted
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.machine_values import VARYING_WORDS
from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel
from isakit.machine.tesla.compiled.launch.host_assist import interruptible
from isakit.machine.tesla.compiled.launch.warp_handover import lanes_of, masks_of
from isakit.machine.tesla.compiled.launch.worker_context import address_of, aligned
from isakit.machine.tesla.launch import Launch

Merged = Callable[[StageState, int, int], int]
"""Merges the fragments of a batch from a state, with its first and last lane; returns the samples that passed."""


@dataclass(frozen=True)
class DrawArguments:
    """Arguments of a draw and its targets.

    Attributes: the launch of the fragment program with its `kernel`, its fragments (`corners`, `quads`; `fragments`
    returns arrays of their inputs, cached), `state` and `depth_range` of the draw, the pixels it may write; `merge` is
    the array code; `whole` compiles functions regardless of the size of the draw.
    """

    shader: FragmentShader
    launch: Launch
    kernel: CompiledKernel
    corners: Corners
    quads: Quads
    fragments: Callable[[], Fragments]
    state: DrawState
    depth_range: tuple[float, float]
    choices: GraphicsChoices
    targets: list[RenderTarget]
    depth: DepthBuffer | None
    size: tuple[int, int]
    merge: Merged
    threads: int
    whole: bool


def draw(d: DrawArguments, engine: StageEngine, stats: DrawStats) -> bool:
    """Run and merge all fragments; return False if the array code must do it, and nothing has been done.

    `engine` can interrupt it, and has the watchdog. Raises MachineFault, BudgetExceeded.
    """
    functions = _functions(d)
    if functions is None:
        return False
    started = time.perf_counter()
    work = _Work(d, engine, functions)
    with engine.running(work.stop):
        interruptible(work.run, work.stop, brief(d.kernel, len(d.quads) // 8))
    if work.stop[0]:
        raise KeyboardInterrupt
    stats.instructions += work.instructions
    stats.fragments += work.visible
    stats.samples += work.passed
    stats.stages["fragments"] = stats.stages.get("fragments", 0.0) + time.perf_counter() - started
    return True


def merge_question(
    shader: FragmentShader,
    registers: int,
    state: DrawState,
    targets: list[RenderTarget],
    depth: DepthBuffer | None,
    choices: GraphicsChoices,
) -> MergeKey:
    """Return the key of the output merger's function for a draw."""
    colors = tuple(tuple(c) for c in shader.colors[: len(targets)])
    merges = tuple(ColorMerge.of(state, k, t.color_format, choices) for k, t in enumerate(targets[: len(colors)]))
    tested = depth is not None and (state.depth is not None or state.stencil is not None)
    return MergeKey(
        registers,
        colors,
        merges,
        None if shader.second is None else tuple(shader.second),
        shader.depth if tested and state.depth is not None else None,
        depth.format if tested and depth is not None else None,
        state.depth if tested else None,
        bool(tested and state.depth_write),
        None if state.alpha_test is None else state.alpha_test[0],
        stencil_names(state.stencil) if tested else None,
    )


@dataclass(frozen=True)
class _Functions:
    """The functions of a draw: `inputs` of the fragments, whose `words` are read; the output `merger`, and its key.

    `sample_depth`: with several samples per pixel, the depth at one of them, if the merger reads it.
    """

    inputs: CompiledFunction
    words: tuple[Word, ...]
    merger: CompiledFunction
    question: MergeKey
    sample_depth: CompiledFunction | None = None


def _functions(d: DrawArguments) -> _Functions | None:
    """Return the functions of a draw; None if the array code must execute it."""
    state, shader, kernel = d.state, d.shader, d.kernel
    quads, m = d.quads, state.multisampling
    if quads.shares is not None or shader.sample_mask is not None:
        return None
    if m is not None and (m.alpha_to_coverage or m.alpha_to_one or (m.shading and m.enabled)):
        return None
    q = merge_question(shader, kernel.facts.registers, state, d.targets, d.depth, d.choices)
    if any(len(c) != 4 for c in q.colors) or (q.second is not None and len(q.second) != 4):
        return None
    for target, merge in zip(d.targets, q.merges, strict=False):
        if merge is not None and not fits(target.pixels, merge.form.nbytes, *d.size):
            return None
    images = (d.depth.depth, d.depth.stencil) if q.depth_format is not None and d.depth is not None else ()
    if not all(fits(i, i.itemsize, *d.size) for i in images):
        return None
    words = sorted({(w, flat) for w, flat, _ in kernel.flow.varyings if w < VARYING_WORDS})
    shape = d.corners.shape
    if not shader.two_sided:  # nothing asks which faces look away
        shape = replace(shape, front=True)
    at_centre = q.reads_depth and m is None
    asked = InputsKey(tuple(shader.inputs), tuple(words), at_centre, shape, float(state.pixel_center))
    pixels = None if d.whole else 4 * len(d.quads)
    inputs = inputs_function(asked, kernel.target, pixels)
    sample_depth = None
    if m is not None:
        q = replace(q, sampled=True)
        if q.reads_depth:
            sample_depth = inputs_function(InputsKey((), (), True, shape, 0.5, sampled=True), kernel.target, pixels)
            if sample_depth is None:
                return None
    merger = merge_function(q, kernel.target, pixels)
    if inputs is None or merger is None:
        return None
    return _Functions(inputs, asked.words, merger, q, sample_depth)


class _Later:
    """Inputs of a batch for instructions that the host executes, computed on demand."""

    def __init__(self, work: _Work, start: int, stop: int) -> None:
        self._work, self._start, self._stop = work, start, stop
        self._made: Fragments | None = None

    def read(self, word: int, flat: bool, centroid: bool, lanes: Lanes) -> Array:
        """See `Varyings`."""
        if self._made is None:
            self._made = self._work.fragments().part(self._start, self._stop)
        return self._made.read(word, flat, centroid, lanes)


def fragment_rows(words: Sequence[Word], depth: bool, lanes: int) -> tuple[Array, Array]:
    """Return rows for the inputs of `lanes` fragments, and the table of their addresses for programs.

    There is one for each word that is read, one for the depth if that is read, and one of zeros.
    """
    count = len(words) + depth
    rows = aligned(4 * (count + 1) * lanes).view(np.uint32).reshape(count + 1, lanes)
    table = np.full(4 * VARYING_WORDS, address_of(rows[count]), np.int64)
    for k, (word, flat) in enumerate(words):
        for centroid in (0, 1):
            table[word + VARYING_WORDS * (flat + 2 * centroid)] = address_of(rows[k])
    return rows, table


class _Batches:
    """Objects that a thread reuses from batch to batch: launch, inputs, records of the two functions."""

    def __init__(self, work: _Work, room: int) -> None:
        d, f = work.drawing, work.functions
        self.lanes = 32 * room
        rows, table = fragment_rows(f.words, f.question.reads_depth, self.lanes)
        self.inputs, self.merger = f.inputs.job(), f.merger.job()
        self.sample_depth = None if f.sample_depth is None else (f.sample_depth, f.sample_depth.job())
        self.jobs = [(f.inputs, self.inputs), (f.merger, self.merger)]
        for k in range(len(rows) - 1):
            self.inputs.set_slot(f"row{k}", rows[k])
        if f.question.reads_depth:
            self.merger.set_slot("z", rows[len(f.words)])
        if self.sample_depth is not None:
            self.sample_depth[1].set_slot("row0", rows[len(f.words)])
            self.jobs.append(self.sample_depth)
        self.merger.set_slot("state_bytes", d.kernel.state_bytes)
        like = Stage(self.lanes, varyings=_Later(work, 0, 0), choices=d.choices)
        self.launch = StageLaunch(d.launch, d.kernel, like, no_memory(), room, table)

    def begin(self, work: _Work) -> None:
        """Set the values common to all batches of a draw."""
        d, self.work = work.drawing, work
        self.launch.stopped_by(work.stop)
        for function, job in self.jobs:
            put_columns(job, function.slots, d.corners)
            for name, value in zip(("x", "y", "primitive"), work.places, strict=True):
                job.set_slot(name, value)
        put_state(self.merger, d.state, d.targets, d.depth)
        put_depth_range(self.merger, d.depth_range)

    def shade(self, start: int, stop: int) -> StageMachine | None:
        """Run the program; returns None if the records hold its results, else the reference machine that ran it."""
        work, launch = self.work, self.launch
        d = work.drawing
        groups = -(-(stop - start) // (4 * GROUP_QUADS))
        work.functions.inputs.run(self.inputs.address, 0, groups, start // 4)
        covered = work.covered[start:stop]
        later = _Later(work, start, stop)
        stage = Stage(stop - start, varyings=later, visible=covered, choices=d.choices)
        launch.begin(d.launch, stage)
        self.merger.set_slot("states", launch.states.raw)
        watchdog = work.engine.watchdog
        if watchdog is not None:
            launch.bound_by(watchdog)
        if launch.run():
            return None
        if work.stop[0]:
            raise KeyboardInterrupt
        if watchdog is not None:
            launch.check_ended()
        machine = StageMachine(d.launch, stage)
        work.engine.finish(machine, machine.stage)
        return machine

    def merge(self, start: int, stop: int) -> None:
        """Merge the program's results from the records."""
        groups, m = -(-(stop - start) // (4 * GROUP_QUADS)), self.work.drawing.state.multisampling
        if m is None:
            done = self.work.functions.merger.run(self.merger.address, 0, groups, start // 4)
            visible, passed = done >> 32, done & 0xFFFF_FFFF
        else:
            visible, passed = self._merge_samples(m, start, groups)
        threads, issued = self.launch.instructions()
        self.work.count(threads, issued, visible, passed)

    def _merge_samples(self, m: Multisampling, start: int, groups: int) -> tuple[int, int]:
        """Merge each covered sample of a batch; return how many lanes were visible and how many samples passed."""
        merger, job = self.work.functions.merger, self.merger
        lanes = self.launch.states.column(state_layout.VISIBLE)
        visible, passed = lanes.copy(), 0
        some = slice(start // 32, start // 32 + len(visible))
        for k, (covered, (x, y), (dx, dy)) in enumerate(zip(self.work.samples, m.places, m.positions, strict=True)):
            lanes[:] = visible & covered[some]
            if not m.mask >> k & 1 or not lanes.any():
                continue
            for name, value in (("across", m.across), ("down", m.down), ("at_x", x), ("at_y", y)):
                job.set_slot(name, value)
            if self.sample_depth is not None:
                depth, at_sample = self.sample_depth
                at_sample.set_slot("dx", dx / 16)
                at_sample.set_slot("dy", dy / 16)
                depth.run(at_sample.address, 0, groups, start // 4)
            passed += merger.run(job.address, 0, groups, start // 4) & 0xFFFF_FFFF
        lanes[:] = visible
        return int(lanes_of(visible).sum()), passed


class _Work:
    """The batches of a draw, and its progress."""

    def __init__(self, d: DrawArguments, engine: StageEngine, functions: _Functions) -> None:
        self.engine, self.drawing, self.functions = engine, d, functions
        self.stop: Array = np.zeros(1, np.int32)
        self.covered = d.quads.covered.reshape(-1)
        self.samples = _sample_masks(d.quads)
        # A group reads four quads, also at the end.
        room = -(-len(d.quads) // GROUP_QUADS) * GROUP_QUADS
        self.places = [_padded(a, room) for a in (d.quads.x, d.quads.y, d.quads.primitive)]
        self.instructions = self.visible = self.passed = 0
        self._turn = threading.Condition()
        self._next = 0
        self._failed = False

    def fragments(self) -> Fragments:
        """Return arrays of the inputs of all fragments."""
        with self._turn:
            return self.drawing.fragments()

    def count(self, instructions: int, issued: int, visible: int, passed: int) -> None:
        """Add to the counts of the draw, in the turn of a batch. Raises BudgetExceeded."""
        self.engine.count(self.drawing.launch, issued)
        self.instructions += instructions
        self.visible += visible
        self.passed += passed

    def run(self) -> None:
        """Run all batches."""
        starts = range(0, len(self.covered), LANES)
        count = min(self.drawing.threads, len(starts))
        if count < 2:
            with self._batches() as mine:
                for start in starts:
                    self._batch(mine, start)
            return
        left = iter(starts)
        taking = threading.Lock()

        def some() -> None:
            with self._batches() as mine:
                while True:
                    with taking:
                        start = next(left, None)
                    if start is None or self._failed:
                        return
                    try:
                        self._batch(mine, start)
                    except BaseException:
                        with self._turn:
                            self._failed = True
                            self._turn.notify_all()
                        raise

        futures = [submitted(_pool(count), some) for _ in range(count)]
        wait(futures)
        for future in futures:
            future.result()

    @contextmanager
    def _batches(self) -> Generator[_Batches]:
        """Lend this thread's batch objects, which are kept for its next draw unless an exception occurs."""
        d = self.drawing
        room = min(LANES // 32, 1 << max(0, len(d.quads) - 1 >> 3).bit_length())
        stage = stage_key(d.launch, d.kernel, Stage(0, varyings=_Later(self, 0, 0), choices=d.choices), room)
        key = stage, self.functions.inputs, self.functions.merger, self.functions.sample_depth
        found = kept(key, lambda: _Batches(self, room))
        found.begin(self)
        yield found
        keep(key, found)

    def _batch(self, mine: _Batches, start: int) -> None:
        stop = min(len(self.covered), start + LANES)
        machine = mine.shade(start, stop)
        with self._turn:
            self._turn.wait_for(lambda: self._next == start or self._failed)
        if self._failed:
            return
        if machine is None:
            mine.merge(start, stop)
        else:
            visible, passed = int(machine.state.visible.sum()), self.drawing.merge(machine.state, start, stop)
            self.count(machine.stats.instructions, machine.stats.warp_instructions, visible, passed)
        with self._turn:
            self._next = start + LANES
            self._turn.notify_all()


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the thread pool, which is kept for the next draw. A batch only waits for batches that already run."""
    return ThreadPoolExecutor(threads, thread_name_prefix="isakit-fragments")


in_child(_pool.cache_clear)


def _sample_masks(quads: Quads) -> Array:
    """Return the lanes of each warp where a sample is covered, u32 [samples, warps]."""
    if quads.samples is None:
        return np.zeros((0, 0), np.uint32)
    lanes = quads.samples.reshape(4 * len(quads), -1).T
    whole = np.zeros((len(lanes), -(-lanes.shape[1] // 32) * 32), bool)
    whole[:, : lanes.shape[1]] = lanes
    return masks_of(whole).reshape(len(whole), -1)


def _padded(a: Array, room: int) -> Array:
    if len(a) == room and a.dtype == np.int64 and a.flags.c_contiguous:
        return a
    out = np.zeros(room, np.int64)
    out[: len(a)] = a
    return out


__all__ = ["DrawArguments", "draw", "fragment_rows", "merge_question"]
