"""The manual's flags and faults: the flags it writes down are the machine's, its faults the ones that are raised."""

import ast
import random
import re
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.docsgen.effects import faults_page
from isakit.docsgen.instruction import instruction_page
from isakit.docsgen.pseudocode import flag_values
from support.oracles.pseudocode import Bits, Tree

SOURCES = Path(isakit.__file__).parent
RAISING = {"MachineFault", "BudgetExceeded", "StackFault", "Trap", "AccessFault", "fault", "first_bad", "_trap"}


def section(isa, name):
    records = isakit.isa(isa).records
    record = next(r for r in records.records if r.name == name)
    text = instruction_page(records, record)
    return text[text.index("## Flags and faults") : text.index("## In real programs")]


def raised_in(*folders):
    """The kinds that the sources of the machines raise."""
    trees = [ast.parse(f.read_text("utf-8")) for folder in folders for f in (SOURCES / folder).rglob("*.py")]
    names = {name: text for tree in trees for name, text in constants(tree)}
    out = set()
    for call in (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call) and n.args):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called in RAISING:
            first = call.args[0]
            out.add(first.value if isinstance(first, ast.Constant) else names.get(getattr(first, "id", "")))
    return {k for k in out if isinstance(k, str) and re.fullmatch(r"[A-Z_]{4,}", k)}


def constants(tree):
    """Names of a module that stand for a string."""
    for n in tree.body:
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant):
            yield from ((t.id, n.value.value) for t in n.targets if isinstance(t, ast.Name))


@pytest.mark.parametrize(("isa", "folders"), [
    ("tesla", ("machine/tesla", "graphics")), ("vuc", ("machine/vuc",)), ("usse", ("machine/usse",)),
])  # fmt: skip
def test_the_faults_of_the_manual_are_those_the_machine_raises(isa, folders):
    records = isakit.isa(isa).records
    declared = {f.kind for f in records.faults}
    decoding = {f.lacking for r in records.records for f in r.forms} | {records.misaligned}
    by_option = {"CODE_OUT_OF_RANGE"}  # an `Op` carries it, as it does a decode error
    assert raised_in(*folders) - decoding == declared - decoding - by_option
    page = faults_page(records)
    for f in records.faults:
        assert f"## {f.kind}\n" in page
        assert (f.raised is None and f.framed is None) or re.search(
            rf"## {f.kind}\n(?:\n(?!##).*)*\.md|can raise", page
        )


@pytest.mark.parametrize(("text", "kind"), [
    ("mov b32 $r1 0x1|st b32 g14[$r1] $r1", "MISALIGNED_ADDRESS"),
    ("mov b32 $r1 0x40|st b32 g14[$r1] $r1", "UNMAPPED_ADDRESS"),
    ("mov b32 $r1 0x40|st b32 g3[$r1] $r1", "UNBOUND_SPACE"),
    ("mov b32 $r1 0x1|shl $a5 $r1 0x0", "ILLEGAL_ADDRESS_REGISTER"),
    ("brk", "STACK_UNDERFLOW"),
    ("join add b32 $r1 $r1 $r1", "STACK_UNDERFLOW"),
    ("quadon|quadon", "QUADON_ACTIVE"),
    ("bar inc wait 0x3 0xfff", "BARRIER_OUT_OF_RANGE"),
    ("trap", "TRAP_INSTRUCTION"),
    ("brkpt", "BREAKPOINT"),
    ("a: call a", "STACK_OVERFLOW"),
    ("bra 0x100000", "CODE_OUT_OF_RANGE"),
])  # fmt: skip
def test_a_fault_is_on_the_page_of_the_instruction_that_raises_it(text, kind):
    lines = text.split("|")
    program = isakit.isa("tesla").assemble("\n".join([".kernel k", ".bars 1", *lines, "exit mov b32 $r1 $r1"]))
    with pytest.raises(isakit.MachineFault) as caught:
        isakit.Device("gt200").load(program)["k"][1, 4]()
    assert caught.value.kind == kind
    faulting = program[len(lines) - 1]
    assert kind in section("tesla", faulting.form.record.name)
    assert kind not in section("tesla", "brkpt" if kind == "TRAP_INSTRUCTION" else "trap")


def test_faults_of_the_other_machines():
    for name, kind in (("call", "CALL_STACK_OVERFLOW"), ("ret", "CALL_STACK_UNDERFLOW"), ("ld", "OUT_OF_RANGE")):
        assert kind in section("vuc", name)
    assert "INVALID_BRANCH" in section("usse", "br")
    assert "`spec 3 7` is not modelled" in section("usse", "spec")


@pytest.mark.parametrize("text", [
    "add b32 $c0 $r0 $r1 $r2", "sub b32 $c0 $r0 $r1 $r2", "and b32 $c0 $r0 $r1 $r2", "xor b32 $c0 $r0 $r1 $r2",
    "min u32 $c0 $r0 $r1 $r2", "max s32 $c0 $r0 $r1 $r2",
])  # fmt: skip
def test_the_flags_written_down_are_the_machines(text):
    s = isakit.isa("tesla", "gt200")
    i = s.assemble(text)[0]
    lines = flag_values(s.records, i.form, i.word)
    program = s.assemble(
        f".kernel k\n.param x ptr\n.param a u32\n.param b u32\n mov b32 $r1 b32 s[a]\n mov b32 $r2 b32 s[b]\n {text}\n"
        " mov $r3 $c0\n mov b32 $r4 b32 s[x]\n exit st b32 g14[$r4] $r3\n"
    )
    kernel = isakit.Device("gt200").load(program)["k"]
    rng = random.Random(text)
    for _ in range(8):
        a, b = (rng.choice([0, 1, 31, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.getrandbits(32)]) for _ in "ab")
        got = np.zeros(1, np.uint32)
        kernel[1, 1](got, np.uint32(a), np.uint32(b))
        assert flags(lines, a, b, text.split()[0]) == got[0] & 15, (text, a, b)


def flags(lines, a, b, name):
    """The four flags, by evaluating the lines with the result of plain arithmetic."""
    signed = [x - (x >> 31 << 32) for x in (a, b)]
    result = {
        "add": a + b, "sub": a + (b ^ 0xFFFFFFFF) + 1, "and": a & b, "xor": a ^ b, "min": min(a, b), "max": max(signed),
    }[name]  # fmt: skip
    names = {"r1": Bits(a), "r2": Bits(b), "result": Bits(result, 33 if name in ("add", "sub") else 32)}
    for line in lines:
        left, _, right = line.partition(" = ")
        names[left] = Tree(right.replace("result", "$result"), names).value()
    return sum(int(names[f]) << k for k, f in enumerate("ZSCO"))
