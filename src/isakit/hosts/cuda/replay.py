"""Replays captured launches on any engine, and compares their results."""

from __future__ import annotations

import errno
import os
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from isakit.errors import FormatError, HostError, MachineFault
from isakit.formats import load_image
from isakit.hosts.cuda.capture import FORMAT, KIND, LIBRARY_CALLS, PIECE, CaptureError, blob_name
from isakit.hosts.cuda.heap import WINDOW
from isakit.hosts.cuda.objects import Binding, ChannelFormat, TextureState
from isakit.hosts.cuda.textures import sampler_of, texture_over
from isakit.hosts.mappings import SPARSE, memory_file
from isakit.json_text import JsonObject, parse_object
from isakit.machine.tesla import LinearWindow, Stats
from isakit.results import OMITTED, Omitted
from isakit.runtime import Device, LoadedKernel

_LONGEST_BLOB = 1 << 26
_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class ByteDifference:
    """A byte that differs after a replay: its address, its value in the capture and in the replay."""

    address: int
    expected: int
    found: int


@dataclass
class Outcome:
    """A replayed launch: its number and kernel, its counts, its fault, and its differences from the capture."""

    number: int
    kernel: str
    stats: Stats
    fault: MachineFault | None = None
    expected_fault: str | None = None
    different: int = 0
    first: list[ByteDifference] = field(default_factory=list[ByteDifference])

    @property
    def same(self) -> bool:
        """True if the launch had the same results and fault as in the capture."""
        return not self.different and (self.fault.kind if self.fault else None) == self.expected_fault


@dataclass(frozen=True)
class OutcomeRecord:
    """An `Outcome` for JSON; the last three only if it was compared with the capture."""

    launch: int
    kernel: str
    instructions: int
    seconds: float
    fault: str | None
    same: bool | Omitted = OMITTED
    different: int | Omitted = OMITTED
    first: list[ByteDifference] | Omitted = OMITTED


def _extent(entry: JsonObject) -> int:
    """Return the size in bytes of the device memory that a launch needs, from address 0 on.

    It is twice the range that the launch names: variables of its module are placed after that range at first.
    """
    ends = [address + size for address, size in entry["ranges"]]
    ends += [int(address) + PIECE for part in (entry["memory"], entry["after"]) for address in part]
    return min(2 * max(ends, default=0) + PIECE, WINDOW)


def _content(path: Path) -> bytes:
    """Read a file of a capture. Raises OSError, also for a pipe or a device, which could block forever."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not an ordinary file")
    return path.read_bytes()


class Capture:
    """A folder of captured launches, or one of its launch files. Raises CaptureError for anything else."""

    def __init__(self, path: Path) -> None:
        one = path if path.is_file() else None
        self.folder = path.parent.parent if one else path
        about = self._json(self.folder / "capture.json")
        if about.get("kind") != KIND or about.get("format") != FORMAT:
            raise CaptureError(f"{self.folder} holds no captured CUDA launches of format {FORMAT}")
        files = [one] if one else sorted((self.folder / "launches").glob("*.json"))
        self.launches = {int(f.stem): f for f in files if f.stem.isdigit()}

    @staticmethod
    def _json(path: Path) -> JsonObject:
        try:
            return parse_object(_content(path))
        except FileNotFoundError:
            raise CaptureError(f"{path.parent} is not a capture: {path.name} is missing") from None
        except (OSError, ValueError) as e:
            raise CaptureError(f"{path}: {e}") from None

    def blob(self, name: object) -> bytes:
        """Return a blob by name. Raises CaptureError if it is missing or damaged."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise CaptureError(f"{name!r} names no content")
        path = self.folder / "blobs" / name
        try:
            unpack = zlib.decompressobj()
            data = unpack.decompress(_content(path), _LONGEST_BLOB)
        except (OSError, zlib.error) as e:
            raise CaptureError(f"{path}: {e}") from None
        if blob_name(data) != name:
            raise CaptureError(f"{path} is damaged")
        return data

    def libraries(self) -> dict[int, list[str]]:
        """Return the library functions executed on the host, by the launch they followed. Raises CaptureError."""
        path = self.folder / LIBRARY_CALLS
        out: dict[int, list[str]] = {}
        try:
            lines = _content(path).decode().splitlines() if path.exists() else []
            for line in lines:
                number, _, name = line.partition(" ")
                out.setdefault(int(number), []).append(name)
        except (OSError, ValueError) as e:
            raise CaptureError(f"{path}: {e}") from None
        return out

    def launch(self, number: int) -> JsonObject:
        """Return the content of a launch file. Raises CaptureError."""
        if number not in self.launches:
            raise CaptureError(f"{self.folder} has no launch {number}; it has {len(self.launches)}")
        return self._json(self.launches[number])

    def replay(
        self, number: int, *, check: bool = False, max_instructions: int | None = None, **options: object
    ) -> Outcome:
        """Run a launch again.

        Args:
            number: the launch.
            check: compare the resulting memory with the capture.
            max_instructions: limit, as in `LoadedKernel.launch`.
            **options: engine, tier and threads of the device.

        Raises CaptureError and FormatError for a damaged capture, BudgetExceeded.
        """
        entry = self.launch(number)
        with self.reading(number):
            return self._replay(number, entry, check, max_instructions, options)

    @contextmanager
    def reading(self, number: int) -> Generator[None]:
        """Convert errors that a launch file's content causes to CaptureError."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as e:
            raise CaptureError(f"{self.launches[number]}: {type(e).__name__}: {e}") from None

    def prepare(self, number: int, **options: object) -> tuple[Device, LoadedKernel, JsonObject]:
        """Return the device as before a launch, the kernel, and the options for its `launch` or `machine`.

        For use inside of `reading`.
        """
        return self._prepare(self.launch(number), options)

    def _prepare(self, entry: JsonObject, options: JsonObject) -> tuple[Device, LoadedKernel, JsonObject]:
        size = WINDOW if SPARSE else _extent(entry)
        try:
            file, pages = memory_file("isakit-device", size)
        except OSError as e:
            raise HostError(f"no {size >> 20} MiB of addresses for the device's memory: {e.strerror}") from None
        if file >= 0:
            os.close(file)
        device = Device(entry["chip"], memory=pages, **options)
        if entry.get("unbound") == "zero":
            device.texturing = replace(device.texturing, unbound="zero")
        module = device.load(load_image(self.blob(entry["module"])))
        for variable in module.globals.values():  # their place and content are those of the capture
            variable.free()
        for address, size in entry["ranges"]:
            device.memory.alloc(size, address, zeroed=False)
        memory = device.memory.memory.bytes
        for address, data in self._contents(entry["memory"]):
            memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
        if entry["kernel"] not in module:
            raise CaptureError(f"the module has no kernel {entry['kernel']!r}")
        kernel = module[entry["kernel"]]
        kernel.constants.update({int(bank): self.blob(name) for bank, name in entry["constants"].items()})
        for number, (base, size) in entry["windows"].items():
            device.bind(int(number), LinearWindow(base, size))
        for name, texture in entry["textures"].items():
            state = dict(texture["state"])
            channel = state.pop("channel")
            state["modes"] = tuple(state["modes"])
            known = TextureState(**state, channel=ChannelFormat(tuple(channel["bits"]), channel["kind"]))
            kernel.bind(name, texture_over(memory, Binding(**texture["binding"]), known), sampler_of(known))
        device.limits = bool(entry.get("limits", True))
        shape = {"grid": tuple(entry["grid"]), "block": tuple(entry["block"])}
        return device, kernel, {
            **shape, "param_bytes": bytes.fromhex(entry["params"]), "dynamic_shared": int(entry["shared"])
        }  # fmt: skip

    def _contents(self, pieces: dict[str, str]) -> Iterator[tuple[int, bytes]]:
        for text, name in pieces.items():
            address, data = int(text), self.blob(name) if name else bytes(PIECE)
            if address < 0 or address + len(data) > WINDOW - PIECE:
                raise CaptureError(f"memory at {address:#x}")
            yield address, data

    def _replay(self, number: int, entry: JsonObject, check: bool, limit: int | None, options: JsonObject) -> Outcome:
        device, kernel, launch = self._prepare(entry, options)
        outcome = Outcome(number, entry["kernel"], Stats(), expected_fault=entry.get("fault"))
        try:
            outcome.stats = kernel.launch(**launch, max_instructions=limit)
        except MachineFault as e:
            outcome.fault = e
        if check:
            self._compare(device, entry, outcome)
        return outcome

    def _compare(self, device: Device, entry: JsonObject, outcome: Outcome) -> None:
        """Compare the memory with the capture, both changed and unchanged parts."""
        memory = device.memory.memory.bytes
        expected = {**entry["memory"], **entry["after"]}
        for address, data in self._contents(expected):
            wanted = np.frombuffer(data, np.uint8)
            found = memory[address : address + len(data)]
            wrong = np.flatnonzero(wanted != found)
            outcome.different += len(wrong)
            for k in wrong[: max(0, 8 - len(outcome.first))]:
                outcome.first.append(ByteDifference(address + int(k), int(wanted[k]), int(found[k])))


__all__ = ["ByteDifference", "Capture", "CaptureError", "FormatError", "Outcome"]
