"""LLVM building blocks: values to IR, native lowerings, compilation with a cache. Knows no instruction set."""

from isakit.engine.llvm.f32_lowerings import CAREFUL_MAD, EMBEDDED, PORTABLE, RAW, careful_mad
from isakit.engine.llvm.ieee_lowerings import ieee_natives, rsqrt_f32
from isakit.engine.llvm.ir_text import Body, Module, Ref, signed_text
from isakit.engine.llvm.straight import Bank, Piece, Straight, Write, bound
from isakit.engine.llvm.target import (
    OLDEST_LLVM,
    CompileError,
    Host,
    Loaded,
    build,
    cache_folder,
    flushing_wrapper,
    host,
    llvm_version,
    object_code,
    provide,
    write_atomically,
)
from isakit.engine.llvm.values import ValueLowering

__all__ = [
    "CAREFUL_MAD",
    "EMBEDDED",
    "OLDEST_LLVM",
    "PORTABLE",
    "RAW",
    "Bank",
    "Body",
    "CompileError",
    "Host",
    "Loaded",
    "Module",
    "Piece",
    "Ref",
    "Straight",
    "ValueLowering",
    "Write",
    "bound",
    "build",
    "cache_folder",
    "careful_mad",
    "flushing_wrapper",
    "host",
    "ieee_natives",
    "llvm_version",
    "object_code",
    "provide",
    "rsqrt_f32",
    "signed_text",
    "write_atomically",
]
