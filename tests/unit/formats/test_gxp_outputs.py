"""Where the results of vertex programs lie: a register per component, whatever the coordinates are declared as."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.decompile import glsl
from isakit.errors import FormatWarning, NotModelled
from isakit.formats import VertexVaryings, parse_gxp, write_gxp
from isakit.formats.gxp import GxpFile, output_words, stored_output_words, vertex_outputs
from isakit.programs import write
from support.clients.command_line import run

TEXT = """
.gxp vertex
.attribute p f32x4 pa0
.outputs position color0 texcoord0.xy.f16 texcoord1.xyz.f16 texcoord4.xyzw.f16 texcoord7.xy pointsize clip2
.program primary
"""


def numbered(count: int) -> str:
    """A program that leaves the number of each output register in it."""
    return "".join(f"limm.u32 o{k} {np.float32(k).view(np.uint32)}\n" for k in range(count))


def shader(outputs1: int, outputs2: int, packed: int, count: int) -> isakit.Module:
    code = isakit.isa("usse").assemble(numbered(64), "primary").words
    varyings = VertexVaryings(0, 0, outputs1 & 0xFFFFFF | count << 24, outputs2, packed)
    return isakit.load(write_gxp(GxpFile(primary=code, varyings=varyings)))


def test_coordinates_declared_half_take_a_register_per_component() -> None:
    out = usse.run(isakit.load(write(isakit.isa("usse").assemble(TEXT + numbered(25)), "gxp")), count=1)
    assert {name: rows[0].tolist() for name, rows in out.items()} == {
        "position": [0, 1, 2, 3], "color0": [4, 5, 6, 7], "texcoord0": [8, 9], "texcoord1": [10, 11, 12],
        "texcoord4": [13, 14, 15, 16], "texcoord7": [17, 18], "pointsize": [19], "clip2": [20],
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_the_bits_for_half_change_no_result_and_no_text(seed: int) -> None:
    r = random.Random(seed)
    outputs1 = r.getrandbits(12) | 1 << 12
    outputs2 = sum(r.choice((0, 1, 3, 7)) << 3 * k for k in range(10))
    count = output_words(outputs1, outputs2)
    files = [shader(outputs1, outputs2, packed, count) for packed in (0, r.getrandbits(10), 0x3FF)]
    plain, *others = [dict(usse.run(f, count=2)) for f in files]
    assert np.concatenate([v[0] for v in plain.values()]).tolist() == list(range(count))
    for other in others:
        assert list(other) == list(plain)
        assert all(np.array_equal(other[name], plain[name]) for name in plain)
    assert len({glsl(f) for f in files}) == 1


def test_the_bits_for_half_survive_reading_and_writing() -> None:
    for packed in (0, 0b101, 0x3FF, 0xFFFFFFFF):
        data = write_gxp(GxpFile(primary=[0], varyings=VertexVaryings(0, 0, 11 << 24 | 1 << 12, 0o1003, packed)))
        assert write_gxp(parse_gxp(data)) == data
        assert write(isakit.isa("usse").assemble(isakit.load(data).listing()), "gxp") == data


def test_a_file_that_counts_other_registers_loads_with_a_warning_that_names_both_counts() -> None:
    with pytest.warns(FormatWarning, match="counts 7 output registers, the results it names take 8"):
        found = shader(1 << 12, 0o7, 1, 7)
    assert usse.run(found, count=1).texcoord0.tolist() == [[4, 5, 6, 7]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shader(1 << 12, 0o7, 1, 8)


@pytest.mark.filterwarnings("default")
def test_the_command_line_shows_the_warning_as_one_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.gxp"
    path.write_bytes(write_gxp(GxpFile(primary=[0], varyings=VertexVaryings(0, 0, 6 << 24 | 1 << 12, 0o7, 1))))
    for verb in ("info", "dis"):
        result = run(verb, str(path))
        assert result.exit_code == 0
        assert result.stderr == (
            f"warning: {path}: the header counts 6 output registers, the results it names take 8\n"
        )


def test_every_vertex_shader_of_the_corpus_counts_as_its_results_do(shared: Path) -> None:
    files = [parse_gxp(f.read_bytes()) for f in sorted((shared / "corpus" / "usse" / "gxp").glob("*.gxp"))]
    found = [v for v in (f.varyings for f in files) if isinstance(v, VertexVaryings)]
    assert len(found) >= 17
    for v in found:
        assert stored_output_words(v.outputs1) == output_words(v.outputs1, v.outputs2)


def test_a_coordinate_without_components_in_between_has_its_registers_but_is_not_run() -> None:
    assert [vertex_outputs(0, code)[-1].components for code in (1, 2, 3, 4, 5, 6, 7)] == [2, 1, 3, 1, 3, 2, 4]
    with pytest.raises(NotModelled, match="texcoord2 with the components of code 5"):
        usse.run(shader(1 << 12, 0o500, 0, 7), count=1)
