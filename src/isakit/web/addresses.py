"""Addresses that open a text in the workbench: what stands after their #. The page reads them with `state.js`."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from base64 import urlsafe_b64encode

VERSION = 1
_ASSEMBLED = re.compile(r'"""(.*?)"""', re.DOTALL)


def fragment(source: str, isa: str, variant: str, language: str = "asm") -> str:
    """Return the fragment of an address, after #, that opens a text."""
    state = {"v": VERSION, "isa": isa, "variant": variant, "language": language, "source": source}
    packer = zlib.compressobj(level=9, wbits=-15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return urlsafe_b64encode(packed).decode().rstrip("=")


def fragments_of_example(language: str, text: str) -> list[str]:
    """Return the fragments that open the programs of an example: in assembly, in Python that assembles them, in Cg.

    Excerpts and traces are no programs; there is none for them.
    """
    from isakit.registry import VARIANTS

    if language == "hlsl":  # as those who colour texts call Cg
        return _opening_shader(text)
    if language in VARIANTS:
        return _opening(text, [language])
    programs = _ASSEMBLED.findall(text) if language == "python" else []
    return [found for program in programs for found in _opening(program, list(VARIANTS))[:1]]


def _opening_shader(text: str) -> list[str]:
    """Return the fragments that open a shader in Cg that compiles."""
    from isakit.errors import IsakitError
    from isakit.web.source import shaded

    with contextlib.suppress(IsakitError):
        shaded(text)
        return [fragment(text, "usse", "sgx543", "cg")]
    return []


def _opening(text: str, isas: list[str]) -> list[str]:
    """Return the fragments that open a text, one for each instruction set in which it is a program."""
    from isakit.errors import IsakitError
    from isakit.instruction_sets import isa_of_text

    found: list[str] = []
    for isa in isas:
        with contextlib.suppress(IsakitError):
            chosen = isa_of_text(text, isa)
            assert chosen is not None
            chosen.assemble(text)
            found.append(fragment(text, chosen.name, chosen.variant))
    return found


__all__ = ["fragment", "fragments_of_example"]
