"""`isakit doc`."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click

from isakit.cli.common import coloured, console, echo, echo_json, echo_page, isa_option, json_option
from isakit.errors import IsakitError, did_you_mean
from isakit.instruction_sets import isa
from isakit.registry import VARIANTS
from isakit.results import Output, record

if TYPE_CHECKING:
    from isakit.spec import InstructionSet, Record


_SHORTEST_STEM = 4


@record
class FoundPage:
    """A page that has the word searched for."""

    isa: str
    name: str
    summary: str


@record
class RecordPage:
    """The manual page of an instruction, register or directive."""

    isa: str
    name: str
    mnemonics: list[str]
    doc: str
    status: str
    reference: str
    see: list[str]
    notes: list[str]
    syntax: list[str]
    meaning: str


OUTPUT = Output("doc", 1, lambda: list[RecordPage | FoundPage])


@click.command(
    "doc",
    epilog="""\b
Examples:
  isakit doc -m tesla
  isakit doc -m tesla add
  isakit doc -m tesla '$r'
  isakit doc -k saturate""",
)
@isa_option()
@json_option
@click.option("-k", "word", metavar="WORD", help="List what has WORD in its name, spelling or text.")
@click.argument("name", required=False)
def command(isa_name: str | None, as_json: bool, word: str | None, name: str | None) -> None:
    """Show the manual page of an instruction, register or directive; without a name, list the pages."""
    from isakit.docsgen.find import find_pages, records_named, search
    from isakit.docsgen.overview import isa_page
    from isakit.spec.isa import instruction_set

    isas = [isa(isa_name).records] if isa_name else [instruction_set(n) for n in VARIANTS]
    if word is not None:
        if name is not None:
            raise click.UsageError("-k WORD lists pages; leave the name out")
        hits = search(isas, word)
        stem = word
        while not hits and len(stem) > _SHORTEST_STEM:  # `saturate` is written `sat`
            stem = stem[:-1]
            hits = search(isas, stem)
        if not hits:
            raise IsakitError(f"no page has {word!r}")
        if stem != word:
            echo(f"no page has {word!r}; these have {stem!r}:", err=True)
        if as_json:
            echo_json([FoundPage(*hit) for hit in hits])
            return
        width = max(len(name) for _, name, _ in hits)
        for set_name, hit, text in hits:
            echo(f"{set_name or 'asm':5s} {hit:{width}s}  {text}")
        return
    if as_json:
        found = records_named(isas, name) if name else [(isa, r) for isa in isas for r in isa.records]
        if name and not found:
            raise _unknown(name, isas)
        echo_json([_page(isa, r) for isa, r in found])
        return
    pages = [isa_page(isa) for isa in isas] if name is None else find_pages(isas, name)
    if not pages and name is not None and isa_name is None:
        from isakit.hosts.drm.pages import pages_named

        pages = pages_named(name)
    if not pages:
        raise _unknown(name or "", isas)
    if coloured():
        from rich.markdown import Markdown

        drawn = console()
        with drawn.capture() as captured:
            for page in pages:
                drawn.print(Markdown(page.replace("<br>", " · ")))
        echo_page(captured.get(), nl=False)
    else:
        echo("\n".join(pages).rstrip())


def _unknown(name: str, isas: list[InstructionSet]) -> IsakitError:
    from isakit.docsgen.find import known_names

    if name.startswith("%"):
        return IsakitError(f"{name!r} is a name of PTX; the registers here: `isakit doc -m tesla '$r'`")
    search = f"`isakit doc -k {shlex.quote(name)}` searches all pages"
    other = [advice for isa in isas for pattern, advice in isa.advice if re.match(pattern, name)]
    product = next((p for isa in isas if (p := isa.product(name))), "")
    similar = other or ([] if product else did_you_mean(name, known_names(isas)))
    return IsakitError("; ".join([f"there is no page about {name!r}{product}", *similar, search]))


def _page(isa: InstructionSet, r: Record) -> RecordPage:
    from isakit.codec.syntax import syntax_line
    from isakit.docsgen.instruction import meaning

    return RecordPage(
        isa.name,
        r.name,
        list(r.mnemonics),
        r.doc,
        r.status.value,
        str(r.ref),
        [str(s) for s in r.see],
        list(r.notes),
        list(dict.fromkeys(syntax_line(f) for f in r.forms)),
        "\n".join(meaning(isa, r)),
    )
