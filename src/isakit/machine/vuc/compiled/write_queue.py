"""The queue of late writes in compiled code: `@push` puts an entry in its place, `@land` applies what is due.

The order is the reference core's: cycle of visibility, cycle of landing, order of issue.
"""

from __future__ import annotations

from isakit.engine.llvm import Body, Module
from isakit.machine.vuc.compiled import shared_state as at
from isakit.machine.vuc.compiled.state_access import FIXED, LHI, LLO, MVXL0, PRED, SCALAR_REGISTERS, SPIDX, Frame
from isakit.machine.vuc.queue_entries import ACCUMULATOR, LONG_VIEW, REGISTER, SPECIAL

VALUES = ("visible", "lands", "serial", "kind", "index", "value", "origin")
"""The words of an entry."""


def _entry(f: Frame, number: str) -> str:
    return f.op("add", f.op("mul", number, at.ENTRY), at.QUEUE)


def push_function(module: Module) -> str:
    """`void @push(state, visible, lands, kind, index, value, origin)`; the new entry gets the next serial number."""
    b = Body(module)
    f = Frame(b)
    b.label("entry")
    serial = f.op("add", f.get(at.SERIAL), 1)
    f.put(at.SERIAL, serial)
    count = f.get(at.COUNT)
    b.do("br label %look")
    b.label("look")
    b.do(f"%i = phi i64 [ {count}, %entry ], [ %less, %move ]")
    b.do("%none = icmp eq i64 %i, 0")
    b.do("br i1 %none, label %put, label %test")
    b.label("test")
    b.do("%less = sub i64 %i, 1")
    old = _entry(f, "%less")
    visible, lands = f.get(old), f.get(f.op("add", old, 1))
    earlier = b(f"icmp slt i64 {visible}, %visible")
    same, not_later = b(f"icmp eq i64 {visible}, %visible"), b(f"icmp sle i64 {lands}, %lands")
    same_and_not_later = b(f"and i1 {same}, {not_later}")
    b.do(f"br i1 {b(f'or i1 {earlier}, {same_and_not_later}')}, label %move, label %put")
    b.label("move")
    for k in range(len(VALUES)):
        f.put(f.op("add", old, at.ENTRY + k), f.get(f.op("add", old, k)))
    b.do("br label %look")
    b.label("put")
    new = _entry(f, "%i")
    for k, name in enumerate(VALUES):
        f.put(f.op("add", new, k), serial if name == "serial" else f"%{name}")
    f.put(at.COUNT, f.op("add", count, 1))
    f.put(at.NEXT, f.get(_entry(f, count)))
    b.do("ret void")
    listed = ", ".join(f"i64 %{name}" for name in VALUES if name != "serial")
    return f"define internal void @push(ptr noalias %s, {listed}) nounwind noinline {{\n{b.text()}\n}}"


def land_function(module: Module) -> str:
    """`void @land(state, cycle, kept, own)`: apply entries visible at `cycle`.

    `kept`: $r registers the instruction has just written itself, `own`: its predicates, one bit each; its writes win.
    """
    b = Body(module)
    f = Frame(b)
    b.label("entry")
    b.do("br label %look")
    b.label("look")
    count = f.get(at.COUNT)
    b.do(f"br i1 {b(f'icmp eq i64 {count}, 0')}, label %none, label %test")
    b.label("none")
    f.put(at.NEXT, at.NEVER)
    b.do("ret void")
    b.label("test")
    last = f.op("sub", count, 1)
    entry = _entry(f, last)
    visible, kind, index, value = (f.get(f.op("add", entry, k)) for k in (0, 3, 4, 5))
    b.do(f"br i1 {b(f'icmp sle i64 {visible}, %cycle')}, label %apply, label %later")
    b.label("later")
    f.put(at.NEXT, visible)
    b.do("ret void")
    b.label("apply")
    f.put(at.COUNT, last)
    kinds = ((REGISTER, "register"), (SPECIAL, "special"), (ACCUMULATOR, "accumulator"), (LONG_VIEW, "view"))
    b.do(f"switch i64 {kind}, label %look [ {' '.join(f'i64 {k}, label %{n}' for k, n in kinds)} ]")
    b.label("register")
    bit = f.op("and", f.op("lshr", "%kept", index), 1)
    b.do(f"br i1 {b(f'icmp eq i64 {bit}, 0')}, label %write, label %look")
    b.label("write")
    f.put(f.op("add", index, at.R), value)
    b.do("br label %look")
    b.label("accumulator")
    f.put(at.ACC, value)
    b.do("br label %look")
    b.label("view")
    f.put(at.VIEW, value)
    b.do("br label %look")
    b.label("special")
    _special(b, f, index, value)
    listed = ", ".join(f"i64 %{n}" for n in ("cycle", "kept", "own"))
    return f"define internal void @land(ptr noalias %s, {listed}) nounwind noinline {{\n{b.text()}\n}}"


def _special(b: Body, f: Frame, index: str, value: str) -> None:
    indexed, scalars = range(MVXL0, MVXL0 + 8), SCALAR_REGISTERS
    cases = [f"i64 {n}, label %sr{n}" for n in (SPIDX, LHI, LLO, PRED, *indexed, *scalars)]
    b.do(f"switch i64 {index}, label %plain [ {' '.join(cases)} ]")
    b.label("plain")
    f.put(f.op("add", index, at.PLAIN), value)
    b.do("br label %look")
    b.label(f"sr{SPIDX}")
    f.put(at.PLAIN + SPIDX, f.op("and", value, 15))
    b.do("br label %look")
    for n, shift in ((LHI, 16), (LLO, 0)):
        b.label(f"sr{n}")
        for slot in (at.ACC, at.VIEW):
            rest = f.op("and", f.get(slot), 0xFFFFFFFF & ~(0xFFFF << shift))
            f.put(slot, f.op("or", rest, f.op("shl", value, shift)))
        b.do("br label %look")
    for n in (*indexed, *scalars):
        b.label(f"sr{n}")
        f.put(f.indexed(n) if n in indexed else at.SCALARS + scalars.index(n), value)
        f.put(at.TOUCHED, 1)
        b.do("br label %look")
    b.label(f"sr{PRED}")
    kept = f.op("or", "%own", FIXED)
    others = f.op("and", value, f.op("and", f.op("xor", kept, -1), 0xFFFF))
    merged = f.op("or", f.op("and", f.get(at.P), kept), others)
    own_p0 = b(f"icmp eq i64 {f.op('and', '%own', 1)}, 1")
    f.put(at.P, b(f"select i1 {own_p0}, i64 {merged}, i64 {f.complement(merged)}"))
    b.do(f"br i1 {b('icmp eq i64 %own, 0')}, label %look, label %seen")
    b.label("seen")  # $pred shows the predicates without what the instruction wrote itself
    seen = f.op("or", f.op("and", f.get(at.BEFORE), 0x8000), f.op("and", value, 0x7FFF))
    f.put(at.BEFORE, f.complement(seen))
    b.do("br label %look")
