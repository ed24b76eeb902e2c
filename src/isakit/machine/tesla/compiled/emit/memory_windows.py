"""Words of lanes that are near each other in memory, in whatever order: a window of memory is read and permuted.

Each half of a warp has its own window of `SIZE` bytes. It begins at the line of memory that holds the lower one of the
words of the half's first and last lane, but is wholly in the buffer, so that only its own bounds need checking: an
address is good if it differs from the start of the window in the bits of the word index only. This covers words at one
address, in reverse, in steps of up to three words, and in many permuted orders. Needs AVX-512.
"""

from __future__ import annotations

from isakit.engine.llvm import Builder, Ref
from isakit.engine.llvm.builder import I1, I16, I32, I64, IrFunction, define, pointer, structure, vector
from isakit.machine.tesla.compiled.state_layout import V32

SIZE, LINE, HALF = 256, 64, vector(16, I32)


def half_of(b: Builder, lanes: Ref, first: int) -> Ref:
    """Return the elements of 16 lanes."""
    return b.shuffle(lanes, range(first, first + 16))


def halves_joined(b: Builder, halves: list[Ref]) -> Ref:
    """Join two halves to a vector for all lanes."""
    return b.shuffle(halves[0], range(32), halves[1])


def in_windows(b: Builder, addresses: Ref, buffer: tuple[Ref, Ref]) -> tuple[Ref, list[tuple[Ref, Ref]]]:
    """Return (all words are in windows of the buffer, i1; for each half the start of its window and the offsets).

    `buffer` is (start, length); windows begin at a line of memory if the end of the buffer allows it.
    """
    start, length = buffer
    last = b.and_(b.sub(b.add(start, length), SIZE), -4)
    odd: list[Ref] = []
    found: list[tuple[Ref, Ref]] = []
    for first in (0, 16):
        ends = [b.extract(addresses, lane) for lane in (first, first + 15)]
        line = b.and_(b.intrinsic("umin", *ends), -LINE)
        window = b.intrinsic("umin", b.intrinsic("umax", line, start), last)
        windows = b.splat(window, HALF)
        offsets = b.sub(half_of(b, addresses, first), windows)
        odd.append(b.and_(offsets, ~(SIZE - 4)))
        found.append((window, offsets))
    near = b.eq(b.bitcast(b.ne(b.or_(odd[0], odd[1]), 0), I16), 0)
    large = b.uge(length, SIZE)
    even = b.eq(b.and_(start, 3), 0)
    return b.and_(near, b.and_(large, even)), found


def permuted(b: Builder, start: Ref, offsets: Ref) -> Ref:
    """Return the words of a half at offsets into its window."""
    permute = b.external("llvm.x86.avx512.vpermi2var.d.512", HALF, HALF, HALF, HALF)
    places = [b.offset(start, k) for k in range(0, SIZE, LINE)]
    lines = [b.load(HALF, place, 4) for place in places]
    index = b.lshr(offsets, 2)
    parts = [b.call(permute, x, index, y) for x, y in (lines[:2], lines[2:])]
    return b.select(b.ugt(offsets, SIZE // 2 - 1), parts[1], parts[0])


def load_from_windows(b: Builder, memory: Ref, addresses: Ref, buffer: tuple[Ref, Ref], beyond: str) -> Ref:
    """Load the words of all lanes; branch to the label `beyond` if they are not in windows of the buffer."""
    good, halves = in_windows(b, addresses, buffer)
    inside = b.fresh("windows")
    b.branch(good, inside, beyond)
    b.label(inside)
    words = [permuted(b, b.offset(memory, b.zext(window, I64)), offsets) for window, offsets in halves]
    return halves_joined(b, words)


def near_loads(b: Builder, f: IrFunction) -> str:
    """Return the function `load_near`: words of all lanes, and whether they could be loaded.

    A site has the start and length of the buffer that was hit last.
    """
    memory, site, at = pointer("%memory"), pointer("%site"), Ref("%at", V32)
    result = structure(V32, I1)
    start, length = b.load(I32, site, 8), b.load(I32, b.offset(site, 4), 4)
    words = load_from_windows(b, memory, at, (start, length), "beyond")
    b.ret(b.with_part(b.with_part(result.poison, words, 0), 1, 1))
    b.label("beyond")
    b.ret(result.zero)
    return define(f.name, result, [memory, site, at], b.lines, attributes="nounwind noinline", convention=f.convention)
