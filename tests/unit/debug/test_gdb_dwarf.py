"""The file that gdb loads beside our server: its variables, by a reader of DWARF, are what the session shows."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from isakit.arch.usse.arithmetic import DEFAULT
from isakit.compile import compile_ptx
from isakit.compile.python import compile_text
from isakit.compile.shading.compiled import compile_shader
from isakit.debug.expressions import TYPES
from isakit.debug.gdb.dwarf import debug_file
from isakit.debug.gdb.stub import Stub
from isakit.debug.session import Session
from isakit.debug.source_variables import OptimisedOutError
from isakit.errors import IsakitError
from isakit.formats.elf import read_elf
from isakit.line_table import LineTable, SourceLine, VariableRange
from isakit.runtime import Device
from isakit.runtime.usse import BoundShader
from support.clients.gdb_client import GDB, Gdb, Serving

STEPS = """import isakit

@isakit.kernel
def total(out: "i32p", n: "i32"):
    steps = 0
    x = n
    half = 0.5
    while x != 1:
        if x % 2 == 0:
            x = x >> 1
        else:
            x = 3 * x + 1
        half = half * 1.5
        steps += 1
    out[thread.x] = steps + i32(half)
"""
SHADER = """float4 main(float3 first : TEXCOORD0, uniform float scale) : COLOR
{
    float3 a = first * scale;
    half3 b = half3(a + 1);
    float c = -a.x;
    for (int i = 0; i < 3; i++)
        c = c * scale + b.y;
    b = b * b;
    return float4(b * c, a.z);
}
"""


def kernel_session(folder: Path, lines: LineTable | None = None) -> Session:
    path = folder / "total.py"
    path.write_text(STEPS)
    ptx = compile_text(STEPS, str(path), named=True)[0]
    module = compile_ptx(ptx, "gt200", path=str(path), origin=STEPS).module
    if lines is not None:
        module["total"].lines = lines
    kernel = Device("gt200").load(module)["total"]
    return Session(kernel.machine(1, 1, [np.zeros(4, np.int32), 7]), kernel.info.program)


def shader_session(folder: Path) -> Session:
    path = folder / "tint_f.cg"
    path.write_text(SHADER)
    shader = compile_shader(SHADER, path=str(path), named=True)
    bound = BoundShader(shader, {"scale": 2}, {}, {}, DEFAULT, 1_000_000)
    grid, given = bound.grid({}, {"texcoord0": [[1, 2, 3]]}, None, None)
    machine = bound.machine(given, None, 0, grid.lanes)
    machine.start(bound.code)
    return Session(machine)


class Read:
    """The sections of a file, and the server that has the memories its places name."""

    def __init__(self, session: Session) -> None:
        self.image = read_elf(debug_file(session))
        self.sections = {s.name: s.data for s in self.image.sections}
        self.stub = Stub(session, lambda text: None)

    def memory(self, address: int, size: int) -> bytes:
        answer = self.stub.answer(f"m{address:x},{size:x}".encode())
        assert answer is not None
        assert not answer.startswith(b"E"), hex(address)
        return bytes.fromhex(answer.decode())

    def places(self, at: int, address: int) -> bytes:
        """The expression of a location list for an address."""
        data = self.sections[".debug_loc"]
        while (pair := struct.unpack_from("<QQ", data, at)) != (0, 0):
            (size,) = struct.unpack_from("<H", data, at + 16)
            if pair[0] <= address < pair[1]:
                return data[at + 18 : at + 18 + size]
            at += 18 + size
        return b""

    def value(self, place: bytes, size: int) -> list[bytes | None]:
        """The bytes of a variable's pieces; None for a piece without a place."""
        stack: list[int] = []
        pieces: list[bytes | None] = []
        found: bytes | None = None
        lvalue, at = False, 0
        while at < len(place):
            op = place[at]
            at += 1
            if op in (0x03, 0x0E):
                stack.append(struct.unpack_from("<Q", place, at)[0])
                lvalue = op == 0x03
                at += 8
            elif op == 0x94:
                stack.append(int.from_bytes(self.memory(stack.pop(), place[at]), "little"))
                at += 1
            elif op == 0x9E:
                found = place[at + 1 : at + 1 + place[at]]
                at += 1 + place[at]
            elif op == 0x9F:
                found = (stack.pop() & (1 << 64) - 1).to_bytes(8, "little")[:size]
            elif op == 0x93:
                pieces.append(found if found is not None else self.memory(stack.pop(), place[at]) if stack else None)
                found = None
                at += 1
            elif op in (0x1F, 0x20):
                stack.append(-stack.pop() if op == 0x1F else ~stack.pop())
            else:
                b, a = stack.pop(), stack.pop()
                stack.append({0x22: a + b, 0x1C: a - b, 0x1E: a * b, 0x1A: a & b, 0x21: a | b, 0x27: a ^ b,
                              0x24: a << b, 0x25: a >> b}[op])  # fmt: skip
                lvalue = lvalue or op == 0x22
        return pieces or [found if found is not None else self.memory(stack.pop(), size) if stack else None]


def variables(read: Read) -> Iterator[tuple[str, int]]:
    """Names and location lists: entries of abbreviation 9, found by what stands in the list behind the function."""
    info = read.sections[".debug_info"]
    at = info.index(b"\x08" + (b"total\0" if b"total.py" in info else b"main\0"))
    at = info.index(b"\0", at) + 3 + 16  # the file, the line, where it begins and ends
    while info[at]:
        end = info.index(b"\0", at)
        yield info[at + 1 : end].decode(), struct.unpack_from("<I", info, end + 5)[0]
        at = end + 9


@pytest.mark.parametrize("make", [kernel_session, shader_session])
def test_every_place_is_what_the_session_shows(make: Callable[[Path], Session], tmp_path: Path) -> None:
    session = make(tmp_path)
    read = Read(session)
    known = session.execution.variables
    rows = list(variables(read))
    assert {n for n, _ in rows} == {known.at(n, None).whole for n in known}
    seen = 0
    while not session.finished:
        address = session.address
        assert address is not None
        for whole, at in rows:
            names = known.parts(whole) or [whole]
            if known.at(names[0], address).type not in TYPES:  # an address, which the next test reads
                continue
            sizes = [TYPES[known.at(n, address).type] for n in names]
            place = read.places(at, address)
            got = read.value(place, sizes[0][0]) if place else [None] * len(names)
            for name, (size, letter), data in zip(names, sizes, got, strict=True):
                try:
                    wanted = session.evaluate(name)
                except OptimisedOutError:
                    assert data is None, name
                    continue
                assert data is not None, name
                assert struct.unpack("<" + letter, data[:size])[0] == wanted, (name, hex(address))
                seen += 1
        session.step()
    assert seen > 40


def test_registers_are_memory_for_gdb(tmp_path: Path) -> None:
    session = kernel_session(tmp_path)
    stub = Stub(session, lambda text: None)
    number = next(k for k, s in enumerate(stub.carrier.slots) if s.name == "r3")
    at = stub.carrier.register_address(number)
    assert stub.answer(f"M{at:x},4:78563412".encode()) == b"OK"
    assert session.evaluate("$r3") == 0x12345678
    assert stub.answer(f"M{at + 2:x},2:ffff".encode()) == b"OK"
    assert session.evaluate("$r3") == 0xFFFF5678
    assert stub.answer(f"m{at:x},4".encode()) == b"7856ffff"
    assert stub.answer(f"m{at + 14:x},4".encode()) == b"E01"  # across the end of a register


def test_a_program_without_a_source_has_no_file(tmp_path: Path) -> None:
    session = kernel_session(tmp_path, LineTable([]))
    with pytest.raises(IsakitError, match="no instruction comes from a line"):
        debug_file(session)


@pytest.mark.parametrize(
    "place", ["((((", "$r99", "$r999", "g14[0xffffffff]", "zz[1]", "x y", "1 / 0", "s[s[s[0]]]", "f32($r1) + 1.5", "-s"]
)
def test_places_of_a_damaged_file_are_left_out(place: str, tmp_path: Path) -> None:
    row = SourceLine(1, str(tmp_path / "total.py"), 5)
    session = kernel_session(tmp_path, LineTable([(0, row)], "", [VariableRange("v", "u8", 0, 64, place)]))
    assert read_elf(debug_file(session)).sections


def test_the_command_writes_it(tmp_path: Path) -> None:
    (tmp_path / "total.py").write_text(STEPS)
    out = tmp_path / "total.elf"
    process = subprocess.Popen(
        [sys.executable, "-m", "isakit", "debug", str(tmp_path / "total.py"), "--arg", "zeros:i32:4", "--arg", "i32:7",
         "--gdb", "0", "--gdb-file", str(out)], stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith(f"gdb {out} -ex 'source ")
        assert {".debug_info", ".debug_line"} <= {s.name for s in read_elf(out.read_bytes()).sections}
    finally:
        process.kill()
        process.communicate()


def driven(session: Session, folder: Path) -> Gdb:
    """Gdb beside the server of a session, with its file."""
    (folder / "program.elf").write_bytes(debug_file(session))
    return Gdb(Serving(session).port, folder / "program.elf")


@pytest.mark.gdb
@pytest.mark.skipif(GDB is None, reason="gdb is not installed")
def test_gdb_lists_breaks_at_lines_and_shows_variables(tmp_path: Path) -> None:
    session = kernel_session(tmp_path)
    with driven(session, tmp_path) as gdb:
        assert "while x != 1:" in gdb.shown("list 8")
        gdb.ask('-break-insert -c "steps == 3" total.py:13')
        stop = gdb.move("-exec-continue")
        assert (stop["reason"], stop["line"], stop["func"]) == ("breakpoint-hit", "13", "total")
        said = gdb.shown("info locals")
        assert "steps = 3" in said
        assert "x = 17" in said
        assert gdb.value("x + 1") == "18"
        gdb.ask("-gdb-set var x = 64")
        assert session.evaluate("x") == 64
        assert gdb.shown("bt").startswith("#0")
        assert gdb.move("-exec-next")["line"] != "13"
        gdb.ask("-break-delete")
        gdb.ask("-break-watch steps")
        changed = gdb.move("-exec-continue")
        assert changed["reason"] == "watchpoint-trigger"
        assert gdb.value("steps") == "4"


@pytest.mark.gdb
@pytest.mark.skipif(GDB is None, reason="gdb is not installed")
def test_gdb_calls_a_shader_main(tmp_path: Path) -> None:
    with driven(shader_session(tmp_path), tmp_path) as gdb:
        assert SHADER.splitlines()[0] in gdb.shown("list main")
        where = gdb.ask("-stack-list-frames")
        assert 'func="main"' in where
        assert "tint_f.cg" in where
