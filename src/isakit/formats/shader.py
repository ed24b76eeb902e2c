"""Shader files as modules: what every GXP file has besides its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from isakit.asm.printer import lines
from isakit.description import Module

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.formats.gxp import GxpFile, GxpParameter


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
        """The program that runs once before."""
        return self.kernels["secondary"].program

    def directives(self) -> list[str]:
        """What the file says besides its programs, as lines of a source text."""
        from isakit.formats.gxp_listing import gxp_lines  # it reads the records that this module's importer defines

        return list(gxp_lines(self.file, self.primary, self.secondary))

    def listing(self, *, words: bool = True, labels: bool = True) -> str:
        """The whole file as a text that `isakit.programs.write(program, "gxp")` makes the same file of."""
        out = self.directives()
        for name, program in (("primary", self.primary), ("secondary", self.secondary)):
            if len(program):
                out += [f".program {name}", *lines(program, words=words, labels=labels, header=False)]
        return "".join(f"{line}\n" for line in out)
