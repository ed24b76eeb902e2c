"""From whatever holds kernels (a file, a program, raw words) to what a device needs to run them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from isakit.asm import Program
from isakit.errors import LaunchError
from isakit.formats import ModuleImage, merge_segments, words_of
from isakit.formats.image import KernelImage

if TYPE_CHECKING:
    from isakit.runtime.buffer import Buffer
    from isakit.runtime.kernel import Kernel


@dataclass(frozen=True)
class Param:
    """A kernel parameter.

    `offset` counts bytes from the start of the parameter area; `kind` is the name of its type where the source says one
    ("f32", "ptr", ...), else empty.
    """

    name: str
    offset: int
    size: int
    kind: str = ""


@dataclass
class KernelSpec:
    """What has to be known about a kernel to run it; None for what its source does not say.

    Attributes: `words` (code from byte address `address` on), `registers` per thread, `shared_bytes` per block
    including launch header and parameters, `local_bytes` per thread, `barriers`, `params`, `constants` (bank to
    content), `samplers` (texture references it uses: name to number).
    """

    name: str
    words: Sequence[int]
    address: int = 0
    registers: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None
    barriers: int | None = None
    params: list[Param] | None = None
    constants: dict[int, bytes] = field(default_factory=dict[int, bytes])
    samplers: dict[str, int] = field(default_factory=dict[str, int])


@dataclass
class ModuleSpec:
    """Kernels by name and the module's own data: constants (bank -> content) and the file it came from, if any."""

    kernels: dict[str, KernelSpec]
    constants: dict[int, bytes] = field(default_factory=dict[int, bytes])
    image: ModuleImage | None = None


class Module(Mapping[str, "Kernel"]):
    """Kernels loaded into a device, by name.

    Attributes: `globals` (module variables in device memory, by name), `samplers` (texture references: name -> number).
    """

    def __init__(
        self, kernels: Mapping[str, Kernel], variables: Mapping[str, Buffer], samplers: Mapping[str, int]
    ) -> None:
        self._kernels, self.globals, self.samplers = dict(kernels), dict(variables), dict(samplers)

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise KeyError(f"no kernel {name!r}; there are: {', '.join(self._kernels) or 'none'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<module with {', '.join(self._kernels) or 'no kernels'}>"


def module_spec(source: Any) -> ModuleSpec:
    """The kernels of a loaded file, a module image, an assembled or disassembled program, or a sequence of words.

    Raises LaunchError for anything else, and for code of another instruction set.
    """
    image = getattr(source, "image", source)
    if isinstance(image, ModuleImage):
        return _of_image(image)
    if isinstance(source, Program):
        return _of_program(source)
    if isinstance(source, bytes | bytearray):
        return ModuleSpec({"main": KernelSpec("main", words_of(bytes(source)))})
    if isinstance(source, Sequence) and not isinstance(source, str):
        words = [int(w) for w in cast(Sequence[int], source)]
        return ModuleSpec({"main": KernelSpec("main", words)})
    raise LaunchError(f"cannot load a {type(source).__name__}: give a module, a program, or a sequence of 32-bit words")


def _of_image(image: ModuleImage) -> ModuleSpec:
    if image.isa not in ("tesla", ""):
        raise LaunchError(f"this device runs Tesla code; {image.path or 'the module'} holds {image.isa} code")
    everywhere = {s.name: s.unit for s in image.samplers if s.unit is not None}
    kernels = {name: _of_kernel_image(k, everywhere) for name, k in image.kernels.items()}
    return ModuleSpec(kernels, {bank: image.constant_bytes(bank) for bank in image.constants}, image)


def _of_kernel_image(k: KernelImage, samplers: Mapping[str, int]) -> KernelSpec:
    params = [Param(p.name, p.offset, p.size, p.kind) for p in sorted(k.params, key=lambda p: p.index)]
    known = bool(params) or k.param_bytes == 0
    return KernelSpec(
        k.name,
        k.words,
        k.address,
        k.registers or None,
        k.shared_bytes,
        k.local_bytes,
        k.barriers,
        params if known else None,
        {bank: merge_segments(segments) for bank, segments in k.constants.items()},
        {**samplers, **{s.name: s.unit for s in k.samplers if s.unit is not None}},
    )


def _of_program(program: Program) -> ModuleSpec:
    if program.isa != "tesla":
        raise LaunchError(f"this device runs Tesla code, not {program.isa} code")
    kernels: dict[str, KernelSpec] = {}
    for part in program.parts or (program,):
        k = part.kernel
        spec = KernelSpec(k.name if k is not None else "main", part.units, part.address)
        if k is not None:
            spec.registers, spec.shared_bytes = k.registers, k.shared_bytes
            spec.local_bytes, spec.barriers = k.local_bytes, k.barriers
            spec.params = [Param(p.name, p.offset, p.size, p.type) for p in k.params] or None
            spec.constants = {bank: c.data for bank, c in k.constants.items()}
        kernels[spec.name] = spec
    return ModuleSpec(kernels, {bank: c.data for bank, c in program.constants.items()})
