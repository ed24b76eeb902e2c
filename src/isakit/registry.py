"""Names of instruction sets, chips and architectures, and the mark of SPIR-V.

Asking for them loads no instruction set, format or compiler.
"""

from __future__ import annotations

from collections.abc import Mapping

VARIANTS = {
    "tesla": ("g80", "g84", "gt200", "gt215", "mcp77"),
    "vuc": ("vp2", "vp3", "vp4"),
    "usse": ("sgx543", "seed"),
}
"""Instruction set -> its variants."""

SPIRV_MAGIC = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")
"""Beginnings of files with SPIR-V: little-endian and big-endian."""

ARCH_TO_VARIANT: Mapping[str, str] = {"sm_10": "g80", "sm_11": "g84", "sm_12": "gt215", "sm_13": "gt200"}
# CUDA calls mcp77 sm_11, but it has the instructions of sm_12, and that is what a file has to say. [tesla] 1
VARIANT_TO_ARCH: Mapping[str, str] = {v: k for k, v in ARCH_TO_VARIANT.items()} | {"mcp77": "sm_12"}
