"""From IR text to callable machine code: host detection, optimisation, object cache.

Source of the settings: measurements of this project's engines; `docs/explanation/engines.md` has the reasons.
"""

# llvmlite has no type information.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from isakit.engine.llvm import vpternlog
from isakit.engine.llvm.exclusive import using_llvm
from isakit.errors import IsakitError
from isakit.object_cache import read_object, write_object

ENGINE_VERSION = "2"
OLDEST_LLVM = 19
"""The first version that knows `splat` constants."""

KEEPS_HALF = "intel_ocl_bicc"
"""A calling convention of IR that preserves 16 of the 32 registers of AVX-512; the usual one preserves none."""


class CodegenError(IsakitError):
    """LLVM refused generated code: a bug in isakit, with LLVM's message."""


def llvm_version() -> int:
    """Return the major version of the LLVM inside llvmlite."""
    return int(llvm.llvm_version_info[0])


@dataclass(frozen=True)
class Host:
    """Target of code. `embedded` tells whether AVX-512 instructions with embedded rounding may be used."""

    cpu: str
    features: str
    embedded: bool
    vector_bits: int

    @property
    def convention(self) -> str:
        """Return the calling convention of functions on vectors, as it is written before the type in IR."""
        return f"{KEEPS_HALF} " if self.embedded else ""

    @property
    def key(self) -> str:
        """Identifies target and compiler in the cache."""
        made_by = f"{ENGINE_VERSION}|{llvmlite.__version__}|{'.'.join(map(str, llvm.llvm_version_info))}"
        return f"{made_by}|{self.cpu}|{self.features}|{self.embedded}|{self.vector_bits}"


NEWEST_LLVM = 22
"""The last version that is known to have the option below; LLVM ends the process at an option it does not know."""
REGION_BUDGET = 1000
"""Blocks that LLVM's register allocator examines to find the best split of a live range (its own limit is 10,000).

The time it needs for that grows with the square of the kernel: of a kernel of 1,000 instructions it was two thirds
of the compilation. Kernels below some 100 instructions come out the same; with half as much matmul is a tenth
slower."""


@cache
def _limit_splitting() -> None:
    """Limit how LLVM splits live ranges to `REGION_BUDGET`, once: options belong to the process."""
    if llvm_version() <= NEWEST_LLVM:
        llvm.set_option("isakit", f"-grow-region-complexity-budget={REGION_BUDGET}")


@cache
def host(portable: bool = False) -> Host:
    """Return this machine, or its portable code path (no embedded rounding, 256-bit vectors)."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _limit_splitting()
    features = llvm.get_host_cpu_features()
    has = all(features.get(f, False) for f in ("avx512f", "avx512vl", "avx512dq", "avx512bw"))
    if portable or not has:
        names = ",".join(("+" if on and "avx512" not in n else "-") + n for n, on in features.items())
        return Host(llvm.get_host_cpu_name(), names, False, 256)
    return Host(llvm.get_host_cpu_name(), features.flatten(), True, 512)


def _machine(target: Host, level: int) -> llvm.TargetMachine:
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, jit=True
    )


def with_attributes(ir: str, target: Host) -> str:
    """Give every definition the target's vector width: without it LLVM aborts on 512-bit intrinsics."""
    width = target.vector_bits
    extra = f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
    return re.sub(r"^(define [^\n]*?)\s*\{$", rf"\1 {extra} {{", ir, flags=re.M)


def object_code(ir: str, target: Host, level: int = 2, keep: bool = True, quick: bool = False) -> bytes:
    """Compile IR text to an object file, through the cache if `keep`.

    `quick` replaces LLVM's optimisation pipeline by the few passes that vector code with its variables in memory needs.
    """
    text = with_attributes(ir, target)
    if not keep:
        return compile_text(text, target, level, quick)
    key = _name_of(text, target, level, quick)
    code = read_object("code", key)
    if code is None:
        code = compile_text(text, target, level, quick)
        write_object("code", key, code)
    return code


def _name_of(text: str, target: Host, level: int = 2, quick: bool = False) -> str:
    return hashlib.sha256("\0".join([target.key, f"{level} {quick}", text]).encode()).hexdigest()


def known_object_code(key: str, write: Callable[[], str], target: Host) -> bytes:
    """Return the object code of the IR text that `write` returns, from the cache if it is there, without the text.

    `key` covers everything that the text depends on. A text that is the same for several keys is compiled once.
    """
    kept = hashlib.sha256(f"{target.key}\0{key}".encode()).hexdigest()
    name = read_object("texts", kept)
    code = None if name is None else read_object("code", name.decode())
    if code is None:
        text = write()
        code = object_code(text, target)
        write_object("texts", kept, _name_of(with_attributes(text, target), target).encode())
    return code


def compile_text(text: str, target: Host, level: int, quick: bool) -> bytes:
    """Compile IR text that has its attributes. Raises CompileError."""
    with using_llvm:
        return _compile(text, target, level, quick)


def _compile(text: str, target: Host, level: int, quick: bool) -> bytes:
    machine = _machine(target, level)
    code = bytes(machine.emit_object(_optimised(text, machine, level, quick)))
    if not (target.embedded and vpternlog.may_hold_masked(code)):
        return code
    fenced = vpternlog.with_fences(str(_optimised(text, machine, level, quick)))
    if vpternlog.holds_masked(machine.emit_assembly(llvm.parse_assembly(fenced))):
        raise CodegenError("LLVM writes a masked vpternlog whose table may be wrong (llvm/llvm-project issue 157929)")
    return bytes(machine.emit_object(llvm.parse_assembly(fenced)))


def _optimised(text: str, machine: llvm.TargetMachine, level: int, quick: bool) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as e:
        raise CodegenError(str(e)) from e
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    if quick:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_aggressive_dce_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)
    elif level:
        builder.getModulePassManager().run(module, builder)
    return module


class LoadedCode:
    """Machine code in memory; keeps it alive as long as the object lives."""

    def __init__(self, code: bytes, target: Host) -> None:
        with using_llvm:
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(target, 2))
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return the address of a function."""
        return int(self._engine.get_function_address(name))

    def variable(self, name: str) -> int:
        """Return the address of a global variable."""
        return int(self._engine.get_global_value_address(name))

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """Return a ctypes function; calls release the GIL."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.address(name))


def build(ir: str, target: Host, level: int = 2) -> LoadedCode:
    """Compile (or fetch from the cache) and load."""
    return LoadedCode(object_code(ir, target, level), target)


def provide(name: str, address: int) -> None:
    """Make a function callable by name from code loaded later. It must stay loaded."""
    llvm.add_symbol(name, address)
