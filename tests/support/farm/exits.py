"""Lanes that leave loops and blocks, one or more at a time, around barriers: against the tree a kernel is made from."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.errors import CompileError, CompileWarning
from isakit.runtime import Device
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators import loop_exits
from support.generators.loop_exits import THREADS, VALUES, Tree, c_source, meant, ptx, tree_of, uniform
from support.needs import no_clang


def wrong(text: str, tree: list[Tree], engine: str = "llvm") -> list[tuple[int, int]] | None:
    """The arguments for which a kernel, as PTX, leaves another result than its tree; None: the compiler warns of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        try:
            kernel = Device("gt200", engine=engine).load(compile_ptx(text).module)["k"]
        except CompileWarning:
            return None
    found: list[tuple[int, int]] = []
    for n, word in VALUES:
        out = np.zeros(THREADS, np.uint32)
        kernel[1, THREADS](out, n, np.array([word], np.uint32))
        if out.tolist() != meant(tree, n, word):
            found.append((n, word))
    return found


def wrong_votes(text: str, tree: list[Tree], kinds: dict[int, str], engine: str = "llvm") -> str | None:
    """What is wrong with a kernel's results or votes, or nothing; None: the compiler warns of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        try:
            kernel = Device("gt200", engine=engine).load(compile_ptx(text).module)["k"]
        except CompileWarning:
            return None
    for n, word in VALUES:
        threads = loop_exits.ended(tree, n, word)
        bounds = loop_exits.outcomes(threads, kinds)
        rows = 1 + max(map(len, bounds))
        out = np.full((rows, THREADS), 2, np.uint32)
        kernel[1, THREADS](out, n, np.array([word], np.uint32))
        if out[0].tolist() != [t.acc for t in threads]:
            return f"with n, word = {n, word} threads end with other numbers than they have to"
        for t, mine in enumerate(bounds):
            for k, (least, most) in enumerate(mine):
                if not least <= out[k + 1, t] <= most:
                    return f"with n, word = {n, word} vote {threads[t].votes[k]} of thread {t} gave {out[k + 1, t]}"
            if out[len(mine) + 1 :, t].tolist() != [2] * (rows - 1 - len(mine)):
                return f"with n, word = {n, word} thread {t} has voted more often than it should"
    return ""


def _make(seed: int) -> dict[str, Any]:
    return {"tree": tree_of(seed), "engine": "reference" if seed % 8 == 7 else "llvm"}


def _check(text: str, case: dict[str, Any]) -> set[str]:
    found = wrong(text, case["tree"], case["engine"])
    if found:
        raise Wrong(f"with n, word = {found[0]} threads end with other numbers than they have to")
    return {"the compiler warns" if found is None else "right"}


def check(case: dict[str, Any]) -> set[str]:
    """The kernel as PTX, with every jump where it is in the tree."""
    return _check(ptx(case["tree"]), case)


def check_c(case: dict[str, Any]) -> set[str]:
    """The kernel as C, with what the compiler of C makes of its jumps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.cu"
        path.write_text(c_source({"k": case["tree"]}))
        return _check(compile_c(str(path)), case)


def _make_votes(seed: int) -> dict[str, Any]:
    tree, kinds = loop_exits.voting(tree_of(seed), seed)
    return {"tree": tree, "kinds": kinds, "engine": "reference" if seed % 8 == 7 else "llvm", "c": False}


def check_votes(case: dict[str, Any]) -> set[str]:
    """The kernel with votes, as PTX or as C."""
    with tempfile.TemporaryDirectory() as folder:
        if case["c"]:
            path = Path(folder) / "k.cu"
            path.write_text(c_source({"k": case["tree"]}))
            text = compile_c(str(path))
        else:
            text = ptx(case["tree"])
    try:
        found = wrong_votes(text, case["tree"], case["kinds"], case["engine"])
    except CompileError as e:
        if "needs more registers" not in str(e):
            raise
        return {"too large"}
    if found:
        raise Wrong(found)
    return {"the compiler warns" if found is None else "right"}


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for tree in _less(case["tree"]):
        try:
            fitting = uniform(tree, VALUES)
        except IndexError:  # it left out the loop whose counter is read, or that is left
            continue
        if fitting:
            yield {**case, "tree": tree}


def _less(body: list[Tree]) -> Iterator[list[Tree]]:
    yield from pieces_left_out(body)
    for k, s in enumerate(body):
        for at, inner in enumerate(s):
            if isinstance(inner, list) and all(isinstance(x, list) for x in inner):
                for less in _less(inner):
                    yield [*body[:k], [*s[:at], less, *s[at + 1 :]], *body[k + 1 :]]


HERE = (
    Campaign("exits", "random PTX whose lanes leave loops around barriers", _make, check, _smaller, 300.0, fixed=4),
    Campaign("votes", "random PTX that votes where lanes have left loops", _make_votes, check_votes, _smaller, 300.0,
             fixed=2),
    Campaign("votes-c", "random C that votes where lanes have left loops",
             lambda seed: {**_make_votes(seed), "c": True}, check_votes, _smaller, 300.0, no_clang, fixed=1),
    Campaign("exits-c", "random C whose lanes leave loops around barriers", _make, check_c, _smaller, 300.0, no_clang,
             fixed=1),
)  # fmt: skip
