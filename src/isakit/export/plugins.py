"""Plug-ins for other disassemblers, around the exported disassembler in C: a folder of files each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from isakit.codec import Decoder
from isakit.export.c_header import c_header, c_prefix

Host = Literal["rizin", "binaryninja"]
_FILES = Path(__file__).parent / "plugin_files"
_COMMON = ("take_apart.h", "take_apart.c")
_LEAST_VERSION = 3164
"""The first Binary Ninja whose Python interface the plug-in uses (3.0)."""


def plugin_name(decoder: Decoder) -> str:
    """Return the name of the architecture of a view, `isakit-tesla-gt200-compute`."""
    return c_prefix(decoder).replace("_", "-")


def plugin(decoder: Decoder, host: Host) -> dict[str, str]:
    """Return the files of a plug-in for rizin or Binary Ninja, by name. Raises CannotExport as `c_header`."""
    out = {name: (_FILES / name).read_text("utf-8") for name in _COMMON}
    out["view.h"] = _view(decoder)
    return out | (_rizin(decoder) if host == "rizin" else _binary_ninja(decoder))


def _view(decoder: Decoder) -> str:
    name, variant = c_prefix(decoder), decoder.view.variant
    step = variant.unit_bytes if decoder.isa.word_addressed else 1
    return "\n".join([
        "#define ISAKIT_IMPLEMENTATION", c_header(decoder), f"#define INSTRUCTION {name}_instruction",
        f"#define INSTRUCTION_AT {name}_instruction_at", f"#define UNIT_BITS {variant.unit_bits}",
        f"#define UNIT_BYTES {variant.unit_bytes}", f"#define STEP {step}", "",
    ])  # fmt: skip


def _registers(decoder: Decoder) -> list[tuple[str, int]]:
    """Return the names of registers and their sizes in bytes."""
    out: list[tuple[str, int]] = []
    for f in decoder.isa.registers.values():
        names = [(f.text or f"{f.name}{{n}}").format(n=n) for n in range(f.count)]
        out += [(name, next(size for size in (1, 2, 4, 8, 16) if 8 * size >= f.width)) for name in names]
    return out


def _about(decoder: Decoder) -> str:
    return f"{decoder.isa.name} {decoder.view.variant.name} {decoder.view.program}".strip() + ", by isakit"


def _rizin(decoder: Decoder) -> dict[str, str]:
    import isakit

    name = plugin_name(decoder)
    at, profile = 0, ["=PC\tpc", "gpr\tpc\t.64\t0\t0"]
    for text, size in _registers(decoder):
        if text.startswith("$"):
            at += 8
            profile.append(f"gpr\t{text[1:]}\t.{8 * size}\t{at}\t0")
    names = {"NAME": name, "VERSION": isakit.__version__, "ABOUT": _about(decoder),
             "PROFILE": "\n".join([*profile, ""])}  # fmt: skip
    lines = [f"#define {k} {json.dumps(v)}" for k, v in names.items()]
    page = (
        f"# {_about(decoder)}: a plug-in of rizin\n\nOne command compiles it for the rizin that is installed, with its "
        "headers, and puts it where rizin looks:\n\n    make install\n\n"
        f"Then `rizin -a {name} FILE`, and `pd` and `af` as always.\n"
    )
    return {
        "rizin.c": (_FILES / "rizin.c").read_text("utf-8"),
        "names.h": "\n".join([*lines, f"#define DELAY {decoder.isa.delay_slots}", ""]),
        "Makefile": f"NAME = {name.replace('-', '_')}\n" + (_FILES / "Makefile").read_text("utf-8"),
        "README.md": page,
    }


def _binary_ninja(decoder: Decoder) -> dict[str, str]:
    import isakit

    name = plugin_name(decoder)
    facts = {"NAME": name, "UNIT_BYTES": decoder.view.variant.unit_bytes, "DELAY": decoder.isa.delay_slots,
             "REGISTERS": [(n, size) for n, size in _registers(decoder) if n.startswith("$")]}  # fmt: skip
    about = {
        "pluginmetadataversion": 2, "name": name, "type": ["architecture"], "api": ["python3"],
        "description": _about(decoder), "longdescription": "", "license": {"name": "MIT", "text": ""},
        "platforms": ["Darwin", "Linux", "Windows"], "installinstructions": {}, "dependencies": {},
        "version": isakit.__version__, "author": "isakit", "minimumbinaryninjaversion": _LEAST_VERSION,
    }  # fmt: skip
    where = f"~/.binaryninja/plugins/{name.replace('-', '_')}"
    view = f"-m {decoder.isa.name} -V {decoder.view.variant.name}"
    page = (
        f"# {_about(decoder)}: a plug-in of Binary Ninja\n\nOne command puts it where Binary Ninja looks:\n\n"
        f"    isakit export {view} --format binaryninja -o {where}\n\nThe first start compiles the disassembler with "
        f"the system's C compiler. The architecture is `{name}`; it lifts nothing.\n"
    )
    return {
        "__init__.py": (_FILES / "binary_ninja.py.in").read_text("utf-8"),
        "names.py": "".join(f"{k} = {v!r}\n" for k, v in facts.items()),
        "plugin.json": json.dumps(about, indent=1) + "\n",
        "README.md": page,
    }


__all__ = ["plugin", "plugin_name"]
