"""Kernels are named as in the file's symbols, or as in the source."""

from __future__ import annotations

import pytest

from isakit.compile import compile_ptx
from isakit.errors import IsakitError
from isakit.programs.kernel_names import matching, only

NAMES = ["_Z6reducePKfPfi", "_Z1kILi3EEvPi", "_Z1kILi4EEvPi", "k"]


def test_a_symbol_goes_before_names_of_the_source() -> None:
    assert matching("k", NAMES, "f") == ["k"]
    assert matching("k", NAMES[:3], "f") == NAMES[1:3]
    assert only("reduce", NAMES, "f") == "_Z6reducePKfPfi"
    assert only("_Z1kILi4EEvPi", NAMES, "f") == "_Z1kILi4EEvPi"
    assert only(None, ["k", "k"], "f") == "k"


def test_what_names_none_or_several_is_said() -> None:
    with pytest.raises(IsakitError, match="f has no kernel 'x'; it has _Z6reducePKfPfi, _Z1k"):
        matching("x", NAMES, "f")
    with pytest.raises(IsakitError, match="f has 2 kernels that are called k, name one with --kernel: _Z1kILi3"):
        only("k", NAMES[:3], "f")
    with pytest.raises(IsakitError, match="f has 4 kernels, name one"):
        only(None, NAMES, "f")
    with pytest.raises(IsakitError, match="f has no kernels"):
        only(None, [], "f")


def test_a_text_is_compiled_for_kernels_by_the_names_of_the_source() -> None:
    entry = ".entry {} () {{ exit; }}\n"
    text = ".version 1.4\n.target sm_13\n" + "".join(map(entry.format, ("_Z5shiftPf", "_Z5shiftPi", "_Z5scalePf", "k")))
    assert list(compile_ptx(text, kernels=("shift",)).module.kernels) == ["_Z5shiftPf", "_Z5shiftPi"]
    assert list(compile_ptx(text, kernels=("k", "_Z5scalePf")).module.kernels) == ["_Z5scalePf", "k"]
    with pytest.raises(IsakitError, match="has no kernel 'shft'; it has _Z5shiftPf, _Z5shiftPi, _Z5scalePf, k"):
        compile_ptx(text, kernels=("k", "shft"))
