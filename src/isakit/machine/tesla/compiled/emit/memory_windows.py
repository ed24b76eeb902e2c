"""Words of lanes that are near each other in memory, in whatever order: a window of memory is read and permuted.

A half of a warp has its own window of `SIZE` bytes. It begins at the line of memory that has the lower one of the words
of the half's first and last lane, but lies in the buffer as a whole, so no bounds have to be looked at but its own: an
address is good if it differs from the beginning of the window in nothing but the bits of a word's number. These are
words at one address, in reverse, in steps of up to three words, and in many permuted orders. Needs AVX-512.
"""

from __future__ import annotations

from isakit.engine.llvm import Body
from isakit.machine.tesla.compiled.emit.access_placement import LANES
from isakit.machine.tesla.compiled.state_layout import V32

SIZE, LINE, HALF = 256, 64, "<16 x i32>"


def half_of(b: Body, vector: str, first: int) -> str:
    """The elements of 16 lanes."""
    index = f"{HALF} <" + ", ".join(f"i32 {first + j}" for j in range(16)) + ">"
    return b(f"shufflevector {V32} {vector}, {V32} poison, {index}")


def halves_joined(b: Body, halves: list[str]) -> str:
    """A vector for all lanes."""
    return b(f"shufflevector {HALF} {halves[0]}, {HALF} {halves[1]}, {V32} {LANES}")


def in_windows(b: Body, addresses: str, buffer: tuple[str, str]) -> tuple[str, list[tuple[str, str]]]:
    """(whether all words are in windows of the buffer, i1; for each half the start of its window and the offsets).

    `buffer` is its start and its length; windows begin at a line of memory where the end of the buffer allows it.
    """
    smaller, larger = (b.module.declare(f"llvm.u{name}.i32", "i32 @(i32, i32)") for name in ("min", "max"))
    start, length = buffer
    past = b(f"add i32 {start}, {length}")
    last = b(f"and i32 {b(f'sub i32 {past}, {SIZE}')}, -4")
    odd: list[str] = []
    found: list[tuple[str, str]] = []
    for first in (0, 16):
        ends = [b(f"extractelement {V32} {addresses}, i64 {lane}") for lane in (first, first + 15)]
        line = b(f"and i32 {b(f'call i32 {smaller}(i32 {ends[0]}, i32 {ends[1]})')}, {-LINE}")
        window = b(f"call i32 {smaller}(i32 {b(f'call i32 {larger}(i32 {line}, i32 {start})')}, i32 {last})")
        one = b(f"insertelement {HALF} poison, i32 {window}, i64 0")
        windows = b(f"shufflevector {HALF} {one}, {HALF} poison, {HALF} zeroinitializer")
        offsets = b(f"sub {HALF} {half_of(b, addresses, first)}, {windows}")
        odd.append(b(f"and {HALF} {offsets}, splat (i32 {~(SIZE - 4)})"))
        found.append((window, offsets))
    either = b(f"icmp ne {HALF} {b(f'or {HALF} {odd[0]}, {odd[1]}')}, zeroinitializer")
    near = b(f"icmp eq i16 {b(f'bitcast <16 x i1> {either} to i16')}, 0")
    large = b(f"icmp uge i32 {length}, {SIZE}")
    even = b(f"icmp eq i32 {b(f'and i32 {start}, 3')}, 0")
    return b(f"and i1 {near}, {b(f'and i1 {large}, {even}')}"), found


def permuted(b: Body, pointer: str, offsets: str) -> str:
    """The words of a half at offsets into its window."""
    permute = b.module.declare("llvm.x86.avx512.vpermi2var.d.512", f"{HALF} @({HALF}, {HALF}, {HALF})")
    places = [b(f"getelementptr i8, ptr {pointer}, i64 {k}") for k in range(0, SIZE, LINE)]
    lines = [b(f"load {HALF}, ptr {place}, align 4") for place in places]
    index = b(f"lshr {HALF} {offsets}, splat (i32 2)")
    parts = [b(f"call {HALF} {permute}({HALF} {x}, {HALF} {index}, {HALF} {y})") for x, y in (lines[:2], lines[2:])]
    upper = b(f"icmp ugt {HALF} {offsets}, splat (i32 {SIZE // 2 - 1})")
    return b(f"select <16 x i1> {upper}, {HALF} {parts[1]}, {HALF} {parts[0]}")


def load_from_windows(b: Body, memory: str, addresses: str, buffer: tuple[str, str], beyond: str) -> str:
    """The words of all lanes; goes to the label `beyond` where they are not in windows of the buffer."""
    good, halves = in_windows(b, addresses, buffer)
    inside = b.fresh("windows")
    b.do(f"br i1 {good}, label %{inside}, label %{beyond}")
    b.label(inside)
    words: list[str] = []
    for window, offsets in halves:
        p = b(f"getelementptr i8, ptr {memory}, i64 {b(f'zext i32 {window} to i64')}")
        words.append(permuted(b, p, offsets))
    return halves_joined(b, words)


def near_loads(b: Body) -> str:
    """The function `load_near`: words of all lanes, and whether they are there.

    A site has start and length of the buffer that was hit last.
    """
    words = load_from_windows(b, "%memory", "%at", ("%start", "%length"), "beyond")
    some = b(f"insertvalue {{{V32}, i1}} poison, {V32} {words}, 0")
    b.do(f"ret {{{V32}, i1}} {b(f'insertvalue {{{V32}, i1}} {some}, i1 true, 1')}")
    return f"""
define {{{V32}, i1}} @load_near(ptr %memory, ptr %site, {V32} %at) nounwind noinline {{
  %start = load i32, ptr %site, align 8
  %length_p = getelementptr i8, ptr %site, i64 4
  %length = load i32, ptr %length_p, align 4
{b.text()}
beyond:
  ret {{{V32}, i1}} {{{V32} zeroinitializer, i1 false}}
}}
"""
