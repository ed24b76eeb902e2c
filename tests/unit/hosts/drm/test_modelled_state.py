"""State that is modelled acts: other words in it before a draw show in memory, in a count, or are reported."""

from __future__ import annotations

import struct
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
        COLOR_MASK.R,G,B,A
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
        CLEAR_COLOR CLEAR_DEPTH CLEAR_STENCIL
        STRMOUT_BUFFERS_CTRL.INTERLEAVED,LIMIT_MODE,STRIDE STRMOUT_MAP STRMOUT_ENABLE STRMOUT_ADDRESS_HIGH
        STRMOUT_ADDRESS_LOW STRMOUT_OFFSET_LIMIT
    """,
    "triangle": """
        FP_INTERPOLANT_CTRL.COUNT_NONFLAT QUERY_SEQUENCE POLYGON_SMOOTH_ENABLE
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
TARGETS = " ".join(
    f"{name}#{k}={name}#1"
    for k in range(2, 8)
    for name in ("RT_ADDRESS_HIGH", "RT_ADDRESS_LOW", "RT_FORMAT", "RT_HORIZ", "RT_VERT", "RT_LAYER_STRIDE",
                 "RT_BLOCK_DIMENSIONS")
)  # fmt: skip
"""Further targets like the second one."""
EIGHT_PLANES = "SEMANTIC_CLIP.CLIP_START=0 SEMANTIC_CLIP.CLIP_NUM=8 VP_RESULT_MAP_SIZE=8 VP_RESULT_MAP#1=0x05040504"
OFFSETS = (
    "POLYGON_OFFSET_FACTOR=1.0 POLYGON_OFFSET_UNITS=4.0 DEPTH_TEST_ENABLE=1 DEPTH_WRITE_ENABLE=1 DEPTH_TEST_FUNC=0x207"
)
IBLENDS = " ".join(
    f"BLEND_ENABLE#{k}=1 IBLEND_SEPARATE_ALPHA#{k}=1 IBLEND_FUNC_SRC_RGB#{k}=0x4302 IBLEND_FUNC_DST_RGB#{k}=0x4303 "
    f"IBLEND_FUNC_SRC_ALPHA#{k}=0x4000 IBLEND_FUNC_DST_ALPHA#{k}=0x4000 IBLEND_EQUATION_RGB#{k}=0x8006 "
    f"IBLEND_EQUATION_ALPHA#{k}=0x8006"
    for k in (0, 1)
)
SIDES = " ".join(
    f"STENCIL_{side}_FUNC_FUNC=0x202 STENCIL_{side}_FUNC_REF=1 STENCIL_{side}_FUNC_MASK=0xff "
    f"STENCIL_{side}_OP_FAIL=0x1e02 STENCIL_{side}_MASK=0xff"
    for side in ("FRONT", "BACK")
)
SHOWN_WITH: dict[tuple[str, int], list[tuple[str, str]]] = {
    ("alpha_test", 3): [
        ("ALPHA_TEST_ENABLE=1 ALPHA_TEST_FUNC=0x204 ALPHA_TEST_REF=0.5", "ALPHA_TEST_FUNC ALPHA_TEST_REF"),
    ],
    ("array_target", 1): [
        ("LAYER.IDX=1", "RT_ARRAY_MODE.MODE"),
        ("LAYER.IDX=1 RT_ARRAY_MODE.MODE=1 RT_ARRAY_MODE.LAYERS=4", "RT_ARRAY_MODE.LAYERS"),
    ],
    ("blend_per_target", 1): [
        (f"BLEND_INDEPENDENT=1 {IBLENDS}",
         "IBLEND_EQUATION_ALPHA IBLEND_EQUATION_RGB IBLEND_FUNC_DST_ALPHA IBLEND_FUNC_DST_RGB IBLEND_FUNC_SRC_ALPHA "
         "IBLEND_FUNC_SRC_RGB IBLEND_SEPARATE_ALPHA"),
        (f"RT_CONTROL.COUNT=3 {TARGETS}", "RT_CONTROL.MAP2"),
        (f"RT_CONTROL.COUNT=4 {TARGETS}", "RT_CONTROL.MAP3"),
        (f"RT_CONTROL.COUNT=5 {TARGETS}", "RT_CONTROL.MAP4"),
        (f"RT_CONTROL.COUNT=6 {TARGETS}", "RT_CONTROL.MAP5"),
        (f"RT_CONTROL.COUNT=7 {TARGETS}", "RT_CONTROL.MAP6"),
        (f"RT_CONTROL.COUNT=8 {TARGETS}", "RT_CONTROL.MAP7"),
    ],
    ("blending", 1): [
        ("BLEND_ENABLE=1 BLEND_FUNC_SRC_RGB=0xc001 BLEND_FUNC_DST_RGB=0x4000", "BLEND_COLOR"),
        ("BLEND_FUNC_SRC_RGB=0xc001 BLEND_FUNC_DST_RGB=0x4000", "BLEND_ENABLE"),
    ],
    ("clip_distances", 1): [
        ("CLIP_DISTANCE_ENABLE=0 SEMANTIC_CLIP.CLIP_START=2 SEMANTIC_CLIP.CLIP_NUM=8",
         "CLIP_DISTANCE_ENABLE.PLANE2,PLANE3"),
        ("CLIP_DISTANCE_ENABLE=0 SEMANTIC_CLIP.CLIP_START=0 SEMANTIC_CLIP.CLIP_NUM=8",
         "CLIP_DISTANCE_ENABLE.PLANE4,PLANE5"),
        (f"CLIP_DISTANCE_ENABLE=0 {EIGHT_PLANES}", "CLIP_DISTANCE_ENABLE.PLANE6,PLANE7"),
        ("CLIP_DISTANCE_ENABLE=0x4 SEMANTIC_CLIP.CLIP_START=2 SEMANTIC_CLIP.CLIP_NUM=8", "CLIP_DISTANCE_MODE.CULL2"),
        ("CLIP_DISTANCE_ENABLE=0x8 SEMANTIC_CLIP.CLIP_START=2 SEMANTIC_CLIP.CLIP_NUM=8", "CLIP_DISTANCE_MODE.CULL3"),
        ("CLIP_DISTANCE_ENABLE=0x10 SEMANTIC_CLIP.CLIP_START=0 SEMANTIC_CLIP.CLIP_NUM=8", "CLIP_DISTANCE_MODE.CULL4"),
        ("CLIP_DISTANCE_ENABLE=0x20 SEMANTIC_CLIP.CLIP_START=0 SEMANTIC_CLIP.CLIP_NUM=8", "CLIP_DISTANCE_MODE.CULL5"),
        (f"CLIP_DISTANCE_ENABLE=0x40 {EIGHT_PLANES}", "CLIP_DISTANCE_MODE.CULL6"),
        (f"CLIP_DISTANCE_ENABLE=0x80 {EIGHT_PLANES}", "CLIP_DISTANCE_MODE.CULL7"),
    ],
    ("conditional_rendering", 1): [("COND_MODE=2", "COND_ADDRESS_HIGH COND_ADDRESS_LOW")],
    ("culling", 1): [("CULL_FACE=0x408", "CULL_FACE_ENABLE")],
    ("depth_formats", 1): [
        ("DEPTH_TEST_ENABLE=1 DEPTH_WRITE_ENABLE=1 DEPTH_TEST_FUNC=0x207 ZETA_ENABLE=1", "FP_CONTROL.EXPORTS_Z"),
        ("DEPTH_TEST_ENABLE=1 DEPTH_WRITE_ENABLE=1 DEPTH_TEST_FUNC=0x207 ZETA_ENABLE=1 FP_CONTROL.EXPORTS_Z=1",
         "FP_RESULT_COUNT"),
    ],
    ("draw_feedback", 2): [("", "DRAW_TFB_BASE DRAW_TFB_STRIDE")],
    ("instances", 1): [("", "VP_ATTR_EN.ATTR2")],
    ("instances", 2): [
        ("", "VP_GP_BUILTIN_ATTR_EN.VERTEX_ID"),
        ("VP_GP_BUILTIN_ATTR_EN.VERTEX_ID=1", "VERTEX_ID_BASE"),
        ("VP_GP_BUILTIN_ATTR_EN.VERTEX_ID=1 VERTEX_BUFFER_FIRST=1",
         "VP_GP_BUILTIN_ATTR_EN.VERTEX_ID_DRAW_ARRAYS_ADD_START"),
    ],
    ("instances", 3): [("", "VERTEX_ARRAY_DIVISOR")],
    ("logic_operation", 1): [("LOGIC_OP_ENABLE=1 LOGIC_OP=0x1506", "LOGIC_OP")],
    ("mipmaps", 2): [("", "TIC_LIMIT")],
    ("multisampling", 1): [("SAMPLE_SHADING.ENABLE=1", "SAMPLE_SHADING.MIN_SAMPLES")],
    ("point_size", 1): [("", "SEMANTIC_PTSZ.PTSZ_EN,PTSZ_ID")],
    ("polygon_offset", 1): [
        (f"POLYGON_OFFSET_FILL_ENABLE=1 {OFFSETS}",
         "POLYGON_OFFSET_CLAMP POLYGON_OFFSET_FACTOR POLYGON_OFFSET_FILL_ENABLE POLYGON_OFFSET_UNITS"),
        (f"POLYGON_MODE_FRONT=0x1b01 POLYGON_MODE_BACK=0x1b01 {OFFSETS}", "POLYGON_OFFSET_LINE_ENABLE"),
        (f"POLYGON_MODE_FRONT=0x1b00 POLYGON_MODE_BACK=0x1b00 {OFFSETS}", "POLYGON_OFFSET_POINT_ENABLE"),
    ],
    ("scissors", 1): [
        ("CLIP_RECTS_EN=1 CLIP_RECTS_MODE=0 CLIP_RECT_HORIZ=0x28000a CLIP_RECT_VERT=0x28000a",
         "CLIP_RECTS_MODE CLIP_RECT_HORIZ.MAX,MIN CLIP_RECT_VERT.MAX,MIN"),
        ("SCISSOR_ENABLE=1 SCISSOR_HORIZ=0x28000a SCISSOR_VERT=0x28000a CLEAR_COLOR=0.5", "CLEAR_FLAGS.CLEAR_RECT"),
    ],
    ("stencil_sides", 1): [
        (f"STENCIL_ENABLE=1 STENCIL_TWO_SIDE_ENABLE=1 {SIDES}",
         "STENCIL_BACK_FUNC_MASK STENCIL_BACK_FUNC_REF STENCIL_BACK_OP_FAIL STENCIL_FRONT_OP_FAIL"),
        (f"STENCIL_ENABLE=1 {SIDES} STENCIL_FRONT_FUNC_FUNC=0x204 STENCIL_FRONT_FUNC_REF=0x40 "
         "STENCIL_FRONT_OP_FAIL=0x150a STENCIL_FRONT_OP_ZPASS=0 STENCIL_FRONT_OP_ZFAIL=0",
         "STENCIL_FRONT_FUNC_MASK STENCIL_FRONT_FUNC_REF"),
        (f"STENCIL_ENABLE=1 STENCIL_TWO_SIDE_ENABLE=1 {SIDES} STENCIL_FRONT_FUNC_FUNC=0x207 "
         "STENCIL_BACK_FUNC_FUNC=0x207 DEPTH_TEST_ENABLE=1 DEPTH_TEST_FUNC=0x200",
         "STENCIL_BACK_OP_ZFAIL STENCIL_FRONT_OP_ZFAIL"),
        ("STENCIL_FRONT_MASK=0x0f CLEAR_STENCIL=0xff", "CLEAR_FLAGS.STENCIL_MASK"),
    ],
    ("transform_feedback", 1): [
        ("STRMOUT_BUFFERS_CTRL.INTERLEAVED=0", "STRMOUT_BUFFERS_CTRL.SEPARATE"),
        ("STRMOUT_BUFFERS_CTRL.INTERLEAVED=0 STRMOUT_BUFFERS_CTRL.SEPARATE=1", "STRMOUT_NUM_ATTRIBS"),
        ("STRMOUT_BUFFERS_CTRL.LIMIT_MODE=0", "STRMOUT_PRIMITIVE_LIMIT"),
        ("SEMAPHORE_ADDRESS_HIGH=RT_ADDRESS_HIGH SEMAPHORE_ADDRESS_LOW=RT_ADDRESS_LOW", "SEMAPHORE_SEQUENCE"),
    ],
    ("triangle", 1): [
        ("VERTEX_ARRAY_LIMIT_HIGH=0 VERTEX_ARRAY_LIMIT_LOW=0", "VERTEX_ARRAY_LIMIT_HIGH"),
        ("", "VERTEX_BUFFER_FIRST"),
        ("PRIM_RESTART_ENABLE=1 PRIM_RESTART_INDEX=1", "PRIM_RESTART_WITH_DRAW_ARRAYS"),
        ("VERTEX_ARRAY_ATTRIB#1=VERTEX_ARRAY_ATTRIB RT_FORMAT=0xca VIEWPORT_SCALE_Z=4.0", "FRAG_COLOR_CLAMP_EN.RT0"),
        ("VP_ATTR_EN=0 VERTEX_ARRAY_ATTRIB#3=VERTEX_ARRAY_ATTRIB", "VP_ATTR_EN.ATTR3"),
        ("VP_ATTR_EN=0 VERTEX_ARRAY_ATTRIB#4=VERTEX_ARRAY_ATTRIB", "VP_ATTR_EN.ATTR4"),
        ("VP_ATTR_EN=0 VERTEX_ARRAY_ATTRIB#5=VERTEX_ARRAY_ATTRIB", "VP_ATTR_EN.ATTR5"),
        ("VP_ATTR_EN=0 VERTEX_ARRAY_ATTRIB#6=VERTEX_ARRAY_ATTRIB", "VP_ATTR_EN.ATTR6"),
        ("VP_ATTR_EN=0 VERTEX_ARRAY_ATTRIB#7=VERTEX_ARRAY_ATTRIB", "VP_ATTR_EN.ATTR7"),
    ],
    ("wrap_modes", 2): [("", "LINKED_TSC TSC_LIMIT")],
}  # fmt: skip
"""For the n-th draw of a captured scene the state that is seen in it where other state is there beside it.

That is NAME[.FIELD][#INDEX]=VALUE; a value is a whole number, one of floating point, or the word of another method.
"""
NOT_SHOWN = {
    "only where a result beyond the first is outside of 0 to 1":
        "FRAG_COLOR_CLAMP_EN.RT1,RT2,RT3,RT4,RT5,RT6,RT7",
    "only where a colour of a vertex is outside of 0 to 1": "SEMANTIC_COLOR.CLMP_EN",
    "only in programs that read the place of a pixel": "PIXEL_CENTER_INTEGER",
    "only in programs that multiply 0 by an infinity": "ISA_FLAGS.MUL_ZERO_WINS",
    "only in programs with local memory, or with more registers than they say": "LOCAL_SIZE_LOG GP_REG_ALLOC_TEMP",
    "only in geometry programs that read the number of a primitive": "SEMANTIC_PRIM_ID.PRIM_ID",
    "only with several samples, and a colour that is not opaque": "MULTISAMPLE_CTRL.ALPHA_TO_COVERAGE,ALPHA_TO_ONE",
    "only with several samples, from GT215 on, of which there is no such capture": "FP_MULTISAMPLE.EXPORT_SAMPLE_MASK",
    "only at the edges of a cube map": "TEX_MISC.SEAMLESS_CUBE_MAP",
    "only with several layers of depth": "ZETA_LAYER_STRIDE",
}  # fmt: skip
"""State that none of these draws tells apart, by its reason."""


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


def placed(draw: Redraw, text: str) -> dict[tuple[str, int], int]:
    """The words of state like `A.X=1 B#2=0.5 C=D#1`."""
    table, out = draw.engine.table, dict[tuple[str, int], int]()
    for item in text.split():
        place, _, value = item.partition("=")
        place, _, index = place.partition("#")
        name, _, field = place.partition(".")
        key = name, int(index or 0)
        if value[0].isdigit():
            word = struct.unpack("<I", struct.pack("<f", float(value)))[0] if "." in value else int(value, 0)
        else:
            name_of, _, index = value.partition("#")
            word = draw.state[table.word(name_of, int(index or 0))]
        if field:
            f = next(f for m in table.methods if m.name == name for f in m.fields or () if f.name == field)
            mask = ((1 << f.high - f.low + 1) - 1) << f.low
            word = out.get(key, draw.state[table.word(*key)]) & ~mask | word << f.low
        out[key] = word
    return out


@pytest.mark.parametrize(("scene", "number"), SHOWN_WITH)
def test_other_words_are_seen_beside_other_state(scene: str, number: int) -> None:
    folder = CAPTURES if scene == "triangle" else CAPTURES / "features"
    draw = Redraw(folder / f"{scene}-a0.glc", number)
    try:
        table, rows = draw.engine.table, modelled()
        unseen: list[str] = []
        for text, fields in SHOWN_WITH[scene, number]:
            state = placed(draw, text)
            before = draw.seen(state, actions=True)
            for name, field in names(fields):
                m, f = rows[name, field]
                keys = [(name, k) for k in range(min(4, m.count))]
                tried = ((k, v) for k in keys for v in others(m, f, state.get(k, draw.state[table.word(*k)])))
                if all(draw.seen({**state, k: v}, actions=True) == before for k, v in tried):
                    unseen.append(f"{name} {field}")
        assert unseen == []
    finally:
        draw.close()


def test_every_modelled_field_is_listed_once() -> None:
    beside = [fields for row in SHOWN_WITH.values() for _, fields in row]
    listed = [n for text in (*SHOWN.values(), *beside, *NOT_SHOWN.values()) for n in names(text)]
    assert sorted(listed) == sorted(modelled())
