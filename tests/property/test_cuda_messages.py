"""Damaged messages in both directions: neither end crashes, hangs or touches what is not its own."""

from __future__ import annotations

import os
import random
import socket
import struct
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from isakit.errors import IsakitError
from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.dispatch import ANSWER, HEADER, answer
from isakit.hosts.cuda.handler_table import ProtocolError
from isakit.hosts.cuda.objects import LaunchRequest
from isakit.hosts.cuda.process_device import DeviceOptions
from isakit.hosts.cuda.server import Connection
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import by_number, fingerprint, functions
from isakit.runtime import LoadedKernel
from support.clients import cuda_build
from support.patience import PATIENCE

EDGES = (0, 1, 2, 3, 7, 255, 4096, 65535, 65536, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - 1)


class Brief(Session):
    """Kernels of the fuzzer end soon, whatever their grid is."""

    def _run(self, kernel: LoadedKernel, launch: LaunchRequest, prepared: Any) -> Any:
        return kernel.launch(
            launch.grid[:2], launch.block, param_bytes=launch.params, dynamic_shared=launch.shared, max_instructions=200
        )


def message(name: str, *numbers: int, tail: bytes = b"") -> tuple[int, bytes]:
    return functions()[name].number, struct.pack(f"<{len(numbers)}Q", *numbers) + tail


def opening() -> list[tuple[int, bytes]]:
    """Messages of a program that gets to its launches."""
    m64 = (1 << 64) - 1
    desc = struct.pack("<5i", 32, 0, 0, 0, 2)
    reference = struct.pack("<10i", 0, 0, 1, 1, 1, 32, 0, 0, 0, 2)
    args = struct.pack("<QQI", 0x20000, 0x20000, 64)
    copies = functions()["cudaMemcpy"].number
    cubin = cuda_build.container([cuda_build.Entry(2, 10, cuda_build.elf_cubin())])
    return [
        message("hello", fingerprint(), 1, 8, tail=b"libcudart.so.4"),
        message("module", 1, tail=cubin),
        message("function", 1, tail=b"affine"),
        message("function", 1, tail=b"fetch"),
        message("symbol", 1, 16, 1, tail=b"table"),
        message("texture", 1, 1, 0, tail=b"line"),
        message("cudaMalloc", 4096),
        message("cudaMalloc", 1 << 20),
        message("cudaMallocHost", 4096),
        message("cudaMallocArray", 16, 16, 0, tail=desc),
        message("cudaStreamCreate"),
        message("cudaEventCreate"),
        message("copy", copies, 0, 1, 4096, 1, 1, 2, 0x20000, 0, 0, 0, m64, 0, 1, 0, 0, 0, 0, m64, 0),
        message("copy", copies, 0, 1, 8, 4, 1, 3, 0x1010, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 64, 0),
        message("bind", 1, 1, 0x20000, 4096, 0, 0, tail=reference),
        message("texture_state", 1, tail=reference),
        message("thread", 2),
        message("launch", 0, 1, 0, 1, 1, 1, 64, 1, 1, 0, tail=args),
        message("launch", 0, 2, 0, 1, 1, 1, 64, 1, 1, 0, tail=args[:8]),
        message("post", 0, 1, 0, 1, 1, 1, 64, 1, 1, 0, tail=args),
        message("where", 1),
        message("attributes", 0, 1),
        message("cuCtxCreate_v2", 0, 0),
        message("build_module", 1, 0),
        message("module_handle", 1),
        message("module_log", 1, 1, 100),
        message("module_code", 1, 64),
        message("cuMemAlloc_v2", 4096),
        message("pin", m64, 8192, 2),
    ]


def mutated(rng: random.Random, number: int, body: bytes) -> tuple[int, bytes]:
    """A message with something wrong."""
    data = bytearray(body)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        match rng.randrange(7):
            case 0 if len(data) >= 8:
                at = 8 * rng.randrange(len(data) // 8)
                value = rng.choice(EDGES) if rng.random() < 0.7 else rng.randrange(1 << 64)
                data[at : at + 8] = value.to_bytes(8, "little")
            case 1 if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 2:
                del data[rng.randrange(len(data) + 1) :]
            case 3:
                data += rng.randbytes(rng.randrange(64))
            case 4:
                number = rng.choice([*by_number(), 0, 1 << 20])
                f = by_number().get(number)
                if f is not None and rng.random() < 0.8:  # its right length
                    size = 8 * len(f.sent) + (f.tail.room if f.tail is not None else 0)
                    values = b"".join(rng.choice(EDGES).to_bytes(8, "little") for _ in range(len(f.sent)))
                    data = bytearray((values + bytes(data))[:size].ljust(size, b"\0"))
            case 5 if len(data) >= 8:
                at = 8 * rng.randrange(len(data) // 8)
                near = int.from_bytes(data[at : at + 8], "little") + rng.choice((-1, 1, 8, -256))
                data[at : at + 8] = (near & (1 << 64) - 1).to_bytes(8, "little")
            case _:
                pass
    return number, bytes(data)


def serve_damaged(seed: int, count: int) -> int:
    """Answer mutated messages; returns how many were answered without an error."""
    rng = random.Random(seed)
    said: list[str] = []
    good = done = 0
    templates = opening()
    while done < count:
        session = Brief(DeviceOptions(card("sm_13"), engine="reference", tell=said.append))
        try:
            for number, body in templates:
                answer(session, number, body)
            for _ in range(min(250, count - done)):
                done += 1
                number, body = mutated(rng, *rng.choice(templates))
                try:
                    reply = answer(session, number, body)
                except ProtocolError:
                    continue
                if not reply:  # a launch that is not waited for
                    assert number == functions()["post"].number
                    continue
                code, length = ANSWER.unpack_from(reply)
                assert len(reply) == ANSWER.size + length
                assert code >= 0
                assert not (code and length)
                good += not code
        finally:
            session.close()
    assert not [line for line in said if line.startswith("internal error")], said
    return good


def test_damaged_requests_are_errors_of_the_program() -> None:
    assert serve_damaged(1, 2000) > 200  # most numbers name other functions, and a wrong address loses the device


@pytest.mark.slow
def test_a_hundred_thousand_damaged_requests() -> None:
    assert serve_damaged(2, 100_000) > 10_000


def test_messages_that_are_too_long_or_cut_are_found() -> None:
    left, right = socket.socketpair()
    with left, right:
        connection = Connection(left, None)  # type: ignore[arg-type]
        connection.buffer += HEADER.pack(5, 4) + b"ab"
        assert connection.messages() == []
        connection.buffer += b"cd" + HEADER.pack(6, 0)
        assert connection.messages() == [(5, b"abcd"), (6, b"")]
        connection.buffer += HEADER.pack(7, (1 << 32) - 1)
        with pytest.raises(ProtocolError):
            connection.messages()


# --- the other direction: answers -------------------------------------------------------------------------------
class Liar(threading.Thread):
    """A server that answers like the real one, but changes some of its answers: `changed` of them."""

    def __init__(self, seed: int) -> None:
        super().__init__(daemon=True)
        self.rng = random.Random(seed)
        self.broker, self.program_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.hello = functions()["hello"].number
        self.changed = 0

    def run(self) -> None:
        while True:
            try:
                _, fds, _, _ = socket.recv_fds(self.broker, 1, 4)
            except OSError:
                return
            if not fds:
                return
            with socket.socket(fileno=fds[0]) as connected:
                session = Brief(DeviceOptions(card("sm_13"), engine="reference", tell=lambda _: None))
                try:
                    self.talk(connected, session)
                except (OSError, IsakitError):
                    pass
                finally:
                    session.close()

    def talk(self, connected: socket.socket, session: Session) -> None:
        connected.settimeout(PATIENCE)
        damage = self.rng.random() < 0.95
        while head := connected.recv(HEADER.size, socket.MSG_WAITALL):
            number, length = HEADER.unpack(head)
            body = connected.recv(length, socket.MSG_WAITALL) if length else b""
            reply = answer(session, number, body)
            if number == self.hello:
                if damage and self.rng.random() < 0.05:
                    self.changed += 1
                    connected.sendall(self.rng.randbytes(self.rng.randrange(40)))
                    return
                connected.sendall(reply)
                socket.send_fds(connected, [b"m"], [session.file])
                continue
            wrong = damage and bool(reply) and self.rng.random() < 0.15
            if wrong:
                reply = self.damaged(reply)
                self.changed += 1
            connected.sendall(reply)
            if wrong and len(reply) < ANSWER.size + ANSWER.unpack_from(reply.ljust(8, b"\0"))[1]:
                return  # the rest never comes

    def damaged(self, reply: bytes) -> bytes:
        data = bytearray(reply)
        match self.rng.randrange(6):
            case 0:
                return self.rng.randbytes(self.rng.randrange(64))
            case 1:
                return bytes(data[: self.rng.randrange(len(data))])
            case 2 if len(data) > ANSWER.size:
                at = ANSWER.size + 8 * self.rng.randrange((len(data) - 1) // 8)
                data[at : at + 8] = self.rng.choice(EDGES).to_bytes(8, "little")
            case 3:
                data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
            case 4:
                extra = self.rng.randbytes(8 * self.rng.randrange(1, 400))
                code, length = ANSWER.unpack_from(data)
                data = bytearray(ANSWER.pack(code, length + len(extra)) + data[ANSWER.size :] + extra)
            case _:
                data[:4] = self.rng.choice(EDGES).to_bytes(8, "little")[:4]
        return bytes(data)


def lie(folder: Path, seed: int, count: int, flags: str = "") -> int:
    """Run so many processes of the program; returns how many damaged answers they got."""
    from isakit.hosts.cuda.build import library_folder

    program = cuda_build.build("calls", folder, flags=flags.split())
    before = os.environ.get("ISAKIT_CUDA_CFLAGS")
    try:
        os.environ["ISAKIT_CUDA_CFLAGS"] = flags
        library = library_folder()
    finally:
        os.environ.pop("ISAKIT_CUDA_CFLAGS")
        if before is not None:
            os.environ["ISAKIT_CUDA_CFLAGS"] = before
    liar = Liar(seed)
    liar.start()
    fd = liar.program_end.fileno()
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(library), "ISAKIT_CUDA": str(fd), "ASAN_OPTIONS": "detect_leaks=0"
    }  # fmt: skip
    done = subprocess.run(
        [program, str(count), str(seed)], pass_fds=(fd,), env=environment, capture_output=True, text=True, check=False
    )
    liar.broker.close()
    assert done.stdout == f"{count} ok\n", done.stdout + done.stderr
    return liar.changed


needs_compiler = pytest.mark.skipif(not cuda_build.has_compiler(), reason="needs `cc` on 64-bit x86 Linux")


@needs_compiler
def test_damaged_answers_do_not_harm_the_program(tmp_path: Path) -> None:
    assert lie(tmp_path, 1, 60) > 40


@needs_compiler
@pytest.mark.slow
def test_many_damaged_answers_with_checks_of_addresses(tmp_path: Path) -> None:
    """Each process sends about 30 messages, until one is so damaged that the connection ends."""
    assert lie(tmp_path, 2, 5_000, "-fsanitize=address,undefined -fno-sanitize-recover=all") > 4_000
