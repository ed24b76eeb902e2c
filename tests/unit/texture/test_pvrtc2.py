"""PVRTC 2 against its published description, read again one texel at a time and without tables in common."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.errors import LaunchError
from isakit.texture.gxm_formats import decode_gxm, gxm_format, texture_bytes
from isakit.texture.swizzled_order import swizzle_index

P, Q, R, S = (0, 0), (1, 0), (0, 1), (1, 1)
A, B = 0, 1
# (x, y) in the region -> the colours of the four codes, as the specification's table lists them.
PALETTE = {
    (1, 0): [(P, A), (P, B), (Q, A), (Q, B)], (2, 0): [(P, A), (P, B), (Q, A), (Q, B)],
    (3, 0): [(P, A), (P, B), (Q, A), (Q, B)], (0, 1): [(P, A), (P, B), (R, A), (R, B)],
    (1, 1): [(P, A), (P, B), (Q, A), (R, B)], (2, 1): [(P, A), (P, B), (Q, A), (Q, B)],
    (3, 1): [(S, A), (P, B), (Q, A), (Q, B)], (0, 2): [(P, A), (P, B), (R, A), (R, B)],
    (1, 2): [(P, A), (P, B), (R, A), (R, B)], (2, 2): [(P, A), (S, B), (R, A), (Q, B)],
    (3, 2): [(S, A), (S, B), (Q, A), (Q, B)], (0, 3): [(P, A), (P, B), (R, A), (R, B)],
    (1, 3): [(P, A), (S, B), (R, A), (R, B)], (2, 3): [(S, A), (S, B), (R, A), (R, B)],
    (3, 3): [(S, A), (S, B), (R, A), (Q, B)],
}  # fmt: skip


class Image:
    """An image of 64-bit words."""

    def __init__(self, words: np.ndarray, wide: int) -> None:
        self.words, self.wide = words, wide
        self.rows, self.columns = words.shape

    def word(self, x: int, y: int) -> int:
        return int(self.words[y % self.rows, x % self.columns])

    def field(self, word: int, high: int, low: int) -> str:
        return format(word >> low & (1 << high - low + 1) - 1, f"0{high - low + 1}b")

    def stored(self, x: int, y: int, which: int) -> list[str]:
        """Red, green, blue as five binary digits, alpha as four."""
        w = self.word(x, y)
        if w >> 63:
            if which == B:
                return [self.field(w, 62, 58), self.field(w, 57, 53), self.field(w, 52, 48), "1111"]
            blue = self.field(w, 36, 33)
            return [self.field(w, 46, 42), self.field(w, 41, 37), blue + blue[0], "1111"]
        if which == B:
            four = [self.field(w, 59, 56), self.field(w, 55, 52), self.field(w, 51, 48)]
            return [*(c + c[0] for c in four), self.field(w, 62, 60) + "1"]
        three = self.field(w, 35, 33)
        four = [self.field(w, 43, 40), self.field(w, 39, 36)]
        return [*(c + c[0] for c in four), three + three[:2], self.field(w, 46, 44) + "0"]

    def bytes(self, x: int, y: int, which: int) -> list[int]:
        return [int((c + c)[:8], 2) for c in self.stored(x, y, which)]

    def smooth(self, x: int, y: int, which: int) -> list[int]:
        across, down = (x - self.wide // 2) // self.wide, (y - 2) // 4
        fx, fy = x - self.wide // 2 - self.wide * across, y - 2 - 4 * down
        out = []
        for c in range(4):
            corners = [[int(self.stored(across + i, down + j, which)[c], 2) for i in (0, 1)] for j in (0, 1)]
            v = sum(
                corners[j][i] * (fx if i else self.wide - fx) * (fy if j else 4 - fy) for i in (0, 1) for j in (0, 1)
            )
            whole = 4 * self.wide  # the weights' sum
            bits = 4 if c == 3 else 5
            # Bits of the fraction count, too: (v / whole) repeated to eight bits.
            out.append(v * (1 << 8 - bits) // whole + v // (whole * (1 << 2 * bits - 8)))
        return out

    def hard(self, x: int, y: int) -> bool:
        return bool(self.word((x - self.wide // 2) // self.wide, (y - 2) // 4) >> 47 & 1)

    def mode(self, x: int, y: int) -> int:
        return self.word(x // self.wide, y // 4) >> 32 & 1

    def code(self, x: int, y: int) -> int:
        return self.word(x // 4, y // 4) >> 2 * (4 * (y % 4) + x % 4) & 3

    def blended(self, x: int, y: int, weight: int) -> list[int]:
        if self.hard(x, y):
            a, b = (self.bytes(x // self.wide, y // 4, k) for k in (A, B))
        else:
            a, b = (self.smooth(x, y, k) for k in (A, B))
        return [(p * (8 - weight) + q * weight) // 8 for p, q in zip(a, b, strict=True)]

    def four_bits(self, x: int, y: int) -> list[int]:
        code, mode = self.code(x, y), self.mode(x, y)
        if not mode:
            return self.blended(x, y, (0, 3, 5, 8)[code])
        if not self.hard(x, y):
            return [0, 0, 0, 0] if code == 2 else self.blended(x, y, (0, 4, 4, 8)[code])
        across, down = (x - 2) // 4, (y - 2) // 4
        place = x - 2 - 4 * across, y - 2 - 4 * down
        if place == (0, 0):
            a, b = (self.bytes(across, down, k) for k in (A, B))
            return [(p * (8 - w) + q * w) // 8 for p, q in zip(a, b, strict=True) for w in [(0, 3, 5, 8)[code]]]
        (i, j), which = PALETTE[place][code]
        return self.bytes(across + i, down + j, which)

    def known(self, x: int, y: int) -> int | None:
        """The weight that is stored for a texel of two bits, None where it lies between others."""
        w, n = self.word(x // 8, y // 4), 8 * (y % 4) + x % 8
        if not self.mode(x, y):
            return 8 * (w >> n & 1)
        if (x + y) % 2:
            return None
        at = 2 * (n // 2)
        bits = w >> at & 3
        if at == 0 or (at == 20 and w & 1):
            bits = 3 * (w >> at + 1 & 1)
        return (0, 3, 5, 8)[bits]

    def two_bits(self, x: int, y: int) -> list[int]:
        weight = self.known(x, y)
        if weight is None:
            w = self.word(x // 8, y // 4)
            height, width = 4 * self.rows, 8 * self.columns
            sides = [self.known((x + d) % width, y) for d in (-1, 1)]
            ends = [self.known(x, (y + d) % height) for d in (-1, 1)]
            if not w & 1:
                weight = (sum(sides) + sum(ends) + 2) // 4
            else:
                weight = (sum(ends if w >> 20 & 1 else sides) + 1) // 2
        return self.blended(x, y, weight)


def words(columns: int, rows: int, seed: int, mode: int | None = None, hard: int | None = None) -> np.ndarray:
    out = np.random.default_rng(seed).integers(0, 1 << 64, (rows, columns), np.uint64)
    for bit, wanted in ((32, mode), (47, hard)):
        if wanted is not None:
            mask = np.uint64(1 << bit)
            out = out | mask if wanted else out & ~mask
    return out


@pytest.mark.parametrize("hard", [0, 1, None])
@pytest.mark.parametrize("mode", [0, 1, None])
@pytest.mark.parametrize("bits", [4, 2])
def test_all_texels_are_those_of_the_description(bits: int, mode: int | None, hard: int | None) -> None:
    for columns, rows in ((4, 4), (3, 5), (1, 2)):
        given = words(columns, rows, columns, mode, hard)
        wide = 4 if bits == 4 else 8
        image = Image(given, wide)
        texel = image.four_bits if bits == 4 else image.two_bits
        width, height = wide * columns, 4 * rows
        expected = [[texel(x, y) for x in range(width)] for y in range(height)]
        found = decode_gxm(given.tobytes(), f"PVRTII{bits}BPP", width, height)
        np.testing.assert_array_equal(found, expected)


def test_sides_need_not_be_whole_blocks() -> None:
    given = words(3, 3, 9)
    whole = decode_gxm(given.tobytes(), "PVRTII4BPP", 12, 12)
    np.testing.assert_array_equal(decode_gxm(given.tobytes(), "PVRTII4BPP", 10, 9), whole[:9, :10])


def test_blocks_may_be_swizzled() -> None:
    given = words(4, 2, 5)
    stored = np.empty(8, np.uint64)
    stored[swizzle_index(4, 2)] = given
    found = decode_gxm(stored.tobytes(), "PVRTII4BPP", 16, 8, layout="swizzled")
    np.testing.assert_array_equal(found, decode_gxm(given.tobytes(), "PVRTII4BPP", 16, 8))


def test_images_without_alpha_are_opaque() -> None:
    found = decode_gxm(words(2, 2, 1).tobytes(), "PVRTII4BPP_1BGR", 8, 8)
    assert (found[..., 3] == 255).all()


def test_levels_take_one_block_at_least() -> None:
    assert texture_bytes(gxm_format("PVRTII4BPP"), 1, 1) == texture_bytes(gxm_format("PVRTII2BPP"), 2, 3) == 8


def test_short_data_is_refused() -> None:
    with pytest.raises(LaunchError, match="take 128 bytes, there are 127"):
        decode_gxm(bytes(127), "PVRTII4BPP", 16, 16)
