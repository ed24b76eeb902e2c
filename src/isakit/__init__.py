"""isakit: read, write and run instruction sets that were reverse-engineered instead of documented.

Everything public is a name of this package; what a name needs is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from isakit.errors import (
    AsmError,
    BudgetExceeded,
    CompileError,
    DefinitionError,
    Diagnostic,
    EncodeError,
    FormatError,
    IsakitError,
    LaunchError,
    MachineFault,
    NotModelled,
    UnknownIsaError,
)

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.codec import (
        CodeAddress,
        Condition,
        Flag,
        Immediate,
        Instruction,
        Memory,
        Operand,
        Register,
        SpecialRegister,
    )
    from isakit.description import Kernel, Module, Param
    from isakit.instruction_sets import Isa, isa
    from isakit.programs import load, load_all
    from isakit.runtime import Device
    from isakit.runtime.python_kernel import kernel

__version__ = "0.1.0"

_LAZY = {
    "Device": "isakit.runtime",
    "Instruction": "isakit.codec",
    **dict.fromkeys(
        ("CodeAddress", "Condition", "Flag", "Immediate", "Memory", "Operand", "Register", "SpecialRegister"),
        "isakit.codec",
    ),
    "Isa": "isakit.instruction_sets",
    "Kernel": "isakit.description",
    "Module": "isakit.description",
    "Param": "isakit.description",
    "Program": "isakit.asm",
    "isa": "isakit.instruction_sets",
    "kernel": "isakit.runtime.python_kernel",
    "load": "isakit.programs",
    "load_all": "isakit.programs",
}
_SUBMODULES = ("docsgen", "formats", "tesla", "usse", "vuc")

__all__ = [
    "AsmError",
    "BudgetExceeded",
    "CodeAddress",
    "CompileError",
    "Condition",
    "DefinitionError",
    "Device",
    "Diagnostic",
    "EncodeError",
    "Flag",
    "FormatError",
    "Immediate",
    "Instruction",
    "Isa",
    "IsakitError",
    "Kernel",
    "LaunchError",
    "MachineFault",
    "Memory",
    "Module",
    "NotModelled",
    "Operand",
    "Param",
    "Program",
    "Register",
    "SpecialRegister",
    "UnknownIsaError",
    "isa",
    "kernel",
    "load",
    "load_all",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"isakit.{name}")
    else:
        raise AttributeError(f"module 'isakit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_SUBMODULES})
