"""The Tesla CUDA ISA: declarations and semantics, in the order of the documents' chapters."""

from isakit.arch.tesla.faults import FAULTS
from isakit.arch.tesla.tesla import tesla
from isakit.spec.folder import import_folder

import_folder(__name__, __file__)  # importing a module registers its records
tesla.faults = FAULTS
tesla.complete()

__all__ = ["tesla"]
