"""`isakit info`."""

from __future__ import annotations

import dataclasses
import re
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
    variant_option,
)

if TYPE_CHECKING:
    from isakit.description import InfoRecord, Kernel, Module


@click.command(
    "info",
    epilog="""\b
Example:
  isakit info kernel.cubin""",
)
@isa_option()
@variant_option
@json_option
@click.argument("file", metavar="FILE|-")
def command(isa_name: str | None, variant: str | None, as_json: bool, file: str) -> None:
    """Show kernels, registers, memory and parameters of a program file."""
    from isakit.programs.reading import load_all

    data = read_bytes(file)
    modules = load_all(data, **named_code(isa_name, variant), path=shown(file))
    texts = _ptx_texts(data)
    if as_json:
        echo_json([*(_plain(m) for m in modules), *texts])
        return
    for m in modules:
        _show(m)
    for t in texts:
        kernels = ", ".join(t["kernels"]) or "none"
        click.echo(f"PTX at {t['offset']:#x}: {t['size']} bytes, {t['version']}, for {t['target']}; kernels: {kernels}")


_PTX = re.compile(r"\.version\s+([\d.]+).*?\.target\s+(\w+)", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


def _ptx_texts(data: bytes) -> list[dict[str, Any]]:
    """The PTX texts beside the machine code of a file."""
    from isakit.formats import find_embedded

    out: list[dict[str, Any]] = []
    for f in find_embedded(data) if b".version" in data else ():
        m = _PTX.match(f.text)
        if m is not None:
            out.append({"kind": "ptx", "offset": f.offset, "size": f.size, "version": m[1], "target": m[2],
                        "kernels": _ENTRY.findall(f.text)})  # fmt: skip
    return out


def _plain(m: Module) -> dict[str, Any]:
    from isakit.formats import Shader

    out: dict[str, Any] = {
        "path": m.path, "offset": m.offset, "kind": m.kind, "isa": m.isa, "variant": m.variant,
        "kernels": [_kernel(k) for k in m.kernels.values()],
        "constants": {str(bank): len(m.constant_bytes(bank)) for bank in m.constants},
        "globals": [{"name": g.name, "size": g.size, "initialised": g.data is not None} for g in m.globals],
        "samplers": [{"name": s.name, "unit": s.unit} for s in m.samplers],
        "attributes": _attributes(m.info),
    }  # fmt: skip
    if isinstance(m, Shader):
        out["stage"] = m.stage
        out["parameters"] = [dataclasses.asdict(p) for p in m.parameters]
    return out


def _kernel(k: Kernel) -> dict[str, Any]:
    return {
        "name": k.name, "code_bytes": len(k.code), "registers": k.registers, "shared_bytes": k.shared_bytes,
        "local_bytes": k.local_bytes, "barriers": k.barriers,
        "params": [
            {"name": p.name, "type": p.kind, "offset": p.offset, "size": p.size, "index": n}
            for n, p in enumerate(k.params)
        ],
        "constants": {str(bank): len(k.constant_bytes(bank)) for bank in k.constants},
        "samplers": [{"name": s.name, "unit": s.unit} for s in k.samplers],
        "attributes": _attributes(k.info),
    }  # fmt: skip


def _attributes(records: list[InfoRecord]) -> list[dict[str, Any]]:
    """What the compiler noted besides registers, memory, parameters and textures."""
    from isakit.formats.nvinfo import ATTRIBUTES

    return [
        {"number": r.attribute, "name": ATTRIBUTES.get(r.attribute, f"{r.attribute:#x}"), "data": r.data.hex()}
        for r in records
    ]


def _show(m: Module) -> None:
    """Lines of text, one for every kernel, whatever the width of the terminal: they are searched and copied from."""
    from isakit.formats import Shader

    where = f" at {m.offset:#x}" if m.offset else ""
    kind = f"{m.kind}, {m.isa or 'unknown instruction set'} {m.variant}".strip()
    _line(f"{m.path or '<data>'}{where}: {kind}")
    rows: list[tuple[str, ...]] = [("kernel", "code", "registers", "shared", "local", "barriers", "parameters")]
    for k in m.kernels.values():
        params = ", ".join(
            f"{p.kind or f'b{8 * p.size}'}{f' {p.name}' if p.name else ''} at {p.offset:#x}" for p in k.params
        )
        sizes = (k.registers, k.shared_bytes, k.local_bytes, k.barriers)
        rows.append((k.name, str(len(k.code)), *("" if n is None else str(n) for n in sizes), params))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        name, *numbers, params = row
        cells = (n.rjust(w) for n, w in zip(numbers, widths[1:-1], strict=True))
        _line(f"{name:<{widths[0]}}  {'  '.join(cells)}  {params}".rstrip())
    for bank in m.constants:
        _line(f"c{bank}: {len(m.constant_bytes(bank))} bytes")
    for g in m.globals:
        _line(f"variable {g.name}: {g.size} bytes")
    for s in m.samplers:
        _line(f"texture {s.name}" + ("" if s.unit is None else f" at unit {s.unit}"))
        for k in m.kernels.values():
            for used in (u for u in k.samplers if u.name == s.name):
                _line(f"  at unit {used.unit} in {k.name}")
    noted = [("the file", a) for a in _attributes(m.info)]
    noted += [(k.name, a) for k in m.kernels.values() for a in _attributes(k.info)]
    for what, a in noted:
        _line(f"attribute {a['name']} of {what}: {a['data']}".rstrip(": "))
    if isinstance(m, Shader):
        _line(f"stage: {m.stage}")
        for p in m.parameters:
            facts = ", ".join(f"{f}={v}" for f, v in dataclasses.asdict(p).items() if f != "name")
            _line(f"parameter {p.name}: {facts}")


def _line(text: str) -> None:
    click.echo(printable(text).replace("\n", "\\n"))
