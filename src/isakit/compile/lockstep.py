"""Preserve communication between threads of a warp through shared memory without a barrier.

A warp of these chips runs in lockstep, and programs of their time rely on it: in `s[i] += s[i ^ 16]; s[i] += s[i ^ 8];`
each thread reads what the others have just stored. LLVM sees that `s[i]` and `s[i ^ 16]` are different addresses in one
thread and removes the first store. So its passes may not look past another access (`LIMITS`), and before the last
passes, which cannot be limited, each access to shared memory is marked volatile.
"""

from __future__ import annotations

import re

_LIMITS = ("dse-memoryssa-scanlimit=0", "memdep-block-scan-limit=1", "available-load-scan-limit=1",
           "earlycse-mssa-optimization-cap=0", "memssa-check-limit=0", "licm-mssa-optimization-cap=0",
           "disable-licm-promotion")  # fmt: skip
LIMITS = tuple(x for name in _LIMITS for x in ("-mllvm", f"-{name}"))
"""Options for clang's passes over LLVM IR."""
_SHARED = "addrspace(3)"
_DERIVED = re.compile(r"\s+(%[-\w.$]+|%\"[^\"]*\") = (?:getelementptr|phi|select|bitcast|addrspacecast|freeze)\b(.*)")
_ACCESS = re.compile(r"(\s+(?:%\S+ = load|store)) (?!volatile|atomic)")
_BEHIND = re.compile(r", (?:align \d|!)")
"""The alignment and attributes after the operands of an access."""
_PARAMETER = re.compile(r"addrspace\(3\)[^,%]*(%[-\w.$]+)")
_NAME = re.compile(r"%[-\w.$]+|%\"[^\"]*\"")
_VOLATILE = re.compile(r"\b(ld|st)\.volatile\b")


def marked_shared(ir: str) -> str:
    """Return LLVM IR whose accesses to shared memory are volatile.

    Its pointers may have types, as up to version 14 (`float addrspace(3)* %p`), or none (`ptr addrspace(3) %p`).
    """
    if _SHARED not in ir:
        return ir
    out: list[str] = []
    for part in re.split(r"(?m)^(?=define )", ir):
        lines = part.splitlines()
        if not part.startswith("define ") or _SHARED not in part:
            out += lines
            continue
        shared = set(_PARAMETER.findall(lines[0]))
        derived = [(m[1], m[2]) for line in lines if (m := _DERIVED.match(line)) is not None]
        count = -1
        while count < len(shared):  # a phi may come before what it takes
            count = len(shared)
            shared |= {n for n, rest in derived if _SHARED in rest or not shared.isdisjoint(_NAME.findall(rest))}
        for line in lines:
            m = _ACCESS.match(line)
            if m is not None:
                address = _last_operand(_BEHIND.split(line, maxsplit=1)[0])
                if _SHARED in address or not shared.isdisjoint(_NAME.findall(address)):
                    line = f"{m[1]} volatile {line[m.end() :]}"
            out.append(line)
    return "\n".join(out) + "\n"


def _last_operand(text: str) -> str:
    """Return the last operand of an instruction of LLVM IR, with its type."""
    depth = 0
    for k in range(len(text) - 1, -1, -1):
        depth += (text[k] in ")]}>") - (text[k] in "([{<")
        if text[k] == "," and not depth:
            return text[k:]
    return text


def unmarked(ptx: str, ir: str) -> str:
    """Return PTX compiled from `ir` without the marks; all stay if the program has volatile accesses of its own."""
    return ptx if " volatile " in ir else _VOLATILE.sub(r"\1", ptx)


__all__ = ["LIMITS", "marked_shared", "unmarked"]
