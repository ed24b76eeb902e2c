"""What `dis` and `info` show besides instructions: live ranges, blocks, names, runs of equal words, occupancy."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import pytest

import isakit
from isakit.description import InfoRecord, Kernel, Module
from isakit.formats import write_elf_cubin
from isakit.formats.nvinfo import SMEM_PARAM_OFFSETS
from support.clients.command_line import run

TESLA = isakit.isa("tesla", "gt200")
TEXT = """
.isa tesla gt200
.kernel _Z5twicePiILb1EE
.regs 4
.shared 0x20
.param out ptr
    mov b32 $r1 b32 s[out]
    set $c0 # e s32 $r0 $r124
    (e $c0) bra end
    add b32 $r0 $r0 $r0
end:
    st b32 g14[$r1] $r0
    exit nop
"""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "k.cubin"
    run("asm", "-", "--format", "elf", "-o", str(path), stdin=TEXT)
    return path


def test_live_ranges_are_columns(cubin: Path) -> None:
    lines = [x for x in run("dis", "--live", str(cubin)).stdout.splitlines() if x.endswith("|")]
    assert [x[x.index("|") :] for x in lines] == [
        "|  # r  |  # c|",
        "|      1|     |",
        "|      2|     |",
        "|    014|    0|",
        "|  3 :^:|     |",
        "|  3 v:v|  1 ^|",
        "|  2 :: |  1 v|",
        "|  2 x: |     |",
        "|  2 vv |     |",
        "|       |     |",
    ]
    assert len({x.index("|") for x in lines}) == 1


def test_blocks_are_set_apart(cubin: Path) -> None:
    lines = run("dis", "--blocks", str(cubin)).stdout.splitlines()
    heads = [k for k, line in enumerate(lines) if line.startswith("// block")]
    assert [lines[k] for k in heads] == [
        "// block 0: function 0", "// block 1: from 0", "// block 2: from 0 (branch), 1"
    ]  # fmt: skip
    assert [lines[k - 1] for k in heads[1:]] == ["", ""]


def test_a_listing_with_all_columns_assembles_to_the_same_file(cubin: Path, tmp_path: Path) -> None:
    text = run("dis", "--blocks", "--live", "--symbols", str(cubin)).stdout
    again = tmp_path / "again.cubin"
    run("asm", "-", "--like", str(cubin), "-o", str(again), stdin=text)
    assert again.read_bytes() == cubin.read_bytes()


def test_names_of_kernels_are_those_of_the_source(tmp_path: Path) -> None:
    pytest.importorskip("itanium_demangler", reason="C++ names need itanium-demangler")
    path = tmp_path / "k.cubin"
    run("asm", "-", "--format", "elf", "-o", str(path), stdin=TEXT.replace("_Z5twicePiILb1EE", "_Z5twiceIiLb1EEvPT_"))
    assert "// void twice<int, true>(int*)" in run("dis", "--demangle", str(path)).stdout.splitlines()


def test_a_megabyte_of_zeros_is_one_line() -> None:
    lines = run("dis", "-m", "tesla", "-V", "gt200", "-", stdin=bytes(1 << 20)).stdout.splitlines()
    assert len(lines) == 2
    assert lines[1].split()[:3] == [".fill", "0x40000,", "0x00000000"]


def test_every_word_is_shown_where_that_is_asked_for() -> None:
    lines = run("dis", "-m", "tesla", "--no-collapse", "-", stdin=bytes(4000)).stdout.splitlines()
    assert len(lines) == 1001


@pytest.mark.parametrize(("isa", "variant"), [("tesla", "g80"), ("vuc", "vp2"), ("vuc", "vp3"), ("usse", "sgx543")])
def test_listings_with_runs_assemble_back(isa: str, variant: str) -> None:
    chosen, rng = isakit.isa(isa, variant), random.Random(7)
    bits = {"vp2": 40, "sgx543": 64}.get(variant, 30 if isa == "vuc" else 32)
    for _ in range(20):
        words: list[int] = []
        for _ in range(rng.randrange(1, 8)):
            word = rng.choice([0, 0x10000001, 0xF0000001 & (1 << bits) - 1, rng.getrandbits(bits)])
            words += [word] * rng.choice([1, 2, 31, 32, 33, 70])
        program = chosen.disassemble(words)
        assert chosen.assemble(str(program)).words == words


def test_a_run_ends_where_a_branch_goes_into_it() -> None:
    vuc = isakit.isa("vuc", "vp2")
    program = vuc.assemble("bra inside\n" + "nop\n" * 50 + "inside: " + "nop\n" * 50)
    assert str(program).count(".fill") == 2
    assert vuc.assemble(str(program)).words == program.words


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (".fill 3", "the words were expected"), (".fill 0x7fffffff, 0x0", "at most"),
        (".fill 2, 0x100000000", "32 bits"),
        (".fill -1, 0x0", "at most"), (".const 1\n.fill 1, 0", "constant data"),
    ],
)  # fmt: skip
def test_a_wrong_fill_is_one_error(line: str, why: str) -> None:
    with pytest.raises(isakit.AsmError, match=why) as error:
        TESLA.assemble(f".kernel k\n{line}")
    assert len(error.value.diagnostics) == 1


def test_occupancy_is_said_for_each_chip(cubin: Path) -> None:
    lines = [x for x in run("info", "--block", "16,16", str(cubin)).stdout.splitlines() if x.startswith("occupancy")]
    assert [x.partition(" on ")[2] for x in lines] == [
        "g80, g84, mcp77: 3 blocks, 24 of 24 warps (100 %), limited by warps",
        "gt200, gt215: 4 blocks, 32 of 32 warps (100 %), limited by warps",
    ]


def test_shared_memory_of_the_launch_counts(cubin: Path) -> None:
    plain = json.loads(run("info", "--json", "--block", "64", "--shared", "8000", str(cubin)).stdout)
    (kernel,) = plain[0]["kernels"]
    assert {(o["chip"], o["blocks"], o["limit"]) for o in kernel["occupancy"]} == {
        (chip, 2, "shared memory") for chip in ("g80", "g84", "gt200", "gt215", "mcp77")
    }


def test_shared_memory_that_a_run_adds_comes_on_top_of_what_the_file_says(tmp_path: Path) -> None:
    text = ".kernel k\n.shared 0x1000\n.param out ptr\nmov b32 $r0 b32 s[out]\n"
    text += "mov b32 $r1 b32 s[0x20]\nexit st b32 g14[$r0] $r1\n"
    file = tmp_path / "k.s"
    file.write_text(text)

    def blocks(*more: str) -> set[int]:
        arguments = ("--block", "32", "--arg", "zeros:u32:1", *more, str(file))
        return {o["blocks"] for o in json.loads(run("profile", "--json", *arguments).stdout)["occupancy"]}

    assert blocks() == {4}
    assert blocks("--shared", "64") == {3}
    assert blocks("--shared", "2048") == {2}
    over = run("run", "--block", "32", "--arg", "zeros:u32:1", "--shared", "16384", str(file), code=1).stderr
    assert "shared memory" in over


def test_a_block_that_is_too_large_is_refused(cubin: Path) -> None:
    assert "1024 threads" in run("info", "--block", "32,32", str(cubin), code=2).stderr


PTX = """.version 1.4
.target sm_13
.entry k (.param .u64 out)
{
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [out];
    mov.u32 %v, 7;
    st.global.u32 [%a], %v;
    exit;
}
"""


@pytest.mark.parametrize("kind", ["source text", "listing", "PTX"])
def test_texts_are_programs_for_every_verb_that_reads_programs(cubin: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "k"
    path.write_text({"source text": TEXT, "listing": run("dis", str(cubin)).stdout, "PTX": PTX}[kind])
    (info,) = [m for m in json.loads(run("info", "--json", str(path)).stdout) if "isa" in m]
    name = info["kernels"][0]["name"]
    for verb in ("cfg", "dis"):
        assert name in run(verb, "--kernel", name, str(path)).stdout
    assert "st b32 g14" in run("find", "st *", str(path)).stdout
    assert json.loads(run("diff", "--json", str(path), str(path)).stdout)["identical"]


def test_a_source_text_that_names_nothing_is_for_what_is_named(tmp_path: Path) -> None:
    path = tmp_path / "k.s"
    path.write_text("start:\n    mov $r1 0x5\n    bra start\n    nop\n")
    assert "no known format" in run("cfg", str(path), code=1).stderr
    assert "main: 1 blocks" in run("cfg", "-m", "vuc", "-V", "vp3", str(path)).stdout
    path.write_text(".isa vuc vp3\n    mov $r1 0x5 0x6\n")
    assert "k.s has 1 error" in run("cfg", str(path), code=1).stderr


def test_the_kernels_of_embedded_ptx_stand_on_a_line_each(tmp_path: Path) -> None:
    names = [f"kernel_number_{k}" for k in range(100)]
    text = ".version 1.4\n.target sm_10\n" + "".join(f".entry {name} ()\n{{\n  exit;\n}}\n" for name in names)
    file = tmp_path / "program"
    file.write_bytes(b"\x7fELF something" + bytes(100) + text.encode() + bytes(8))
    lines = run("info", str(file)).stdout.splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("PTX at "))
    assert lines[head].endswith("for sm_10; 100 kernels:")
    assert lines[head + 1 :] == [f"  {name}" for name in names]
    assert max(map(len, lines)) < 120


def test_parameters_are_shown_where_the_file_lists_their_offsets_alone(tmp_path: Path) -> None:
    offsets = InfoRecord(4, SMEM_PARAM_OFFSETS, struct.pack("<3I", 0, 8, 12))
    module = Module("elf-cubin", variant="g80", kernels={"k": Kernel("k", bytes(8), info=[offsets])})
    file = tmp_path / "k.cubin"
    file.write_bytes(write_elf_cubin(module))
    assert "b64 at 0x0, b32 at 0x8, ? at 0xc" in run("info", str(file)).stdout
    (kernel,) = json.loads(run("info", "--json", str(file)).stdout)[0]["kernels"]
    assert [(p["offset"], p["size"]) for p in kernel["params"]] == [(0, 8), (8, 4), (12, None)]
