"""`isakit compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from isakit.cli.common import NO, Dimensions, Options, echo, echo_json, json_option, read_bytes, shown
from isakit.errors import IsakitError
from isakit.programs.kernel_names import only
from isakit.results import OMITTED, Omitted, Output, record

if TYPE_CHECKING:
    from isakit.debug.compare import Comparison
    from isakit.description import Module
    from isakit.formats import Shader


@record
class DifferentResult:
    """A result that differs: at `count` of `total` places, the first at `index`, with the two `values`."""

    name: str
    count: int
    total: int
    index: list[int]
    values: list[str]


@record
class NumberedInstruction:
    """An instruction by its number in the program and its byte address."""

    number: int
    address: int
    text: str


@record
class DifferentRegister:
    """A register and its value in each program."""

    name: str
    values: list[str]


@record
class FirstDifference:
    """The first instruction of each program that leaves other values than the other one's."""

    program: str
    instructions: list[NumberedInstruction | None]
    registers: list[DifferentRegister]
    why: str


@record
class ComparedPrograms:
    """The result of a comparison, and the largest distance of results that count as equal."""

    equal: bool
    results: list[str]
    largest_ulps: int | None
    differences: list[DifferentResult]
    parting: FirstDifference | Omitted


OUTPUT = Output("compare", 1, lambda: ComparedPrograms)


@click.command(
    "compare",
    epilog="""\b
Examples:
  isakit compare old.gxp new.gxp
  isakit compare old.gxp new.gxp --ulps 2 --arg tint=in:tint.npy --texture image=stone.png
  isakit compare a.cubin b.cubin --grid 4 --block 256 --arg i32:1000 --arg in:x.npy --arg out:f32:1000""",
)
@click.option("--arg", "specs", multiple=True, metavar="SPEC", help="An input, as for `isakit run`.")
@click.option("--texture", "textures", multiple=True, metavar="NAME=FILE", help="A texture of the shaders.")
@click.option("--count", type=click.IntRange(1, 1 << 20), default=1024, help="Random invocations.  [default: 1024]")
@click.option("--seed", type=int, default=0, help="Of the random inputs.  [default: 0]")
@click.option(
    "--ulps",
    type=click.IntRange(0),
    default=0,
    help="How far results may lie apart: f32, or steps of a colour's f16 or bytes.  [default: 0]",
)
@click.option("--kernel", metavar="NAME", help="The kernel, where the files have several.")
@click.option("--grid", type=Dimensions(2), default="1", metavar="X[,Y]", help="Blocks, for kernels.  [default: 1]")
@click.option(
    "--block",
    type=Dimensions(3),
    default="1",
    metavar="X[,Y[,Z]]",
    help="Threads of a block, for kernels.  [default: 1]",
)
@click.option("--chip", default="gt200", metavar="CHIP", help="The simulated chip, for kernels.  [default: gt200]")
@click.option("--engine", type=click.Choice(["reference", "llvm"]), default="reference", help="How to execute.")
@click.option("--max", "limit", type=click.IntRange(1), metavar="N", help="Stop after N instructions.")
@json_option
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
def command(first: str, second: str, as_json: bool, **options: Any) -> None:
    """Run two shaders, or two Tesla kernels, over the same inputs and tell whether their results agree.

    Shaders get random inputs in the ranges of their formats where none are given. Where results differ, the first
    instruction that leaves different values is shown in both listings. Exit code 0: all agree, 3: they differ.
    """
    from isakit.formats import Shader

    files = [_program(name, options["kernel"]) for name in (first, second)]
    a, b = files
    if isinstance(a, Shader) and isinstance(b, Shader):
        found = _shaders(a, b, options)
    elif a.isa == b.isa == "tesla":
        found = _kernels(a, b, options)
    else:
        raise IsakitError(f"{shown(first)} is {a.kind} and {shown(second)} {b.kind}; give two shaders or two cubins")
    if as_json:
        echo_json(_result(found))
    else:
        _show(found)
    if not found:
        echo(f"error: the results differ: {', '.join(d.name for d in found.differences)}", err=True)
        click.get_current_context().exit(NO)


def _shaders(a: Shader, b: Shader, options: Options) -> Comparison:
    from isakit.cli.shader_inputs import shader_inputs
    from isakit.debug.compare_shaders import compare_shaders

    limit = {} if options["limit"] is None else {"max_instructions": options["limit"]}
    given = shader_inputs([a, b], options["specs"], options["textures"])
    if "output" in given.inputs:
        raise click.BadParameter("colours are compared as the shaders leave them, without output=", param_hint="--arg")
    return compare_shaders(a, b, inputs=given.inputs, count=options["count"], seed=options["seed"],
                           ulps=options["ulps"], engine=options["engine"], **limit)  # fmt: skip


def _kernels(a: Module, b: Module, options: Options) -> Comparison:
    from isakit.cli.arguments import parse
    from isakit.debug.compare_kernels import compare_kernels
    from isakit.runtime import Device

    kernels: list[Any] = []
    for m in (a, b):
        loaded = Device(options["chip"], engine=options["engine"]).load(m)
        kernels.append(loaded[only(options["kernel"], loaded, str(m.path))])
    args = [parse(spec).value for spec in options["specs"]]
    bounds = {"ulps": options["ulps"], "max_instructions": options["limit"]}
    return compare_kernels(kernels[0], kernels[1], options["grid"], options["block"], args, **bounds)


def _program(name: str, kernel: str | None) -> Module:
    """Return the program in a file that has the kernel, else the first."""
    from isakit.programs.reading import load_all

    modules = load_all(read_bytes(name), path=shown(name))
    return next((m for m in modules if kernel in m.kernels), modules[0])


def _show(found: Comparison) -> None:
    if found:
        within = f" (at most {found.largest} units in the last place apart)" if found.largest else ""
        echo(f"equal: {', '.join(found.results)}{within}")
        return
    for d in found.differences:
        echo(str(d))
    if found.parting is not None:
        echo()
        for line in found.parting.lines():
            echo(line)


def _result(found: Comparison) -> ComparedPrograms:
    differences = [
        DifferentResult(d.name, d.count, d.total, list(d.index), list(map(str, d.values))) for d in found.differences
    ]
    first: FirstDifference | Omitted = OMITTED
    p = found.parting
    if p is not None:
        instructions = [
            None if i is None or n is None else NumberedInstruction(n, i.address, i.text)
            for n, i in zip(p.pcs, p.instructions, strict=True)
        ]
        registers = [DifferentRegister(n, [str(a), str(b)]) for n, a, b in p.registers]
        first = FirstDifference(p.program, instructions, registers, p.why)
    return ComparedPrograms(bool(found), list(found.results), found.largest, differences, first)
