"""Inputs and results of shaders on the command line: `--arg NAME=SPEC`, `--texture NAME=FILE`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from isakit.cli.arguments import parse
from isakit.errors import FormatError
from isakit.machine.usse import Texture

if TYPE_CHECKING:
    from isakit.engine.protocol import Array
    from isakit.formats import Shader
    from isakit.runtime.vertex_streams import VertexStream

TEXTURE_WORDS = ("nearest", "linear", "clamp", "repeat", "mirror")
_STREAM = re.compile(r"stream:(.+?):([A-Za-z]\w*):(\d{1,9})(?::(\d{1,9})(?::(\d{1,9}))?)?")
_OUTPUT = re.compile(r"([A-Za-z_]\w*)=out:(.+)")


@dataclass
class ShaderInputs:
    """The arguments of `isakit.usse.run`, and the files that results go to, by the name of the result."""

    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: dict[str, Path] = field(default_factory=dict[str, Path])


def shader_to_run(
    source: object, specs: Sequence[tuple[str, str, str]], textures: Sequence[str]
) -> tuple[Shader, ShaderInputs]:
    """Return a loaded source as a shader, and its inputs. Raises as `shader_inputs`, FormatError for other programs."""
    from isakit.formats import Shader

    if not isinstance(source, Shader):
        raise FormatError(None, 0, "only shader files can be run; give a GXP file or a shader's source")
    return source, shader_inputs([source], [spec for spec, _, _ in specs], textures)


def shader_inputs(shaders: Sequence[Shader], specs: Sequence[str], textures: Sequence[str]) -> ShaderInputs:
    """Return the inputs given on the command line; names are those of the first shader that has them.

    Raises click.BadParameter for texts, FormatError for files that are wrong.
    """
    from isakit.formats.gxp import ATTRIBUTE, SAMPLER, UNIFORM

    groups = {ATTRIBUTE: "attributes", UNIFORM: "uniforms", SAMPLER: "textures"}
    known = {p.name: groups[p.category] for s in reversed(shaders) for p in s.parameters if p.category in groups}
    others = "varyings" if shaders[0].stage == "fragment" else "attributes"
    out = ShaderInputs()
    for spec in specs:
        m = re.match(r"([A-Za-z_][\w.\[\]]*)=", spec)
        if m is None:
            raise click.BadParameter(f"{spec!r}: a shader takes its arguments by name: NAME=SPEC", param_hint="--arg")
        saved = _OUTPUT.fullmatch(spec)
        if saved and m[1] not in known:
            out.outputs[m[1]] = Path(saved[2])
            continue
        given = spec[m.end() :]
        if m[1] == "output" and m[1] not in known:
            out.inputs["output"] = given
            continue
        value = _stream(given) if given.startswith("stream:") else parse(given).value
        if m[1] == "target":
            out.inputs["target"] = value
        else:
            out.inputs.setdefault(known.get(m[1], others), {})[m[1]] = value
    for spec in textures:
        name, texture = shader_texture(spec)
        out.inputs.setdefault("textures", {})[name] = texture
    return out


def _stream(spec: str) -> VertexStream:
    """Parse an attribute `stream:FILE:FORMAT:COMPONENTS[:OFFSET[:STRIDE]]`. Raises click.BadParameter, OSError."""
    from isakit.runtime.vertex_streams import VertexStream

    m = _STREAM.fullmatch(spec)
    if m is None:
        raise click.BadParameter(f"{spec!r}: give stream:FILE:FORMAT:COMPONENTS, then an offset and a stride",
                                 param_hint="--arg")  # fmt: skip
    path, form, components, offset, stride = m.groups()
    return VertexStream(
        Path(path).read_bytes(), form, int(components), int(offset or 0), int(stride) if stride else None
    )


def shader_texture(spec: str) -> tuple[str, Texture]:
    """Return (sampler, texture) of `NAME=FILE,WORD,...`. Raises click.BadParameter, FormatError."""
    from isakit.runtime.texture_files import read_texture

    name, sep, rest = spec.partition("=")
    path, *words = rest.split(",")
    unknown = [w for w in words if w not in TEXTURE_WORDS]
    if not sep or not name or not path or unknown:
        raise click.BadParameter(f"{spec!r}: give NAME=FILE, then any of {', '.join(TEXTURE_WORDS)}",
                                 param_hint="--texture")  # fmt: skip
    wrap: Literal["clamp", "wrap", "mirror"] = "wrap" if "repeat" in words else "clamp"
    wrap = "mirror" if "mirror" in words else wrap
    return name, read_texture(path, filter="nearest" if "nearest" in words else "bilinear", wrap=wrap)


def save_result(path: Path, name: str, value: Array) -> None:
    """Save a result: a `.png` as a picture (8 bits a channel, 0 to 1), anything else as an array."""
    import numpy as np

    if path.suffix.lower() != ".png":
        with open(path, "wb") as f:  # a name without .npy stays as it is
            np.save(f, value, allow_pickle=False)
        return
    from isakit.graphics.png import png

    if value.ndim != 3 or not 1 <= value.shape[2] <= 4:
        raise click.BadParameter(f"{name} has the shape {value.shape}; a picture is [height, width, components]: "
                                 "give images as inputs", param_hint="--arg")  # fmt: skip
    full = np.zeros((*value.shape[:2], 4), np.float32)
    full[..., 3] = 1
    full[..., : value.shape[2]] = value
    pixels = np.rint(np.clip(np.nan_to_num(full), 0, 1) * 255).astype(np.uint8)
    path.write_bytes(png(pixels))
