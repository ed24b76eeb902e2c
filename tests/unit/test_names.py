"""A public name has one meaning: classes of the faces that share a name are the counterparts of each other."""

from __future__ import annotations

import inspect
from collections import defaultdict
from importlib import import_module

FACES = ("isakit", "isakit.tesla", "isakit.vuc", "isakit.usse")
SHARED = {
    "Core": "isakit.vuc.Core and isakit.usse.Core: what every instruction set has is named alike in its public face",
    "Machine": "isakit.tesla.Machine and isakit.usse.Machine, likewise",
    "Memory": "isakit.usse.Memory is what the machine has, isakit.Memory the operand that names a place in it",
    "Texture": "isakit.tesla.Texture and isakit.usse.Texture, likewise",
}
"""Name -> why several public classes have it."""


def test_public_classes_share_a_name_only_for_a_reason() -> None:
    found: dict[str, set[type]] = defaultdict(set)
    for face in map(import_module, FACES):
        for name in face.__all__:
            if inspect.isclass(thing := getattr(face, name)):
                found[name].add(thing)
    assert {name for name, classes in found.items() if len(classes) > 1} == set(SHARED)
