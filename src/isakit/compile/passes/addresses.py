"""After this pass shared, local and constant memory is addressed by address registers.

`addr` computes one: the low 16 bits of a value shifted left. Address registers are few, so a loop-invariant value gets
one before the loop only while there are enough; so does an induction variable that only serves as an address, which
`step` then advances in the address register itself.
"""

from __future__ import annotations

from isakit.compile.ir import Block, Const, Function, Ins, IrValue
from isakit.compile.ops import ADD, ADDR, PHI, SHL, ST, STEP, Load, Store
from isakit.flow.dominators import Dominators, natural_loops

SPACES = ("shared", "local", "const", "lock", "unlock")
HOISTED = 3
"""Address registers that may stay live through loops; one is left for everything else."""
LARGEST = 0x3FFF


def assign_address_registers(f: Function) -> None:
    """Fold constants into offsets and move the rest to address registers."""
    dom = Dominators(f.blocks[0], lambda b: b.succs)
    bodies = natural_loops(dom)
    held: dict[Block, int] = {}
    made: dict[tuple[IrValue, int, int], list[tuple[Block, Ins]]] = {}
    counters = _counters(f, dom, bodies)
    for b in dom.order:
        new: list[Ins] = []
        for i in b.ins:
            if isinstance(i.attrs, Load | Store) and i.attrs.space in SPACES:
                value, offset = i.args[0], i.attrs.offset
                while value.ins is not None and value.ins.op is ADD and isinstance(value.ins.args[1], Const):
                    offset += value.ins.args[1].value
                    value = value.ins.args[0]
                if isinstance(value, Const):
                    offset = offset + value.value & 0xFFFF
                    i.args[0], i.attrs = Const(0), i.attrs._replace(offset=offset)
                else:
                    offset &= 0xFFFF
                    step = 0
                    if offset > LARGEST:
                        step, offset = offset, 0
                    shift = 0
                    inner = value.ins
                    if inner is not None and inner.op is SHL and isinstance(inner.args[1], Const):
                        shift = inner.args[1].value
                        shift, value = (shift, inner.args[0]) if shift <= 15 else (0, value)
                    counter = counters.get(value)
                    if counter is not None and not step and counter.serves(shift, held):
                        i.args[0], i.attrs = counter.register(shift, held), i.attrs._replace(offset=offset)
                        new.append(i)
                        continue
                    i.args[0] = _register(b, new, value, shift, step, i, dom, bodies, held, made)
                    i.attrs = i.attrs._replace(offset=offset)
            new.append(i)
        b.ins = new


def _register(
    b: Block, new: list[Ins], value: IrValue, shift: int, step: int, at: Ins, dom: Dominators[Block],
    bodies: dict[Block, set[Block]], held: dict[Block, int],
    made: dict[tuple[IrValue, int, int], list[tuple[Block, Ins]]],
) -> IrValue:  # fmt: skip
    key = value, shift, step
    for where, old in made.get(key, ()):
        if where is b or (dom.dominates(where, b) and _near(where, b, bodies)):
            return old.out
    home = value.ins.block if value.ins is not None else None
    place: Block | None = None
    crossed: list[Block] = []
    for head, body in sorted(bodies.items(), key=lambda e: len(e[1])):
        if b not in body:
            continue
        if home is None or home in body or held.get(head, 0) >= HOISTED:
            break
        outside = [p for p in head.preds if p not in body]
        if len(outside) != 1 or len(outside[0].succs) != 1 or not dom.dominates(home, outside[0]):
            break
        place = outside[0]
        crossed.append(head)
    for head in crossed:
        held[head] = held.get(head, 0) + 1
    i = Ins(ADDR(shift, step), [value], "a", at.loc, place or b)
    (new if place is None else place.ins).append(i)
    made.setdefault(key, []).append((place or b, i))
    return i.out


def _near(where: Block, b: Block, bodies: dict[Block, set[Block]]) -> bool:
    """Return whether `where` is in all loops of `b`, or enters one of them.

    A register set outside is held only in loops it was meant for.
    """
    return all(where in body for body in bodies.values() if b in body) or any(
        where in head.preds and b in body for head, body in bodies.items()
    )


class _Counter:
    """An induction variable: a loop phi with a start and a constant step that is used for addresses only."""

    def __init__(self, phi: Ins, head: Block, entry: Block, latch: Block, step: int) -> None:
        self.phi, self.head, self.entry, self.latch, self.step = phi, head, entry, latch, step
        self.shift: int | None = None
        self.made: Ins | None = None

    def serves(self, shift: int, held: dict[Block, int]) -> bool:
        """Return whether the counter's address register has this shift, or can still be made."""
        return self.shift == shift if self.made is not None else held.get(self.head, 0) < HOISTED

    def register(self, shift: int, held: dict[Block, int]) -> IrValue:
        """Return the address register for an access to use."""
        if self.made is None:
            self.shift = shift
            held[self.head] = held.get(self.head, 0) + 1
            k = self.head.preds.index(self.entry)
            start = Ins(ADDR(shift, 0), [self.phi.args[k]], "a", self.phi.loc, self.entry)
            self.entry.ins.append(start)
            self.made = Ins(PHI, [], "a", self.phi.loc, self.head)
            onward = Ins(STEP(self.step << shift & 0xFFFF), [self.made.out], "a", self.phi.loc, self.latch)
            self.latch.ins.append(onward)
            self.made.args = [start.out if p is self.entry else onward.out for p in self.head.preds]
            self.head.phis.append(self.made)
        return self.made.out


def _counters(f: Function, dom: Dominators[Block], bodies: dict[Block, set[Block]]) -> dict[IrValue, _Counter]:
    users = f.users()
    tests = {b.term[1] for b in f.blocks if b.term[0] == "branch"}
    out: dict[IrValue, _Counter] = {}
    for head, body in bodies.items():
        latches = [p for p in head.preds if p in body]
        entries = [p for p in head.preds if p not in body]
        if len(latches) != 1 or len(entries) != 1 or len(entries[0].succs) != 1 or entries[0] not in dom:
            continue
        for phi in head.phis:
            onward = phi.args[head.preds.index(latches[0])].ins
            if onward is None or onward.op is not ADD or onward.args[0] is not phi.out or onward.block not in body:
                continue
            c = onward.args[1]
            if not isinstance(c, Const) or phi.out in tests:
                continue
            if _only_addresses(phi.out, users, body, {phi, onward}) and _only_addresses(
                onward.out, users, body, {phi, onward}
            ):
                out[phi.out] = _Counter(phi, head, entries[0], latches[0], c.value)
    return out


def _only_addresses(v: IrValue, users: dict[IrValue, list[Ins]], body: set[Block], own: set[Ins]) -> bool:
    """Return whether a loop uses a value for addresses only, apart from added constants and shifts."""
    for u in users.get(v, ()):
        if u in own:
            continue
        if u.block not in body:
            return False
        if isinstance(u.attrs, Load | Store) and u.attrs.space in SPACES:
            if u.op is ST and u.args[1] is v:
                return False
        elif not (u.op in (ADD, SHL) and isinstance(u.args[1], Const) and _only_addresses(u.out, users, body, own)):
            return False
    return True
