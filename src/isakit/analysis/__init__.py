"""Static analyses of programs: control flow, loops, live registers.

Start with `control_flow(program)`. Nothing here knows an instruction set: the registers that an instruction reads and
writes and its branch targets come from its operands and its record.
"""

from isakit.analysis.chains import START, Chains
from isakit.analysis.control_flow import CodeBlock, ControlFlow, Edge, EdgeKind, FlowFunction, control_flow
from isakit.analysis.dominators import Loop, dominators, loops, post_dominators
from isakit.analysis.liveness import Liveness, liveness
from isakit.analysis.names import KernelNames
from isakit.analysis.notes import Notes, Phase, delay_slots, phases, repeats
from isakit.analysis.picture import dot, svg, text
from isakit.analysis.search import Pattern
from isakit.analysis.uniformity import Uniformity, dead_code
from isakit.analysis.values import Access, Loaded, LoadedPlusOffset, Values

__all__ = [
    "START",
    "Access",
    "Chains",
    "CodeBlock",
    "ControlFlow",
    "Edge",
    "EdgeKind",
    "FlowFunction",
    "KernelNames",
    "Liveness",
    "Loaded",
    "LoadedPlusOffset",
    "Loop",
    "Notes",
    "Pattern",
    "Phase",
    "Uniformity",
    "Values",
    "control_flow",
    "dead_code",
    "delay_slots",
    "dominators",
    "dot",
    "liveness",
    "loops",
    "phases",
    "post_dominators",
    "repeats",
    "svg",
    "text",
]
