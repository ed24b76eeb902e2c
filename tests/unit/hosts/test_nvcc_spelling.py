"""What nvcc read otherwise than clang: how sources are respelled, and in which files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from isakit.hosts.cuda.nvcc.spelling import files_of, respelled


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("k<< <1, n>> >(p);", "k<<< 1, n>>> (p);"),
        ("__global__ __device__ void k()", "__global__            void k()"),
        ('__device__ static\n__global__ void k()', "           static\n__global__ void k()"),
        ("__global__ void k(); __device__ int f();", None),
        ('asm("mov.u32 %0, %laneid;" : "=r"(x));', 'asm("mov.u32 %0, %%laneid;" : "=r"(x));'),
        ('asm volatile (\n"add %0, %1, t;" // t\n"mov t, %tid.x;" : "=r"(x) : "r"(y))',
         'asm volatile (\n"add %0, %1, t;" // t\n"mov t, %%tid.x;" : "=r"(x) : "r"(y))'),
        ('asm("mov.u32 %0, %%laneid;" : "=r"(x));', None),
        ('asm("mov.u32 r, %laneid;");', None),
        ('printf("%clock %tid");', None),
        ("a = b << (c < 3); d = e >> (f > 2);", None),
    ],
)  # fmt: skip
def test_sources_are_respelled(text: str, read: str | None) -> None:
    new = respelled(text.encode()).decode()
    assert new == (text if read is None else read)
    assert new.count("\n") == text.count("\n")


def test_strange_texts_take_no_time() -> None:
    begun = time.process_time()
    for part in (b'asm("', b'asm("a" "', b"__global__ ", b"<<", b"<< <", b'asm("%tid', b"#include <"):
        respelled(part * 20_000)
    assert time.process_time() - begun < 20


def test_files_are_found_beside_each_other_and_in_folders(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "inc").mkdir()
    (tmp_path / "a.cu").write_text('#include <stdio.h>\n  #  include "sub/b.cuh"\n#include <c.h>\n')
    (tmp_path / "sub/b.cuh").write_text('#include "d.h"\n#include "../a.cu"\n')
    (tmp_path / "sub/d.h").write_text("// d\n")
    (tmp_path / "inc/c.h").write_text('#include "none.h"\n')
    found = [p for p, _ in files_of(tmp_path / "a.cu", [str(tmp_path / "inc")])]
    assert sorted(p.name for p in found) == ["a.cu", "b.cuh", "c.h", "d.h"]
