"""The Tesla CUDA ISA: declarations and semantics, in the order of the documents' chapters."""

from isakit.arch.tesla.tesla import tesla
from isakit.arch.tesla import integer  # noqa: F401 - importing registers the records

__all__ = ["tesla"]
