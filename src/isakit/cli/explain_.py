"""`isakit explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from isakit.cli.common import coloured, console, echo, echo_json, isa_option, json_option, type_option, variant_option
from isakit.instruction_sets import isa
from isakit.results import Output, records_at

if TYPE_CHECKING:
    from isakit.codec import Explanation

OUTPUT = Output("explain", 1, records_at("isakit.codec.explain:Explanation", "isakit.codec.explain:Explanation[]"))


@click.command(
    "explain",
    epilog="""\b
Examples:
  isakit explain -m tesla 'add b32 $r0 $r1 $r2'
  isakit explain -m tesla 20008204
  isakit explain -m usse 0x00000086f0000082
  isakit explain -m tesla -t tsc 2000 e2 f00000 0 0 0 0 0        (a sampler; tic for a texture)""",
)
@isa_option(required=True)
@variant_option
@type_option
@json_option
@click.argument("what", nargs=-1, required=True, metavar="WORDS...|TEXT")
def command(isa_name: str, variant: str | None, program_type: str | None, as_json: bool, what: tuple[str, ...]) -> None:
    """Explain every bit of instructions, given as words or as text."""
    if isa_name == "tesla" and program_type in ("tic", "tsc"):
        from isakit.tesla import explain_header

        found = [explain_header(program_type, " ".join(what))]
    else:
        found = isa(isa_name, variant).explain_all(" ".join(what), program_type)
    if as_json:
        echo_json(found[0] if len(found) == 1 else found)
        return
    for number, explanation in enumerate(found):
        if number:
            echo()
        if coloured():
            _table(explanation)
        else:
            echo(str(explanation))


def _table(e: Explanation) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(Text(str(e).splitlines()[0], style="bold"))
    if e.name:
        out.print(Text(f"{e.name} ({e.form} form), {e.status}; {e.reference}", style="dim"))
    if e.error:
        out.print(Text(f"decode error: {e.error}", style="red"))
    table = Table(box=None, pad_edge=False)
    for name in ("bits", "field", "value", "meaning"):
        table.add_column(name, style={"bits": "cyan", "value": "green"}.get(name))
    for row in e:
        table.add_row(row.bits, row.field, f"{row.value:#x}", Text(row.meaning))
    out.print(table)
