"""Requests of USSE instructions to the machine."""

from __future__ import annotations

from isakit.sem.requests import Requests

REQUESTS = Requests("usse")

# --- values ---
QUAD = REQUESTS.value("quad", "a value as a neighbour in the quad has it", operands=1, facts=["without", "with_"],
                      per="quad")  # fmt: skip
_SAMPLE = ["word", "count", "lod", "conv", "mode"]
SAMPLE = REQUESTS.value("sample", "a register of a texture sample", operands=(1, None), facts=_SAMPLE)
SAMPLE_HAS = REQUESTS.value("sample_has", "whether a sample fills so many registers", operands=(1, None),
                            facts=_SAMPLE, width=1)  # fmt: skip

# --- actions ---
BRANCH = REQUESTS.control("branch", "branch by a distance", operands=1, facts=["link"], per="lane", target=True)
JUMP = REQUESTS.control("jump", "branch to an instruction", operands=1, facts=["link"], per="lane", target=True)
RETURN = REQUESTS.control("return", "go back after the branch that kept its place", per="lane")
KILL_LANES = REQUESTS.control("kill", "end invocations", facts=["condition"], per="lane")
DEPTH = REQUESTS.control("depth", "set the depth of a fragment", operands=1, per="lane")
_ROLES = ["dst", "src0", "src1", "src2"]
INCREMENTS = REQUESTS.control("increments", "how operands move in repetitions", facts=_ROLES, per="machine")
BASES = REQUESTS.control("bases", "what is added to operands", facts=_ROLES, per="machine")
EMIT_RESULTS = REQUESTS.control("emit", "the results of a fragment are complete", per="machine")
STATE_AT_END = REQUESTS.control("state_at_end", "set state of unknown use, where nothing follows", per="machine")
