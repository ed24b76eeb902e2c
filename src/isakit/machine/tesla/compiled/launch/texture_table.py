"""The functions for the texture instructions of a launch, where compiled code looks them up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isakit.engine.llvm import Host
from isakit.engine.protocol import Array
from isakit.machine.tesla.analysis.control_flow import Sample
from isakit.machine.tesla.launch import Launch
from isakit.texture.compiled_unit import Descriptor, function_of, question
from isakit.texture.sampler_state import Sampler


class TextureTable:
    """`addresses`: u64 per unit of the code, of two words: a function and the record it gets; 0 where there is none.

    `complete` tells whether all of `samples` have one. Texels are those at the time of its creation; `changes` tells
    whether they may differ at the next launch. It keeps its textures and samplers alive.
    """

    def __init__(self, launch: Launch, samples: Sequence[Sample], target: Host) -> None:
        self.addresses: Array = np.zeros(len(launch.code.units) + 2, np.uint64)
        self.complete = True
        self._units = launch.textures, launch.samplers
        self.changes = any(t.over_memory for t in launch.textures.values())
        self._records: dict[tuple[int, int], Descriptor] = {}
        self._entries: Array = np.zeros((max(1, len(samples)), 2), np.uint64)
        for texture in {s.texture for s in samples} & launch.textures.keys():
            launch.textures[texture].refresh()
        for k, sample in enumerate(samples):
            function, record = self._answer(launch, sample, target)
            if not function:
                self.complete = False
                continue
            self._entries[k] = function, record
            unit = (sample.pc - launch.code.address) // 4
            self.addresses[unit] = self._entries.ctypes.data + 16 * k

    def _answer(self, launch: Launch, s: Sample, target: Host) -> tuple[int, int]:
        """Return the addresses of the function and of the record for a query."""
        choices = launch.texturing
        number = 0 if s.op == "texfetch" else s.sampler
        if choices.linked:
            number = s.texture
        texture, sampler = launch.textures.get(s.texture), launch.samplers.get(number, Sampler())
        if texture is None:
            return 0, 0
        inf = "nonfp_deriv_inf" in launch.flags
        q = question(s.op, s.sources, s.offsets, s.cube, s.quads, s.mask, texture, sampler, choices, inf)
        function = 0 if q is None else function_of(q, target)
        if not function:
            return 0, 0
        key = s.texture, number
        if key not in self._records:
            self._records[key] = Descriptor(texture, sampler, choices)
        return function, self._records[key].address


__all__ = ["TextureTable"]
