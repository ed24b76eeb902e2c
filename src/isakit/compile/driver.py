"""The compiler: one function that runs all stages in order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from isakit.compile.check import verify
from isakit.compile.debug_records import without_marks
from isakit.compile.garbage import no_collections
from isakit.compile.ir import Block, Function, IrValue, Loc
from isakit.compile.layout import ConstantBank, VariableLayout
from isakit.compile.lower.allocate import OutOfRegistersError, allocate
from isakit.compile.lower.form import MFunction
from isakit.compile.lower.kept import keep_variables
from isakit.compile.lower.tidy import lay_out_blocks, remove_empty_blocks
from isakit.compile.passes.addresses import assign_address_registers
from isakit.compile.passes.conditions import lower_predicates
from isakit.compile.passes.edges import split_critical_edges
from isakit.compile.passes.meetings import meet_marks
from isakit.compile.passes.offsets import add_global_offsets
from isakit.compile.passes.schedule import RegisterNeeds, schedule_for_registers
from isakit.compile.passes.spaces import SpaceError, infer_address_spaces
from isakit.compile.passes.ssa import construct_ssa
from isakit.compile.passes.uniform import divergent_values
from isakit.compile.passes.values import contract_products, eliminate_common_subexpressions, eliminate_dead_code
from isakit.compile.ptx.parser import parse
from isakit.compile.ptx.syntax import (
    SIZES,
    Initial,
    PtxFunction,
    PtxModule,
    PtxSyntaxError,
    PtxVariable,
    kernels_called,
)
from isakit.compile.tesla.branches import convert_ifs_to_guards, insert_join_points
from isakit.compile.tesla.chip import Chip, chip_of
from isakit.compile.tesla.emit import Emitter, MachineCode, OutOfConstantsError, fuse_exits_into_stores
from isakit.compile.tesla.literals import move_literals_to_registers
from isakit.compile.tesla.locations import TeslaLocations, registers
from isakit.compile.tesla.selection import TeslaSelection
from isakit.compile.tesla.target import TESLA
from isakit.compile.translate import translate
from isakit.description import (
    ConstantSegment,
    GlobalVariable,
    Kernel,
    Module,
    Param,
    Relocation,
    TextureSlot,
)
from isakit.errors import CompileError, CompileWarning, Diagnostic, IsakitError
from isakit.line_table import LineTable, SourceLine
from isakit.registry import ARCH_TO_VARIANT, VARIANT_TO_ARCH

PASSES: tuple[Callable[[Function], None], ...] = (
    construct_ssa,
    meet_marks,
    infer_address_spaces,
    add_global_offsets,
    eliminate_common_subexpressions,
    contract_products,
    eliminate_dead_code,
    eliminate_common_subexpressions,
    lower_predicates,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    assign_address_registers,
    eliminate_dead_code,
    split_critical_edges,
)
"""The passes before instruction selection, in order; each says what holds after it."""

CROWDED = 32
"""The registers of a thread above which other orders of its operations are tried: 512 threads can have as many on the
chips of compute capability 1.2 and 1.3."""

CHECK_EVERY_PASS = False
"""Switch for verifying the form after every pass instead of after the last: tests want to know which pass broke it."""

Watch = Callable[[str, str], None]
"""Called with the name of a pass and the function after it as text."""


@dataclass
class Compiled:
    """A compiled text: the module, and the errors of kernels that are not in it.

    Attributes:
        module: the kernels that compile.
        failures: name of a kernel to its error.
    """

    module: Module
    failures: dict[str, list[Diagnostic]] = field(default_factory=dict[str, list[Diagnostic]])

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The errors of all kernels that failed."""
        return [d for ds in self.failures.values() for d in ds]


def variant_for(module: PtxModule) -> str:
    """Return the chip a PTX text is written for; for a later target, the most capable chip."""
    arch = module.target.replace("compute_", "sm_")
    return ARCH_TO_VARIANT.get(arch, "gt200")


@dataclass(frozen=True)
class CompileOptions:
    """Options of the compiler of PTX.

    Attributes:
        variant: the chip to compile for (default: the one the text is for).
        path: name of the text in messages.
        origin: the text in the file `path` that a compiler made the PTX from, for messages at its lines.
        max_registers: registers per thread to use at most; 0 for all there are.
        kernels: names of the kernels to compile, as symbols or as the source has them (default: all).
        watch: called after every pass with its name and the function as text, for people.
        named: find the locations of PTX registers, where PTX is the source. Those of another source's variables
            are found where the text has marks: see `compile.debug_records`.
    """

    variant: str | None = None
    path: str = "<text>"
    origin: str | None = None
    max_registers: int = 0
    kernels: tuple[str, ...] = ()
    watch: Watch | None = None
    named: bool = False


def compile_ptx(
    text: str,
    variant: str | None = None,
    *,
    path: str = "<text>",
    origin: str | None = None,
    max_registers: int = 0,
    kernels: tuple[str, ...] = (),
    watch: Watch | None = None,
    named: bool = False,
) -> Compiled:
    """Compile a PTX text, with the options that `CompileOptions` describes.

    Returns:
        The kernels that compile; a kernel compiles as a whole or not at all.

    Raises CompileError if the text is wrong outside of kernels, or if no kernel compiles, IsakitError for a kernel that
    is not there.
    """
    out = compile_kernels(text, CompileOptions(variant, path, origin, max_registers, kernels, watch, named))
    if out.failures and not out.module.kernels:
        raise CompileError(out.diagnostics)
    return out


@no_collections()
def compile_kernels(text: str, options: CompileOptions) -> Compiled:
    """Compile like `compile_ptx`, but return even if no kernel compiles.

    Raises for errors outside of kernels as it does.
    """
    *_, out = compile_in_steps(text, options)
    return out


def compile_in_steps(text: str, options: CompileOptions) -> Iterator[Compiled]:
    """Compile like `compile_kernels`; yield the result so far after each kernel, and finally the whole."""
    path, kernels = options.path, options.kernels
    ptx = parse(text, path, options.origin)
    if ptx.errors:
        raise CompileError(ptx.errors)
    there = [*(e.name for e in ptx.entries.values() if e.defined), *ptx.failures]
    called = {name: kernels_called(name, there) for name in kernels}
    if (missing := next((name for name in kernels if not called[name]), None)) is not None:
        raise IsakitError(f"{path} has no kernel {missing!r}; it has {', '.join(there) or 'none'}")
    wanted = {k for some in called.values() for k in some} if kernels else set(there)
    chip = chip_of(options.variant or variant_for(ptx))
    out = Compiled(Module("ptx", "tesla", chip.variant, path if path != "<text>" else None), dict(ptx.failures))
    textures = [v.unique for v in ptx.variables.values() if v.space == "tex" or v.type == "texref"]
    try:
        bank = ConstantBank(ptx)
        _variables(ptx, bank, out.module)
    except PtxSyntaxError as e:
        raise CompileError([ptx.source.diagnostic(e.pos, e.message, e.width, e.notes)]) from None
    for entry in ptx.entries.values():
        if entry.name not in wanted or not entry.defined:
            continue
        try:
            kernel = compile_entry(ptx, entry, chip, bank, textures, options)
        except PtxSyntaxError as e:
            out.failures[entry.name] = [ptx.source.diagnostic(e.pos, e.message, e.width, e.notes)]
        else:
            out.module.add(kernel)
        yield out
    _globals(out.module)
    out.module.samplers = [TextureSlot(name, k) for k, name in enumerate(textures)]
    yield out


def compile_entry(
    ptx: PtxModule,
    entry: PtxFunction,
    chip: Chip,
    bank: ConstantBank,
    textures: list[str],
    options: CompileOptions,
) -> Kernel:
    """Compile one kernel through all stages. Raises PtxSyntaxError."""
    layout = VariableLayout(ptx, entry, bank)
    f = translate(ptx, entry, chip, layout, options.named)
    f.globals = [v.unique for v in ptx.variables.values() if _in_global_memory(v)]
    for step in PASSES:
        try:
            step(f)
        except SpaceError as e:
            raise PtxSyntaxError(ptx.source.start(e.loc[0]), e.message) from None
        if options.watch or step is PASSES[-1] or CHECK_EVERY_PASS:
            verify(f, step.__name__)
        if options.watch:
            options.watch(step.__name__, f.dump())
    m, emitted, local = _machine_code(ptx, entry, f, chip, textures, options)
    kernel = Kernel(
        entry.name,
        emitted.code,
        registers=m.registers,
        shared_bytes=f.shared,
        local_bytes=local + m.spilled,
        barriers=f.barriers,
        params=[Param(n, offset, size, kind) for n, kind, offset, size in f.params],
        param_bytes=f.param_bytes,
        max_threads=f.max_threads,
    )
    if emitted.pool:
        kernel.constants = {1: [ConstantSegment(0, len(emitted.pool), emitted.pool)]}
    kernel.samplers = [TextureSlot(name, textures.index(name)) for name in f.textures]
    text, number = without_marks(ptx.source.text) if m.marks else (ptx.source.text, None)
    rows = ((at, SourceLine(number[row - 1] if number and row else row, ptx.files.get(file, ""), line))
            for at, (row, file, line) in emitted.lines.items())  # fmt: skip
    addresses = {i: at for at, i in emitted.places}
    variables = (
        TeslaLocations(m, addresses, emitted.endings).ranges(list(emitted.lines), len(emitted.code)) if m.marks else ()
    )
    kernel.lines = LineTable(rows, text, variables)
    return kernel


def _machine_code(
    ptx: PtxModule,
    entry: PtxFunction,
    f: Function,
    chip: Chip,
    textures: list[str],
    options: CompileOptions,
) -> tuple[MFunction, MachineCode, int]:
    """Return the code of a kernel, and the bytes of local memory before its spill slots. Raises PtxSyntaxError.

    Where it needs many registers, its operations are also tried in an order that keeps few registers live, and the
    better of the two is returned.
    """
    _, divergent = divergent_values(f)
    local = -(-f.local // 4) * 4

    def attempt() -> tuple[MFunction, MachineCode, list[Loc]]:
        return _select_and_allocate(entry, f, chip, divergent, local, textures, options)

    failed: PtxSyntaxError | None = None
    found = None
    try:
        found = attempt()
    except PtxSyntaxError as e:
        failed = e
    if (found is None or found[0].registers > CROWDED) and not any(b.marks for b in f.blocks):
        schedule_for_registers(f, RegisterNeeds(_registers, (), lambda _: None))
        if options.watch:
            options.watch("schedule_for_registers", f.dump())
        with suppress(PtxSyntaxError):
            other = attempt()
            if found is None or _pressure(other) < _pressure(found):
                found = other
    if found is None:
        assert failed is not None
        raise failed
    m, emitted, unmet = found
    _warn(ptx, entry, unmet)
    return m, emitted, local


def _registers(v: IrValue) -> int:
    """Return how many general registers a value takes."""
    cls, size = TESLA.kinds[v.kind]
    return size if cls is TESLA.general else 0


def _pressure(code: tuple[MFunction, MachineCode, list[Loc]]) -> tuple[int, int, int]:
    """Return the cost by which orders of operations are compared: spills first, as they cost time as well."""
    m, emitted, _ = code
    return m.spilled, m.registers, len(emitted.code)


def _select_and_allocate(
    entry: PtxFunction,
    f: Function,
    chip: Chip,
    divergent: set[Block],
    local: int,
    textures: list[str],
    options: CompileOptions,
) -> tuple[MFunction, MachineCode, list[Loc]]:
    """Return the code of a kernel in the present order of its operations, and where lanes may miss a barrier.

    If instructions cannot reach all literals in memory, most of them go into registers, and then all. Raises
    PtxSyntaxError.
    """
    watch = options.watch
    for moved in ("", "most", "all"):
        m = TeslaSelection(f, TESLA, chip, divergent).run()
        if watch:
            watch("selected", m.dump())
        convert_ifs_to_guards(m, f.debugged)
        unmet = insert_join_points(m)
        if watch:
            watch("insert_join_points", m.dump())
        if moved:
            move_literals_to_registers(m, everything=moved == "all")
        try:
            if f.debugged:
                keep_variables(m, registers)
            allocate(m, TESLA, options.max_registers, CROWDED if chip.vote else CROWDED // 2)
        except OutOfRegistersError:
            raise PtxSyntaxError(
                entry.pos, f"`{entry.name}` needs more registers than it may use", len(entry.name)
            ) from None
        remove_empty_blocks(m)
        lay_out_blocks(m)
        fuse_exits_into_stores(m)
        if watch:
            watch("allocated", m.dump())
        with suppress(OutOfConstantsError):
            return m, Emitter(m, chip.variant, local, textures, m.registers).run(), unmet
    raise PtxSyntaxError(
        entry.pos, f"`{entry.name}` has more constants than instructions reach in c1[]", len(entry.name)
    )


def _warn(ptx: PtxModule, entry: PtxFunction, unmet: list[Loc]) -> None:
    """Warn where lanes of one warp may arrive at a barrier at different times."""
    for row in dict.fromkeys(row for row, _, _ in unmet):
        at = ptx.source.diagnostic(ptx.source.start(row), "")
        text = f"parts of a warp may come from here to one barrier of `{entry.name}` one after the other"
        warnings.warn(f"{at.path}:{at.line}: {text}", CompileWarning, stacklevel=2)


# --- variables -------------------------------------------------------------------------------------------------------
def _content(v: PtxVariable, resolve: Callable[[Initial], int]) -> bytes:
    size = SIZES[v.type]
    data = b"".join((resolve(i) & (1 << 8 * size) - 1).to_bytes(size, "little") for i in v.initial)
    return data.ljust(v.size, b"\0")


def _in_global_memory(v: PtxVariable) -> bool:
    """Return whether a variable lies in global memory. References to textures do not, however they are declared."""
    return v.space == "global" and v.type not in ("texref", "samplerref", "surfref")


def _variables(ptx: PtxModule, bank: ConstantBank, module: Module) -> None:
    """Add the constant variables with their content."""
    segments: list[ConstantSegment] = []

    def number(v: PtxVariable) -> Callable[[Initial], int]:
        def resolve(i: Initial) -> int:
            if i.symbol:
                known = ptx.variables.get(i.symbol)
                if known is not None and known.space == "const":
                    return bank.offsets[known.unique] + i.value
                if i.symbol in ptx.functions and not i.value:
                    return ptx.number_of(i.symbol)
                raise PtxSyntaxError(v.pos, f"`{v.name}`: addresses as initial values are not supported", len(v.name))
            return i.value

        return resolve

    for v in ptx.variables.values():
        if v.space == "const":
            segments.append(ConstantSegment(bank.offsets[v.unique], v.size, _content(v, number(v)), v.unique))
        elif _in_global_memory(v):
            module.globals.append(GlobalVariable(v.unique, v.size, _content(v, number(v)) if v.initial else None))
    if segments:
        module.constants = {0: segments}


def _globals(module: Module) -> None:
    """Fill in the address table of variables in global memory, which all kernels share."""
    module.relocations = [Relocation("c14", 4 * k, v.name) for k, v in enumerate(module.globals)]


__all__ = [
    "VARIANT_TO_ARCH", "CompileOptions", "Compiled", "compile_entry", "compile_in_steps", "compile_kernels",
    "compile_ptx", "variant_for",
]  # fmt: skip
