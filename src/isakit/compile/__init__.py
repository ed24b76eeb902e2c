"""A compiler from PTX to the Tesla instruction set: the open counterpart of `ptxas` for sm_10 to sm_13.

`ptx` reads the text, `translate` turns it into the operations of `ops` in the form of `ir`, `passes` improve that form,
`lower` selects machine instructions for it. The entry point is `driver.compile_ptx`. `shading` reads Cg and GLSL into
the same form, and SPIR-V, to which other compilers translate HLSL and more of GLSL; `usse` makes shader files of it.
"""

from __future__ import annotations

from isakit.lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from isakit.compile.driver import Compiled, compile_ptx
    from isakit.compile.ptx import is_ptx

__all__ = ["Compiled", "compile_ptx", "is_ptx"]

__getattr__, __dir__ = lazy(__name__, {"isakit.compile.driver": "Compiled compile_ptx", "isakit.compile.ptx": "is_ptx"})
