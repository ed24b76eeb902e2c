"""A core whose registers one can see, for single USSE programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isakit.engine.protocol import Array
from isakit.machine.usse import DEFAULT, Machine, Memory, Rules, ShaderCode, Texture

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.codec import Instruction


class Core:
    """A core with `lanes` invocations that run one program together.

    Attributes: `r`, `o`, `pa`, `sa`, `i`, `idx`, `g` (uint32 arrays of shape [registers, lanes]; `i` has four words per
    internal register), `p` (bool), `killed`, `depth`, `notes`. Use `.view(numpy.float32)` for numbers. `textures` maps
    the sa register that a sampling instruction names to a `Texture`, `memory` holds buffers for loads and stores.
    """

    def __init__(self, lanes: int = 1, *, rules: Rules = DEFAULT, memory: Memory | None = None,
                 textures: Mapping[int, Texture] | None = None) -> None:  # fmt: skip
        self.rules = rules
        self._machine = Machine(lanes, memory=memory, textures=textures)
        self._machine.own_shared()

    @property
    def memory(self) -> Memory:
        """Buffers that loads and stores reach."""
        return self._machine.memory

    @property
    def textures(self) -> dict[int, Texture]:
        """Textures by sa register."""
        return self._machine.textures

    def __getattr__(self, name: str) -> Array:
        files: Mapping[str, Array] = self.__dict__["_machine"].files if "_machine" in self.__dict__ else {}
        if name in files:
            return files[name]
        if name in ("killed", "depth", "notes", "lanes"):
            return getattr(self._machine, name)
        raise AttributeError(name)

    def run(self, program: Program, max_instructions: int = 1_000_000) -> Core:
        """Run a program from its first instruction to its end; registers keep their values from earlier runs.

        Raises NotModelled, MachineFault, BudgetExceeded.
        """
        self._machine.run(ShaderCode(program, self.rules), max_instructions)
        return self

    def machine(self, program: Program) -> Machine:
        """Return the machine behind the core at a program's first instruction, to be stepped; registers are shared."""
        self._machine.start(ShaderCode(program, self.rules))
        return self._machine

    def steps(self, program: Program, max_instructions: int = 1_000_000) -> Iterator[tuple[Instruction, Array]]:
        """Run a program an instruction at a time: before each, yield the instruction and the lanes at it (bool).

        Registers can be read and changed in between. Raises as `run` does.
        """
        for pc, mask in self._machine.steps(ShaderCode(program, self.rules), max_instructions):
            yield program[pc], np.ones(self._machine.lanes, bool) if mask is None else mask.copy()
