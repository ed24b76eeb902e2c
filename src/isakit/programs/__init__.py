"""Files of programs: reading them (`load`), putting programs into them (`write`), and programs as modules.

What a file contains is a `Module` of `isakit.description`, its kernels are `Kernel` objects.
"""

from isakit.programs.load import load, load_all
from isakit.programs.needs import completed, module_of
from isakit.programs.write import write, write_like

__all__ = ["completed", "load", "load_all", "module_of", "write", "write_like"]
