"""Clients of gdb's remote protocol: gdb itself, driven through its machine interface, and a bare socket."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from isakit.debug.gdb.packets import PacketReader, packet
from isakit.debug.gdb.server import GdbServer
from isakit.debug.gdb.stub import SCRIPT
from isakit.debug.session import Session
from support.patience import PATIENCE

GDB = shutil.which("gdb")


class Serving:
    """A session behind a port, served by a thread of this process."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.server = GdbServer(session)
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()

    @property
    def port(self) -> int:
        return self.server.port

    def end(self) -> None:
        """Wait until the server has ended by itself."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


class Bare:
    """A client that speaks packets."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.settimeout(PATIENCE)
        self.reader = PacketReader()

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """The next packet's content."""
        while True:
            event = self.reader.event()
            if event is not None and event[0] == "packet":
                self.raw(b"+")
                return event[1]
            if event is None:
                data = self.socket.recv(1 << 16)
                assert data, "the server has closed the connection"
                self.reader.feed(data)

    def ask(self, content: bytes) -> bytes:
        self.raw(packet(content))
        return self.receive()

    def monitor(self, line: str) -> str:
        return bytes.fromhex(self.ask(b"qRcmd," + line.encode().hex().encode()).decode()).decode()

    def close(self) -> None:
        self.socket.close()


class Gdb:
    """gdb with a program of ours, through its machine interface; `file` has its lines and variables."""

    def __init__(self, place: int | str, file: Path | None = None) -> None:
        assert GDB is not None
        self.process = subprocess.Popen(
            [GDB, "-q", "-nx", "--interpreter=mi3", *([str(file)] if file else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.said = ""
        for line in (
            "-gdb-set confirm off",
            f"-gdb-set remotetimeout {PATIENCE:.0f}",  # after two seconds it would ask again, and take both answers
            f'-interpreter-exec console "source {SCRIPT}"',
            f"-target-select remote {place if isinstance(place, str) else f'127.0.0.1:{place}'}",
        ):
            self.ask(line)

    def __enter__(self) -> Gdb:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.said
        self.said += line
        return line.rstrip("\n")

    def ask(self, command: str) -> str:
        """The result record of a command, without `^done,`. What the console shows of it is kept in `console`."""
        assert self.process.stdin is not None
        self.console = ""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        while True:
            line = self.line()
            if line[:1] in "~@":
                self.console += re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), line[2:-1])
            if line.startswith("^error"):
                raise RuntimeError(line)
            if line.startswith("^"):
                return line.partition(",")[2]

    def shown(self, command: str) -> str:
        """What the console shows of a command."""
        quoted = command.replace("\\", "\\\\").replace('"', '\\"')
        self.ask(f'-interpreter-exec console "{quoted}"')
        return self.console

    def stopped(self) -> dict[str, str]:
        """The next stop's fields that are plain strings."""
        while not (line := self.line()).startswith("*stopped"):
            pass
        return dict(re.findall(r'([a-z-]+)="([^"]*)"', line))

    def move(self, command: str) -> dict[str, str]:
        """A command that lets the program go, and where it stops."""
        self.ask(command)
        return self.stopped()

    def value(self, expression: str) -> str:
        quoted = expression.replace('"', '\\"')
        m: Any = re.search(r'value="(.*)"', self.ask(f'-data-evaluate-expression "{quoted}"'))
        return m[1]
