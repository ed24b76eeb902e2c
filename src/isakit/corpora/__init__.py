"""Many files and many launches: indexes of all programs in a corpus, and sweeps, on one machine or on a cluster.

`scan` needs the extra `index` (pyarrow); a Dask cluster and object stores need the extra `distributed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.lazy import lazy

if TYPE_CHECKING:
    from isakit.corpora.query import FoundInstruction, SimilarKernel, find, similar
    from isakit.corpora.scanning import ScanReport, scan
    from isakit.corpora.sweeping import Job, SweepResult, sweep

__all__ = ["FoundInstruction", "Job", "ScanReport", "SimilarKernel", "SweepResult", "find", "scan", "similar", "sweep"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.corpora.query": "FoundInstruction SimilarKernel find similar",
        "isakit.corpora.scanning": "ScanReport scan",
        "isakit.corpora.sweeping": "Job SweepResult sweep",
    },
)
