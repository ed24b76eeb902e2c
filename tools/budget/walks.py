"""Walk a road through the package and count the functions it calls: `python tools/budget/walks.py NAME`.

disassemble: two words to their text. compile: five statements of PTX. draw: a captured frame of one triangle, on the
reference engine. These three are measured the second time in a process. launch: the first compiled launch of a process,
with its machine code in the cache. redraw: a push that draws what the one before has drawn, on compiled code.
Prints JSON: calls, functions and files, of the package alone.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(ROOT / "src" / "isakit")

PTX = """
.version 1.4
.target sm_13
.entry k (.param .u64 out)
{
    .reg .u64 a;
    .reg .u32 t;
    ld.param.u64 a, [out];
    mov.u32 t, %tid.x;
    add.u32 t, t, 1;
    st.global.u32 [a], t;
    exit;
}
"""

Walk = Callable[[], object]


def disassemble() -> Walk:
    """Return a walk from a word to its text."""
    import isakit

    isa = isakit.isa("tesla", "gt200")
    _ = [i.text for i in isa.disassemble([0x20008204, 0x20048208])]
    return lambda: [i.text for i in isa.disassemble([0x20008204, 0x20048208])]


def compile_ptx() -> Walk:
    """Return a walk from a kernel of five statements to its machine code."""
    from isakit.compile import compile_ptx

    compile_ptx(PTX, "gt200")
    return lambda: compile_ptx(PTX, "gt200")


def launch() -> Walk:
    """Return a walk through the first compiled launch of a process."""
    import numpy as np

    import isakit

    program = isakit.isa("tesla", "gt200").assemble((ROOT / "examples/tesla/saxpy.s").read_text(encoding="utf-8"))
    x, y = np.ones(1024, np.float32), np.ones(1024, np.float32)

    def walk() -> None:
        device = isakit.Device("gt200", engine="llvm", tier="interp", threads=1)
        kernel = next(iter(device.load(program).values()))
        kernel[4, 256](1024, np.float32(2), x, y)

    return walk


def draw() -> Walk:
    """Return a walk through the replay of a captured triangle."""
    from isakit.hosts.drm.card_settings import CardSettings
    from isakit.hosts.drm.replay import Replay

    def walk() -> None:
        capture = Replay(ROOT / "tests/vectors/gl/triangle-86.glc", CardSettings(engine="reference"))
        capture.run()
        capture.close()

    walk()
    return walk


def redraw() -> Walk:
    """Return a walk through a push with the three draws of gears, for which everything is ready."""
    from isakit.hosts.drm.card import Channel
    from isakit.hosts.drm.card_settings import CardSettings
    from isakit.hosts.drm.replay import Replay

    settings, channels = CardSettings(engine="llvm"), list[Channel]()
    replay = Replay(ROOT / "tests/vectors/gl/gears-a0.glc", settings)
    pushes: list[list[tuple[int, int]]] = []
    with_draws: list[list[tuple[int, int]]] = []

    def watch(channel: Channel) -> None:
        push = channel.push
        channel.engine3d.drawing.pipeline.make_all = True
        channel.push = lambda segments: (pushes.append([*segments]), push(segments))[1]
        channels.append(channel)

    replay.on_channel = watch
    replay.on_draw = lambda: with_draws.append(pushes[-1])
    replay.run()

    def walk() -> None:
        channels[0].push(with_draws[-1])

    for _ in range(10):  # code for what comes again is made after a while
        walk()
    return walk


WALKS: dict[str, Callable[[], Walk]] = {
    "disassemble": disassemble,
    "compile": compile_ptx,
    "launch": launch,
    "draw": draw,
    "redraw": redraw,
}


def count(walk: Walk) -> Counter[CodeType]:
    """Return how often a walk calls each function of the package; what runs while a module is imported is left out."""
    calls: Counter[CodeType] = Counter()
    importing = threading.local()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            depth = getattr(importing, "depth", 0)
            importing.depth = depth + 1 if event == "call" else max(0, depth - 1) if event == "return" else depth
        elif event == "call" and code.co_filename.startswith(PACKAGE) and not getattr(importing, "depth", 0):
            calls[code] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def main() -> None:
    """Print the figures of the walk that the command line names."""
    calls = count(WALKS[sys.argv[1]]())
    places = {(code.co_filename, code.co_firstlineno, code.co_name) for code in calls}
    figures = {"calls": calls.total(), "functions": len(places), "files": len({place[0] for place in places})}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
