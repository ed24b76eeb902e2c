"""The arguments of `run` for other verbs that need a launch: debug, sanitize, profile, trace."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from isakit.cli import run_
from isakit.cli.arguments import Argument, macros
from isakit.cli.common import Options, machine_of, project_for, project_option, read_bytes, shown
from isakit.description import Module
from isakit.errors import IsakitError, LaunchError

if TYPE_CHECKING:
    from isakit.annotations import Annotations
    from isakit.asm import Program
    from isakit.hosts.cuda.replay import Capture
    from isakit.runtime.kernel import LoadedKernel
    from isakit.runtime.usse_grid import Grid

F = TypeVar("F", bound=Callable[..., object])
_LEFT_OUT = ("limit", "stats", "as_json", "file")


def launch_options(function: F) -> F:
    """Add the options of `run` to a command, without those about output."""
    params: list[click.Parameter] = function.__dict__.setdefault("__click_params__", [])
    params += [p for p in reversed(run_.command.params) if p.name not in _LEFT_OUT]
    about = "FILE is a capture of `isakit cuda`: its launch N.  [default: the only one]"
    function = project_option(function)
    return click.option("--launch", type=click.IntRange(1), metavar="N", help=about)(function)


@dataclass
class Prepared:
    """A machine at its first instruction.

    `program`: its code, with labels if the source has them; `arguments`: of a kernel; `name`: of the kernel;
    `annotations`: those of a project. Of a shader: `grid`, the layout of its invocations in an image, and `results`,
    which reads the values computed so far.
    """

    isa: str
    machine: Any
    program: Program | None = None
    arguments: list[Argument] = field(default_factory=list[Argument])
    name: str = ""
    kernel: LoadedKernel | None = None
    grid: Grid | None = None
    results: Callable[[], dict[str, Any]] | None = None
    annotations: Annotations | None = None

    @property
    def labels(self) -> dict[str, int]:
        """Labels of the source text, and those of a project."""
        given = {} if self.annotations is None else self.annotations.symbols
        return given if self.program is None else {**self.program.labels, **given}


def prepare(file: str, isa_name: str | None, variant: str | None, options: Options) -> Prepared:
    """Prepare the machine for a file, or a launch of a capture, and options of `run`.

    Raises IsakitError, click.UsageError, OSError.
    """
    number: int | None = options.get("launch")
    if file != "-" and (number is not None or os.path.isdir(file)):
        return _captured(file, number, options)
    data = read_bytes(file)
    project = project_for(options.get("project"), data)
    isa_name, variant = machine_of(project, isa_name, variant)
    source = run_.load_source(
        data, shown(file), isa_name, variant, options["chip"], options["kernel"], named=True,
        defines=macros(options["macros"]), folders=options["folders"], debug_build=options.get("debug_build", False),
    )  # fmt: skip
    if project is not None:
        source = source.annotated(project) if isinstance(source, Module) else source
    prepared = _prepared(source, options)
    if project is not None:
        prepared.annotations = project.programs.get({"vuc": "main", "usse": "primary"}.get(prepared.isa, prepared.name))
    return prepared


def _prepared(source: Module | Program, options: Options) -> Prepared:
    specs = [(spec, *run_.split_spec(spec)) for spec in options["specs"]]
    match source.isa or "tesla":
        case "tesla":
            return _tesla(source, specs, options)
        case "vuc":
            run_.refuse_kernel_options("microcode", ("textures",))
            from isakit.cli.microcode import prepared_core

            core = prepared_core(source, [spec for spec, _, _ in specs], options["engine"])
            return Prepared("vuc", core, _assembled(source))
        case _:
            run_.refuse_kernel_options("a shader", ())
            return _usse(source, specs, options)


_OF_A_LAUNCH = ("isa_name", "variant", "kernel", "grid", "block", "specs", "chip", "textures", "registers", "shared",
                "local", "macros", "folders")  # fmt: skip
"""Options that a captured launch answers itself."""


def _captured(path: str, number: int | None, options: Options) -> Prepared:
    from isakit.hosts.cuda.replay import Capture

    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT
        if option.name in _OF_A_LAUNCH and given:
            raise click.UsageError(f"a captured launch takes no {option.opts[0]}: it says that itself", context)
    capture = Capture(Path(path))
    if number is None:
        if len(capture.launches) != 1:
            raise IsakitError(f"{path} has {len(capture.launches)} launches, name one with --launch: "
                              f"{_numbers(sorted(capture.launches))}")  # fmt: skip
        (number,) = capture.launches
    return captured_launch(capture, number, **{k: options[k] for k in ("engine", "tier", "threads")})


def _numbers(numbers: list[int]) -> str:
    """Return numbers as text, `1 to 9` where none is missing."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers)) or "it is empty"


def captured_launch(capture: Capture, number: int, **options: object) -> Prepared:
    """Prepare the machine of a captured launch at its first instruction; options are those of `Capture.prepare`.

    Raises CaptureError and FormatError.
    """
    with capture.reading(number):
        _, kernel, launch = capture.prepare(number, **options)
        machine = kernel.machine(**launch)
    return Prepared("tesla", machine, kernel.info.program, name=kernel.name, kernel=kernel)


def _assembled(source: Module | Program) -> Program | None:
    """Return the program assembled from a text, with labels and lines; None for another source."""
    from isakit.asm import Program

    return source if isinstance(source, Program) else None


def _tesla(source: Module | Program, specs: list[tuple[str, str, str]], options: Options) -> Prepared:
    _, kernel, arguments = run_.prepared_kernel(source, specs, options)
    values = [a.value for a in arguments]
    machine = kernel.machine(options["grid"], options["block"], values, dynamic_shared=options["shared"])
    program = _assembled(source)
    if program is not None and program.parts:
        program = program.kernels.get(kernel.name)
    if program is None and isinstance(source, Module) and source[kernel.name].lines is not None:
        program = source[kernel.name].program
    return Prepared("tesla", machine, program, arguments, kernel.name, kernel)


def _usse(source: Module | Program, specs: list[tuple[str, str, str]], options: Options) -> Prepared:
    from isakit.arch.usse.arithmetic import DEFAULT
    from isakit.cli.shader_inputs import shader_to_run
    from isakit.runtime.usse import CHUNK, BoundShader

    shader, found = shader_to_run(source, specs, options["textures"])
    given = found.inputs
    bound = BoundShader(
        shader, given.get("uniforms") or {}, given.get("textures") or {}, given.get("buffers") or {}, DEFAULT, 1_000_000
    )
    target = given.get("target")
    grid, inputs = bound.grid(given.get("attributes") or {}, given.get("varyings") or {}, given.get("count"), target)
    if grid.lanes > CHUNK:
        raise LaunchError(f"{grid.lanes} invocations; at most {CHUNK} can be debugged at once")
    before = None if target is None else bound.target_words(grid, target)
    machine = bound.machine(inputs, before, 0, grid.lanes)
    machine.start(bound.code)
    return Prepared("usse", machine, name=shader.stage, grid=grid, results=lambda: bound.results(machine))


__all__ = ["Prepared", "captured_launch", "launch_options", "prepare"]
