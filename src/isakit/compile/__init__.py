"""A compiler from PTX to the Tesla instruction set: the open counterpart of `ptxas` for sm_10 to sm_13.

`ptx` reads the text, `translate` turns it into the operations of `ops` in the form of `ir`, `passes` improve that
form, `lower` makes machine instructions of it. `driver.compile_ptx` is the way in.
"""

from isakit.compile.driver import Compiled, compile_ptx
from isakit.compile.ptx import is_ptx

__all__ = ["Compiled", "compile_ptx", "is_ptx"]
