"""Cost of a shader, as far as it can be known statically: instructions on its paths, texture reads, registers.

How many cycles an instruction takes is in no public source, so that issues are counted: an instruction that repeats
counts as often as it executes.
"""

from __future__ import annotations

import re

from isakit.analysis import ControlFlow, control_flow
from isakit.codec import Instruction
from isakit.compile.usse.shader_cost import CostNote, ShaderCost
from isakit.flow.graph import FlowGraph
from isakit.formats import Shader
from isakit.formats.gxp import NO_SOURCE, FragmentVaryings
from isakit.line_table import LineTable

FREE = ("phas", "nop", "emit")
"""Instructions that every program has, whatever it computes."""
_REPEAT = re.compile(r"\brepeat (\d+)")
_MOVES = ("vmov.", "vpck.", "or.u32", "limm.", "smp", "ldr.", "wdf", "kill", "br", "i16mad.", "phas", "nop", "emit")


def cost_of(shader: Shader) -> ShaderCost:
    """Return the cost of a shader; its notes have lines where its programs have line tables."""
    program, gxp = shader.primary, shader.file
    least, most = _issues(control_flow(program))
    floats = [i for i in program if not i.mnemonic.startswith(_MOVES)]
    f32 = [i for i in floats if ".f32" in i.mnemonic]
    f16 = [i for i in floats if ".f16" in i.mnemonic]
    samples = [i for i in program if i.mnemonic.startswith("smp")]
    inputs = gxp.varyings.inputs if isinstance(gxp.varyings, FragmentVaryings) else ()
    lines = shader.kernels["primary"].lines
    notes: list[CostNote] = []
    if shader.stage == "fragment":
        notes += _at_lines(samples, lines, "the program reads a texture here and waits: the coordinate is computed")
        if f32 and isinstance(gxp.varyings, FragmentVaryings) and gxp.varyings.output_type != 0:
            said = f"{len(f32)} of {len(f32) + len(f16)} operations are f32: half computes four components, float two"
            notes.append(CostNote(0, said))
    same = [i for i in floats if i.reads and i.writes and all(r.startswith("sa") for r in i.reads)]
    what = "vertex" if shader.stage == "vertex" else "pixel"
    notes += _at_lines(same, lines, f"this is computed for every {what} though only uniforms are in it")
    return ShaderCost(
        len(program), len(shader.secondary), least, most, sum(d.bits.coordinate != NO_SOURCE for d in inputs),
        len(samples), len(f32), len(f16), gxp.primary_registers, gxp.temp_registers, gxp.secondary_registers, notes,
    )  # fmt: skip


def _at_lines(found: list[Instruction], lines: LineTable | None, message: str) -> list[CostNote]:
    """Return a note for each source line of the given instructions, in the order of the lines."""
    rows = {where.line if (where := lines.at(i.address) if lines else None) else 0 for i in found}
    return [CostNote(line, message) for line in sorted(rows)]


def _weight(i: Instruction) -> int:
    if i.mnemonic in FREE:
        return 0
    found = _REPEAT.search(i.text)
    return int(found[1]) if found else 1


def _issues(flow: ControlFlow) -> tuple[int, int | None]:
    """Return the instructions on the shortest and on the longest path; None for the latter if a block repeats."""
    weights = [sum(map(_weight, b.instructions)) for b in flow.blocks]
    graph = FlowGraph(range(len(weights))[:1], lambda block: [e.target for e in flow.successors[block]])
    least: dict[int, int] = {}
    most: dict[int, int] = {}
    endless = any(to <= block for block, after in enumerate(graph.succs) for to in after)
    for _ in graph.nodes if endless else (0,):
        changed = False
        for block in reversed(range(len(graph))):
            after = graph.succs[block]
            ways_on = [least[t] for t in after if t in least]
            if after and not ways_on:
                continue
            weight = weights[graph.nodes[block]]
            got = weight + min(ways_on, default=0)
            changed |= least.get(block) != got
            least[block] = got
            if not endless:
                most[block] = weight + max((most[t] for t in after), default=0)
        if not changed:
            break
    return least.get(0, 0), None if endless else most.get(0, 0)


__all__ = ["CostNote", "ShaderCost", "cost_of"]
