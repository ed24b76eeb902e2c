"""Captures: launches as files, so that they can be run again without their program.

A capture is a folder: `capture.json` says what it is, `launches/0001.json` and so on are the launches in their order,
`blobs/` holds code, constants and pieces of memory under the hash of their content, packed, each once. A launch whose
inputs are those of an earlier one is not written again.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isakit.errors import IsakitError, MachineFault
from isakit.machine.tesla import LinearWindow, Stats
from isakit.runtime import LoadedKernel

if TYPE_CHECKING:
    from isakit.hosts.cuda.session import LaunchRequest, Session

FORMAT = 1
KIND = "cuda"
PIECE = 1 << 16
"""Bytes of memory that are kept or left out together."""


class CaptureError(IsakitError):
    """A capture that cannot be written or read."""


def blob_name(data: bytes) -> str:
    """The name of a content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class LaunchRecorder:
    """Writes launches into a folder. Raises CaptureError where something else is in it already."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.written = folder, 0
        self._seen: set[str] = set()
        mark = folder / "capture.json"
        if folder.is_dir() and any(folder.iterdir()) and not mark.exists():
            raise CaptureError(f"{folder} holds something else; give a new folder for the capture")
        if mark.exists():
            raise CaptureError(f"{folder} holds a capture already; give a new folder")
        for part in ("launches", "blobs"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        mark.write_text(json.dumps({"kind": KIND, "format": FORMAT}) + "\n", "utf-8")

    def blob(self, data: bytes) -> str:
        """Keep a content; returns its name."""
        name = blob_name(data)
        path = self.folder / "blobs" / name
        if not path.exists():
            path.write_bytes(zlib.compress(data, 1))
        return name

    def record(self, session: Session, kernel: LoadedKernel, launch: LaunchRequest, run: Callable[[], Stats]) -> Stats:
        """Run a launch and write down what went in and came out."""
        before = dict(self._pieces(session))
        entry = self._inputs(session, kernel, launch, before)
        key = blob_name(json.dumps(entry, sort_keys=True).encode())
        if key in self._seen:
            return run()
        fault: str | None = None
        stats = Stats()
        try:
            stats = run()
        except MachineFault as e:
            fault = e.kind
            raise
        finally:
            after = dict(self._pieces(session))
            entry["after"] = {str(a): n for a, n in after.items() if before.get(a) != n}
            entry["after"] |= {str(a): "" for a in before.keys() - after.keys()}  # zero again
            entry["fault"], entry["instructions"] = fault, stats.instructions
            self._seen.add(key)
            self.written += 1
            path = self.folder / "launches" / f"{self.written:04}.json"
            path.write_text(json.dumps(entry, indent=1) + "\n", "utf-8")
        return stats

    def _pieces(self, session: Session) -> Iterator[tuple[int, str]]:
        """(address, blob) of all memory that is not zero."""
        memory = session.device.memory.memory.bytes
        for start, end in session.used_memory():
            for at in range(start, end, PIECE):
                piece = memory[at : min(at + PIECE, end)]
                if np.any(piece):
                    yield at, self.blob(piece.tobytes())

    def _inputs(
        self, session: Session, kernel: LoadedKernel, launch: LaunchRequest, before: dict[int, str]
    ) -> dict[str, Any]:
        windows = {n: w for n, w in session.device.windows.items() if n != 14 and isinstance(w, LinearWindow)}
        return {
            "kernel": launch.function.name,
            "module": self.blob(launch.function.module.placed),
            "chip": session.device.chip,
            "grid": launch.grid[:2],
            "block": launch.block,
            "shared": launch.shared,
            "params": launch.params.hex(),
            "constants": {str(bank): self.blob(bytes(data)) for bank, data in kernel.constants.items()},
            "windows": {str(n): [w.base, w.size] for n, w in windows.items()},
            "textures": self._textures(session, kernel, launch),
            "unbound": session.device.texturing.unbound,
            **({} if session.device.limits else {"limits": False}),
            "ranges": [[a, n] for a, n in session.device.memory.allocations.items()],
            "memory": {str(a): name for a, name in before.items()},
        }

    @staticmethod
    def _textures(session: Session, kernel: LoadedKernel, launch: LaunchRequest) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name in kernel.samplers:
            reference = session.bound_texture(launch.function.module, name)
            if reference is not None and reference.binding is not None:
                binding = {k: v for k, v in vars(reference.binding).items() if k != "array"}
                out[name] = {"binding": binding, "state": asdict(reference.state)}
        return out
