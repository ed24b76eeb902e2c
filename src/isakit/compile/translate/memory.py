"""Loads, stores, atomics, textures. Source: PTX ISA manual, "Data Movement", "Texture", "Parallel Synchronization"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import (
    ADD,
    AND,
    ATOM,
    CMP,
    CVT,
    FADD,
    FMAX,
    FMUL,
    GENERIC,
    LD,
    LDC,
    MAXS,
    MAXU,
    MINS,
    MINU,
    OR,
    PACK,
    PACK4,
    PARAM,
    POR,
    RCP,
    SEL,
    SEXT8,
    SHL,
    SHR,
    ST,
    SUB,
    TEX,
    WORD,
    XOR,
    ZEXT8,
    ZEXT16,
)
from isakit.compile.passes.spaces import TAGS
from isakit.compile.ptx.syntax import SIZES, Address, Name, Number, Operand, PtxRegister, PtxVariable, Vector
from isakit.compile.translate.base import Args, Base, Mods
from isakit.description import PARAM_BASE

COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3}
"""Elements of the coordinate vector that are used; arrays have the layer first."""
_ATOMIC = {"add": ADD, "and": AND, "or": OR, "xor": XOR, "mins": MINS, "minu": MINU, "maxs": MAXS, "maxu": MAXU}
SIZE_QUERIES = {"width": 0, "height": 1, "depth": 2}
"""The component of the result of `texsize`, by the queried size."""


class MemoryAddress(NamedTuple):
    """The address of an access: `base` plus `offset` in a space, "" where the instruction does not name one.

    `tag`: the upper half of a 64-bit address, which names its space if it is generic, see `passes.spaces`.
    """

    base: IrValue
    offset: int
    space: str
    tag: IrValue | None = None

    def plus(self, more: int) -> MemoryAddress:
        """Return the address `more` bytes further on."""
        return self._replace(offset=self.offset + more)


class MemoryInstructions(Base):
    """Memory."""

    # --- addresses --------------------------------------------------------------------------------------------------
    def place(self, operand: Operand, space: str) -> MemoryAddress:
        """Translate an address in brackets."""
        if not isinstance(operand, Address):
            raise self.refuse("an address in brackets was expected", operand)
        base = operand.base
        if isinstance(base, Number):
            return MemoryAddress(Const(int(base.value) + operand.offset), 0, space)
        what = base.what
        if isinstance(what, PtxVariable):
            if space in ("", "generic") and what.space in ("global", "shared", "local", "const"):
                space = what.space
            if what.space != space:
                raise self.refuse(f"`{base.text}` lies in .{what.space}, not in .{space or 'generic'}", base)
            address = self.address_of(what, base)
            if isinstance(address, Const):
                return MemoryAddress(Const(address.value + operand.offset), 0, space)
            return MemoryAddress(address, operand.offset, space)
        if isinstance(what, PtxRegister):
            value = self.word(base, "b32")
            if isinstance(value, Const):
                return MemoryAddress(Const(value.value + operand.offset), 0, space)
            wide = space in ("", "generic", "const") and self.is_wide(what.type)
            return MemoryAddress(value, operand.offset, space, self.pair(base)[1] if wide else None)
        raise self.refuse(f"`{base.text}` is not declared", base)

    def _elements(self, operand: Operand, count: int) -> tuple[Operand, ...]:
        if count == 1:
            return (operand,)
        if isinstance(operand, Name) and isinstance(operand.what, PtxRegister) and operand.what.type == f"v{count}":
            raise self.refuse("vector registers are not supported; name their elements in braces", operand)
        if not isinstance(operand, Vector) or len(operand.items) != count:
            raise self.refuse(f"{count} elements in braces were expected", operand)
        return operand.items

    def _accessed(self, m: Mods, operand: Operand) -> tuple[tuple[Operand, ...], str]:
        """Return the elements that a load or store moves, and the space, "" where it does not name one."""
        items = self._elements(operand, int(m["vec"][1]) if m.get("vec") else 1)
        return items, (m.get("space") or "").split("::")[0]

    # --- load -------------------------------------------------------------------------------------------------------
    def do_ld(self, m: Mods, a: Args) -> None:
        items, space = self._accessed(m, a[0])
        if space == "param" and self._in_register(a[1]):
            space = "local" if self.frame else "shared"
        elif space == "param" or (not space and self._is_param(a[1])):
            self._load_param(m["any"], items, a[1])
            return
        place = self.place(a[1], space)
        ty = m["any"]
        if ty == "f64" and self.demoted:
            self._load_words(items, "f32", place, m, "f64")
        elif SIZES[ty] == 8:
            self._load_wide(items, ty, place, m)
        else:
            self._load_words(items, ty, place, m, ty)

    do_ldu = do_ld

    def _in_register(self, operand: Operand) -> bool:
        return (isinstance(operand, Address) and isinstance(operand.base, Name)
                and isinstance(operand.base.what, PtxRegister))  # fmt: skip

    def _is_param(self, operand: Operand) -> bool:
        return (isinstance(operand, Address) and isinstance(operand.base, Name)
                and isinstance(operand.base.what, PtxVariable) and operand.base.what.space == "param")  # fmt: skip

    def _load(self, place: MemoryAddress, ty: str, kinds: str, m: Mods) -> IrValue:
        base, offset, space, tag = place
        volatile = bool(m.get("order")) and m["order"] != "weak"
        if space == "const":
            if isinstance(base, Const):
                return self.b.op(LDC(space="const", offset=offset, ty=ty, volatile=False), base, kinds=kinds)
            space = "generic const"  # a pointer to constants may be one to a buffer that a kernel was given
        args = [base] if tag is None else [base, tag]
        return self.b.emit(LD(space=space or "generic", offset=offset, ty=ty, volatile=volatile), args, kinds).out

    def _load_words(self, items: tuple[Operand, ...], ty: str, place: MemoryAddress, m: Mods, result: str) -> None:
        """Load elements of up to 32 bits into registers of type `result`.

        A vector of demoted f64 is one of f32, as in NVIDIA's code; a single one leaves half of its 8 bytes unused.
        """
        count, space = len(items), place.space
        at = "b32" if SIZES[ty] == 4 else "u" + ty[1:] if ty[0] in "bf" else ty
        total = count * SIZES[ty]
        if count > 1 and space == "global" and total in (8, 16) and SIZES[ty] == 4:
            v = self._load(place, "b64" if total == 8 else "b128", "d" if total == 8 else "q", m)
            values = [self.b.op(WORD(i=i), v) for i in range(count)]
        elif count > 1 and space == "global" and SIZES[ty] < 4 and total in (4, 8):
            values = self._packed(ty, place, count, m)
        else:
            values = [self._load(place.plus(k * SIZES[ty]), at, "r", m) for k in range(count)]
        for item, v in zip(items, values, strict=True):
            self.write(item, v, result, loose=True)

    def _packed(self, ty: str, place: MemoryAddress, count: int, m: Mods) -> list[IrValue]:
        """Load elements smaller than a word in one load and extract them."""
        op, bits = self.b.op, 8 * SIZES[ty]
        if count * bits == 64:
            v = self._load(place, "b64", "d", m)
            words = [op(WORD(i=0), v), op(WORD(i=1), v)]
        else:
            words = [self._load(place, "b32", "r", m)]
        out: list[IrValue] = []
        for k in range(count):
            at = k * bits
            w = op(SHR, words[at // 32], Const(at % 32))
            out.append(self.extend(w, ty))
        return out

    def _load_wide(self, items: tuple[Operand, ...], ty: str, place: MemoryAddress, m: Mods) -> None:
        op = self.b.op
        count = len(items)
        if count == 2 and place.space == "global":
            q = self._load(place, "b128", "q", m)
            words = [op(WORD(i=i), q) for i in range(4)]
        else:
            words = list[IrValue]()
            for k in range(count):
                if place.space in ("global", "local", "generic", ""):
                    v = self._load(place.plus(8 * k), "b64", "d", m)
                    words += [op(WORD(i=0), v), op(WORD(i=1), v)]
                else:
                    words += [self._load(place.plus(8 * k + 4 * i), "b32", "r", m) for i in (0, 1)]
        for k, item in enumerate(items):
            pair = words[2 * k], words[2 * k + 1]
            if ty == "f64" and self.is_double(ty):
                self.write_double(item, op(PACK, *pair))
            else:
                self.write_pair(item, pair)

    # --- parameters -------------------------------------------------------------------------------------------------
    def _param(self, operand: Operand) -> tuple[PtxVariable, int]:
        if (
            isinstance(operand, Address)
            and isinstance(operand.base, Name)
            and isinstance(operand.base.what, PtxVariable)
        ):
            return operand.base.what, operand.offset
        raise self.refuse("the name of a parameter was expected", operand)

    def _load_param(self, ty: str, items: tuple[Operand, ...], operand: Operand) -> None:
        v, offset = self._param(operand)
        for k, item in enumerate(items):
            at = offset + k * SIZES[ty]
            if at < 0 or at + SIZES[ty] > max(v.size, 1):
                raise self.refuse(f"`{v.name}` has {v.size} bytes", operand)
            if ty == "f64" and self.demoted:
                self.write(item, self.param_word(v, at, "b32"), "f64")
            elif SIZES[ty] == 8:
                pair = self.param_word(v, at, "b32"), self.param_word(v, at + 4, "b32")
                if ty == "f64" and self.is_double(ty):
                    self.write_double(item, self.b.op(PACK, *pair))
                else:
                    self.write_pair(item, pair)
            else:
                self.write(item, self.param_word(v, at, ty), ty, loose=True)

    def param_word(self, v: PtxVariable, at: int, ty: str) -> IrValue:
        """Load up to 32 bits of a kernel parameter, or of one of an inlined function."""
        op = self.b.op
        offset = self.layout.params.get(v.name) if v in self.entry.params else None
        mode = {1: "s8" if ty[0] == "s" else "u8", 2: "s16" if ty[0] == "s" else "u16"}.get(SIZES[ty], "b32")
        to = v.pointee if v.pointee and mode == "b32" and at == 0 else ""
        if offset is not None:
            at += PARAM_BASE + offset
            if at % SIZES[ty]:
                raise self.refuse("parameters are read at multiples of their size")
            if mode == "s8":
                return op(SEXT8, op(PARAM(offset=at, mode="u8")))
            return op(PARAM(offset=at, mode=mode, to=to))
        address = self.kept.get((v.unique, v.pos))
        if address is not None:
            w = self._load(MemoryAddress(Const(address + at // 4 * 4), 0, "local"), "b32", "r", {})
        else:
            w = self.get(self.variable(("param", v.unique, v.pos, at // 4, self.frame), "r"))
        return self.extend(op(SHR, w, Const(at % 4 * 8)), ty)

    frame = 0
    """The number of the inlined call that is being translated; 0 for the kernel itself."""

    def _store_param(self, ty: str, items: tuple[Operand, ...], operand: Operand) -> None:
        v, offset = self._param(operand)
        for k, item in enumerate(items):
            at = offset + k * SIZES[ty]
            if at < 0 or at + SIZES[ty] > v.size:
                raise self.refuse(f"`{v.name}` has {v.size} bytes", operand)
            if SIZES[ty] == 8:
                pair = self.pair(item) if ty != "f64" or self.demoted else (
                    self.b.op(WORD(i=0), self.double(item)), self.b.op(WORD(i=1), self.double(item)))  # fmt: skip
                for i in (0, 1):
                    self.put(self.variable(("param", v.unique, v.pos, at // 4 + i, self.frame), "r"), pair[i])
                continue
            slot = self.variable(("param", v.unique, v.pos, at // 4, self.frame), "r")
            value = self.word(item, ty)
            if SIZES[ty] < 4:
                op, mask = self.b.op, (1 << 8 * SIZES[ty]) - 1
                place = Const(at % 4 * 8)
                old = op(AND, self.get(slot), Const(~(mask << place.value)))
                value = op(OR, old, op(SHL, op(AND, value, Const(mask)), place))
            self.put(slot, value)

    # --- store ------------------------------------------------------------------------------------------------------
    def do_st(self, m: Mods, a: Args) -> None:
        items, space = self._accessed(m, a[1])
        ty = m["any"]
        if space == "param":
            self._store_param(ty, items, a[0])
            return
        if space == "const":
            raise self.refuse("constant memory cannot be written")
        place = self.place(a[0], space)
        if SIZES[ty] == 8 and not (ty == "f64" and self.demoted):
            self._store_wide(items, ty, place)
        else:
            self._store_words(items, ty, place)

    def store(self, place: MemoryAddress, ty: str, v: IrValue) -> None:
        """Store a value that has the size of its type."""
        base, offset, space, tag = place
        args = [base, v] if tag is None else [base, v, tag]
        self.b.emit(ST(space=space or "generic", offset=offset, ty=ty), args, "")

    def _low_word(self, operand: Operand, ty: str) -> IrValue:
        """Return up to 32 bits of a register that may be wider, an f64 included."""
        what = operand.what if isinstance(operand, Name) else None
        if isinstance(what, PtxRegister) and what.type == "f64" != ty:
            return self.b.op(WORD(i=0), self.double(operand))
        return self.word(operand, ty)

    def _store_words(self, items: tuple[Operand, ...], ty: str, place: MemoryAddress) -> None:
        op, count, size, space = self.b.op, len(items), min(SIZES[ty], 4), place.space
        values = [self._low_word(i, ty) for i in items]
        at = {1: "b8", 2: "b16", 4: "b32"}[size]
        if count > 1 and space == "global" and size < 4 and count * size in (4, 8):
            words: list[IrValue] = []
            for start in range(0, count, 4 // size):
                w: IrValue = Const(0)
                for k in range(4 // size):
                    part = op(ZEXT8 if size == 1 else ZEXT16, values[start + k])
                    w = op(OR, w, op(SHL, part, Const(8 * size * k)))
                words.append(w)
            values, size, count, at = words, 4, len(words), "b32"
        if count > 1 and space == "global" and size == 4:
            v = op(PACK, *values) if count == 2 else op(PACK4, *values)
            self.store(place, "b64" if count == 2 else "b128", v)
            return
        for k, v in enumerate(values):
            self.store(place.plus(k * size), at, v)

    def _store_wide(self, items: tuple[Operand, ...], ty: str, place: MemoryAddress) -> None:
        op, space = self.b.op, place.space
        values = [self.double(i) if ty == "f64" else op(PACK, *self.pair(i)) for i in items]
        if len(values) == 2 and space == "global":
            words = [op(WORD(i=i), v) for v in values for i in (0, 1)]
            self.store(place, "b128", op(PACK4, *words))
            return
        for k, v in enumerate(values):
            if space == "shared":
                for i in (0, 1):
                    self.store(place.plus(8 * k + 4 * i), "b32", op(WORD(i=i), v))
            else:
                self.store(place.plus(8 * k), "b64", v)

    # --- addresses of spaces ----------------------------------------------------------------------------------------
    def do_cvta(self, m: Mods, a: Args) -> None:
        """Convert to a generic address: that in its space, with the space's tag in the upper word if there is one."""
        wide, space = m["addr"] == "u64", m["ptr"]
        v = self.pair(a[1])[0] if wide else self.word(a[1], "u32")
        generic = v if m["to"] else self.b.emit(GENERIC(space=space), [v], "r").out
        if wide:
            self.write_pair(a[0], (generic, Const(0 if m["to"] and space != "const" else TAGS[space])))
        else:
            self.write(a[0], generic, "u32")

    def do_isspacep(self, m: Mods, a: Args) -> None:
        r = self.register(a[1])
        if not self.is_wide(r.type):
            raise self.refuse("these chips have no generic addresses to ask about; ones of 64 bits say their space")
        tag, op = self.pair(a[1])[1], self.b.op
        self.write_predicate(a[0], op(CMP(cond="e", ty="u32"), tag, Const(TAGS[m["ptr"]])))

    def do_prefetch(self, m: Mods, a: Args) -> None:
        """Do nothing: these chips cache no global memory."""

    # --- atomics ----------------------------------------------------------------------------------------------------
    def do_atom(self, m: Mods, a: Args) -> None:
        self._atomic(m, a[1:], a[0])

    def do_red(self, m: Mods, a: Args) -> None:
        if m["aop"] in ("exch", "cas"):
            raise self.refuse(f"there is no `red` with .{m['aop']}")
        self._atomic(m, a, None)

    _TYPES: ClassVar[dict[str, str]] = {
              "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64", "exch": "b32 b64", "cas": "b32 b64",
              "add": "u32 s32 u64 f32 f64", "inc": "u32", "dec": "u32", "min": "u32 s32 u64 s64",
              "max": "u32 s32 u64 s64"}  # fmt: skip

    def _atomic(self, m: Mods, a: Args, result: Operand | None) -> None:
        op, ty = m["aop"], m["atype"]
        space = (m.get("aspace") or "").split("::")[0]
        # PTX 1.x spells exch and the logic operations with any 32-bit type
        if ty not in self._TYPES[op].split() and not (ty in ("u32", "s32", "b32") and "32" in self._TYPES[op]):
            raise self.refuse(f"there is no atomic .{op} on .{ty}")
        if not self.chip.atomics:
            raise self.refuse("g80 has no atomics", notes=("compile for g84 or later",))
        if space == "shared" and not self.chip.locks:
            raise self.refuse(f"{self.chip.variant} has no atomics in shared memory")
        if (op == "cas") != (len(a) == 3):
            raise self.refuse("`cas` takes two values, others take one")
        base, offset, space, _ = self.place(a[0], space)
        if SIZES[ty] == 8:
            if ty == "f64" or op not in ("add", "exch", "cas") or space == "shared" or not self.chip.wide_atomics:
                raise self.refuse(f"{self.chip.variant} has no atomic .{op} on .{ty} in .{space or 'generic'}")
            values = [self.b.op(PACK, *self.pair(o)) for o in a[1:]]
        else:
            values = [self.word(o, ty) for o in a[1:]]
        if space == "shared":
            old = self._locked(base, offset, lambda old: self._apply(op, ty, old, values))
        elif ty == "f32":
            old = self._swapped(base, offset, space, lambda old: self._apply(op, ty, old, values))
        else:
            kind = "u64" if SIZES[ty] == 8 else "s32" if ty == "s32" and op in ("min", "max") else "u32"
            atom = ATOM(op=op, ty=kind, space=space or "generic", offset=offset)
            old = self.b.emit(atom, [base, *values], "d" if SIZES[ty] == 8 else "r").out
        self.b.shared = {}
        if result is not None:
            if SIZES[ty] == 8:
                self.write_pair(result, (self.b.op(WORD(i=0), old), self.b.op(WORD(i=1), old)))
            else:
                self.write(result, old, ty)

    def _apply(self, op: str, ty: str, old: IrValue, values: list[IrValue]) -> IrValue:
        """Return the new value of a word by an atomic operation."""
        b, v = self.b.op, values[0]
        if op == "cas":
            return b(SEL, b(CMP(cond="e", ty="u32"), old, v), values[1], old)
        if op == "exch":
            return v
        if op == "inc":
            return b(SEL, b(CMP(cond="ge", ty="u32"), old, v), Const(0), b(ADD, old, Const(1)))
        if op == "dec":
            zero, above = b(CMP(cond="e", ty="u32"), old, Const(0)), b(CMP(cond="g", ty="u32"), old, v)
            return b(SEL, b(POR, zero, above), v, b(SUB, old, Const(1)))
        if ty == "f32":
            return b(FADD(), old, v)
        if op in ("min", "max"):
            op += ty[0]
        return b(_ATOMIC[op], old, v)

    def _locked(self, base: IrValue, offset: int, change: Callable[[IrValue], IrValue]) -> IrValue:
        """Change a word of shared memory under its lock; lanes that do not get the lock retry."""
        keep, result = self.fresh(), self.fresh()
        self.put(keep, base)
        loop, own, done = self.new_block(), self.new_block(), self.new_block()
        after = self.new_block()
        b = self.b
        self.jump(loop)
        i = b.emit(LD(space="lock", offset=offset, ty="b32", volatile=True), [self.get(keep)], "rp")
        self.put(result, i.outs[0])
        got = self.fresh("p")
        self.put(got, i.outs[1])
        self.branch(i.outs[1], own, done, own)
        new = change(self.get(result))
        b.emit(ST(space="unlock", offset=offset, ty="b32"), [self.get(keep), new], "")
        self.jump(done)
        self.get(result)
        self.branch(self.get(got), after, loop, after)
        return self.get(result)

    def _swapped(self, base: IrValue, offset: int, space: str, change: Callable[[IrValue], IrValue]) -> IrValue:
        """Update a word of global memory in a compare-and-swap loop."""
        keep, seen = self.fresh(), self.fresh()
        b = self.b
        self.put(keep, base)
        self.put(seen, b.emit(LD(space=space or "generic", offset=offset, ty="b32", volatile=True), [base], "r").out)
        loop, after = self.new_block(), self.new_block()
        self.jump(loop)
        old = self.get(seen)
        swap = ATOM(op="cas", ty="u32", space=space or "generic", offset=offset)
        got = b.emit(swap, [self.get(keep), old, change(old)], "r").out
        self.put(seen, got)
        self.branch(b.op(CMP(cond="e", ty="u32"), got, old), after, loop, after)
        return self.get(seen)

    # --- textures ---------------------------------------------------------------------------------------------------
    def do_tex(self, m: Mods, given_operands: Args) -> None:
        a = list(given_operands)
        geometry = m["geom"]
        if geometry == "acube":
            raise self.refuse("arrays of cube maps came with sm_20")
        address = a[1]
        if len(a) > 2 and isinstance(address, Name):  # PTX 1.0: the texture, then the coordinates
            address = Address(address, 0, address.pos, a[2])
        if not isinstance(address, Address) or address.coordinates is None:
            raise self.refuse("a texture and its coordinates in brackets were expected", address)
        items = self._elements(a[0], 4) if m["v4"] or isinstance(a[0], Vector) else (a[0],)
        coordinates = address.coordinates
        given = coordinates.items if isinstance(coordinates, Vector) else (coordinates,)
        n = COORDINATES[geometry]
        if len(given) < n:
            raise self.refuse(f"{n} coordinates were expected", coordinates)
        fetch = m["texc"] == "s32"
        cube = geometry == "cube"
        if cube and fetch:
            raise self.refuse("cube maps have no integer coordinates")
        types = ["u32" if geometry[0] == "a" and k == 0 else m["texc"] for k in range(n)]
        values = [self.word(c, ty) for c, ty in zip(given, types, strict=False)]
        if geometry[0] == "a":  # PTX has the layer first, the chips last
            values = [*values[1:], values[0]]
        if cube:
            values = self._on_the_cube(values)
        if fetch and geometry != "1d":  # the level of detail; one-dimensional fetches are from buffers, which have none
            values.append(Const(0))
        how = "texfetch" if fetch else "texauto"
        for item, word in zip(items, self._of_texture(address, values, how, cube, range(len(items))), strict=True):
            self.write(item, word, m["texd"])

    def _of_texture(
        self, address: Address, values: list[IrValue], how: str, cube: bool, wanted: Sequence[int]
    ) -> list[IrValue]:
        """Sample the texture that an address names or a register means."""
        base = address.base
        if not isinstance(base, Name) or not isinstance(base.what, PtxRegister):
            i = self.b.emit(TEX(texture=self._texture(address), how=how, cube=cube), values, "q")
            return [self.b.op(WORD(i=k), i.out) for k in wanted]
        number = self.pair(base)[0] if self.is_wide(base.what.type) else self.word(base, "u32")
        possible = self._textures()
        if not possible:
            raise self.refuse("the module has no texture that this could be", base)
        keep, given, results = self.fresh(), [self.fresh() for _ in values], [self.fresh() for _ in wanted]
        for variable, value in zip([keep, *given], [number, *values], strict=True):
            self.put(variable, value)
        after = self.new_block()
        for k, name in enumerate(possible):
            following = self.new_block()
            if k < len(possible) - 1:
                here = self.new_block()
                p = self.b.op(CMP(cond="e", ty="u32"), self.get(keep), Const(k + 1))
                self.branch(p, here, following, here)
            i = self.b.emit(TEX(texture=name, how=how, cube=cube), [self.get(v) for v in given], "q")
            for variable, n in zip(results, wanted, strict=True):
                self.put(variable, self.b.op(WORD(i=n), i.out))
            self.jump(after, following if k < len(possible) - 1 else after)
        return [self.get(variable) for variable in results]

    def _texture(self, address: Address) -> str:
        """Return the name of the texture an address names."""
        base = address.base
        if not isinstance(base, Name):
            raise self.refuse("the name of a texture was expected", address)
        what = base.what
        if not isinstance(what, PtxVariable) or not (what.space == "tex" or what.type == "texref"):
            raise self.refuse(f"`{base.text}` is not a texture of this module", base)
        return what.unique

    def _on_the_cube(self, direction: list[IrValue]) -> list[IrValue]:
        """Scale a direction to the surface of the cube, as the texture unit expects. Source: [graphics] 2.4."""
        op = self.b.op
        x, y, z = (op(CVT(to="f32", source="f32", abs=True), v, kinds="r") for v in direction)
        scale = op(RCP, op(FMAX, op(FMAX, x, y), z))
        return [op(FMUL(), v, scale) for v in direction]

    def do_txq(self, m: Mods, a: Args) -> None:
        if m["query"] not in SIZE_QUERIES:
            raise self.refuse(f"no instruction of these chips tells the .{m['query']} of a texture")
        if not isinstance(a[1], Address):
            raise self.refuse("a texture in brackets was expected", a[1])
        (size,) = self._of_texture(a[1], [Const(0)], "texsize", False, [SIZE_QUERIES[m["query"]]])
        self.write(a[0], size, "b32")
