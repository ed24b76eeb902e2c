"""Semantics: the name after the colon, or a variable of GLSL, and what it connects an input or output to."""

from __future__ import annotations

import re
from typing import NamedTuple

from isakit.compile.shading.source import ShadingError


class Semantic(NamedTuple):
    """A semantic: its name with number, whether it is interpolated in half precision, and whether at the centroid."""

    name: str
    half: bool = False
    centroid: bool = False


_PARTS = re.compile(
    r"(?P<name>[A-Z_]+?)(?P<number>[0-9]{0,2})(?P<suffix>_HALF|_CENTROID|_HALF_CENTROID|_CENTROID_HALF)?"
)
_SYNONYMS = {
    "HPOS": "POSITION", "SV_POSITION": "POSITION", "COL": "COLOR", "SV_TARGET": "COLOR", "TEX": "TEXCOORD",
    "FOGC": "FOG", "FOGCOORD": "FOG", "PSIZ": "PSIZE", "POINTSIZE": "PSIZE", "DEPR": "DEPTH", "SV_DEPTH": "DEPTH",
    "VPOS": "WPOS", "VFACE": "FACE", "SV_ISFRONTFACE": "FACE", "POINTCOORD": "SPRITECOORD", "SV_VERTEXID": "INDEX",
    "SV_INSTANCEID": "INSTANCE", "SV_CLIPDISTANCE": "CLP", "CLIP": "CLP", "DIFFUSE": "COLOR",
}  # fmt: skip
_ATTRIBUTES = frozenset(
    ("POSITION", "NORMAL", "TANGENT", "BINORMAL", "COLOR", "TEXCOORD", "BLENDWEIGHT", "BLENDINDICES", "PSIZE", "FOG",
     "ATTR", "SPECULAR", "BCOL")
)  # fmt: skip
_LIMITS: dict[tuple[str, str], dict[str, int]] = {
    ("vertex", "output"): {"POSITION": 1, "COLOR": 2, "FOG": 1, "TEXCOORD": 10, "PSIZE": 1, "CLP": 8},
    ("fragment", "input"): {
        "COLOR": 2,
        "FOG": 1,
        "TEXCOORD": 10,
        "WPOS": 1,
        "FACE": 1,
        "SPRITECOORD": 1,
        "FRAGCOLOR": 1,
    },
    ("fragment", "output"): {"COLOR": 1, "DEPTH": 1},
}
_NUMBERED = frozenset(("COLOR", "TEXCOORD", "CLP"))
"""Semantics whose number is part of the name though it may be left out."""


def semantic(text: str, stage: str, role: str, pos: int) -> Semantic:
    """Parse a semantic. Raises ShadingError for one that does not exist."""
    m = _PARTS.fullmatch(text)
    if m is None:
        raise ShadingError(pos, f"there is no semantic `{text[:40]}`", len(text))
    name, number = m["name"], m["number"]
    suffix = m["suffix"] or ""
    if name in ("POSITION", "SV_POSITION") and stage == "fragment" and role == "input":
        name = "WPOS"
    synonym = _SYNONYMS.get(name, name)
    if synonym == "WPOS" and stage == "vertex":
        synonym = "POSITION"
    if role == "input" and stage == "vertex":
        if synonym in ("INDEX", "INSTANCE"):
            return Semantic(synonym)
        # An attribute's semantic is kept as it is: the program that draws asks for it.
        kept = name if name in _ATTRIBUTES or synonym not in _ATTRIBUTES else synonym
        return Semantic(f"{kept}{number}", "HALF" in suffix)
    limits = _LIMITS[stage, role]
    limit = limits.get(synonym)
    if synonym == "POSITION" and stage == "fragment":
        limit = None
    if limit is None:
        known = ", ".join(limits)
        raise ShadingError(pos, f"a {stage} program has no {role} `{text[:40]}`", len(text), (f"there are {known}",))
    k = int(number or 0)
    if k >= limit:
        raise ShadingError(pos, f"`{text[:40]}` is one more than there are", len(text))
    return Semantic(f"{synonym}{k}" if synonym in _NUMBERED else synonym, "HALF" in suffix, "CENTROID" in suffix)


_OWN = re.compile(r"(?:v_)?(texcoord|color|fog|spritecoord|position)([0-9]?)(?:_out)?")


def own_name(name: str) -> str:
    """Return the semantic that a name in generated GLSL implies, "" for other names."""
    m = _OWN.fullmatch(name)
    if m is None:
        return ""
    kind = {"position": "WPOS", "spritecoord": "SPRITECOORD", "fog": "FOG"}.get(m[1])
    return kind or f"{m[1].upper()}{m[2] or 0}"
