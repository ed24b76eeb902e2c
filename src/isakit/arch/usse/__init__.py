"""The PowerVR USSE: declarations and semantics, by kinds of instructions."""

from isakit.arch.usse.faults import FAULTS
from isakit.arch.usse.usse import usse
from isakit.spec.folder import import_folder

import_folder(__name__, __file__)  # importing a module registers its records
usse.faults = FAULTS
usse.complete()

__all__ = ["usse"]
