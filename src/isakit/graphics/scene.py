"""Scene files: programs, arrays, textures and state of one picture as JSON, with arrays in files beside it.

A program is given as `words` for each chip, or as `asm`: the name of a file in assembly, or its text. Everything else
is an argument of `Pipeline.draw`. The format is described in the reference pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from isakit.arch.tesla.tesla import tesla
from isakit.graphics.assembly import Attribute, Input
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.pipeline import Pipeline
from isakit.graphics.planes import FragmentInput, PositionInput, VaryingInput
from isakit.graphics.scene_file import MALFORMED, SceneFile, chip_of, lacking
from isakit.graphics.shader import FragmentShader, GeometryShader, VertexShader
from isakit.json_text import JsonObject
from isakit.texture.sampler_state import Filter, MipFilter, Sampler, Wrap
from isakit.texture.texture import Target, Texture

_COMPONENTS = "xyzw"
_TARGETS = {"2darray": "2d_array", "1darray": "1d_array", "cubearray": "cube_array"}


P = TypeVar("P", bound=Pipeline)


class Scene(SceneFile):
    """A scene file with programs of Tesla chips."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        if self.chips == ["sgx543"]:
            raise self.wrong("has shaders for sgx543, and no program for a Tesla chip")

    # --- programs -----------------------------------------------------------------------------------------------------
    def _code(self, draw: JsonObject, chip: str, stage: str) -> JsonObject | None:
        codes = {chip_of(c): v for c, v in draw["code"].items()}
        code = codes.get(chip, codes.get("any"))
        if code is None:
            raise self.wrong(f"has no programs for {chip}; there are: {', '.join(codes)}")
        return code.get(stage)

    def _text(self, code: JsonObject) -> list[int] | str | Path:
        if "words" in code:
            return [int(w, 16) if isinstance(w, str) else int(w) for w in code["words"]]
        text = str(code["asm"])
        return text if "\n" in text else self.beside(text)

    def _options(self, draw: JsonObject, code: JsonObject, stage: str) -> dict[str, Any]:
        out: dict[str, object] = {"local_bytes": int(code.get("local_bytes", 0))}
        if "max_gpr" in code:
            out["registers"] = int(code["max_gpr"]) + 1
        constants = draw.get("constants", {}).get(stage)
        if constants is not None:
            out["constants"] = self.array(constants)
        return out

    def _vertex(self, draw: JsonObject, chip: str) -> VertexShader:
        code = self._code(draw, chip, "VERT")
        if code is None:
            raise self.wrong("has a draw without vertex program")
        if "a_words" not in code:
            ids = {k: bool(code.get(k)) for k in ("vertex_id", "instance_id")}
            options = self._options(draw, code, "VERT")
            return VertexShader(self._text(code), chip, **ids, **_outputs(code), **options)
        inputs: list[Input] = [(0, 0)] * (1 + max((int(a["a_word"]) for a in code["a_words"]), default=-1))
        for a in code["a_words"]:
            built = a.get("builtin")
            inputs[int(a["a_word"])] = built if built else (int(a["attrib"]), _COMPONENTS.index(a["comp"]))
        return VertexShader(
            self._text(code), chip, inputs=inputs, **_outputs(code), **self._options(draw, code, "VERT")
        )

    def _geometry(self, draw: JsonObject, chip: str) -> GeometryShader | None:
        code = self._code(draw, chip, "GEOM")
        if code is None:
            return None
        return GeometryShader(
            self._text(code),
            chip,
            inputs=code["inputs"] if "inputs" in code else code["p_words"]["vp_result_map"],
            output=code.get("output", "triangle_strip"),
            max_vertices=int(code["max_vertices"]),
            **_outputs(code),
            **self._options(draw, code, "GEOM"),
        )

    def _fragment(self, draw: JsonObject, chip: str) -> FragmentShader:
        code = self._code(draw, chip, "FRAG")
        if code is None:
            raise self.wrong("has a draw without fragment program")
        options = self._options(draw, code, "FRAG")
        if "inputs" in code:
            given = [what if isinstance(what, str) else (int(what[0]), str(what[1])) for what in code["inputs"]]
            extra = {k: code[k] for k in ("colors", "depth") if k in code}
            return FragmentShader(self._text(code), chip, inputs=given, **extra, **options)
        words: list[JsonObject] = sorted(code["v_words"], key=lambda v: int(v["v_word"]))
        inputs: list[FragmentInput] = []
        for v in words:
            inputs += [PositionInput("w")] * (int(v["v_word"]) - len(inputs))
            inputs.append(
                PositionInput(v["comp"]) if v["kind"] == "position" else VaryingInput(int(v["o_word"]), v["interp"])
            )
        colors: dict[int, list[int]] = {}
        depth = None
        for r in code["results"]:
            if r["sem"].startswith("COLOR"):
                into = colors.setdefault(int(r["sem"].removeprefix("COLOR").strip("[]") or 0), [255] * 4)
                into[_COMPONENTS.index(r["comp"])] = int(r["reg"])
            elif r["sem"].startswith("POSITION"):
                depth = int(r["reg"])
        table = [colors.get(k, [255] * 4) for k in range(1 + max(colors, default=-1))]
        return FragmentShader(self._text(code), chip, inputs=inputs, colors=table, depth=depth, **options)

    # --- the rest -----------------------------------------------------------------------------------------------------
    def texture(self, what: JsonObject) -> tuple[Texture, Sampler]:
        """Load a texture with its sampler."""
        form = str(what["format"])
        target = str(what["target"])
        levels = [self.array(level) for level in what["levels"]]
        texture = Texture(levels, form, cast("Target", _TARGETS.get(target, target)))
        low, _, mip = str(what.get("min", "nearest")).partition("_mip_")
        sampler = Sampler(
            wrap=cast("tuple[Wrap, Wrap, Wrap]", tuple(what.get(f"wrap_{c}", "edge") for c in "str")),
            mag=what.get("mag", "nearest"),
            min=cast("Filter", low),
            mip=cast("MipFilter", mip or "none"),
            border=cast("tuple[float, float, float, float]", tuple(what.get("border", (0, 0, 0, 0)))),
            compare=what.get("compare"),
        )
        return texture, sampler

    def pipeline(self, *, kind: type[P] = Pipeline, **options: Any) -> P:
        """Return cleared targets for the scene, in a pipeline of some kind."""
        out = kind(self.width, self.height, targets=options.pop("targets", None) or self.formats("rgba8"), **options)
        self.clear(out)
        return out

    def draw(self, pipeline: Pipeline, number: int, chip: str) -> DrawStats:
        """Draw one draw of the scene. The state `seamless` filters cubes across their edges, in this draw."""
        chip = tesla.variant(chip).name
        usual = pipeline.texturing
        if dict(self.draws[number].get("state", {})).get("seamless"):
            pipeline.texturing = replace(usual, seamless=True)
        try:
            return self._draw(pipeline, number, chip)
        finally:
            pipeline.texturing = usual

    def _draw(self, pipeline: Pipeline, number: int, chip: str) -> DrawStats:
        d = self.draws[number]
        try:
            vertex, fragment, geometry = self._vertex(d, chip), self._fragment(d, chip), self._geometry(d, chip)
            options: dict[str, Any] = {
                "attributes": [
                    Attribute(self.array(a), bool(a.get("normalized")), divisor=int(a.get("divisor", 0)))
                    for a in d["attribs"]
                ],
                **self.common(d),
                "textures": {int(t["unit"]): self.texture(t) for t in d.get("textures", [])},
            }
            mode = str(d["mode"])
            self._check(d, options)
        except MALFORMED as e:
            raise self.wrong(f"draw {number}: {lacking(e)}") from None
        return pipeline.draw(mode, vertex, fragment, geometry=geometry, **options)

    def _check(self, draw: JsonObject, options: Mapping[str, Any]) -> None:
        """Raise FormatError for vertices that a draw does not have."""
        rows = [len(a.data) for a in options["attributes"] if not a.divisor]
        indices = options["indices"]
        have = len(indices) if indices is not None else min(rows, default=None)
        if have is not None and (draw.get("count") or 0) > have:
            raise self.wrong(f"draws {draw['count']} vertices and has {have}")

    @property
    def default_chip(self) -> str:
        """The first chip the scene has programs for; gt200 for programs that fit any."""
        named = [c for c in self.chips if c != "any"]
        return named[0] if named else "gt200"

    def render(self, chip: str | None = None, **options: Any) -> Pipeline:
        """Draw the whole scene, on a chip it has programs for; options are those of `Pipeline`."""
        pipeline = self.pipeline(**options)
        for n in range(len(self.draws)):
            self.draw(pipeline, n, chip or self.default_chip)
        return pipeline


def _outputs(code: JsonObject) -> dict[str, Any]:
    """Find the position and the point size among the output words."""
    if "o_words" not in code:
        return {"point_size": code.get("point_size")}
    words = {(o["sem"], o["comp"]): int(o["o_word"]) for o in code["o_words"]}
    position = [words.get(("POSITION[0]", c), 0) for c in _COMPONENTS]
    return {"position": position, "point_size": words.get(("PSIZE[0]", "x"))}
