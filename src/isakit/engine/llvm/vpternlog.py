"""Keep LLVM from a wrong instruction: `vpternlog` under a mask.

For AVX-512, LLVM up to 22 may turn `select %mask, (a & C | b & ~C), b` into one masked `vpternlog` whose table (its
immediate) is for another order of the operands: two of its rules for reordering have each other's bodies
(llvm/llvm-project issue 157929, mended by pull request 209782 of July 2026). The instruction is rare, and whether its
table is right cannot be seen from it, so code that holds one is compiled again without any.
"""

from __future__ import annotations

import re

_FENCED_AS = {"i32": "float", "i64": "double", "float": "float", "double": "double"}
"""Elements of vectors on which `vpternlog` takes a mask: the type whose fence stands for them."""
_SELECT = re.compile(
    r"^ *(?P<result>%\S+) = select (?:[a-z]+ )*<(?P<lanes>\d+) x i1> \S+, "
    r"<\d+ x (?P<element>i32|i64|float|double)> (?P<one>.+), <\d+ x \w+> (?P<other>.+?)(?P<metadata>, !.*)?$",
    re.M,
)
_MASKED_TEXT = re.compile(r"\bvpternlog[dq]\b.*\{%k")


def _evex_pattern() -> re.Pattern[bytes]:
    """Match `vpternlog` with a mask: EVEX of map 3, prefix 66, `aaa` other than 0, opcode 25."""

    def one_of(holds: range) -> bytes:
        return b"[" + b"".join(b"\\x%02x" % n for n in holds) + b"]"

    masked = b"[" + b"".join(b"\\x%02x" % n for n in range(256) if n & 7) + b"]"
    return re.compile(b"\x62" + one_of(range(3, 256, 8)) + one_of(range(5, 256, 8)) + masked + b"\x25", re.S)


_MASKED_CODE = _evex_pattern()


def may_hold_masked(code: bytes) -> bool:
    """Return whether machine code may hold a masked `vpternlog`; False is certain."""
    return _MASKED_CODE.search(code) is not None


def holds_masked(assembly: str) -> bool:
    """Return whether LLVM's assembly text holds a masked `vpternlog`."""
    return _MASKED_TEXT.search(assembly) is not None


def with_fences(ir: str) -> str:
    """Return IR text in which one of the two values of each select by lane is hidden from instruction selection.

    `llvm.arithmetic.fence` hides it and costs no instruction. A masked instruction needs both: one as what it
    computes, the other as an operand. The fence exists for floats alone, so integers pass it as their bits.
    """
    declared: set[str] = set()

    def fenced(found: re.Match[str]) -> str:
        arm = "one" if found["one"].startswith("%") else "other"
        if not found[arm].startswith("%"):
            return found[0]
        real, stem = _FENCED_AS[found["element"]], found["result"][1:].strip('"')
        own, vector = f"<{found['lanes']} x {found['element']}>", f"<{found['lanes']} x {real}>"
        name = f"@llvm.arithmetic.fence.v{found['lanes']}f{32 if real == 'float' else 64}"
        declared.add(f"declare {vector} {name}({vector})")
        begin, end = found.start(arm) - found.start(), found.end(arm) - found.start()
        return "\n".join([
            f'  %"{stem}.real" = bitcast {own} {found[arm]} to {vector}',
            f'  %"{stem}.fence" = call {vector} {name}({vector} %"{stem}.real")',
            f'  %"{stem}.hidden" = bitcast {vector} %"{stem}.fence" to {own}',
            f'{found[0][:begin]}%"{stem}.hidden"{found[0][end:]}',
        ])  # fmt: skip

    text = _SELECT.sub(fenced, ir)
    return "\n".join([text, *(line for line in sorted(declared) if line not in text), ""])
