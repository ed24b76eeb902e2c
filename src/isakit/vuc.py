r"""The video microcontroller: `Core` runs its programs, `lint` reads them, `Options` settles what is not documented.

What every instruction set has here: `VARIANTS`, `isa`, `Machine`, `target` (see the reference).

>>> core = Core("vp3")
>>> core.load("mov $r1 0x7\nadd $r1 $r1 $r1\nend: bra end\nnop")
>>> core.run(stop_spinning=True).reason, core.r[1]
('spinning', 14)
"""

from __future__ import annotations

from isakit.instruction_sets import Isa
from isakit.instruction_sets import isa as _isa
from isakit.machine.targets import target_of as target
from isakit.machine.vuc.core import CoreMachine as Machine
from isakit.machine.vuc.mbring_packets import (
    MotionVector,
    PredictionWeight,
    coded_packet,
    coefficients_packet,
    end_packet,
    header_packet,
    mpeg_error_packet,
    mpeg_header_packet,
    mpeg_vectors_packet,
    packet,
    samples_packet,
    vectors_packet,
    weights_packet,
)
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.watch import Cycle, Hazard
from isakit.registry import VARIANTS as _VARIANTS
from isakit.runtime.vuc import Core, Stop
from isakit.runtime.vuc_lint import Finding, lint

VARIANTS = _VARIANTS["vuc"]


def isa(variant: str | None = None) -> Isa:
    """Return the instruction set in a variant. Raises UnknownIsaError."""
    return _isa("vuc", variant)


__all__ = [
    "VARIANTS",
    "Core",
    "Cycle",
    "Finding",
    "Hazard",
    "Machine",
    "MotionVector",
    "Options",
    "PredictionWeight",
    "Stop",
    "coded_packet",
    "coefficients_packet",
    "end_packet",
    "header_packet",
    "isa",
    "lint",
    "mpeg_error_packet",
    "mpeg_header_packet",
    "mpeg_vectors_packet",
    "packet",
    "samples_packet",
    "target",
    "vectors_packet",
    "weights_packet",
]
