"""A capture of one launch of the first lesson, made without a CUDA program."""

from __future__ import annotations

import json
import zlib

import numpy as np

import isakit
from isakit.hosts.cuda.capture import blob_name
from isakit.programs import write
from isakit.web.lessons import lesson


def captured_launch() -> dict[str, bytes]:
    """The files of the capture by their paths in its folder; each array has 64 numbers."""
    program = isakit.isa("tesla", "gt200").assemble(lesson("01-first-kernel")["source"])
    files: dict[str, bytes] = {}

    def blob(data):
        files[f"blobs/{blob_name(data)}"] = zlib.compress(data, 1)
        return blob_name(data)

    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    memory = x.tobytes() + y.tobytes()
    at = 0x10000
    params = b"".join([(64).to_bytes(4, "little"), np.float32(2).tobytes(), at.to_bytes(4, "little"),
                       (at + 256).to_bytes(4, "little")])  # fmt: skip
    entry = {
        "kernel": "saxpy", "module": blob(write(program, "elf")), "chip": "gt200", "grid": [2, 1], "block": [32, 1, 1],
        "shared": 0, "params": params.hex(), "constants": {}, "windows": {}, "textures": {}, "unbound": "",
        "ranges": [[at, 512]], "memory": {str(at): blob(memory)}, "after": {}, "fault": None, "instructions": 0,
    }  # fmt: skip
    files["launches/0001.json"] = json.dumps(entry).encode()
    files["capture.json"] = json.dumps({"kind": "cuda", "format": 1}).encode()
    return files
