"""Microcode images of the video microcontroller.

VP2: two little-endian 32-bit words per instruction, the low 32 bits and then the high 8.
VP3 and VP4: one little-endian 32-bit word per instruction (30 bits used); a user firmware may carry the initial
content of D[] after the code. Source: [vuc] 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isakit.description import Kernel, Module, words_of
from isakit.errors import FormatError

_WORD_BITS = {"vp2": 40, "vp3": 30, "vp4": 30}
VARIANTS = tuple(_WORD_BITS)
_PADDING = 0x100


@dataclass(frozen=True)
class VucImage:
    """Instruction words (40 or 30 bits), the D[] tail of a VP3/VP4 firmware, and zero bytes after both."""

    variant: str
    words: tuple[int, ...]
    data: bytes = b""
    padding: int = 0


def parse_vuc(data: bytes, variant: str, path: str | None = None, *, data_size: int = 0) -> VucImage:
    """Parse an image.

    `data_size` is the length of the D[] tail in bytes; the file does not say it (0x2e0 for MPEG 1, 2 and 4, 0x3ac for
    VC-1, 0x370 for H.264 [inferred]); `recognise_vuc` guesses it. Zero bytes that pad the file to a multiple of 0x100
    are recognised only when there is a tail, because zero is an instruction too.
    Raises FormatError for a partial word or for bits beyond the instruction.
    """
    unit = _unit(variant, path)
    if not 0 <= data_size <= len(data):
        raise FormatError(path, len(data), f"a data part of {data_size} bytes does not fit the file")
    padding = 0
    if data_size and len(data) % _PADDING == 0:
        # The padding can only be guessed when the split between code and data is to stay a whole word.
        stripped = len(data.rstrip(b"\0"))
        padding = min(len(data) - max(stripped, data_size), _PADDING - 1)
        padding -= padding % unit
    code = data[: len(data) - padding - data_size]
    tail = data[len(code) : len(data) - padding]
    if not code or len(code) % unit:
        raise FormatError(path, len(code), f"{len(code)} bytes of code are not a whole number of instructions")
    words = words_of(code)
    if variant == "vp2":
        words = [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]
    _check_width(words, variant, path)
    return VucImage(variant, tuple(words), tail, padding)


TAILS = {0x2E0: "MPEG-1, 2 and 4", 0x3AC: "VC-1", 0x370: "H.264"}
"""Lengths of the D[] content of user firmwares in bytes, and what they decode: [vuc] 12 [inferred]."""
_CLEARS = tuple(0x20F00064 | n << 16 for n in range(3))
"""`add $r0 $r0 $r0` and so on: user firmwares begin by clearing registers with an always-true guard."""
_VC1 = (0x34000043, 0x34000043)
_SIGNATURE_VP2 = 0xFF
"""High words of a VP2 image have eight bits; of random data only one file in millions does."""
_LEAST_VP2 = 8


def recognise_vuc(data: bytes) -> tuple[str, int] | None:
    """Return (variant, length of the D[] tail) of microcode that says so by its shape, None for other data.

    VP3 and VP4 images begin with words that every known firmware has; which of the two it is cannot be seen unless it
    divides (`ldivu` exists on VP4 only), so vp3 is answered. Their tail is the known length (`TAILS`) before which
    every word has 30 bits; where several do, the file's size decides: a multiple of 0x100 with zeros after. A VP2
    image is pairs of words of which the second has eight bits, at least eight pairs, not all zero.
    """
    if len(data) % 4 or len(data) < 16:
        return None
    words = words_of(data)
    if tuple(words[:3]) == _CLEARS or tuple(words[:2]) == _VC1:
        tail = _tail(words, len(data))
        code = words[: (len(data.rstrip(b"\0")) + 3 - tail) // 4 if tail else len(words)]
        divides = any(w & 0x140000FF == 0x140000AC for w in code)
        return "vp4" if divides else "vp3", tail
    pairs = list(zip(words[::2], words[1::2], strict=False))
    halves = len(data) % 8 == 0 and len(pairs) >= _LEAST_VP2 and any(high for _, high in pairs)
    if halves and all(high <= _SIGNATURE_VP2 for _, high in pairs) and any(low >> 24 for low, _ in pairs):
        return "vp2", 0
    return None


def _tail(words: list[int], size: int) -> int:
    """Return the length of the D[] content, which begins with the first word that is not an instruction, or 0."""
    first = next((k for k, w in enumerate(words) if w >> 30), None)
    if first is None:
        return 0
    used = size
    if size % _PADDING == 0:
        while used and not words[used // 4 - 1]:
            used -= 4
    # The tail may end in zeros itself, so it can reach into what looks like padding.
    fitting = [n for n in TAILS if used - n <= 4 * first and n % 4 == 0]
    return min(fitting, default=0)


def pack_vuc(image: VucImage) -> bytes:
    """Pack an image; the inverse of `parse_vuc`. Raises FormatError for a word that is too wide."""
    return pack_words(image.words, image.variant) + image.data + bytes(image.padding)


def replaced(image: VucImage, words: Sequence[int]) -> VucImage:
    """Return the image with other instructions before its D[] content; padding grows or shrinks to where it ended."""
    padding = image.padding
    if padding:
        used = _unit(image.variant, None) * len(words) + len(image.data)
        padding = -used % _PADDING
    return VucImage(image.variant, tuple(words), image.data, padding)


def pack_words(words: Sequence[int], variant: str) -> bytes:
    """Pack instruction words in the file layout of a variant. Raises FormatError for a word that is too wide."""
    unit = _unit(variant, None)
    _check_width(words, variant, None)
    return b"".join(w.to_bytes(unit, "little") for w in words)


def _unit(variant: str, path: str | None) -> int:
    """Return bytes of an instruction in a file. Raises FormatError for an unknown variant."""
    if variant not in VARIANTS:
        raise FormatError(path, 0, f"variant {variant!r} is not one of {', '.join(VARIANTS)}")
    return 8 if variant == "vp2" else 4


def _check_width(words: Sequence[int], variant: str, path: str | None) -> None:
    bits = _WORD_BITS[variant]
    for index, word in enumerate(words):
        if not 0 <= word < 1 << bits:
            fitting = [v for v in VARIANTS if word < 1 << _WORD_BITS[v]]
            hint = f"; it may be for {fitting[0]} (-V {fitting[0]})" if fitting else ""
            reason = f"word {word:#x} has more than the {bits} bits of {variant}{hint}"
            raise FormatError(path, index * _unit(variant, path), reason)


def read_vuc(data: bytes, variant: str, path: str | None = None, *, data_size: int = 0) -> Module:
    """Read an image as a module with one program, `main`. Its code is in file layout; `payload` has the words."""
    image = parse_vuc(data, variant, path, data_size=data_size)
    kernel = Kernel("main", pack_words(image.words, variant))
    return Module("vuc", "vuc", variant, path=path, size=len(data), kernels={"main": kernel}, payload=image)
