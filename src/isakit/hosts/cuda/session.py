"""One process of a program: its device, its memory, and the objects behind its handles."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from isakit.errors import BudgetExceeded, IsakitError, LaunchError, MachineFault
from isakit.hosts.cuda.codes import CudaError
from isakit.hosts.cuda.device_facts import Version
from isakit.hosts.cuda.modules import ProgramModule
from isakit.hosts.cuda.objects import (
    Array,
    Binding,
    BoundTextureView,
    CudaContext,
    CudaFunction,
    DeviceVariable,
    GraphicsResource,
    Handles,
    LaunchRequest,
    TextureReference,
)
from isakit.hosts.cuda.process_device import DeviceOptions, OutsideMemory, ProcessDevice
from isakit.hosts.cuda.statistics import Statistics
from isakit.hosts.cuda.textures import check_state, sampler_of, texture_over
from isakit.machine.progress import watcher
from isakit.machine.tesla import Launch as MachineLaunch
from isakit.machine.tesla import Machine, Stats
from isakit.programs.kernel_names import source_name
from isakit.runtime import LoadedKernel
from isakit.runtime.printing import LONGEST_TEXT, take_printed

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.hosts.cuda.capture import LaunchRecorder

T = TypeVar("T")
_LIFTED = " (--no-limits starts it all the same)"
_SHAPES = 64
"""Launch shapes that are cached for each function."""
_MOST_PRINTED, _SHOWN = 16 << 20, 8
"""Limit in bytes of printed text waiting for the program, and number of assertions shown."""
_RUNTIMES: Mapping[str, Version] = {
    "libcudart.so.2": (2, 3), "libcudart.so.3": (3, 2), "libcudart.so.4": (4, 2), "libcudart.so.5.0": (5, 0),
    "libcudart.so.5.5": (5, 5), "libcudart.so.6.0": (6, 0), "libcudart.so.6.5": (6, 5),
    "libcudart.so": (5, 0), "": (5, 0),
}  # fmt: skip


def _configuration(why: str, driver: int | None = None) -> CudaError:
    return CudaError("cudaErrorInvalidConfiguration", why, driver)


class LaunchDebugger(Protocol):
    """Runs the launches of a program instead of its devices."""

    def launch(self, machine: Machine, program: Program, kernel: str, there: Callable[[], object]) -> Machine:
        """Run a launch to its end; `there` is called meanwhile, and its exceptions end the launch. Raises MachineFault.

        Returns the machine that has run it.
        """
        ...


class Session(ProcessDevice):
    """The state of one connection: its device, and the handles of the program. Handlers change it.

    Attributes: `handles`, `modules`, `lost` (the reason why the device cannot be used any more), `late` (an error to
    report with the next answer).
    """

    def __init__(
        self,
        options: DeviceOptions,
        statistics: Statistics | None = None,
        recorder: LaunchRecorder | None = None,
        debugger: LaunchDebugger | None = None,
    ) -> None:
        super().__init__(options)
        self.process = 0
        self.statistics = statistics or Statistics()
        self.handles = Handles()
        self.modules: list[ProgramModule] = []
        self.functions: list[CudaFunction] = []
        self.variables: list[DeviceVariable] = []
        self.textures: list[TextureReference] = []
        self.runtime = ""
        self.thread = 0
        self.users: set[int] = set()  # threads that have used the runtime
        self.stacks: dict[int, list[int]] = {}
        self.flags = 0
        self.limits: dict[int, int] = {0: 1024, 1: 1 << 20, 2: 8 << 20}
        self.lost: CudaError | None = None
        self.late: CudaError | None = None
        self.recorder, self.debugger = recorder, debugger
        self.printed = bytearray()
        self._own_context = 0
        self._retained = 0

    def close(self) -> None:
        """Free the memory of the session."""
        self.modules.clear()
        self.functions.clear()
        self.variables.clear()
        self.textures.clear()
        self.handles = Handles()
        self.release()

    def reset(self) -> None:
        """Destroy all objects of the process on the device. Handles of modules and functions stay valid."""
        self.handles.forget((Array, GraphicsResource))
        for module in self.modules:
            module.unload()
        for texture in self.textures:
            texture.binding = texture.shown = None
        if self._own_context:
            self.handles.drop(self._own_context, CudaContext)
            for stack in self.stacks.values():
                stack[:] = [c for c in stack if c != self._own_context]
            self._own_context = 0
        self._retained = 0
        self.users.clear()
        self.lost = self.late = None
        self.restart()

    # --- versions ---------------------------------------------------------------------------------------------------
    @property
    def version(self) -> tuple[Version, bool]:
        """The version of CUDA the program was built with, and whether it is certain."""
        if self.options.version is not None:
            return self.options.version, True
        version = self.named_version
        if version != (4, 2):
            return version, True
        told = [m.built_with_4_0 for m in self.modules]
        if True in told:
            return (4, 0), True
        return version, False in told

    @property
    def named_version(self) -> Version:
        """The newest version of CUDA with the library name that the program is linked with.

        A program without such a name was linked with our toolkit, whose libraries are one file.
        """
        return _RUNTIMES.get(self.runtime, (4, 2))

    # --- what handles mean ------------------------------------------------------------------------------------------
    @staticmethod
    def _numbered(things: list[T], number: int, error: str) -> T:
        if not 1 <= number <= len(things):
            raise CudaError(error, f"number {number}")
        return things[number - 1]

    def module(self, number: int) -> ProgramModule:
        """Return a registered module by the library's number for it."""
        return self._numbered(self.modules, number, "cudaErrorInvalidResourceHandle")

    def function(self, number: int, driver: bool = False) -> CudaFunction:
        """Return a function by its number, or by its driver handle."""
        if driver:
            return self.handles.get(number, CudaFunction)
        return self._numbered(self.functions, number, "cudaErrorInvalidDeviceFunction")

    def variable(self, number: int) -> DeviceVariable:
        """Return a registered variable by its number."""
        return self._numbered(self.variables, number, "cudaErrorInvalidSymbol")

    def texture(self, number: int) -> TextureReference:
        """Return a registered texture reference by its number."""
        return self._numbered(self.textures, number, "cudaErrorInvalidTexture")

    @property
    def contexts(self) -> list[int]:
        """Handles of the calling thread's contexts; the last one is current.

        A thread that has used the runtime has the runtime's own context.
        """
        stack = self.stacks.setdefault(self.thread, [])
        if not stack and self.thread in self.users:
            stack.append(self._primary())
        return stack

    def _primary(self) -> int:
        if not self._own_context:
            self._own_context = self.handles.add(CudaContext(self.flags))
        return self._own_context

    @property
    def active(self) -> bool:
        """True if the primary context exists: the runtime's own, which the driver interface can retain, too."""
        return bool(self._own_context)

    def retain_context(self) -> int:
        """Return the handle of the primary context after incrementing its reference count."""
        self._retained += 1
        return self._primary()

    def release_context(self) -> None:
        """Release the primary context, and destroy it with the last reference. Raises CudaError if it has none."""
        if not self._retained:
            raise CudaError("cudaErrorIncompatibleDriverContext", "the primary context is not retained")
        self._retained -= 1
        if self._retained or self.users:
            return
        handle, self._own_context = self._own_context, 0
        self.destroy_context(handle)

    def destroy_context(self, handle: int) -> None:
        """Destroy a context; the last one takes all objects on the device with it.

        Raises CudaError for other handles.
        """
        self.handles.drop(handle, CudaContext)
        for stack in self.stacks.values():
            stack[:] = [c for c in stack if c != handle]
        if not self.handles.holds(CudaContext):
            self.reset()

    def context(self) -> CudaContext:
        """Return the current context of the driver interface. Raises CudaError if there is none."""
        if not self.contexts:
            raise CudaError("cudaErrorIncompatibleDriverContext", "no context is current")
        return self.handles.get(self.contexts[-1], CudaContext)

    # --- work of libraries on the host ------------------------------------------------------------------------------
    def library(self, name: str, work: Callable[[], T]) -> T:
        """Execute a library function, count it and return its result.

        Raises CudaError, as for a fault of a kernel, for addresses outside of the device's memory.
        """
        started = time.perf_counter()
        if self.recorder is not None:
            self.recorder.library(name)
        try:
            result = work()
        except OutsideMemory as e:
            self._lose(f"{name}: {e}")
            assert self.lost is not None
            raise self.lost from None
        self.statistics.add_library(name, time.perf_counter() - started)
        return result

    # --- launches ---------------------------------------------------------------------------------------------------
    def launch(self, launch: LaunchRequest) -> None:
        """Run a kernel. Raises CudaError if the card refuses the launch; a fault is reported by the next call."""
        kernel = launch.function.kernel()
        prepared = self._prepared(kernel, launch)
        if kernel.samplers:
            self._bind_textures(kernel, launch.function.module)
        started = time.perf_counter()
        try:
            stats = self._run(kernel, launch, prepared)
        except LaunchError as e:
            raise self.refuse(launch.function.name, CudaError("cudaErrorInvalidConfiguration", str(e))) from None
        except (MachineFault, BudgetExceeded) as e:
            failed = self._collect_printed(launch.function.module)
            error = "cudaErrorAssert" if failed else "cudaErrorLaunchFailure"
            place = kernel.info.source_of(e.pc)
            self._lose(f"{source_name(launch.function.name)}: {failed or e}{place and f' ({place})'}", error)
        except IsakitError as e:
            self._lose(f"{source_name(launch.function.name)}: {type(e).__name__}: {e}")
        else:
            self.statistics.add(launch.function.name, stats, time.perf_counter() - started)
            self._collect_printed(launch.function.module)

    def _collect_printed(self, module: ProgramModule) -> str:
        """Collect the output of a kernel from its buffer; return the first failed assertion, "" if there is none."""
        place = module.printing
        if place is None:
            return ""
        address, size = place
        got = take_printed(self.memory(address, size), self._text_at)
        if got.lost:
            self.options.tell(f"a launch has printed more than {size >> 10} KB; what came last is lost")
        if len(self.printed) > _MOST_PRINTED:
            self.options.tell(f"more than {_MOST_PRINTED >> 20} MB of text are waiting; what follows is dropped")
        else:
            self.printed += got.text
        for text in got.assertions[1:_SHOWN]:
            self.options.tell(text)
        return got.failed

    def _text_at(self, address: int) -> bytes:
        """Return the zero-terminated string at an address."""
        if not 0 < address < len(self.pages):
            return b"(null)" if not address else b"(not in global memory)"
        end = self.pages.find(b"\0", address, address + LONGEST_TEXT)
        return self.pages[address : end if end >= 0 else min(address + LONGEST_TEXT, len(self.pages))]

    def _prepared(self, kernel: LoadedKernel, launch: LaunchRequest) -> MachineLaunch:
        """Return a launch ready to run, cached by its shape. Raises CudaError."""
        shape = launch.grid, launch.block, launch.shared, len(launch.params)
        known = launch.function.prepared
        if shape not in known or known[shape][0] is not kernel:
            try:
                self._check(kernel, launch)
                made = kernel.prepare(
                    launch.grid[:2], launch.block, param_bytes=launch.params, dynamic_shared=launch.shared
                )
            except LaunchError as e:
                raise self.refuse(launch.function.name, CudaError("cudaErrorInvalidConfiguration", str(e))) from None
            except CudaError as e:
                raise self.refuse(launch.function.name, e) from None
            if len(known) >= _SHAPES:
                known.clear()
            known[shape] = kernel, made
        return known[shape][1]

    def refuse(self, kernel: str, error: CudaError) -> CudaError:
        """Count a launch that the card refuses, and report the first one of each kernel to the user.

        Returns the error, for programs that check it; many do not, and continue with the old content of memory.
        """
        if self.statistics.refuse(kernel) == 1:
            self.options.tell(f"{source_name(kernel)} was not launched: {error.why}")
        return error

    def _run(self, kernel: LoadedKernel, launch: LaunchRequest, prepared: MachineLaunch) -> Stats:
        def run() -> Stats:
            if self.debugger is not None:
                shape = launch.grid[:2], launch.block
                machine = kernel.machine(*shape, param_bytes=launch.params, dynamic_shared=launch.shared)
                told = watcher()
                done = self.debugger.launch(
                    machine, kernel.info.program, kernel.name, lambda: told and told(0, machine.launch.blocks)
                )
                return done.stats
            if kernel.samplers:
                grid, shared = launch.grid[:2], launch.shared
                return kernel.launch(grid, launch.block, param_bytes=launch.params, dynamic_shared=shared)
            constants = {bank: bytes(content) for bank, content in kernel.constants.items()}
            return self.device.execute(prepared.repeated(launch.params, constants))

        if self.recorder is None:
            return run()
        module = launch.function.module
        bound = {name: self.bound_texture(module, name) for name in kernel.samplers}
        return self.recorder.record(self, kernel, launch, bound, run)

    def _lose(self, why: str, error: str = "cudaErrorLaunchFailure") -> None:
        """Report a fault of a kernel: the process cannot use the device any more, as on a chip."""
        self.options.tell(f"fault: {why}")
        self.statistics.faults += 1
        self.lost = CudaError(error, why)
        if self.options.blocking:
            raise self.lost

    def _check(self, kernel: LoadedKernel, launch: LaunchRequest) -> None:
        """Check the limits of the card, each with its error; the last four only with the option `limits`."""
        chip, (x, y, z) = self.device.limits_of, launch.block
        threads, registers = x * y * z, kernel.code.registers
        if min(*launch.grid, *launch.block) < 1:
            raise _configuration(f"grid {launch.grid} and block {launch.block} must be at least 1 in every dimension")
        if launch.grid[2] != 1:
            raise _configuration(f"the grid has {launch.grid[2]} layers; on cards of compute capability 1.x it is flat")
        if len(launch.params) > 256:
            raise _configuration(f"{len(launch.params)} bytes of parameters; at most 256", driver=701)
        if (shared := kernel.shared_bytes + launch.shared) > chip.shared_bytes:
            raise _configuration(f"{shared} bytes of shared memory; a block has {chip.shared_bytes}", driver=701)
        if not self.options.limits:
            return
        self.check_block(launch.block)
        if any(n > most for n, most in zip(launch.grid[:2], chip.grid, strict=True)):
            raise _configuration(f"grid {launch.grid} is larger than {chip.grid}{_LIFTED}")
        if registers * threads > chip.registers:
            said = f"{threads} threads of {registers} registers; {self.card.name} has {chip.registers}{_LIFTED}"
            raise CudaError("cudaErrorLaunchOutOfResources", said)

    def check_block(self, block: tuple[int, int, int]) -> None:
        """Raise CudaError for a block with more threads than the card allows."""
        chip, threads = self.device.limits_of, block[0] * block[1] * block[2]
        if any(n > most for n, most in zip(block, chip.block, strict=True)):
            raise _configuration(f"block {block} is larger than {chip.block}, which {self.card.name} allows{_LIFTED}")
        if threads > chip.threads_per_block:
            said = f"{threads} threads per block; {self.card.name} allows {chip.threads_per_block}{_LIFTED}"
            raise _configuration(said)

    def _bind_textures(self, kernel: LoadedKernel, module: ProgramModule) -> None:
        """Set a kernel's textures to the bindings of its module's texture references."""
        for name in kernel.samplers:
            reference = self.bound_texture(module, name)
            if reference is None or reference.binding is None:
                kernel.bind(name, None)
            else:
                shown = self._shown(reference, reference.binding)
                kernel.bind(name, shown.texture, shown.sampler)

    def _shown(self, reference: TextureReference, binding: Binding) -> BoundTextureView:
        found, state = reference.shown, reference.state
        if found is None or found.binding is not binding or found.state is not state:
            check_state(state, reference.as_float)
            texture = texture_over(self.device.memory.memory.bytes, binding, state)
            found = reference.shown = BoundTextureView(binding, state, texture, sampler_of(state))
        return found

    def bound_texture(self, module: ProgramModule, name: str) -> TextureReference | None:
        """Return the texture reference of a module by name, if the program has registered it."""
        return next((t for t in self.textures if t.module is module and t.name == name), None)
