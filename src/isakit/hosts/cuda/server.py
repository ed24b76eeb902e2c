"""The device process: one loop over the connections of a program's processes.

Requests are answered one at a time, kernels of one process after those of another. Reading never blocks for the rest of
a message, and a process that has sent many gets a limited turn, so that no process can hold up the others.

The processes have passed their sockets and may still hold them: they can change the socket's blocking flag at any time.
So every call is non-blocking by itself (`MSG_DONTWAIT`).
"""

from __future__ import annotations

import array
import os
import select
import selectors
import socket
import subprocess
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isakit.hosts.cuda.dispatch import ANSWER, HEADER, LONGEST, ClientExited, answer
from isakit.hosts.cuda.handler_table import ProtocolError
from isakit.hosts.cuda.process_device import DeviceOptions
from isakit.hosts.cuda.session import LaunchDebugger, Session
from isakit.hosts.cuda.statistics import Statistics
from isakit.hosts.cuda.table import functions
from isakit.machine.interrupts import deferred
from isakit.machine.progress import watching
from isakit.waits import NOTICE_SECONDS

if TYPE_CHECKING:
    from isakit.hosts.cuda.capture import LaunchRecorder

_CHUNK, _MUCH = 1 << 16, 1 << 20
"""Bytes read at once; the second number while a long message arrives."""
_SENDING = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_SEND_SECONDS = 10.0
_MOST_CONNECTIONS = 256
_MOST_UNFINISHED = 2 * LONGEST
"""Limit in bytes of incomplete messages of all processes together."""
_TURN_SECONDS = 0.05
"""Seconds after which another process gets its turn."""
_HUNG_UP = select.POLLHUP | select.POLLERR


@dataclass
class Connection:
    """A process of the program.

    Attributes: `buffer`: the received part of the next message; `waiting`: unprocessed messages; `unsent` part of the
    last answer, and its deadline `until`.
    """

    socket: socket.socket
    session: Session
    buffer: bytearray = field(default_factory=bytearray)
    waiting: deque[tuple[int, bytes]] = field(default_factory=deque[tuple[int, bytes]])
    unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    until: float = 0.0

    @property
    def ended(self) -> bool:
        """True if the process has exited, even if some of its data has not been read."""
        poll = select.poll()
        poll.register(self.socket, 0)
        return any(events & _HUNG_UP for _, events in poll.poll(0))

    @property
    def ready(self) -> bool:
        """True if a message can be answered."""
        return bool(self.waiting and not self.unsent)

    def messages(self) -> list[tuple[int, bytes]]:
        """Take the complete messages out of the buffer. Raises ProtocolError for one that is too long."""
        out: list[tuple[int, bytes]] = []
        at = 0
        while len(self.buffer) - at >= HEADER.size:
            number, length = HEADER.unpack_from(self.buffer, at)
            if length > LONGEST:
                raise ProtocolError(f"a message of {length} bytes")
            end = at + HEADER.size + length
            if len(self.buffer) < end:
                break
            with memoryview(self.buffer) as received:
                out.append((number, bytes(received[at + HEADER.size : end])))
            at = end
        del self.buffer[:at]
        return out


def _stream(fd: int) -> socket.socket | None:
    """Return the stream socket behind a descriptor that a process passed; anything else is closed."""
    try:
        found = socket.socket(fileno=fd)
    except OSError:
        os.close(fd)
        return None
    try:
        if (found.family, found.type) == (socket.AF_UNIX, socket.SOCK_STREAM):
            found.getpeername()  # raises OSError for one without another end
            return found
    except OSError:
        pass
    found.close()
    return None


class CudaServer:
    """Serves the processes of a program.

    Args:
        options: the options of the device.
        broker: a pair of sockets; through the second one, which the program inherits, its processes introduce
            themselves.
        recorder: captures the launches, if given.
        debugger: runs the launches, if given.
    """

    def __init__(
        self,
        options: DeviceOptions,
        broker: tuple[socket.socket, socket.socket],
        recorder: LaunchRecorder | None = None,
        debugger: LaunchDebugger | None = None,
    ) -> None:
        self.options, self.recorder, self.debugger = options, recorder, debugger
        self.statistics = Statistics()
        self.broker, self.program_end = broker
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.broker, selectors.EVENT_READ, None)
        self.connections: list[Connection] = []
        self.served = 0
        self._hello = functions()["hello"].number
        self._current: Connection | None = None

    def serve(self, child: subprocess.Popen[bytes]) -> int:
        """Serve until the child has exited; return its `Popen.returncode`."""
        try:
            pid = os.pidfd_open(child.pid)
        except ProcessLookupError:  # a signal has ended it, and it has been waited for
            self.close()
            return child.returncode
        try:
            self.selector.register(pid, selectors.EVENT_READ, child)
            with deferred():  # once, because every launch does it otherwise
                self._until_ended(child)
            self.selector.unregister(pid)
        finally:
            os.close(pid)
            self.close()
        return child.returncode

    def _until_ended(self, child: subprocess.Popen[bytes]) -> None:
        while child.returncode is None:
            for connection in list(self.connections):
                if connection.unsent:
                    self._send_on(connection)
                elif connection.waiting:
                    self.work(connection)
            busy = any(c.ready for c in self.connections)
            for key, _ in self.selector.select(0 if busy else NOTICE_SECONDS):
                if key.data is None:
                    self.accept()
                elif isinstance(key.data, Connection) and not key.data.unsent:  # else there is room
                    self.read(key.data)
                elif key.data is child:
                    child.poll()

    def close(self) -> None:
        """Close all connections and free their resources."""
        for connection in list(self.connections):
            self.drop(connection)
        for end in (self.broker, self.program_end):
            end.close()
        self.selector.close()

    # --- connections ------------------------------------------------------------------------------------------------
    def accept(self) -> None:
        """Accept a connection that a process passes."""
        for fd in self._received():
            connected = _stream(fd)
            if connected is None:
                continue
            try:
                if len(self.connections) >= _MOST_CONNECTIONS:
                    raise OSError(f"{_MOST_CONNECTIONS} processes are connected already")
                connection = Connection(connected, Session(self.options, self.statistics, self.recorder, self.debugger))
            except OSError as e:  # also where there are no descriptors left
                self.options.tell(f"a process cannot be served: {e}")
                connected.close()
                continue
            self.connections.append(connection)
            self.served += 1
            self.selector.register(connected, selectors.EVENT_READ, connection)

    def _received(self) -> list[int]:
        fds = array.array("i")
        try:
            _, ancillary, _, _ = self.broker.recvmsg(1, socket.CMSG_SPACE(8 * fds.itemsize), socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError, ConnectionError):
            return []
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        return list(fds)

    def drop(self, connection: Connection) -> None:
        """Close a connection and its session."""
        self.connections.remove(connection)
        self.selector.unregister(connection.socket)
        connection.socket.close()
        connection.session.close()

    def read(self, connection: Connection) -> None:
        """Receive bytes and answer complete messages, for one turn at most."""
        if connection.waiting:
            return
        try:
            room = _MUCH if len(connection.buffer) > _CHUNK // 2 else _CHUNK
            data = connection.socket.recv(room, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.drop(connection)
            return
        connection.buffer += data
        try:
            connection.waiting.extend(connection.messages())
            if len(connection.buffer) > _MUCH and sum(len(c.buffer) for c in self.connections) > _MOST_UNFINISHED:
                raise ProtocolError(f"more than {_MOST_UNFINISHED} bytes of messages are under way")
        except ProtocolError as e:
            self._refuse(connection, e)
        else:
            self.work(connection)

    def work(self, connection: Connection) -> None:
        """Answer messages until none waits or the turn is over."""
        self._current, end = connection, time.monotonic() + _TURN_SECONDS
        try:
            with watching(self._still_there):
                while connection.ready:
                    self.answer(connection, *connection.waiting.popleft())
                    if connection.waiting and time.monotonic() >= end:
                        return
        except ProtocolError as e:
            self._refuse(connection, e)
        except (ClientExited, OSError):
            self.drop(connection)

    def _refuse(self, connection: Connection, e: ProtocolError) -> None:
        self.options.tell(f"process {connection.session.process}: {e}; its connection is closed")
        self.drop(connection)

    def answer(self, connection: Connection, number: int, body: bytes) -> None:
        """Answer one message."""
        reply = answer(connection.session, number, body)
        if reply:
            self._send(connection, reply)
        if number == self._hello and ANSWER.unpack_from(reply)[0] == 0:  # the memory file follows the greeting's answer
            self._send_file(connection)

    @staticmethod
    def _send_file(connection: Connection) -> None:
        if connection.unsent:
            raise BlockingIOError("no room for a greeting")
        file = array.array("i", [connection.session.file])
        connection.socket.sendmsg([b"m"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, file)], _SENDING)

    def _send(self, connection: Connection, data: bytes) -> None:
        """Send an answer, the rest when the socket is writable again; until then the process is not served."""
        try:
            sent = connection.socket.send(data, _SENDING)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            connection.unsent, connection.until = memoryview(data)[sent:], time.monotonic() + _SEND_SECONDS
            self.selector.modify(connection.socket, selectors.EVENT_WRITE, connection)

    def _send_on(self, connection: Connection) -> None:
        """Send more of an answer; a process that does not read it in time is dropped."""
        try:
            connection.unsent = connection.unsent[connection.socket.send(connection.unsent, _SENDING) :]
        except BlockingIOError:
            pass
        except OSError:
            self.drop(connection)
            return
        if not connection.unsent:
            self.selector.modify(connection.socket, selectors.EVENT_READ, connection)
        elif time.monotonic() > connection.until:
            self.options.tell(f"process {connection.session.process} does not read its answers; it is not served")
            self.drop(connection)

    def _still_there(self, done: int, total: int) -> None:
        """Raise ClientExited if the process of the running kernel has exited; called periodically while it runs."""
        if self._current is not None and self._current.ended:
            raise ClientExited
