"""Programs in the card's memory: their start is known, their end follows from their branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isakit.arch.tesla.tesla import tesla
from isakit.codec.decoder import Decoder, decoder
from isakit.errors import MachineFault
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.memory import VideoMemory
from isakit.sem.semantics import bind_control
from isakit.spec.parts import Imm

MOST_WORDS = 1 << 14
ENDS = frozenset({"bra", "ret", "brk", "breakaddr_end"})


def extent(units: Decoder, words: list[int], entry: int) -> int:
    """Return the number of words from the entry to the end of the last reachable instruction.

    `words` begin with the one at byte address `entry`. Raises MachineFault for code that runs beyond them.
    """
    todo, seen, end = [entry], set[int](), entry
    while todo:
        pc = todo.pop()
        if pc in seen:
            continue
        seen.add(pc)
        index = (pc - entry) >> 2
        if not 0 <= index < len(words):
            raise MachineFault("CODE_OUT_OF_RANGE", pc, detail="a program leaves its code segment")
        n = units.isa.length(words[index])
        i = units.decode(words[index : index + n], pc)[0]
        following = pc + i.size
        end = max(end, following)
        form = i.form
        if form is None or i.error is not None:
            continue
        target = form.parts.get("target")
        if isinstance(target, Imm):
            todo.append(target.field.get(i.word) * target.scale)
        guard = bind_control(form, "guard", i.word) if "guard" in form.control else None
        always = guard is None or (guard.holds().op == "const" and bool(guard.holds().attr))
        # The tail ends a program whatever the guard says: a program's last word may be a `nop` that never executes.
        ended = "tail" in form.control and bind_control(form, "tail", i.word) == "exit"
        if not (ended or (always and i.mnemonic in ENDS)):
            todo.append(following)
    return (end - entry) >> 2


@dataclass
class CachedProgram:
    """A program in the cache: its words in memory at `mark`, and the object made from them."""

    words: bytes
    texts: list[str]
    uses_local: bool
    address: int
    mark: int
    made: Any = None

    @property
    def units(self) -> list[int]:
        """The words as numbers."""
        return np.frombuffer(self.words, np.uint32).tolist()


class Programs:
    """The programs of a card by address; a program is made again when its words have changed."""

    def __init__(self, memory: VideoMemory, chip: CardChip) -> None:
        self.memory, self.chip = memory, chip
        self._known: dict[tuple[str, int, int, Any], CachedProgram] = {}

    def find(self, kind: str, segment: int, start: int, key: Any) -> CachedProgram:
        """Return the program at `start` of a code segment.

        `key` has everything else that the object made from it depends on. Raises GpuFault and MachineFault.
        """
        place = kind, segment, start, key
        known = self._known.get(place)
        if known is not None and self.unchanged(known):
            return known
        mark = self.memory.now
        room = min(self.memory.room(segment + start), 4 * MOST_WORDS) & ~3
        words = self.memory.view(segment + start, max(4, room), "code").view(np.uint32).tolist()
        units = decoder(tesla, self.chip.variant, kind)
        count = extent(units, words, start)
        words = words[:count]
        texts = [i.text for i in units.decode(words, start)]
        code, uses_local = np.array(words, np.uint32).tobytes(), " l[" in "\n".join(texts)
        self._known[place] = found = CachedProgram(code, texts, uses_local, segment + start, mark)
        return found

    def unchanged(self, known: CachedProgram) -> bool:
        """Return whether the words of a program are unchanged. Raises GpuFault."""
        memory, count = self.memory, len(known.words)
        if not memory.unchanged(known.mark, known.address, count):
            if memory.view(known.address, count, "code").tobytes() != known.words:
                return False
            known.mark = memory.now
        return True

    def listings(self) -> list[tuple[str, int, list[str]]]:
        """Return (kind, address, instructions) of all programs that have run."""
        return [(kind, start, k.texts) for (kind, _, start, _), k in self._known.items()]
