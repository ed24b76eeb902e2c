"""The hardware lowerings of float operations a target can use, by name of the operation."""

from __future__ import annotations

from isakit.engine.llvm.convert_lowerings import EMBEDDED_CONVERSIONS
from isakit.engine.llvm.f32_lowerings import PORTABLE_F32, embedded_f32
from isakit.engine.llvm.f64_lowerings import EMBEDDED_F64, PORTABLE_F64
from isakit.engine.llvm.sfu_lowerings import sfu_lowerings
from isakit.engine.llvm.target import Host
from isakit.engine.llvm.values import Native


def float_lowerings(target: Host, *, raw: bool = False) -> dict[str, Native]:
    """Return the lowerings for a target; `raw`: results may be any NaN, for readers to which all are equal."""
    if target.embedded:
        return {**embedded_f32(target.cpu, raw), **EMBEDDED_F64, **EMBEDDED_CONVERSIONS, **sfu_lowerings(target)}
    found = {**PORTABLE_F32, **PORTABLE_F64, **sfu_lowerings(target)}
    if "+fma" not in target.features.split(","):
        del found["f64_fma"]  # LLVM would call a function of the C library
    return found
