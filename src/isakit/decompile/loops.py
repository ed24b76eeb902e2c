"""Loops of a program, and the results of executing one symbolically.

A loop is the code from the target of a backward branch to that branch. If it is entered at its first instruction only
and left after its last one, its registers are variables, and one symbolic execution of its instructions gives the value
of each after an iteration, and whether there is another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isakit.decompile.interface import Symbol
from isakit.errors import NotModelled
from isakit.sem.value import Value

Key = tuple[str, int]
MOST_TURNS = 64
"""Iterations up to which a loop is unrolled, if their number is known."""
MOST_INSTRUCTIONS = 1024
"""Instructions of the unrolled iterations together."""
_FLOATS = ("ieee_add", "ieee_mul", "ieee_div", "ieee_fma", "ieee_min", "ieee_max", "rsqrt_f32", "log2_f32", "exp2_f32",
           "ieee_round", "int_to_float", "ratio_to_float")  # fmt: skip


def loop_ends(jumps: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return the first and last instruction of every loop; `jumps`: branches with their targets.

    Raises NotModelled for loops with other entries or exits.
    """
    ends: dict[int, int] = {}
    for pc, target in jumps:
        if target <= pc:
            ends[target] = max(pc, ends.get(target, 0))
    for head, last in ends.items():
        for pc, target in jumps:
            if head < target <= last and not head <= pc <= last:
                raise NotModelled(
                    f"{pc:04x}: an expression for a loop", f"it is entered in the middle, at {target:04x}"
                )
            if head <= pc <= last and not head <= target <= last + 1:
                raise NotModelled(f"{pc:04x}: an expression for a loop", f"it is left for {target:04x}")
        for other, its_last in ends.items():
            if head < other <= last < its_last:
                raise NotModelled(f"{other:04x}: an expression for a loop", f"it overlaps that at {head:04x}")
    return ends


@dataclass
class SymbolicLoop:
    """A loop on symbols.

    Attributes:
        number: distinguishes its variables from those of other loops.
        entered: the condition of its first iteration.
        before: values of the registers that change, before it.
        after: their values after an iteration.
        again: the condition of another iteration.
        floats: registers that hold floats.
        inner: loops inside of it.
    """

    number: int
    entered: Value
    before: Mapping[Key, Value]
    after: Mapping[Key, Value]
    again: Value
    floats: frozenset[Key]
    inner: list[SymbolicLoop]


def variable(number: int, key: Key, inside: bool, is_float: bool) -> Symbol:
    """Return the symbol of a register that a loop changes, for its value in an iteration or after the loop."""
    stem = f"{'was' if inside else 'loop'}{number}_{key[0]}{key[1]}"
    return Symbol(stem, None, 1, 0, "f32" if is_float else "u32")


def value_of(symbol: Symbol, width: int) -> Value:
    """Return a variable as the value of a register; a predicate is the lowest bit of its variable."""
    whole = Value("symbol", 32, (), symbol)
    return whole if width == 32 else whole.bits(0, width)


def floating(v: Value) -> bool:
    """Return true if a value is made by arithmetic on floats."""
    if v.op == "select":
        return any(map(floating, v.args[1:]))
    if v.op == "xor" and v.args[1].op == "const":
        return floating(v.args[0])
    return v.op == "call" and v.attr[0].name in _FLOATS
