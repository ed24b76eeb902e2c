"""Files of programs: reading them (`load`), putting programs into them (`write`), and programs as modules.

What a file contains is a `Module` of `isakit.description`, its kernels are `Kernel` objects.
"""

from isakit.programs.like import Written, put_back, split_text, write_like
from isakit.programs.load import load, load_all
from isakit.programs.needs import completed, module_of
from isakit.programs.write import write

__all__ = [
    "Written",
    "completed",
    "load",
    "load_all",
    "module_of",
    "put_back",
    "split_text",
    "write",
    "write_like",
]
