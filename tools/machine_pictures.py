"""Drawings of the documentation: what isakit is for, and what the three machines look like. Writes docs/images/*.svg.

Usage: tools/machine_pictures.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

import isakit
from isakit.debug import Session

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "images"
STYLE = """
svg{background:#fff}text{font:13px system-ui,sans-serif;fill:#1d2329}.m{font:12px ui-monospace,monospace}
.q{fill:#59636e;font-size:12px}.h{font-weight:600}.b{fill:#fff;stroke:#8a949e}.on{fill:#1d6b32}.off{fill:#e6e9ec}
.k{fill:#e3eefa;stroke:#1a5fa8}.g{fill:#e2f2e4;stroke:#1d6b32}.y{fill:#fff3c4;stroke:#9a7400}.r{fill:#fbe0da;stroke:#a8201a}
.l{stroke:#59636e;fill:none;stroke-width:1.5}
@media(prefers-color-scheme:dark){svg{background:#14181c}text{fill:#e3e7ea}.q{fill:#9fabb6}.b{fill:#1b2026}
.off{fill:#333c45}.on{fill:#55b06a}.k{fill:#1c3550}.g{fill:#1f3d26}.y{fill:#4d421b}.r{fill:#52241f}}
""".replace("\n", "")


class Drawing:
    """An SVG that grows by shapes; all sizes are pixels."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size, self.title = (width, height), title
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """A line of text; `kind` are classes of the style."""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def box(self, x: float, y: float, w: float, h: float, kind: str = "b", *lines: str, mono: bool = False) -> None:
        """A rectangle with lines in its middle."""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="2" class="{kind}"/>')
        for k, line in enumerate(lines):
            at = y + h / 2 + 5 + 17 * (k - (len(lines) - 1) / 2)
            self.text(x + w / 2, at, line, "m" if mono else "h" if k == 0 and len(lines) > 1 else "", "middle")

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """A line with a tip."""
        self.parts.append(f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" class="l" marker-end="url(#t)"/>')

    def write(self, name: str) -> None:
        """Keep it."""
        w, h = self.size
        tip = '<marker id="t" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        (OUT / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img">'
            f"<title>{escape(self.title)}</title><style>{STYLE}</style><defs>{tip}"
            '<path d="M0 0 8 4 0 8z" fill="#59636e"/></marker></defs>' + "".join(self.parts) + "</svg>\n",
            encoding="utf-8",
        )


def overview() -> None:
    """What goes in, what is done, what comes out."""
    d = Drawing(860, 306, "What isakit reads, does and gives")
    d.text(110, 24, "you have", "h", "middle")
    d.text(430, 24, "isakit", "h", "middle")
    d.text(750, 24, "you get", "h", "middle")
    given = ("cubins, CUDA executables", "GXP shaders of SGX543", "microcode of VP2 to VP4", "PTX, Python, C, assembly",
             "a CUDA or OpenGL program")  # fmt: skip
    does = (("read", "disassemble, explain every bit"), ("write", "assemble, compile, edit files"),
            ("run", "to the bit, compiled, on all cores"), ("step", "both ways, terminal or browser"),
            ("measure", "profile, sanitize, compare"))  # fmt: skip
    gets = ("listings that assemble back", "graphs, live ranges, manual", "results and pictures",
            "why a pixel, a lane, a stall", "counts, races, captures")  # fmt: skip
    for k in range(5):
        y = 40 + 52 * k
        d.box(10, y, 210, 38, "b", given[k])
        d.box(290, y, 280, 38, "k")
        d.text(302, y + 24, does[k][0], "h")
        d.text(368, y + 24, does[k][1], "q")
        d.box(640, y, 210, 38, "g", gets[k])
    for k in range(5):
        d.arrow(222, 59 + 52 * k, 286, 59 + 52 * k)
        d.arrow(572, 59 + 52 * k, 636, 59 + 52 * k)
    d.write("overview.svg")


def diverging() -> list[tuple[str, set[int], list[str]]]:
    """Instruction, active lanes and stack of a warp at each step where the last two change, from the machine itself."""
    isa = isakit.isa("tesla", "gt200")
    program = isa.assemble((ROOT / "examples" / "tesla" / "diverge.s").read_text("utf-8"))
    kernel = next(iter(isakit.Device("gt200", engine="reference").load(program).values()))
    session = Session(kernel.machine(1, 32, [np.zeros(32, np.uint32)]), program, labels=program.labels)
    out: list[tuple[str, set[int], list[str]]] = []
    while not session.finished and session.instruction is not None:
        lanes = {n for n in range(32) if session.target.thread(n).active}
        stack = [f"{f.kind} {f.address:04x} lanes {f.lanes:08x}" if f.lanes is not None else f"{f.kind} {f.address:04x}"
                 for f in session.frames()]  # fmt: skip
        if not out or (lanes, stack) != out[-1][1:]:
            out.append((f"{session.instruction.address:04x} {session.instruction.text}", lanes, stack))
        session.step()
    return out


def warp() -> None:
    """A warp that diverges: lanes and stack, step by step."""
    steps = diverging()
    heights = [22 + 20 * max(1, len(stack)) for _, _, stack in steps]
    d = Drawing(860, 50 + sum(heights), "A warp diverges: active lanes and stack at each step")
    d.text(16, 26, "about to issue", "h")
    d.text(236, 26, "lanes that take part", "h")
    d.text(560, 26, "stack of the warp, newest entry on top", "h")
    y = 40
    for (text, lanes, stack), height in zip(steps, heights, strict=True):
        d.text(16, y + 20, text if len(text) < 29 else text[:28] + "…", "m")
        for n in range(32):
            d.box(236 + 9.6 * n, y + 6, 8, 20, "on" if n in lanes else "off")
        for n, entry in enumerate(stack):
            d.box(560, y + 6 + 20 * n, 284, 19, "y" if entry.startswith("branch") else "k")
            d.text(566, y + 20 + 20 * n, entry, "m")
        if not stack:
            d.text(566, y + 20, "empty", "q")
        y += height
    d.write("tesla-warp.svg")


def memories() -> None:
    """Who sees which memory of a Tesla chip."""
    d = Drawing(860, 330, "Memory spaces of a Tesla program: who sees what")
    d.box(10, 10, 840, 310, "b")
    d.text(24, 32, "device", "h")
    d.box(24, 44, 250, 84, "g", "g0[] .. g15[]  global", "32-bit addresses", "windows into the card's memory")
    d.box(24, 138, 250, 84, "g", "c0[] .. c15[]  constants", "16-bit addresses, read-only", "16 banks of up to 64 KiB")
    d.box(24, 232, 250, 76, "g", "$t, $s  textures", "fetched and filtered", "by the texture unit")
    d.box(294, 24, 546, 284, "b")
    d.text(308, 46, "block, on one multiprocessor", "h")
    d.box(308, 58, 240, 96, "k", "s[]  shared", "16 KiB, 16 banks", "launch header 0x0, sizes,", "parameters from 0x10")
    d.box(308, 166, 240, 58, "k", "barriers", "bar inc, bar wait")
    d.box(562, 40, 266, 256, "b")
    d.text(576, 62, "warp: one program counter", "h")
    d.box(576, 72, 238, 44, "y", "stack: join, branch, call", "with a mask of lanes each")
    d.box(576, 124, 238, 160, "b")
    d.text(590, 146, "lane (32 of them)", "h")
    d.box(590, 156, 100, 50, "r", "$r0 .. $r127", "32 bits")
    d.box(700, 156, 100, 50, "r", "$c0 .. $c3", "Z S C O")
    d.box(590, 216, 100, 56, "r", "$a1 .. $a4", "16 bits")
    d.box(700, 216, 100, 56, "r", "l[]  local", "its own")
    d.text(308, 256, "$a addresses s[], c[] and l[];", "q")
    d.text(308, 276, "$r addresses g[].", "q")
    d.write("tesla-memory.svg")


def pipeline() -> None:
    """When results of a vµc program can be read."""
    d = Drawing(860, 262, "A vµc core: one instruction a cycle, nothing is held back")
    rows = [
        ("ld $r4 D[$r2]", 0, 3, "three cycles: readable from cycle 3 on"),
        ("add $r2 $r2 0x1", 1, 1, "arithmetic: readable by the next instruction"),
        ("sub $r1 $r1 0x1", 2, 1, "the second filler"),
        ("st D[$r3] $r4", 3, 0, "reads the loaded word; earlier: the old one"),
        ("$p2 bra #loop", 4, 0, "branches ..."),
        ("add $r3 $r3 0x1", 5, 1, "... after the instruction in the delay slot"),
        ("ld $r4 D[$r2]", 6, 3, "the loop's first instruction again"),
    ]
    for c in range(10):
        d.text(209 + 26 * c, 24, str(c), "q", "middle")
    d.text(16, 24, "cycle", "q")
    for k, (text, at, late, why) in enumerate(rows):
        y = 36 + 30 * k
        d.text(16, y + 16, text, "m")
        d.box(198 + 26 * at, y, 22, 22, "k")
        if late > 1:
            d.arrow(221 + 26 * at, y + 11, 196 + 26 * (at + late), y + 11)
        if late:
            d.box(198 + 26 * (at + late), y + 5, 10, 12, "g")
        d.text(480, y + 16, why, "q")
    d.text(16, 254, "blue: issues; green: from here on the result can be read. There are no interlocks.", "q")
    d.write("vuc-pipeline.svg")


def banks() -> None:
    """The register banks of a USSE program, and who fills them."""
    d = Drawing(860, 286, "Register banks of a USSE program")
    d.box(10, 20, 190, 64, "b", "uniforms, literals", "once per draw")
    d.box(10, 104, 190, 64, "b", "attributes, varyings", "for each vertex or pixel")
    d.box(10, 188, 190, 64, "b", "texture samples", "fetched in advance")
    d.box(300, 20, 200, 64, "y", "sa  secondary", "the same for all invocations")
    d.box(
        300,
        104,
        200,
        148,
        "k",
        "pa  primary",
        "inputs, fetched texels;",
        "a fragment program",
        "leaves its colour here",
    )
    d.arrow(202, 52, 296, 52)
    d.text(210, 16, "secondary program, once", "q")
    d.arrow(202, 136, 296, 136)
    d.arrow(202, 220, 296, 220)
    d.box(570, 20, 280, 232, "b")
    d.text(584, 42, "primary program, per invocation", "h")
    d.box(584, 56, 120, 80, "r", "r  temporaries", "32 bits each")
    d.box(716, 56, 120, 80, "r", "i0 .. i3", "internal: four f32")
    d.box(584, 148, 120, 90, "g", "o  outputs", "of a vertex", "program")
    d.box(716, 148, 120, 90, "b", "p, idx", "predicates,", "index registers")
    d.arrow(502, 52, 566, 52)
    d.arrow(502, 150, 566, 150)
    d.arrow(568, 222, 504, 222)
    d.text(
        16,
        276,
        "Operands swizzle: i0.zyxw takes channels in another order, .x01h puts in the constants 0, 1, one half.",
        "q",
    )
    d.write("usse-banks.svg")


if __name__ == "__main__":
    overview()
    warp()
    memories()
    pipeline()
    banks()
