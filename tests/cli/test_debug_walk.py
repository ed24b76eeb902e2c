"""A user of VS Code walks through programs of every kind: no request that the editor sends is refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from support.clients import cuda_build
from support.clients.node_tools import needs_node, node
from support.needs import needs_clang
from support.patience import PATIENCE

WALK = str(ROOT / "tests/support/clients/node/dap_walk.cjs")
PTX = """.version 1.4
.target sm_13
.entry sum (.param .u32 p, .param .u32 n) {
    .reg .u32 %r<9>;
    .reg .pred %p<3>;
    ld.param.u32 %r1, [p];
    ld.param.u32 %r2, [n];
    mov.u32 %r3, 0;
LOOP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, %r2;
    @%p1 bra LOOP;
    st.global.u32 [%r1], %r3;
    exit;
}
"""
CUDA = """extern "C" __global__ void twice(int *x, int n) {
    int i = threadIdx.x;
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[k] ^ i;
    x[i] = sum;
}
"""
SHADER = "float4 main(float4 c : COLOR) : COLOR {\n  float4 d = c * 0.5f;\n  d.x = d.x + c.y;\n  return d;\n}\n"


def walk(
    tmp_path: Path,
    file: str,
    *given: str,
    line: int,
    watch: str,
    data: str,
    in_file: bool = True,
    endless: bool = False,
) -> Any:
    """What the client saw; the adapter has ended with it."""
    path = file if file.startswith("/") else str(tmp_path / file)
    command = [sys.executable, "-m", "isakit", "debug", path, *given, "--dap-port", "0"]
    return walked(command, path if in_file else "", line=line, watch=watch, data=data, endless=endless)


def walked(command: list[str], source: str, *, line: int, watch: str, data: str, endless: bool = False) -> Any:
    """What the client saw of a command that ends with it, and says its port in its first line."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        place = re.search(r"(\d+)\s*$", process.stderr.readline())
        assert place is not None
        about = {"source": source, "line": line, "watch": watch, "data": data, "endless": endless}
        try:
            seen = json.loads(node(WALK, place[1], json.dumps(about), timeout=PATIENCE))
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    assert seen["refused"] == []
    assert seen["verified"] == [True]
    assert (seen["reason"], seen["hit"]["line"]) == ("breakpoint", line)
    assert seen["watch"] == seen["hover"]
    assert seen["ended"] == ("stopped" if endless else "terminated")
    return seen


def kernel(*arguments: str) -> tuple[str, ...]:
    return ("--block", "32", *(x for a in arguments for x in ("--arg", a)))


@needs_node("@vscode/debugadapter-testsupport")
def test_a_python_kernel(tmp_path: Path) -> None:
    file = str(ROOT / "examples/python/saxpy.py")
    seen = walk(tmp_path, file, "--kernel", "reduce", *kernel("ramp:f32:64", "zeros:f32:1"), line=27, watch="k",
                data="$r1")  # fmt: skip
    assert (seen["watch"], seen["hit"]["locals"]["k"], seen["hit"]["locals"]["t"]) == ("128", "128", "0")
    assert seen["next"]["source"] == "saxpy.py"
    assert seen["back"]["line"] == 27
    assert seen["data"] == "data breakpoint"


@needs_node("@vscode/debugadapter-testsupport")
@needs_clang
def test_a_kernel_in_cuda_c(tmp_path: Path) -> None:
    (tmp_path / "twice.cu").write_text(CUDA)
    seen = walk(tmp_path, "twice.cu", *kernel("ramp:i32:32", "i32:4"), line=5, watch="k", data="$r1")
    assert (seen["watch"], seen["hit"]["locals"]["sum"]) == ("0", "0")
    assert seen["next"]["source"] == "twice.cu"


@needs_node("@vscode/debugadapter-testsupport")
def test_ptx(tmp_path: Path) -> None:
    (tmp_path / "sum.ptx").write_text(PTX)
    seen = walk(tmp_path, "sum.ptx", "--arg", "zeros:u32:1", "--arg", "u32:5", line=11, watch="%r3", data="$r1",
                in_file=False)  # fmt: skip
    assert (seen["watch"], seen["hit"]["locals"]["%r2"]) == ("1", "5")


@needs_node("@vscode/debugadapter-testsupport")
def test_an_assembly_text(tmp_path: Path) -> None:
    file = str(ROOT / "examples/tesla/diverge.s")
    walk(tmp_path, file, *kernel("zeros:i32:64"), line=17, watch="$r2", data="$r2")


@needs_node("@vscode/debugadapter-testsupport")
def test_microcode(tmp_path: Path) -> None:
    (tmp_path / "count.s").write_text(
        ".isa vuc vp2\nstart:\nmov $r1 3\nadd $r2 $r2 $r1\nmov $r3 7\nend: bra end\nnop\n"
    )
    walk(tmp_path, "count.s", line=4, watch="$r1", data="$r3", endless=True)


@needs_node("@vscode/debugadapter-testsupport")
def test_a_shader(tmp_path: Path) -> None:
    (tmp_path / "tint_f.cg").write_text(SHADER)
    seen = walk(tmp_path, "tint_f.cg", "--arg", "color0=ramp:f32:2x4", line=3, watch="d.y", data="pa0")
    assert (seen["watch"], seen["hit"]["locals"]["d"]) == ("0.5", "{0, 0.5, 1, 1.5}")


PROGRAM = (
    CUDA
    + """#include <stdio.h>
int main() {
    int h[32], *d;
    for (int k = 0; k < 32; k++) h[k] = k;
    cudaMalloc(&d, sizeof h);
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    for (int round = 0; round < 2; round++) twice<<<1, 32>>>(d, 4);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    return h[1] == 0;
}
"""
)


@needs_node("@vscode/debugadapter-testsupport")
@needs_clang
@pytest.mark.skipif(not cuda_build.has_compiler(), reason="needs `cc` on 64-bit x86 Linux")
def test_a_program_that_runs(tmp_path: Path) -> None:
    """An editor attaches to the first launch of a program's kernel, and walks in it as in a file's."""
    source, binary = tmp_path / "twice.cu", tmp_path / "twice"
    source.write_text(PROGRAM)
    isakit = [sys.executable, "-m", "isakit"]
    subprocess.run([*isakit, "nvcc", "-G", "-o", str(binary), str(source)], check=True, timeout=PATIENCE)
    command = [*isakit, "cuda", "--debug", "0", "--", str(binary)]
    seen = walked(command, str(source), line=5, watch="k", data="$r1")
    assert (seen["watch"], seen["hit"]["locals"]["sum"]) == ("0", "0")
    assert seen["next"]["source"] == "twice.cu"
    assert seen["restarted"]["frame"]
