"""Compiles a function on vectors for the USSE, runs it on a core, and says what its outputs are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isakit
from isakit import usse
from isakit.compile import vector_ops as v
from isakit.compile.ir import Function
from isakit.compile.shader import ShaderInterface
from isakit.compile.usse.driver import compile_program
from isakit.compile.usse.program import LiteralPool, ProgramPlan
from isakit.compile.usse.registers import Registers, words

Array = NDArray[Any]


def run_function(
    f: Function, kinds: Mapping[str, str], inputs: Mapping[str, Array], uniforms: Mapping[str, Array],
    outputs: Mapping[str, str], lanes: int,
) -> tuple[dict[str, Array], list[str]]:  # fmt: skip
    """Return (outputs as f32 [elements, lanes] by name, the assembly) of a vertex program whose function is optimized.

    `kinds` and `outputs` are the kinds of inputs and outputs by name; uniforms are arrays [elements, components].
    """
    plan = ProgramPlan(ShaderInterface("vertex"))
    at = 0
    for name, kind in kinds.items():
        plan.inputs[name] = at, words(kind)
        at += words(kind) + words(kind) % 2
    shared = 0
    for name, rows in uniforms.items():
        plan.uniforms[name] = shared, rows.shape[1]
        shared += rows.size + rows.size % 2
    for k, (name, kind) in enumerate(outputs.items()):
        plan.outputs[name] = 5 * k, words(kind)  # which is odd for some
    code = compile_program(f, plan, Registers(at), LiteralPool())
    lines = code.text(shared).lines
    core = usse.Core(lanes)
    for name, rows in inputs.items():
        for k, row in enumerate(rows):
            core.pa[plan.inputs[name][0] + k] = row.view(np.uint32)
    for name, rows in uniforms.items():
        for k, x in enumerate(rows.reshape(-1)):
            core.sa[plan.uniforms[name][0] + k] = x.view(np.uint32)
    for k, word in enumerate(code.literals.words):
        core.sa[shared + k] = word
    if lines:
        core.run(isakit.isa("usse").assemble("\n".join(lines)))
    found = {
        n: core.o[plan.outputs[n][0] : plan.outputs[n][0] + v.count(k)].view(np.float32) for n, k in outputs.items()
    }
    return found, lines
