"""LZ4 blocks, which the fat binaries of CUDA 5 and later pack their entries in.

Source: LZ4 block format description, "Compressed block format", "End of block conditions".
"""

from __future__ import annotations

from isakit.errors import FormatError

_SHORTEST = 4
_LONGEST_NIBBLE = 15


def unpack_block(data: bytes, limit: int, path: str | None = None, at: int = 0) -> bytes:
    """Decompress a block.

    Args:
        data: the block; bytes after the last sequence are an error.
        limit: bytes the result may have at most: 255 times as many as `data` are possible.
        path: for messages.
        at: where the block begins, for messages.

    Raises FormatError for data that are not a block, or a larger one.
    """
    out = bytearray()
    pos, end = 0, len(data)

    def error(reason: str) -> FormatError:
        return FormatError(path, at + pos, f"damaged LZ4 block: {reason}")

    def length(nibble: int) -> int:
        nonlocal pos
        total = nibble
        if nibble == _LONGEST_NIBBLE:
            more = 255
            while more == 255:
                if pos >= end:
                    raise error("the input ends in a length")
                more = data[pos]
                total += more
                pos += 1
        return total

    while pos < end:
        token = data[pos]
        pos += 1
        literals = length(token >> 4)
        if literals > end - pos:
            raise error("the input ends in a run of literals")
        out += data[pos : pos + literals]
        pos += literals
        if pos < end:  # the last sequence has literals only
            if end - pos < 2:
                raise error("the input ends in an offset")
            offset = data[pos] | data[pos + 1] << 8
            pos += 2
            if not 0 < offset <= len(out):
                raise error("an offset points before the first byte")
            size = length(token & _LONGEST_NIBBLE) + _SHORTEST
            if len(out) + size > limit:
                raise error(f"it unpacks to more than {limit} bytes")
            piece = bytes(out[-offset:])  # repeats itself where it is shorter than what is copied
            out += (piece * (-(-size // offset)))[:size]
        if len(out) > limit:
            raise error(f"it unpacks to more than {limit} bytes")
    return bytes(out)
