"""`isakit find`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from isakit.cli.common import (
    BAD_INPUT,
    echo,
    echo_json,
    isa_option,
    json_option,
    named_code,
    read_bytes,
    shown,
    type_option,
    variant_option,
)
from isakit.errors import FormatError
from isakit.results import OMITTED, Omitted, Output, record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isakit.analysis import Pattern


@record
class Match:
    """An instruction that was found, by its byte address in a program."""

    file: str
    program: str
    address: int
    words: list[int]
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.program}+{self.address:#x}: {self.text}"


@record
class MatchCount:
    """The number of instructions found in a program."""

    file: str
    program: str
    count: int

    def __str__(self) -> str:
        return f"{self.file}: {self.program}: {self.count}"


@record
class AlikeKernel:
    """A program that is like `kernel`; `likeness` from 0 to 1."""

    kernel: str
    likeness: float
    file: str
    program: str

    def __str__(self) -> str:
        return f"{self.kernel}: {100 * self.likeness:3.0f} % {self.file}: {self.program}"


@record
class Matches:
    """Everything that was found for a pattern, or `like` a file."""

    schema: str
    pattern: str
    like: str | Omitted
    found: list[Match | MatchCount | AlikeKernel]


SCHEMA = "isakit-find-1"
OUTPUT = Output("find", 1, lambda: Matches)


@click.command(
    "find",
    epilog="""\b
Examples:
  isakit find 'ld * g14[$r*]' kernel.cubin
  isakit find 'group=branch and target=0x40' *.cubin
  isakit find --count 'mad * and sat' programs/*
  isakit find --index index.parquet 'opcode=tex*'
  isakit find --index index.parquet --like kernel.cubin""",
)
@isa_option()
@variant_option
@type_option
@click.option("--count", is_flag=True, help="Only say how many there are in each program.")
@click.option("--index", metavar="INDEX", help="Search what `isakit scan` wrote, instead of files.")
@click.option("--like", metavar="FILE", help="With --index: find kernels that do much the same as those of FILE.")
@click.option(
    "--least", type=click.FloatRange(0, 1), default=0.5, help="With --like: share of common steps.  [default: 0.5]"
)
@json_option
@click.argument("words", metavar="PATTERN FILE...", nargs=-1)
@click.pass_context
def command(
    ctx: click.Context,
    isa_name: str | None,
    variant: str | None,
    program_type: str | None,
    count: bool,
    index: str | None,
    like: str | None,
    least: float,
    as_json: bool,
    words: tuple[str, ...],
) -> None:
    """Find instructions in program files, or in an index of many.

    PATTERN is the text of an instruction with wildcards: `*` alone stands for any words, inside a word for any
    characters. Or it is a condition, `opcode=mad and writes=$r5 and not sat`, of: opcode, group, reads, writes,
    operand, immediate, target, address, word, size, status, valid, error. Files that cannot be read are named, and the
    exit code is 1.
    """
    from isakit.analysis import Pattern

    if like is not None:
        if index is None or words:
            raise click.UsageError("--like FILE searches an index for kernels: give --index and no pattern")
        _show(_alike(index, like, least), "", as_json, shown(like))
        return
    if not words or (len(words) == 1) is not (index is not None):
        raise click.UsageError("give a pattern and files, or --index INDEX and a pattern")
    pattern, *files = words
    wanted = Pattern(pattern)
    if index is not None:
        _show(_indexed(index, wanted, count), wanted.text, as_json)
        return
    failed: list[str] = []

    def hits() -> Iterator[Match | MatchCount]:
        for name in files:
            try:
                yield from _hits(name, wanted, named_code(isa_name, variant), program_type, count)
            except (FormatError, OSError) as e:
                echo(f"error: {e}", err=True)
                failed.append(name)

    _show(hits(), pattern, as_json)
    if failed:
        ctx.exit(BAD_INPUT)


def _show(
    found: Iterable[Match | MatchCount | AlikeKernel], pattern: str, as_json: bool, like: str | Omitted = OMITTED
) -> None:
    """Write the matches: each as soon as it is found, or all as JSON."""
    if as_json:
        echo_json(Matches(SCHEMA, pattern, like, list(found)))
        return
    for row in found:
        echo(str(row))


def _indexed(index: str, pattern: Pattern, count: bool) -> Iterator[Match | MatchCount]:
    from isakit.corpora import find

    counts: dict[tuple[str, str], int] = {}
    for hit in find(index, pattern):
        name, i = _place(hit.path, hit.member, hit.offset), hit.instruction
        if count:
            counts[name, hit.kernel] = counts.get((name, hit.kernel), 0) + 1
        else:
            yield Match(name, hit.kernel, i.address, list(i.words), i.text)
    yield from (MatchCount(name, kernel, n) for (name, kernel), n in counts.items())


def _alike(index: str, like: str, least: float) -> Iterator[AlikeKernel]:
    from isakit.corpora import similar
    from isakit.programs.reading import load_all

    for m in load_all(read_bytes(like), path=shown(like)):
        for k in m.kernels.values():
            for r in similar(index, k.program, least=least):
                yield AlikeKernel(k.name, r.likeness, _place(r.path, r.member, r.offset), r.kernel)


def _place(path: str, member: str, offset: int) -> str:
    """Return the name of a program in a file, or in a member of an archive."""
    return f"{path}{f'!/{member}' if member else ''}{f'@{offset:#x}' if offset else ''}"


def _hits(
    name: str, pattern: Pattern, named: dict[str, str], program_type: str | None, count: bool
) -> Iterator[Match | MatchCount]:
    from isakit.programs.reading import load_all

    for m in load_all(read_bytes(name), **named, path=shown(name)):
        for k in m.kernels.values():
            hits = (i for i in m.disassemble(k, program_type) if pattern.matches(i))
            if count:
                yield MatchCount(shown(name), k.name, sum(1 for _ in hits))
                continue
            for i in hits:
                yield Match(shown(name), k.name, i.address, list(i.words), i.text)
