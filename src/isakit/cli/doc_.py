"""`isakit doc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from isakit.cli.common import coloured, console, echo_json, isa_option, json_option
from isakit.errors import IsakitError, did_you_mean

if TYPE_CHECKING:
    from isakit.spec import InstructionSet, Record


@click.command(
    "doc",
    epilog="""\b
Examples:
  isakit doc -m tesla
  isakit doc -m tesla add
  isakit doc .param""",
)
@isa_option()
@json_option
@click.argument("name", required=False)
def command(isa_name: str | None, as_json: bool, name: str | None) -> None:
    """Show the manual page of an instruction, special register or directive; without a name, what there is."""
    from isakit.docsgen.find import find_pages, known_names, records_named
    from isakit.docsgen.overview import isa_page
    from isakit.registry import VARIANTS, instruction_set

    isas = [instruction_set(n) for n in ([isa_name] if isa_name else VARIANTS)]
    if as_json:
        found = records_named(isas, name) if name else [(isa, r) for isa in isas for r in isa.records]
        if name and not found:
            raise _unknown(name, known_names(isas))
        echo_json([_plain(isa, r) for isa, r in found])
        return
    pages = [isa_page(isa) for isa in isas] if name is None else find_pages(isas, name)
    if not pages:
        raise _unknown(name or "", known_names(isas))
    if coloured():
        from rich.markdown import Markdown

        for page in pages:
            console().print(Markdown(page.replace("<br>", " · ")))
    else:
        click.echo("\n".join(pages).rstrip())


def _unknown(name: str, names: list[str]) -> IsakitError:
    return IsakitError("; ".join([f"there is no page about {name!r}", *did_you_mean(name, names)]))


def _plain(isa: InstructionSet, r: Record) -> dict[str, Any]:
    from isakit.codec.syntax import syntax_line
    from isakit.docsgen.instruction import meaning

    return {
        "isa": isa.name, "name": r.name, "mnemonics": r.mnemonics, "doc": r.doc, "status": r.status.value,
        "reference": str(r.ref), "see": [str(s) for s in r.see], "notes": list(r.notes),
        "syntax": list(dict.fromkeys(syntax_line(f) for f in r.forms)), "meaning": "\n".join(meaning(r)),
    }  # fmt: skip
