"""The loop over the batches of a stage, compiled: records of warps are prepared, run and checked, in one call.

Fragments have functions before and after their program: inputs, and the output merger. There is one such loop; the
functions it calls and the addresses of records are in its job.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from isakit.engine.llvm import Builder, Host, Ref
from isakit.engine.llvm.array_tracer import LANES as GROUP
from isakit.engine.llvm.builder import I8, I32, I64, PTR, IrFunction, vector
from isakit.graphics.compiled_quads import JOB, CompiledFunction, JobSlots, QuadFunction, function_of
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.rules.blocks import Begin

ADDRESSES = (
    "covered", "context", "enter", "states", "headers", "outputs", "inputs", "inputs_job", "merger", "merger_job",
)  # fmt: skip
NUMBERS = (
    "lanes", "batch", "state_bytes", "header_row", "header_bytes", "register_bytes", "output_row", "output_rows",
)  # fmt: skip
_OF_GROUPS = I64, (PTR, I64, I64, I64)
"""Result and parameters of a function over groups of lanes, see `compiled_quads.Run`."""
COUNTS = ("threads", "issued", "merged", "finished")
"""Slots with the results of a run: instructions of threads and of warps, the merger's counts, lanes that have
finished."""


class BatchJob(JobSlots):
    """The record of a run.

    `lanes`: their number; `batch`: lanes of a batch, a multiple of 32; `covered`: a byte for each, 0 for helpers, or 0
    if there are none. `context` and `enter`: how warps run. `states`, `state_bytes`: their records; `headers`,
    `header_row`, `header_bytes`: their initial content, the distance between headers, and its size; `register_bytes` to
    clear. `outputs`, `output_row`, `output_rows`: o[], and the number of rows to clear. `inputs` and `merger` with
    their jobs: functions before and after a batch, or 0.
    """

    def counts(self) -> tuple[int, int, int, int]:
        """Return the counts of the run, in the order of `COUNTS`."""
        threads, issued, merged, finished = self._numbers[-len(COUNTS) :].tolist()
        return threads, issued, merged, finished


class _Batches(QuadFunction):
    """Writes the loop over batches as LLVM IR."""

    def text(self, name: str) -> str:
        """Return the loop as `i64 @name(ptr job, i64, i64, i64)`, which ignores the three numbers."""
        b = Builder(self.module, first=2_000_000)
        b.label("entry")
        at, warp, running = (b.alloca(I64, f"%{n}_v") for n in ("at", "warp", "running"))
        sums = {n: b.alloca(I64, f"%{n}_v") for n in COUNTS}
        of_batch = {n: b.alloca(I64, f"%batch_{n}_v") for n in ("threads", "issued")}
        p, n = {k: self.slot(k) for k in ADDRESSES}, {k: self.slot(k, I64) for k in NUMBERS}
        left_at = 8 * len(self.slots)
        self.slots += COUNTS
        for variable in (at, *sums.values()):
            b.store(I64(0), variable)
        b.lines += self.head.lines
        b.jump("batch")

        b.label("batch")
        start = b.load(I64, at)
        left = b.sub(n["lanes"], start)
        stop = b.load(PTR, b.offset(p["context"], state_layout.SLOT["stop"]))
        stopped = b.load(I32, stop, volatile=True)
        b.branch(b.and_(b.sgt(left, 0), b.eq(stopped, 0)), "some", "done")
        b.label("some")
        count = b.intrinsic("smin", left, n["batch"])
        groups, first = b.lshr(b.add(count, GROUP - 1), GROUP.bit_length() - 1), b.lshr(start, 2)
        with b.if_(b.ne(b.to_number(p["inputs"]), 0)):
            b.call(IrFunction(p["inputs"].text, *_OF_GROUPS), p["inputs_job"], 0, groups, first)
        warps = b.lshr(b.add(count, 31), 5)
        for field, number in (("ended", I64(0)), ("turn", I64(0)), ("spun", I64(0)), ("block_warps", warps)):
            b.store(number, b.offset(p["context"], state_layout.SLOT[field]))
        with _repeated(b, warp, n["output_rows"], "clear") as row:
            b.clear_bytes(b.offset(p["outputs"], b.mul(row, n["output_row"])), b.mul(warps, 128))
        with _repeated(b, warp, warps, "ready") as w:
            self._make_ready(b, p, n, w, start, count)
        enter = IrFunction(p["enter"].text, I32, (PTR, I64, I64, I32))
        b.call(enter, p["context"], 0, 0, Begin.TURNS)
        for variable in (running, *of_batch.values()):
            b.store(I64(0), variable)
        with _repeated(b, warp, warps, "look") as w:
            state = b.offset(p["states"], b.mul(w, n["state_bytes"]))
            goes_on = b.ne(b.load(I32, b.offset(state, state_layout.STATUS)), state_layout.FINISHED)
            b.store(b.or_(b.load(I64, running), b.zext(goes_on, I64)), running)
            for name_, offset in (("threads", state_layout.THREADS), ("issued", state_layout.ISSUED)):
                b.store(b.add(b.load(I64, of_batch[name_]), b.load(I64, b.offset(state, offset))), of_batch[name_])
        b.branch(b.eq(b.load(I64, running), 0), "finished", "done")
        b.label("finished")
        with b.if_(b.ne(b.to_number(p["merger"]), 0)):
            merged = b.call(IrFunction(p["merger"].text, *_OF_GROUPS), p["merger_job"], 0, groups, first)
            b.store(b.add(b.load(I64, sums["merged"]), merged), sums["merged"])
        for name_, variable in of_batch.items():
            b.store(b.add(b.load(I64, sums[name_]), b.load(I64, variable)), sums[name_])
        after = b.add(start, count)
        b.store(after, at)
        b.store(after, sums["finished"])
        b.jump("batch")

        b.label("done")
        for k, variable in enumerate(sums.values()):
            b.store(b.load(I64, variable), b.offset(JOB, left_at + 8 * k))
        b.ret(b.load(I64, sums["finished"]))
        return self.whole(name, b.lines)

    @staticmethod
    def _make_ready(b: Builder, p: dict[str, Ref], n: dict[str, Ref], w: Ref, start: Ref, count: Ref) -> None:
        """Emit the initialisation of the record of warp `w` of a batch of `count` lanes from `start` on."""
        state = b.offset(p["states"], b.mul(w, n["state_bytes"]))
        b.copy_bytes(state, b.offset(p["headers"], b.mul(w, n["header_row"])), n["header_bytes"])
        b.clear_bytes(b.offset(state, state_layout.REGISTERS), n["register_bytes"])
        before = b.shl(w, 5)
        there = b.intrinsic("smin", b.sub(count, before), I64(32))
        lanes = b.trunc(b.lshr(I64(0xFFFF_FFFF), b.sub(32, there)), I32)
        b.store(lanes, b.offset(state, state_layout.ACTIVE))
        b.store(b.not_(lanes), b.offset(state, state_layout.EXITED))
        b.store(lanes, b.offset(state, state_layout.VISIBLE))
        with b.if_(b.ne(b.to_number(p["covered"]), 0)):
            bytes_ = b.load(vector(32, I8), b.offset(p["covered"], b.add(start, before)), 1)
            covered = b.bitcast(b.ne(bytes_, vector(32, I8)(0)), I32)
            b.store(b.and_(covered, lanes), b.offset(state, state_layout.VISIBLE))


@contextmanager
def _repeated(b: Builder, variable: Ref, count: Ref, name: str) -> Generator[Ref]:
    """Write a loop over the numbers below `count` around the code written inside; `variable` holds the next one."""
    b.store(I64(0), variable)
    b.jump(name)
    b.label(name)
    k = b.load(I64, variable)
    b.branch(b.slt(k, count), f"{name}_one", f"{name}_end")
    b.label(f"{name}_one")
    b.store(b.add(k, 1), variable)
    yield k
    b.jump(name)
    b.label(f"{name}_end")


def batches_function(target: Host) -> CompiledFunction:
    """Return the loop over batches, whose job is a `BatchJob`; it returns how many lanes have finished.

    If that is not all of them, the next batch has been run in part, and nothing of it was merged.
    """
    found = function_of("batches", _Batches, target, None)
    assert found is not None
    return found


__all__ = ["BatchJob", "batches_function"]
