"""`isakit info`."""

from __future__ import annotations

import dataclasses
import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from isakit.cli.common import (
    dimensions,
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
    from isakit.machine.tesla.occupancy import Occupancy


@click.command(
    "info",
    epilog="""\b
Examples:
  isakit info kernel.cubin
  isakit info --block 16,16 kernel.cubin""",
)
@isa_option()
@variant_option
@json_option
@click.option(
    "--block",
    metavar="X[,Y[,Z]]",
    help="Show how many such blocks of threads a multiprocessor of each chip holds, and what limits them.",
)
@click.option(
    "--shared",
    type=click.IntRange(0, 1 << 14),
    default=0,
    help="With --block: shared memory that launches add, in bytes.",
)
@click.argument("file", metavar="FILE|-")
def command(
    isa_name: str | None, variant: str | None, as_json: bool, block: str | None, shared: int, file: str
) -> None:
    """Show kernels, registers, memory, parameters and occupancy of a program file."""
    from isakit.programs.reading import load_all

    threads = None if block is None else _threads(block)
    data = read_bytes(file)
    modules = load_all(data, **named_code(isa_name, variant), path=shown(file))
    texts = _ptx_texts(data)
    if as_json:
        echo_json([*(_plain(m, threads, shared) for m in modules), *texts])
        return
    for m in modules:
        _show(m)
        if threads is not None:
            _show_occupancy(m, threads, shared)
    for t in texts:
        count = len(t["kernels"])
        _line(f"PTX at {t['offset']:#x}: {t['size']} bytes, {t['version']}, for {t['target']}; "
              f"{count or 'no'} kernel{'s' * (count != 1)}{':' * bool(count)}")  # fmt: skip
        for name in t["kernels"]:
            _line(f"  {name}")


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


def _threads(block: str) -> int:
    dims = dimensions(block, "--block")
    threads = math.prod(dims)
    if threads > _MOST_THREADS:
        raise click.BadParameter(f"{block} are {threads} threads, a block has at most 512", param_hint="--block")
    return threads


_MOST_THREADS = 512


def _occupancies(k: Kernel, threads: int, shared: int) -> list[Occupancy]:
    """For each chip, where the file says what the kernel takes."""
    from isakit.machine.tesla.occupancy import occupancy
    from isakit.registry import VARIANTS

    if k.registers is None or k.module is None or k.module.isa != "tesla":
        return []
    return [occupancy(chip, threads, k.registers, (k.shared_bytes or 0) + shared) for chip in VARIANTS["tesla"]]


def _show_occupancy(m: Module, threads: int, shared: int) -> None:
    """A line per kernel and kind of chip."""
    for k in m.kernels.values():
        alike: dict[tuple[int, int, int, str], list[str]] = {}
        for o in _occupancies(k, threads, shared):
            alike.setdefault((o.blocks, o.warps, o.most, o.limit), []).append(o.chip)
        for (blocks, warps, most, limit), chips in alike.items():
            _line(f"occupancy of {k.name} in blocks of {threads} on {', '.join(chips)}: {blocks} blocks, "
                  f"{warps} of {most} warps ({100 * warps // most} %), limited by {limit}")  # fmt: skip


def _plain(m: Module, threads: int | None, shared: int) -> dict[str, Any]:
    from isakit.formats import Shader

    out: dict[str, Any] = {
        "path": m.path, "offset": m.offset, "kind": m.kind, "isa": m.isa, "variant": m.variant,
        "kernels": [_kernel(k, threads, shared) for k in m.kernels.values()],
        "constants": {str(bank): len(m.constant_bytes(bank)) for bank in m.constants},
        "globals": [{"name": g.name, "size": g.size, "initialised": g.data is not None} for g in m.globals],
        "samplers": [{"name": s.name, "unit": s.unit} for s in m.samplers],
        "attributes": _attributes(m.info),
    }  # fmt: skip
    if isinstance(m, Shader):
        out["stage"] = m.stage
        out["parameters"] = [dataclasses.asdict(p) for p in m.parameters]
    return out


def _kernel(k: Kernel, threads: int | None, shared: int) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": k.name, "code_bytes": len(k.code), "registers": k.registers, "shared_bytes": k.shared_bytes,
        "local_bytes": k.local_bytes, "barriers": k.barriers,
        "params": [{"name": name, "type": kind, "offset": offset, "size": size, "index": n}
                   for n, (name, kind, offset, size) in enumerate(_params(k))],
        "constants": {str(bank): len(k.constant_bytes(bank)) for bank in k.constants},
        "samplers": [{"name": s.name, "unit": s.unit} for s in k.samplers],
        "attributes": _attributes(k.info),
    }  # fmt: skip
    if threads is not None:
        out["occupancy"] = [{"threads": threads, **o.as_json()} for o in _occupancies(k, threads, shared)]
    return out


def _params(k: Kernel) -> list[tuple[str, str, int, int | None]]:
    """Name, type, offset and bytes of each parameter; of files that list offsets only, the last one has no size."""
    from isakit.formats.nvinfo import param_offsets

    if k.params:
        return [(p.name, p.kind, p.offset, p.size) for p in k.params]
    offsets = param_offsets(k.info)
    sizes = [max(0, end - start) for start, end in pairwise(offsets)]
    return [("", "", offset, size) for offset, size in zip(offsets, [*sizes, None], strict=False)]


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
            f"{kind or ('?' if size is None else f'b{8 * size}')}{f' {name}' if name else ''} at {offset:#x}"
            for name, kind, offset, size in _params(k)
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
        for line in m.directives():
            if line.split()[0] in _INTERFACE:
                _line(line[1:])


_INTERFACE = {
    ".attribute", ".uniform", ".sampler", ".surface", ".buffer", ".parameter", ".varying", ".result", ".outputs"
}  # fmt: skip
"""Directives that say what a shader is given and gives."""


def _line(text: str) -> None:
    click.echo(printable(text).replace("\n", "\\n"))
