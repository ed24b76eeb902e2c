"""A program that uses CUDA, without a C compiler: it sends the messages that the C library would send for it."""

from __future__ import annotations

import struct
from typing import Any

from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.dispatch import ANSWER, answer
from isakit.hosts.cuda.handlers.copies import IN_SYMBOL, ON_HOST
from isakit.hosts.cuda.process_device import DeviceOptions
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import fingerprint, functions

TIGHT = (1 << 64) - 1
FLOAT = (32, 0, 0, 0, 2)
"""What cudaCreateChannelDesc makes of a float."""


class CudaProgram:
    """One process with a module: registers it, copies, binds and launches; every call but `code` must succeed.

    Arguments: `chip` ("sm_10" to "sm_13"), the kind of the image (FAT_CONTAINER, OLD_LIST or WHOLE_FILE) and its bytes.
    """

    def __init__(self, chip: str, kind: int, image: bytes, **options: Any) -> None:
        self.said: list[str] = []
        self.session = Session(DeviceOptions(card(chip), tell=self.said.append, **options))
        self.call("hello", fingerprint(), 1, 8, tail=b"libcudart.so.4")
        self.call("thread", 1)
        (self.module,) = self.call("module", kind, tail=image)

    def __enter__(self) -> CudaProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()
        assert not [line for line in self.said if "internal error" in line], self.said

    def _sent(self, name: str, numbers: tuple[int, ...], tail: bytes) -> tuple[int, bytes]:
        body = struct.pack(f"<{len(numbers)}Q", *(n & TIGHT for n in numbers)) + tail
        reply = answer(self.session, functions()[name].number, body)
        return ANSWER.unpack_from(reply)[0], reply[ANSWER.size :]

    def code(self, name: str, *numbers: int, tail: bytes = b"") -> int:
        """The status of a call."""
        return self._sent(name, numbers, tail)[0]

    def call(self, name: str, *numbers: int, tail: bytes = b"") -> tuple[int, ...]:
        """The numbers a call gives back."""
        status, back = self._sent(name, numbers, tail)
        assert status == 0, f"{name} is {status}: {self.said}"
        return struct.unpack_from(f"<{len(functions()[name].returned)}Q", back)

    def alloc(self, data: bytes) -> int:
        """The address of device memory that holds these bytes."""
        (address,) = self.call("cudaMalloc", len(data))
        self.session.pages[address : address + len(data)] = data
        return address

    def read(self, address: int, layout: str) -> tuple[Any, ...]:
        """Values in device memory, by the letters of `struct`."""
        return struct.unpack_from(f"<{layout}", self.session.pages, address)

    def symbol(self, name: str, size: int, constant: bool) -> int:
        """The number of a variable that the program registers."""
        return self.call("symbol", self.module, size, constant, tail=name.encode())[0]

    def write_symbol(self, symbol: int, offset: int, data: bytes) -> int:
        """What cudaMemcpyToSymbol does; the status of it."""
        call = functions()["cudaMemcpyToSymbol"].number
        device, host = (IN_SYMBOL, symbol, offset, 0, 0, TIGHT, 0), (ON_HOST, 0, 0, 0, 0, TIGHT, 0)
        numbers = (call, 0, 1, len(data), 1, 1, *device, *host)
        status, back = self._sent("copy", numbers, b"")
        if not status:
            (address,) = struct.unpack_from("<Q", back)
            self.session.pages[address : address + len(data)] = data
        return status

    def launch(self, name: str, grid: int, block: int, arguments: bytes, *, stream: int = 0) -> int:
        """What cudaLaunch does for a kernel that the program registers; the status of it."""
        (function,) = self.call("function", self.module, tail=name.encode())
        return self.code("launch", 0, function, stream, grid, 1, 1, block, 1, 1, 0, tail=arguments)

    def texture(self, name: str, dimensions: int) -> int:
        """The number of a texture reference that the program registers."""
        return self.call("texture", self.module, dimensions, 0, tail=name.encode())[0]
