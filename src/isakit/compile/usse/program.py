"""Layout of a shader: registers of its inputs, uniforms and outputs, and the constants beside the uniforms."""

from __future__ import annotations

from collections.abc import Iterable

from isakit.compile.shader import ShaderInterface
from isakit.compile.usse.registers import SHARED
from isakit.compile.vector_ops import UniformName

Values = tuple[int, ...]


class LiteralPool:
    """Constants in registers sa: words, in the order of their first use, and their maximum number."""

    def __init__(self, words: Iterable[int] = (), room: int = SHARED) -> None:
        self.words = list(words)
        self.room = room
        self._known: dict[tuple[Values, str], int] = {}
        """Places where values were found before."""

    def place(self, values: Values, ty: str) -> tuple[int, tuple[int, ...]] | None:
        """Return (word, elements) of constants, None if there is no room; the word is the even one before them.

        Values of a vector go into one pair of registers, or two consecutive ones.
        """
        distinct = tuple(dict.fromkeys(values))
        wanted = self._packed(distinct) if ty == "f16" else distinct
        known = self._known.get((distinct, ty))
        for at in (known,) if known is not None and self._fits(known, wanted) else range(len(self.words)):
            if self._fits(at, wanted):
                break
        else:
            at = len(self.words)
            at += at % 2 if len(wanted) > 1 else 0
            if at + len(wanted) > self.room:
                return None
            self.words += [0] * (at - len(self.words))
            self.words += wanted
        self._known[distinct, ty] = at
        base = at // 2 * 2
        per = 2 if ty == "f16" else 1
        return base, tuple((at - base) * per + distinct.index(v) for v in values)

    def _fits(self, at: int, wanted: Values) -> bool:
        end = at + len(wanted)
        return tuple(self.words[at:end]) == wanted and (len(wanted) == 1 or at % 2 == 0)

    @staticmethod
    def _packed(values: Values) -> Values:
        both = [*values, 0] if len(values) % 2 else [*values]
        return tuple(both[k] | both[k + 1] << 16 for k in range(0, len(both), 2))


STRETCH = 64
"""Words within reach of a load from one address register: its offset has seven bits, and loads may be wider than a
word."""


class ProgramPlan:
    """Registers and memory of a shader's inputs, uniforms, samplers and outputs.

    Attributes:
        stage: vertex, fragment, or secondary, whose results are uniforms of the others.
        inputs: name of an input to (first primary attribute, registers).
        outputs: name of an output to (first register, registers).
        uniforms: name of a uniform to (first register sa, registers from one element to the next).
        once: name of a uniform that is computed once to its register, counted from the first of them.
        memory: name of a uniform that lies in memory to (first word, words from one element to the next); the words are
            counted from those that `addresses` point to.
        addresses: registers sa with the addresses of blocks of `STRETCH` words.
        textures: name of a sampler to the first of the four registers sa of its state.
        depth: name of the output that is the depth, empty if there is none.
        native: name of the output that is the colour of the tile itself, as bytes; likewise.
    """

    def __init__(self, interface: ShaderInterface, stage: str = "") -> None:
        self.stage = stage or interface.stage
        self.depth = next((o.name for o in interface.outputs if o.semantic == "DEPTH"), "")
        self.native = ""
        self.inputs: dict[str, tuple[int, int]] = {}
        self.outputs: dict[str, tuple[int, int]] = {}
        self.uniforms: dict[str, tuple[int, int]] = {}
        self.once: dict[str, int] = {}
        self.memory: dict[str, tuple[int, int]] = {}
        self.addresses: list[int] = []
        self.textures: dict[str, int] = {}

    def register(self, what: str, name: str) -> int:
        """Return the first register of an input or output."""
        return (self.outputs if what == "output" else self.inputs)[name][0]

    def size(self, what: str, name: str) -> int:
        """Return how many registers an input or output has."""
        return (self.outputs if what == "output" else self.inputs)[name][1]

    def uniform(self, u: UniformName) -> int:
        """Return the first register of an element of a uniform."""
        at, stride = self.uniforms[u.name]
        return at + u.element * stride
