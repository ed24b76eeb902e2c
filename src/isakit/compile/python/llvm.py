"""LLVM IR to PTX, with the NVPTX target that llvmlite brings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

from isakit.compile.debug_records import as_debug_build, marked
from isakit.compile.lockstep import marked_shared, unmarked
from isakit.errors import HostError, IsakitError, NotModelled

TRIPLE = "nvptx64-nvidia-cuda"
CPU = "sm_20"
"""The oldest chip LLVM supports; features that older chips lack are expanded or refused by name."""
_HEAD = re.compile(r"(?m)^\.(version|target|address_size).*$")


@cache
def _library() -> ModuleType:
    """Return llvmlite. Raises HostError where it is not installed."""
    try:
        return importlib.import_module("llvmlite.binding")
    except ImportError:
        raise HostError("Python kernels are compiled by llvmlite, which is not here") from None


def _target() -> Any:
    llvm = _library()
    try:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        return llvm.Target.from_triple(TRIPLE)
    except RuntimeError as e:
        raise NotModelled("this llvmlite's LLVM", f"it has no NVPTX target ({e})") from e


def ptx_of(ir: str, optimize: int = 2, named: bool = False, debug_build: bool = False) -> str:
    """Return the PTX of a module of LLVM IR; `named`: with marks where variables change (`compile.debug_records`).

    `debug_build`: variables keep the values that the source gives them.
    """
    llvm = _library()
    machine = _target().create_target_machine(cpu=CPU, opt=optimize)
    module = llvm.parse_assembly(marked_shared(ir))
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3 if optimize else 0)
    options.loop_unrolling = True  # of the loops that say so, at level 3 up to 300 instructions and at 2 up to 150
    builder = llvm.create_pass_builder(machine, options)
    passes = _promotion(llvm) if debug_build else builder.getModulePassManager()
    passes.run(module, builder)
    if named or debug_build:
        module = llvm.parse_assembly(marked(str(module)))
        module.verify()
    ptx = unmarked(machine.emit_assembly(module), ir)
    return as_debug_build(ptx) if debug_build else ptx


def promoted(ir: str) -> str | None:
    """Return unoptimised LLVM IR with calls inlined and variables in registers; None if it cannot be read.

    Nothing else is changed, so that its debug records are those of the source. Another version of LLVM may have written
    it.
    """
    try:
        llvm = _library()
        machine = _target().create_target_machine(cpu=CPU)
        module = llvm.parse_assembly(_inlined(ir))
        module.verify()
    except (RuntimeError, IsakitError):
        return None
    _promotion(llvm).run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return str(module)


def _inlined(ir: str) -> str:
    """Return LLVM IR in which all functions except kernels are inlined into their callers."""
    ir = re.sub(r"(?m)^(attributes #\d+ = \{.*?) (?:noinline|optnone)\b", r"\1", ir)
    return re.sub(r"(?m)^(define (?!.*\bptx_kernel\b)[^#]*)( #\d+)", r"\1 alwaysinline\2", ir)


def _promotion(llvm: ModuleType) -> Any:
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_global_dead_code_eliminate_pass()
    return passes


def one_text(texts: Sequence[str]) -> str:
    """Join PTX texts written by LLVM; the header of the first one is kept."""
    return texts[0] + "".join(_HEAD.sub("", t) for t in texts[1:])
