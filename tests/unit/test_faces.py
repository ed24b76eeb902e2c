"""isakit.tesla, isakit.vuc and isakit.usse have the same shape."""

from __future__ import annotations

from pathlib import Path

import pytest

import isakit
from isakit.machine.target import Target

FACES = {"tesla": isakit.tesla, "vuc": isakit.vuc, "usse": isakit.usse}
COMMON = ("VARIANTS", "isa", "Machine", "target")


@pytest.mark.parametrize("name", FACES)
def test_what_every_instruction_set_has(name: str) -> None:
    face = FACES[name]
    assert set(COMMON) <= set(face.__all__)
    assert face.isa().name == name
    assert [face.isa(v).variant for v in face.VARIANTS] == list(face.VARIANTS)
    with pytest.raises(isakit.UnknownIsaError):
        face.isa("none")


@pytest.mark.parametrize("name", FACES)
def test_machines_can_be_stepped_alike(name: str) -> None:
    face = FACES[name]
    if name == "tesla":
        device = face.Device("gt200", engine="reference")
        machine = device.load(face.isa("gt200").assemble("nop\nexit nop"))["main"].machine(1, 1)
    elif name == "vuc":
        machine = face.Core("vp3", engine="reference")
        machine.load("mov $r1 0x7\nmov $r2 $r1")
    else:
        machine = face.Core().machine(face.isa().assemble("or.u32 r0 r1 #0x1\nor.u32 r1 r0 #0x2"))
    assert isinstance(machine, face.Machine)
    target = face.target(machine)
    assert isinstance(target, Target)
    before = target.thread(0)
    target.step()
    assert target.thread(0) != before


@pytest.mark.parametrize("name", FACES)
def test_every_name_is_there_and_in_the_reference(name: str) -> None:
    face = FACES[name]
    page = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
    table = page.read_text(encoding="utf-8").partition("## One face per instruction set")[2].partition("\n## ")[0]
    for public in face.__all__:
        assert getattr(face, public) is not None
        assert f"`{public}`" in table, f"{public} of isakit.{name}"
