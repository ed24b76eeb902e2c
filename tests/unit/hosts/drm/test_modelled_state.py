"""State that is modelled acts: other words in it before a draw show in memory, in a count, or are reported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.tables import BitRange, Method
from support.runners.gl import CAPTURES
from support.runners.gl_redraw import Redraw

SHOWN = {
    "array_target": """
        LAYER.IDX
    """,
    "blend_per_target": """
        COLOR_MASK_COMMON RT_CONTROL.COUNT,MAP0,MAP1 RT_HORIZ.WIDTH RT_VERT BLEND_INDEPENDENT
        BLEND_SEPARATE_ALPHA BLEND_EQUATION_RGB BLEND_FUNC_SRC_RGB BLEND_FUNC_DST_RGB BLEND_EQUATION_ALPHA
        BLEND_FUNC_SRC_ALPHA BLEND_FUNC_DST_ALPHA BLEND_ENABLE_COMMON VP_START_ID FP_START_ID
        FP_CONTROL.MULTIPLE_RESULTS
    """,
    "blending": """
        BLEND_ENABLE COLOR_MASK.R,G,B,A
    """,
    "clip_distances": """
        CLIP_DISTANCE_ENABLE.PLANE0,PLANE1 SEMANTIC_CLIP.CLIP_START,CLIP_NUM CLIP_DISTANCE_MODE.CULL0,CULL1
    """,
    "conditional_rendering": """
        COND_MODE
    """,
    "culling": """
        FRONT_FACE CULL_FACE
    """,
    "depth_formats": """
        DEPTH_CLIP_NEGATIVE_Z ZETA_ADDRESS_HIGH ZETA_ADDRESS_LOW ZETA_FORMAT ZETA_BLOCK_DIMENSIONS.Y,Z
        ZETA_HORIZ ZETA_VERT DEPTH_TEST_ENABLE DEPTH_WRITE_ENABLE DEPTH_TEST_FUNC ZETA_ENABLE
    """,
    "flat_first": """
        SHADE_MODEL NOPERSPECTIVE_BITMAP PROVOKING_VERTEX_LAST
    """,
    "flat_last": """
        POLYGON_MODE_FRONT
    """,
    "index_widths": """
        COUNTER_ENABLE.RAST_PRIMITIVES_POSTCLIP POLYGON_MODE_BACK VB_ELEMENT_BASE
    """,
    "instances": """
        VERTEX_ARRAY_PER_INSTANCE VB_INSTANCE_BASE VP_GP_BUILTIN_ATTR_EN.INSTANCE_ID
    """,
    "layered_target": """
        RT_LAYER_STRIDE GP_ADDRESS_HIGH GP_ADDRESS_LOW GP_START_ID GP_VERTEX_OUTPUT_COUNT LAYER.USE_GP GP_ENABLE
        GP_RESULT_MAP_SIZE GP_OUTPUT_PRIMITIVE_TYPE GP_RESULT_MAP.SLOT0,SLOT1,SLOT2,SLOT3 GP_VIEWPORT_ID_ENABLE
        SEMANTIC_LAYER.LAYER_ID
    """,
    "line_stipple": """
        LINE_STIPPLE_ENABLE LINE_STIPPLE.FACTOR_M1,PATTERN
    """,
    "logic_operation": """
        LOGIC_OP_ENABLE
    """,
    "multisampling": """
        MSAA_MASK SAMPLECNT_ENABLE MULTISAMPLE_ENABLE MULTISAMPLE_MODE SAMPLE_SHADING.ENABLE
        FP_MULTISAMPLE.FORCE_PER_SAMPLE
    """,
    "occlusion_query": """
        QUERY_ADDRESS_HIGH QUERY_ADDRESS_LOW
    """,
    "points": """
        VIEWPORT_SCALE_X VIEWPORT_SCALE_Y VIEWPORT_TRANSLATE_X VIEWPORT_TRANSLATE_Y VIEWPORT_HORIZ.X,W
        VIEWPORT_VERT.Y,H COUNTER_ENABLE.FP_PIXELS VP_ADDRESS_HIGH VP_ADDRESS_LOW FP_ADDRESS_HIGH FP_ADDRESS_LOW
        CB_DEF_ADDRESS_HIGH CB_DEF_ADDRESS_LOW ALPHA_TEST_ENABLE VP_ATTR_EN.ATTR1,ATTR0 POINT_SMOOTH_ENABLE
        VP_RESULT_MAP_SIZE VP_REG_ALLOC_TEMP VP_RESULT_MAP.SLOT0,SLOT1,SLOT2,SLOT3 RASTERIZE_ENABLE
        FP_INTERPOLANT_CTRL.COUNT,OFFSET,UMASK FP_REG_ALLOC_TEMP
    """,
    "polygon_offset": """
        VIEWPORT_SCALE_Z VIEWPORT_TRANSLATE_Z DEPTH_RANGE_NEAR DEPTH_RANGE_FAR
    """,
    "polygon_stipple": """
        POLYGON_STIPPLE_ENABLE POLYGON_STIPPLE_PATTERN
    """,
    "primitive_restart": """
        PRIM_RESTART_ENABLE PRIM_RESTART_INDEX
    """,
    "scissors": """
        SCISSOR_ENABLE SCISSOR_HORIZ.MIN,MAX SCISSOR_VERT.MIN,MAX SCREEN_SCISSOR_HORIZ.W,X
        SCREEN_SCISSOR_VERT.H,Y VIEW_VOLUME_CLIP_CTRL.DEPTH_CLAMP_NEAR,DEPTH_CLAMP_FAR CLIP_RECTS_EN
    """,
    "sprites_lower": """
        POINT_COORD_REPLACE_MAP POINT_SIZE POINT_SPRITE_ENABLE POINT_SPRITE_CTRL.COORD_ORIGIN
    """,
    "stencil_sides": """
        STENCIL_BACK_MASK STENCIL_ENABLE STENCIL_FRONT_OP_ZPASS STENCIL_FRONT_FUNC_FUNC STENCIL_FRONT_MASK
        STENCIL_TWO_SIDE_ENABLE STENCIL_BACK_OP_ZPASS STENCIL_BACK_FUNC_FUNC
    """,
    "transform_feedback": """
        SEMAPHORE_ADDRESS_HIGH SEMAPHORE_ADDRESS_LOW RT_ADDRESS_HIGH RT_ADDRESS_LOW RT_FORMAT
        RT_BLOCK_DIMENSIONS.Y,Z VERTEX_ARRAY_FETCH.STRIDE,ENABLE VERTEX_ARRAY_START_HIGH VERTEX_ARRAY_START_LOW
        COUNTER_ENABLE.VFETCH_VERTICES,VFETCH_PRIMITIVES,VP_LAUNCHES,TRANSFORM_FEEDBACK,GENERATED_PRIMITIVES,RAST_PRIMITIVES_PRECLIP
        CLEAR_COLOR CLEAR_DEPTH CLEAR_STENCIL POLYGON_SMOOTH_ENABLE
        STRMOUT_BUFFERS_CTRL.INTERLEAVED,LIMIT_MODE,STRIDE STRMOUT_MAP STRMOUT_ENABLE STRMOUT_ADDRESS_HIGH
        STRMOUT_ADDRESS_LOW STRMOUT_OFFSET_LIMIT
    """,
    "triangle": """
        FP_INTERPOLANT_CTRL.COUNT_NONFLAT QUERY_SEQUENCE
    """,
    "triangle_adjacency": """
        COUNTER_ENABLE.GP_LAUNCHES,GP_PRIMITIVES_OUT
    """,
    "trilinear": """
        VERTEX_ARRAY_LIMIT_LOW TSC_ADDRESS_HIGH TSC_ADDRESS_LOW TIC_ADDRESS_HIGH TIC_ADDRESS_LOW
        VERTEX_ARRAY_ATTRIB.BUFFER,OFFSET,FORMAT,TYPE,CONST,BGRA
    """,
    "two_sides": """
        VERTEX_TWO_SIDE_ENABLE SEMANTIC_COLOR.FFC0_ID,BFC0_ID,COLR_NR
    """,
    "viewport_array": """
        SEMANTIC_VIEWPORT.VIEWPORT_ID VIEWPORT_TRANSFORM_EN
    """,
    "wide_lines": """
        RT_HORIZ.LINEAR LINE_WIDTH LINE_SMOOTH_ENABLE
    """,
}
"""For the first draw of a captured scene, followed by a query and a clear, the state that is seen in it."""
NOT_SHOWN = """
    ALPHA_TEST_FUNC ALPHA_TEST_REF BLEND_COLOR CLEAR_FLAGS.CLEAR_RECT,STENCIL_MASK
    CLIP_DISTANCE_ENABLE.PLANE2,PLANE3,PLANE4,PLANE5,PLANE6,PLANE7
    CLIP_DISTANCE_MODE.CULL2,CULL3,CULL4,CULL5,CULL6,CULL7 CLIP_RECTS_MODE CLIP_RECT_HORIZ.MAX,MIN
    CLIP_RECT_VERT.MAX,MIN COND_ADDRESS_HIGH COND_ADDRESS_LOW CULL_FACE_ENABLE DRAW_TFB_BASE DRAW_TFB_STRIDE
    FP_CONTROL.EXPORTS_Z FP_MULTISAMPLE.EXPORT_SAMPLE_MASK FP_RESULT_COUNT
    FRAG_COLOR_CLAMP_EN.RT0,RT1,RT2,RT3,RT4,RT5,RT6,RT7 GP_REG_ALLOC_TEMP IBLEND_EQUATION_ALPHA
    IBLEND_EQUATION_RGB IBLEND_FUNC_DST_ALPHA IBLEND_FUNC_DST_RGB IBLEND_FUNC_SRC_ALPHA IBLEND_FUNC_SRC_RGB
    IBLEND_SEPARATE_ALPHA ISA_FLAGS.MUL_ZERO_WINS LINKED_TSC LOCAL_SIZE_LOG LOGIC_OP
    MULTISAMPLE_CTRL.ALPHA_TO_COVERAGE,ALPHA_TO_ONE PIXEL_CENTER_INTEGER POLYGON_OFFSET_CLAMP
    POLYGON_OFFSET_FACTOR POLYGON_OFFSET_FILL_ENABLE POLYGON_OFFSET_LINE_ENABLE POLYGON_OFFSET_POINT_ENABLE
    POLYGON_OFFSET_UNITS PRIM_RESTART_WITH_DRAW_ARRAYS RT_ARRAY_MODE.LAYERS,MODE
    RT_CONTROL.MAP2,MAP3,MAP4,MAP5,MAP6,MAP7 SAMPLE_SHADING.MIN_SAMPLES SEMANTIC_COLOR.CLMP_EN
    SEMANTIC_PRIM_ID.PRIM_ID SEMANTIC_PTSZ.PTSZ_EN,PTSZ_ID SEMAPHORE_SEQUENCE STENCIL_BACK_FUNC_MASK
    STENCIL_BACK_FUNC_REF STENCIL_BACK_OP_FAIL STENCIL_BACK_OP_ZFAIL STENCIL_FRONT_FUNC_MASK
    STENCIL_FRONT_FUNC_REF STENCIL_FRONT_OP_FAIL STENCIL_FRONT_OP_ZFAIL STRMOUT_BUFFERS_CTRL.SEPARATE
    STRMOUT_NUM_ATTRIBS STRMOUT_PRIMITIVE_LIMIT TEX_MISC.SEAMLESS_CUBE_MAP TIC_LIMIT TSC_LIMIT
    VERTEX_ARRAY_DIVISOR VERTEX_ARRAY_LIMIT_HIGH VERTEX_BUFFER_FIRST VERTEX_ID_BASE
    VP_ATTR_EN.ATTR2,ATTR3,ATTR4,ATTR5,ATTR6,ATTR7
    VP_GP_BUILTIN_ATTR_EN.VERTEX_ID,VERTEX_ID_DRAW_ARRAYS_ADD_START ZETA_LAYER_STRIDE
"""
"""State that none of these draws tells apart, since it needs other state beside it."""


def names(text: str) -> Iterator[tuple[str, str]]:
    """Methods and their fields (empty: the whole word) of a list like `A B.X,Y`."""
    for word in text.split():
        method, _, fields = word.partition(".")
        yield from ((method, f) for f in fields.split(","))


def modelled() -> dict[tuple[str, str], tuple[Method, BitRange | None]]:
    """Methods that something reads, by name and field, without those fields that are not modelled or ignored."""
    out: dict[tuple[str, str], tuple[Method, BitRange | None]] = {}
    for m in Engine3D.table.methods:
        for f in (m.fields or (None,)) if m.read else ():
            if f is None or (f.neutral is None and not f.ignored):
                out[m.name, f.name if f else ""] = m, f
    return out


def others(m: Method, f: BitRange | None, word: int) -> list[int]:
    """Other words for a method: named ones, single bits of the field, none and all of them, and a float."""
    low, high = (0, 31) if f is None else (f.low, f.high)
    mask = ((1 << high - low + 1) - 1) << low
    out = [v for v in m.values if v != word][:3] if f is None else []
    out += [word ^ 1 << low, word & ~mask, word | mask]
    if high - low > 8:
        out += [word ^ 1 << low + 4, word ^ 1 << high - 4]
    if f is None and not m.values:
        out.append(0x3F00_0000)
    return [v for v in dict.fromkeys(out) if v != word]


@pytest.mark.parametrize("scene", SHOWN)
def test_other_words_are_seen(scene: str) -> None:
    folder = CAPTURES if scene == "triangle" else CAPTURES / "features"
    draw = Redraw(folder / f"{scene}-a0.glc")
    try:
        table, rows = draw.engine.table, modelled()
        before = draw.seen(actions=True)
        assert draw.seen(actions=True) == before
        unseen: list[str] = []
        for name, field in names(SHOWN[scene]):
            m, f = rows[name, field]
            tried = ((k, v) for k in range(min(2, m.count)) for v in others(m, f, draw.state[table.word(name, k)]))
            if all(draw.seen({(name, k): v}, actions=True) == before for k, v in tried):
                unseen.append(f"{name} {field}")
        assert unseen == []
    finally:
        draw.close()


def test_every_modelled_field_is_listed_once() -> None:
    listed = [n for text in (*SHOWN.values(), NOT_SHOWN) for n in names(text)]
    assert sorted(listed) == sorted(modelled())
