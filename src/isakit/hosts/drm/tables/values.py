"""Values that many methods share. Source: rnndb nv50_3ddefs and g80_defs ([nv50] methods)."""

from __future__ import annotations

from collections.abc import Mapping

BLEND_EQUATION: Mapping[int, str] = {
    0x8006: "add",
    0x8007: "min",
    0x8008: "max",
    0x800A: "subtract",
    0x800B: "reverse_subtract",
}
COMPARE: Mapping[int, str] = {
    0x0200: "never",
    0x0201: "less",
    0x0202: "equal",
    0x0203: "lequal",
    0x0204: "greater",
    0x0205: "notequal",
    0x0206: "gequal",
    0x0207: "always",
}
CONDITION: Mapping[int, str] = {
    0x0000: "never",
    0x0001: "always",
    0x0002: "res_non_zero",
    0x0003: "equal",
    0x0004: "not_equal",
}
FACE: Mapping[int, str] = {
    0x0404: "front",
    0x0405: "back",
    0x0408: "front_and_back",
}
POLYGON_MODE: Mapping[int, str] = {
    0x1B00: "point",
    0x1B01: "line",
    0x1B02: "fill",
}
SHADE_MODEL: Mapping[int, str] = {
    0x1D00: "flat",
    0x1D01: "smooth",
}
STENCIL_OP: Mapping[int, str] = {
    0x0000: "zero",
    0x150A: "invert",
    0x1E00: "keep",
    0x1E01: "replace",
    0x1E02: "incr",
    0x1E03: "decr",
    0x8507: "incr_wrap",
    0x8508: "decr_wrap",
}
WINDING: Mapping[int, str] = {
    0x0900: "cw",
    0x0901: "ccw",
}
BLEND_FACTOR: Mapping[int, str] = {
    0x4000: "zero",
    0x4001: "one",
    0x4300: "src_color",
    0x4301: "one_minus_src_color",
    0x4302: "src_alpha",
    0x4303: "one_minus_src_alpha",
    0x4304: "dst_alpha",
    0x4305: "one_minus_dst_alpha",
    0x4306: "dst_color",
    0x4307: "one_minus_dst_color",
    0x4308: "src_alpha_saturate",
    0xC001: "constant_color",
    0xC002: "one_minus_constant_color",
    0xC003: "constant_alpha",
    0xC004: "one_minus_constant_alpha",
    0xC900: "src1_color",
    0xC901: "one_minus_src1_color",
    0xC902: "src1_alpha",
    0xC903: "one_minus_src1_alpha",
}
