"""Requests of vµc instructions to the machine."""

from __future__ import annotations

from isakit.sem.requests import Requests

REQUESTS = Requests("vuc")

# --- values ---
PEEK = REQUESTS.value("peek", "a special register, without side effects", operands=1, per="machine", width=16)
SUBMBTYPE = REQUESTS.value("submbtype", "types of the submacroblocks", per="machine", width=16)

# --- actions ---
BRANCH = REQUESTS.control("branch", "branch", operands=1, per="machine", target=True)
CALL = REQUESTS.control("call", "call a function", operands=1, per="machine", target=True)
RETURN = REQUESTS.control("return", "return from a function", per="machine")
SLEEP = REQUESTS.control("sleep", "wait for the host or a macroblock", per="machine")
WAIT = REQUESTS.control("wait", "wait for a bit of $stat", operands=1, facts=["level"], per="machine")
CLICNT = REQUESTS.control("clicnt", "clear the instruction counter", per="machine")
MBIREAD = REQUESTS.control("mbiread", "load the macroblock registers", per="machine")
MBINEXT = REQUESTS.control("mbinext", "go to the next macroblock", per="machine")
MVSREAD = REQUESTS.control("mvsread", "read a pair of macroblocks of the input surface", per="machine")
MVSWRITE = REQUESTS.control("mvswrite", "write a macroblock to the output surface", per="machine")
UNKNOWN = REQUESTS.control("unknown", "an operation whose effect is not known", facts=["op"], per="machine")
