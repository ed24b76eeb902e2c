"""Scene files with shaders of GXP files: `code` names `sgx543`.

A program is `asm`, the name of a file in assembly with the directives of a GXP file (or its text), or `gxp`, the name
of a GXP file. Attributes, uniforms and textures have the names the shaders give them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from isakit.engine.protocol import Array
from isakit.formats.shader import Shader, read_gxp
from isakit.graphics.assembly import Attribute
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.gxm_pipeline import ShaderPipeline
from isakit.graphics.scene import Scene
from isakit.graphics.scene_file import MALFORMED, SceneFile, SceneWarning, chip_of, lacking
from isakit.instruction_sets import isa
from isakit.json_text import JsonObject
from isakit.machine.usse import Cube, Texture
from isakit.machine.usse.sampler import Filter, Wrap
from isakit.programs import write
from isakit.runtime.texture_files import read_texture
from isakit.runtime.vertex_streams import VertexStream

CHIP = "sgx543"
_FILTERS: Mapping[str, Filter] = {"nearest": "nearest", "linear": "bilinear"}
_WRAPS: Mapping[str, Wrap] = {"edge": "clamp", "repeat": "wrap", "mirror": "mirror"}


class ShaderScene(SceneFile):
    """A scene file whose programs are shaders of GXP files."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._shaders: dict[str, Shader] = {}

    # --- parts of a draw ----------------------------------------------------------------------------------------------
    def shader(self, draw: JsonObject, stage: Literal["VERT", "FRAG"]) -> Shader:
        """Load a program of a draw. Raises FormatError, AsmError."""
        codes: dict[str, JsonObject] = {chip_of(name): c for name, c in draw["code"].items()}
        code: JsonObject = codes.get(CHIP, {}).get(stage) or {}
        if ("asm" in code) == ("gxp" in code):
            raise self.wrong(f"has a draw whose {stage} is neither `asm` nor `gxp`")
        said = str(code.get("asm", code.get("gxp")))
        if said not in self._shaders:
            self._shaders[said] = self._assembled(said) if "asm" in code else self._read(said)
        return self._shaders[said]

    def _read(self, name: str) -> Shader:
        path = self.beside(name)
        return read_gxp(path.read_bytes(), str(path))

    def _assembled(self, text: str) -> Shader:
        path = None if "\n" in text else self.beside(text)
        program = isa("usse").assemble(text if path is None else path.read_text("utf-8"))
        return read_gxp(write(program, "gxp"), None if path is None else str(path))

    def attribute(self, what: JsonObject) -> Attribute:
        """Return an array, or a stream of vertices if the scene states its `format`."""
        data: Any
        if "format" in what:
            held = self.array(what) if "data" in what else self.beside(str(what["file"])).read_bytes()
            places = {k: int(what[k]) for k in ("offset", "stride", "count") if k in what}
            data = VertexStream(held, str(what["format"]), int(what["components"]), **places)
        else:
            data = self.array(what)
        return Attribute(data, bool(what.get("normalized")), divisor=int(what.get("divisor", 0)))

    def texture(self, what: JsonObject) -> Texture:
        """Load a texture from a file beside the scene, or from the arrays of its levels."""
        low, _, mip = str(what.get("min", what.get("mag", "nearest"))).partition("_mip_")
        mag = what.get("mag", low)
        if mag != low:
            raise self.wrong(f"has a texture with the filters {low!r} and {mag!r}: shaders take one for both")
        filter = _FILTERS[low]
        wrap: tuple[Wrap, Wrap] = (_WRAPS[str(what.get("wrap_s", "edge"))], _WRAPS[str(what.get("wrap_t", "edge"))])
        if "file" in what:
            found = read_texture(self.beside(str(what["file"])), filter=filter)
        else:
            levels = [self.array(level) for level in what["levels"]]
            found = Cube(levels, filter) if what.get("target") == "cube" else Texture(levels, filter)
        found.wrap, found.mip = wrap, "linear" if mip == "linear" else "nearest"
        return found

    def uniforms(self, draw: JsonObject) -> dict[str, Array]:
        """Return values by name."""
        return {
            name: self.array(cast("JsonObject", v)) if isinstance(v, Mapping) else np.array(v)
            for name, v in draw.get("uniforms", {}).items()
        }

    # --- drawing ------------------------------------------------------------------------------------------------------
    def pipeline(self, **options: Any) -> ShaderPipeline:
        """Return cleared targets for the scene; options are those of `ShaderPipeline`."""
        depth: Any = self.data.get("depth_format", "d24")
        out = ShaderPipeline(self.width, self.height, targets=self.formats("U8U8U8U8_ABGR"), depth=depth, **options)
        self.clear(out)
        return out

    def draw(self, pipeline: ShaderPipeline, number: int, chip: str = CHIP) -> DrawStats:
        """Draw one draw of the scene. `chip` can only be the one there is."""
        d = self.draws[number]
        if chip != CHIP:
            raise self.wrong(f"has no programs for {chip}; there are: {', '.join(self.chips)}")
        try:
            shaders = self.shader(d, "VERT"), self.shader(d, "FRAG")
            options: dict[str, Any] = {
                "uniforms": self.uniforms(d),
                "textures": {str(t["name"]): self.texture(t) for t in d.get("textures", [])},
                **self.common(d),
            }
            attributes = {str(a["name"]): self.attribute(a) for a in d["attribs"]}
            mode = str(d["mode"])
        except MALFORMED as e:
            raise self.wrong(f"draw {number}: {lacking(e)}") from None
        return pipeline.draw(mode, *shaders, attributes, **options)

    @property
    def default_chip(self) -> str:
        """The chip of all such scenes."""
        return CHIP

    def render(self, **options: object) -> ShaderPipeline:
        """Draw the whole scene; options are those of `ShaderPipeline`."""
        pipeline = self.pipeline(**options)
        for n in range(len(self.draws)):
            self.draw(pipeline, n)
        return pipeline


def open_scene(path: str | Path) -> Scene | ShaderScene:
    """Open a scene file of either kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SceneWarning)  # the scene itself warns
        chips = SceneFile(path).chips
    return ShaderScene(path) if CHIP in chips else Scene(path)
