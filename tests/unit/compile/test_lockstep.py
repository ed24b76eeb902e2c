"""Marks of accesses to shared memory in LLVM IR, which the last passes then leave where they are."""

from __future__ import annotations

import pytest

from isakit.compile.lockstep import marked_shared, unmarked

IR = """@s = internal addrspace(3) global [64 x float] undef, align 4

define ptx_kernel void @k(ptr %x, ptr addrspace(3) noundef align 4 %l, i64 %i) {
  %a = getelementptr float, ptr %x, i64 %i
  %v = load float, ptr %a, align 4
  br label %again

again:
  %p = phi ptr [ %q, %again ], [ %b, %0 ]
  %q = getelementptr i8, ptr %p, i64 4
  %w = load <2 x float>, ptr %p, align 4
  %z = load float, ptr addrspace(3) %l, align 4, !tbaa !1
  %b = getelementptr float, ptr addrspacecast (ptr addrspace(3) @s to ptr), i64 %i
  store float %v, ptr %b, align 4, !dbg !5
  store ptr %b, ptr %x, align 8
  store ptr addrspace(3) %l, ptr %x, align 8
  %m = load ptr addrspace(3), ptr %x, align 8
  store float 0.0, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(3) @s to ptr), i64 4), align 4
  ret void
}

define void @other(ptr %b) {
  store i32 0, ptr %b
  ret void
}
"""
OLDER = """@s = internal addrspace(3) global [64 x float] undef, align 4

define ptx_kernel void @k(float* %x, float addrspace(3)* noundef align 4 %l, i64 %i) {
  %a = getelementptr float, float* %x, i64 %i
  %v = load float, float* %a, align 4
  br label %again

again:
  %p = phi float* [ %q, %again ], [ %b, %0 ]
  %q = getelementptr float, float* %p, i64 4
  %r = bitcast float* %p to <2 x float>*
  %w = load <2 x float>, <2 x float>* %r, align 4
  %z = load float, float addrspace(3)* %l, align 4, !tbaa !1
  %b = getelementptr float, float* addrspacecast ([64 x float] addrspace(3)* @s to float*), i64 %i
  store float %v, float* %b, align 4, !dbg !5
  store float 0.0, float* getelementptr ([64 x float], [64 x float] addrspace(3)* @s, i64 0, i64 4), align 4
  ret void
}
"""
"""The same in the manner of clang 14 and before: pointers have types."""


@pytest.mark.parametrize("ir", [IR, OLDER])
def test_what_leads_to_shared_memory_is_marked_and_nothing_else(ir: str) -> None:
    was, now = ir.splitlines(), marked_shared(ir).splitlines()
    assert len(was) == len(now)
    changed = {a.strip(): b.strip() for a, b in zip(was, now, strict=True) if a != b}
    assert list(changed) == [line.strip() for line in was if line.strip()[:7] in ("%w = lo", "%z = lo", "store f")]
    for a, b in changed.items():
        assert b.replace("volatile ", "") == a
        assert b.startswith(("store volatile float", "%w = load volatile <2 x", "%z = load volatile float"))


def test_marks_are_taken_away_unless_the_program_has_some() -> None:
    ptx = "ld.volatile.shared.b32 %r1, [%rd1];\nst.volatile.shared.b32 [%rd1], %r1;\n"
    assert unmarked(ptx, IR) == "ld.shared.b32 %r1, [%rd1];\nst.shared.b32 [%rd1], %r1;\n"
    assert unmarked(ptx, IR.replace("store i32", "store volatile i32")) == ptx
    assert marked_shared("define void @k() {\n  ret void\n}\n") == "define void @k() {\n  ret void\n}\n"
