"""Passes on shaders: prefetched texels, values computed once per draw, and the format of the result."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from isakit.compile.builder import IrBuilder
from isakit.compile.ir import Block, Const, Effect, Function, Ins, IrValue, Operation, OpUniformity
from isakit.compile.ops import PHI
from isakit.compile.passes.ssa import replace
from isakit.compile.shader import ShaderInterface
from isakit.compile.simplify_vectors import constants
from isakit.compile.usse.operands import hardware_constant
from isakit.compile.usse.registers import words
from isakit.compile.vector_ops import (
    ELEMENTS,
    FACING,
    INPUT,
    JOIN,
    OUTPUT,
    SAMPLE,
    SWIZZLE,
    UNIFORM,
    UNIFORM_AT,
    UNIFORM_LOAD,
    VABS,
    VCVT,
    VNEG,
    VROUND8,
    VSEL,
    UniformName,
    count,
    element,
    vector,
)
from isakit.flow.graph import reachable

READ_AS_THEY_ARE = (SWIZZLE, VNEG, VABS, UNIFORM)
"""Operations without cost where their result is read."""


# --- texels ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Fetch:
    """A texel that is fetched before the program starts.

    Attributes:
        name: of the input that it is in the code.
        coordinate: number of the texture coordinate.
        projection: `xy`, `xyw` or `xyz`.
        texel: f16 or f32.
    """

    name: str
    sampler: str
    coordinate: int
    projection: str
    texel: str


def prefetch_texels(f: Function, interface: ShaderInterface) -> list[Fetch]:
    """Turn samples at unmodified texture coordinates into inputs of the program."""
    semantics = {i.name: i.semantic for i in interface.inputs}
    found: dict[Fetch, Fetch] = {}
    for i in f.instructions():
        if i.op is not SAMPLE:
            continue
        a = SAMPLE.of(i)
        where = _coordinate(i.args[0])
        if where is None or a.lod or element(i.args[0].kind) != "f32":
            continue
        name, letters = where
        semantic = semantics.get(name, "")
        if not semantic.startswith("TEXCOORD"):
            continue
        n = 2 if a.kind == "2d" else 3 if a.kind == "cube" else len(letters)
        projection = {("2d", "xy"): "xy", ("cube", "xyz"): "xyz", ("proj", "xyz"): "xyz", ("proj", "xyzw"): "xyw"}
        how = projection.get((a.kind, letters[:n]))
        if how is None:
            continue
        texel = element(a.to)
        same = Fetch(f"texel {a.sampler} {semantic} {how} {texel}", a.sampler, int(semantic[8:] or 0), how, texel)
        found[same] = same
        i.become(INPUT(same.name, a.to), [])
    return list(found)


def _coordinate(v: IrValue) -> tuple[str, str] | None:
    """Return (input, channels) of a value that is channels of an input."""
    letters = "xyzw"[: count(v.kind)]
    while v.ins is not None and v.ins.op is SWIZZLE:
        inner = SWIZZLE.of(v.ins).pattern
        if any(inner["xyzw".index(c)] not in "xyzw" for c in letters):
            return None
        letters = "".join(inner["xyzw".index(c)] for c in letters)
        v = v.ins.args[0]
    return (INPUT.of(v.ins).name, letters) if v.ins is not None and v.ins.op is INPUT else None


# --- what is the same for all ----------------------------------------------------------------------------------------
def load_uniforms_from_memory(f: Function, names: Collection[str]) -> None:
    """Turn reads of the given uniforms into loads from memory."""
    for i in f.instructions():
        if isinstance(i.attrs, UniformName) and i.attrs.name in names:
            i.become(UNIFORM_LOAD(*i.attrs), i.args)


def count_literal_words(f: Function) -> int:
    """Return an estimate, never too low, of the registers for constants that the hardware does not have."""
    found: set[tuple[tuple[int, ...], str]] = set()
    for i in f.instructions():
        if i.op is JOIN and constants(i.out) is not None:
            continue
        for a in i.args:
            bits = constants(a)
            if bits is not None and element(a.kind) in ELEMENTS:
                found.add((tuple(dict.fromkeys(bits)), element(a.kind)))
    sizes = (words(vector(of, len(bits))) for bits, of in found if hardware_constant(bits, of) is None)
    return sum(n + n % 2 if n > 1 else n for n in sizes)


def split_uniform_part(f: Function, room: int) -> tuple[Function | None, dict[str, str]]:
    """Move computations that depend on uniforms only to a function of its own, which runs once.

    Results take at most `room` registers; those that save most are chosen. Returns the function (None if there is
    nothing) and the kinds of its outputs, which the original function reads as uniforms.
    """
    uniform: set[IrValue] = set()
    for b in f.blocks:
        for i in b.ins:
            fits = i.op.effect is Effect.NONE and i.op.uniformity in (OpUniformity.OPERANDS, OpUniformity.ALWAYS)
            numbers = bool(i.outs) and i.out.kind not in ("p", "r") and all(a.kind not in ("p", "r") for a in i.args)
            if fits and numbers and i.op is not PHI and all(isinstance(a, Const) or a in uniform for a in i.args):
                uniform.add(i.out)
    read: dict[IrValue, None] = {}
    for b in f.blocks:
        for i in (*b.phis, *b.ins):
            if not i.outs or i.out not in uniform:
                read |= {v: None for a in i.args for v in _computed(a, uniform)}
    elsewhere = {a for b in f.blocks for i in (*b.phis, *b.ins) if i.op is not OUTPUT for a in i.args}
    moved: set[IrValue] = set()
    worth = (v for v in read if _computes(v) and (v in elsewhere or len(_cone(v)) > 1))  # else the copy costs as much
    for v in sorted(worth, key=lambda v: -len(_cone(v)) / words(v.kind)):
        if words(v.kind) + words(v.kind) % 2 <= room:
            moved.add(v)
            room -= words(v.kind) + words(v.kind) % 2
    if not moved:
        return None, {}
    secondary = Function(f"{f.name} once")
    block = secondary.block()
    copies: dict[IrValue, IrValue] = {}
    kinds: dict[str, str] = {}
    replaced: dict[IrValue, IrValue] = {}
    for v in read:
        if v not in moved:
            continue
        name = f"once {len(kinds)}"
        kinds[name] = v.kind
        assert v.ins is not None
        assert v.ins.block is not None
        block.ins.append(Ins(OUTPUT(name), [_copied(v, block, block.ins, copies)], (), v.ins.loc, block))
        new = Ins(UNIFORM(name, 0, v.kind), [], (v.kind,), v.ins.loc)
        v.ins.block.insert(v.ins.block.ins.index(v.ins), new)
        replaced[v] = new.out
    replace(f, replaced)
    return secondary, kinds


def return_uniform_part(f: Function, secondary: Function, kinds: dict[str, str], room: int) -> Function | None:
    """Move results back from the function that runs once: those that save least, of at least `room` registers.

    Returns the remaining function, None if it is empty; `kinds` keeps the remaining results.
    """
    (block,) = secondary.blocks
    outputs = {OUTPUT.of(i).name: i for i in block.ins if i.op is OUTPUT}
    returned: set[str] = set()
    for name in sorted(kinds, key=lambda name: len(_cone(outputs[name].args[0])) / words(kinds[name])):
        if room <= 0:
            break
        room -= words(kinds[name])
        returned.add(name)
    replaced: dict[IrValue, IrValue] = {}
    for b in f.blocks:
        new: list[Ins] = []
        copies: dict[IrValue, IrValue] = {}
        for i in b.ins:
            if i.op is UNIFORM and UNIFORM.of(i).name in returned:
                replaced[i.out] = _copied(outputs[UNIFORM.of(i).name].args[0], b, new, copies)
            else:
                new.append(i)
        b.ins = new
    replace(f, replaced)
    for name in returned:
        block.ins.remove(outputs[name])
        del kinds[name]
    return secondary if kinds else None


def _copied(v: IrValue, block: Block, to: list[Ins], copies: dict[IrValue, IrValue]) -> IrValue:
    """Return a value whose operations are copied to the end of a list, those that are not yet in `copies`."""
    if isinstance(v, Const):
        return v
    if v not in copies:
        assert v.ins is not None
        new = v.ins.copied([_copied(a, block, to, copies) for a in v.ins.args], block)
        to.append(new)
        copies[v] = new.out
    return copies[v]


def _computed(v: IrValue, uniform: set[IrValue]) -> list[IrValue]:
    """Return the uniform values that readers of a value need: for operations without cost, their operands."""
    if v not in uniform or v.ins is None:
        return []
    if v.ins.op in READ_AS_THEY_ARE or constants(v) is not None:
        return [w for a in v.ins.args for w in _computed(a, uniform)]
    return [v]


def _computes(v: IrValue) -> bool:
    return v.ins is not None and v.ins.op not in (*READ_AS_THEY_ARE, UNIFORM_AT)


def _cone(v: IrValue) -> set[Ins]:
    """Return the operations that compute a value."""
    found = reachable([v.ins] if v.ins else [], lambda i: [a.ins for a in i.args if a.ins is not None])
    return {i for i in found if _computes(i.out)}


# --- inputs and results ----------------------------------------------------------------------------------------------
def lower_facing(f: Function, interface: ShaderInterface) -> None:
    """Replace the input for the visible side by a select between 1 and -1."""
    names = {i.name for i in interface.inputs if i.semantic == "FACE"}
    for b in f.blocks:
        for i in list(b.ins):
            if i.op is INPUT and INPUT.of(i).name in names:
                test = Ins(FACING, [], "p", i.loc)
                b.insert(b.ins.index(i), test)
                i.become(VSEL, [test.out, Const(0xBF80_0000, "f32"), Const(0x3F80_0000, "f32")])


def _unrounded(build: IrBuilder, v: IrValue) -> IrValue:
    """Return a value without its rounding to bytes, if it is packed into bytes next."""
    i = v.ins
    if i is None or i.op not in (VROUND8, JOIN, SWIZZLE):
        return v
    if i.op is VROUND8:
        return i.args[0]
    return build.op(Operation(i.op, i.attrs), *(_unrounded(build, a) for a in i.args))


def convert_result(f: Function, interface: ShaderInterface) -> None:
    """Convert the colour of a fragment program to the kind of the target; missing components are 0."""
    color = {o.name for o in interface.outputs if o.semantic.startswith("COLOR")}
    to = interface.target
    for b in f.blocks:
        for i in list(b.ins):
            if i.op is not OUTPUT or OUTPUT.of(i).name not in color or i.args[0].kind == to:
                continue
            b.ins.remove(i)
            build = IrBuilder(b, i.loc)
            v = _unrounded(build, i.args[0]) if interface.native else i.args[0]
            of = element(v.kind) if interface.native else element(to)
            v = v if element(v.kind) == of else build.op(VCVT(of), v)
            more = count(to) - count(v.kind)
            if more > 0:
                v = build.op(JOIN, v, *([Const(0, of)] * more))
            elif more < 0:
                v = build.op(SWIZZLE("xyzw"[: count(to)]), v)
            build.emit(OUTPUT(OUTPUT.of(i).name), [v], ())
