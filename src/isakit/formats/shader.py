"""Shader files as modules: what every GXP file has besides its programs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

from isakit.asm.printer import lines
from isakit.description import Kernel, Module, bytes_of
from isakit.errors import FormatWarning
from isakit.formats.gxp import GxpFile, GxpParameter, VertexVaryings, output_words, parse_gxp, stored_output_words

if TYPE_CHECKING:
    from isakit.asm import Program


class Shader(Module):
    """A shader file (GXP): a module whose programs are `primary` and `secondary`."""

    @property
    def file(self) -> GxpFile:
        """The parsed file."""
        return cast("GxpFile", self.payload)

    @property
    def stage(self) -> str:
        """`vertex` or `fragment`."""
        return self.file.stage

    @property
    def parameters(self) -> list[GxpParameter]:
        """Attributes, uniforms and samplers the shader names."""
        return self.file.parameters

    @property
    def primary(self) -> Program:
        """The program that runs for every vertex or pixel."""
        return self.kernels["primary"].program

    @property
    def secondary(self) -> Program:
        """The secondary program, which runs once before the primary one runs for every vertex or pixel."""
        return self.kernels["secondary"].program

    def directives(self) -> list[str]:
        """Write the rest of the file, without its programs, as lines of a source text."""
        from isakit.formats.gxp_text import gxp_lines  # few readers of shaders want it

        return list(gxp_lines(self.file, self.primary, self.secondary))

    def complaints(self) -> list[str]:
        """Return the complaints of a strict loader, in one line each; none if all fits together."""
        from isakit.formats.gxp_rules import complaints  # few readers of shaders want it

        return complaints(self.file, self.primary, self.secondary)

    def listing(self, *, words: bool = True, labels: bool = True) -> str:
        """Return the whole file as a text from which `isakit.programs.write(program, "gxp")` makes it again."""
        out = self.directives()
        for name, program in (("primary", self.primary), ("secondary", self.secondary)):
            if len(program):
                out += [f".program {name}", *lines(program, words=words, labels=labels, header=False)]
        return "".join(f"{line}\n" for line in out)


def read_gxp(data: bytes, path: str | None = None, offset: int = 0) -> Shader:
    """Read a GXP file as a module with the programs `primary` and `secondary`; `payload` is the `GxpFile`."""
    gxp = parse_gxp(data, path, offset)
    _compare_output_words(gxp, path)
    module = Shader("gxp", "usse", "sgx543", path=path, offset=offset, size=len(data), payload=gxp)
    for name, words in (("primary", gxp.primary), ("secondary", gxp.secondary)):
        module.add(Kernel(name, bytes_of(words, 8), 0, gxp.temp_registers, shared_bytes=0, local_bytes=0, barriers=0))
    module.extra["stage"] = gxp.stage
    return module


def _compare_output_words(gxp: GxpFile, path: str | None) -> None:
    """Warn where the file counts other output registers than its results take."""
    v = gxp.varyings
    if not isinstance(v, VertexVaryings):
        return
    stored, words = stored_output_words(v.outputs1), output_words(v.outputs1, v.outputs2)
    if stored != words:
        warnings.warn(
            f"{path or '<data>'}: the header counts {stored} output registers, the results it names take {words}",
            FormatWarning,
            stacklevel=3,
        )
