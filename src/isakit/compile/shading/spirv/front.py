"""From a SPIR-V file to a function of the IR and the shader's interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isakit.compile.shader import ShaderInterface
from isakit.compile.shading.front import STAGES, Front
from isakit.compile.shading.source import ShaderSources, ShadingError
from isakit.compile.shading.spirv.module import EntryPoint, SpirvModule
from isakit.compile.shading.spirv.places import Places
from isakit.compile.shading.spirv.program import SpirvProgram
from isakit.compile.shading.spirv.words import SpirvInstruction, read_words
from isakit.errors import IsakitError

_MODELS = {0: "vertex", 4: "fragment"}


@dataclass
class SpirvFile:
    """A parsed module, and its selected entry point."""

    module: SpirvModule
    instructions: list[SpirvInstruction]
    sources: ShaderSources
    entry: EntryPoint
    stage: str


def read_spirv(data: bytes, path: str, stage: str | None = None, name: str = "") -> SpirvFile:
    """Read a module and choose its program, by stage and name where there are several.

    Raises CompileError for a damaged file, and if no program or more than one matches.
    """
    if stage is not None and stage not in STAGES:
        raise IsakitError(f"{stage!r} is not a stage; there are {' and '.join(STAGES)}")
    sources = ShaderSources()
    sources.add(path, "")
    try:
        instructions = read_words(data)
        module = SpirvModule(instructions)
        known = [e for e in module.entries if e.model in _MODELS]
        found = [e for e in known if stage in (None, _MODELS[e.model]) and name in ("", e.name)]
        if len(found) > 1 and not name:
            found = [e for e in found if e.name == "main"] if sum(e.name == "main" for e in found) == 1 else found
        if len(found) != 1:
            there = (
                ", ".join(f"{_MODELS[e.model]} `{e.name[:40]}`" for e in known)
                or "none of a vertex or fragment program"
            )
            raise ShadingError(
                0, f"{'several programs are' if found else 'no program is'} meant", 1, (f"there is {there}",)
            )
    except ShadingError as e:
        raise sources.failure([e]) from None
    return SpirvFile(module, instructions, sources, found[0], _MODELS[found[0].model])


def spirv_front(file: SpirvFile, target: str = "f16x4", varyings: Mapping[str, str] | None = None) -> Front:
    """Lower the program of a module. Raises CompileError for unsupported features."""
    interface = ShaderInterface(file.stage, target=target)
    try:
        places = Places(file.module, file.instructions, file.sources)
        program = SpirvProgram(file.module, interface, file.sources, places, varyings or {})
        program.lower_entry(file.entry.function)
    except ShadingError as e:
        raise file.sources.failure([e]) from None
    return Front(program.function, interface, file.sources)
