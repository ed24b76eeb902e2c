"""isakit: read, write and run instruction sets that were reverse-engineered instead of documented.

Everything public is a name of this package; what a name needs is imported when it is first used.
"""

from __future__ import annotations

from isakit.lazy import lazy

TYPE_CHECKING = False  # as in `typing`, whose import an interrupt would find without a handler
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
    from isakit.compile.shading.compiled import compile_shader
    from isakit.corpora import sweep
    from isakit.description import Kernel, Module, Param
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
    from isakit.instruction_sets import Isa, isa
    from isakit.notebook import load_ipython_extension
    from isakit.programs import load, load_all
    from isakit.runtime import Device
    from isakit.runtime.python_kernel import kernel

__version__ = "0.2.0"

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
    "compile_shader",
    "isa",
    "kernel",
    "load",
    "load_all",
    "load_ipython_extension",
    "sweep",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.asm": "Program",
        "isakit.codec": "CodeAddress Condition Flag Immediate Instruction Memory Operand Register SpecialRegister",
        "isakit.compile.shading.compiled": "compile_shader",
        "isakit.corpora": "sweep",
        "isakit.description": "Kernel Module Param",
        "isakit.errors": (
            "AsmError BudgetExceeded CompileError DefinitionError Diagnostic EncodeError FormatError IsakitError "
            "LaunchError MachineFault NotModelled UnknownIsaError"
        ),
        "isakit.instruction_sets": "Isa isa",
        "isakit.notebook": "load_ipython_extension",
        "isakit.programs": "load load_all",
        "isakit.runtime": "Device",
        "isakit.runtime.python_kernel": "kernel",
        **dict.fromkeys(
            (
                "isakit.analysis",
                "isakit.docsgen",
                "isakit.export",
                "isakit.formats",
                "isakit.tesla",
                "isakit.usse",
                "isakit.vuc",
            ),
            "",
        ),
    },
)
