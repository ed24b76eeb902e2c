"""vµc: declarations and semantics of the video microcontroller, in the order of the documents' chapters."""

from isakit.arch.vuc import base, lut, special
from isakit.arch.vuc.faults import FAULTS
from isakit.arch.vuc.vuc import vuc

vuc.faults = FAULTS
vuc.complete()

__all__ = ["base", "lut", "special", "vuc"]
