"""Random shader files whose results depend on their inputs: the instructions that compilers use, on a few registers."""

from __future__ import annotations

import random
from collections.abc import Callable

import isakit
from isakit.errors import AsmError
from isakit.formats import Shader
from isakit.programs import write

HEADS = {
    "vertex": """
.gxp vertex
.attribute a0 f32x4 pa0
.attribute a1 f32x4 pa4
.attribute a2 f32x4 pa8
.uniform u0 f32x4
.uniform u1 f32x4
.uniform n u32x1
.uniform m s32x1
.outputs position color0 texcoord0.xyzw.f16 texcoord1.xy pointsize clip0
.program primary
""",
    "fragment": """
.gxp fragment
.uniform u0 f32x4
.uniform u1 f32x4
.uniform n u32x1
.uniform m s32x1
.sampler tex f32x4 unit 0
.texture unit 0 sa12
.varying texcoord0 f32x4
.varying texcoord1 f32x4
.varying texcoord2 f32x4
.result f32x4
.program primary
""",
}
"""Inputs in pa0 to pa11, uniforms in sa0 to sa7, integers in sa8 and sa9."""
_CONDITIONS = ("eq", "ne", "lt", "le", "gt", "ge")
_NUMBERS = ("#0x0", "#0x1", "#0x3", "#0x7", "#0x10")


class _Operands:
    """Random operands."""

    def __init__(self, r: random.Random) -> None:
        self.r = r

    def mask(self, most: int = 4) -> str:
        """Some of the channels."""
        return "xyzw"[: self.r.randint(1, most)]

    def swizzle(self) -> str:
        """Four channels."""
        return self.r.choice(("xyzw", "xyzw", "xxxx", "yyyy", "zzzz", "wwww", "xyzw", "yzxw", "zwxx", "xyxy"))

    def internal(self) -> str:
        """A register with four channels."""
        return f"i{self.r.randrange(3)}"

    def plain(self) -> str:
        """A vector that is read as it is."""
        file, limit = self.r.choice((("pa", 12), ("sa", 8), ("r", 8), ("i", 3), ("i", 3)))
        number = self.r.randrange(limit) if file == "i" else self.r.randrange(0, limit, 2)
        return f"{file}{number}.{self.swizzle()}"

    def source(self) -> str:
        """A vector that is read, perhaps its negative or its magnitude."""
        sign = self.r.choice(("", "", "", "-", "|"))
        return f"|{self.plain()}|" if sign == "|" else sign + self.plain()

    def register(self) -> str:
        """The first register of a vector that is read."""
        return self.plain().split(".")[0]

    def word(self) -> str:
        """One register that is read."""
        return self.r.choice((f"pa{self.r.randrange(12)}", f"r{self.r.randrange(8)}", "sa8", "sa9"))

    def temporary(self) -> str:
        """One register that is written."""
        return f"r{self.r.randrange(8)}"

    def pair(self) -> str:
        """Two registers that are written."""
        return f"r{2 * self.r.randrange(4)}"


def _binary(o: _Operands) -> str:
    name = o.r.choice(("vmul", "vadd", "vadd", "vmin", "vmax", "vfrc"))
    return f"{name}.f32 {o.internal()}.{o.mask()} {o.source()} {o.source()}"


def _mad(o: _Operands) -> str:
    return f"vmad2.f32 {o.internal()}.{o.mask()} {o.source()} {o.source()} {o.internal()}.xyzw"


def _dot(o: _Operands) -> str:
    return f"vdp.f32 {o.internal()}.{o.r.choice('xyzw')} {o.source()} {o.source()}"


def _unary(o: _Operands) -> str:
    name = o.r.choice(("vrcp", "vrsq", "vlog", "vexp"))
    return f"{name}.f32 {o.internal()}.{o.r.choice('xyzw')} {o.register()}.{o.r.choice('xy')}"


def _load(o: _Operands) -> str:
    file, limit = o.r.choice((("pa", 12), ("sa", 8), ("r", 8)))
    at = 4 * o.r.randrange(limit // 4)
    return f"vpck.f32.f32 {o.internal()}.xyzw {file}{at}.xyzw {file}{at + 2}"


def _move(o: _Operands) -> str:
    return f"vmov.f32 {o.pair()}.xy {o.plain()}"


def _choice(o: _Operands) -> str:
    where, swizzles = o.r.choice(("eq", "ne", "lt", "le")), ("xyzw", "xxxx")
    first, second = (f"{o.register()}.{o.r.choice(swizzles)}" for _ in range(2))
    return f"vmovc.{where}.f32 {o.internal()}.{o.mask()} {o.internal()} {first} {second}"


def _packed(o: _Operands) -> str:
    ty = o.r.choice(("f16", "f16", "u8", "s8", "u16", "s16"))
    scale = "" if ty == "f16" else o.r.choice((" scale", ""))
    if o.r.random() < 0.5:
        return f"vpck.{ty}.f32 {o.pair()}.{'xyzw' if ty[1:] != '16' or ty == 'f16' else 'xy'} i0.xyzw #0x0{scale}"
    return f"vpck.f32.{ty} {o.internal()}.{o.mask()} {o.pair()}.{o.swizzle()}{scale}"


def _half(o: _Operands) -> str:
    name = o.r.choice(("vmul", "vadd", "vmin", "vmax"))
    return f"{name}.f16 {o.pair()}.{o.mask()} {o.pair()}.{o.swizzle()} {o.pair()}.{o.swizzle()}"


def _bits(o: _Operands) -> str:
    name = o.r.choice(("and", "or", "xor", "shl", "shr", "asr"))
    return f"{name}.u32 {o.temporary()} {o.word()} {o.r.choice(_NUMBERS)}"


def _integer(o: _Operands) -> str:
    return f"i32mad2.{o.r.choice(('u32', 's32'))} {o.temporary()} {o.word()} {o.word()} {o.word()}"


def _from_integer(o: _Operands) -> str:
    return f"vpck.f32.{o.r.choice(('u16', 's16', 'u8'))} {o.internal()}.{o.mask(2)} {o.r.choice(('sa8', 'r0'))}.xxxx"


def _test(o: _Operands) -> str:
    name, predicate = o.r.choice(("sub", "sub", "add", "mul", "min", "max")), f"p{o.r.randrange(2)}.x"
    second = f"{o.register()}.{o.r.choice(('xyzw', 'xxxx'))}"
    return f"vtst.{name}.f32 {o.r.choice(_CONDITIONS)} {predicate} {o.register()} {second}"


def _integer_test(o: _Operands) -> str:
    ty = o.r.choice(("s32", "u32", "s32", "u16", "s16", "s8", "u8"))
    second = o.r.choice((o.word(), o.r.choice(_NUMBERS)))
    return f"vtst.sub.{ty} {o.r.choice(_CONDITIONS)} p{o.r.randrange(2)}.x {o.word()} {second}"


def _branch(o: _Operands) -> str:
    return f"{o.r.choice(('p0', '!p0', 'p1', '!p1'))} br +{o.r.randint(1, 4)}"


def _sample(o: _Operands) -> str:
    return f"smp2d.f32 f32 r{4 * o.r.randrange(2)} pa{2 * o.r.randrange(6)} sa12 drc0"


def _kill(o: _Operands) -> str:
    return f"kill {o.r.choice(('p0', '!p0', 'p1', '!p1'))}"


Maker = Callable[[_Operands], str]
_ANYWHERE: tuple[tuple[Maker, float], ...] = (
    (_binary, 6), (_mad, 4), (_dot, 2), (_unary, 1.5), (_load, 3), (_move, 3), (_choice, 2), (_packed, 2), (_half, 1),
    (_bits, 1), (_integer, 1), (_from_integer, 1), (_test, 2), (_integer_test, 2), (_branch, 1.5),
)  # fmt: skip
_IN_STAGE: dict[str, tuple[tuple[Maker, float], ...]] = {
    "vertex": _ANYWHERE, "fragment": (*_ANYWHERE, (_sample, 2), (_kill, 0.7)),
}  # fmt: skip
_RESULTS = {"vertex": [f"o{k}" for k in range(0, 16, 2)], "fragment": ["pa0", "pa2"]}


def random_lines(seed: int, stage: str) -> list[str]:
    """The instructions of a random shader, one in a line."""
    r = random.Random(seed)
    operands = _Operands(r)
    makers, weights = zip(*_IN_STAGE[stage], strict=True)
    lines = [_load(operands) for _ in range(3)]
    while len(lines) < 20 and r.random() < 0.93:
        (maker,) = r.choices(makers, weights)
        line = maker(operands)
        if maker not in (_branch, _kill, _test, _integer_test) and r.random() < 0.25:
            line = f"{r.choice(('p0', '!p0', 'p1', '!p1'))} {line}"
        if assembles(line):
            lines.append(line)
    lines += ["nop"] * 4
    for register in _RESULTS[stage]:
        moves = (f"vmov.f32 {register}.xy {operands.plain()}" for _ in range(100))
        lines.append(next(filter(assembles, moves)))
    return lines if stage == "fragment" else [*lines, f"or.u32 o14 {operands.word()} #0x0", "or.u32 o15 r0 #0x0"]


def assembles(line: str) -> bool:
    """Whether an instruction exists."""
    try:
        isakit.isa("usse").assemble(line)
    except AsmError:
        return False
    return True


def shader_of(stage: str, lines: list[str]) -> Shader:
    """The shader file with these instructions."""
    found = isakit.load(write(isakit.isa("usse").assemble(HEADS[stage] + "\n".join(lines) + "\n"), "gxp"))
    assert isinstance(found, Shader)
    return found
