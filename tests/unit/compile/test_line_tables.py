"""Lines of source and PTX: in the program, across an ELF cubin, in listings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app
from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.compile.debug_records import without_headers
from isakit.debug.breakpoints import addresses
from isakit.debug.session import Session
from isakit.errors import CompileError, LaunchError
from isakit.formats import write_elf_cubin
from isakit.line_table import LineTable, SourceLine, pack, unpack
from support.needs import needs_clang

TEXT = """.version 1.4
.target sm_13
.file 1 "/no/such/kernel.cu"
.entry k (.param .u64 out)
{
  .reg .u64 %o; .reg .u32 %r;
  .loc 1 10 0
  ld.param.u64 %o, [out];
  mov.u32 %r, 77;
  .loc 1 12 0
  st.global.u32 [%o], %r;
  exit;
}
"""


def table() -> LineTable:
    lines = compile_ptx(TEXT).module["k"].program.lines
    assert lines is not None
    return lines


def test_every_instruction_knows_its_line_of_ptx_and_source() -> None:
    program = compile_ptx(TEXT).module["k"].program
    assert program.lines is not None
    where = {program.lines.at(i.address) for i in program}
    # the constant is made where it is stored
    assert where == {SourceLine(8, "/no/such/kernel.cu", 10), SourceLine(11, "/no/such/kernel.cu", 12)}


def test_addresses_of_a_source_line_are_where_its_code_begins() -> None:
    lines = table()
    (address,) = lines.addresses(12, "kernel.cu")
    at = lines.at(address)
    assert at is not None
    assert at.line == 12
    assert lines.addresses(12, "other.cu") == []
    assert lines.ptx_addresses(11)[0] == address


def test_an_elf_cubin_keeps_the_lines() -> None:
    module = isakit.load(write_elf_cubin(compile_ptx(TEXT).module))
    lines = module["k"].program.lines
    assert lines is not None
    assert lines.rows == table().rows
    assert lines.ptx == TEXT


def test_damaged_lines_are_no_lines() -> None:
    whole = pack({"k": table()})
    assert list(unpack(whole)) == ["k"]
    for data in (b"", b"{", whole[:-9], b'{"paths":[],"ptx":[],"kernels":{"k":{"ptx":0,"rows":[[0,1,2]]}}}', b"[[[["):
        assert unpack(data) == {}


def test_listings_show_the_lines(tmp_path: object) -> None:
    got = CliRunner().invoke(app, ["dis", "--source", "-"], input=TEXT)
    assert got.exit_code == 0
    rows = got.output.splitlines()
    assert sum(row.startswith(".isa") for row in rows) == 1
    first = rows.index("    // /no/such/kernel.cu:12")
    assert rows[first + 1].split() == ["//", "st.global.u32", "[%o],", "%r;"]
    assert [row.split("//")[0].split()[:2] for row in rows[first + 2 :]] == [["mov", "b32"], ["exit", "st"]]


def host_with(*texts: str) -> bytes:
    return b"\x7fNOT AN ELF\0" + b"".join(b"\1\2\3\0" + t.encode() + b"\0\0" for t in texts)


def test_ptx_in_a_host_program_is_compiled_where_there_is_no_code() -> None:
    newer = TEXT.replace("sm_13", "sm_20").replace(" k ", " newer ")
    modules = isakit.load_all(host_with(newer, TEXT))
    assert [list(m) for m in modules] == [["k"]]


def test_ptx_in_a_host_program_is_listed_and_extracted(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "host.bin"
    path.write_bytes(host_with(TEXT))
    info = CliRunner().invoke(app, ["info", str(path)])
    assert "for sm_13; 1 kernel:\n  k\n" in info.output
    got = CliRunner().invoke(app, ["dis", "--ptx", str(path)])
    assert got.output.rstrip() == TEXT.rstrip()


def test_ptx_beside_machine_code_is_listed_but_not_loaded() -> None:
    data = host_with(TEXT) + write_elf_cubin(compile_ptx(TEXT.replace(" k ", " own ")).module)
    assert [list(m) for m in isakit.load_all(data)] == [["own"]]


def test_a_ptx_file_runs_from_the_command_line(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "k.ptx"
    path.write_text(TEXT)
    got = CliRunner().invoke(app, ["run", str(path), "--grid", "1", "--block", "1", "--arg", "out:i32:1"])
    assert got.exit_code == 0, got.output
    assert "77" in got.output


def cli(verb: str, tmp_path: Path, *options: str) -> str:
    """The output of a verb for a launch of the kernel above."""
    (tmp_path / "k.ptx").write_text(TEXT)
    launch = ["--grid", "1", "--block", "1", "--arg", "zeros:u32:4"]
    got = CliRunner().invoke(app, [verb, str(tmp_path / "k.ptx"), *launch, *options])
    assert not got.exception, got.output
    return got.output


def test_the_debugger_stops_at_a_line_of_the_source(tmp_path: Path) -> None:
    shown = cli("debug", tmp_path, "-e", "break kernel.cu:12", "-e", "cont", "-e", "list")
    (address,) = table().addresses(12)
    assert f"breakpoint 1 at {address:#x}" in shown
    assert "\n  kernel.cu:12\n" in shown
    assert "\n   kernel.cu:10\n" in shown


def test_the_debugger_stops_at_a_line_of_ptx(tmp_path: Path) -> None:
    assert f"breakpoint 1 at {table().ptx_addresses(11)[0]:#x}" in cli("debug", tmp_path, "-e", "break ptx:11")


def test_the_debugger_names_the_nearest_line_where_a_line_has_no_code() -> None:
    module = compile_ptx(TEXT).module
    machine = isakit.Device("gt200").load(module)["k"].machine(1, 1, [np.zeros(4, np.uint32)])
    session = Session(machine, module["k"].program)
    with pytest.raises(LaunchError, match=r"no code comes from kernel.cu:13; the nearest line is 12"):
        addresses(session, "kernel.cu:13")


def test_the_profiler_counts_by_line_of_the_source(tmp_path: Path) -> None:
    shown = cli("profile", tmp_path)
    assert "  line\n" in shown
    executed = {line.split()[-1]: int(line.split()[0]) for line in shown.splitlines() if line.endswith(("u:10", "u:12"))
                and line.split()[0].isdecimal()}  # fmt: skip
    assert sum(executed.values()) == len(compile_ptx(TEXT).module["k"].program)


def test_an_error_stands_at_the_line_of_the_text_a_compiler_read() -> None:
    origin = "".join(f"line {k} of the text\n" for k in range(1, 10))
    text = """.version 2.3
.target sm_13
.file 1 "/somewhere/k.cu"
.file 2 "/somewhere/header.h"
.entry k (.param .u64 out)
{
  .reg .u32 %r;
  .loc 1 3 7
  mov.u32 %r, 1;
  .loc 2 900 3
  WRONG
  .loc 1 5 1
  exit;
}
"""
    for wrong, message in (
        ("shfl.sync.b32 %r, %r, 1, 2, 3;", "not supported"),
        ("mov.u32 %unknown, 1;", "not declared"),
    ):
        with pytest.raises(CompileError) as e:
            compile_ptx(text.replace("WRONG", wrong), path="dir/k.cu", origin=origin)
        (d,) = e.value.diagnostics
        assert (d.path, d.line, d.column, d.source) == ("dir/k.cu", 3, 7, "line 3 of the text")
        assert message in d.message
        with pytest.raises(CompileError) as e:
            compile_ptx(text.replace("WRONG", wrong), path="dir/k.cu")
        assert e.value.diagnostics[0].line == 11
    for bad in (".loc 1 99999999999 1", ".loc 1 77 1", ".loc 7 1 1"):  # places the text does not have
        with pytest.raises(CompileError) as e:
            compile_ptx(text.replace(".loc 1 3 7", bad).replace("WRONG", "x;"), path="k.cu", origin=origin)
        assert e.value.diagnostics[0].line == 5


INLINED = """\
  call void @llvm.dbg.value(metadata i32 %d, metadata !20, metadata !DIExpression()), !dbg !10
    #dbg_value(i32 %i, !21, !DIExpression(), !12)
  %x = add i32 %i, 1, !dbg !10
!1 = !DIFile(filename: "k.cl", directory: "/home/user")
!2 = !DIFile(filename: "headers/opencl.h", directory: "/isakit")
!3 = distinct !DISubprogram(name: "scale", file: !1, line: 7)
!4 = distinct !DISubprogram(name: "get_global_id", file: !2, line: 60)
!5 = distinct !DILexicalBlock(scope: !4, file: !2, line: 61)
!10 = !DILocation(line: 62, column: 5, scope: !5, inlinedAt: !11)
!11 = distinct !DILocation(line: 60, column: 9, scope: !4, inlinedAt: !12)
!12 = distinct !DILocation(line: 9, column: 13, scope: !3)
!13 = !DILocation(line: 60, column: 1, scope: !4)
!20 = !DILocalVariable(name: "d", scope: !4, file: !2, type: !30)
!21 = !DILocalVariable(name: "i", scope: !3, file: !1, type: !30)
"""


def test_code_of_headers_has_the_place_of_its_call() -> None:
    text = without_headers(INLINED, "/isakit/headers")
    assert "!10 = !DILocation(line: 9, column: 13, scope: !3)" in text
    assert "!11 = distinct !DILocation(line: 9, column: 13, scope: !3)" in text
    assert "!13 = !DILocation(line: 60, column: 1, scope: !4)" in text  # no call is known
    assert "!20, metadata" not in text
    assert "#dbg_value(i32 %i, !21" in text
    assert without_headers(INLINED, "/isakit/head") == INLINED


@needs_clang
@pytest.mark.parametrize(("name", "text"), [
    ("k.cl", "__kernel void k(__global int *out)\n{\n    int i = get_global_id(0);\n    out[i] = min(i, 3);\n}\n"),
    ("k.cu", "__global__ void k(int *out)\n{\n    int i = threadIdx.x;\n    out[i] = __sad(i, 3, i) + __popc(i);\n}\n"),
])  # fmt: skip
def test_lines_are_those_of_the_program(name: str, text: str) -> None:
    lines = next(iter(compile_ptx(compile_c(name, text)).module.kernels.values())).program.lines
    assert lines is not None
    assert {Path(where.path).name for _, where in lines if where.line} == {name}
    ptx = compile_c(name, text, named=True)
    assert "isakit.value i " in ptx
    assert "::" not in ptx
