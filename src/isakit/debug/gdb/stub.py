"""The packets of gdb's remote protocol: requests to a session, and the answers.

Threads are groups: warps, the core, invocations. Registers are those of the lane that has the focus (`monitor focus
lane 5`), or of the group's first active one.

Source: "Debugging with GDB", appendix "GDB Remote Serial Protocol".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from isakit.debug import groups
from isakit.debug.gdb.packets import LONGEST
from isakit.debug.gdb.register_map import STACK_SIZE, GdbRegisterMap
from isakit.debug.gdb.symbols import Symbols
from isakit.debug.session import Session
from isakit.debug.stops import Breakpoint, Stop, Watched
from isakit.debug.terminal import Commands
from isakit.errors import IsakitError, LaunchError, NotModelled, described_bug

SCRIPT: Final = Path(__file__).with_name("isakit_gdb.py")
"""The Python file for gdb."""
_SUPPORTED = (
    f"PacketSize={LONGEST:x};QStartNoAckMode+;qXfer:features:read+;qXfer:memory-map:read+;qXfer:threads:read+;"
    "swbreak+;hwbreak+;vContSupported+;ReverseStep+;ReverseContinue+"
)
_INTERRUPT, _ILLEGAL, _TRAP, _SEGMENT = 2, 4, 5, 11
"""Signals, as gdb numbers them."""
_WATCHED: dict[int, tuple[str, Watched]] = {2: ("watch", "change"), 3: ("rwatch", "read"), 4: ("awatch", "access")}
"""Kinds of watchpoints: the reason of a stop, and the access that the session watches."""
_Point = tuple[int, int, int]


class Stub:
    """One client's view of a session.

    Args:
        session: the session to debug.
        say: takes text that gdb shows at once, while the program runs.

    Attributes:
        detached: the client has detached.
    """

    def __init__(self, session: Session, say: Callable[[bytes], None]) -> None:
        self.session, self._say = session, say
        self._carrier = GdbRegisterMap(session.target, whole=session.later)
        self.detached = False
        self._commands = Commands(session)
        self._symbols = Symbols(session)
        self._points: dict[_Point, Breakpoint] = {}
        self._thread = self._focused()
        self._about_to_end = False

    @property
    def carrier(self) -> GdbRegisterMap:
        """The registers and memories of the machine."""
        if self._carrier.target is not self.session.target:
            self._carrier = GdbRegisterMap(self.session.target, whole=True)
        return self._carrier

    def close(self) -> None:
        """Remove the client's breakpoints from the session."""
        for b in self._points.values():
            self.session.breakpoints.pop(b.number, None)
        self._points.clear()

    def answer(self, packet: bytes) -> bytes | None:
        """Answer a packet: empty for an unknown one, None if no answer is due."""
        text = packet.decode("latin-1")
        name, handler = next(((n, h) for n, h in _HANDLERS if text.startswith(n)), ("", None))
        if handler is None:
            return b""
        try:
            return handler(self, text.removeprefix(name))
        except (IsakitError, ValueError, IndexError, OverflowError):
            return b"E01"
        except Exception as e:  # a mistake of ours costs one answer, not the session
            self._say(f"internal error: {described_bug(e)}\n".encode())
            return b"E01"

    def _focused(self) -> int:
        return groups.group_of(self.session.target, self.session.focus)

    # --- what there is ------------------------------------------------------------------------------------------------
    def _supported(self, rest: str) -> bytes:
        # gdb asks once what memories there are, and every kernel has its own.
        told = _SUPPORTED.replace("qXfer:memory-map:read+;", "") if self.session.later else _SUPPORTED
        return told.encode()

    def _transfer(self, rest: str) -> bytes:
        what, operation, annex, span = rest.split(":")
        offset, length = (int(x, 16) for x in span.split(","))
        if operation != "read":
            return b""
        match what, annex:
            case "features", "target.xml":
                text = self.carrier.description()
            case "memory-map", "":
                text = self.carrier.memory_map()
            case "threads", "":
                target = self.session.target
                rows = [(n, groups.name_of(t), groups.activity(target, n)) for n, t in groups.groups(target)]
                text = self.carrier.threads(rows)
            case _:
                return b"E00"
        data = text.encode()[offset : offset + length]
        return (b"l" if offset + length >= len(text.encode()) else b"m") + data

    def _all_threads(self, rest: str) -> bytes:
        return b"m" + b",".join(b"%x" % n for n, _ in groups.groups(self.session.target))

    def _extra(self, rest: str) -> bytes:
        return groups.activity(self.session.target, int(rest, 16)).encode().hex().encode()

    def _alive(self, rest: str) -> bytes:
        self.session.target.thread((int(rest, 16) - 1) * groups.width(self.session.target))
        return b"OK"

    def _select(self, rest: str) -> bytes:
        number = int(rest[1:], 16)
        if number > 0:
            self.session.target.thread((number - 1) * groups.width(self.session.target))
            self._thread = number
        return b"OK"

    def _looked_at(self) -> int:
        """Return the thread selected for registers and memories, and focus it."""
        groups.look_at(self.session, self._thread)
        return self.session.focus

    # --- registers and memory -----------------------------------------------------------------------------------------
    def _registers(self, rest: str) -> bytes:
        thread = self._looked_at()
        calls = self._calls(thread)
        return b"".join(self.carrier.value(n, thread, calls) for n in range(len(self.carrier.slots))).hex().encode()

    def _register(self, rest: str) -> bytes:
        thread = self._looked_at()
        return self.carrier.value(int(rest, 16), thread, self._calls(thread)).hex().encode()

    def _calls(self, thread: int) -> list[int]:
        """Return the return addresses of the functions that a thread is in, innermost first."""
        return [f.address for f in self.session.execution.calls(thread)][: STACK_SIZE // 32]

    def _set_register(self, rest: str) -> bytes:
        number, _, value = rest.partition("=")
        slot = self.carrier.slot(int(number, 16))
        data = bytes.fromhex(value)
        if slot.register is None or len(data) != slot.size:
            raise LaunchError(f"{slot.name} cannot be set")
        self.session.set_register(slot.register, int.from_bytes(data, "little"), self._looked_at())
        return b"OK"

    def _read(self, rest: str) -> bytes:
        address, size = (int(x, 16) for x in rest.split(","))
        size = min(size, LONGEST // 2)
        stack = self.carrier.stack(address, size, self._calls(self._looked_at()))
        if stack is not None:
            return stack.hex().encode()
        register = self.carrier.register_at(address, size)
        if register is not None:
            number, first = register
            thread = self._looked_at()
            return self.carrier.value(number, thread, self._calls(thread))[first : first + size].hex().encode()
        space, inside, count = self.carrier.place(address, size)
        return self.session.target.read_memory(space, inside, count, self._looked_at()).hex().encode()

    def _write(self, rest: str) -> bytes:
        where, _, data = rest.partition(":")
        return self._put(where, bytes.fromhex(data))

    def _write_binary(self, rest: str) -> bytes:
        where, _, data = rest.partition(":")
        return self._put(where, data.encode("latin-1"))

    def _put(self, where: str, data: bytes) -> bytes:
        address, size = (int(x, 16) for x in where.split(","))
        if size != len(data):
            raise LaunchError(f"{len(data)} bytes where {size} were promised")
        register = self.carrier.register_at(address, size)
        if register is not None:
            number, first = register
            whole = bytearray(self.carrier.value(number, self._looked_at()))
            whole[first : first + size] = data
            return self._set_register(f"{number:x}={whole.hex()}")
        if data:
            space, inside, count = self.carrier.place(address, size)
            if count < size:
                raise LaunchError("the memory ends before")
            self.session.write(space, inside, data, self._looked_at())
        return b"OK"

    # --- stops --------------------------------------------------------------------------------------------------------
    def _insert(self, rest: str) -> bytes:
        kind, address, size = self._point(rest)
        if (kind, address, size) in self._points:
            return b"OK"
        if kind < 2:
            made = self.session.break_at(address)
        elif kind in _WATCHED:
            self._looked_at()
            made = self.session.watch(self._expression(address, size), _WATCHED[kind][1], size=size)
        else:
            return b""
        self._points[kind, address, size] = made
        return b"OK"

    def _expression(self, address: int, size: int) -> str:
        """Return the debugger's own expression for the data at a gdb address."""
        found = self.carrier.register_at(address, size)
        register = self.carrier.slots[found[0]].register if found is not None else None
        if register is not None:
            text = self.session.target.register_files[register.file].text or f"{register.file}{{n}}"
            return text.format(n=register.number)
        space, inside, count = self.carrier.place(address, size)
        if count < size:
            raise LaunchError("the memory ends before")
        return f"{space}[{inside}]"

    def _remove(self, rest: str) -> bytes:
        made = self._points.pop(self._point(rest), None)
        if made is not None:
            self.session.breakpoints.pop(made.number, None)
        return b"OK"

    @staticmethod
    def _point(rest: str) -> _Point:
        kind, address, size = rest.split(";")[0].split(",")
        return int(kind), int(address, 16), int(size, 16)

    def _why(self, rest: str) -> bytes:
        return self._stopped(self.session.stop)

    def _stopped(self, stop: Stop, stepped: int = 0) -> bytes:
        """Return a stop as a packet; the thread it names is the selected one from then on.

        `stepped` is the thread that gdb has stepped: it expects a stop of that one, even if it has ended.
        """
        there = 0 < stepped <= len(list(groups.groups(self.session.target)))
        self._thread = stepped if there else self._focused()
        signal, about = _TRAP, ""
        mine = [p for p, b in self._points.items() if b.number in stop.numbers]
        match stop.reason:
            case "breakpoint" if mine:
                about = "swbreak:;" if mine[0][0] == 0 else "hwbreak:;"
            case "watchpoint" if mine:
                about = f"{_WATCHED[mine[0][0]][0]}:{mine[0][1]:x};"
            case "history":
                about = "replaylog:begin;"
            case "finished":
                about = "replaylog:end;"
            case "interrupt":
                signal = _INTERRUPT
            case "fault":
                signal = _ILLEGAL if isinstance(stop.fault, NotModelled) else _SEGMENT
                self._say(f"{stop.text}\n".encode())
            case "asleep" | "breakpoint" | "watchpoint":
                self._say(f"{stop.text}\n".encode())
            case _:
                pass
        return f"T{signal:02x}thread:{self._thread:x};{about}".encode()

    # --- moving -------------------------------------------------------------------------------------------------------
    def _resume(self, rest: str) -> bytes:
        """Answer `vCont`: one group steps, or all run on."""
        if rest == "?":
            return b"vCont;c;C;s;S"
        for action in rest.split(";")[1:]:
            what, _, thread = action.partition(":")
            if what[:1] in ("s", "S"):
                if thread not in ("", "-1", "0"):
                    self._select(f"c{thread}")
                return self._move(self._step)
        return self._move(self._continue)

    def _move(self, move: Callable[[], Stop]) -> bytes:
        """Move, and report the new position.

        A program that has ended reports that first, and exits on the next request.
        """
        session = self.session
        if move in (self._step, self._continue) and session.finished:
            if self._about_to_end:
                self.detached = True
                return b"W00"
            self._about_to_end = True
            return self._stopped(Stop("finished", session.position, None, None, "the program has ended"))
        self._about_to_end = False
        stepped = self._thread if move == self._step else 0
        try:
            stop = move()
        except IsakitError as e:  # a warp that waits, a place there is not any more
            self._say(f"{e}\n".encode())
            stop = Stop("step", session.position, session.focus, session.address, str(e))
        self._about_to_end = stop.reason == "finished"
        if self._about_to_end and session.later:
            self.detached = True
            return b"W00"
        return self._stopped(stop, stepped)

    def _step(self) -> Stop:
        self._looked_at()
        return self.session.step()

    def _continue(self) -> Stop:
        """Run on.

        gdb removes its breakpoint to continue from one, so a breakpoint that is still present counts at once.
        """
        session = self.session
        following = session.execution.following
        if following is not None and session.stop.reason != "fault":
            here = session.target.thread(following).address
            for (kind, address, _), b in self._points.items():
                if kind < 2 and address == here:
                    session.focus = following
                    return Stop("breakpoint", session.position, following, here, "", (b.number,))
        return session.cont()

    # --- the rest -----------------------------------------------------------------------------------------------------
    def _monitor(self, rest: str) -> bytes:
        line = bytes.fromhex(rest).decode("utf-8", "replace").strip()
        try:
            lines = self._special(line)
            if lines is None:
                groups.look_at(self.session, self._thread)
                lines = self._commands.run(line).lines
                self._thread = self._focused()
        except IsakitError as e:
            lines = [f"error: {e}"]
        text = "".join(f"{x}\n" for x in lines).encode()
        return text[: LONGEST // 2 - 1].hex().encode() or b"OK"

    def _special(self, line: str) -> list[str] | None:
        """Answer a command for gdb's users: addresses of memories, an instruction for its disassembler, its file."""
        name, _, rest = line.partition(" ")
        match name:
            case "memories":
                return self.carrier.lines()
            case "label":
                labels = self.session.labels
                if rest not in labels:
                    raise LaunchError(f"no label {rest!r}; there are {', '.join(labels)}")
                return [hex(labels[rest])]
            case "instruction":
                try:
                    i = self.session.program.at(int(rest, 0))
                except ValueError:
                    raise LaunchError(f"{rest!r} is not an address") from None
                return ["0"] if i is None else [f"{i.size} {i.text}"]
            case "symbols":
                return self._symbols.answer(rest)
            case "script":
                return [str(SCRIPT)]
            case "quit" | "q":
                raise LaunchError("`detach` and `kill` end the session")
            case _:
                return None

    def _detach(self, rest: str) -> bytes | None:
        self.detached = True
        return b"OK"

    def _kill(self, rest: str) -> None:
        self.detached = True


# pyright: reportPrivateUsage=false
_Handler = Callable[[Stub, str], bytes | None]
_HANDLERS: tuple[tuple[str, _Handler], ...] = (
    ("qSupported", Stub._supported), ("qXfer:", Stub._transfer), ("qfThreadInfo", Stub._all_threads),
    ("qsThreadInfo", lambda stub, rest: b"l"), ("qThreadExtraInfo,", Stub._extra),
    ("qC", lambda stub, rest: b"QC%x" % stub._thread), ("qAttached", lambda stub, rest: b"1"),
    ("qRcmd,", Stub._monitor), ("qOffsets", lambda stub, rest: b""), ("QStartNoAckMode", lambda stub, rest: b"OK"),
    ("vCont", Stub._resume), ("vKill", Stub._detach), ("vMustReplyEmpty", lambda stub, rest: b""),
    ("?", Stub._why), ("H", Stub._select), ("T", Stub._alive), ("g", Stub._registers), ("p", Stub._register),
    ("P", Stub._set_register), ("m", Stub._read), ("M", Stub._write), ("X", Stub._write_binary), ("Z", Stub._insert),
    ("z", Stub._remove), ("bs", lambda stub, rest: stub._move(stub.session.reverse_step)),
    ("bc", lambda stub, rest: stub._move(stub.session.reverse_cont)), ("s", lambda stub, rest: stub._move(stub._step)),
    ("c", lambda stub, rest: stub._move(stub._continue)), ("D", Stub._detach), ("k", Stub._kill),
)  # fmt: skip
"""Packets by prefix, longer prefixes first."""

__all__ = ["SCRIPT", "Stub"]
