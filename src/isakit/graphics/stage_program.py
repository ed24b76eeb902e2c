"""A program of a graphics stage, ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from isakit.arch.tesla.tesla import tesla
from isakit.codec.decoder import Decoder, decoder
from isakit.codec.instruction import registers_written
from isakit.graphics.stage import Stage, StageMachine, StageState
from isakit.graphics.stage_engine import StageEngine
from isakit.lean import cached_property
from isakit.machine.tesla.chips import CHIPS
from isakit.machine.tesla.choices import DEFAULT, Choices
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture
from isakit.texture.texture_choices import DEFAULT_TEXTURING, TextureChoices

Kind = Literal["vertex", "geometry", "fragment"]


@lru_cache(maxsize=1024)
def _prepared(units: Decoder, words: tuple[int, ...], address: int, registers: int, drop_unallocated: bool) -> Code:
    """Prepare code; equal programs share it."""
    return Code(units, words, address, registers, drop_unallocated)


class StageProgram:
    """Words of a vertex, geometry or fragment program for one chip.

    Args:
        kind: the program type; it decides what a[], p[], o[] and v[] mean to the decoder.
        words: 32-bit units from byte `address` on; the program begins with the first one.
        chip: variant name or alias.
        registers: registers per lane (default: up to the highest one that is written).
        local_bytes: bytes of l[] per lane.
        choices: choices on open questions about control and memory.
        flags: multiprocessor flags that are set.
        address: where the words are; branch targets are absolute.

    Attributes: `constants`: c[] bank number -> content; may be changed between runs.
    """

    def __init__(
        self,
        kind: Kind,
        words: Sequence[int],
        chip: str = "gt200",
        *,
        registers: int | None = None,
        local_bytes: int = 0,
        constants: Mapping[int, bytes] | None = None,
        choices: Choices = DEFAULT,
        flags: frozenset[str] = frozenset(),
        address: int = 0,
    ) -> None:
        self.kind: Kind = kind
        self.chip = tesla.variant(chip).name
        units = decoder(tesla, self.chip, kind)
        if registers is None:
            registers = registers_written(units.decode(list(words), address), "r")
        self.code = _prepared(units, tuple(words), address, max(registers, 1), choices.drop_unallocated)
        self.local_bytes, self.choices, self.flags = local_bytes, choices, flags
        self.constants = dict(constants or {})

    @cached_property
    def reads_sample(self) -> bool:
        """True if the program reads the number of its sample."""
        instructions = self.code.decoder.decode(self.code.units, self.code.address)
        return any("$sampleid" in i.operands for i in instructions)

    def launch(
        self,
        textures: Mapping[int, Texture] | None = None,
        samplers: Mapping[int, Sampler] | None = None,
        texturing: TextureChoices = DEFAULT_TEXTURING,
    ) -> Launch:
        """Return the part of a run that does not depend on the inputs."""
        return Launch(
            self.code,
            CHIPS[self.chip],
            (1, 1),
            (32, 1, 1),
            self.code.address,
            local_bytes=self.local_bytes,
            constants=self.constants,
            windows={},
            textures=textures or {},
            samplers=samplers or {},
            texturing=texturing,
            flags=self.flags,
            choices=self.choices,
            limits=False,
        )

    def machine(
        self,
        stage: Stage,
        textures: Mapping[int, Texture] | None = None,
        samplers: Mapping[int, Sampler] | None = None,
        texturing: TextureChoices = DEFAULT_TEXTURING,
    ) -> StageMachine:
        """Return a machine at the first instruction."""
        return StageMachine(self.launch(textures, samplers, texturing), stage)

    def run(self, stage: Stage, engine: str = "reference", tier: str = "auto") -> StageState:
        """Run to the end of all lanes; return the state with their registers and outputs."""
        return StageEngine(engine, tier).run(self.launch(), stage).state
