"""Shader files as modules: what every GXP file has besides its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

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
