"""One Tesla instruction on a machine and, lane by lane, on plain Python ints: every register and byte must agree.

The two readings share the trace of the instruction and nothing else: the machine runs NumPy code on all lanes, with its
own masks, spaces and control; here a lane is a handful of ints, memory is a bytearray, and what a control instruction
does is written down again for a warp that has not diverged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

import isakit
from isakit.arch.tesla.atomics import ATOMIC_OPERATIONS
from isakit.arch.tesla.operands import TARGET
from isakit.engine import compile_trace
from isakit.engine.codegen import compiled_operation
from isakit.errors import MachineFault
from isakit.machine.tesla import Choices, LinearWindow
from isakit.sem.semantics import BINDER, bind_control, fields_of, trace_of
from isakit.sem.trace import Trace, control, tracing
from isakit.spec import Bits, Choice, Form, Imm, Part, Reg, Template
from isakit.spec.operands import Memory
from isakit.spec.parts import bound_value, operand_of, static_bits
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture
from isakit.texture.texture_unit import TextureUnit

LANES, REGISTERS = 32, 128
BASE, GLOBAL_BYTES, SHARED_BYTES, LOCAL_BYTES, CONST_BYTES = 0x1000, 1 << 10, 1 << 12, 1 << 11, 1 << 12
TARGET_PC = 0x40
INTERESTING = (
    0, 1, 0xFFFF_FFFF, 0x8000_0000, 0x7FFF_FFFF, 0x3F80_0000, 0xBF80_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000,
    0x0000_8000, 0x0080_0000, 0x0000_0001, 0x4B00_0000, 0xFFFF, 0x20, 0x7FF0_0000, 0x3FF0_0000,
)  # fmt: skip
ENDS = "exit (never) nop\n"
TEXELS = np.arange(4 * 4 * 4, dtype=np.float32).reshape(4, 4, 4)


def leaves(part: Part, word: int) -> Iterator[Part]:
    """The operand kinds that are in force in a word."""
    if isinstance(part, Choice):
        chosen = part.pick(word)
        if chosen is not None:
            yield from leaves(chosen, word)
    else:
        yield part


def tuned(form: Form, word: int, random: Random, keep: int) -> int:
    """The word with offsets that are aligned and small, branch targets that exist, texture 0. Bits in `keep` stay."""
    for part in (leaf for p in form.parts.values() for leaf in leaves(p, word)):
        offset = part.holes.get("offset") if isinstance(part, Template) and part.kind is Memory else None
        if isinstance(offset, Imm):
            f = offset.field
            step = max(1, 16 // offset.scale)
            top = min(64, ((1 << f.width) - 1) // step)
            raw = step * random.randint(0, top) if top else random.getrandbits(f.width)
            changes = Bits(f.mask, f.put(raw))
        elif part is TARGET:
            changes = Bits(part.field.mask, part.field.put(TARGET_PC // 4))
        elif isinstance(part, Reg) and part.family in ("t", "s"):  # a texture, a sampler
            changes = Bits(part.field.mask, 0)
        else:
            continue
        mask = changes.mask & ~keep
        word = word & ~mask | changes.value & mask
    return word


@dataclass
class Start:
    """What the warp and its memories hold before the instruction; registers as arrays [number, lane]."""

    r: Any
    a: Any
    c: Any
    memory: dict[str, bytes]

    @cached_property
    def by_lane(self) -> list[dict[str, list[int]]]:
        """The registers of each lane as plain ints."""
        files = zip(self.r.T.tolist(), self.a.T.tolist(), self.c.T.tolist(), strict=True)
        return [{"r": r, "a": a, "c": c} for r, a, c in files]


def start_for(form: Form, word: int, random: Random) -> Start:
    """Random contents; what serves as an address points into the memories."""
    rng = np.random.default_rng(random.getrandbits(32))
    shape = (REGISTERS, LANES)
    r = rng.integers(0, 1 << 32, shape, np.uint32)
    r = np.where(rng.random(shape) < 0.4, rng.choice(np.array(INTERESTING, np.uint32), shape), r)
    for part in (leaf for p in form.parts.values() for leaf in leaves(p, word)):
        operand = operand_of(part, word) if isinstance(part, Template) else None
        if isinstance(operand, Memory) and operand.space[0] == "g" and operand.base is not None:
            place = np.where(rng.random(LANES) < 0.8, np.arange(LANES), 3)
            r[operand.base.index] = BASE + 16 * place
    a = 16 * rng.integers(0, LANES, (8, LANES), np.uint32)
    a[[0, 5, 6]] = 0
    memory = {"g": rng.bytes(GLOBAL_BYTES), "s": rng.bytes(SHARED_BYTES), "l": rng.bytes(LANES * LOCAL_BYTES)}
    return Start(r, a, rng.integers(0, 16, (4, LANES), np.uint32), memory)


@cache
def assembled(chip: str, text: str) -> tuple[int, ...]:
    return tuple(isakit.isa("tesla", chip).assemble(text).words)


@cache
def constants() -> dict[int, bytes]:
    random = Random(1)
    return {n: random.randbytes(CONST_BYTES) for n in range(16)}


class Trapped(Exception):
    pass


class Lane:
    """What generated code sees of one lane."""

    def __init__(self, warp: Warp, lane: int) -> None:
        self.warp, self.lane = warp, lane
        self.files = {name: row.copy() for name, row in warp.start.by_lane[lane].items()}

    def _place(self, space: str, address: int) -> tuple[Any, int]:
        if space[0] == "c":
            return constants()[int(space[1:])], address
        if space[0] == "g":
            return self.warp.memory["g"], address - BASE
        return self.warp.memory[space], address + (self.lane * LOCAL_BYTES if space == "l" else 0)

    def load(self, space: str, address: int, size: int, attrs: Any, lanes: Any) -> int:
        memory, at = self._place(space, address)
        assert 0 <= at <= len(memory) - size, f"{space}[{address:#x}]"
        return int.from_bytes(memory[at : at + size], "little")

    def store(self, space: str, address: int, value: int, size: int, attrs: Any, lanes: Any) -> None:
        memory, at = self._place(space, address)
        memory[at : at + size] = value.to_bytes(size, "little")

    def atomic(self, space: str, op: str, address: int, operands: Sequence[int], size: int, attrs: Any,
               lanes: Any) -> int:  # fmt: skip
        old = self.load(space, address, size, attrs, lanes)
        function = compiled_operation(ATOMIC_OPERATIONS[op], (), (8 * size,) * (1 + len(operands)), "scalar")
        self.store(space, address, int(function(old, *operands)), size, attrs, lanes)
        return old

    def machine(self, name: str, args: Sequence[int], attrs: Any, lanes: Any) -> int:
        warp = self.warp
        if name == "lane":
            return self.lane
        if name == "mp_flag":
            return 0
        if name == "sr":
            return {0: self.lane, 1: warp.clock, 3: 0x20}.get(attrs["n"], 0)
        if name == "texel":
            return warp.answer(warp.texture)[attrs["component"]][self.lane]
        if name == "tex":
            warp.texture = (attrs["op"], attrs["quads"], attrs["mask"], tuple(args[:5]))
        warp.asked[self.lane] = list(args)
        if name == "lock":
            return int(self.lane == min(warp.executing))
        if not warp.complete:
            return 0
        if name == "vote":
            votes = [warp.asked[n][0] for n in warp.executing]
            return int(any(votes) if attrs["kind"] == "any" else all(votes))
        if name == "quad":
            return warp.asked[self.lane & ~3 | args[1] & 3][0]
        assert name == "tex", name
        return 0

    def trap(self, kind: str, lanes_mask: Any) -> None:
        raise Trapped(kind)


class Warp:
    """All lanes; instructions that look at other lanes go over them twice, first to see what the others say."""

    def __init__(self, start: Start, executing: list[int], clock: int) -> None:
        self.start, self.executing, self.clock = start, executing, clock
        self.asked: dict[int, list[int]] = {}
        self.texture: Any = None
        self.complete = False
        self.memory = {name: bytearray(data) for name, data in start.memory.items()}
        self.lanes = [Lane(self, n) for n in range(LANES)]
        self._answer: Any = None

    def answer(self, question: Any) -> Any:
        """What the texture unit says to the sources all lanes gave; zeros before they are known."""
        if not self.complete:
            return [[0] * LANES] * 4
        if self._answer is None:
            op, quads, mask, (_, _, *offsets) = question
            sources = np.array([self.asked.get(n, [0] * 9)[5:] for n in range(LANES)], np.uint32).T
            unit = TextureUnit({0: Texture(TEXELS)}, {0: Sampler()})
            signed = [o - (o >> 31 << 32) for o in offsets]
            self._answer = [x.tolist() for x in unit.ask(op, 0, 0, list(sources), offsets=signed, quads=quads,
                                                         wanted=mask)]  # fmt: skip
        return self._answer

    def run(self, trace: Trace, params: Sequence[Any], form: Form, word: int) -> list[Any]:
        """Execute; the control requests of the first lane."""
        body = _scalar(trace)
        values = fields_of(form, word, body.fields)
        asks = {name for name in ("quad", "tex", "vote") if f"machine('{name}'" in body.source}
        whole = asks & {"quad", "tex"}
        if asks:  # what a lane outside the execution mask has in its registers still counts for its quad
            for n in range(LANES) if whole else self.executing:
                body.function(Lane(self, n), None, values)
            self.complete = True
        requests: list[Any] = []
        for n in self.executing:
            got = body.function(self.lanes[n], None, values)
            requests = requests or got
        return requests


@cache
def _scalar(trace: Trace) -> Any:
    return compile_trace(trace, "scalar")


_guards: dict[tuple[int, int], tuple[Part, Any]] = {}
"""By id of the operand kind, which all forms share, and its static bits."""


def _scalar_guard(part: Part, code: int) -> Any:
    key = id(part), code
    if key not in _guards:
        _guards[key] = part, _compiled_guard(part, code)
    return _guards[key][1]


def _compiled_guard(part: Part, code: int) -> Any:
    guard = bound_value(part, code, BINDER)
    if guard is None:
        return None
    with tracing() as trace:
        control("guard", guard.holds())
    return compile_trace(trace, "scalar")


def executing_lanes(form: Form, word: int, start: Start) -> list[int]:
    """Lanes in which the guard holds."""
    part = form.parts.get("guard")
    if part is None or "guard" not in form.control:
        return list(range(LANES))
    guard = _scalar_guard(part, word & static_bits(part))
    if guard is None:
        return list(range(LANES))
    values = fields_of(form, word, guard.fields)
    lanes = [SimpleNamespace(files=files) for files in start.by_lane]
    return [n for n in range(LANES) if guard.function(lanes[n], None, values)[0].args[0]]


ANY = -1000
PROLOGUE = {"join": "joinat {here}", "brk": "breakaddr {target}", "quadpop": "quadon"}


def compare(chip: str, form: Form, word: int, random: Random) -> str:
    """Run a word both ways; "" if they agree, else what differs. Raises NotModelled."""
    start = start_for(form, word, random)
    tail = bind_control(form, "tail", word) if "tail" in form.control else ""
    trace = trace_of(form, word)
    actions = [e.name for e in trace.of_kind("control")]
    before = PROLOGUE.get("join" if tail == "join" else actions[0] if actions else "")
    here = 8 if before else 0
    lead = assembled(chip, before.format(here=here, target=hex(TARGET_PC)) + "\n") if before else ()
    words = [word >> 32 * i & 0xFFFF_FFFF for i in range(form.units)]
    code = [*lead, *words, *([0x1000_0000] if len(words) == 1 else []), *assembled(chip, ENDS) * 24]
    device = isakit.Device(chip, engine="reference", limits=False, choices=Choices(nonzero_a56="ignore"))
    for n in range(16):
        device.bind(n, LinearWindow())
    device.bind_texture(0, Texture(TEXELS), Sampler())
    buffer = device.alloc(GLOBAL_BYTES, BASE)
    device.write(buffer, start.memory["g"])
    kernel = device.load(code, registers=REGISTERS, shared=SHARED_BYTES, local=LOCAL_BYTES)["main"]
    kernel.constants.update(constants())
    machine = device.machine(kernel, 1, LANES)
    warp = machine.blocks[0].warps[0]
    if lead:
        machine.step()
    warp.registers[:] = start.r
    warp.addresses[:] = start.a
    warp.conditions[:] = start.c
    machine.blocks[0].shared[:] = np.frombuffer(start.memory["s"], np.uint8)
    local = machine.state.spaces["l"].memory.bytes
    local[: LANES * LOCAL_BYTES] = np.frombuffer(start.memory["l"], np.uint8)

    executing = executing_lanes(form, word, start)
    oracle = Warp(start, executing, clock=4 * len(lead) // 2)
    fault = ""
    try:
        requests = oracle.run(trace, (), form, word) if executing or actions else []
        if actions and not requests:  # no lane executes, the request is made all the same
            requests = Warp(start, [0], 0).run(trace, (), form, word)
    except Trapped as e:
        fault, requests = str(e), []
    expected = Outcome(here + 4 * form.units, 0xFFFF_FFFF, "ready", fault)
    for request in requests:
        expected.perform(request, executing)
    if not expected.fault:
        if tail == "exit":
            expected.active, expected.status = 0, "finished"
        depth = len(warp.stack)
    try:
        machine.step(warp)
    except MachineFault as e:
        return "" if e.kind == expected.fault else f"fault {e.kind}, expected {expected.fault or 'none'}"
    if expected.fault:
        return f"no fault, expected {expected.fault}"
    if expected.depth != ANY:
        expected.depth += depth - (tail == "join")
    lines = expected.differences(warp)
    for name, rows in (("r", warp.registers), ("a", warp.addresses), ("c", warp.conditions)):
        wanted = np.array([lane.files[name] for lane in oracle.lanes], np.uint32).T
        if name == "a":
            wanted[[0, 5, 6]] = 0
        lines += [
            f"${name}{n} lane {lane}: {int(rows[n, lane]):#x}, expected {int(wanted[n, lane]):#x}"
            for n, lane in np.argwhere(rows != wanted)
        ]
    contents = {"g": device.read(buffer, np.uint8, GLOBAL_BYTES), "s": machine.blocks[0].shared,
                "l": local[: LANES * LOCAL_BYTES]}  # fmt: skip
    lines += [f"{name}[] differs" for name, got in contents.items() if got.tobytes() != bytes(oracle.memory[name])]
    return "; ".join(lines[:4])


@dataclass
class Outcome:
    """Where a warp of 32 active lanes is after a control instruction. Source: [tesla] 9."""

    pc: int
    active: int
    status: str
    fault: str
    depth: int = 0

    def perform(self, request: Any, executing: list[int]) -> None:
        name, args = request.name, request.args
        mask = sum(1 << n for n in executing)
        match name:
            case "bra" if mask:
                self.pc, self.active = int(args[0]), mask
                self.depth += mask != 0xFFFF_FFFF
            case "bra_indirect":
                # Each lane has loaded an address of its own; the lowest lane's group goes first.
                self.pc, self.active, self.depth = int(args[0]), ANY, ANY
            case "call":
                self.pc, self.depth = int(args[0]), 1
            case "prebrk" | "joinat" | "preret":
                self.depth = 1
            case "ret" | "brk":
                self.active &= ~mask
                if not self.active:
                    self.status = "finished" if name == "ret" else "ready"
                    self.pc = self.pc if name == "ret" else TARGET_PC
                    self.active = 0 if name == "ret" else mask
                    self.depth = 0 if name == "ret" else -1
            case "quadon":
                self.depth = 1
            case "quadpop":
                self.depth = -1
            case "bar":
                waits = request.attrs["inc"] and request.attrs["wait"] and not request.attrs["all"]
                self.status = "waiting" if waits and int(args[1]) not in (0, 1, 0xFFF) else "ready"
            case "trap" | "brkpt":
                if mask:
                    self.fault = "TRAP_INSTRUCTION" if name == "trap" else "BREAKPOINT"
            case "pmevent" | "unlock" | "bra":
                pass
            case _:
                raise AssertionError(f"unexpected control action {name}")

    def differences(self, warp: Any) -> list[str]:
        got = {"status": warp.status, "active lanes": warp.active, "stack depth": len(warp.stack)}
        wanted = {"status": self.status, "active lanes": self.active, "stack depth": self.depth}
        if self.status != "finished":
            got["pc"], wanted["pc"] = warp.pc, self.pc
        else:
            del got["stack depth"]
        return [f"{k} {got[k]}, expected {wanted[k]}" for k in got if wanted[k] not in (ANY, got[k])]
