"""The output register of a fragment program: the layout of colours in it, by GXM's names of formats.

A program outputs its colour in the type that its file declares; code appended by the driver converts it to the format
of the output register, which the target requires. A program with native colour writes the register itself, so that its
format must be the declared one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.formats.gxp import NATIVE_COLOR, TYPES, FragmentVaryings, GxpFile
from isakit.runtime import usse_layout as layout

OUTPUT_FORMATS = {"uchar4": ("u8", 4), "char4": ("s8", 4), "ushort2": ("u16", 2), "short2": ("s16", 2),
                  "half4": ("f16", 4), "half2": ("f16", 2), "float2": ("f32", 2), "float": ("f32", 1)}  # fmt: skip
"""Type and number of components by the name of the format."""


@dataclass(frozen=True)
class OutputRegister:
    """Colours as words of type `ty`, `components` of them."""

    ty: str
    components: int

    @staticmethod
    def declared(gxp: GxpFile) -> OutputRegister:
        """Return the output register that the file of a fragment program declares."""
        v = gxp.varyings
        assert isinstance(v, FragmentVaryings)
        return OutputRegister(TYPES[int(v.output_type)], max(1, int(v.output_components)))

    @staticmethod
    def asked(name: str, gxp: GxpFile) -> OutputRegister:
        """Return the format `name` (`declared`, `uchar4`, `half4` ...) for a program.

        Raises LaunchError for names that do not exist, and for programs that write another format themselves.
        """
        declared = OutputRegister.declared(gxp)
        if name == "declared":
            return declared
        if name not in OUTPUT_FORMATS:
            raise LaunchError(f"no output format {name!r}; there are: declared, {', '.join(OUTPUT_FORMATS)}")
        found = OutputRegister(*OUTPUT_FORMATS[name])
        if gxp.flags & NATIVE_COLOR and found != declared:
            raise LaunchError(f"the shader writes its colours itself, as {declared}; {name} asks for {found}")
        return found

    @property
    def words(self) -> int:
        """Registers of a colour."""
        return len(self.packed(np.zeros((1, self.components), np.float32))[0])

    def packed(self, colors: Array) -> Array:
        """Return colours [n, components] as u32 [n, words].

        Integers are fractions of their largest value: clamped, and rounded to the nearest. Missing components are 0, a
        missing fourth one is 1.
        """
        rows = np.zeros((len(colors), self.components), np.float32)
        rows[:, 3:] = 1
        n = min(self.components, colors.shape[1])
        rows[:, :n] = colors[:, :n]
        scale = layout.SCALES.get(self.ty)
        if scale:
            low = -1 if self.ty[0] == "s" else 0
            rows = np.rint(np.clip(np.nan_to_num(rows, nan=0.0), low, 1).astype(np.float64) * scale)
        with np.errstate(over="ignore"):
            return layout.to_words(rows, self.ty)

    def unpacked(self, words: Array) -> Array:
        """Return the colours in registers [n, words] as f32 [n, components]."""
        return layout.from_words(words, self.ty, self.components).copy()

    def __str__(self) -> str:
        return f"{self.components} x {self.ty}"
