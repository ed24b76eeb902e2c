"""Random Tesla instructions for fuzzing: every form, operand alternative and modifier value, with operands that exist.

What there is to hit is what instruction coverage counts (`isakit.debug.coverage`). `walk` lists all of it for a chip,
so that consecutive seeds cover everything; `Instructions` writes the lines of one instruction: registers of the
kernel, addresses in memory of the warp, tails left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import isakit
from isakit.arch.tesla.tesla import tesla
from isakit.codec import decoder
from isakit.debug.coverage import Item, items_of, word_for
from isakit.errors import IsakitError
from isakit.sem.semantics import trace_of
from isakit.spec import Form

DATA = 8
"""$r0-$r7 are data. $r12: the warp's global memory, $r13: scratch, $r14: its part of s[], $r15: the thread's memory."""
WARP_BYTES = 256
"""Bytes of global memory, and of s[], that belong to a warp."""
STARTS = {k: 0x10000 - 0x400 * ((k - 3) % 16) if k != 14 else 0 for k in range(16)}
"""Where the g[] spaces start; the kernel's memory is above."""
CODE_BANK = 15
"""The constant bank that holds addresses of code."""
MEMORY = ("ld_g", "st_g", "ld_s", "st_s", "ld_l", "st_l", "ld_c", "atom", "red")
_SIZES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "b32": 4, "u32": 4, "s32": 4, "b64": 8, "u64": 8}
_SIZES |= {"s64": 8, "b128": 16}
_OPERAND = re.compile(r"\b([slc])(\d*)\[(?:\$a(\d)|0x0(?=\+\+))?(\+\+|\+)?(-?0x[0-9a-f]+)?\]")
_GLOBAL = re.compile(r"\bg(\d+)\[\$r\d+\]")
_BANKS = re.compile(r"\bc\d+\[")


@cache
def _possible(chip: str, kind: str = "compute") -> dict[str, list[tuple[Form, list[Item]]]]:
    """Record -> its forms and their items, of what a program may contain anywhere: no control flow, no textures."""
    view = tesla.view(chip, kind)
    out: dict[str, list[tuple[Form, list[Item]]]] = {}
    for form, items in items_of(view).items():
        if form.record is None or form.record.semantics is None or form.record.name.startswith("tex"):
            continue
        listed = sorted(items)
        word = word_for(view, form, listed[0], Random(0))
        if word is not None and runs_on(form, word):
            out.setdefault(form.record.name, []).append((form, listed))
    return out


def runs_on(form: Form, word: int) -> bool:
    """Whether the next instruction follows: no control transfer, no trap."""
    try:
        effects = trace_of(form, word).effects
    except IsakitError:
        return False
    return all(e.kind != "trap" and (e.kind != "control" or e.name == "pmevent") for e in effects)


@cache
def walk(chip: str) -> tuple[tuple[Form, Item], ...]:
    """All there is to hit on a chip, in a random order that is always the same.

    Guards, tails and numbers of constant banks and g[] spaces once per record, everything else once per form.
    """
    found: dict[Any, tuple[Form, Item]] = {}
    every = [(form, item) for forms in _possible(chip).values() for form, items in forms for item in items]
    Random(chip).shuffle(every)
    for form, item in every:
        shared = item.part.split("/")[0] in ("guard", "tail") or re.search(r"\b[cg]\d+\[", item.what)
        what = re.sub(r" where 0x\w+ is 0x\w+", "", item.what)
        found.setdefault((item.record, item.kind, what) if shared else item, (form, item))
    return tuple(found.values())


@dataclass
class Instructions:
    """Writes instructions for one program of a kind.

    `alone`: the program is one warp, which may use all of s[] at any time. `wild`: accesses may fault.
    """

    chip: str
    random: Random
    alone: bool
    wild: bool
    kind: str = "compute"

    def __post_init__(self) -> None:
        self.view = tesla.view(self.chip, self.kind)
        self.assembler = isakit.isa("tesla", self.chip)
        self.units = decoder(tesla, self.chip, self.kind)
        self.forms = _possible(self.chip, self.kind)
        self.computing = sorted(n for n in self.forms if n not in MEMORY)
        self.touching = sorted(n for n in self.forms if n in MEMORY)

    def data(self) -> str:
        """A register with data."""
        return f"$r{self.random.randrange(DATA)}"

    def compute(self) -> list[str]:
        """An instruction that touches no memory but c[] and s[] operands, after what its addresses need."""
        return self._random(self.computing)

    def access(self) -> list[str]:
        """A load, a store or an atomic operation."""
        return self._random(self.touching)

    def _random(self, names: list[str]) -> list[str]:
        while True:
            form, items = self.random.choice(self.forms[self.random.choice(names)])
            lines = self.having(form, self.random.choice(items))
            if lines is not None:
                return lines

    def having(self, form: Form, item: Item) -> list[str] | None:
        """An instruction with an item; None when there is none that this kernel may contain."""
        word = word_for(self.view, form, item, self.random)
        if word is None:
            return None
        found = self.units.one(word, form.units)
        text = found.text
        if item.part.split("/")[0] not in ("guard", "pred") and self.random.random() < 0.5:
            text = re.sub(r"^((exit|join) )?\(\w+ \$c\d\) ", "", text)
        lines = self._fitted(text)
        if lines is None:
            return None
        instruction = self.assembled(lines[-1])
        if instruction is None or instruction.form is None or not runs_on(instruction.form, instruction.word):
            return None
        if instruction.form.units == 1:
            lines.append("mov b16 $r0l $r0l")  # 8-byte instructions start at multiples of 8
        return lines

    def assembled(self, text: str) -> Any:
        """The instruction of a line, or None when it is not valid."""
        try:
            i = next(iter(self.assembler.assemble(text + "\n", self.kind)), None)
        except IsakitError:
            return None
        return i if i is not None and i.valid else None

    # --- operands that exist ---------------------------------------------------------------------------------
    def _fitted(self, text: str) -> list[str] | None:
        text = re.sub(r"\b(exit|join) ", "", re.sub(r"\$r(\d+)", self._register, text))
        text = re.sub(r" \{0x[0-9a-f]+\}$", "", text)
        if "lock" in text and not self.alone:
            return None
        if not (self.wild and self.random.random() < 0.2):
            text = re.sub(r"(?<=\$a)[56]", lambda m: "47"[int(m[0]) - 5], text)
        setup: list[str] = []
        if _GLOBAL.search(text):
            space = int(_GLOBAL.findall(text)[0])
            setup = self._global_address(space, text)
            text = _GLOBAL.sub(f"g{space}[$r13]", text)
        operands = list(_OPERAND.finditer(text))
        if operands:
            stores = bool(re.search(r"\bst\b", text))
            number = next((m[3] for m in operands if m[3] and m[3] != "0"), None)
            if stores and number is None and not self.alone and operands[0][1] == "s":
                number = "1"
            if number is not None and not (self.wild and self.random.random() < 0.2):
                setup = self._address(number, any(m[1] == "s" for m in operands))
                forced = number if stores else None
                text = _OPERAND.sub(lambda m: self._operand(m, forced), text)
            elif number is None and not (self.wild and self.random.random() < 0.2):
                text = _OPERAND.sub(lambda m: self._operand(m, None), text)
            elif not self.alone:
                return None
        return [*setup, text]

    def _register(self, m: re.Match[str]) -> str:
        n = int(m[1])
        return f"$r{n % DATA + 16}" if n % 41 == 40 else f"$r{n % DATA}"  # some are not allocated

    def _global_address(self, space: int, text: str) -> list[str]:
        sizes = [_SIZES[t] for t in re.findall(r"\b[bus]\d+\b", text) if t in _SIZES]
        size = max(sizes, default=16)
        if not re.search(r"\b(st|ld) [bus]\d+ ", text):
            size = max(4, size)  # of atomics
        mask = WARP_BYTES - size if not self.wild or self.random.random() < 0.9 else 0xFFF
        lines = [f"and b32 $r13 {self.data()} {mask:#x}", "add b32 $r13 $r12 $r13"]
        if STARTS[space]:
            lines.append(f"add b32 $r13 $r13 {-STARTS[space] & 0xFFFFFFFF:#x}")
        return lines

    def _address(self, number: str, shared: bool) -> list[str]:
        mask = 0x30 if not self.wild or self.random.random() < 0.9 else 0x3F
        lines = [f"and b32 $r13 {self.data()} {mask:#x}"]
        if shared:
            lines.append("add b32 $r13 $r14 $r13")
        return [*lines, f"shl $a{number} $r13 0x0"]

    def _operand(self, m: re.Match[str], forced: str | None) -> str:
        """The operand with an offset inside what the warp has; `forced`: with this address register."""
        space, bank, number, sign, offset = m[1], m[2], m[3], m[4], int(m[5] or "0", 16)
        if sign == "++" and number:
            return m[0]  # the increment comes after the access
        limit = {"s": 0x30 if offset > 0x7C or forced else 0x7C, "l": 0x30, "c": 0xFFFF}[space]
        offset &= limit if limit < 0x100 else (0xFFF0 if offset > 0x3FF else 0xFFFF)
        number = number or forced
        if sign == "++":
            return f"{space}{bank}[0x0++{offset:#x}]"
        return f"{space}{bank}[$a{number}+{offset:#x}]" if number and number != "0" else f"{space}{bank}[{offset:#x}]"
