"""The server through which debuggers attach to a running program: gdb, an editor, or `isakit debug --attach`.

The first bytes tell which of the three is connected. The last one sends a command as a line of JSON, `{"line": "info
warps"}` or `{"interrupt": true}`, and gets its answer as one.
"""

from __future__ import annotations

import json
import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from isakit.debug import loopback
from isakit.debug.dap import serve_editor
from isakit.debug.gdb.server import Conversation
from isakit.debug.program_session import RunningProgram
from isakit.debug.terminal import Commands, ProgramGoneError, Reply
from isakit.errors import IsakitError, LaunchError, described_bug
from isakit.json_text import JsonObject, parse_object
from isakit.waits import until_readable

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.machine.tesla import Machine

_LONGEST = 1 << 16
"""Largest length of a line of this protocol, in bytes."""
_FIRST_SECONDS = 10.0
"""Seconds in which a client must send its first byte."""
_LOOK_SECONDS = 0.1
"""Seconds between two checks whether a program that waits for its turn still exists."""
_LAST_SECONDS = 1.0
"""Seconds in which a debugger can still learn that the program has ended."""


class _Lines:
    """Lines of JSON over a socket, optionally without blocking."""

    def __init__(self, client: socket.socket) -> None:
        self.socket, self._buffer = client, b""

    def next(self, wait: bool = True) -> JsonObject | None:
        """Return the next object, None if there is none yet.

        Raises EOFError at the end, and for anything but an object.
        """
        while b"\n" not in self._buffer:
            if not wait and not select.select([self.socket], [], [], 0)[0]:
                return None
            data = self.socket.recv(1 << 12)
            if not data or len(self._buffer) > _LONGEST:
                raise EOFError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return parse_object(line)
        except ValueError:
            raise EOFError from None

    def awaited(self) -> JsonObject:
        """Wait for the next object and return it. Raises EOFError."""
        found = self.next()
        return {} if found is None else found


class _TerminalConversation:
    """The commands of `isakit debug`, sent by another process."""

    def __init__(self, running: RunningProgram, client: socket.socket) -> None:
        self._running, self._session = running, running.session
        self._lines, self._writer = _Lines(client), loopback.SocketWriter(client)
        self._waiting: list[str] = []

    def run(self) -> None:
        """Answer until the other side disconnects or sends `quit`."""
        session = self._session
        session.asked = self._asked
        commands = Commands(session)
        with suppress(OSError, EOFError):
            self._send(commands.stopped(session.to_launch()))
            while True:
                line = self._waiting.pop(0) if self._waiting else self._lines.awaited().get("line")
                if line is None:  # an interrupt: nothing runs
                    continue
                try:
                    reply = commands.run(str(line))
                except IsakitError as e:
                    reply = Reply([f"error: {e}"], {"error": str(e)})
                except Exception as e:  # a mistake of ours costs one answer
                    reply = Reply([f"internal error: {described_bug(e)}"], {"error": described_bug(e)})
                reply.quit = reply.quit or self._running.over
                self._send(reply, commands.live)
                if reply.quit:
                    return

    def _asked(self) -> bool:
        try:
            while (said := self._lines.next(wait=False)) is not None:
                if said.get("interrupt"):
                    return True
                self._waiting.append(str(said.get("line", "")))
        except (OSError, EOFError):
            return True
        return False

    def _send(self, reply: Reply, live: bool = False) -> None:
        said = {"lines": reply.lines, "data": reply.data, "quit": reply.quit, "live": live}
        self._writer.write(json.dumps(said).encode() + b"\n")


class AttachServer:
    """Lets one debugger at a time attach to the launches of a program.

    Args:
        place: a port of this machine, or the path of a new socket, for this user alone.
        chip: the chip the program runs on.
        waits: the first launch waits for a debugger.
        tell: writes a line for the user.

    Raises LaunchError for a place that cannot be used.
    """

    def __init__(self, place: int | str, chip: str, *, waits: bool, tell: Callable[[str], None]) -> None:
        self._clients = loopback.SingleClientServer(loopback.listener(place), self._serve)
        self.place = self._clients.place
        self._running = RunningProgram(_nothing(chip), waits)
        self._running.interrupt = self._hang_up
        self._running.waiting = lambda: tell(f"the program waits: isakit debug --attach {self.place}")
        self._turn = threading.Lock()  # a program's threads launch side by side
        self._client: socket.socket | None = None
        self._thread = threading.Thread(target=self._clients.serve, name="isakit-attach", daemon=True)
        self._thread.start()

    @property
    def wanted(self) -> bool:
        """True while a debugger is attached, or waited for."""
        return self._running.wanted

    def launch(self, machine: Machine, program: Program, kernel: str, there: Callable[[], object]) -> Machine:
        """Run a launch, one at a time; see `RunningProgram.launch`."""
        while not self._turn.acquire(timeout=_LOOK_SECONDS):
            there()
        try:
            return self._running.launch(machine, program, kernel, there)
        finally:
            self._turn.release()

    def close(self) -> None:
        """Tell the debugger that the program has ended, and close the socket."""
        self._running.end()
        self._clients.close()
        self._thread.join(_LAST_SECONDS)
        self._hang_up()
        self._thread.join()

    def _hang_up(self) -> None:
        client = self._client
        if client is not None:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _serve(self, client: socket.socket) -> bool:
        self._client = client
        first = self._first(client)
        if first not in (b"+", b"$", b"C", b"c", b"{"):
            self._client = None
            return False
        try:
            if not self._running.attach():
                return False
            if first in (b"+", b"$"):
                Conversation(self._running.session, client).run()
            elif first == b"{":
                _TerminalConversation(self._running, client).run()
            else:
                serve_editor(self._running.session, client)
        except OSError:  # the client went while its conversation began
            pass
        finally:
            self._client = None
            self._running.detach()
        return False

    @staticmethod
    def _first(client: socket.socket) -> bytes:
        """Return the first byte that a client sends; b"" if it disconnects or sends nothing."""
        if not select.select([client], [], [], _FIRST_SECONDS)[0]:
            return b""
        with suppress(OSError):
            return client.recv(1, socket.MSG_PEEK)
        return b""


def _nothing(chip: str) -> tuple[Machine, Program]:
    """Return a machine without instructions, and its empty program."""
    from isakit.instruction_sets import isa
    from isakit.runtime import Device

    program = isa("tesla", chip).assemble(".kernel nothing\nexit nop\n")
    return Device(chip, engine="reference").load(program)["nothing"].machine(1, 1), program


def _connected(place: int | str) -> socket.socket:
    try:
        if isinstance(place, int):
            return socket.create_connection((loopback.LOOPBACK, place))
        made = socket.socket(socket.AF_UNIX)
        try:
            made.connect(place)
        except OSError:
            made.close()
            raise
        return made
    except OSError as e:
        raise ProgramGoneError(f"no program to attach to at {place}: {e.strerror or e}") from None


def carry_bytes(place: int | str, source: int, to: int) -> None:
    """Copy bytes from a descriptor to the program at a place, and back, until one side ends.

    Raises ProgramGoneError.
    """
    with _connected(place) as there:
        waiting = [source, there.fileno()]
        while there.fileno() in waiting:
            for ready in until_readable(waiting):
                try:
                    data = os.read(ready, 1 << 16)
                    if not data:
                        waiting.remove(ready)
                        if ready == source:
                            there.shutdown(socket.SHUT_WR)
                    elif ready == source:
                        there.sendall(data)
                    else:
                        while data:
                            data = data[os.write(to, data) :]
                except OSError:  # either is gone
                    return


class RemoteCommands:
    """The commands of a session in another process, with the methods of `Commands` that a terminal uses.

    `pauses`: Ctrl-C interrupts the running program instead of ending this process. Raises ProgramGoneError without a
    program.
    """

    def __init__(self, place: int | str, *, pauses: bool) -> None:
        self.live, self._pauses = False, pauses
        self._socket = _connected(place)
        self._lines = _Lines(self._socket)
        self._say({"hello": 1})

    def stopped(self) -> Reply:
        """Wait for the first stop."""
        return self._reply()

    def run(self, line: str) -> Reply:
        """Execute a command; Ctrl-C meanwhile interrupts the program. Raises LaunchError."""
        self._say({"line": line})
        reply = self._reply()
        data: object = reply.data
        if isinstance(data, dict) and "error" in data:
            raise LaunchError(str(cast(dict[str, object], data)["error"]))
        return reply

    def completions(self, text: str) -> list[str]:
        """Return nothing: the names to complete are in the other process."""
        return []

    def close(self) -> None:
        """Disconnect from the program."""
        self._socket.close()

    def _say(self, what: dict[str, object]) -> None:
        try:
            self._socket.sendall(json.dumps(what).encode() + b"\n")
        except OSError:
            raise ProgramGoneError("the program is gone") from None

    def _reply(self) -> Reply:
        while True:
            try:
                said = self._lines.awaited()
            except KeyboardInterrupt:
                if not self._pauses:
                    raise
                self._say({"interrupt": True})
                continue
            except (OSError, EOFError):
                raise ProgramGoneError("the program is gone, or is being debugged by another") from None
            self.live = bool(said.get("live"))
            return Reply([str(x) for x in said.get("lines", [])], said.get("data"), bool(said.get("quit")))


__all__ = ["AttachServer", "RemoteCommands", "carry_bytes"]
