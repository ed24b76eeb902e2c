"""`isakit diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from isakit.cli.common import (
    NO,
    echo,
    echo_json,
    isa_option,
    json_option,
    named_code,
    read_bytes,
    shown,
    variant_option,
)
from isakit.programs.kernel_names import chosen
from isakit.results import Output, records_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isakit.analysis.diff import DiffRow, ProgramDiff
    from isakit.asm import Program
    from isakit.codec import Instruction

_MARKS = {"same": " ", "moved": "~", "changed": "!", "removed": "-", "added": "+"}
_COLOURS = {"~": "36", "!": "33", "-": "31", "+": "32"}

OUTPUT = Output("diff", 1, records_at("isakit.analysis.diff:FileDiffRecord"))


@click.command(
    "diff",
    epilog="""\b
Examples:
  isakit diff old.cubin new.cubin
  isakit diff --kernel saxpy old.cubin new.cubin
  isakit diff --exact a.gxp b.gxp && echo the same""",
)
@isa_option()
@variant_option
@json_option
@click.option("--kernel", metavar="NAME", help="Only this kernel, which both files have.")
@click.option("--context", type=click.IntRange(0), default=3, help="Equal instructions around each change.")
@click.option("--all", "everything", is_flag=True, help="Show all instructions.")
@click.option("--exact", is_flag=True, help="Moved registers, addresses and other encodings count as differences.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
def command(
    isa_name: str | None,
    variant: str | None,
    as_json: bool,
    kernel: str | None,
    context: int,
    everything: bool,
    exact: bool,
    first: str,
    second: str,
) -> None:
    """Compare the code of two program files.

    Kernels are matched by name, those left by what they do. `-` and `+` are instructions of one file alone, `!` ones
    that changed, `~` ones in which only registers, addresses or the encoding are others while the values are the same;
    these are shown where they stand beside a change, or with --exact. Exit code 0: no difference, 3: differences.
    """
    from isakit.analysis.diff import FileDiffRecord, diff_kernels

    named = named_code(isa_name, variant)
    found = diff_kernels(_programs(first, named, kernel), _programs(second, named, kernel))
    equal = found.identical if exact else found.equal
    if as_json:
        removed, added = ([name for name, _ in side] for side in (found.removed, found.added))
        kernels = [p.record() for p in found.pairs]
        names = shown(first), shown(second)
        echo_json(FileDiffRecord("isakit-diff-1", *names, found.equal, found.identical, kernels, removed, added))
    else:
        for p in found.pairs:
            _show(p, context, everything, exact)
        for mark, some in (("-", found.removed), ("+", found.added)):
            for name, program in some:
                _line(mark, f"{mark} kernel {name}: {len(program)} instructions")
    if not equal:
        echo("error: the code differs", err=True)
        click.get_current_context().exit(NO)


def _programs(path: str, named: dict[str, str], kernel: str | None) -> list[tuple[str, Program]]:
    from isakit.programs.reading import load_all

    modules = load_all(read_bytes(path), **named, path=shown(path))
    return chosen(kernel, ((k.name, k.program) for m in modules for k in m.kernels.values()), shown(path))


def _show(p: ProgramDiff, context: int, everything: bool, exact: bool) -> None:
    counts = ", ".join(f"{n} {c.value}" for c, n in p.counts.items() if n)
    name = p.name_a if p.name_a == p.name_b else f"{p.name_a} and {p.name_b}"
    echo(f"{name}: {counts or 'no instructions'}")
    for what, a, b in p.facts:
        _line("-", f"- {what}: {a}")
        _line("+", f"+ {what}: {b}")
    shown_marks = ("~!-+" if exact else "!-+") if not everything else " ~!-+"
    wanted: set[int] = set()
    for k, r in enumerate(p.rows):
        if _MARKS[r.change.value] in shown_marks:
            wanted.update(range(max(0, k - context), k + context + 1))
    width = max((len(r.a.text) for r in p.rows if r.a is not None), default=0)
    before = -1
    for k, r in enumerate(p.rows):
        if k not in wanted:
            continue
        if before >= 0 and k != before + 1:
            echo("  ...")
        before = k
        for mark, text in _lines(r, min(width, 60)):
            _line(mark, text)


def _lines(r: DiffRow, width: int) -> Iterator[tuple[str, str]]:
    mark = _MARKS[r.change.value]
    if mark == "!":
        yield "-", f"! {_place(r.a)} {'':6} {r.a.text if r.a else ''}"
        yield "+", f"! {'':6} {_place(r.b)} {r.b.text if r.b else '':<{width}}  // {', '.join(r.why)}"
        return
    text = r.b.text if r.b is not None else r.a.text if r.a is not None else ""
    why = f"  // {', '.join(r.why)}" if r.why else ""
    yield mark, f"{mark} {_place(r.a)} {_place(r.b)} {text:<{width if why else 0}}{why}"


def _place(i: Instruction | None) -> str:
    return " " * 6 if i is None else f"{i.address:#06x}"


def _line(mark: str, text: str) -> None:
    colour = _COLOURS.get(mark)
    echo(text.rstrip(), painted=None if colour is None else lambda t: f"\x1b[{colour}m{t}\x1b[0m")
