"""Fixed-function state of a draw, and choices where the fixed functions are not fully known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from isakit.settings import Settings

Compare = Literal["never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always"]
Factor = Literal[
    "zero", "one", "src_color", "one_minus_src_color", "src_alpha", "one_minus_src_alpha", "dst_color",
    "one_minus_dst_color", "dst_alpha", "one_minus_dst_alpha", "constant_color", "one_minus_constant_color",
    "constant_alpha", "one_minus_constant_alpha", "src_alpha_saturate", "src1_color", "one_minus_src1_color",
    "src1_alpha", "one_minus_src1_alpha",
]  # fmt: skip
Equation = Literal["add", "subtract", "reverse_subtract", "min", "max"]
StencilOp = Literal["keep", "zero", "replace", "incr", "decr", "invert", "incr_wrap", "decr_wrap"]
LogicOp = Literal[
    "clear", "and", "and_reverse", "copy", "and_inverted", "noop", "xor", "or", "nor", "equiv", "invert", "or_reverse",
    "copy_inverted", "or_inverted", "nand", "set",
]  # fmt: skip
PolygonMode = Literal["fill", "line", "point"]
Rectangle = tuple[int, int, int, int]
"""x, y, width, height in pixels."""
Byte = Annotated[int, range(256)]


@dataclass(frozen=True)
class Blend(Settings):
    """Blending: `src` factor times the fragment, `dst` factor times the target, combined by `equation`.

    `src_alpha`, `dst_alpha` and `equation_alpha` are for the alpha component, by default the same as for the others.
    """

    src: Factor = "one"
    dst: Factor = "zero"
    equation: Equation = "add"
    src_alpha: Factor | None = None
    dst_alpha: Factor | None = None
    equation_alpha: Equation | None = None


@dataclass(frozen=True)
class Stencil(Settings):
    """Stencil test of one side: reference and masks have 8 bits."""

    func: Compare = "always"
    ref: Byte = 0
    read_mask: Byte = 0xFF
    write_mask: Byte = 0xFF
    fail: StencilOp = "keep"
    depth_fail: StencilOp = "keep"
    passed: StencilOp = "keep"


@dataclass(frozen=True)
class Viewport:
    """window = ndc * scale + translate; depth is clamped to `depth_range`."""

    scale: tuple[float, float, float]
    translate: tuple[float, float, float]
    depth_range: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class PolygonOffset(Settings):
    """Depth offset of polygons.

    It is `factor` times their slope plus `units` of the depth format, at most `clamp` (0: no limit). `fill`, `line` and
    `point` are the polygon modes it applies to.
    """

    factor: float = 0.0
    units: float = 0.0
    clamp: float = 0.0
    fill: bool = True
    line: bool = False
    point: bool = False


@dataclass(frozen=True)
class ClipDistance(Settings):
    """An output word that is a distance: negative parts are clipped, or primitives that are negative everywhere culled.

    Source: [graphics] 3.4.
    """

    o_word: int
    mode: Literal["clip", "cull"] = "clip"


@dataclass(frozen=True)
class Multisampling(Settings):
    """Several samples per pixel.

    Attributes: `positions`: x and y of each sample in sixteenths of a pixel; `places`: where it is stored inside the
    pixel's rectangle of `across` by `down` stored pixels; `mask`: samples that are written; `alpha_to_coverage`,
    `alpha_to_one`: effects of the alpha of the first target; `enabled`: coverage is tested at the samples, otherwise
    all samples of a pixel have the coverage of its centre; `shading`: programs run for every sample, and inputs that
    they read at the centroid are evaluated there.
    """

    positions: tuple[tuple[int, int], ...]
    places: tuple[tuple[int, int], ...]
    across: int
    down: int
    mask: int = 0xFFFF
    alpha_to_coverage: bool = False
    alpha_to_one: bool = False
    enabled: bool = True
    shading: bool = False


@dataclass(frozen=True)
class DrawState(Settings):
    """All state of a draw that is neither program nor data.

    Attributes:
        depth: comparison of the depth test, None for no test (and no depth write).
        depth_write: whether passing fragments write depth.
        depth_clamp: no clipping at near and far; depth is clamped instead.
        half_z: clip to 0 <= z instead of -w <= z, and map depth accordingly.
        cull: side that is not drawn.
        front: winding of front faces, with y up.
        blend: one for all targets, None for none.
        blend_constant: R, G, B, A for the constant factors.
        color_mask: components that are written.
        stencil: (front, back) tests, None for none.
        scissor: (x, y, width, height), None for the whole target.
        viewport: None for the whole target with depth 0 to 1.
        point_size: edge of points in pixels, unless a program writes it.
        provoking: vertex that gives the flat values.
        window_positions: positions are window coordinates already: no clipping, no division, no viewport.
        blends: one per target, None for none; overrides `blend`.
        color_masks: one per target; overrides `color_mask`.
        alpha_test: (comparison, reference) for the alpha of the first target.
        logic_op: the operation on bits of colour and target, in place of blending.
        clamp_fragment: targets whose colours are clamped to 0 to 1 before they are blended.
        clamp_vertex: output words that are clamped to 0 to 1 after the last vertex stage.
        polygon_mode: of front and back faces.
        offset: depth added to polygons.
        polygon_stipple: 32 rows of 32 bits, row 0 the lowest, the highest bit at the left; None for none.
        line_width: in pixels.
        line_stipple: (factor, 16-bit pattern), None for none.
        smooth_lines, smooth_points, smooth_polygons: whether alpha is scaled by their coverage of a pixel; not if
            samples are tested. Each triangle of a polygon has its own coverage.
        clip_distances: output words that clip or cull.
        point_origin: the origin of coordinates inside a point.
        viewports, scissors: by the number in output word `viewport_word`; one viewport else.
        layer_word: output word with the layer, None for layer 0.
        clip_rectangles: (whether pixels inside are drawn, or those outside, rectangles), None for all.
        multisampling: None for one sample a pixel.
        pixel_center: offset from a pixel's number to its position: 0.5, or 0.
        rasterize: whether anything is drawn at all.
    """

    depth: Compare | None = None
    depth_write: bool = True
    depth_clamp: bool = False
    half_z: bool = False
    cull: Literal["front", "back", "both"] | None = None
    front: Literal["ccw", "cw"] = "ccw"
    blend: Blend | None = None
    blend_constant: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    color_mask: tuple[bool, bool, bool, bool] = (True, True, True, True)
    stencil: tuple[Stencil, Stencil] | None = None
    scissor: tuple[int, int, int, int] | None = None
    viewport: Viewport | None = None
    point_size: float = 1.0
    provoking: Literal["first", "last"] = "last"
    window_positions: bool = False
    blends: tuple[Blend | None, ...] | None = None
    color_masks: tuple[tuple[bool, bool, bool, bool], ...] | None = None
    alpha_test: tuple[Compare, float] | None = None
    logic_op: LogicOp | None = None
    clamp_fragment: tuple[bool, ...] = ()
    clamp_vertex: tuple[int, ...] = ()
    polygon_mode: tuple[PolygonMode, PolygonMode] = ("fill", "fill")
    offset: PolygonOffset | None = None
    polygon_stipple: tuple[int, ...] | None = None
    line_width: float = 1.0
    line_stipple: tuple[int, int] | None = None
    smooth_lines: bool = False
    smooth_points: bool = False
    smooth_polygons: bool = False
    clip_distances: tuple[ClipDistance, ...] = ()
    point_origin: Literal["lower", "upper"] = "lower"
    viewports: tuple[Viewport, ...] = ()
    scissors: tuple[Rectangle, ...] = ()
    viewport_word: int | None = None
    layer_word: int | None = None
    clip_rectangles: tuple[bool, tuple[Rectangle, ...]] | None = None
    multisampling: Multisampling | None = None
    pixel_center: float = 0.5
    rasterize: bool = True


@dataclass(frozen=True)
class GraphicsChoices(Settings):
    """Choices on open questions about the fixed functions. Source: [graphics] 3, 5.

    Attributes:
        planes: positions that interpolation planes are made from: `exact`, or `snapped` to the sub-pixel grid.
        discarded: whether discarded lanes keep `run`ning, so that derivatives stay valid, or `end`.
        store: how ties are rounded when a colour becomes 8 bits: to `even`, or `up`.
        fill: inclusive horizontal edge of a triangle: the one with the `lower` row number or the `upper`.
        blend: precision of blending.
        live_helpers: the effect of texture instructions marked `live` in lanes that are not visible: `keep` their
            registers, or `fetch` as everywhere.
        excess: vertices a geometry program emits beyond its limit: `drop` them, or `fault`.
        vstride: what $vstride reads.
        quads: the diagonal along which quads are cut: between their `second` and fourth vertex, or from the `first` to
            the third. It is visible if quads are not flat, or their colours not linear.
        lines: pixels of a line: those whose `diamond` it leaves, or one for each column (or row) whose `centre` lies
            between its ends. They differ at the ends.
    """

    planes: Literal["exact", "snapped"] = "exact"
    discarded: Literal["run", "end"] = "run"
    store: Literal["even", "up"] = "even"
    fill: Literal["lower", "upper"] = "lower"
    blend: Literal["f32", "f64"] = "f32"
    live_helpers: Literal["keep", "fetch"] = "keep"
    excess: Literal["drop", "fault"] = "drop"
    vstride: Annotated[int, range(1 << 32)] = 0x20
    quads: Literal["second", "first"] = "second"
    lines: Literal["diamond", "centre"] = "diamond"


DEFAULT_CHOICES = GraphicsChoices()


@dataclass
class DrawStats:
    """Counts of a draw: items of each stage, samples that passed all tests, instructions (per lane) and seconds."""

    vertices: int = 0
    primitives: int = 0
    triangles: int = 0
    quads: int = 0
    fragments: int = 0
    samples: int = 0
    instructions: int = 0
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict[str, float])
