r"""The video microcontroller: `Core` runs its programs, `lint` reads them, `Options` settles what nobody documented.

>>> core = Core("vp3")
>>> core.load("mov $r1 0x7\nadd $r1 $r1 $r1\nend: bra end\nnop")
>>> core.run(stop_spinning=True).reason, core.r[1]
('spinning', 14)
"""

from __future__ import annotations

from isakit.machine.vuc.mbring import coded_packet, header_packet, packet, vectors_packet
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.watch import Cycle, Hazard
from isakit.runtime.vuc import Core, Stop
from isakit.runtime.vuc_lint import Finding, lint

__all__ = [
    "Core",
    "Cycle",
    "Finding",
    "Hazard",
    "Options",
    "Stop",
    "coded_packet",
    "header_packet",
    "lint",
    "packet",
    "vectors_packet",
]
