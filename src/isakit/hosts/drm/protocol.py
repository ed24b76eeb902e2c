"""The messages between the preloaded library and the simulator; shim/shim.h declares the same ones.

A request is a header and bytes, a reply another header and bytes. Numbers are little-endian; there are no pointers.
"""

from __future__ import annotations

import socket
import struct
import time
from enum import IntEnum

from isakit.errors import HostError

VERSION = 3
MOST_BYTES = 1 << 20
"""Largest accepted request in bytes; the largest the library sends has about 55,000."""


class Opcode(IntEnum):
    """The operations of requests."""

    HELLO = 1
    IOCTL = 2
    PUSHBUF = 3
    PICTURE = 4
    MAPPING = 5


REQUEST = struct.Struct("<IIQ")
"""op, ioctl request number, number of bytes that follow."""
PICTURE = struct.Struct("<IIII")
"""Of a picture that is shown: the handle of its memory object, bytes of a row, rows, bytes between rows."""
MAPPING = struct.Struct("<QQQQ")
"""Of a mapping: 1 if it is made, 0 if it is removed; the program's address, offset in the memory file, bytes."""
REPLY = struct.Struct("<iI")
"""status (0 or more, or a negated errno), number of bytes that follow."""
HELLO = struct.Struct("<II")
"""protocol version, process."""
WELCOME = struct.Struct("<IIQ")
"""protocol version, PCI device number, bytes of the memory file (whose descriptor comes with the reply)."""


class Closed(HostError):
    """The other side has closed the connection."""


def received(connection: socket.socket, count: int, until: float | None = None) -> bytes:
    """Return exactly `count` bytes, received before a time of the monotonic clock. Raises Closed."""
    out = bytearray()
    while len(out) < count:
        try:
            if until is not None:
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError("a request takes too long")
                connection.settimeout(left)
            part = connection.recv(count - len(out))
        except OSError as e:
            raise Closed(str(e)) from e
        if not part:
            raise Closed("the program has ended")
        out += part
    return bytes(out)


def request(connection: socket.socket, until: float | None = None) -> tuple[int, int, bytes]:
    """Return (op, command, payload) of the next request. Raises as `received`, and HostError for one too long."""
    op, command, length = REQUEST.unpack(received(connection, REQUEST.size, until))
    if length > MOST_BYTES:
        raise HostError(f"a message of {length} bytes is too long: at most {MOST_BYTES} are taken")
    return op, command, received(connection, length, until)


def reply(connection: socket.socket, status: int, payload: bytes = b"", descriptor: int | None = None) -> None:
    """Answer a request. Raises Closed."""
    message = REPLY.pack(status, len(payload))
    try:
        if descriptor is None:
            connection.sendall(message + payload)
        else:
            socket.send_fds(connection, [message], [descriptor])
            connection.sendall(payload)
    except OSError as e:
        raise Closed(str(e)) from e
