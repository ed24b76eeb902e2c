"""USSE words of the corpus: text round trip, and agreement of operation and operands with another decoder's text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from isakit.arch.usse import usse
from isakit.codec.decoder import decoder
from isakit.formats.gxp import parse_gxp
from isakit.spec.tokens import tokenize

PROGRAM = {"P": "primary", "S": "secondary"}


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[tuple[int, str, str]]:
    lines = (shared / "corpus" / "usse" / "words.tsv").read_text().splitlines()[1:]
    out = []
    for line in lines:
        word, program, _, text = line.split("\t")
        out.append((int(word, 16), PROGRAM[program], text))
    return out


def assembled(text: str, program: str, variant: str = "sgx543") -> int | None:
    """The word of a text, bits after it XORed in."""
    m = re.search(r" \{(0x[0-9a-f]+)\}$", text)
    flip = int(m[1], 16) if m else 0
    encoder = decoder(usse, variant, program).encoder
    e = next(encoder.encodings(tokenize(text[: m.start()] if m else text), flip=flip), None)
    return None if e is None else e.word


def test_every_word_decodes_and_comes_back(rows):
    assert len(rows) > 4000
    for word, program, _ in rows:
        i = decoder(usse, "sgx543", program).one(word, 1)
        assert i.valid, (hex(word), i.error)
        assert assembled(i.text, program) == word, (hex(word), i.text)
        assert i.form is not None
        assert i.form.text(word) == i.plain_text


def test_every_word_of_the_files_comes_back(shared):
    count = 0
    for path in sorted((shared / "corpus" / "usse" / "gxp").glob("*.gxp")):
        gxp = parse_gxp(path.read_bytes(), str(path))
        for program, words in (("primary", gxp.primary), ("secondary", gxp.secondary)):
            for word in words:
                i = decoder(usse, "sgx543", program).one(word, 1)
                assert i.valid
                assert assembled(i.text, program) == word, (path.name, hex(word), i.text)
                count += 1
    assert count > 1000


# --- agreement with the other decoder's text -----------------------------------------------------------------------
# Both texts are reduced to (predicate, operation, list of (register, channels)).

OPERATIONS = {
    "VMAD2": "vmad2.f32", "VF16MAD2": "vmad2.f16", "VMUL": "vmul.f32", "VADD": "vadd.f32", "VFRC": "vfrc.f32",
    "VDSX": "vdsx.f32", "VDSY": "vdsy.f32", "VMIN": "vmin.f32", "VMAX": "vmax.f32", "VDP": "vdp.f32",
    "VF16MUL": "vmul.f16", "VF16ADD": "vadd.f16", "VF16FRC": "vfrc.f16", "VF16MIN": "vmin.f16", "VF16MAX": "vmax.f16",
    "VF16DP": "vdp.f16", "VF16DSX": "vdsx.f16", "VF16DSY": "vdsy.f16",
    "VRCP": "vrcp", "VRSQ": "vrsq", "VLOG": "vlog", "VEXP": "vexp", "AND": "and.u32", "OR": "or.u32", "XOR": "xor.u32",
    "SHL": "shl.u32", "SHR": "shr.u32", "ASR": "asr.u32", "ROL": "rol.u32",
}  # fmt: skip
REGISTER = re.compile(r"^(?P<neg>-?)(?P<abs>abs\()?(?P<neg2>-?)(?P<reg>[a-z]+\d+|[a-z]+\[.*?\]|\d+|0x[0-9A-Fa-f]+)\)?"
                      r"(?:\.(?P<chan>[-xyzw0-9hH]+))?$")  # fmt: skip


def their_operands(text: str) -> list[tuple[str, bool, bool, str]]:
    """(register, negated, absolute, channels) of each operand of the other text."""
    out = []
    for token in re.findall(r"-?abs\(-?[^)]*\)\S*|\S+\[[^\]]*\]\S*|[^\s()]+", text):
        m = REGISTER.match(token)
        assert m, (token, text)
        reg = m["reg"]
        out.append((reg, bool(m["neg"] or m["neg2"]), bool(m["abs"]), (m["chan"] or "").replace("-", "").lower()))
    return out


OUR = re.compile(r"^(?P<neg>-?)(?P<abs>\|?)(?P<reg>[a-z]+\d+|[a-z]+\[[^\]]*\]|#0x[0-9a-f]+)(?:@\w+)?"
                 r"(?:\.(?P<chan>[xyzw012h_]+))?\|?$")  # fmt: skip


def our_operands(tokens: list[str]) -> list[tuple[str, bool, bool, str]]:
    out = []
    for token in tokens:
        m = OUR.match(token)
        assert m, token
        out.append((m["reg"], bool(m["neg"]), bool(m["abs"]), m["chan"] or ""))
    return out


def rotated(tokens: list[str]) -> list[str]:
    """Immediates with rotation and inversion worked out, as the other text prints them."""
    for k, t in enumerate(tokens):
        if re.match(r"#0x[0-9a-f]+$", t) and k + 1 < len(tokens):
            n = int(tokens[k + 1][3:]) if tokens[k + 1].startswith("rol") else 0
            v = int(t[1:], 16)
            v = (v << n | v >> (32 - n)) & 0xFFFFFFFF
            v ^= 0xFFFFFFFF if "inv" in tokens else 0
            return [*tokens[:k], f"#{v:#x}", *tokens[k + 1 :]]
    return tokens


# The other decoder sends indexed banks of secondary programs to plain sa, and prints these words with the increments of
# a word before them.
ODD = {0x08C200AA0050883C, 0x18E381C2001582A0, 0x3800250082000080, 0x3800250282080180, 0x3800250A82080040,
       0x5081300A20000000}  # fmt: skip


def same_register(ours: str, theirs: str) -> bool:
    if ours.startswith("#"):
        return (theirs.isdigit() and int(ours[1:], 16) == int(theirs)) or theirs == f"0x{int(ours[1:], 16):X}"
    if "[" in ours:  # the other text reads the bank bits of doubled 7-bit numbers from the wrong place
        return "[" in theirs
    return ours == theirs


def picked(swizzle: str, channels: list[int]) -> str:
    return "".join(swizzle[min(k, len(swizzle) - 1)] for k in channels)


def difference(ours: list[str], theirs: str, same_swizzle: Callable[[str, str, list[int]], bool]) -> str | None:
    """What is different in the operands of one operation; `same_swizzle` also takes the channels that are written."""
    a, b = our_operands(ours), their_operands(theirs)
    if len(a) != len(b):
        return f"operand count {a} {b}"
    channels = ["xyzw".index(c) for c in a[0][3] if c in "xyzw"] or [0]
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        if not same_register(x[0], y[0]):
            return f"register {x} {y}"
        if k and (x[1], x[2]) != (y[1], y[2]):
            return f"modifiers {x} {y}"
        if not x[3] or not y[3]:
            continue
        if k == 0 and x[3] != y[3]:
            return f"mask {x} {y}"
        if k and not same_swizzle(x[3], y[3], channels):
            return f"swizzle {x} {y} {channels}"
    return None


FAMILIES = {"vmad2", "vector", "derivative", "vmad", "vdp", "vcomp", "vmov", "vmovc", "bitwise", "bitwise_inferred"}
MNEMONICS = re.compile(r"^(vmad|vdp)[34]\.")


def agreement(word: int, program: str, text: str) -> str | None:
    """None where the texts agree, else what is different."""
    i = decoder(usse, "sgx543", program).one(word, 1)
    first = text.split(" || ")[0].strip()
    move = re.match(r"(.*)VMOVC\.(\S+) (\S+) \((\S+) (\S+) vec\(0\)\) \? (\S+) : (\S+)$", first)
    if move:
        pred, ty, dst, a, relation, b, c = move.groups()
        first = f"{pred}VMOVC.{ {'==': 'eq', '!=': 'ne', '<': 'lt', '<=': 'le'}[relation] }.{ty} {dst} {a} {b} {c}"
    ours = rotated(i.plain_text.replace(" .", ".").split())
    theirs = first.split()
    pred = theirs.pop(0) if re.match(r"!?[pP][\dnN]$", theirs[0]) else ""
    mine = ours.pop(0) if re.match(r"!?[pP][\dnN]$", ours[0]) else ""
    if mine != pred and not i.mnemonic.startswith("vmad2"):
        return f"predicate {mine} {pred}"
    operation = ours.pop(0)
    if operation.startswith("vdp3"):  # a fourth letter is of no effect, and only we print it
        ours[1] = re.sub(r"(\.[xyzw012h]{3})[xyzw012h]", r"\1", ours[1])
    name = theirs.pop(0)
    wanted = OPERATIONS.get(name) or {"VMAD": "vmad.f32"}.get(name)
    if name.startswith(("VMOV.", "VMOVC.")):
        wanted = name.lower()
    reduced = MNEMONICS.sub(r"\1.", operation)
    if i.record.name == "vcomp":
        reduced = reduced.split(".")[0]
    if wanted is None or reduced != wanted:
        return f"operation {operation} {name}"
    flags = {"skipinv", "nosched", "sync", "end", "rpt_internal", "rpt_both", "rpt_slmsi", "repeat", "inv"}
    ours = [t for t in ours if t not in flags and not re.match(r"^(\d+|rol\d+|plane\d)$", t)]

    def same_swizzle(x: str, y: str, channels: list[int]) -> bool:
        dot = name in ("VDP", "VF16DP")
        x = x if dot else picked(x, channels if len(x) > 1 else [0] * len(channels))
        y = y[: len(x)] if dot else y
        return x == y or (len(set(x)) == 1 and x[: len(y)] == y)

    return difference(ours, " ".join(theirs), same_swizzle)


def test_operation_and_operands_agree(rows):
    differences: Counter[str] = Counter()
    compared = 0
    for word, program, text in rows:
        i = decoder(usse, "sgx543", program).one(word, 1)
        if i.record.name not in FAMILIES or word in ODD:
            continue
        compared += 1
        problem = agreement(word, program, text)
        if problem:
            differences[f"{word:016x} {program} {problem} | {i.text} | {text}"] += 1
    assert compared > 3400
    assert not differences, "\n".join([f"{len(differences)} of {compared}", *list(differences)[:25]])


# --- dual issue, packs and tests -------------------------------------------------------------------------------------
def compared(ours: list[str], theirs: str, scalar: bool = False, dot: bool = False) -> str | None:
    """Operands of one operation, both as texts."""

    def same_swizzle(x: str, y: str, channels: list[int]) -> bool:
        # Channel w of a swizzle with three letters reads x, as the other decoder has it.
        full = x if len(x) != 3 or dot else x + "x"
        mine = full if dot else picked(full, [0] if scalar else channels)
        return mine[: len(y)] == y[: len(mine)]

    return difference(ours, theirs, same_swizzle)


def test_dual_issue_agrees(rows):
    count = 0
    problems = []
    for word, program, text in rows:
        i = decoder(usse, "sgx543", program).one(word, 1)
        if i.record.name != "dual":
            continue
        count += 1
        ours = re.sub(r" (skipinv|\{0x[0-9a-f]+\})", "", i.plain_text)
        ours = re.sub(r"^(!?p0 )?dual[34]\.f\d\d ", "", re.sub(r" cfg\d", "", ours)).split(" + ")
        theirs = re.sub(r"^!?p0 ", "", text).split(" + ")
        assert len(ours) == len(theirs) == 2
        for mine, other in zip(ours, theirs, strict=True):
            name, _, operands = other.partition(" ")
            words = mine.split()
            if words[0] != name.lower():
                problems.append(f"{i.text} | {text} | {name}")
                continue
            problem = compared(words[1:], operands, name[0] == "F", name in ("VDP", "VSSQ"))
            if problem:
                problems.append(f"{word:016x} {i.text} | {text} | {problem}")
    assert count > 150
    assert not problems, "\n".join([str(len(problems)), *problems[:20]])


def test_packs_agree(rows):
    problems, count = [], 0
    for word, program, text in rows:
        i = decoder(usse, "sgx543", program).one(word, 1)
        if i.record.name != "vpck":
            continue
        count += 1
        m = re.match(r"(?:!?p\d )?VPCK(\w\d+)(\w\d+) (\S+) \(?(\S+?)(?: (\S+?))?\)? \[(no)?scale\]", text)
        if "[" in text:
            continue
        assert m, text
        words = re.sub(r"^!?p\d ", "", i.plain_text).split()
        name, dst, src = words[:3]
        scale = "scale" in words
        if name != f"vpck.{m[1].lower()}.{m[2].lower()}" or scale != (m[6] is None):
            problems.append(f"{word:016x} {i.text} | {text}")
            continue
        theirs = m[3].replace("-", "")
        letters, their_letters = src.partition(".")[2], m[4].partition(".")[2].replace("-", "").lower()
        mask = theirs.partition(".")[2]
        ours = src.partition(".")[0].partition("@")[0]
        if (
            dst.replace("@r", "").partition("@")[0].partition(".")[0] != theirs.partition(".")[0]
            or dst.partition(".")[2] != mask
        ):
            problems.append(f"{word:016x} dst {i.text} | {text}")
        if not same_register(ours, m[4].partition(".")[0]):
            problems.append(f"{word:016x} src {i.text} | {text}")
        floats = m[1][0] in "FC" and m[2][0] in "FC"
        if floats and picked(letters, ["xyzw".index(c) for c in mask]) != their_letters:
            problems.append(f"{word:016x} swizzle {i.text} | {text}")
    assert count > 350
    assert not problems, "\n".join([str(len(problems)), *problems[:20]])


def test_tests_agree(rows):
    problems, count = [], 0
    relations = {"equal": "eq", "equalzero": "eq", "eqzero": "eq", "nezero": "ne", "ltzero": "lt", "lezero": "le",
                 "gtzero": "gt", "gezero": "ge"}  # fmt: skip
    for word, program, text in rows:
        i = decoder(usse, "sgx543", program).one(word, 1)
        if i.record.name not in ("vtst", "vtst_fp8") or ("CMP" not in text and "VADD" not in text):
            continue
        count += 1
        m = re.match(r"(!?p\d )?(CMP|VADD)\.(\w+)\.(\w+) (p\d) (\S+) (\S+)$", text)
        assert m, text
        words = re.sub(r"^!?p\d ", "", i.plain_text).split()
        _, op, ty = words[0].split(".")
        relation = relations.get(m[3], m[3])
        channel = words[2][3:]
        their_type = m[4].replace("i32", "s32")
        ours_type = {"fp8": "u8", "s32": "s32", "u32": "u32"}.get(ty, ty)
        if (op == "sub") != (m[2] == "CMP") or words[1] != relation or words[2][:2] != m[5]:
            problems.append(f"{word:016x} {i.text} | {text}")
        elif ours_type != their_type and {ours_type, their_type} != {"u32", "s32"}:
            problems.append(f"{word:016x} type {i.text} | {text}")
        else:
            operands = [t for t in words[3:] if t not in ("skipinv", "nosched", "once", "sync")][-2:]
            for mine, other in zip(operands, (m[6], m[7]), strict=True):
                x, y = our_operands([mine])[0], their_operands(other)[0]
                letter = x[3][0] if x[3] == "xxxx" else channel
                if not same_register(x[0], y[0]) or (x[1], x[2]) != (y[1], y[2]) or (y[3] and y[3] != letter):
                    problems.append(f"{word:016x} {x} {y} {i.text} | {text}")
    assert count > 140
    assert not problems, "\n".join([str(len(problems)), *problems[:20]])
