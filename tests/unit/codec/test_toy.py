"""Codec on a small invented instruction set whose answers can be worked out by hand: 8-bit units, 1 or 2 of them."""

from __future__ import annotations

import pytest

from isakit.codec import Decoder, Encoder, decoder, tokenize
from isakit.codec.explain import bit_names
from isakit.errors import AsmError, UnknownIsaError
from isakit.spec import (
    Enum,
    Flag,
    Illegal,
    Imm,
    InstructionSet,
    Layout,
    Nothing,
    Ref,
    Refusal,
    Reg,
    bits,
    choice,
    make_form,
    when,
    where,
)
from isakit.spec.tokens import Stream
from support.generators.toy import empty_isa, toy_variant

SIZE, OP, DST, SRC = bits(0), bits(1, 2), bits(3, 4), bits(5, 6)
FULL, HAS, NUMBER = bits(7), bits(8), bits(9, 12)
SHORT = Layout("short", 1, where({SIZE: 0}))
LONG = Layout("long", 2, where({SIZE: 1}), default=1 << 15)
NAMES = ("$r0", "$r1", "$r2", None)
REF = Ref("toy", "1")


def reg(f) -> Reg:
    return Reg(f, NAMES, lambda index: index, "a register")


def toy() -> InstructionSet:
    isa = empty_isa(
        toy_variant("old"), toy_variant("new", "wide", aliases=("newer",)),
        length=lambda unit: 1 + (unit & 1), misaligned="CROOKED",
    )  # fmt: skip
    operand = choice(when({HAS: 0}, Nothing()), when({HAS: 1}, Imm(NUMBER, label="a count")))
    both = {"dst": reg(DST), "src": reg(SRC)}

    @isa.insn(
        [
            make_form(SHORT, "add {dst} {src}", both, {OP: 1}),
            make_form(LONG, "add {sat} {dst} {src} {by}", {**both, "sat": Flag(FULL, "sat"), "by": operand}, {OP: 1},
                      ignored=1 << 14, refusals=[Refusal(where({HAS: 1, NUMBER: 9}), "NINE")]),
        ],
        ref=REF, status="known",
        notes=["a note"],
    )  # fmt: skip
    def add(dst, src, sat=False, by=None):
        """Add. Twice."""

    @isa.insn([make_form(SHORT, "{name} {dst}", {"name": Enum(SRC, {0: "neg", 1: "not"}), "dst": reg(DST)}, {OP: 2})],
              ref=REF, status="inferred")  # fmt: skip
    def unary(name, dst):
        """Change one register."""

    @isa.insn(
        [make_form(SHORT, "big {dst}", {"dst": reg(DST)}, {OP: 3}, needs="wide", lacking="NOT_YET")],
        ref=REF,
        status="known",
    )
    def big(dst):
        """Only on the new one."""

    @isa.insn([make_form(LONG, "odd {dst}", {"dst": choice(when({HAS: 0}, reg(DST)), when({HAS: 1}, Illegal("BAD")))},
                         {OP: 2})], ref=REF, status="known")  # fmt: skip
    def odd(dst):
        """Sometimes illegal."""

    return isa


@pytest.fixture(scope="module")
def isa() -> InstructionSet:
    return toy()


@pytest.fixture
def new(isa) -> Decoder:
    return decoder(isa, "new")


def short(op: int, dst: int = 0, src: int = 0) -> int:
    return op << 1 | dst << 3 | src << 5


def long(op: int, dst: int = 0, src: int = 0, more: int = 0) -> int:
    return 1 | short(op, dst, src) | 1 << 15 | more


def encode(d: Decoder, text: str) -> list[int]:
    return [e.word for e in d.encoder.encodings(tokenize(text))]


class TestDecode:
    def test_sizes_and_addresses(self, new) -> None:
        word = long(1, 1, 2, HAS.put(1) | NUMBER.put(5))
        program = new.decode([short(2, 1), short(1, 0, 1), word & 255, word >> 8, short(3)], address=4)
        assert [i.text for i in program] == ["neg $r1", "add $r0 $r1", "add $r1 $r2 0x5", "big $r0"]
        assert [i.address for i in program] == [4, 5, 6, 8]
        assert [i.size for i in program] == [1, 1, 2, 1]
        assert program[2].words == (word & 255, word >> 8)
        assert program[2].bytes == word.to_bytes(2, "little")

    def test_operands_and_record(self, new) -> None:
        i = new.one(short(2, 1, 1), 1)
        assert (i.mnemonic, i.operands) == ("not", ("$r1",))
        assert i.record is not None
        assert i.record.name == "unary"

    @pytest.mark.parametrize(("units", "error", "text"), [
        ([short(0)], "ILLEGAL_OPCODE", ".word 0x00000000"),
        ([short(1, 3)], "ILLEGAL_OPCODE", ".word 0x0000001a"),
        ([short(2, 0, 2)], "ILLEGAL_OPCODE", ".word 0x00000044"),
        ([long(1) & 255], "TRUNCATED_INSTRUCTION", ".word 0x00000003"),
    ])  # fmt: skip
    def test_errors_keep_the_word(self, new, units, error, text) -> None:
        (i,) = new.decode(units)
        assert (i.error, i.text, i.valid) == (error, text, False)
        assert i.mnemonic == ".word"

    def test_a_long_instruction_at_an_odd_place(self, new) -> None:
        word = long(1)
        program = new.decode([short(1), word & 255, word >> 8])
        assert program[1].error == "CROOKED"
        assert [w for i in program for w in i.words] == [short(1), word & 255, word >> 8]

    def test_named_errors(self, isa, new) -> None:
        assert new.one(long(1, more=HAS.put(1) | NUMBER.put(9)), 2).error == "NINE"
        assert new.one(long(2, more=HAS.put(1)), 2).error == "BAD"
        assert decoder(isa, "old").one(short(3), 1).error == "NOT_YET"

    def test_best_reading_of_an_illegal_word(self, new) -> None:
        assert new.one(short(1, 3, 1), 1).plain_text == "add ??? $r1"

    def test_variants(self, isa) -> None:
        assert decoder(isa, "newer") is decoder(isa, "new")
        with pytest.raises(UnknownIsaError, match="old, new"):
            decoder(isa, "newest")


class TestMarkers:
    def test_a_shorter_form_would_do(self, new) -> None:
        i = new.one(long(1, 1, 2), 2)
        assert i.text == "long add $r1 $r2"
        assert i.plain_text == "add $r1 $r2"
        assert new.one(long(1, 1, 2, FULL.put(1)), 2).text == "add sat $r1 $r2", "sat has no short form"

    def test_bits_that_differ_from_what_is_written(self, new) -> None:
        i = new.one(long(1, 1, 2, 1 << 13 | 1 << 14), 2)
        assert i.text == "long add $r1 $r2 {0x6000}"
        assert i.unknown_bits == 1 << 13, "bit 14 is known to be ignored"
        cleared = new.one(long(1, 1, 2) ^ 1 << 15, 2)
        assert cleared.text == "long add $r1 $r2 {0x8000}"
        assert cleared.unknown_bits == 0, "a bit that is clear is not a set bit"

    def test_every_word_comes_back(self, isa, new) -> None:
        for unit in range(256):
            for high in range(256) if unit & 1 else (0,):
                units = [unit, high] if unit & 1 else [unit]
                for i in new.decode(units):
                    if not i.valid:
                        assert i.text.startswith(".word ")
                        continue
                    text, _, marker = i.text.partition(" {")
                    forced = text.startswith("long ")
                    flip = int(marker[:-1], 16) if marker else 0
                    found = new.encoder.encodings(tokenize(text.removeprefix("long ")), flip=flip)
                    assert next(e for e in found if not forced or e.units == 2).word == i.word, i.text


class TestEncode:
    def test_shortest_first(self, new) -> None:
        assert encode(new, "add $r1 $r2") == [short(1, 1, 2), long(1, 1, 2)]

    def test_expressions_and_symbols(self, new) -> None:
        found = list(new.encoder.encodings(tokenize("add $r0 $r0 (size + 1) * 2"), {"size": 3}.get))
        assert [e.word for e in found] == [long(1, more=HAS.put(1) | NUMBER.put(8))]
        assert found[0].symbols == {"size"}

    def test_illegal_operands_are_no_encoding(self, new) -> None:
        assert encode(new, "add $r0 $r0 9") == []
        assert "NINE" in new.encoder.diagnose(tokenize("add $r0 $r0 9")).message

    @pytest.mark.parametrize(("text", "token", "message", "note"), [
        ("ad $r0 $r1", 0, "unknown instruction `ad`", "did you mean"),
        ("add $r0 $r3", 2, "`$r3` does not fit here", "accepted here: $r0 .. $r2"),
        ("add $r0", 2, "the statement ends too early", "accepted here"),
        ("add $r0 $r1 $r2", 3, "`$r2` does not fit here", "accepted here"),
        ("add $r0 $r1 16", 3, "`16` does not fit here", "a count 0x0 .. 0xf"),
        ("$r0 $r1", 0, "no instruction name", ""),
    ])  # fmt: skip
    def test_diagnostics(self, new, text, token, message, note) -> None:
        miss = new.encoder.diagnose(tokenize(text))
        assert (miss.token, miss.message) == (token, message)
        assert note in "\n".join(miss.notes)

    def test_what_a_variant_lacks(self, isa) -> None:
        miss = Encoder(isa.view("old", "")).diagnose(tokenize("big $r1"))
        assert miss.message == "old does not have `big`"
        assert miss.notes == ("it needs wide",)

    def test_names(self, isa) -> None:
        assert Encoder(isa.view("new", "")).mnemonics == ["add", "big", "neg", "not", "odd"]
        assert "big" not in Encoder(isa.view("old", "")).mnemonics


class TestExplain:
    def test_rows_cover_every_bit_once(self, new) -> None:
        for word in (long(1, 1, 2, 0x6000), long(1, 1, 2, HAS.put(1) | NUMBER.put(5)), long(2, 1)):
            rows = new.one(word, 2).explain().rows
            assert sum(r.mask for r in rows) == 0xFFFF, "no bit is left out, none stands twice"
            for r in rows:
                n = r.mask.bit_count()
                assert 0 <= r.value < 1 << n

    def test_meanings(self, new) -> None:
        e = new.one(long(1, 1, 2, 0x6000 | FULL.put(1)), 2).explain()
        by_field = {r.field: r for r in e}
        assert by_field["dst"].meaning == "$r1"
        assert by_field["sat"].meaning == "sat"
        assert by_field["unknown"].mask == 1 << 13
        assert by_field["ignored"].mask == 1 << 14
        assert by_field["unused"].mask == 1 << 15 | NUMBER.mask
        assert by_field["selectors"].mask == HAS.mask
        assert (e.name, e.form, e.status, e.reference) == ("add", "long", "known", "[toy] 1")
        assert "$r1" in str(e)

    def test_no_record(self, new) -> None:
        e = new.one(short(0), 1).explain()
        assert (e.error, len(e)) == ("ILLEGAL_OPCODE", 0)

    def test_bit_names(self) -> None:
        assert bit_names(0b1110_0001, 8) == "w0[7:5,0]"
        assert bit_names(0x8001, 8) == "w0[0] w1[7]"


class TestTokens:
    @pytest.mark.parametrize(("text", "wanted"), [
        ("1 + 2 * 3", [7]), ("(1 + 2) * 3", [9]), ("5 -3", [5, -3]), ("5 - 3", [2]), ("5-3", [2]),
        ("-1", [-1]), ("~0", [-1]),
        ("1 << 4 | 0x3", [19]), ("0b101", [5]), ("7 / 2 % 2", [1]), ("010", [10]),
    ])  # fmt: skip
    def test_numbers(self, text, wanted) -> None:
        s = Stream(tokenize(text))
        got, k = [], 0
        while k < len(s):
            n = s.number(k)
            assert n is not None
            k = n[0]
            got.append(n[1])
        assert got == wanted

    @pytest.mark.parametrize(
        "text", ["1 / 0", "1 << -1", "(1", "name", "+" * 200 + "1", "1 << 300 << 300" + " << 256" * 20]
    )
    def test_no_numbers(self, text) -> None:
        s = Stream(tokenize(text))
        n = s.number(0)
        assert n is None or n[0] < len(s)

    def test_floats(self) -> None:
        assert Stream(tokenize("-1.5")).float_number(0) == (2, -1.5)
        assert Stream(tokenize("1e3f")).float_number(0) == (1, 1000.0)
        assert Stream(tokenize("15")).float_number(0) is None

    def test_columns(self) -> None:
        assert [(t.text, t.column) for t in tokenize("add  $r1,$r2[4]")] == [
            ("add", 0), ("$r1", 5), ("$r2", 9), ("[", 12), ("4", 13), ("]", 14),
        ]  # fmt: skip

    def test_bad_character(self) -> None:
        with pytest.raises(AsmError) as caught:
            tokenize("add ¤", 7, "file.s")
        (d,) = caught.value.diagnostics
        assert (d.line, d.column) == (7, 5)
