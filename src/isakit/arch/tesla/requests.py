"""Requests of Tesla instructions to the machine."""

from __future__ import annotations

from isakit.sem.requests import Requests

REQUESTS = Requests("tesla")

# --- values ---
LANE = REQUESTS.value("lane", "the number of the lane in its warp")
QUAD = REQUESTS.value("quad", "a value as another lane of the quad has it", operands=2, per="quad")
VOTE = REQUESTS.value("vote", "whether a condition holds in any or all active lanes", operands=1, facts=["kind"],
                      per="warp", width=1)  # fmt: skip
MP_FLAG = REQUESTS.value("mp_flag", "a flag of the multiprocessor", facts=["name"], per="machine", width=1)
SPECIAL_REGISTER = REQUESTS.value("sr", "a special register", facts=["n"])
TRY_LOCK = REQUESTS.value("lock", "try to lock the word of s[] at an address", operands=1, width=1, effect=True)
TEX = REQUESTS.value("tex", "ask the texture unit; `texel` takes the answer", operands=(5, None),
                     facts=["op", "cube", "quads", "mask"])  # fmt: skip
TEXEL = REQUESTS.value("texel", "a component of an answer of the texture unit", operands=1, facts=["component"])
VISIBLE = REQUESTS.value("visible", "whether the lane of a fragment program is not a helper", width=1)
INTERP = REQUESTS.value("interp", "an input of a fragment program", operands=1, facts=["flat", "centroid"])

# --- actions ---
BRA = REQUESTS.control("bra", "branch", operands=1, target=True)
BRA_INDIRECT = REQUESTS.control("bra_indirect", "branch to addresses in registers", operands=1)
CALL = REQUESTS.control("call", "call a function", operands=1, facts=["lim"], target=True)
RET = REQUESTS.control("ret", "return from a function")
PREBRK = REQUESTS.control("prebrk", "push where lanes that break go on", operands=1, target=True)
BRK = REQUESTS.control("brk", "leave the innermost region of `prebrk`")
JOINAT = REQUESTS.control("joinat", "push where diverged lanes meet", operands=1, target=True)
PRERET = REQUESTS.control("preret", "push where lanes that return go on", operands=1, facts=["lim"], target=True)
QUADON = REQUESTS.control("quadon", "activate all lanes of quads with an active lane")
QUADPOP = REQUESTS.control("quadpop", "end of `quadon`")
BAR = REQUESTS.control("bar", "arrive at a barrier, wait at it, or both", operands=2, facts=["inc", "wait", "all"])
TRAP = REQUESTS.control("trap", "stop with a fault")
BRKPT = REQUESTS.control("brkpt", "stop at a breakpoint")
PMEVENT = REQUESTS.control("pmevent", "count a performance event", operands=1)
UNLOCK = REQUESTS.control("unlock", "release a locked word of s[]", operands=1, per="lane")
DISCARD = REQUESTS.control("discard", "discard fragments", per="lane")
EMIT = REQUESTS.control("emit", "o[] becomes the next vertex", per="lane")
RESTART = REQUESTS.control("restart", "the next vertex begins a new strip", per="lane")
