"""Pseudo-code says what the engines compute: it is parsed and evaluated here, with rules of its own."""

import random
import re

import pytest

import isakit
from isakit.docsgen.pseudocode import explained, operations, pseudocode
from isakit.export.json_ import legal_word


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


class Bits(int):
    """A number that knows its width, for the syntax of pseudo-code."""

    def __new__(cls, value, width=32):
        made = super().__new__(cls, value & (1 << width) - 1)
        made.width = width
        return made


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


def signed(x):
    width = getattr(x, "width", 32)
    return int(x) - (1 << width) if int(x) >> (width - 1) & 1 else int(x)


def signed_to(x, width):
    return Bits(signed(x), width)


class Tree:
    """A parser by precedence for the expressions of pseudo-code."""

    TOKEN = re.compile(r"\s*(0x[0-9a-f]+|\d+|\$?[a-z]\w*|<<|>>|==|<s|[-+*&^|<~?:,()\[\]{}])")
    STRENGTH = {"|": 2, "^": 3, "&": 4, "<<": 5, ">>": 5, "+": 6, "-": 6, "*": 7, "==": 1, "<": 1, "<s": 1}

    def __init__(self, text, names):
        self.tokens = [*self.TOKEN.findall(text), ""]
        assert "".join(self.tokens) == text.replace(" ", ""), text
        self.names, self.at = names, 0

    def take(self, wanted=None):
        token = self.tokens[self.at]
        assert wanted is None or token == wanted, (wanted, token)
        self.at += 1
        return token

    def value(self):
        v = self.choice()
        assert self.tokens[self.at] == ""
        return v

    def choice(self):
        condition = self.infix(1)
        if self.tokens[self.at] != "?":
            return condition
        self.take("?")
        a = self.choice()
        self.take(":")
        b = self.choice()
        return a if condition else b

    def infix(self, least):
        left = self.unary()
        while self.STRENGTH.get(self.tokens[self.at], 0) >= least:
            sign = self.take()
            right = self.infix(self.STRENGTH[sign] + 1)
            left = self.combined(sign, left, right)
        return left

    def combined(self, sign, a, b):
        width = max(getattr(a, "width", 0), getattr(b, "width", 0)) if sign not in ("<<", ">>") else a.width
        match sign:
            case "==":
                return Bits(int(a) == int(b), 1)
            case "<":
                return Bits(int(a) < int(b), 1)
            case "<s":
                return Bits(signed(Bits(a, width)) < signed(Bits(b, width)), 1)
            case "<<":
                return Bits(int(a) << int(b), width) if int(b) < width else Bits(0, width)
            case ">>":
                return Bits(int(a) >> int(b), width) if int(b) < width else Bits(0, width)
        python = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__,
                  "^": int.__xor__}[sign]  # fmt: skip
        return Bits(python(int(a), int(b)), width)

    def unary(self):
        token = self.tokens[self.at]
        if token == "~":
            self.take()
            v = self.unary()
            return Bits(~v, v.width)
        if token == "not":
            self.take()
            return Bits(not self.unary(), 1)
        v = self.atom()
        while self.tokens[self.at] == "[":
            self.take("[")
            high = int(self.take(), 0)
            low = high
            if self.tokens[self.at] == ":":
                self.take(":")
                low = int(self.take(), 0)
            self.take("]")
            v = Bits(int(v) >> low, high - low + 1)
        return v

    def atom(self):
        token = self.take()
        if token == "(":
            v = self.choice()
            self.take(")")
            return v
        if token[0].isdigit():
            return Bits(int(token, 0), 32 if int(token, 0) < 1 << 32 else 64)
        name = token.replace("$", "")
        if self.tokens[self.at] == "(":
            self.take("(")
            args = [self.choice()]
            while self.tokens[self.at] == ",":
                self.take(",")
                args.append(self.choice())
            self.take(")")
            return self.names[name](*args)
        return self.names[name]
