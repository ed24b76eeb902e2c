"""`isakit find`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from isakit.cli.common import (
    echo_json,
    isa_option,
    json_option,
    named_code,
    printable,
    read_bytes,
    shown,
    type_option,
    variant_option,
)
from isakit.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isakit.analysis import Pattern


@click.command(
    "find",
    epilog="""\b
Examples:
  isakit find 'ld * g14[$r*]' kernel.cubin
  isakit find 'group=branch and target=0x40' *.cubin
  isakit find --count 'mad * and sat' programs/*""",
)
@isa_option()
@variant_option
@type_option
@click.option("--count", is_flag=True, help="Only say how many there are in each program.")
@json_option
@click.argument("pattern", metavar="PATTERN")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.pass_context
def command(
    ctx: click.Context,
    isa_name: str | None,
    variant: str | None,
    program_type: str | None,
    count: bool,
    as_json: bool,
    pattern: str,
    files: tuple[str, ...],
) -> None:
    """Find instructions in program files.

    PATTERN is the text of an instruction with wildcards: `*` alone stands for any words, inside a word for any
    characters. Or it is a condition, `opcode=mad and writes=$r5 and not sat`, of: opcode, group, reads, writes,
    operand, immediate, target, address, word, size, status, valid, error. Files that cannot be read are named, and the
    exit code is 1.
    """
    from isakit.analysis import Pattern

    wanted = Pattern(pattern)
    found: list[dict[str, Any]] = []
    failed = False
    for name in files:
        try:
            for hit in _hits(name, wanted, named_code(isa_name, variant), program_type, count):
                if as_json:
                    found.append(hit)
                elif count:
                    click.echo(printable(f"{hit['file']}: {hit['program']}: {hit['count']}"))
                else:
                    click.echo(printable(f"{hit['file']}: {hit['program']}+{hit['address']:#x}: {hit['text']}"))
        except BrokenPipeError:
            raise
        except (FormatError, OSError) as e:
            click.echo(printable(f"error: {e}"), err=True)
            failed = True
    if as_json:
        echo_json({"schema": "isakit-find-1", "pattern": pattern, "found": found})
    if failed:
        ctx.exit(1)


def _hits(
    name: str, pattern: Pattern, named: dict[str, str], program_type: str | None, count: bool
) -> Iterator[dict[str, Any]]:
    from isakit.formats import load_images

    for m in load_images(read_bytes(name), **named, path=shown(name)):
        for k in m.kernels.values():
            hits = (i for i in m.disassemble(k, program_type) if pattern.matches(i))
            if count:
                yield {"file": shown(name), "program": k.name, "count": sum(1 for _ in hits)}
                continue
            for i in hits:
                yield {"file": shown(name), "program": k.name, "address": i.address, "words": list(i.words),
                       "text": i.text}  # fmt: skip
