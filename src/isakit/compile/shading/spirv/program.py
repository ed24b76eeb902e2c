"""An entry point of a SPIR-V module as one function of the IR, and its interface."""

from __future__ import annotations

import re

from isakit.compile.ir import Const
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.spirv import opcodes as spv
from isakit.compile.shading.spirv.control import SpirvControl
from isakit.compile.shading.spirv.module import GlobalVariable
from isakit.compile.shading.spirv.values import Members
from isakit.compile.shading.typed import (
    ShaderVariable,
    TypedName,
)
from isakit.compile.shading.types import VOID, SamplerType, StructType, Type, innermost


class SpirvProgram(SpirvControl):
    """The lowering of one entry point of a module to its function and interface."""

    # --- the whole ---------------------------------------------------------------------------------------------------
    def lower_entry(self, function: int) -> None:
        """Lower the entry point. Raises ShadingError."""
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
        self._write()

    def _touched(self) -> tuple[set[int], set[int], set[tuple[int, int]]]:
        """Return the ids that functions use, those they may store to, and (id, member) of the members they point to."""
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
        """Return the shader's variables for a global variable of the module."""
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
            of = innermost(kind)
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
        """Return a variable with the decorations of an id or its member."""
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
        """Return the variable for a member of a block: under its own name, or after the block's if that is taken."""
        name = kind.fields[k].name
        if name in self.used_names and owner:
            name = f"{owner}.{name}"
        v = self._variable(g.type_id, k, name, kind.fields[k].type, role)
        v.columns = self.module.mark(g.type_id, spv.ROW_ORDER, k) is not None
        return v
