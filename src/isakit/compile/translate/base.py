"""Reading operands and writing results, whatever the instruction."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isakit.compile.builder import IrBuilder, words64
from isakit.compile.ir import Block, Const, Function, IrValue, Mark
from isakit.compile.layout import VariableLayout
from isakit.compile.ops import (
    ADD,
    ADDRESS,
    AND,
    CLOCK,
    GENERIC,
    NOT,
    PACK,
    PARAM,
    PHYSID,
    PNOT,
    SAR,
    SEL,
    SEXT8,
    SEXT16,
    SHL,
    SHR,
    SUB,
    TID,
    WORD,
    ZEXT8,
    ZEXT16,
)
from isakit.compile.passes.spaces import TAGS
from isakit.compile.ptx.numbers import float_bits
from isakit.compile.ptx.syntax import (
    SIZES,
    Address,
    Inverted,
    Name,
    Number,
    Operand,
    PtxFunction,
    PtxModule,
    PtxRegister,
    PtxStatement,
    PtxSyntaxError,
    PtxVariable,
    Vector,
)
from isakit.compile.tesla.chip import Chip
from isakit.description import PARAM_BASE

Pair = tuple[IrValue, IrValue]
Mods = dict[str, str]
"""The words of an opcode by what they say, as `grammar.match` finds them."""
Args = tuple[Operand, ...]

HEADER = {"%ntid.x": 0x2, "%ntid.y": 0x4, "%ntid.z": 0x6, "%nctaid.x": 0x8, "%nctaid.y": 0xA, "%ctaid.x": 0xC,
          "%ctaid.y": 0xE, "%gridid": 0x0}  # fmt: skip
"""Special registers that are half words of the launch header in shared memory. Source: [tesla] 10."""
_SPECIAL = re.compile(
    r"%(nwarpid|nsmid|gridid|clock64|clock_hi|pm\d(_64)?|envreg\d+|globaltimer\w*|\w+_smem_size)(\.\w)?"
)
"""Special registers of PTX; other names with these prefixes are ordinary registers."""

_EXTENSIONS = {"u8": ZEXT8, "b8": ZEXT8, "s8": SEXT8, "u16": ZEXT16, "b16": ZEXT16, "f16": ZEXT16, "s16": SEXT16}


MARKED = {**{t: t for t in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64")},
          "b8": "u8", "b16": "u16", "b32": "u32", "b64": "u64"}  # fmt: skip
"""Types of registers, as the types of variables that debuggers show."""


class Unsupported(PtxSyntaxError):
    """A feature of PTX that these chips or this compiler do not have."""


class Base:
    """Translation of one function: its state, and the methods that translations of instructions share."""

    def __init__(self, module: PtxModule, entry: PtxFunction, chip: Chip, layout: VariableLayout) -> None:
        self.module, self.chip, self.layout = module, chip, layout
        self.entry: PtxFunction = entry
        self.function = Function(entry.name)
        self.function.debugged = "debug" in module.options
        self.b = IrBuilder(self.function.block())
        self.slots: dict[tuple[int | str, ...], int] = {}
        self.kept: dict[tuple[str, int], int] = {}
        """Parameters of inlined functions (unique name, place) that lie in local memory, and where."""
        self.at: PtxStatement | None = None
        self.registers: dict[int, PtxRegister] = {}
        """Registers by their index, where PTX is the source; `named` has them by their (first) variable."""
        self.named: dict[int, PtxRegister] = {}
        self.wrote = False
        """The instruction that is being translated has written a result, or need not."""
        self.demoted = "map_f64_to_f32" in module.options
        self.old = module.version < (1, 4)
        """Before PTX 1.4, what names no rounding is approximate."""

    # --- errors -----------------------------------------------------------------------------------------------------
    def refuse(self, message: str, operand: Operand | None = None, notes: tuple[str, ...] = ()) -> Unsupported:
        """Return the exception for an unsupported feature, at an operand or the instruction; the caller raises it."""
        assert self.at is not None
        pos = operand.pos if operand is not None else self.at.pos
        width = len(operand.text) if isinstance(operand, Name) else 1 if operand else len(self.at.opcode)
        return Unsupported(pos, message, width, notes)

    # --- variables --------------------------------------------------------------------------------------------------
    def variable(self, key: tuple[int | str, ...], kind: str) -> int:
        """Return the number of a variable, new for a key that is new."""
        got = self.slots.get(key)
        if got is None:
            got = self.slots[key] = len(self.function.kinds)
            self.function.kinds.append(kind)
            if isinstance(key[0], int) and key[0] in self.registers:
                self.named[got] = self.registers[key[0]]
        return got

    def fresh(self, kind: str = "r") -> int:
        """Return the number of a new variable."""
        self.function.kinds.append(kind)
        return len(self.function.kinds) - 1

    def get(self, variable: int) -> IrValue:
        """Return the value a variable has at this point."""
        block = self.b.block
        got = block.env.get(variable)
        if got is None:
            got = block.live_in[variable] = block.env[variable] = IrValue(self.function.kinds[variable])
        return got

    def put(self, variable: int, value: IrValue) -> None:
        """Set a variable."""
        self.b.block.env[variable], self.wrote = value, True
        if variable in self.named:
            r = self.named[variable]
            words = [(r.index, 0), (r.index, 1)] if self.is_wide(r.type) else [(r.index,)]
            known = [self.b.block.env.get(self.slots[word]) for word in words if word in self.slots]
            values = [v for v in known if v is not None]
            if r.type in MARKED:
                self.b.block.marks.append(
                    Mark(self.b.loc[0], r.name, MARKED[r.type], values if len(values) == len(words) else [])
                )

    def mark_value(self, name: str, type: str, operand: Operand | None, line: int) -> None:
        """Mark that a variable of the source has the value of an operand from a line of PTX on."""
        values: list[IrValue] = []
        if isinstance(operand, Number):
            bits = int(operand.value)
            values = [Const(bits), *([Const(bits >> 32)] if type.endswith("64") else [])]
        elif isinstance(operand, Name) and isinstance(operand.what, PtxRegister) and operand.what.type in MARKED:
            r = operand.what
            if self.is_wide(r.type):
                words = [self.get(self.variable((r.index, 0), "r")), self.get(self.variable((r.index, 1), "r"))]
                values = words if type.endswith("64") else words[:1]
            elif r.type != "f64":
                values = [self.get(self.variable((r.index,), "r"))]
            elif not self.demoted:
                values = [self.get(self.variable((r.index,), "d"))]
        self.b.block.marks.append(Mark(line, name, type, values))

    def new_block(self) -> Block:
        """Return a new block that gets its position in the order later."""
        return self.function.make()

    def go(self, block: Block) -> None:
        """Append to `block` from now on."""
        block.loc = self.b.loc
        self.function.blocks.append(block)
        self.b.enter(block)

    def jump(self, to: Block, then: Block | None = None) -> None:
        """End the block with a jump, and go on in `then`, by default where it leads."""
        self.b.block.term = ("jump", to)
        self.go(then or to)

    def branch(self, p: IrValue, yes: Block, no: Block, then: Block) -> None:
        """End the block: `yes` follows where `p` is true, else `no`; go on in `then`."""
        self.b.block.term = ("branch", p, False, yes, no)
        self.go(then)

    # --- types ------------------------------------------------------------------------------------------------------
    def is_double(self, ty: str) -> bool:
        """Return whether values of a type are f64 in registers."""
        if ty != "f64" or self.demoted:
            return False
        if not self.chip.fp64:
            raise self.refuse(
                f"`f64` needs a chip with double precision, {self.chip.variant} has none",
                notes=("compile for gt200, or with `.target ..., map_f64_to_f32`",),
            )
        return True

    def is_wide(self, ty: str) -> bool:
        """Return whether values of a type are pairs of words."""
        return ty in ("b64", "u64", "s64")

    # --- operands ---------------------------------------------------------------------------------------------------
    def register(self, operand: Operand) -> PtxRegister:
        """Return the register an operand names."""
        if isinstance(operand, Name):
            if isinstance(operand.what, PtxRegister):
                return operand.what
            raise self.refuse(f"`{operand.text}` is not declared as a register", operand)
        raise self.refuse("a register was expected", operand)

    def predicate(self, operand: Operand) -> IrValue:
        """Return a predicate."""
        if isinstance(operand, Inverted):
            return self.b.op(PNOT, self.predicate(operand.name))
        if isinstance(operand, Number):
            return Const(int(bool(operand.value)), "p")
        r = self.register(operand)
        if r.type != "pred":
            raise self.refuse(f"`{r.name}` is not a predicate", operand)
        return self.get(self.variable((r.index,), "p"))

    def word(self, operand: Operand, ty: str) -> IrValue:
        """Return a value of up to 32 bits; its upper bits are undefined if the type is narrower."""
        if isinstance(operand, Number):
            return Const(self.literal(operand, ty))
        if isinstance(operand, Name):
            if isinstance(operand.what, PtxRegister):
                return self._word_of(operand, operand.what)
            if isinstance(operand.what, PtxVariable):
                return self._pointer_to(operand.what, operand)[0]
            return self._number_of(operand) or self.special(operand)
        if isinstance(operand, Address):
            return self._symbol_plus(operand)[0]
        raise self.refuse("a register or a constant was expected", operand)

    def _number_of(self, name: Name) -> Const | None:
        """Return the number that represents the address of a function."""
        return Const(self.module.number_of(name.text)) if name.text in self.module.functions else None

    def _pointer_to(self, v: PtxVariable, name: Operand) -> Pair:
        """Return the address of a variable as a pair of words; that of a constant may be used like one of a buffer."""
        address = self.address_of(v, name)
        if v.space != "const":
            return address, Const(0)
        return self.b.emit(GENERIC(space="const"), [address], "r").out, Const(TAGS["const"])

    def _symbol_plus(self, operand: Address) -> Pair:
        if not isinstance(operand.base, Name) or not isinstance(operand.base.what, PtxVariable):
            raise self.refuse("the address of a variable was expected", operand)
        low, high = self._pointer_to(operand.base.what, operand.base)
        return self.b.op(ADD, low, Const(operand.offset)), high

    def _word_of(self, operand: Operand, r: PtxRegister) -> IrValue:
        if r.type == "pred":
            raise self.refuse(f"`{r.name}` is a predicate", operand)
        if r.type[0] == "v":
            raise self.refuse(f"`{r.name}` is a vector", operand)
        if self.is_double(r.type):
            raise self.refuse(f"`{r.name}` is an f64", operand)
        if self.is_wide(r.type):
            return self.get(self.variable((r.index, 0), "r"))
        if r.type == "b128":
            raise self.refuse("128-bit registers are not supported", operand)
        return self.get(self.variable((r.index,), "r"))

    def clean(self, operand: Operand, ty: str) -> IrValue:
        """Return a value of up to 32 bits, extended to 32."""
        return self.extend(self.word(operand, ty), ty)

    def choose64(self, p: IrValue, a: Pair, b: Pair) -> Pair:
        """Return a pair if a predicate holds, else another."""
        return self.b.op(SEL, p, a[0], b[0]), self.b.op(SEL, p, a[1], b[1])

    def literal(self, n: Number, ty: str) -> int:
        """Return the bits of a literal as a type of up to 32 bits."""
        if ty[0] == "f":
            size = 4 if ty == "f64" else SIZES[ty]
            return float_bits(n if n.real else Number(float(n.value), n.pos, -1), size)
        if n.real == -1:
            raise self.refuse("an integer was expected", n)
        return int(n.value) & 0xFFFF_FFFF

    def pair(self, operand: Operand, ty: str = "u64") -> Pair:
        """Return a 64-bit integer."""
        if isinstance(operand, Number):
            if operand.real in (32, -1):
                raise self.refuse("an integer was expected", operand)
            return words64(int(operand.value))
        if isinstance(operand, Vector):
            if len(operand.items) != 2:
                raise self.refuse("two elements were expected", operand)
            return self.word(operand.items[0], "b32"), self.word(operand.items[1], "b32")
        if isinstance(operand, Address):
            return self._symbol_plus(operand)
        if isinstance(operand, Name):
            if isinstance(operand.what, PtxVariable):
                return self._pointer_to(operand.what, operand)
            if not isinstance(operand.what, PtxRegister):
                if operand.text in ("%clock64", "%globaltimer"):
                    return self.b.emit(CLOCK, [], "r").out, Const(0)
                return self._number_of(operand) or self.special(operand), Const(0)
            r = operand.what
            if self.is_wide(r.type):
                low = self.get(self.variable((r.index, 0), "r"))
                return low, self.get(self.variable((r.index, 1), "r"))
            if r.type == "f64":
                if self.demoted:
                    return self.get(self.variable((r.index,), "r")), Const(0)
                d = self.double(operand)
                return self.b.op(WORD(i=0), d), self.b.op(WORD(i=1), d)
            raise self.refuse(f"`{r.name}` is too narrow: it has type .{r.type}", operand)
        raise self.refuse("a 64-bit register or a constant was expected", operand)

    def words(self, operand: Operand, ty: str) -> tuple[IrValue, ...]:
        """Return an integer as its word, or the two of one of 64 bits."""
        return self.pair(operand) if self.is_wide(ty) else (self.word(operand, ty),)

    def double(self, operand: Operand) -> IrValue:
        """Return an f64."""
        if isinstance(operand, Number):
            bits = float_bits(operand if operand.real else Number(float(operand.value), operand.pos, -1), 8)
            return self.b.op(PACK, *words64(bits))
        r = self.register(operand)
        if r.type == "f64" and self.is_double("f64"):
            return self.get(self.variable((r.index,), "d"))
        if self.is_wide(r.type):
            return self.b.op(PACK, *self.pair(operand))
        raise self.refuse(f"`{r.name}` is too narrow: it has type .{r.type}", operand)

    def special(self, name: Name) -> IrValue:
        """Return the value of a special register of PTX."""
        text, b = name.text, self.b
        if text in HEADER:
            return b.op(PARAM(offset=HEADER[text], mode="u16"))
        if text == "%tid.x":
            return b.op(ZEXT16, b.op(TID))
        if text == "%tid.y":
            return b.op(AND, b.op(SHR, b.op(TID), Const(16)), Const(0x3FF))
        if text == "%tid.z":
            return b.op(SHR, b.op(TID), Const(26))
        if text in ("%ctaid.z", "%tid.w", "%ctaid.w"):
            return Const(0)
        if text in ("%nctaid.z", "%ntid.w", "%nctaid.w"):
            return Const(1)
        if text in ("%clock", "%clock_lo"):
            return b.emit(CLOCK, [], "r").out
        if text == "WARP_SZ":
            return Const(32)
        if text == "%laneid" or text.startswith("%lanemask_"):
            lane = b.op(AND, b.op(PHYSID), Const(31))
            one = b.op(SHL, Const(1), lane)
            masks = {"%laneid": lambda: lane, "%lanemask_eq": lambda: one,
                     "%lanemask_lt": lambda: b.op(SUB, one, Const(1)),
                     "%lanemask_le": lambda: b.op(NOT, b.op(SHL, Const(0xFFFF_FFFE), lane)),
                     "%lanemask_gt": lambda: b.op(SHL, Const(0xFFFF_FFFE), lane),
                     "%lanemask_ge": lambda: b.op(SHL, Const(0xFFFF_FFFF), lane)}  # fmt: skip
            if text in masks:
                return masks[text]()
        if text == "%warpid":
            return b.op(AND, b.op(SHR, b.op(PHYSID), Const(8)), Const(0xFF))
        if text == "%smid":
            return b.op(AND, b.op(SHR, b.op(PHYSID), Const(16)), Const(0xFF))
        if _SPECIAL.fullmatch(text):
            raise self.refuse(f"the special register `{text}` is not supported", name)
        raise self.refuse(f"`{text}` is not declared", name)

    def address_of(self, v: PtxVariable, name: Operand) -> IrValue:
        """Return the address of a variable in its own space."""
        if v.space == "param":
            if (v.unique, v.pos) in self.kept:
                return Const(self.kept[v.unique, v.pos])
            if v not in self.entry.params or v.name not in self.layout.params:
                raise self.refuse("taking the address of the result of a function is not supported", name)
            return Const(PARAM_BASE + self.layout.params[v.name])  # in shared memory
        if v.unique in (textures := self._textures()):
            return Const(1 + textures.index(v.unique))
        if v.type in ("samplerref", "surfref"):
            raise self.refuse(f"`{v.name}` is a .{v.type}; these chips have none of their own", name)
        got = self.layout.address(v)
        if isinstance(got, int):
            return Const(got)
        return self.b.op(ADDRESS(name=got))

    def _textures(self) -> list[str]:
        """Return the textures of the module; in a register each is its number, from 1 on."""
        return [v.unique for v in self.module.variables.values() if v.space == "tex" or v.type == "texref"]

    # --- results ----------------------------------------------------------------------------------------------------
    def extend(self, value: IrValue, ty: str) -> IrValue:
        """Return a value of a type of up to 32 bits with clean upper bits."""
        extension = _EXTENSIONS.get(ty)
        return self.b.op(extension, value) if extension else value

    def write(self, operand: Operand, value: IrValue, ty: str, loose: bool = False) -> None:
        """Write a result of up to 32 bits. `loose`: the register may be wider than the type."""
        if isinstance(operand, Name) and operand.text == "_":
            return
        r = self.register(operand)
        have, want = SIZES.get(r.type, 0), SIZES[ty] if ty != "f64" else 8
        if r.type == "pred" or r.type[0] == "v":
            raise self.refuse(f"`{r.name}` cannot hold a value of type .{ty}", operand)
        if have < want or (have > want and not loose and not (have == 4 and want == 2)):
            raise self.refuse(f"`{r.name}` has type .{r.type}, the result is .{ty}", operand)
        if have > want:
            value = self.extend(value, ty)
        if self.is_wide(r.type):
            high = self.b.op(SAR, value, Const(31)) if ty[0] == "s" else Const(0)
            self.put(self.variable((r.index, 0), "r"), value)
            self.put(self.variable((r.index, 1), "r"), high)
            return
        if r.type == "f64" != ty:
            if self.demoted:
                raise self.refuse(f"`{r.name}` has type .f64, a float here; the result is .{ty}", operand)
            self.write_double(operand, self.b.op(PACK, value, Const(0)))
            return
        self.put(self.variable((r.index,), "r"), value)

    def write_pair(self, operand: Operand, value: Pair) -> None:
        """Write a 64-bit integer."""
        if isinstance(operand, Vector) and len(operand.items) == 2:
            for item, half in zip(operand.items, value, strict=True):
                self.write(item, half, "b32")
            return
        if isinstance(operand, Name) and operand.text == "_":
            return
        r = self.register(operand)
        if self.is_wide(r.type):
            self.put(self.variable((r.index, 0), "r"), value[0])
            self.put(self.variable((r.index, 1), "r"), value[1])
        elif r.type == "f64":
            if self.demoted:
                self.put(self.variable((r.index,), "r"), value[0])
            else:
                self.write_double(operand, self.b.op(PACK, *value))
        else:
            raise self.refuse(f"`{r.name}` has type .{r.type}, the result has 64 bits", operand)

    def write_words(self, operand: Operand, words: Sequence[IrValue], ty: str) -> None:
        """Write an integer of one word, of a type, or of two."""
        if len(words) == 2:
            self.write_pair(operand, (words[0], words[1]))
        else:
            self.write(operand, words[0], ty)

    def write_double(self, operand: Operand, value: IrValue) -> None:
        """Write an f64."""
        r = self.register(operand)
        if r.type == "f64" and self.is_double("f64"):
            self.put(self.variable((r.index,), "d"), value)
        elif self.is_wide(r.type):
            self.write_pair(operand, (self.b.op(WORD(i=0), value), self.b.op(WORD(i=1), value)))
        else:
            raise self.refuse(f"`{r.name}` has type .{r.type}, the result is .f64", operand)

    def write_predicate(self, operand: Operand, value: IrValue) -> None:
        """Write a predicate."""
        if isinstance(operand, Name) and operand.text == "_":
            return
        r = self.register(operand)
        if r.type != "pred":
            raise self.refuse(f"`{r.name}` is not a predicate", operand)
        self.put(self.variable((r.index,), "p"), value)

    def mark(self, s: PtxStatement) -> None:
        """Attribute the operations emitted from now on to a statement."""
        self.at = s
        file, line = s.loc or (0, 0)
        self.b.loc = self.b.block.loc = (self.module.source.line(s.pos), file, line)
