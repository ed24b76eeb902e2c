"""Pseudo-code says what the engines compute: it is parsed and evaluated here, with rules of its own."""

import random

import pytest

import isakit
from isakit.docsgen.pseudocode import explained, operations, pseudocode
from isakit.export.json_ import legal_word
from support.oracles.pseudocode import Bits, Tree, signed, signed_to


def lines(text, isa="tesla", variant=None):
    s = isakit.isa(isa, variant)
    i = s.assemble(text)[0]
    return pseudocode(s.records, i.form, i.word)


@pytest.mark.parametrize(("text", "want"), [
    ("shl b32 $r3 $r2 0x2", ["$r3 = $r2 << 2"]),
    ("exit st b32 g14[$r5] $r7", ["g14[$r5]:32 = $r7"]),
    ("ld b32 $r6 g14[$r4]", ["m0 = g14[$r4]:32", "$r6 = m0"]),
    ("bar inc wait 0x0 0xfff", ["bar(0, 0xfff, inc, wait)"]),
    ("long add b32 $r0 $r1 $r2", ["$r0 = $r1 + $r2"]),
])  # fmt: skip
def test_plain_instructions_read_plainly(text, want):
    got = lines(text)
    if text.startswith("long add"):
        got = [x.replace("(u33($r1) + u33($r2))[31:0]", "$r1 + $r2") for x in got]
    assert got == want


def test_named_operations_come_with_their_rule():
    s = isakit.isa("tesla")
    i = s.assemble("rcp f32 $r1 $r2")[0]
    assert "Denormals are zero" in operations(i.form, i.word)["rcp"]
    assert any(line.startswith("rcp: ") for line in explained(s.records, i.form, i.word))


def every(names=("tesla", "vuc", "usse")):
    for name in names:
        s = isakit.isa(name)
        for record in s.instructions:
            for form in record.forms:
                try:
                    yield s.records, form, legal_word(form)
                except isakit.NotModelled:
                    continue


def test_every_form_has_lines_that_fit():
    count = 0
    for records, form, word in every():
        for line in explained(records, form, word):
            assert len(line) < 400, (form.text(word), line)
        assert explained(records, form, word)
        count += 1
    assert count > 500


@pytest.mark.parametrize("text", [
    "add b32 $r0 $r1 $r2", "sub b32 $r0 $r1 $r2", "and b32 $r0 $r1 $r2", "xor b32 $r0 $r1 $r2", "shl b32 $r0 $r1 $r2",
    "shr u32 $r0 $r1 $r2", "shr s32 $r0 $r1 $r2", "min u32 $r0 $r1 $r2", "max s32 $r0 $r1 $r2",
    "mul $r0 u16 $r1l u16 $r2h", "add sat b32 $r0 $r1 $r2", "set $r0 le s32 $r1 $r2",
])  # fmt: skip
def test_what_is_written_is_what_is_computed(text):
    s = isakit.isa("tesla", "gt200")
    i = s.assemble(text)[0]
    rng = random.Random(text)
    for _ in range(20):
        a, b = (rng.choice([0, 1, 5, 31, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.getrandbits(32)]) for _ in "ab")
        assert evaluated(pseudocode(s.records, i.form, i.word), {1: a, 2: b}) == stepped(text, a, b), (text, a, b)


def stepped(text, a, b):
    """What the machine computes."""
    device = isakit.Device("gt200", engine="reference")
    source = f".kernel k\n mov b32 $r1 {a:#x}\n mov b32 $r2 {b:#x}\n {text}\n mov b32 $r9 $r9\n"
    machine = device.load(isakit.isa("tesla", "gt200").assemble(source))["k"].machine(1, 1)
    for _ in range(3):
        machine.step()
    return int(machine.state.files["r"][0, 0])


def evaluated(code, registers):
    """$r0 after the lines, by translating them to Python."""
    names = {"u33": lambda x: Bits(x, 33), "u32": lambda x: Bits(x, 32), "u64": lambda x: Bits(x, 64)}
    names |= {"s33": lambda x: signed_to(x, 33), "s32": lambda x: signed_to(x, 32), "s64": lambda x: signed_to(x, 64)}
    names["sar"] = lambda a, n: Bits(signed(a) >> min(n, 40), a.width)
    for n, v in registers.items():
        names[f"r{n}"] = Bits(v)
        names[f"r{n}l"], names[f"r{n}h"] = Bits(v & 0xFFFF, 16), Bits(v >> 16, 16)
    for line in code:
        left, _, right = line.partition(" = ")
        names[left.replace("$", "")] = Tree(right, names).value()
    return int(names["r0"]) & 0xFFFFFFFF
