"""Fixed-function state of a draw, derived from the registers of the 3D engine.

Source: rnndb nv50_3d; [graphics] 3; the driver's writes for each state ([nv50] "Methods").
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from operator import itemgetter

from isakit.graphics.draw_state import (
    Blend,
    ClipDistance,
    DrawState,
    Multisampling,
    PolygonOffset,
    Rectangle,
    Stencil,
    Viewport,
)
from isakit.graphics.planes import FragmentInput, Mode, PointInput, PositionInput, PrimitiveInput, VaryingInput
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.engine import Derived, Engine, derived, number, signed, words_of
from isakit.hosts.drm.engines.framebuffer import ColorImage, DepthImage, color_image, depth_image
from isakit.hosts.drm.engines.shared import ConstantBuffers
from isakit.hosts.drm.engines.vertex_input import ATTRIBUTES, Current, Inline
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.tables import ENG3D
from isakit.hosts.drm.tables.values import BLEND_EQUATION, BLEND_FACTOR, COMPARE, STENCIL_OP

LOGIC = (
    "clear", "and", "and_reverse", "copy", "and_inverted", "noop", "xor", "or", "nor", "equiv", "invert", "or_reverse",
    "copy_inverted", "or_inverted", "nand", "set",
)  # fmt: skip
POLYGON_MODES = {0x1B00: "point", 0x1B01: "line", 0x1B02: "fill"}
SEGMENT = {"vertex": "VP", "geometry": "GP", "fragment": "FP"}
LEAST_LOCAL = 1 << 10
VIEWPORTS = 16
SHADE_FLAT = 0x1D00
COUNTERS = ("VFETCH_VERTICES", "VFETCH_PRIMITIVES", "VP_LAUNCHES", "GP_LAUNCHES", "GP_PRIMITIVES_OUT",
            "TRANSFORM_FEEDBACK", "GENERATED_PRIMITIVES", "RAST_PRIMITIVES_PRECLIP", "RAST_PRIMITIVES_POSTCLIP",
            "FP_PIXELS")  # fmt: skip
"""Names of the counters, in the order of COUNTER_SELECT of QUERY_GET."""
_ENABLES = {name: ENG3D.bits("COUNTER_ENABLE", name).mask for name in COUNTERS}
TARGETS = 8
SAMPLES = {
    1: (((4, 4), (12, 12)), ((0, 0), (1, 0)), 2, 1),
    2: (((6, 2), (14, 6), (2, 10), (10, 14)), ((0, 0), (1, 0), (0, 1), (1, 1)), 2, 2),
    3: (
        ((1, 7), (5, 3), (3, 13), (7, 11), (9, 5), (15, 1), (11, 15), (13, 9)),
        ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)),
        4,
        2,
    ),
}
"""MULTISAMPLE_MODE -> positions of the samples in sixteenths, their positions among the stored pixels, stored pixels
across and down. Source: the sample positions the driver reports and the places its programs fetch from ([nv50]
"Memory")."""


@dataclass(frozen=True)
class ResultMap:
    """Slots of the last vertex stage's results: the output word of each, or a constant from 0x40 on."""

    slots: tuple[int, ...]

    def word(self, slot: int) -> int:
        """Return the output word of a slot, 0x40 (0.0) outside of the map."""
        w = self.slots[slot] if 0 <= slot < len(self.slots) else 0x40
        return 0x40 | w & 1 if w >= 0x40 else w


@dataclass(frozen=True)
class ProgramPlace:
    """Location of a program and its register settings: `local` bytes of each thread, if it uses any."""

    segment: int
    start: int
    registers: int
    flags: tuple[str, ...]
    local: int


@dataclass(frozen=True)
class FragmentResults:
    """Registers of a fragment program that hold its results; `colors` of each target.

    A program of one result writes it to every target. Source: fbo-drawbuffers-fragcolor of piglit; "MrtEnable" in
    NVIDIA's Shader Program Header of later chips.
    """

    colors: tuple[tuple[int, int, int, int], ...]
    second: tuple[int, ...] | None
    depth: int | None
    sample_mask: int | None


class State3D(Engine):
    """The state of a 3D engine, and the settings of a draw derived from its registers.

    Attributes: `counters` by name; `samples` that passed since the reset, while counting was enabled; `current`
    attributes; `constants`; `textures` and `samplers` (stage and slot -> entry of the table); `stream_offsets` and
    `stream_written` (bytes and primitives of stream output so far), `stream_full` (whether some did not fit).
    """

    table = ENG3D

    def __init__(self, memory: VideoMemory, report: Report, chip: CardChip, settings: CardSettings) -> None:
        super().__init__(memory, report)
        self.chip, self.settings = chip, settings
        self.constants = ConstantBuffers(memory)
        self.current = Current()
        self.textures: dict[tuple[int, int], int] = {}
        self.samplers: dict[tuple[int, int], int] = {}
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self.samples = 0
        self.point_size_word: int | None = None
        self.stream_offsets = [0] * 4
        self.stream_full = False
        self.stream_written = 0

    def add_to_counters(self, **more: int) -> None:
        """Add the statistics of a draw to the enabled counters."""
        enabled = self.get("COUNTER_ENABLE")
        for name, n in more.items():
            if enabled & _ENABLES[name]:
                self.counters[name] += n

    def vertex_base(self) -> int:
        """Return the number added to every index."""
        return signed(self.get("VB_ELEMENT_BASE"))

    def _compare(self, name: str) -> str:
        word = self.get(name)
        return COMPARE.get(word) or COMPARE.get(0x200 | word & 7, "always")

    def _stencil(self, side: str) -> Stencil:
        def op(what: str) -> str:
            return STENCIL_OP.get(self.get(f"STENCIL_{side}_OP_{what}"), "keep")

        return Stencil(
            self._compare(f"STENCIL_{side}_FUNC_FUNC"),  # type: ignore[arg-type]
            self.get(f"STENCIL_{side}_FUNC_REF"),
            self.get(f"STENCIL_{side}_FUNC_MASK"),
            self.get(f"STENCIL_{side}_MASK"),
            op("FAIL"),  # type: ignore[arg-type]
            op("ZFAIL"),  # type: ignore[arg-type]
            op("ZPASS"),  # type: ignore[arg-type]
        )

    @derived("STENCIL_*")
    def stencils(self) -> tuple[Stencil, Stencil] | None:
        """Stencil tests of front and back faces."""
        if not self.on("STENCIL_ENABLE"):
            return None
        front = self._stencil("FRONT")
        return front, self._stencil("BACK") if self.on("STENCIL_TWO_SIDE_ENABLE") else front

    def _blend(self, prefix: str, i: int) -> Blend:
        def equation(part: str) -> str:
            return BLEND_EQUATION.get(self.get(f"{prefix}EQUATION_{part}", i), "add")

        def factor(part: str) -> str:
            word = self.get(f"{prefix}FUNC_{part}", i)
            found = BLEND_FACTOR.get(word)
            if found is None:
                self.report.missing(f"blend factor {word:#x}")
            return found or "one"

        separate = self.on(f"{prefix}SEPARATE_ALPHA", i)
        return Blend(
            factor("SRC_RGB"),  # type: ignore[arg-type]
            factor("DST_RGB"),  # type: ignore[arg-type]
            equation("RGB"),  # type: ignore[arg-type]
            factor("SRC_ALPHA") if separate else None,  # type: ignore[arg-type]
            factor("DST_ALPHA") if separate else None,  # type: ignore[arg-type]
            equation("ALPHA") if separate else None,  # type: ignore[arg-type]
        )

    @derived("BLEND_*", "IBLEND_*")
    def blends(self) -> tuple[Blend | None, ...]:
        """Blending of each target."""
        common = self.on("BLEND_ENABLE_COMMON")
        out: list[Blend | None] = []
        for i in range(TARGETS):
            if not self.on("BLEND_ENABLE", 0 if common else i):
                out.append(None)
            elif self.on("BLEND_INDEPENDENT"):
                out.append(self._blend("IBLEND_", i))
            else:
                out.append(self._blend("BLEND_", 0))
        return tuple(out)

    @derived("COLOR_MASK*")
    def color_masks(self) -> tuple[tuple[bool, bool, bool, bool], ...]:
        """Channels of each target that are written."""
        common = self.on("COLOR_MASK_COMMON")
        out: list[tuple[bool, bool, bool, bool]] = []
        for i in range(TARGETS):
            w = self.get("COLOR_MASK", 0 if common else i)
            out.append((bool(w.R), bool(w.G), bool(w.B), bool(w.A)))
        return tuple(out)

    @property
    def used_viewports(self) -> int:
        """Number of viewports: one unless a program selects them."""
        return VIEWPORTS if self.on("GP_VIEWPORT_ID_ENABLE") and self.on("GP_ENABLE") else 1

    @derived("VIEWPORT_*", "DEPTH_RANGE_*", "GP_VIEWPORT_ID_ENABLE", "GP_ENABLE")
    def viewports(self) -> tuple[Viewport, ...]:
        """The viewports in use."""
        of = self.number
        return tuple(
            Viewport(
                (of("VIEWPORT_SCALE_X", i), of("VIEWPORT_SCALE_Y", i), of("VIEWPORT_SCALE_Z", i)),
                (of("VIEWPORT_TRANSLATE_X", i), of("VIEWPORT_TRANSLATE_Y", i), of("VIEWPORT_TRANSLATE_Z", i)),
                (of("DEPTH_RANGE_NEAR", i), of("DEPTH_RANGE_FAR", i)),
            )
            for i in range(self.used_viewports)
        )

    @property
    def screen_scissor(self) -> tuple[int, int, int, int]:
        """The part of the targets that can be written: x from, x to, y from, y to."""
        h, v = self.get("SCREEN_SCISSOR_HORIZ"), self.get("SCREEN_SCISSOR_VERT")
        return h.X, h.X + h.W, v.Y, v.Y + v.H

    def scissor(self, i: int) -> tuple[int, int, int, int]:
        """Return the screen scissor intersected with the scissor of a viewport, if that is enabled."""
        x0, x1, y0, y1 = self.screen_scissor
        if not self.on("SCISSOR_ENABLE", i):
            return x0, x1, y0, y1
        h, v = self.get("SCISSOR_HORIZ", i), self.get("SCISSOR_VERT", i)
        return max(x0, h.MIN), min(x1, h.MAX), max(y0, v.MIN), min(y1, v.MAX)

    @derived("SCISSOR_*", "SCREEN_SCISSOR_*", "GP_VIEWPORT_ID_ENABLE", "GP_ENABLE")
    def scissors(self) -> tuple[Rectangle, ...]:
        """The scissor of each viewport, clipped to the screen scissor. The driver leaves all of them enabled."""
        out: list[Rectangle] = []
        for i in range(self.used_viewports):
            x0, x1, y0, y1 = self.scissor(i)
            out.append((x0, y0, max(0, x1 - x0), max(0, y1 - y0)))
        return tuple(out)

    @derived("CLIP_RECT*")
    def clip_rectangles(self) -> tuple[bool, tuple[Rectangle, ...]] | None:
        """(whether pixels inside are drawn, or those outside, rectangles), None if they are disabled."""
        if not self.on("CLIP_RECTS_EN"):
            return None
        mode = self.get("CLIP_RECTS_MODE")
        if mode > 1:
            self.report.missing(f"3d method CLIP_RECTS_MODE of {mode}")
        out: list[Rectangle] = []
        for i in range(8):
            h, v = self.get("CLIP_RECT_HORIZ", i), self.get("CLIP_RECT_VERT", i)
            out.append((h.MIN, v.MIN, max(0, h.MAX - h.MIN), max(0, v.MAX - v.MIN)))
        return not mode & 1, tuple(out)

    @derived("POLYGON_STIPPLE*")
    def polygon_stipple(self) -> tuple[int, ...] | None:
        """32 rows; in a word, the leftmost eight pixels are in the lowest byte."""
        if not self.on("POLYGON_STIPPLE_ENABLE"):
            return None
        return struct.unpack(">32I", struct.pack("<32I", *self.words("POLYGON_STIPPLE_PATTERN", 32)))

    @derived("MULTISAMPLE_*", "MSAA_MASK", "SAMPLE_SHADING", "FP_MULTISAMPLE")
    def multisampling(self) -> Multisampling | None:
        """The samples of a pixel; None without multisampling."""
        mode = self.get("MULTISAMPLE_MODE")
        if not mode:
            return None
        if mode not in SAMPLES:
            self.report.missing(f"multisample mode {mode}")
            mode = min(mode & 3 or 1, 3)
        positions, places, across, down = SAMPLES[mode]
        control, shading = self.get("MULTISAMPLE_CTRL"), self.get("SAMPLE_SHADING")
        if shading.ENABLE and len(positions) > shading.MIN_SAMPLES:
            self.report.missing("programs that run for some of the samples (run for all)")
        if len({self.get("MSAA_MASK", k) for k in range(4)}) > 1:
            self.report.missing("sample masks that differ inside of a quad")
        return Multisampling(
            positions,
            places,
            across,
            down,
            self.get("MSAA_MASK"),
            bool(control.ALPHA_TO_COVERAGE),
            bool(control.ALPHA_TO_ONE),
            self.on("MULTISAMPLE_ENABLE"),
            bool(shading.ENABLE or self.get("FP_MULTISAMPLE").FORCE_PER_SAMPLE),
        )

    def _map(self, stage: str) -> ResultMap:
        count = min(self.get(f"{stage}_RESULT_MAP_SIZE"), 64)
        slots = struct.pack("<16I", *self.words(f"{stage}_RESULT_MAP", 16))
        return ResultMap(tuple(slots[:count]))

    @derived("VP_RESULT_MAP", "VP_RESULT_MAP_SIZE")
    def vertex_map(self) -> ResultMap:
        """Return the slots of the vertex program's results."""
        return self._map("VP")

    @derived("GP_RESULT_MAP", "GP_RESULT_MAP_SIZE")
    def geometry_map(self) -> ResultMap:
        """Return the slots of the geometry program's results."""
        return self._map("GP")

    @property
    def last_map(self) -> ResultMap:
        """The map of the last stage before rasterization."""
        return self.geometry_map if self.on("GP_ENABLE") else self.vertex_map

    @derived(
        "FP_INTERPOLANT_CTRL", "SEMANTIC_*", "VERTEX_TWO_SIDE_ENABLE", "POINT_SPRITE_ENABLE", "SHADE_MODEL",
        "NOPERSPECTIVE_BITMAP", "POINT_COORD_REPLACE_MAP", "GP_ENABLE", "VP_RESULT_MAP*", "GP_RESULT_MAP",
        "GP_RESULT_MAP_SIZE",
    )  # fmt: skip
    def fragment_inputs(self) -> list[FragmentInput]:
        """Return the content of each word of v[] in fragment programs."""
        result, control = self.last_map, self.get("FP_INTERPOLANT_CTRL")
        inputs: list[FragmentInput] = [PositionInput(c) for k, c in enumerate("xyzw") if control.UMASK >> k & 1]  # type: ignore[arg-type]
        colors = self.get("SEMANTIC_COLOR")
        front, back, colored = colors.FFC0_ID, colors.BFC0_ID, colors.COLR_NR
        two_sided = self.on("VERTEX_TWO_SIDE_ENABLE") and front != back
        sprites = self.on("POINT_SPRITE_ENABLE")
        # Inputs that the program interpolates without perspective keep doing so (inferred).
        flat_colors = self.get("SHADE_MODEL") == SHADE_FLAT
        primitive = self.get("SEMANTIC_PRIM_ID").PRIM_ID if not self.on("GP_ENABLE") else 0
        for k in range(control.COUNT):
            slot = control.OFFSET + k
            if primitive and slot == primitive:
                inputs.append(PrimitiveInput())
                continue
            linear = self.packed("NOPERSPECTIVE_BITMAP", slot % 128, 1)
            mode: Mode = "flat" if k >= control.COUNT_NONFLAT else "linear" if linear else "perspective"
            if flat_colors and mode == "perspective" and front <= slot < front + colored:
                mode = "constant"
            other = result.word(back + slot - front) if two_sided and front <= slot < front + colored else None
            varying = VaryingInput(result.word(slot), mode, other)
            replaced = self.packed("POINT_COORD_REPLACE_MAP", slot % 128, 4) if sprites else 0
            if replaced in (1, 2):
                inputs.append(PointInput("s" if replaced == 1 else "t", varying))
            elif replaced in (3, 4):
                inputs.append(PointInput("zero" if replaced == 3 else "one", varying))
            else:
                inputs.append(varying)
        return inputs

    @derived(
        "VP_REG_ALLOC_TEMP", "VP_START_ID", "VP_ADDRESS_*", "GP_REG_ALLOC_TEMP", "GP_START_ID", "GP_ADDRESS_*",
        "FP_REG_ALLOC_TEMP", "FP_START_ID", "FP_ADDRESS_*", "ISA_FLAGS", "LOCAL_SIZE_LOG",
    )  # fmt: skip
    def program_places(self) -> dict[str, ProgramPlace]:
        """The location of the program of each kind."""
        flags = ("mul_zero_wins",) if self.get("ISA_FLAGS").MUL_ZERO_WINS else ()
        local = max(LEAST_LOCAL, 8 << self.get("LOCAL_SIZE_LOG"))
        return {
            kind: ProgramPlace(
                self.address(f"{stage}_ADDRESS"),
                self.get(f"{stage}_START_ID"),
                max(1, self.get(f"{stage}_REG_ALLOC_TEMP")),
                flags,
                local,
            )
            for kind, stage in SEGMENT.items()
        }

    @derived("VP_ATTR_EN")
    def vertex_inputs(self) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        """The enabled attributes, and for each word of a[] the position of its attribute and component."""
        used = tuple(i for i in range(ATTRIBUTES) if self.packed("VP_ATTR_EN", i, 4))
        components = ((k, c, self.packed("VP_ATTR_EN", 4 * i + c, 1)) for k, i in enumerate(used) for c in range(4))
        return used, tuple((k, c) for k, c, enabled in components if enabled)

    @derived("FP_CONTROL", "FP_RESULT_COUNT", "FP_MULTISAMPLE", "BLEND_*", "IBLEND_*")
    def fragment_results(self) -> FragmentResults:
        """The registers that hold the results of fragment programs."""
        results, count = self.get("FP_CONTROL"), self.get("FP_RESULT_COUNT")
        b = self.blends[0]
        dual = b is not None and "src1" in f"{b.src} {b.dst} {b.src_alpha} {b.dst_alpha}"
        masked = self.chip.at_least_gt215 and self.get("FP_MULTISAMPLE").EXPORT_SAMPLE_MASK and count
        targets = 1 if dual else TARGETS
        first = range(0, 4 * targets, 4) if results.MULTIPLE_RESULTS else [0] * targets
        return FragmentResults(
            tuple((r, r + 1, r + 2, r + 3) for r in first),
            (4, 5, 6, 7) if dual else None,
            count - 1 if results.EXPORTS_Z and count else None,
            count - 1 - results.EXPORTS_Z if masked else None,
        )

    @derived("RT_*")
    def color_images(self) -> tuple[ColorImage | None, ...]:
        """The colour targets, None for unbound ones. Raises NotModelled."""
        control = self.get("RT_CONTROL")
        return tuple(color_image(self, getattr(control, f"MAP{k}")) for k in range(min(8, control.COUNT)))

    @derived("ZETA_*")
    def depth_target(self) -> DepthImage | None:
        """Return the depth target, None if there is none. Raises NotModelled."""
        return depth_image(self)

    def _clip_distances(self, result: ResultMap) -> tuple[ClipDistance, ...]:
        enabled, modes = self.get("CLIP_DISTANCE_ENABLE"), self.get("CLIP_DISTANCE_MODE")
        clip = self.get("SEMANTIC_CLIP")
        out: list[ClipDistance] = []
        for k in range(min(8, clip.CLIP_NUM)):
            word = result.word(clip.CLIP_START + k)
            if getattr(enabled, f"PLANE{k}") and word < 0x40:
                out.append(ClipDistance(word, "cull" if getattr(modes, f"CULL{k}") else "clip"))
        return tuple(out)

    def _clamped_words(self, result: ResultMap) -> tuple[int, ...]:
        colors = self.get("SEMANTIC_COLOR")
        if not colors.CLMP_EN:
            return ()
        front, back, count = colors.FFC0_ID, colors.BFC0_ID, colors.COLR_NR
        slots = [*range(front, front + count), *(range(back, front) if back < front else ())]
        return tuple(sorted({w for w in map(result.word, slots) if w < 0x40}))

    @derived(
        "DEPTH_TEST_*", "DEPTH_WRITE_ENABLE", "VIEW_VOLUME_CLIP_CTRL", "DEPTH_CLIP_NEGATIVE_Z", "CULL_FACE*",
        "FRONT_FACE", "ALPHA_TEST_*", "LOGIC_OP*", "FRAG_COLOR_CLAMP_EN", "POLYGON_*", "LINE_WIDTH", "LINE_STIPPLE*",
        "LINE_SMOOTH_ENABLE",
        "POLYGON_SMOOTH_ENABLE",
        "CLIP_DISTANCE_*", "SEMANTIC_*", "POINT_*", "VIEWPORT_TRANSFORM_EN", "PROVOKING_VERTEX_LAST", "LAYER",
        "GP_ENABLE", "GP_VIEWPORT_ID_ENABLE", "PIXEL_CENTER_INTEGER", "RASTERIZE_ENABLE", "SCREEN_Y_CONTROL",
        "BLEND_*", "IBLEND_*", "COLOR_MASK*", "STENCIL_*", "VIEWPORT_*", "DEPTH_RANGE_*", "SCISSOR_*",
        "SCREEN_SCISSOR_*", "CLIP_RECT*", "MULTISAMPLE_*", "MSAA_MASK", "VP_RESULT_MAP*", "GP_RESULT_MAP",
        "GP_RESULT_MAP_SIZE", "ZETA_ENABLE", "SAMPLE_SHADING", "FP_MULTISAMPLE",
    )  # fmt: skip
    def draw_state(self) -> DrawState:
        """All state of a draw that is neither program nor data."""
        result = self.last_map
        control = self.get("VIEW_VOLUME_CLIP_CTRL")
        cull = None
        if self.on("CULL_FACE_ENABLE"):
            cull = {0x404: "front", 0x405: "back", 0x408: "both"}.get(self.get("CULL_FACE"))
        if control.DEPTH_CLAMP_NEAR != control.DEPTH_CLAMP_FAR:
            self.report.missing("depth that is clamped at one end only (clamped at both)")
        depth = self.on("ZETA_ENABLE")
        offset = None
        enables = [self.on(f"POLYGON_OFFSET_{m}_ENABLE") for m in ("FILL", "LINE", "POINT")]
        if any(enables):
            # Steps of the depth format: the driver writes two for each unit of a program, and so many is what piglit's
            # polygon-offset finds to be the least that can be told apart at the near plane (inferred).
            offset = PolygonOffset(
                self.number("POLYGON_OFFSET_FACTOR"),
                self.number("POLYGON_OFFSET_UNITS"),
                self.number("POLYGON_OFFSET_CLAMP"),
                *enables,
            )
        stipple = self.get("LINE_STIPPLE")
        clamp = self.get("FRAG_COLOR_CLAMP_EN")
        modes = (
            POLYGON_MODES.get(self.get("POLYGON_MODE_FRONT"), "fill"),
            POLYGON_MODES.get(self.get("POLYGON_MODE_BACK"), "fill"),
        )
        size = self.get("SEMANTIC_PTSZ")
        self.point_size_word = result.word(size.PTSZ_ID) if size.PTSZ_EN else None
        return DrawState(
            depth=self._compare("DEPTH_TEST_FUNC") if depth and self.on("DEPTH_TEST_ENABLE") else None,  # type: ignore[arg-type]
            depth_write=self.on("DEPTH_WRITE_ENABLE"),
            depth_clamp=bool(control.DEPTH_CLAMP_NEAR or control.DEPTH_CLAMP_FAR),
            half_z=self.on("DEPTH_CLIP_NEGATIVE_Z"),
            cull=cull,  # type: ignore[arg-type]
            # The winding counts with y downwards. Source: [nv50] "Drivers' own quirks".
            front="cw" if self.get("FRONT_FACE") == 0x901 else "ccw",
            blends=self.blends,
            blend_constant=tuple(map(number, self.words("BLEND_COLOR", 4))),  # type: ignore[arg-type]
            color_masks=self.color_masks,
            stencil=self.stencils if depth else None,
            point_size=max(1.0, self.number("POINT_SIZE")),
            provoking="last" if self.on("PROVOKING_VERTEX_LAST") else "first",
            window_positions=not self.on("VIEWPORT_TRANSFORM_EN"),
            alpha_test=(self._compare("ALPHA_TEST_FUNC"), self.number("ALPHA_TEST_REF"))  # type: ignore[arg-type]
            if self.on("ALPHA_TEST_ENABLE")
            else None,
            logic_op=LOGIC[self.get("LOGIC_OP")] if self.on("LOGIC_OP_ENABLE") else None,  # type: ignore[arg-type]
            clamp_fragment=tuple(bool(getattr(clamp, f"RT{k}")) for k in range(TARGETS)),
            clamp_vertex=self._clamped_words(result),
            polygon_mode=modes,  # type: ignore[arg-type]
            offset=offset,
            polygon_stipple=self.polygon_stipple,
            line_width=max(1.0, self.number("LINE_WIDTH")),
            line_stipple=(stipple.FACTOR_M1 + 1, stipple.PATTERN) if self.on("LINE_STIPPLE_ENABLE") else None,
            smooth_lines=self.on("LINE_SMOOTH_ENABLE"),
            smooth_points=self.on("POINT_SMOOTH_ENABLE"),
            smooth_polygons=self.on("POLYGON_SMOOTH_ENABLE"),
            clip_distances=self._clip_distances(result),
            point_origin="lower" if self.get("POINT_SPRITE_CTRL").COORD_ORIGIN else "upper",
            viewports=self.viewports,
            scissors=self.scissors,
            viewport_word=result.word(self.get("SEMANTIC_VIEWPORT").VIEWPORT_ID)
            if self.on("GP_VIEWPORT_ID_ENABLE") and self.on("GP_ENABLE")
            else None,
            layer_word=result.word(self.get("SEMANTIC_LAYER").LAYER_ID) if self.get("LAYER").USE_GP else None,
            clip_rectangles=self.clip_rectangles,
            multisampling=self.multisampling,
            pixel_center=0.0 if self.on("PIXEL_CENTER_INTEGER") else 0.5,
            rasterize=self.on("RASTERIZE_ENABLE"),
        )


_DRAWS_READ = (
    "VP_GP_BUILTIN_ATTR_EN", "GP_OUTPUT_PRIMITIVE_TYPE", "GP_VERTEX_OUTPUT_COUNT", "TEX_MISC", "SCREEN_SCISSOR_*",
    *(name for view in vars(State3D).values() if isinstance(view, Derived) for name in view.names),
)  # fmt: skip


class DrawState3D(State3D):
    """The state with the common properties of draws."""

    @derived(*_DRAWS_READ)
    def draw_words(self) -> tuple[int, ...]:
        """The words that determine a draw besides its data: those of all derived views, and some more."""
        return _words_of(self.state)

    @derived("VERTEX_ARRAY_ATTRIB")
    def inline(self) -> Inline:
        """The vertices of the command stream. Raises NotModelled."""
        return Inline(self)


_words_of = itemgetter(*sorted(set(words_of(ENG3D, _DRAWS_READ))))

__all__ = ["ENG3D", "DrawState3D", "ResultMap", "State3D", "number"]
