"""After this pass every access names the space it goes to.

These chips have no generic addresses. Where PTX uses one, its space is derived from the values the address is computed
from. A conversion to a generic address names it, and so does the address of a variable. Parameters and values loaded
from global memory are pointers to global memory, unless they are added to a pointer to another space. Values loaded
from local and shared memory are those that the kernel stores there. Pointers to constants are treated the same way,
since those passed to OpenCL kernels point to buffers.

Where an address may be in several spaces, its upper half says in which one: device addresses have 32 bits, so the half
is free, and arithmetic carries it along. The access is then made in each space, under a test.
"""

from __future__ import annotations

from isakit.compile.ir import Block, Const, Function, Ins, IrValue, Loc, Operation, PointsTo
from isakit.compile.ops import (
    ADD,
    ATOM,
    CMP,
    COPY,
    GENERIC,
    LD,
    LDC,
    OR,
    PACK,
    PARAM,
    PHI,
    ST,
    WORD,
    Atomic,
    Load,
    Store,
)
from isakit.compile.passes.ssa import replace

Spaces = frozenset[str]
NONE: Spaces = frozenset()
GUESS: Spaces = frozenset({"a guess"})
"""Possibly a pointer to global memory, possibly a plain number."""
TAGS = {"global": 0, "shared": 1, "local": 2, "const": 3}
"""Upper halves of generic addresses of 64 bits, by space."""
_UNKNOWN = {"generic": frozenset({"global"}), "generic const": frozenset({"const"})}
"""The space of an access through an address about which nothing is known, by its opcode."""
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
_ROUNDS = 64

Access = Load | Store | Atomic


class SpaceError(Exception):
    """A generic access that these chips cannot perform: to several spaces, or to one without such an access."""

    def __init__(self, loc: Loc, message: str) -> None:
        self.loc, self.message = loc, message
        super().__init__(message)


def infer_address_spaces(f: Function) -> None:
    """Find the space of every generic access. Raises SpaceError."""
    generic = [i for i in f.instructions() if isinstance(i.attrs, Access) and i.attrs.space in _UNKNOWN]
    several: dict[Ins, tuple[Spaces, IrValue]] = {}
    if generic:
        known = _PointerSpaces(f)
        for i, found in [(i, known.reached(i) or _UNKNOWN[_space(i)]) for i in generic]:
            tag, spaces = _take_tag(i), _possible(i, found)
            if len(spaces) == 1:
                _go_to(i, next(iter(spaces)))
            elif tag is None or i.op is ATOM:
                raise SpaceError(i.loc, _WHY + ", ".join(sorted(spaces)))
            else:
                several[i] = spaces, tag
    if several:
        _split(f, several)
    replaced: dict[IrValue, IrValue] = {}
    for b in f.blocks:
        kept: list[Ins] = []
        for i in b.ins:
            if i.op is GENERIC:
                replaced[i.out] = i.args[0]
            else:
                kept += _in_words(i, replaced)
        b.ins = kept
        for i in kept:
            i.block = b
    replace(f, replaced)


_WHY = "these chips have no generic addresses, and this one may lie in several spaces: "


def _take_tag(i: Ins) -> IrValue | None:
    """Remove the upper half of an access's address and return it, None if there is none."""
    tagged = (i.op is LD and len(i.args) == 2) or (i.op is ST and len(i.args) == 3)
    return i.args.pop() if tagged else None


def _possible(i: Ins, spaces: Spaces) -> Spaces:
    """Return the spaces an access may go to. Raises SpaceError where there are none."""
    if i.op is not LD and "const" in spaces:
        spaces -= {"const"}
        if not spaces:
            raise SpaceError(i.loc, "constant memory cannot be written")
    if i.op is ATOM and len(spaces) == 1 and "global" not in spaces:
        raise SpaceError(i.loc, f"this atomic goes to .{next(iter(spaces))} memory; name the space in the instruction")
    return spaces


def _split(f: Function, several: dict[Ins, tuple[Spaces, IrValue]]) -> None:
    """Make accesses in each of several spaces, in a block of its own under a test of the address's upper half."""
    blocks: list[Block] = []
    for b in f.blocks:
        blocks.append(b)
        rest, b.ins = b.ins, []
        at = b
        for i in rest:
            if i in several:
                blocks += (made := _dispatched(f, at, i, *several[i]))
                at = made[-1]
            else:
                at.ins.append(i)
                i.block = at
    f.blocks = blocks


def _dispatched(f: Function, before: Block, i: Ins, spaces: Spaces, tag: IrValue) -> list[Block]:
    """Replace an access at the end of a block by a block for each space; return these and the block after them."""
    after = f.make()
    after.term, after.loc, after.uniform = before.term, before.loc, before.uniform
    for s in after.succs:
        s.preds = [after if p is before else p for p in s.preds]
    order = sorted(spaces, key=lambda space: -TAGS[space])  # global last: whatever has no other number
    made: list[Block] = []
    results: list[Ins] = []
    test = before
    for k, space in enumerate(order):
        access = i.copied(list(i.args), None)
        _go_to(access, space)
        results.append(access)
        if k == len(order) - 1:
            here = test
        else:
            here, following = f.make(), f.make()
            is_there = Ins(CMP("e", "u32"), [tag, Const(TAGS[space])], "p", i.loc, test)
            test.ins.append(is_there)
            test.term, test.loc, test.uniform = ("branch", is_there.out, False, here, following), i.loc, False
            here.preds, following.preds = [test], [test]
            made += [here, following]
            test = following
        here.ins.append(access)
        access.block = here
        here.term, here.loc, here.uniform = ("jump", after), i.loc, False
        after.preds.append(here)
    for n, out in enumerate(i.outs):
        phi = Ins(PHI, [r.outs[n] for r in results], (out.kind,), i.loc, after)
        phi.outs, out.ins, out.index = [out], phi, 0
        after.phis.append(phi)
    return [*made, after]


def _in_words(i: Ins, replaced: dict[IrValue, IrValue]) -> list[Ins]:
    """Return an access in the form its space requires: constants by `ldc`, two words of shared memory one by one."""
    if not isinstance(i.attrs, Load | Store) or i.attrs.space not in ("const", "shared"):
        return [i]
    if i.op is LD and i.attrs.space == "const":
        i.become(Operation(LDC, i.attrs._replace(volatile=False)), i.args)
    if i.attrs.ty != "b64":
        return [i]
    out: list[Ins] = []
    parts = [Operation(i.op, i.attrs._replace(ty="b32", offset=i.attrs.offset + 4 * k)) for k in (0, 1)]
    if i.op is ST:
        for k in (0, 1):
            word = Ins(WORD(k), [i.args[1]], "r", i.loc)
            out += [word, Ins(parts[k], [i.args[0], word.out], "", i.loc)]
        return out
    words = [Ins(part, i.args, "r", i.loc) for part in parts]
    both = Ins(PACK, [w.out for w in words], "d", i.loc)
    replaced[i.out] = both.out
    return [*words, both]


def _certain(spaces: Spaces, space: str = "generic") -> Spaces:
    """Return the spaces, with a guess replaced by the space that an access to `space` implies."""
    return spaces - GUESS | _UNKNOWN[space] if spaces & GUESS else spaces


class _PointerSpaces:
    """The spaces every value may point to; sets grow until nothing changes."""

    def __init__(self, f: Function) -> None:
        self._spaces: dict[IrValue, Spaces] = {}
        self._accesses = [i for i in f.instructions() if i.op in (LD, ST)]
        self._places = {i: _constant(i.args[0]) for i in self._accesses}
        for _ in range(_ROUNDS):
            self._changed = False
            stored = self._stored()
            for i in f.instructions():
                for out in i.outs:
                    now = self._of_result(i, stored)
                    if now != self._spaces.get(out, NONE):
                        self._spaces[out] = now
                        self._changed = True
            if not self._changed:
                return

    def of(self, v: IrValue) -> Spaces:
        return self._spaces.get(v, NONE)

    def reached(self, i: Ins) -> Spaces:
        """Return the spaces an access may go to; none where nothing is known about its address."""
        space = _space(i)
        return _certain(self.of(i.args[0]), space) if space in _UNKNOWN else frozenset({space})

    def _stored(self) -> dict[str, list[tuple[Ins, Spaces]]]:
        """Return the pointers that are stored in each space."""
        out: dict[str, list[tuple[Ins, Spaces]]] = {}
        for i in self._accesses:
            if i.op is ST and (value := self.of(i.args[1])):
                for space in self.reached(i):
                    out.setdefault(space, []).append((i, value))
        return out

    def _of_result(self, i: Ins, stored: dict[str, list[tuple[Ins, Spaces]]]) -> Spaces:
        to = i.op.points_to
        if to is PointsTo.NAMED:
            return frozenset({GENERIC.of(i).space if i.op is GENERIC else "global"})
        if to is PointsTo.OUTSIDE:
            named = PARAM.of(i).to if i.op is PARAM else ""
            return frozenset({"global" if named == "const" else named}) if named else GUESS
        if to is PointsTo.STORED:
            return self._loaded(i, stored)
        if to is PointsTo.CHOICE:
            return NONE.union(*map(self.of, i.args))
        if to is PointsTo.SUM:
            parts = [self.of(a) for a in i.args]
            pointers = [p for p in parts if p - GUESS]  # what is added to one is a number
            return NONE.union(*(pointers or parts))
        return NONE

    def _loaded(self, i: Ins, stored: dict[str, list[tuple[Ins, Spaces]]]) -> Spaces:
        out = NONE
        for space in self.reached(i):
            values = [value for store, value in stored.get(space, []) if self._may_meet(i, store)]
            if space == "global":  # what others stored there
                out |= GUESS | (NONE.union(*values) - GUESS - {"global"})
            else:
                out = out.union(*values)
        return out

    def _may_meet(self, a: Ins, b: Ins) -> bool:
        """Return whether a load may read a pointer that a store wrote: whole, in a vector, or as words of 32 bits."""
        if _size(a) != _size(b) and min(_size(a), _size(b)) < 4:
            return False
        p, q = self._places[a], self._places[b]
        if p is None or q is None:
            return True
        p, q = p + _accessed(a).offset, q + _accessed(b).offset
        return p < q + _size(b) and q < p + _size(a)


def _accessed(i: Ins) -> Access:
    assert isinstance(i.attrs, Access)
    return i.attrs


def _space(i: Ins) -> str:
    return _accessed(i).space


def _go_to(i: Ins, space: str) -> None:
    i.attrs = _accessed(i)._replace(space=space)


def _size(i: Ins) -> int:
    return _SIZES[_accessed(i).ty[1:]]


def _constant(v: IrValue, depth: int = 0) -> int | None:
    """Return an address that is constant, else None; `or` adds where the bits are free, as LLVM emits it."""
    if isinstance(v, Const):
        return v.value
    i = v.ins
    if i is None or depth > _ROUNDS or i.op not in (GENERIC, COPY, ADD, OR):
        return None
    base = _constant(i.args[0], depth + 1)
    if base is None or len(i.args) == 1:
        return base
    more = i.args[1]
    if not isinstance(more, Const):
        return None
    return base + more.value & 0xFFFF_FFFF if i.op is ADD else base | more.value
