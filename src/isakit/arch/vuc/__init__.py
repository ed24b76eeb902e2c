"""vµc: declarations and semantics of the video microcontroller, in the order of the documents' chapters."""

from isakit.arch.vuc.faults import FAULTS
from isakit.arch.vuc.vuc import vuc
from isakit.spec.folder import import_folder

import_folder(__name__, __file__)  # importing a module registers its records
vuc.faults = FAULTS
vuc.complete()

__all__ = ["vuc"]
