"""What a first run leaves undone because nothing needs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.codec import decoder
from isakit.codec.decoder import _decoder  # type: ignore[reportPrivateUsage]
from isakit.spec.isa import instruction_set

KERNEL = """
.kernel scale
.param y ptr
shl b32 $r0 $r0 0x2
add b32 $r0 b32 s[y] $r0
ld b32 $r1 g14[$r0]
add b32 $r1 $r1 $r1
set $c0 # le u32 $r1 $r0
(lg $c0) mov b32 $r2 $r1
exit st b32 g14[$r0] $r1
"""
FIRMWARE = Path(__file__).parents[3] / "examples" / "vuc" / "p1_copy_checksum.s"


@pytest.fixture(autouse=True)
def fresh_decoders() -> Iterator[None]:
    """Decoders that have met no form yet."""
    _decoder.cache_clear()
    yield
    _decoder.cache_clear()


def _met(name: str, variant: str) -> list[str]:
    """The forms a decoder has met."""
    forms = decoder(instruction_set(name), variant)._compiled.values()  # type: ignore[reportPrivateUsage]
    return [f.form.mnemonics[0] for f in forms]


def _with_texts(name: str, variant: str) -> list[str]:
    """Those of them whose text functions were made."""
    forms = decoder(instruction_set(name), variant)._compiled.values()  # type: ignore[reportPrivateUsage]
    return [f.form.mnemonics[0] for f in forms if "text" in vars(f)]


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_a_kernel_runs_without_text_functions(engine: str) -> None:
    program = isakit.isa("tesla", "gt200").assemble(KERNEL)
    device = isakit.Device("gt200", engine=engine)  # type: ignore[reportArgumentType]
    y = np.arange(32, dtype=np.uint32)
    device.load(program)["scale"][1, 32](y)
    assert (y == 2 * np.arange(32)).all()
    assert len(_met("tesla", "gt200")) >= 5
    assert _with_texts("tesla", "gt200") == []


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_firmware_runs_without_text_functions(engine: str) -> None:
    core = isakit.vuc.Core("vp2", engine=engine)  # type: ignore[reportArgumentType]
    core.load(FIRMWARE.read_text())
    core.write_data([3, 0], 0)
    core.write_data([5, 6, 7], 0x100)
    assert core.run(1000, stop_spinning=True).reason == "spinning"
    assert core.data[1] == 18
    assert len(_met("vuc", "vp2")) >= 5
    assert _with_texts("vuc", "vp2") == []


def test_printing_makes_them() -> None:
    program = isakit.isa("tesla", "gt200").disassemble([0x10000001, 0x0423C780])
    assert program[0].text.startswith("long mov")
    assert _with_texts("tesla", "gt200") == _met("tesla", "gt200") != []
