"""Texture and graphics instructions: register blocks, what each program type has, what the machine is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from isakit.arch.tesla import tesla
from isakit.codec import decoder
from isakit.engine import Lanes, compile_trace
from isakit.sem.semantics import fields_of, trace_of

LANES = 32


class TextureUnit:
    """Registers, and a texture unit whose answer for a component is its number plus the sum of the arguments."""

    def __init__(self) -> None:
        self.files = {
            "r": np.arange(128 * LANES, dtype=np.uint32).reshape(128, LANES) % np.uint32(1000),
            "a": np.zeros((8, LANES), np.uint16),
        }
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def machine(self, name: str, args: list[Any], attrs: dict[str, Any], lanes: Lanes) -> Any:
        self.asked.append((name, {**attrs, "args": args}))
        if name == "visible":
            return np.arange(LANES) % 2 == 0
        if name == "interp":
            return np.full(LANES, 0x40000000, np.uint32)
        if name == "texel":
            return np.asarray(args[0], np.uint32) + np.uint32(10_000 * attrs["component"])
        assert name == "tex"
        total = np.zeros(LANES, np.uint32)
        for a in args:
            total = total + np.asarray(a, np.uint32)
        return total


def execute(text: str, variant: str = "gt200", program: str = "compute") -> tuple[TextureUnit, list[Any]]:
    i = next(iter(isakit.isa("tesla", variant).assemble(text, program_type=program)))
    compiled = compile_trace(trace_of(i.form, i.word))
    state = TextureUnit()
    controls = compiled.run(state, Lanes.span(0, LANES), fields_of(i.form, i.word, compiled.fields))
    return state, controls


def test_enabled_components_are_packed() -> None:
    before = TextureUnit().files["r"]
    state, _ = execute("texauto live deriv $r4:#:$r5:# $t7 $s3 $r4:$r5 0x1 -0x2 0x0")
    after = state.files["r"]
    first = before[4] + before[5] + np.uint32(7 + 3 + 1) - np.uint32(2)
    assert (after[4] == first).all()
    assert (after[5] == first + 20_000).all(), "the third component is in the second register"
    assert (np.delete(after, [4, 5], 0) == np.delete(before, [4, 5], 0)).all()
    assert {a["component"] for name, a in state.asked if name == "texel"} == {0, 2}
    (query,) = [a for name, a in state.asked if name == "tex"]
    assert (query["op"], query["quads"], query["cube"], query["mask"]) == ("texauto", True, False, 0b0101)


def test_only_visible_fragments_get_results_of_live_queries() -> None:
    before = TextureUnit().files["r"]
    for live, changed in (("live", LANES // 2), ("all", LANES)):
        state, _ = execute(f"texlod {live} $r8:#:#:# $t0 $s0 $r8:$r9 0x0 0x0 0x0", program="fragment")
        assert int((state.files["r"][8] != before[8]).sum()) == changed


@pytest.mark.parametrize("text", [
    "texauto all $r4:$r5:$r6:$r7 $t0 $s0 $r4:$r5", "texfetch live $r63:$r64:$r65:$r66 $t255 $s31 $r63",
    "texauto cube all #:#:#:# $t0 $s0 $r0:$r1:$r2", "texbias all deriv #:$r9:#:# $t1 $s2 $r9 -0x8 0x7 0x0",
    "texsize all $r0:$r1:$r2:$r3 $t0 $s0 $r0", "texcsaa all $r0:#:#:# $t0 $s0 $r0:$r1 0x0 0x0 0x0",
])  # fmt: skip
def test_text_and_words(text) -> None:
    isa = isakit.isa("tesla", "g80")
    program = isa.assemble(text)
    i = next(iter(isa.disassemble(program.words)))
    assert i.text == text
    assert i.unknown_bits == 0


@pytest.mark.parametrize(("text", "column"), [
    ("texauto live $r0:$r2:#:# $t0 $s0 $r0", 18), ("texauto live $r0:$r1 $t0 $s0 $r0", 22),
    ("texauto live #:#:$r3:# $t0 $s0 $r4", 0), ("texsize all $r0:#:#:# $t0 $s0 $r0:$r1", 0),
    ("texbias all $r0:#:#:# $t0 $s0 $r0 0x8 0x0 0x0", 0), ("texfetch cube all $r0:#:#:# $t0 $s0 $r0 0x0 0x0 0x0", 0),
])  # fmt: skip
def test_wrong_blocks_are_refused(text, column) -> None:
    with pytest.raises(isakit.AsmError) as caught:
        isakit.isa("tesla", "gt200").assemble(text)
    if column:
        assert caught.value.diagnostics[0].column == column


def test_a_block_ends_at_the_last_register() -> None:
    isa = isakit.isa("tesla", "gt200")
    w0, w1 = isa.assemble("texauto all $r124:$r125:$r126:$r127 $t0 $s0 $r124 0x0 0x0 0x0").words
    assert next(iter(isa.disassemble([w0 + 4, w1]))).error == "ILLEGAL_OPCODE"


def error_of(text: str, made_in: str, variant: str, program: str, made_for: str = "compute") -> str | None:
    words = isakit.isa("tesla", made_in).assemble(text, program_type=made_for).words
    word = words[0] | (words[1] << 32 if len(words) > 1 else 0)
    return decoder(tesla, variant, program).one(word, len(words)).error


def test_what_chips_and_program_types_have() -> None:
    gather = "texgather all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0"
    for text in (
        gather,
        "texprep cube all $r0:$r1:$r2:# $t0 $s0 $r0:$r1:$r2",
        "texquerylod all $r0:$r1:#:# $t0 $s0 $r0",
    ):
        assert [error_of(text, "gt215", v, "fragment") for v in ("g80", "g84", "gt200", "mcp77", "gt215")] == [
            "ILLEGAL_OPCODE"] * 4 + [None]  # fmt: skip
    for program in ("compute", "vertex", "geometry"):
        for text in ("interp $r1 cent v[$a1+0x10] $r2", "interp $r1 flat v[0x3fc]"):
            assert error_of(text, "g80", "g80", program, "fragment") == "INTERP_NON_FP"
    for program in ("compute", "vertex", "fragment"):
        assert error_of("emit", "g80", "g80", program, "geometry") == "EMIT_NON_GP"
        assert error_of("restart", "g80", "g80", program, "geometry") == "EMIT_NON_GP"


def test_interpolation_times_a_register() -> None:
    state, _ = execute("long interp $r1 cent v[0x10] neg $r2", program="fragment")
    name, facts = state.asked[0]
    assert (name, facts["flat"], facts["centroid"]) == ("interp", False, True)
    assert (np.asarray(facts["args"][0]) == 0x10).all()
    w = TextureUnit().files["r"][2]
    assert w.max() < 0x800000, "denormals: the product is a negative zero"
    assert (state.files["r"][1] == 0x80000000).all()
    state, _ = execute("interp $r1 flat v[0x10]", program="fragment")
    assert (state.files["r"][1] == 0x40000000).all()
    assert state.asked[0][1]["flat"]


def test_geometry_output_is_the_machines_business() -> None:
    assert [c.name for c in execute("emit", program="geometry")[1]] == ["emit"]
    assert [c.name for c in execute("restart", program="geometry")[1]] == ["restart"]


def test_group_f5_does_nothing() -> None:
    state, controls = execute("nop5")
    assert not controls
    assert not state.asked
    assert (state.files["r"] == TextureUnit().files["r"]).all()


def test_derivatives_need_quads() -> None:
    """Outside fragment programs only `deriv` looks at the neighbours."""
    for text, program, quads in (
        ("texauto all $r0:#:#:# $t0 $s0 $r0 0x0 0x0 0x0", "compute", False),
        ("texauto all deriv $r0:#:#:# $t0 $s0 $r0 0x0 0x0 0x0", "compute", True),
        ("texauto all $r0:#:#:# $t0 $s0 $r0 0x0 0x0 0x0", "fragment", True),
    ):
        state, _ = execute("long " + text, program=program)
        assert state.asked[0][1]["quads"] == quads


def test_a_texture_nobody_bound() -> None:
    device = isakit.Device("gt200", engine="reference")
    program = isakit.isa("tesla", "gt200").assemble(
        "long texfetch all $r0:#:#:# $t0 $s0 $r0 0x0 0x0 0x0\nexit (never) nop"
    )
    with pytest.raises(isakit.MachineFault) as caught:
        device.load(program, registers=8)["main"][1, 32]()
    assert caught.value.kind == "UNBOUND_TEXTURE"
