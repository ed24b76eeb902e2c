"""Mistakes of beginners in Python kernels: each message stands at its line and says what to write."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from isakit import cuda
from isakit.errors import CompileError

TABLE = np.array([1, 2, 3], np.float32)


def compiled(body: str) -> Any:
    """Make a kernel `k(a)` of lines, as if they stood in a file."""
    text = "def k(a):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    name = f"<kernel {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np, "cuda": cuda, "T": TABLE}
    exec(compile(text, name, "exec"), scope)
    return cuda.jit(scope["k"])


@pytest.mark.parametrize(
    ("body", "line", "note"),
    [
        ("x = [0, 1]\na[0] = x[1]", 2, "cuda.local.array(4, np.float32)"),
        ("x = np.zeros(4)", 2, "cuda.local.array(4, np.float32)"),
        ("a[0] = np.sum(a)", 2, "add up in a loop"),
        ("a[0] = 1\na[0:2] = 1", 3, "one element after the other"),
        ("a.append(1)", 2, "arrays keep their size"),
        ("f = lambda x: x + 1", 2, "use `def`, above the kernel"),
        ("try:\n    a[0] = 1\nexcept ValueError:\n    pass", 2, "ask with `if` before"),
        ("import math", 2, "above the kernel"),
        ("for i, v in enumerate(a):\n    a[i] = v", 2, "for i in `range(len(a))`"),
        ("a[0] = sum([a[i] for i in range(4)])", 2, "add up in a loop"),
        ("cuda.syncthreads", 2, "call it: `cuda.syncthreads()`"),
        ("cuda.syncthread()", 2, "did you mean `cuda.syncthreads`"),
        ("a[cuda.threadidx.x] = 1", 2, "did you mean `cuda.threadIdx.x`"),
        ("i = cuda.grid(2)", 2, "`x, y = cuda.grid(2)`"),
        ("value = 1\na[0] = vlaue", 3, "did you mean `value`"),
        ("i = cuda.blockDim.x / 2\na[i] = 1", 3, "`//` divides integers"),
        ("n = cuda.blockDim.x\ns = cuda.shared.array(n, np.float32)", 3, "stands outside of the kernel: `N = 64`"),
        ("i = 0\nwhile i < 3:\n    i += 1\nelse:\n    a[0] = 5", 3, "behind the loop"),
        ("T[0] = 3\na[0] = T[0]", 2, "pass it as an argument"),
        ("T[1] += 3", 2, "pass it as an argument"),
        ("cuda.atomic.add(T, 0, 1)", 2, "pass it as an argument"),
        ("t = T\nt[0] = 3\na[0] = t[0]", 3, "pass it as an argument"),
        ("t = T\nfor i in range(2):\n    cuda.atomic.add(t, i, 1)", 4, "pass it as an argument"),
    ],
)
def test_a_mistake_is_answered_with_what_to_write(body: str, line: int, note: str) -> None:
    with pytest.raises(CompileError) as e:
        compiled(body)[1, 1](np.zeros(4, np.float32))
    (found,) = e.value.diagnostics
    assert found.line == line
    assert any(note in text for text in found.notes), found
