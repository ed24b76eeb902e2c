"""From the bytes of a message to a handler, and from its result to the bytes of the answer."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, partial
from operator import index
from typing import Any, cast

from isakit.errors import DefinitionError, described_bug
from isakit.float_bits import float_of_bits
from isakit.hosts.cuda.codes import CudaError
from isakit.hosts.cuda.handler_table import Handler, ProtocolError, signed_int
from isakit.hosts.cuda.handlers import registered_handlers
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import ApiFunction, ApiParameter, by_number

HEADER = struct.Struct("<II")
"""Header of a request: the number of its function, and the number of bytes that follow."""
ANSWER = struct.Struct("<iI")
"""Header of an answer: the error code, and the number of bytes that follow (none after an error)."""
LONGEST = 1 << 28
"""Largest size of a message in bytes; the largest are modules."""
_LONGEST_TEXT = 1 << 16


class ClientExited(Exception):
    """The process for which a kernel runs has exited; its result is not needed."""


@cache
def _layout(number: int) -> tuple[ApiFunction, struct.Struct, tuple[Callable[[int], object] | None, ...], Handler]:
    f = by_number()[number]
    sent = f.sent
    return f, struct.Struct(f"<{len(sent)}Q"), tuple(_meaning(p) for p in sent), registered_handlers()[f.name]


def _meaning(p: ApiParameter) -> Callable[[int], object] | None:
    return {"int": signed_int, "float": float_of_bits, "double": partial(float_of_bits, type="f64")}.get(p.type)


def parsed(number: int, body: bytes) -> tuple[ApiFunction, Handler, list[object]]:
    """Return the function of a message, its handler and its arguments. Raises ProtocolError."""
    f = by_number().get(number)
    if f is None or f.kind not in ("call", "wire"):
        raise ProtocolError(f"no message has the number {number}")
    f, layout, meanings, handle = _layout(number)
    tail = f.tail
    if len(body) < layout.size or (tail is None and len(body) != layout.size):
        raise ProtocolError(f"{f.name} with {len(body)} bytes")
    arguments: list[object] = [
        n if m is None else m(n) for n, m in zip(layout.unpack_from(body), meanings, strict=True)
    ]
    if tail is not None:
        rest = body[layout.size :]
        if tail.type == "block" and len(rest) != tail.room:
            raise ProtocolError(f"{f.name} with {len(rest)} bytes for {tail.name}")
        if tail.type == "string" and len(rest) > _LONGEST_TEXT:
            raise CudaError("cudaErrorInvalidValue", f"{tail.name} of {len(rest)} bytes")
        arguments.append(rest.decode("latin-1") if tail.type == "string" else rest)
    return f, handle, arguments


@cache
def _results(number: int) -> list[ApiParameter]:
    return [p for p in by_number()[number].parameters if p.result]


def packed(f: ApiFunction, result: object) -> bytes:
    """Return the result of a handler as the body of an answer: numbers in the order of the table, then blocks.

    Raises DefinitionError for another number of results than the table has, TypeError for one of another type.
    """
    values: tuple[Any, ...] = ()
    if isinstance(result, tuple):
        values = cast(tuple[Any, ...], result)
    elif result is not None:
        values = (result,)
    outs = _results(f.number)
    numbers: list[bytes] = []
    blocks: list[bytes] = []
    if len(values) != len(outs):
        raise DefinitionError(f"its handler returns {len(values)} results, not {', '.join(p.name for p in outs)}")
    for p, value in zip(outs, values, strict=True):
        if p.variable:
            blocks.append(bytes(value))
        elif p.type == "float":
            numbers.append(struct.pack("<f4x", value))
        else:
            numbers.append((index(value) & (1 << 64) - 1).to_bytes(8, "little"))
    return b"".join(numbers + blocks)


def answer(session: Session, number: int, body: bytes) -> bytes:
    """Return the answer to a message, b"" for one without. Raises ProtocolError if the connection must be closed."""
    code, back = 0, b""
    name, interface, arguments = f"message {number}", "runtime", []
    known = by_number().get(number)
    session.statistics.calls += 1
    try:
        if known is not None:
            name, interface = known.name, _interface(known, body)
        f, handle, arguments = parsed(number, body)
        if "after fault" not in f.marks:
            if session.lost is not None:
                raise session.lost
            if session.late is not None and f.name != _POST:
                late, session.late = session.late, None
                raise late
        if interface != "driver" and session.thread not in session.users and "without device" not in f.marks:
            session.users.add(session.thread)
        back = packed(f, handle(session, *arguments))
    except (ProtocolError, ClientExited):
        raise
    except CudaError as e:
        code = e.code(interface)
        if name == _POST:
            session.late = session.late or e
        if session.options.trace:
            session.options.tell(f"{name}{shown(arguments)} = {e}")
    except Exception as e:  # a bug of ours must not take the program down with it
        session.options.tell(f"internal error in {name}{shown(arguments)}: {described_bug(e)}")
        code = CudaError("cudaErrorUnknown").code(interface)
    else:
        if session.options.trace and "not traced" not in f.marks:
            session.options.tell(f"{name}{shown(arguments)}")
    return b"" if name == _POST else ANSWER.pack(code, len(back)) + back


_POST = "post"
"""The message without answer."""


def _interface(f: ApiFunction, body: bytes) -> str:
    """Return the interface whose error codes an answer uses: for the library's own messages, that of their caller."""
    if f.interface != "internal":
        return f.interface
    first = f.sent[0].name if f.sent else ""
    number = int.from_bytes(body[:8], "little")
    if first == "driver":
        return "driver" if number else "runtime"
    if first == "call":
        call = by_number().get(number)
        return call.interface if call is not None and call.interface != "internal" else "runtime"
    return "driver" if "of the driver" in f.marks else "runtime"


def shown(arguments: list[object]) -> str:
    """Return arguments as they are shown in a trace."""
    return "(" + ", ".join(_short(a) for a in arguments) + ")"


def _short(value: object) -> str:
    if isinstance(value, bytes):
        return value[:32].hex() + ("..." if len(value) > 32 else "") if len(value) <= 256 else f"<{len(value)} bytes>"
    if isinstance(value, int) and value > 65535:
        return hex(value)
    return str(value)[:200]
