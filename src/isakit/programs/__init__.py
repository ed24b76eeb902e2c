"""Files of programs: reading them (`load`), putting programs into them (`write`), and programs as modules.

What a file contains is a `Module` of `isakit.description`, its kernels are `Kernel` objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.lazy import lazy

if TYPE_CHECKING:
    from isakit.programs.like import WrittenLike, put_back, split_text, write_like
    from isakit.programs.needs import completed, module_of
    from isakit.programs.reading import load, load_all
    from isakit.programs.writing import write

__all__ = [
    "WrittenLike",
    "completed",
    "load",
    "load_all",
    "module_of",
    "put_back",
    "split_text",
    "write",
    "write_like",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.programs.reading": "load load_all",
        "isakit.programs.needs": "completed module_of",
        "isakit.programs.like": "WrittenLike put_back split_text write_like",
        "isakit.programs.writing": "write",
    },
)
