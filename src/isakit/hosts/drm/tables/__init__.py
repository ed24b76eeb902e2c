"""Methods of the engines, declared like instructions: decoding, state, logs and documentation follow from the rows."""

from isakit.hosts.drm.tables.compute import COMPUTE_METHODS
from isakit.hosts.drm.tables.eng2d import METHODS_2D
from isakit.hosts.drm.tables.eng3d_draw import DRAW
from isakit.hosts.drm.tables.eng3d_input import INPUT
from isakit.hosts.drm.tables.eng3d_output import OUTPUT
from isakit.hosts.drm.tables.m2mf import M2MF_METHODS
from isakit.hosts.drm.tables.method import COMMON, BitRange, Method, MethodTable

M2MF = MethodTable("m2mf", "copies between memories", frozenset({0x5039}), (*COMMON, *M2MF_METHODS))
ENG2D = MethodTable("2d", "copies and conversions of images", frozenset({0x502D}), (*COMMON, *METHODS_2D))
ENG3D = MethodTable("3d", "drawing", frozenset({0x5097, 0x8297, 0x8397, 0x8597}), (*COMMON, *INPUT, *OUTPUT, *DRAW))
COMPUTE = MethodTable("compute", "kernels", frozenset({0x50C0, 0x85C0}), (*COMMON, *COMPUTE_METHODS))
TABLES = (M2MF, ENG2D, ENG3D, COMPUTE)

__all__ = ["COMPUTE", "ENG2D", "ENG3D", "M2MF", "TABLES", "BitRange", "Method", "MethodTable"]
