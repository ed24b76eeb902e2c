"""The bits of a form as a drawing: fixed bits with their values, operands in colours with their names."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from isakit.spec import Form
from isakit.spec.parts import possible_bits

CELL, ROW = 22, 62
_HUES = (210, 25, 130, 285, 50, 340, 175, 95, 245, 5)
_STYLE = (
    "text{font-family:ui-monospace,monospace;fill:#222}rect{stroke:#888}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}rect.free{fill:#222}}"
)


def bit_picture(form: Form, unit_bits: int) -> str:
    """Return a drawing of a form's bits as SVG, one row per word, the highest bit at the left."""
    width, height = unit_bits * CELL + 2, form.units * ROW + 8
    body = "".join(_word(form, unit_bits, unit) for unit in range(form.units))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><style>{_STYLE}</style>{body}</svg>\n'
    )


def _owners(form: Form) -> dict[int, tuple[int, str]]:
    """Return the operands of every bit that belongs to some: number of the first, names of all."""
    found: dict[int, list[tuple[int, str]]] = {}
    for number, (name, part) in enumerate(form.parts.items()):
        mask = possible_bits(part) & ~form.fixed.mask
        for bit in range(mask.bit_length()):
            if mask >> bit & 1:
                found.setdefault(bit, []).append((number, name))
    return {bit: (owners[0][0], "/".join(name for _, name in owners)) for bit, owners in found.items()}


def _word(form: Form, unit_bits: int, unit: int) -> str:
    owners = _owners(form)
    top = unit * ROW + 16
    out: list[str] = []
    for bit in reversed(range(unit_bits)):
        at = unit * unit_bits + bit
        x = 1 + (unit_bits - 1 - bit) * CELL
        fixed = form.fixed.mask >> at & 1
        owner = owners.get(at)
        fill = "#ddd" if fixed else "none" if owner is None else f"hsl({_HUES[owner[0] % len(_HUES)]} 70% 75%)"
        kind = ' class="free"' if not fixed and owner is None else ""
        out.append(f'<rect{kind} x="{x}" y="{top}" width="{CELL}" height="20" fill="{fill}"/>')
        if fixed:
            out.append(f'<text x="{x + 11}" y="{top + 14}" font-size="12" text-anchor="middle" fill="#222">'
                       f"{form.fixed.value >> at & 1}</text>")  # fmt: skip
        if bit % 4 == 0 or bit == unit_bits - 1:
            out.append(f'<text x="{x + 11}" y="{top - 4}" font-size="8" text-anchor="middle">{bit}</text>')
    for level, (high, low, name) in enumerate(_runs(owners, unit_bits, unit)):
        x = 1 + (unit_bits - 1 - high) * CELL
        middle = x + (high - low + 1) * CELL / 2
        y = top + 31 + 9 * (level % 2)  # neighbours in two rows, so that names do not run into each other
        out.append(f'<text x="{middle:g}" y="{y}" font-size="9" text-anchor="middle">{escape(name)}</text>')
    return "".join(out)


def _runs(owners: dict[int, tuple[int, str]], unit_bits: int, unit: int) -> Iterator[tuple[int, int, str]]:
    """Yield (highest bit, lowest bit, name) of neighbouring bits of one operand in a word, from the left."""
    bit = unit_bits - 1
    while bit >= 0:
        owner = owners.get(unit * unit_bits + bit)
        low = bit
        while low and owners.get(unit * unit_bits + low - 1) == owner:
            low -= 1
        if owner is not None:
            yield bit, low, owner[1]
        bit = low - 1
