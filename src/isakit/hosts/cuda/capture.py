"""Captures: launches as files, so that they can be run again without their program.

A capture is a folder: `capture.json` identifies it, `launches/0001.json` and so on are the launches in order, `blobs/`
holds code, constants and pieces of memory under the hash of their content, compressed, each once. A launch with the
same inputs as an earlier one is not written again. `libraries.txt` lists the library functions executed on the host,
each line with the number of the launch before it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from isakit.errors import IsakitError, MachineFault
from isakit.hosts.cuda.objects import LaunchRequest, TextureReference
from isakit.hosts.cuda.process_device import ProcessDevice
from isakit.json_text import JsonObject
from isakit.machine.tesla import LinearWindow, Stats
from isakit.runtime import LoadedKernel

FORMAT = 1
KIND = "cuda"
LIBRARY_CALLS = "libraries.txt"
PIECE = 1 << 16
"""Bytes of memory that are stored or skipped as a unit."""


class CaptureError(IsakitError):
    """A capture that cannot be written or read."""


def blob_name(data: bytes) -> str:
    """Return the name of a blob: the hash of its content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class LaunchRecorder:
    """Writes launches into a folder. Raises CaptureError if the folder has other content."""

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
        """Store a blob; return its name."""
        name = blob_name(data)
        path = self.folder / "blobs" / name
        if not path.exists():
            path.write_bytes(zlib.compress(data, 1))
        return name

    def library(self, name: str) -> None:
        """Record that a library function was executed on the host after the launches written so far.

        It is not replayed.
        """
        with (self.folder / LIBRARY_CALLS).open("a", encoding="utf-8") as out:
            out.write(f"{self.written} {name}\n")

    def record(
        self,
        process: ProcessDevice,
        kernel: LoadedKernel,
        launch: LaunchRequest,
        textures: Mapping[str, TextureReference | None],
        run: Callable[[], Stats],
    ) -> Stats:
        """Run a launch and write its inputs and outputs; `textures` are those of the kernel, by name."""
        before = dict(self._pieces(process))
        entry = self._inputs(process, kernel, launch, textures, before)
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
            after = dict(self._pieces(process))
            entry["after"] = {str(a): n for a, n in after.items() if before.get(a) != n}
            entry["after"] |= {str(a): "" for a in before.keys() - after.keys()}  # zero again
            entry["fault"], entry["instructions"] = fault, stats.instructions
            self._seen.add(key)
            self.written += 1
            path = self.folder / "launches" / f"{self.written:04}.json"
            path.write_text(json.dumps(entry, indent=1) + "\n", "utf-8")
        return stats

    def _pieces(self, process: ProcessDevice) -> Iterator[tuple[int, str]]:
        """Yield (address, blob) of all memory that is not zero."""
        memory = process.device.memory.memory.bytes
        for start, end in process.used_memory():
            for at in range(start, end, PIECE):
                piece = memory[at : min(at + PIECE, end)]
                if np.any(piece):
                    yield at, self.blob(piece.tobytes())

    def _inputs(
        self,
        process: ProcessDevice,
        kernel: LoadedKernel,
        launch: LaunchRequest,
        textures: Mapping[str, TextureReference | None],
        before: dict[int, str],
    ) -> JsonObject:
        windows = {n: w for n, w in process.device.windows.items() if n != 14 and isinstance(w, LinearWindow)}
        return {
            "kernel": launch.function.name,
            "module": self.blob(launch.function.module.placed),
            "chip": process.device.chip,
            "grid": launch.grid[:2],
            "block": launch.block,
            "shared": launch.shared,
            "params": launch.params.hex(),
            "constants": {str(bank): self.blob(bytes(data)) for bank, data in kernel.constants.items()},
            "windows": {str(n): [w.base, w.size] for n, w in windows.items()},
            "textures": _described(textures),
            "unbound": process.device.texturing.unbound,
            **({} if process.device.limits else {"limits": False}),
            "ranges": [[a, n] for a, n in process.device.memory.allocations.items()],
            "memory": {str(a): name for a, name in before.items()},
        }


def _described(textures: Mapping[str, TextureReference | None]) -> JsonObject:
    """Return the bindings and states of the texture references that are bound, by name."""
    out: JsonObject = {}
    for name, reference in textures.items():
        if reference is not None and reference.binding is not None:
            binding = {k: v for k, v in vars(reference.binding).items() if k != "array"}
            out[name] = {"binding": binding, "state": asdict(reference.state)}
    return out
