"""The sanitizer has nothing to say about compiled kernels that are known to be right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isakit.debug.sanitize import sanitize
from isakit.runtime import Device

from .test_tesla_programs import MEMORY_WORDS, PROGRAMS, image, loaded, words


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_kernel_is_clean(shared: Path, name: str) -> None:
    record = json.loads((shared / "corpus/tesla/programs" / f"{name}.json").read_text())
    device = Device("g80", engine="reference")
    kernel = loaded(device, record)
    memory = device.alloc(4 * MEMORY_WORDS)
    device.write(memory, image(record["global_in"]))
    device.bind(14, memory)
    params = words(record["params"]).tobytes()
    machine = kernel.machine(record["grid"], record["block"], param_bytes=params, limits=False)
    report = sanitize(machine)
    assert report.finished
    assert report.clean, str(report)
