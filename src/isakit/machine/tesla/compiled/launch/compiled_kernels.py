"""Kernels ready to run: predecoded for the interpreter, compiled as a whole, or first one and then the other."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakSet

from isakit.engine.llvm import METADATA, Host, LoadedCode, host, object_code, read_object, write_object
from isakit.engine.llvm.background import Ending, object_code_elsewhere
from isakit.engine.llvm.exclusive import using_llvm
from isakit.engine.llvm.fingerprint import fingerprint
from isakit.forks import in_child
from isakit.lean import cached_property
from isakit.machine.tesla.analysis.control_flow import Flow, NotCompiled, RegisterKey
from isakit.machine.tesla.analysis.known_flow import facts_of, flow_of, known_flow
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.function_code import LaunchFacts
from isakit.machine.tesla.compiled.emit.interpreter import InterpreterProgram, handlers_of, keys_of, library
from isakit.machine.tesla.compiled.emit.warp_code import WarpCode
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch
from isakit.sem.routine import on_change

Run = Callable[[int, int, int, int], int]
"""(context, first block, block after the last, how the first begins) -> see `rules.blocks.run_blocks`."""

_begun: WeakSet[CompiledKernel] = WeakSet()
"""Kernels being compiled in the background."""
in_child(lambda: [k.start_again() for k in list(_begun)])

PATIENCE = 1 << 28
"""Spin limit: instructions a warp may run without yielding before it is treated as busy-waiting."""
TURN = 1 << 16
"""Instructions after which it yields to the others from then on."""
SPINNING = 1 << 17
"""The same as `PATIENCE` in kernels with spin loops (`spin_loops`)."""
SPINNING_TURN = 1 << 11
"""The same as `TURN` in such kernels, where most instructions of a turn are wasted."""
COMPILE_SECONDS = 0.003
"""Seconds of compiling per instruction."""
COMPILER_START = 50
"""Instructions that would be compiled while the process that compiles starts.

Kernels of no more are compiled in this process: the end of it, forks and launches wait for the tenth of a second.
"""


@dataclass(frozen=True)
class Executable:
    """One way to run the blocks of a kernel: the loop over blocks, and the address of the function of a warp.

    `clears` tells whether it relies on cleared registers in memory, `resumes` whether a warp can continue wherever its
    turn ended.
    """

    run: Run
    run_warp: int
    sites: int
    clears: bool
    keep: object
    resumes: bool = False


def _entry(loaded: LoadedCode) -> Run:
    return loaded.function("enter", ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32)


def generate(flow: Flow, facts: LaunchFacts, target: Host) -> tuple[str, int]:
    """Return the IR of the function of a warp and the number of global access sites."""
    code = WarpCode(flow, facts, target)
    text = code.generate()
    return text + METADATA, code.sites


class CompiledKernel:
    """A kernel with the properties of its launches.

    `tier` is `interp`, `jit` or `auto`: interpreted until it has run for as long as compiling takes, which then happens
    in the background.
    """

    def __init__(self, code: Code, entry: int, facts: LaunchFacts, target: Host, tier: str) -> None:
        self.facts, self.target, self.tier = facts, target, tier
        self.code, self.entry = code, entry
        self.known = known_flow(code, entry, facts.results, facts.choices)
        self.state_bytes = state_layout.state_bytes(facts.registers)
        self.program: InterpreterProgram | None = None
        self.compiled: Executable | None = None
        self._interpreted: Executable | None = None
        self._seconds = 0.0
        # Blocks of an earlier launch waited for each other; or they may, and the host's help stops no single one.
        self.blocks_wait = self.known.needs_host and bool(self.known.spins)
        self._key = self._cache_key(code, entry)
        self._claims: dict[str, object] = {}
        if self.known.has_indirect:  # where such branches go only the interpreter can follow
            self._claims["compile"] = None
        if tier == "jit" and not self.known.has_indirect:
            self.compiled = self._compile()
        elif tier == "auto":
            self.compiled = self._from_disk()
        if self.compiled is None:
            self.program = self._program()
            lib = self.program.library
            enter = _entry(lib.main)
            self._interpreted = Executable(enter, lib.run_warp, self.program.sites, True, self.program, resumes=True)

    @property
    def sites(self) -> int:
        """Number of cells in which a thread of the host caches buffers; enough for every tier."""
        return max(2 * self.known.accesses, *(x.sites for x in (self.compiled, self._interpreted) if x is not None))

    @cached_property
    def flow(self) -> Flow:
        """The control flow, computed when `known` lacks a property."""
        return flow_of(self.code, self.entry, self.facts.results, self.facts.choices)

    def _program(self) -> InterpreterProgram:
        """Return the records for the interpreter, from disk if they are there."""
        f = self.facts
        facts, name = facts_of(self.code, self.entry, f.results, f.choices), f"program {self.target.key}"
        kept = facts.get(name)
        found = None if kept is None else InterpreterProgram.kept(b64decode(kept), self.target, f.choices)
        if found is None:
            found = InterpreterProgram.made(self.code, self.flow, self.target, f.choices)
            facts.set(name, b64encode(found.content()).decode())
        found.mark(self.code, f.order.races)
        return found

    @property
    def patience(self) -> int:
        """Spin limit: instructions a warp may run without yielding before it counts as waiting for a block."""
        return min(SPINNING, PATIENCE) if self.known.spins else PATIENCE

    @property
    def turn(self) -> int:
        """Instructions after which a warp yields to others, if they may wait for each other."""
        return min(SPINNING_TURN, TURN) if self.known.spins else TURN

    @property
    def reserve(self) -> int:
        """Instructions of a budget that are left to the reference machine: more than there are between two jumps."""
        return self.known.count + 1

    def choose_executable(self) -> Executable:
        """Return the executable for the next blocks: compiled, once that is ready."""
        chosen = self.compiled or self._interpreted
        assert chosen is not None
        return chosen

    def interpreted(self) -> CompiledKernel:
        """Return the same kernel on the interpreter."""
        if self.tier == "interp":
            return self
        return _kernel(self.code, self.entry, self.facts, self.target, "interp")

    def count_run_time(self, how: Executable, seconds: float) -> None:
        """Add to the time that blocks have run: a kernel interpreted for long is compiled in the background.

        `seconds` is processor time, so that other load on the machine does not make kernels seem worth compiling.
        """
        if self.tier != "auto" or how is not self._interpreted:
            return
        self._seconds += seconds
        n = self.known.count
        cost = COMPILE_SECONDS * (n + COMPILER_START if self._is_large else n)
        if self._seconds < cost or "compile" in self._claims:
            return
        mine = object()
        if self._claims.setdefault("compile", mine) is mine:
            _begun.add(self)
            threading.Thread(target=self._compile_later, name="isakit-compile", daemon=True).start()

    @property
    def _is_large(self) -> bool:
        """True if compiling takes so long that a separate process does it."""
        return self.known.count > COMPILER_START

    def _compile_later(self) -> None:
        with suppress(NotCompiled, Ending):  # the interpreter does it
            self.compiled = self._compile(elsewhere=self._is_large)
        _begun.discard(self)

    def start_again(self) -> None:
        """Restart compiling in a forked process, whose compiling thread does not exist."""
        if self.compiled is None:
            self._claims.clear()

    # --- compiled kernels -----------------------------------------------------------------------------------
    def _cache_key(self, code: Code, entry: int) -> str:
        f = self.facts
        key = "\0".join(
            [
                fingerprint("tesla"),
                self.target.key,
                code.decoder.view.variant.name,
                code.decoder.view.program,
                f"{code.address} {entry} {f.registers} {sorted(f.flags)} {f.windows} {sorted(f.banks)} {f.has_local}",
                f"{sorted(f.results)} {f.consecutive} {f.order}",
                f"{f.choices} {code.drop_unallocated}",
                code.units.__repr__(),
            ]
        )
        return hashlib.sha256(key.encode()).hexdigest()

    def _from_disk(self) -> Executable | None:
        data = read_object("kernels", self._key)
        return None if data is None else self._load(data)

    def _load(self, data: bytes) -> Executable:
        main = library(self.target, self.facts.choices).main  # has the functions that kernels call
        loaded = LoadedCode(data[8:], self.target)
        sites = int.from_bytes(data[:8], "little")
        # The reference machine may read registers that the code it goes on from does not name.
        return Executable(_entry(main), loaded.address("run_warp"), sites, self.known.leaves, loaded)

    def _compile(self, elsewhere: bool = False) -> Executable:
        """Return the kernel compiled as a whole; with `elsewhere`, by another process in the background."""
        found = self._from_disk()
        if found is not None:
            return found
        ir, sites = generate(self.flow, self.facts, self.target)
        if elsewhere:
            code = object_code_elsewhere(ir, self.target, quick=True)
        else:
            code = object_code(ir, self.target, keep=False, quick=True)
        data = sites.to_bytes(8, "little") + code
        write_object("kernels", self._key, data)
        return self._load(data)


@lru_cache(maxsize=256)
def _kernel(code: Code, entry: int, facts: LaunchFacts, target: Host, tier: str) -> CompiledKernel:
    return CompiledKernel(code, entry, facts, target, tier)


on_change(_kernel.cache_clear)


def at_hand(launch: Launch, results: frozenset[RegisterKey] = frozenset()) -> bool:
    """Return whether the interpreter can run a kernel without compiling anything. Raises NotCompiled."""
    flow = flow_of(launch.code, launch.entry, results, launch.choices)
    return handlers_of(host()).has(keys_of(launch.code, flow, launch.choices).values())


def kernel_of(
    launch: Launch, tier: str = "auto", portable: bool = False, results: frozenset[RegisterKey] = frozenset()
) -> CompiledKernel:
    """Return the kernel of a launch, cached; `results`: registers live on exit. Raises NotCompiled."""
    if any(w.end > 1 << 32 for w in launch.windows.values()):
        raise NotCompiled("a window beyond the address space")
    with using_llvm:
        return _kernel(launch.code, launch.entry, LaunchFacts.of(launch, results), host(portable), tier)
