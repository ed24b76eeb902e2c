"""Lines and variables for a gdb without a file: its script requests them, in parts, whenever another program runs."""

from __future__ import annotations

import base64
import hashlib

from isakit.asm import Program
from isakit.debug.gdb.dwarf import debug_file
from isakit.debug.session import Session
from isakit.debug.sources import Sources
from isakit.errors import IsakitError

PART = 3 << 10
"""Bytes of an answer."""


class Symbols:
    """The ELF file of a session's program, and its PTX if that is the source."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._program: Program | None = None
        self._told = "-"
        self._content = b""

    def answer(self, rest: str) -> list[str]:
        """Answer `symbols PATH`: the digest of the file and the bytes of it and of the PTX, which gdb keeps at PATH.

        The answer is `-` for a program without a known source, and `=` for a session between two launches: the previous
        answer remains valid. `symbols PATH OFFSET` returns a part of both, the PTX after the file, in base 64.
        """
        path, _, offset = rest.rpartition(" ")
        if not offset.isdecimal():
            path, offset = rest, ""
        if not self._session.program.source_table and self._session.later:
            return ["="]
        if self._program is not self._session.program:
            self._program = self._session.program
            self._made(path)
        if not offset:
            return [self._told]
        return [base64.b64encode(self._content[int(offset) :][:PART]).decode()]

    def _made(self, path: str) -> None:
        ptx = Sources(self._session).ptx.encode()
        try:
            file = debug_file(self._session, path)
        except IsakitError:
            self._told, self._content = "-", b""
            return
        self._content = file + ptx
        self._told = f"{hashlib.sha256(self._content).hexdigest()} {len(file)} {len(ptx)}"


__all__ = ["PART", "Symbols"]
