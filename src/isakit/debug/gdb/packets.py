"""Packets of gdb's remote protocol: bytes in, packets out, and back. Nothing here reads or writes a stream.

Source: "Debugging with GDB", appendix "GDB Remote Serial Protocol", section "Overview".
"""

from __future__ import annotations

from typing import Literal

from isakit.errors import IsakitError

LONGEST = 1 << 14
"""Largest content of a packet in bytes, as announced to gdb."""
INTERRUPT = b"\x03"
_FIRST = (b"+", b"-", b"$", INTERRUPT)
_ESCAPED = frozenset(b"$#}*")


class PacketError(IsakitError):
    """Bytes that no client of the protocol sends."""


Event = tuple[Literal["packet"], bytes] | tuple[Literal["interrupt", "again", "damaged"], None]


class PacketReader:
    """Collects received bytes; `event` returns the next packet or acknowledgement among them."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._begun = False

    def feed(self, data: bytes) -> None:
        """Add received bytes.

        Raises PacketError for more than any client has outstanding, and for a start that no client sends. Bytes between
        packets are ignored, so an HTTP request with packets in its body would otherwise be accepted.
        """
        if not self._begun and data[:1] not in _FIRST:
            raise PacketError(f"{data[:20]!r} is not the beginning of a gdb packet")
        self._begun = True
        self._data += data
        if len(self._data) > 8 * LONGEST:
            raise PacketError("more bytes than packets may have")

    def interrupted(self) -> bool:
        """Return true if the next event is an interrupt, which is consumed. Acknowledgements before it are dropped."""
        del self._data[: len(self._data) - len(self._data.lstrip(b"+"))]
        if not self._data.startswith(INTERRUPT):
            return False
        del self._data[:1]
        return True

    def event(self) -> Event | None:
        """Return the next event: a packet's content, an interrupt, a request to repeat, a damaged packet.

        None: more bytes are needed. Bytes between packets are skipped. Raises PacketError.
        """
        while self._data:
            first = bytes(self._data[:1])
            if first == b"$":
                end = self._data.find(b"#")
                if end < 0 and len(self._data) > LONGEST:
                    raise PacketError(f"a packet of more than {LONGEST} bytes")
                if end < 0 or len(self._data) < end + 3:
                    return None
                content, given = bytes(self._data[1:end]), bytes(self._data[end + 1 : end + 3])
                del self._data[: end + 3]
                if given.lower() != b"%02x" % (sum(content) & 0xFF):
                    return "damaged", None
                return "packet", unescaped(content)
            del self._data[:1]
            if first == INTERRUPT:
                return "interrupt", None
            if first == b"-":
                return "again", None
        return None


def packet(content: bytes) -> bytes:
    """Return the packet with the given content."""
    out = bytearray()
    for b in content:
        out += bytes((0x7D, b ^ 0x20)) if b in _ESCAPED else bytes((b,))
    return b"$%s#%02x" % (bytes(out), sum(out) & 0xFF)


def unescaped(content: bytes) -> bytes:
    """Return a packet's content with escapes decoded."""
    if b"}" not in content:
        return content
    out = bytearray()
    escaped = False
    for b in content:
        if escaped:
            out.append(b ^ 0x20)
        elif b != 0x7D:
            out.append(b)
        escaped = not escaped and b == 0x7D
    return bytes(out)
