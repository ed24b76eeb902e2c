"""The state of a device that its launches depend on, and their execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isakit.arch.tesla.tesla import tesla
from isakit.errors import LaunchError
from isakit.machine.interrupts import deferred
from isakit.machine.tesla import CHIPS, Choices, Code, DeviceMemory, Launch, LinearWindow, Stats, Window, reads_space
from isakit.machine.tesla.device_memory import Writable
from isakit.runtime.tesla_engine import Tier, engine_of, executor
from isakit.texture.texture_choices import TextureChoices

if TYPE_CHECKING:
    from isakit.texture import Sampler, Texture

FENCE_SPACE, FENCE_BYTES = 15, 0x10000
"""`__threadfence()` of sm_13 reads this much of g15[] and throws the values away. Source: [tesla] 7.2."""

Engine = Literal["auto", "reference", "llvm"]


class LaunchDevice:
    """Memory, windows, textures and settings of a chip, and the engine that runs launches on it."""

    def __init__(
        self,
        chip: str = "gt200",
        *,
        engine: Engine = "auto",
        tier: Tier = "auto",
        threads: int | None = None,
        mul_zero_wins: bool = False,
        sat_nan: bool = False,
        nonfp_deriv_inf: bool = False,
        choices: Choices | None = None,
        texturing: TextureChoices | None = None,
        limits: bool = True,
        memory: Writable | None = None,
    ) -> None:
        self.chip = tesla.variant(chip).name
        self.limits_of = CHIPS[self.chip]
        given = {"mul_zero_wins": mul_zero_wins, "sat_nan": sat_nan, "nonfp_deriv_inf": nonfp_deriv_inf}
        self.flags = frozenset(name for name, on in given.items() if on)
        self.choices = choices or Choices()
        self.texturing = texturing or TextureChoices()
        self.limits = limits
        self.tier, self.threads = tier, threads
        self.memory = DeviceMemory(memory)
        self.windows: dict[int, Window] = {14: LinearWindow()}
        self.textures: dict[int, Texture] = {}
        self.samplers: dict[int, Sampler] = {}
        self._execute = executor(engine, tier, threads)

    @property
    def engine(self) -> str:
        """The engine that runs launches where possible: `llvm` or `reference`."""
        return engine_of(self._execute)

    def provide(self, code: Code) -> None:
        """Add the window that every launch needs to a kernel's windows: the one for fences of sm_13.

        Not done at loading, since finding fences takes as long as decoding, and programs launch few of the kernels of
        their modules.
        """
        if FENCE_SPACE not in self.windows and reads_space(code, f"g{FENCE_SPACE}"):
            self.windows[FENCE_SPACE] = LinearWindow(self._room(FENCE_BYTES), FENCE_BYTES)

    def _room(self, nbytes: int) -> int:
        """Return the address of `nbytes` of new memory."""
        return self.memory.alloc(nbytes)

    def execute(self, launch: Launch, max_instructions: int | None = None) -> Stats:
        """Run a prepared launch on this device's engine. Raises LaunchError, MachineFault, BudgetExceeded."""
        if max_instructions is not None and max_instructions < 0:
            raise LaunchError(f"max_instructions is {max_instructions}")
        with self.memory.lock, deferred():
            return self._execute(launch, self.memory, max_instructions)
