"""Programs as modules, and what a kernel needs where its source does not say."""

from __future__ import annotations

from dataclasses import replace

from isakit.asm import Program
from isakit.codec import Immediate
from isakit.codec.instruction import registers_written
from isakit.description import Kernel, Module


def module_of(program: Program, name: str = "main") -> Module:
    """Return a program as a module of its kernels; code that belongs to no kernel becomes the kernel `name`.

    Kernels that were loaded from a file keep what their module says besides them: variables, constants, textures.
    """
    home = program.kernel.module if program.kernel is not None else None
    if home is not None:
        module = replace(home, kernels={})
    else:
        module = Module("text", program.isa, program.variant)
        if isinstance(program.file, Module):  # what the directives of the text say
            module = replace(program.file, kernels={})
        module.constants = program.constants
    for part in program.parts or (program,):
        kernel = part.kernel
        if kernel is None:
            kernel = Kernel(part.program_type if len(program.parts) > 1 else name)
            kernel.own(part)
        if kernel.module is None:
            module.add(kernel)
        else:
            module.kernels[kernel.name] = kernel
    return module


def completed(module: Module) -> Module:
    """Return a module in which what its kernels leave out is derived from their code and parameters.

    Registers are one more than the highest that the code writes, barriers one more than the highest that it names;
    shared memory has launch header and parameters.
    """
    described = "elfclass" in module.extra  # of a file that says where there is a parameter area
    return replace(module, kernels={name: _completed(k, described) for name, k in module.kernels.items()})


def _completed(kernel: Kernel, described: bool) -> Kernel:
    end = max((p.offset + p.size for p in kernel.params), default=0)
    return replace(
        kernel,
        registers=registers_written(kernel.program, "r") if kernel.registers is None else kernel.registers,
        shared_bytes=kernel.param_base + end if kernel.shared_bytes is None else kernel.shared_bytes,
        local_bytes=kernel.local_bytes or 0,
        barriers=_barriers(kernel.program) if kernel.barriers is None else kernel.barriers,
        param_bytes=end if kernel.param_bytes is None and not described else kernel.param_bytes,
    )


def _barriers(program: Program) -> int:
    """Return one more than the highest barrier the code names."""
    named = (o.value for i in program if i.mnemonic == "bar" for o in i.operands if o.name == "barrier"
             if isinstance(o, Immediate))  # fmt: skip
    return max((n + 1 for n in named), default=0)
