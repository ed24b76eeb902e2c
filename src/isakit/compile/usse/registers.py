"""The registers of the USSE, and the classes of values they hold.

One file has the primary attributes and, after them, the temporaries: registers of inputs that are no longer needed
serve as any other. Registers have 32 bits; vectors begin at even ones, as operands name pairs. Source: [usse] 2.1.
"""

from __future__ import annotations

from isakit.compile.lower.form import RegisterClass
from isakit.compile.vector_ops import count, element

TEMPORARIES = 120
"""Temporaries that every operand can name: higher numbers mean internal registers in some operands."""
SHARED = 128
"""Registers sa that an operand can name."""
INTERNAL = RegisterClass("i", "i", 0, 12, align=4)
"""i0 to i2 in channels of 32 bits. f32 operations write all four channels here, and two in other registers."""


class Registers:
    """The classes of one program.

    Attributes:
        attributes: the primary attributes that the program uses, an even number: the first registers of its file; the
            temporaries follow. A secondary program has registers sa instead, from `first` on.
    """

    def __init__(self, attributes: int = 0, *, secondary: bool = False, first: int = 0) -> None:
        self.attributes, self.secondary, self.first = attributes, secondary, first
        registers = SHARED - first if secondary else attributes + TEMPORARIES
        self.scalar = RegisterClass("g", "g", first, registers, align=1)
        self.pair = RegisterClass("gg", "g", first, registers, align=2, breaks=() if secondary else (attributes,))
        self.internal = INTERNAL
        self.output = RegisterClass("o", "o", 0, SHARED, align=1)
        self.predicate = RegisterClass("p", "p", 0, 2, align=1, holder=self.scalar)
        self.index = RegisterClass("idx", "idx", 1, 2, align=1)
        self.kinds = {"r": (self.scalar, 1), "p": (self.predicate, 1)}
        for of in ("f32", "f16"):
            for n in range(1, 5):
                kind = of if n == 1 else f"{of}x{n}"
                self.kinds[kind] = (self.scalar if n == 1 else self.pair, words(kind))

    def name(self, cls: RegisterClass, color: int) -> str:
        """Return the name of a register of a class."""
        if cls.file == "i":
            return f"i{color // 4}"
        if self.secondary and cls.file in ("g", "o"):
            return f"sa{color}"
        if cls.file != "g":
            return f"{cls.file}{color}"
        return f"pa{color}" if color < self.attributes else f"r{color - self.attributes}"


def words(kind: str) -> int:
    """Return how many registers a value takes: two f16 share one."""
    n = 1 if element(kind) in ("r", "p") else count(kind)
    return -(-n // 2) if element(kind) == "f16" else n
