"""Faults of the Tesla machine, and the instructions that can raise them. Source: [tesla] 4, 7, 9, 10, 14."""

from __future__ import annotations

from isakit.arch.tesla import requests as ask
from isakit.arch.tesla.requests import REQUESTS
from isakit.sem.faults import Fault, accesses, any_of, asks, has, long, writes

_SPACES = ("c", "s", "l", "g", "a", "p", "o")
_JUMPS = (*(r for r in REQUESTS.controls.values() if r.target), ask.BRA_INDIRECT)
_PUSHES = (ask.BRA, ask.BRA_INDIRECT, ask.CALL, ask.PREBRK, ask.JOINAT, ask.PRERET, ask.QUADON)
_JOIN, _EXIT = has("tail", "join"), has("tail", "exit")

FAULTS = (
    Fault("MISALIGNED_ADDRESS", "the address is not a multiple of the size of the access", "misaligned",
          accesses(*_SPACES, size=2)),
    Fault("UNMAPPED_ADDRESS", "the access leaves its space, or the buffers behind `g[]`", "out_of_range",
          accesses(*_SPACES)),
    Fault("UNBOUND_SPACE", "nothing was bound to the space", "", accesses("c", "g", "l", "a", "p")),
    Fault("READ_ONLY_SPACE", "a store to constants or to inputs", "",
          accesses("c", "a", "p", kinds=("store", "atomic"))),
    Fault("ILLEGAL_ADDRESS_REGISTER", "`$a5` or `$a6` is written", "nonzero_a56", writes("a")),
    Fault("UNBOUND_TEXTURE", "no texture or sampler was bound to the number", "", asks(ask.TEX)),
    Fault("STACK_OVERFLOW", "the warp's stack is full when an entry is pushed; a branch pushes one where lanes part",
          "stack_overflow", asks(*_PUSHES)),
    Fault("STACK_UNDERFLOW", "the warp's stack has no entry for it", "",
          asks(ask.BRK, ask.QUADPOP), _JOIN),
    Fault("STACK_MISMATCH", "the nearest entry of the warp's stack is of another kind; for `ret` and `brk` by option",
          "wrong_entry", asks(ask.RET, ask.BRK, ask.QUADPOP), _JOIN),
    Fault("QUADON_ACTIVE", "it stands between `quadon` and `quadpop`", "",
          asks(*_PUSHES, ask.RET, ask.BRK, ask.DISCARD), any_of(_JOIN, _EXIT)),
    Fault("BARRIER_OUT_OF_RANGE", "the program did not allocate a barrier of this number", "", asks(ask.BAR)),
    Fault("BARRIER_DEADLOCK", "every warp of the block that is left waits at a barrier", "barrier_all", asks(ask.BAR)),
    Fault("TRAP_INSTRUCTION", "always, in lanes that execute it", "", asks(ask.TRAP)),
    Fault("BREAKPOINT", "always, in lanes that execute it", "brkpt", asks(ask.BRKPT)),
    Fault("EMIT_LIMIT", "a lane has emitted all vertices it may", "excess", asks(ask.EMIT)),
    Fault("CODE_OUT_OF_RANGE", "the program goes on where no code is", "", asks(*_JUMPS)),
    Fault("UNALIGNED_LONG_INSTRUCTION", "a long instruction is reached at an odd word", framed=long),
    Fault("BLOCKS_WAIT", "the blocks on the chip wait for each other, or for blocks that get no room"),
    Fault("TIMEOUT", "the instructions allowed to a launch are used up"),
)  # fmt: skip
