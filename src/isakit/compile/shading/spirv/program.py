"""Functions of a SPIR-V module as one function of the compiler's form: calls are put in place, ids are values.

A pointer is an expression of `shading` that names a variable and a part of it, so that loads and stores are what they
are there. Ids of the results of instructions are values; phis are variables that the blocks before them write.
"""

from __future__ import annotations

import re

from isakit.compile.ir import Const
from isakit.compile.shading.emitter import Values
from isakit.compile.shading.lower import DEEPEST_CALL
from isakit.compile.shading.lower_expressions import Lowered
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.spirv import opcodes as spv
from isakit.compile.shading.spirv.module import GlobalVariable, PointerType, SpirvBlock, SpirvFunction
from isakit.compile.shading.spirv.numbers import NumberInstructions
from isakit.compile.shading.spirv.values import Members
from isakit.compile.shading.spirv.words import SpirvInstruction
from isakit.compile.shading.typed import (
    ShaderVariable,
    Typed,
    TypedName,
)
from isakit.compile.shading.types import (
    BOOL,
    VOID,
    ArrayType,
    Numeric,
    SamplerType,
    StructType,
    Type,
)
from isakit.compile.shading.variables import Meeting

_LIKE = {"InBoundsAccessChain": "AccessChain", "ConvertFToS": "ConvertFToU", "UConvert": "SConvert",
         "Image": "SampledImage"}  # fmt: skip
"""Operations that are lowered as another one."""


class SpirvProgram(NumberInstructions):
    """Lowers one entry point of a module into its function and interface."""

    # --- the whole ---------------------------------------------------------------------------------------------------
    def lower_entry(self, function: int) -> None:
        """Lower everything. Raises ShadingError."""
        f = self.module.functions.get(function)
        if f is None or f.parameters or f.result is not VOID:
            raise ShadingError(0, f"id {function} is not a function that a pipeline can start")
        touched, stored, members = self._touched()
        variables: list[ShaderVariable] = []
        for g in self.module.variables:
            if g.id in touched:
                variables += self._global(g, g.id in stored, members)
        self._reserve(variables)
        for v in variables:
            if v.role == "local":
                self.at(v.pos)
                initial = self.nothing(v.type) if v.initial is None else self.value(v.initial)
                self.put_all(self.slots(v), initial)
            else:
                getattr(self, f"_{v.role}")(v)
        self.inline(f, [])
        self.enter(self.exit)
        self._write()

    def _touched(self) -> tuple[set[int], set[int], set[tuple[int, int]]]:
        """Return the ids that functions name, those that they may store to, and (id, member) of parts they point to."""
        touched: set[int] = set()
        stored: set[int] = set()
        members: set[tuple[int, int]] = set()
        for f in self.module.functions.values():
            for b in f.blocks:
                for i in (*b.phis, *b.body, *((b.end,) if b.end is not None else ())):
                    touched.update(i.words)
                    name = spv.NAMES.get(i.op, "")
                    if name in ("Store", "CopyMemory", "FunctionCall", "ExtInst"):
                        stored.update(i.words)
                    elif name.endswith("AccessChain") and len(i.words) > 2:
                        stored.add(i.words[2])
                        index = self.module.constants.get(i.words[3]) if len(i.words) > 3 else None
                        if index is not None and isinstance(index[1], Const):
                            members.add((i.words[2], index[1].value))
        return touched, stored, members

    # --- variables outside of functions ------------------------------------------------------------------------------
    def _global(self, g: GlobalVariable, stored: bool, members: set[tuple[int, int]]) -> list[ShaderVariable]:
        """Return the variables that one of the module is for its shader."""
        kind, storage = g.type.to, g.type.storage
        role = {spv.INPUT: "input", spv.OUTPUT: "output", spv.UNIFORM_CONSTANT: "sampler", spv.PRIVATE: "local",
                spv.UNIFORM: "uniform", spv.PUSH_CONSTANT: "uniform"}.get(storage)  # fmt: skip
        name = self.module.names.get(g.id, "").replace("@", "")
        if role is None or self.module.mark(g.type_id, spv.BUFFER_BLOCK) is not None:
            raise ShadingError(0, f"`{name or g.id}`: variables of storage class {storage} are not supported")
        if isinstance(kind, StructType) and (
            role == "uniform" or self.module.has_built_ins(g.type_id, len(kind.fields))
        ):
            made = [self._member(g, kind, k, role, name) for k in range(len(kind.fields))]
            self.globals[g.id] = Members(kind, [TypedName(0, v.type, v) for v in made])
        else:
            of = kind
            while isinstance(of, ArrayType):
                of = of.of
            if role == "sampler" and not isinstance(of, SamplerType):
                role = "uniform"  # as OpenGL has them
            made = [self._variable(g.id, -1, name or f"{role}{g.id}", kind, role)]
            self.globals[g.id] = TypedName(0, kind, made[0])
            if g.initial:
                made[0].initial = self.typed(g.initial)
                if made[0].initial.type != kind:
                    raise ShadingError(0, f"`{name or g.id}` begins with a value of another type")
            if of == SamplerType("none"):
                return []
        pipeline = len(made) > 1 or isinstance(self.globals[g.id], Members)
        for k, v in enumerate(made):
            v.read = True
            v.assigned = role in ("output", "local") and stored and (not pipeline or (g.id, k) in members)
            if role == "input" and v.semantic == "NONE":
                raise ShadingError(0, f"`{v.name}`: the chip has no such input")
        return [v for v in made if v.semantic != "NONE"]

    def _variable(self, n: int, member: int, name: str, kind: Type, role: str) -> ShaderVariable:
        """Return a variable with what is said about an id or its member."""
        name = re.sub(r"[^\w.]", "_", name, flags=re.ASCII)
        unique = name if name not in self.used_names else f"{name}_{n}"
        self.used_names.add(unique)
        v = ShaderVariable(unique, kind, role, 0)
        said = self.module.said(n, spv.USER_SEMANTIC, member).upper()
        built_in = self.module.number(n, spv.BUILT_IN, member)
        location = self.module.number(n, spv.LOCATION, member)
        if built_in is not None:
            v.semantic = spv.BUILT_INS.get(built_in, "NONE")
        elif said and not (role == "input" and said.startswith("SV_") and self.stage == "fragment"):
            v.semantic = said
        elif location is not None:
            v.layout = {"location": location}
            if role == "output" and self.stage == "fragment" and location:
                raise ShadingError(0, f"`{name}` is result {location}; a program of the chip has one, 0")
        if self.module.mark(n, spv.CENTROID, member) is not None:
            v.qualifiers = frozenset(("centroid",))
        binding = self.module.number(n, spv.BINDING, member)
        if role == "sampler" and binding is not None and binding < 16:
            v.layout = {"binding": binding}
        return v

    def _member(self, g: GlobalVariable, kind: StructType, k: int, role: str, owner: str) -> ShaderVariable:
        """Return the variable that a member of a block is: by its own name, after the block's where that is taken."""
        name = kind.fields[k].name
        if name in self.used_names and owner:
            name = f"{owner}.{name}"
        v = self._variable(g.type_id, k, name, kind.fields[k].type, role)
        v.columns = self.module.mark(g.type_id, spv.ROW_ORDER, k) is not None
        return v

    # --- functions ---------------------------------------------------------------------------------------------------
    def inline(self, f: SpirvFunction, arguments: list[Typed]) -> Values:
        """Put a function in the place of its call; return its result."""
        self.depth += 1
        if self.depth > DEEPEST_CALL:
            raise ShadingError(self.pos, "functions call each other too deeply")
        if not f.blocks or len(arguments) != len(f.parameters):
            raise ShadingError(self.pos, "what a function does is not there")
        outer = self.frame, self.blocks, self.phis, self.current
        self.frame = {n: a for (n, _), a in zip(f.parameters, arguments, strict=True)}
        self.blocks = {b.label: self.meeting() for b in f.blocks}
        self.phis = {}
        for b in f.blocks:
            for i in b.phis:
                self.phis[i.word(1)] = self.variable_slots(self.module.type(i.word(0)))
        after = self.meeting()
        slots = [] if f.result is VOID else self.variable_slots(f.result)
        self.ends.append((after, slots))
        self.go(self.blocks[f.blocks[0].label])
        merges = _merges(f)
        for b in f.blocks:
            self._block(f, b, merges)
        self.ends.pop()
        self.frame, self.blocks, self.phis, self.current = outer
        self.enter(after)
        self.depth -= 1
        return [self.get(n) for n in slots]

    def _block(self, f: SpirvFunction, b: SpirvBlock, merges: dict[int, int]) -> None:
        here = self.blocks[b.label]
        self.function.blocks.append(here.block)
        self.b.enter(here.block)
        self.known, self.dead, self.current = {}, False, b.label
        for i in b.phis:
            self.keep(i, self.module.type(i.word(0)), [self.get(n) for n in self.phis[i.word(1)]])
        for i in b.body:
            self.step(i)
        if b.end is None:
            raise ShadingError(self.pos, "a block has no end")
        self._moved(b.end)
        self._end(f, b, b.end, merges)

    def _target(self, label: int, f: SpirvFunction) -> Meeting:
        """Give the phis of a block their values on the way there from here, and return it."""
        there = self.blocks.get(label)
        if there is None:
            raise ShadingError(self.pos, f"there is no block {label}")
        for b in f.blocks:
            if b.label == label:
                for i in b.phis:
                    self._phi(i)
        return there

    def _phi(self, i: SpirvInstruction) -> None:
        pairs = i.rest(2)
        for value, parent in zip(pairs[::2], pairs[1::2], strict=False):
            if parent == self.current:
                got = self.typed(value)
                if got.type != self.module.type(i.word(0)):
                    raise ShadingError(self.pos, f"id {value} is {got.type} in a phi of another type")
                self.put_all(self.phis[i.word(1)], self.value(got))

    def _end(self, f: SpirvFunction, b: SpirvBlock, i: SpirvInstruction, merges: dict[int, int]) -> None:
        name = spv.NAMES[i.op]
        if name == "Branch":
            self.go(self._target(i.word(0), f))
        elif name == "BranchConditional":
            (p,) = self.given(i, 0, Numeric(BOOL))
            yes, no = self._target(i.word(1), f), self._target(i.word(2), f)
            self.fork(p, yes, no)
        elif name == "Switch":
            self._switch(i, f)
        elif name == "ReturnValue":
            after, slots = self.ends[-1]
            got = self.typed(i.word(0))
            if got.type != f.result:
                raise ShadingError(self.pos, "a function returns a value of another type")
            self.put_all(slots, self.value(got))
            self.go(after)
        elif name == "Return":
            self.go(self.ends[-1][0])
        else:
            if name != "Unreachable":
                self._discard()
            self.go(self.blocks.get(merges.get(b.label, 0), self.exit))

    def _switch(self, i: SpirvInstruction, f: SpirvFunction) -> None:
        selector = self.numbers(i.word(0))
        if not selector.numeric.is_scalar or selector.numeric.base.kind not in ("int", "uint"):
            raise ShadingError(self.pos, "a switch is by an integer")
        value = self.value(selector)[0]
        default = self._target(i.word(1), f)
        pairs = i.rest(2)
        for literal, label in zip(pairs[::2], pairs[1::2], strict=False):
            to, following = self._target(label, f), self.meeting()
            self.fork(self.compare("==", value, Const(literal)), to, following)
            self.enter(following)
        self.go(default)

    # --- instructions ------------------------------------------------------------------------------------------------
    def step(self, i: SpirvInstruction) -> None:
        """Lower one instruction. Raises ShadingError."""
        self._moved(i)
        name = spv.NAMES.get(i.op)
        if name is not None and self.of_table(i, name):
            return
        do = getattr(self, f"op_{_LIKE.get(name or '', name)}", None)
        if do is None:
            what = f"Op{name}" if name else f"the operation with number {i.op}"
            raise ShadingError(self.pos, f"{what} of SPIR-V is not supported")
        do(i)

    def op_FunctionCall(self, i: SpirvInstruction) -> None:
        f = self.module.functions.get(i.word(2))
        if f is None:
            raise ShadingError(self.pos, f"id {i.word(2)} is not a function")
        arguments = [self.typed(n) for n in i.rest(3)]
        for (_, kind), a in zip(f.parameters, arguments, strict=False):
            wanted = kind.to if isinstance(kind, PointerType) else kind
            by_value = isinstance(a, Lowered) or isinstance(a.type, SamplerType)
            if a.type != wanted or not (by_value or isinstance(kind, PointerType)):
                raise ShadingError(self.pos, f"a function is given {a.type} and takes {wanted}")
        values = self.inline(f, arguments)
        if f.result is not VOID:
            self.keep(i, f.result, values)


def _merges(f: SpirvFunction) -> dict[int, int]:
    """Return where blocks that discard go on: what follows the selection that they alone are a way of."""
    before: dict[int, list[SpirvBlock]] = {}
    for b in f.blocks:
        if b.end is not None and spv.NAMES[b.end.op] in ("Branch", "BranchConditional"):
            for label in b.end.words[: 1 if spv.NAMES[b.end.op] == "Branch" else 3]:
                before.setdefault(label, []).append(b)
    return {label: found[0].merge for label, found in before.items()
            if len(found) == 1 and found[0].merge not in (0, label)}  # fmt: skip
