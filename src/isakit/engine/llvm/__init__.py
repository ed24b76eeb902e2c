"""LLVM building blocks: values to IR, native lowerings, compilation with a cache. Knows no instruction set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.lazy import lazy

if TYPE_CHECKING:
    from isakit.engine.llvm.builder import Builder, Ref
    from isakit.engine.llvm.environment import flushing
    from isakit.engine.llvm.f32_lowerings import CAREFUL_MAD, careful_mad
    from isakit.engine.llvm.ieee_lowerings import ieee_natives, rsqrt_f32
    from isakit.engine.llvm.ir_text import METADATA, LlvmModule, signed_text
    from isakit.engine.llvm.straight import StraightLineCode, StraightLineInstruction, VectorBank, Write, bound
    from isakit.engine.llvm.target import (
        OLDEST_LLVM,
        CodegenError,
        Host,
        LoadedCode,
        build,
        host,
        known_object_code,
        llvm_version,
        object_code,
        provide,
    )
    from isakit.engine.llvm.values import ValueLowering
    from isakit.object_cache import read_object, remembered, write_object

__all__ = [
    "CAREFUL_MAD",
    "METADATA",
    "OLDEST_LLVM",
    "Builder",
    "CodegenError",
    "Host",
    "LlvmModule",
    "LoadedCode",
    "Ref",
    "StraightLineCode",
    "StraightLineInstruction",
    "ValueLowering",
    "VectorBank",
    "Write",
    "bound",
    "build",
    "careful_mad",
    "flushing",
    "host",
    "ieee_natives",
    "known_object_code",
    "llvm_version",
    "object_code",
    "provide",
    "read_object",
    "remembered",
    "rsqrt_f32",
    "signed_text",
    "write_object",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.engine.llvm.environment": "flushing",
        "isakit.engine.llvm.f32_lowerings": "CAREFUL_MAD careful_mad",
        "isakit.engine.llvm.ieee_lowerings": "ieee_natives rsqrt_f32",
        "isakit.engine.llvm.builder": "Builder Ref",
        "isakit.engine.llvm.ir_text": "METADATA LlvmModule signed_text",
        "isakit.engine.llvm.straight": "VectorBank StraightLineInstruction StraightLineCode Write bound",
        "isakit.engine.llvm.target": """
            OLDEST_LLVM CodegenError Host LoadedCode build host known_object_code llvm_version object_code
            provide
        """,
        "isakit.engine.llvm.values": "ValueLowering",
        "isakit.object_cache": "read_object remembered write_object",
    },
)
