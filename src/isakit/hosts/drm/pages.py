"""Manual pages of methods, from the tables and the declarations of the engines."""

from __future__ import annotations

from isakit.hosts.drm.engine import Engine
from isakit.hosts.drm.engines.compute import ComputeEngine
from isakit.hosts.drm.engines.copy import CopyEngine
from isakit.hosts.drm.engines.eng2d import Engine2D
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.tables.method import Method

ENGINES: tuple[type[Engine], ...] = (CopyEngine, Engine2D, Engine3D, ComputeEngine)
SOURCE = "rnndb, as the reference lists it ([nv50] methods)"


def pages_named(name: str) -> list[str]:
    """Return pages about an engine (m2mf, 2d, 3d, compute), or about methods of a name or offset; possibly none."""
    out: list[str] = []
    for engine in ENGINES:
        if name.lower() == engine.table.name:
            out.append(_overview(engine))
            continue
        for m in engine.table.methods:
            places = [m.offset + k * m.stride for k in range(m.count)]
            if name.upper() == m.name or (name.lower().startswith("0x") and _number(name) in places):
                out.append(_page(engine, m))
    return out


def _number(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        return -1


def _overview(engine: type[Engine]) -> str:
    table = engine.table
    classes = ", ".join(f"{c:#x}" for c in sorted(table.classes))
    lines = [f"# Methods of {table.name}: {table.doc}", "", f"Object classes {classes}. Source: {SOURCE}.", ""]
    lines += ["| offset | method | effect here |", "|---|---|---|"]
    lines += [f"| {m.offset:#06x} | {m.name}{_array(m)} | {engine.effect(m.name)} |" for m in table.methods]
    return "\n".join(lines) + "\n"


def _array(m: Method) -> str:
    return f"(0..{m.count - 1})" if m.count > 1 else ""


def _page(engine: type[Engine], m: Method) -> str:
    lines = [f"# {engine.table.name} {m.name}{_array(m)}", "", f"Offset {m.offset:#06x}"]
    if m.count > 1:
        lines[-1] += f", {m.count} of them, {m.stride:#x} bytes apart"
    lines[-1] += f"; {'from ' + m.since + ' on' if m.since else 'all chips'}; status: {m.status}."
    lines += ["", f"Effect here: {engine.effect(m.name)}.", ""]
    if m.fields:
        lines += ["| bits | field |", "|---|---|"]
        lines += [f"| {f.high}:{f.low} | {f.name} |" if f.high > f.low else f"| {f.low} | {f.name} |" for f in m.fields]
        lines.append("")
    if m.width < 32:
        lines += [f"Bits {m.width - 1}:0 of the word count.", ""]
    if m.values:
        lines += ["| value | meaning |", "|---|---|"]
        lines += [f"| {v:#x} | {text} |" for v, text in sorted(m.values.items())]
        lines.append("")
    return "\n".join([*lines, f"Source: {SOURCE}."]) + "\n"
