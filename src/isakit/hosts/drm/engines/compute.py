"""The compute engine: launches of kernels. Source: rnndb nv50_compute; [nv50] "Drivers' own quirks"."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isakit.arch.tesla.tesla import tesla
from isakit.codec.decoder import decoder
from isakit.engine.protocol import Array
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.engine import Engine, action
from isakit.hosts.drm.engines import conditions, images
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.engines.programs import Programs
from isakit.hosts.drm.engines.shared import ConstantBuffers, bind, halves
from isakit.hosts.drm.engines.windows import Windows
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.tables import COMPUTE
from isakit.hosts.drm.tables.method import Word
from isakit.machine.tesla.chips import CHIPS
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch, Stats
from isakit.runtime.tesla_engine import engine_of, executor
from isakit.texture import Sampler, Texture

PROGRAM = 8
"""The kind of program in `ConstantBuffers`."""
DEFAULT_BANKS = {0: 0x7E, 15: 0x7F}
"""c[] bank -> the buffer that the driver's set-up binds to it, which may never arrive. Source: [nv50] "Drivers' own
quirks", and the buffers that it writes."""
LOCAL_BYTES = 1 << 12
WINDOWS = 16


class ComputeEngine(Engine):
    """The compute engine of a channel."""

    table = COMPUTE

    def __init__(
        self, memory: VideoMemory, report: Report, chip: CardChip, settings: CardSettings, graphics: Engine3D
    ) -> None:
        super().__init__(memory, report)
        self.chip, self.settings, self.graphics = chip, settings, graphics
        self.constants = ConstantBuffers(memory)
        self.programs = Programs(memory, chip)
        self.textures: dict[int, int] = {}
        self.samplers: dict[int, int] = {}
        self._device: DeviceMemory | None = None
        self.debugged: Callable[[Launch, DeviceMemory], Stats | None] | None = None
        """A runner of grids before the eyes of a debugger; it returns None where none looks."""

    @action("CB_DEF_SET")
    def define_constants(self, word: Word, index: int) -> None:
        """Define a constant buffer: address and size."""
        self.constants.define(word.BUFFER, self.address("CB_DEF_ADDRESS"), word.SIZE)

    @action("SET_PROGRAM_CB")
    def bind_constants(self, word: Word, index: int) -> None:
        """Bind a constant buffer as a c[] bank of kernels, or unbind it."""
        bind(self.constants.bound, (PROGRAM, word.INDEX), word.BUFFER if word.VALID else None)

    @action("CB_ADDR")
    def place_constants(self, word: Word, index: int) -> None:
        """Set the position for CB_DATA.

        A buffer that the driver has not defined is assumed to follow its others.
        """
        number = word.BUFFER
        if number not in self.constants.defined:
            for source in (self.constants, self.graphics.constants):
                if number in source.defined:
                    self.constants.define(number, *source.defined[number])
                    break
            else:
                self._guess(number)
        self.constants.place = number, word.ID * 4

    def _guess(self, number: int) -> None:
        """Guess a buffer of the driver from its others.

        They are consecutive: 0x7b, 0x7c, 0x7d for the stages, then 0x7e for kernels.
        """
        for other, distance in ((0x7B, 3), (0x7C, 3), (0x7D, 1)):
            if other in self.graphics.constants.defined:
                address, size = self.graphics.constants.defined[other]
                self.constants.define(number, address + distance * 0x10000, size & 0xFFFF)
                self.report.count("compute constants placed by guess")
                return

    @action("CB_DATA", bulk=True)
    def write_constants(self, words: Array) -> None:
        """Write words of a constant buffer."""
        self.constants.write(words)

    @action("BIND_TIC")
    def bind_texture(self, word: Word, index: int) -> None:
        """Bind a TIC entry to a texture number."""
        bind(self.textures, word.TEXTURE, word.TIC if word.VALID else None)

    @action("BIND_TSC")
    def bind_sampler(self, word: Word, index: int) -> None:
        """Bind a TSC entry to a sampler number."""
        bind(self.samplers, word.SAMPLER, word.TSC if word.VALID else None)

    @action("QUERY_GET")
    def query(self, word: Word, index: int) -> None:
        """Write a sequence number, alone or with the time."""
        address, sequence = self.address("QUERY_ADDRESS"), self.get("QUERY_SEQUENCE")
        words: list[int] = [sequence]
        if not word.SHORT:
            words += [0, *halves(time.monotonic_ns())]
        self.memory.write_words(address, words, "query")

    # --- launches -----------------------------------------------------------------------------------------------------
    def _first(self, name: str) -> int:
        """Return the address in a register of the compute engine, of the 3D engine before the driver has set it."""
        return self.address(name) or self.graphics.address(name)

    def _banks(self) -> dict[int, bytes]:
        """Return the c[] banks of a launch; `DEFAULT_BANKS` are bound if the driver has not bound them."""
        bound = self.graphics.constants.bound | self.constants.bound
        known = self.graphics.constants.defined | self.constants.defined
        for bank, number in DEFAULT_BANKS.items():
            if (PROGRAM, bank) not in bound and number in known:
                self.constants.define(number, *known[number])
                self.constants.bound[PROGRAM, bank] = number
        return self.graphics.constants.banks(PROGRAM) | self.constants.banks(PROGRAM)

    def device(self) -> DeviceMemory:
        """Return the card's memory for kernels: offsets in the memory file."""
        if self._device is None:
            self._device = DeviceMemory.over(self.memory.bytes)
        return self._device

    @action("LAUNCH")
    def launch(self, word: Word, index: int) -> None:
        """Run a grid. Raises NotModelled, GpuFault, MachineFault, LaunchError."""
        self.check_runs()
        if not conditions.holds(self):
            return
        started = time.perf_counter()
        self.report.count("launches")
        start = self.get("CP_START_ID")
        segment = self.address("CP_ADDRESS") or self.graphics.address("FP_ADDRESS")
        variant = self.chip.variant
        registers = max(1, self.get("CP_REG_ALLOC_TEMP"))

        program = self.programs.find("compute", segment, start, registers)
        if program.made is None:
            program.made = Code(decoder(tesla, variant, "compute"), program.units, start, registers, True)
        grid, block = self.get("GRIDDIM"), self.get("BLOCKDIM_XY")
        count = self.get("USER_PARAM_COUNT").COUNT
        params = np.array([self.get("USER_PARAM", i) for i in range(min(count, 64))], np.uint32).tobytes()
        banks = self._banks()
        table, limit = self._first("TIC_ADDRESS"), self.get("TIC_LIMIT") or self.graphics.get("TIC_LIMIT")
        samplers, last = self._first("TSC_ADDRESS"), self.get("TSC_LIMIT") or self.graphics.get("TSC_LIMIT")
        textures: dict[int, Texture] = {}
        used: dict[int, Sampler] = {}
        linked = self.on("LINKED_TSC")
        for slot, tic in self.textures.items():
            entries = (
                images.entry(self.memory, table, tic, limit, "TIC"),
                images.entry(self.memory, samplers, tic if linked else self.samplers.get(slot, 0), last, "TSC"),
            )
            textures[slot], used[slot] = self.graphics.drawing.images.bound(*entries, self.report)
        seamless = self.chip.at_least_gt215 and bool(self.get("TEX_MISC").SEAMLESS_CUBE_MAP)
        with Windows(self.memory) as windows:
            for i in range(WINDOWS):
                pitch, limit, mode = (self.get(f"GLOBAL_{what}", i) for what in ("PITCH", "LIMIT", "MODE"))
                windows.add(i, self.address("GLOBAL_ADDRESS", i), pitch, limit, mode)
            run = Launch(
                program.made,
                CHIPS[variant],
                (grid.X, grid.Y),
                (block.X, block.Y, self.get("BLOCKDIM_Z")),
                entry=start,
                shared_bytes=self.get("SHARED_SIZE"),
                params=params,
                constants=banks,
                windows=windows.by_number,
                local_bytes=LOCAL_BYTES if program.uses_local else 0,
                textures=textures,
                samplers=used,
                texturing=replace(self.settings.texturing, seamless=seamless),
                limits=False,
            )
            watchdog = self.settings.watchdog
            execute = executor(self.settings.engine, self.settings.tier, most_work=watchdog.work)
            most = watchdog.allowed(run.warps * run.blocks, engine_of(execute) == "reference")
            self.memory.touch()
            try:
                seen = None if self.debugged is None else self.debugged(run, self.device())
                stats = execute(run, self.device(), most) if seen is None else seen
            finally:
                self.memory.touch()
        self.report.count("instructions", stats.instructions)
        self.report.add_seconds("kernels", time.perf_counter() - started)


__all__ = ["ComputeEngine"]
