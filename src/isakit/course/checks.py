"""The checks of the exercises. Each runs the student's program on new inputs, and counts its costs.

Numbers are drawn anew by every check: a program that holds the right results of an earlier one is wrong.

The files are a student's: they are read by isakit's readers and run on simulated chips, within limits.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from isakit.asm import Program
from isakit.course import given
from isakit.course.exercises import Exercise, exercise
from isakit.engine.protocol import Array
from isakit.errors import FormatError, IsakitError
from isakit.instruction_sets import isa
from isakit.lean import dataclass

if TYPE_CHECKING:
    from isakit.runtime import Device, LoadedKernel

Words = npt.NDArray[np.uint32]
MOST_INSTRUCTIONS = 2_000_000
"""Instructions that a run of a student's program may take."""
AROUND_LOOP = 60
"""Cycles that the program of the exercise `pipeline` may take besides those of its cells."""
WARP = 32
"""Threads of a warp."""
LARGEST = 1 << 20
"""Bytes of a student's file. Exercises are some hundred lines; the error of a longer one would be as long."""


def _text(path: Path) -> str:
    """Return a student's text. Raises FormatError."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as e:
        raise FormatError(str(path), e.start, "is not a text in UTF-8") from None


def _assembled(path: Path, name: str, variant: str) -> Program:
    """Assemble a student's text. Raises AsmError, with the file's name in every line."""
    return isa(name, variant).assemble(_text(path), path=path.name)


@dataclass(frozen=True)
class Verdict:
    """The result of one check: the requirement, whether it is met, and the finding."""

    asked: str
    passed: bool
    found: str = ""


Check = Callable[[Path], Iterator[Verdict]]
CHECKS: dict[str, Check] = {}
"""The check of each exercise by its name."""


def check(found: Exercise, folder: Path) -> list[Verdict]:
    """Run the check of an exercise over a folder with the student's files; return a verdict per requirement.

    Raises IsakitError for files that cannot be read or assembled, MachineFault and BudgetExceeded if a program faults
    or does not end.
    """
    if not (folder / found.file).is_file():
        raise IsakitError(f"{folder / found.file} is missing: `isakit lesson start {found.name}` writes it")
    size = (folder / found.file).stat().st_size
    if size > LARGEST:
        raise IsakitError(f"{folder / found.file} has {size} bytes; an answer has {LARGEST} at most")
    return list(CHECKS[found.name](folder))


def _check(function: Check) -> Check:
    """Register the check of the exercise that a function is called after."""
    CHECKS[function.__name__] = function
    return function


class _Kernel:
    """The one kernel of an assembly text or a file, to be launched, profiled and sanitized.

    Every run has a card of its own and copies of the arrays: a kernel cannot detect that it runs the second time, when
    only its costs count.
    """

    def __init__(self, source: Path | Program) -> None:
        from isakit import load

        self._path = str(source)
        self._picture: Array | None = None
        if not isinstance(source, Path):
            self._loaded = source
        elif source.suffix == ".s":
            self._loaded = _assembled(source, "tesla", "gt200")
        else:
            self._loaded = load(source)

    def _fresh(self) -> tuple[Device, LoadedKernel]:
        from isakit.runtime import Device
        from isakit.texture import Sampler

        device = Device("gt200")
        kernels = device.load(self._loaded)
        if len(kernels) != 1:
            raise FormatError(self._path, 0, f"has {len(kernels)} kernels, not one")
        (kernel,) = kernels.values()
        if self._picture is not None:
            kernel.bind(0, self._picture, Sampler(mag="linear", min="linear"))
        return device, kernel

    def run(self, grid: int, block: int | tuple[int, ...], *args: Array) -> Array:
        """Launch the kernel and return the last array after it."""
        _, kernel = self._fresh()
        copies = [a.copy() for a in args]
        kernel.launch(grid, block, *copies, max_instructions=MOST_INSTRUCTIONS)
        return copies[-1]

    def texture(self, picture: Array) -> None:
        """Bind a picture to texture unit 0, with linear filtering."""
        self._picture = picture

    def counters(self, grid: int, block: int | tuple[int, ...], *args: Array) -> dict[str, int]:
        """Return the counters of `isakit profile`."""
        from isakit.debug.profile import profile

        device, kernel = self._fresh()
        machine = device.machine(kernel, grid, block, [a.copy() for a in args])
        return profile(machine, capability="1.0", max_instructions=MOST_INSTRUCTIONS).counters

    def complaint(self, grid: int, block: int | tuple[int, ...], *args: Array) -> str:
        """Return the first finding of `isakit sanitize`, "" if there is none."""
        from isakit.debug.sanitize import sanitize

        device, kernel = self._fresh()
        machine = device.machine(kernel, grid, block, [a.copy() for a in args])
        report = sanitize(machine, max_instructions=MOST_INSTRUCTIONS)
        return "" if report.clean else str(next(iter(report.findings.values())))


def _equal(asked: str, got: Array, wanted: Array) -> Verdict:
    """Compare arrays; the verdict names the first difference."""
    different = np.argwhere(got != wanted)
    if not len(different):
        return Verdict(asked, True)
    at = tuple(int(k) for k in different[0])
    place = ", ".join(str(k) for k in at)
    return Verdict(asked, False, f"element {place} is {got[at]}, not {wanted[at]}")


def _most(asked: str, number: int, most: int) -> Verdict:
    """Compare a count with the largest that is accepted."""
    return Verdict(f"{asked}: at most {most}" if most else f"{asked}: none", number <= most, f"{number}")


def _random(count: int, below: int) -> Words:
    return np.random.default_rng().integers(0, below, count, dtype=np.uint32)


@_check
def diverge(folder: Path) -> Iterator[Verdict]:
    """Check that no branch diverges, at no greater cost."""
    kernel = _Kernel(folder / "collatz.s")
    x = _random(256, 1 << 30)
    out = np.zeros_like(x)
    wanted = np.where(x & 1, 3 * x + 1, x >> 1).astype(np.uint32)
    yield _equal("the numbers are right", kernel.run(1, 256, x, out), wanted)
    counters = kernel.counters(1, 256, x, out)
    yield _most("divergent branches", counters["divergent_branch"], 0)
    yield _most("instructions of warps", counters["instructions"], 128)


@_check
def coalesce(folder: Path) -> Iterator[Verdict]:
    """Check that every access of a half-warp is one transaction."""
    kernel = _Kernel(folder / "scale.s")
    data = _random(256, 1 << 30)
    yield _equal("all 256 numbers are doubled", kernel.run(1, 64, data), data * np.uint32(2))
    counters = kernel.counters(1, 64, data)
    for short, what in (("gld", "loads"), ("gst", "stores")):
        yield _most(f"{what} that are not coalesced", counters[f"{short}_incoherent"], 0)


@_check
def banks(folder: Path) -> Iterator[Verdict]:
    """Check that no access to s[] waits for a bank."""
    kernel = _Kernel(folder / "transpose.s")
    x = _random(256, 1 << 32).reshape(16, 16)
    out = np.zeros_like(x)
    yield _equal("the matrix is transposed", kernel.run(1, (16, 16), x, out), x.T)
    counters = kernel.counters(1, (16, 16), x, out)
    yield _most("steps lost by conflicts of banks", counters["shared_conflict_steps"], 0)
    yield _most("accesses to g[] that are not coalesced", counters["gld_incoherent"] + counters["gst_incoherent"], 0)


@_check
def reduce(folder: Path) -> Iterator[Verdict]:
    """Check the sum, its cost, and that there are no races."""
    kernel = _Kernel(folder / "sum.s")
    x, out = _random(256, 1 << 32), np.zeros(1, np.uint32)
    wanted = x.sum(dtype=np.uint32, keepdims=True)
    yield _equal("the sum of 256 random numbers is right", kernel.run(1, 256, x, out), wanted)
    yield _most("instructions of warps", kernel.counters(1, 256, x, out)["instructions"], 640)
    yield _quiet(kernel.complaint(1, 256, x, out))


def _quiet(complaint: str) -> Verdict:
    return Verdict("`isakit sanitize` has nothing to say", not complaint, complaint)


@_check
def race(folder: Path) -> Iterator[Verdict]:
    """Check blocks of four sizes, and that the sanitizer is content."""
    kernel = _Kernel(folder / "rotate.s")
    complaint, barriers = "", 0
    for n in (32, 64, 256, 512):
        x, out = _random(n, 1 << 32), np.zeros(n, np.uint32)
        yield _equal(f"right for {n} threads", kernel.run(1, n, x, out), np.roll(x, -2))
        complaint = complaint or kernel.complaint(1, n, x, out)
        barriers = max(barriers, -(-kernel.counters(1, n, x, out)["barriers"] * WARP // n))
    yield _quiet(complaint)
    yield _most("barriers that a warp meets", barriers, 3)


@_check
def texture(folder: Path) -> Iterator[Verdict]:
    """Check the means, and that each takes one fetch."""
    kernel = _Kernel(folder / "shrink.s")
    picture = np.random.default_rng().random((16, 16), dtype=np.float32)
    kernel.texture(picture)
    out = np.zeros((8, 8), np.float32)
    got = kernel.run(1, (8, 8), out)
    wanted = picture.reshape(8, 2, 8, 2).mean(axis=(1, 3))
    yield _most("largest error, in 1/256", int(np.ceil(np.abs(got - wanted).max() * 256)), 1)
    yield _most("fetches of 64 threads", kernel.counters(1, (8, 8), out)["tex_fetches"], 64)


@_check
def pixel(folder: Path) -> Iterator[Verdict]:
    """Check the grey of every pixel against the picture in colours."""
    files = exercise("pixel").files
    scene = json.loads(files["scene.json"])
    scene["draws"][0]["attribs"][1]["data"] = np.random.default_rng().random((3, 3)).tolist()  # other colours
    files = {**files, "scene.json": json.dumps(scene).encode()}
    coloured = _drawn(files, folder)
    got = _drawn({**files, "fragment.s": _text(folder / "fragment.s").encode()}, folder)
    grey = coloured[..., :3] @ np.array([0.299, 0.587, 0.114])
    off = np.abs(got[..., :3] - grey[..., None]).max()
    yield Verdict(
        "every pixel has the grey of its colour, within one step of 255", bool(off <= 1.5), f"{off:.1f} steps"
    )
    yield _equal("alpha is as it was", got[..., 3], coloured[..., 3])


def _drawn(files: dict[str, bytes], near: Path) -> Array:
    """Draw a scene made of these files, in a folder of its own; return its picture, [rows, columns, 4] in 0 to 255."""
    from isakit.graphics.gxm_scene import open_scene
    from isakit.processes import TemporaryFolder

    folder = TemporaryFolder()
    try:
        for name, data in files.items():
            (folder.path / name).write_bytes(data)
        drawn = open_scene(folder.path / "scene.json").render(max_instructions=MOST_INSTRUCTIONS)
        return np.asarray(drawn.picture(0), np.float64)
    except FormatError as e:
        raise FormatError(str(near / Path(e.path or "").name), e.offset, e.reason) from None
    finally:
        folder.close()


@_check
def pipeline(folder: Path) -> Iterator[Verdict]:
    """Check the sums for four lengths, and the cycles per additional cell."""
    from isakit.runtime.vuc import Core

    program = _assembled(folder / "sum.s", "vuc", "vp3")
    cycles: dict[int, int] = {}
    for n in (1, 2, 50, 150):
        cells = _random(n, 1 << 16)
        core = Core("vp3")
        core.load(program)
        core.data[0] = n
        core.data[0x100 : 0x100 + n] = cells
        stop = core.run(max_cycles=100_000, stop_spinning=True)
        sum_ = int(cells.sum()) & 0xFFFF
        right = int(core.data[1]) == sum_ == core.host["V2H"]
        yield Verdict(
            f"the sum of {n} cells is right", right, "" if right else f"D[1] is {int(core.data[1])}, not {sum_}"
        )
        cycles[n] = stop.cycles
    # Time that the shorter sum is made to take must not make the cells of the longer one cheap.
    each = max((cycles[150] - cycles[50]) / 100, (cycles[150] - AROUND_LOOP) / 150)
    yield Verdict("cycles per cell: at most 6", each <= 6, f"{each:g}")


@_check
def shader(folder: Path) -> Iterator[Verdict]:
    """Check which pixels are discarded, and the colours of the others."""
    from isakit import compile_shader, usse

    module = compile_shader(_text(folder / "leaf.cg"), stage="fragment", language="cg", path="leaf.cg")
    rng = np.random.default_rng()
    picture = rng.integers(0, 256, (8, 8, 4)).astype(np.float32) / 255
    at = rng.integers(0, 8, (64, 2))
    uv = ((at + 0.5) / 8).astype(np.float32)  # the centres of texels
    colour = rng.random((64, 4), dtype=np.float32)
    varyings = {"texcoord0": uv, "color0": colour}
    out = usse.run(module, varyings=varyings, textures={"leaf": picture}, max_instructions=MOST_INSTRUCTIONS)
    wanted = picture[at[:, 1], at[:, 0]] * colour
    away = wanted[:, 3] < 0.5
    yield _equal("the right pixels are discarded", np.asarray(out.get("discard", np.zeros(64, bool))), away)
    off = np.abs(np.asarray(out["color"])[~away] - wanted[~away]).max()
    yield Verdict(
        "the others have the texture's colour times the vertex colour", bool(off < 1 / 256), f"off by {off:.3g}"
    )


@_check
def lost(folder: Path) -> Iterator[Verdict]:
    """Check the answers against the kernel on random numbers."""
    path = folder / "answers.toml"
    try:
        answers = tomllib.loads(_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        raise FormatError(str(path), 0, f"cannot be read as TOML: {e}") from None
    asked = ("first_shift", "added", "last_shift", "becomes_of_1")
    numbers: dict[str, int] = {}
    for name in asked:
        if type(answers.get(name)) is not int:
            raise FormatError(str(path), 0, f"{name} is missing or not a number")
        numbers[name] = answers[name]
    first, added, last, of_1 = (numbers[name] for name in asked)
    x = _random(512, 1 << 32)
    x[0] = 1
    out = _Kernel(given.lost()).run(1, 512, x, np.zeros_like(x))
    yield Verdict("what becomes of 1", of_1 == int(out[0]), hex(of_1))
    if not 0 <= first < 32 or not 0 <= last < 32:
        yield Verdict("shifts are from 0 to 31", False, f"{first} and {last}")
        return
    mine = x ^ (x >> np.uint32(first))
    mine = mine + np.uint32(added & 0xFFFFFFFF)
    mine = mine ^ (mine << np.uint32(last))
    yield _equal("your three numbers make the same of 512 random numbers", mine, out)


@_check
def patch(folder: Path) -> Iterator[Verdict]:
    """Check the results of the patched kernel, and the number of changed bytes in the file."""
    path = folder / "limit.cubin"
    kernel = _Kernel(path)
    x = np.arange(0, 512, dtype=np.uint32)
    yield _equal("numbers are cut at 255", kernel.run(1, 512, x), np.minimum(x, 255))
    before, after = given.made("patch")["limit.cubin"], path.read_bytes()
    changed = sum(a != b for a, b in zip(before, after, strict=False)) + abs(len(before) - len(after))
    yield Verdict("nothing else of the file has changed: at most 2 bytes", changed <= 2, f"{changed} bytes")


@_check
def driver(folder: Path) -> Iterator[Verdict]:
    """Check the picture against that of the right scene."""
    changed = _differences(given.wrong_house(), _scene(folder / "scene.json"))
    yield _most("fields that are not as they were", changed, 2)
    right = json.dumps(given.house(depth="less", cull="back")).encode()
    wanted = _drawn({"scene.json": right, **given.colour_programs()}, folder)
    got = _drawn({"scene.json": (folder / "scene.json").read_bytes(), **given.colour_programs()}, folder)
    if got.shape != wanted.shape:
        yield Verdict("the picture is 64 x 64", False, f"{got.shape[1]} x {got.shape[0]}")
        return
    wrong = int((got != wanted).any(axis=-1).sum())
    yield _most("pixels that are wrong", wrong, 0)


def _scene(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as e:
        raise FormatError(str(path), 0, f"cannot be read as JSON: {e}") from None


def _differences(one: object, other: object) -> int:
    """Return how many numbers and strings of two JSON values differ, or are missing from one, at the same path.

    A list or an object with more or fewer parts is one difference for each of them.
    """
    if isinstance(one, list) and isinstance(other, list):
        one, other = dict(enumerate(cast("list[object]", one))), dict(enumerate(cast("list[object]", other)))
    if not isinstance(one, dict) or not isinstance(other, dict):
        return int(one != other)
    mine, theirs = cast("dict[object, object]", one), cast("dict[object, object]", other)
    both = mine.keys() & theirs.keys()
    return len(mine.keys() ^ theirs.keys()) + sum(_differences(mine[k], theirs[k]) for k in both)
