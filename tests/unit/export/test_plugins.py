"""Plug-ins of rizin and Binary Ninja, loaded by what stands in for the two programs.

The declarations are those of the programs' public interfaces that the plug-ins use. With the headers of rizin 0.7.3 and
of the state before 0.8 a plug-in compiles, too, and its texts are the same; that was seen once, and is no test here.
"""

from __future__ import annotations

import ctypes
import enum
import importlib.util
import json
import random
import shutil
import subprocess
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.unit.export.test_texts import words_of

import isakit
from isakit.asm import Program
from isakit.export.plugins import plugin, plugin_name
from support.clients.command_line import run

COMPILER = shutil.which("cc")
pytestmark = [pytest.mark.compiler, pytest.mark.skipif(COMPILER is None, reason="no C compiler")]
VIEW = ("vuc", "vp2")

RIZIN = """\
#include <stdint.h>
#include <string.h>
typedef uint8_t ut8; typedef uint64_t ut64; typedef int RzAnalysisOpMask;
typedef struct { char buf[32]; const char *ptr; } RzStrBuf;
const char *rz_strbuf_set(RzStrBuf *, const char *);
typedef struct { ut64 pc; } RzAsm;
typedef struct { int size; RzStrBuf buf_asm; } RzAsmOp;
typedef struct { ut64 addr, jump, fail; int type, size, delay; } RzAnalysisOp;
typedef struct RzAnalysis RzAnalysis;
typedef struct {
    const char *name, *arch, *author, *version, *license, *desc; int bits, endian;
    int (*disassemble)(RzAsm *, RzAsmOp *, const ut8 *, int);
} RzAsmPlugin;
typedef struct {
    const char *name, *arch, *author, *version, *license, *desc; int bits;
    int (*op)(RzAnalysis *, RzAnalysisOp *, ut64, const ut8 *, int, RzAnalysisOpMask);
    char *(*get_reg_profile)(RzAnalysis *);
} RzAnalysisPlugin;
typedef struct { RzAsmPlugin *p_asm; RzAnalysisPlugin *p_analysis; } RzArchPlugin;
typedef struct { int type; void *data; const char *version; } RzLibStruct;
enum { RZ_LIB_TYPE_ASM, RZ_LIB_TYPE_ANALYSIS, RZ_LIB_TYPE_ARCH, RZ_SYS_ENDIAN_LITTLE };
enum { RZ_ANALYSIS_OP_TYPE_UNK, RZ_ANALYSIS_OP_TYPE_ILL, RZ_ANALYSIS_OP_TYPE_JMP, RZ_ANALYSIS_OP_TYPE_UJMP,
       RZ_ANALYSIS_OP_TYPE_CJMP, RZ_ANALYSIS_OP_TYPE_CALL, RZ_ANALYSIS_OP_TYPE_UCALL, RZ_ANALYSIS_OP_TYPE_RET,
       RZ_ANALYSIS_OP_TYPE_CRET };
#define RZ_VERSION "test"
#define RZ_API
"""
JUMPS = {2, 4}
HOST = """\
#include "rz_types.h"
extern RzLibStruct rizin_plugin;
static char last[4096];
const char *rz_strbuf_set(RzStrBuf *b, const char *s) { (void)b; return strcpy(last, s); }
#if __has_include("rz_arch.h")
#define ASM ((RzArchPlugin *)rizin_plugin.data)->p_asm
#define ANALYSIS ((RzArchPlugin *)rizin_plugin.data)->p_analysis
#else
#define ASM ((RzAsmPlugin *)rizin_plugin.data)
#define ANALYSIS ((RzAnalysisPlugin *)rizin_plugin.data)
#endif
const char *name(void) { return ASM->name; }
int text(const ut8 *data, int size, ut64 at, char *to)
{
    RzAsm a = {at}; RzAsmOp op;
    int used = ASM->disassemble(&a, &op, data, size);
    strcpy(to, last);
    return used;
}
int flow(const ut8 *data, int size, ut64 at, RzAnalysisOp *op)
{
    memset(op, 0, sizeof *op);
    return ANALYSIS->op(0, op, at, data, size, 0);
}
"""


class Flow(ctypes.Structure):
    """An `RzAnalysisOp` of the declarations above."""

    _fields_ = (
        ("addr", ctypes.c_uint64), ("jump", ctypes.c_uint64), ("fail", ctypes.c_uint64), ("type", ctypes.c_int),
        ("size", ctypes.c_int), ("delay", ctypes.c_int),
    )  # fmt: skip


def program() -> Program:
    """Code with every form, and words that are none."""
    decoder = isakit.isa(*VIEW).decoder()
    words = [w for w, _ in words_of(decoder, 5, 4)]
    random.Random(1).shuffle(words)
    return Program(decoder, [w & (1 << decoder.view.variant.unit_bits) - 1 for w in words])


@pytest.fixture(scope="module")
def code() -> Program:
    return program()


def written(folder: Path, host: str) -> Path:
    """The folder of a plug-in, as the command line writes it."""
    out = folder / host
    run("export", "-m", VIEW[0], "-V", VIEW[1], "--format", host, "-o", str(out))
    return out


def compiled(folder: Path, *flags: str) -> ctypes.CDLL:
    (folder / "host.c").write_text(HOST)
    library = folder / f"host{len(flags)}{'analysis' * ('-DISAKIT_ANALYSIS' in flags)}.so"
    line = [COMPILER or "", "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    files = [str(folder / name) for name in ("rizin.c", "take_apart.c", "host.c")]
    subprocess.run([*line, *flags, "-I", str(folder), "-o", str(library), *files], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("together", [False, True], ids=["0.7", "0.8"])
def test_rizin_shows_what_dis_shows(code: Program, tmp_path: Path, together: bool) -> None:
    folder = written(tmp_path, "rizin")
    for name in ("rz_types", "rz_lib", "rz_util", "rz_asm", "rz_analysis"):
        (folder / f"{name}.h").write_text(
            "#pragma once\n" + (RIZIN if name == "rz_types" else '#include "rz_types.h"\n')
        )
    if together:
        (folder / "rz_arch.h").write_text('#include "rz_types.h"\n')
    shown = compiled(folder)
    data = code.to_bytes()
    room = ctypes.create_string_buffer(4096)
    for i in code:
        used = shown.text(data[i.address :], len(data) - i.address, ctypes.c_uint64(i.address), room)
        assert (used, room.value.decode()) == (i.size, i.text if i.valid else room.value.decode())
    analysis = shown if together else compiled(folder, "-DISAKIT_ANALYSIS")
    branches = 0
    for i in code:
        found = Flow()
        analysis.flow(data[i.address :], len(data) - i.address, ctypes.c_uint64(i.address), ctypes.byref(found))
        target = i.code_address if i.valid and i.group in ("branch", "call") else None
        if target is not None and found.type in JUMPS:
            branches += 1
            assert found.jump == 8 * int(target)
            assert found.delay == 1
    assert branches > 3
    assert shown.text(b"\0" * 7, 7, ctypes.c_uint64(0), room) < 0  # less than a word


@dataclass
class Info:
    """An `InstructionInfo` of Binary Ninja."""

    length: int = 0
    branch_delay: int = 0
    branches: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def add_branch(self, kind: enum.Enum, target: int = 0) -> None:
        self.branches.append((kind.name, target))


@pytest.fixture
def binary_ninja(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Binary Ninja's module, as far as the plug-in uses it; gives the architectures that register."""
    registered: list[Any] = []

    class Architecture:
        @classmethod
        def register(cls) -> None:
            registered.append(cls())

    kinds = (
        "UnconditionalBranch",
        "FalseBranch",
        "TrueBranch",
        "CallDestination",
        "FunctionReturn",
        "UnresolvedBranch",
    )
    tokens = ("InstructionToken", "RegisterToken", "IntegerToken", "PossibleAddressToken", "TextToken")
    host: Any = types.ModuleType("binaryninja")
    host.Architecture, host.InstructionInfo = Architecture, Info
    host.BranchType = enum.Enum("BranchType", kinds)
    host.InstructionTextTokenType = enum.Enum("InstructionTextTokenType", tokens)
    host.InstructionTextToken = lambda kind, text, value=0: (kind.name, text, value)
    host.RegisterInfo = lambda name, size: (name, size)
    monkeypatch.setitem(sys.modules, "binaryninja", host)
    return registered


def test_binary_ninja_shows_what_dis_shows(code: Program, tmp_path: Path, binary_ninja: list[Any]) -> None:
    folder = written(tmp_path, "binaryninja")
    about = json.loads((folder / "plugin.json").read_text())
    assert about["type"] == ["architecture"]
    spec = importlib.util.spec_from_file_location("isakit_plugin", folder / "__init__.py",
                                                  submodule_search_locations=[str(folder)])  # fmt: skip
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["isakit_plugin"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["isakit_plugin"]
    (architecture,) = binary_ninja
    assert architecture.name == about["name"] == plugin_name(code.decoder)
    assert architecture.regs["$r5"] == ("$r5", 2)
    data, seen = code.to_bytes(), set[str]()
    for i in code:
        tokens, size = architecture.get_instruction_text(data[i.address : i.address + 32], i.address)
        text = "".join(t for _, t, _ in tokens)
        assert size == i.size
        info = architecture.get_instruction_info(data[i.address : i.address + 32], i.address)
        seen |= {kind for kind, _ in info.branches}
        if not i.valid:
            assert not info.branches
            continue
        assert text == i.text
        target = i.code_address
        if i.group == "branch" and target is not None:
            assert info.branches[0][1] == 8 * int(target)
            assert ("PossibleAddressToken", 8 * int(target)) in {(kind, value) for kind, _, value in tokens}
    assert {"TrueBranch", "FalseBranch", "CallDestination"} <= seen
    assert architecture.get_instruction_info(b"\0" * 7, 0) is None


def test_a_first_page_shows_the_one_command() -> None:
    decoder = isakit.isa(*VIEW).decoder()
    assert "\n    make install\n" in plugin(decoder, "rizin")["README.md"]
    assert "isakit export -m vuc -V vp2 --format binaryninja -o " in plugin(decoder, "binaryninja")["README.md"]


def test_files_without_a_folder() -> None:
    for kind in ("rizin", "binaryninja"):
        assert "name a folder" in run("export", "-m", "vuc", "--format", kind, code=2).stderr
