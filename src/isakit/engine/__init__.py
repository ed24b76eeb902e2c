"""Ways to run traces. `reference` turns a trace into Python; every other engine is compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.lazy import lazy

if TYPE_CHECKING:
    from isakit.engine.protocol import Control, Lanes, LaneState
    from isakit.engine.reference import CompiledTrace, compile_trace, evaluate

__all__ = ["CompiledTrace", "Control", "LaneState", "Lanes", "compile_trace", "evaluate"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.engine.protocol": "Control LaneState Lanes",
        "isakit.engine.reference": "CompiledTrace compile_trace evaluate",
    },
)
