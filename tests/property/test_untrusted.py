"""Anything may be given to any entry: what is wrong ends in one of the library's own errors, soon, and says why."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import isakit
from isakit import Isa, IsakitError
from isakit.cli.app import app
from isakit.formats import load_images
from isakit.programs import completed, module_of, write
from support.generators.hostile_texts import PIECES, SOURCE

HEADS = [b"", b"\x7fELF\x01\x01\x01", b"GXP\0", b"architecture {sm_10}\n", b"\x50\xed\x55\xba\x01\x00\x10\x00", b"0x"]
VARIANTS = [("tesla", "g80"), ("tesla", "gt200"), ("vuc", "vp2"), ("vuc", "vp4"), ("usse", "sgx543")]

variants = st.sampled_from(VARIANTS).map(lambda names: isakit.isa(*names))


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A source text with mistakes in it, or nothing but mistakes."""
    text = draw(st.sampled_from([SOURCE, *SOURCE.splitlines(), "", ""]))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        gone = draw(st.integers(0, 8))
        new = draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=4)))
        text = text[:start] + new + text[start + gone :]
    return text


@cache
def files() -> tuple[bytes, ...]:
    """Small files of the formats that can be written."""
    program = isakit.isa("tesla", "g80").assemble(SOURCE.replace("    tex 2d all $r0 $t0 $s0 $r0 $r1 // 0000\n", ""))
    return tuple(write(program, kind) for kind in ("raw", "hex", "cubin", "elf"))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file with some of its bytes changed, lost or doubled, or random bytes after the beginning of one."""
    if draw(st.booleans()):
        return draw(st.sampled_from(HEADS)) + draw(st.binary(max_size=80))
    data = bytearray(draw(st.sampled_from(files())))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(data)))
        gone = draw(st.integers(0, 40))
        data[start : start + gone] = draw(
            st.one_of(st.binary(max_size=4), st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"]))
        )
    return bytes(data)


def clear(error: IsakitError) -> None:
    first = str(error).splitlines()[0]
    assert first.strip()


@given(variants, sources())
def test_texts_assemble_or_are_explained(isa: Isa, text: str) -> None:
    try:
        program = isa.assemble(text)
    except isakit.AsmError as e:
        lines = text.split("\n")
        for d in e.diagnostics:
            assert 1 <= d.line <= len(lines)
            assert 1 <= d.column <= len(lines[d.line - 1]) + 2
            assert d.message
        clear(e)
    else:
        if program.kernel is None and not program.parts:
            assert isa.assemble(str(program)).to_bytes() == program.to_bytes()


@given(variants, sources())
def test_explain_takes_any_text(isa: Isa, text: str) -> None:
    try:
        explanation = isa.explain(text)
    except IsakitError as e:
        clear(e)
    else:
        assert str(explanation)
        assert explanation._repr_html_()


@given(variants, st.data())
def test_any_words_are_instructions_or_kept(isa: Isa, data: st.DataObject) -> None:
    bits = isa.decoder().view.variant.unit_bits
    words = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=6))
    program = isa.disassemble(words, program_type=data.draw(st.sampled_from(isa.program_types)))
    assert program.words == words
    for i in program:
        assert i.text
        assert i.plain_text
        assert (i.error is None) == i.valid
        assert len(i.explain()) or not i.valid
        assert all(name.startswith(("$", "p", "!", "r", "o", "s", "i", "g", "c")) for name in (*i.reads, *i.writes))


@given(variants, st.binary(max_size=64))
def test_any_bytes_come_back(isa: Isa, data: bytes) -> None:
    try:
        program = isa.disassemble(data)
    except isakit.FormatError as e:
        assert isa.name == "vuc"  # its words are narrower than what they are stored in
        clear(e)
    else:
        assert program.to_bytes() == data
        assert str(program)


@given(damaged(), st.sampled_from([("", ""), ("tesla", "g80"), ("vuc", "vp2"), ("usse", "sgx543")]))
def test_files_load_or_are_refused(data: bytes, named: tuple[str, str]) -> None:
    try:
        modules = load_images(data, isa=named[0], variant=named[1])
        for m in modules:
            for k in m.kernels.values():
                assert k.program.to_bytes() == k.code
                assert str(k.program)
                assert k.params is not None
    except IsakitError as e:
        clear(e)


@given(
    damaged(), st.sampled_from(["dis", "info", "dis -m tesla --hex", "dis -m vuc", "run", "asm -m usse", "dis --json"])
)
def test_commands_end_with_a_message(data: bytes, command: str) -> None:
    extra = ["--max", "200", "--engine", "reference"] if command == "run" else []
    result = CliRunner().invoke(app, [*command.split(), *extra, "-"], input=data)
    if result.exit_code == 2:  # a kernel may have parameters, and nothing is given for them
        assert command == "run"
        assert "argument" in result.stderr
    else:
        assert result.exit_code in (0, 1, 3), (result.output, result.exception)
    if result.exit_code:
        assert result.stderr.startswith(("error: ", "fault: "))
        assert "Traceback" not in result.stderr


@given(sources())
def test_the_assembler_command_ends_with_a_message(text: str) -> None:
    result = CliRunner().invoke(app, ["asm", "-m", "tesla", "-", "--format", "elf"], input=text)
    assert result.exit_code in (0, 1), (result.output, result.exception)
    if result.exit_code:
        assert result.stderr.startswith("error: ")


# --- size ------------------------------------------------------------------------------------------------------------

LONG: dict[str, Callable[[int], str]] = {
    "operation names": lambda n: "add b32 $r1 " * n,
    "brackets": lambda n: "mov b32 $r0 " + "(" * n,
    "minus signs": lambda n: "mov b32 $r0 " + "- " * n + "1",
    "labels": lambda n: "a:" * n,
    "digits": lambda n: ".word " + "9" * n,
    "hexadecimal digits": lambda n: ".word 0x" + "f" * n,
    "shifts": lambda n: ".word 1" + "<<200" * n,
    "branches": lambda n: "\n".join(f"l{k}: bra l{k + 1}" for k in range(n)) + f"\nl{n}: nop",
    "unknown labels": lambda n: "\n".join(f"l{k}: bra m{k}" for k in range(n)),
    "chained names": lambda n: "".join(f".equ x{k} x{k + 1} + 1\n" for k in range(n)) + f".equ x{n} 1\n.word x0",
    "kernels": lambda n: "\n".join(f".kernel k{k}\nnop" for k in range(n)),
    "open comments": lambda n: "/*" * n,
}


@pytest.mark.parametrize("what", LONG)
def test_time_is_in_proportion_to_the_text(what: str) -> None:
    isa = isakit.isa("tesla")

    def seconds(n: int) -> float:
        gc.disable()  # a collection looks at what all tests before have left
        start = time.process_time()
        with contextlib.suppress(IsakitError):
            isa.assemble(LONG[what](n))
        took = time.process_time() - start
        gc.enable()
        return took

    seconds(50)
    few, many = (min(seconds(n) for _ in range(3)) for n in (150, 1500))
    assert many < 40 * max(few, 0.005)  # ten times the text; a hundred times the time would be quadratic


def test_names_that_square_each_other_do_not_fill_the_memory() -> None:
    text = ".equ x0 1 << 250\n" + "".join(f".equ x{k + 1} x{k} * x{k}\n" for k in range(60)) + ".word x60"
    with pytest.raises(isakit.AsmError):
        isakit.isa("tesla").assemble(text)


@pytest.mark.parametrize(
    "text",
    [".regs|2", ".kernel%a b", ".word/1", "ld b32 $r1 g14²[$r0]", "ld b32 $r1 g14[$r²]", ".const]1", ".bars)"],
)  # fmt: skip
def test_odd_signs_behind_names_are_diagnosed(text: str) -> None:
    with pytest.raises(isakit.AsmError) as e:
        isakit.isa("tesla", "g80").assemble(text)
    assert e.value.diagnostics[0].line == 1


@pytest.mark.parametrize("value", ["nonsense" * 1000, [1 << 70], [-1], object(), None])
def test_wrong_kinds_of_arguments_are_refused(value: Any) -> None:
    with pytest.raises((IsakitError, TypeError)):
        isakit.isa("tesla").disassemble(value)


@pytest.mark.parametrize("name", ["a b", "a;b", "a\nb", "é", 'a"b', "1a", "//", "", "_Z3fooPf", "a.b$c"])
def test_listings_assemble_whatever_a_kernel_is_called(name: str) -> None:
    program = isakit.isa("tesla", "g80").assemble(".kernel k\nmov b32 $r0 0x1\nexit nop")
    image = completed(module_of(program))
    kernel = image.kernels.pop("k")
    kernel.name = name
    image.kernels[name] = kernel
    read = image.kernels[name].program
    again = isakit.isa("tesla", "g80").assemble(str(read))
    assert again.to_bytes() == program.to_bytes()
    assert again.kernel is not None
    assert name not in ("_Z3fooPf", "a.b$c") or again.kernel.name == name
