"""Methods of the copy engine (M2MF).

Source: rnndb, as the reference lists it ([nv50] methods); names that begin with UNK are unknown methods.
"""

from __future__ import annotations

from isakit.hosts.drm.tables.method import Method
from isakit.hosts.drm.tables.method import method as m
from isakit.hosts.drm.tables.method import state as s
from isakit.hosts.drm.tables.reasons import NO_OBJECTS

M2MF_METHODS: tuple[Method, ...] = (
    m(0x0180, "DMA_NOTIFY", ignored=NO_OBJECTS),
    m(0x0184, "DMA_BUFFER_IN", ignored=NO_OBJECTS),
    m(0x0188, "DMA_BUFFER_OUT", ignored=NO_OBJECTS),
    s(0x0200, "LAYOUT_IN"),
    s(0x0204, "BLOCKLINEAR_DIMENSIONS_IN", "X 3:0, Y 7:4, Z 11:8"),
    s(0x0208, "BLOCKLINEAR_PITCH_IN"),
    s(0x020C, "BLOCKLINEAR_HEIGHT_IN"),
    s(0x0210, "BLOCKLINEAR_DEPTH_IN"),
    s(0x0214, "BLOCKLINEAR_POSITION_IN_Z"),
    s(0x0218, "BLOCKLINEAR_POSITION_IN", "X 15:0, Y 31:16"),
    s(0x021C, "LAYOUT_OUT"),
    s(0x0220, "BLOCKLINEAR_DIMENSIONS_OUT", "X 3:0, Y 7:4, Z 11:8"),
    s(0x0224, "BLOCKLINEAR_PITCH_OUT"),
    s(0x0228, "BLOCKLINEAR_HEIGHT_OUT"),
    s(0x022C, "BLOCKLINEAR_DEPTH_OUT"),
    s(0x0230, "BLOCKLINEAR_POSITION_OUT_Z"),
    s(0x0234, "BLOCKLINEAR_POSITION_OUT", "X 15:0, Y 31:16"),
    s(0x0238, "OFFSET_IN_HIGH"),
    s(0x023C, "OFFSET_OUT_HIGH"),
    s(0x030C, "OFFSET_IN"),
    s(0x0310, "OFFSET_OUT"),
    s(0x0314, "PITCH_IN"),
    s(0x0318, "PITCH_OUT"),
    s(0x031C, "LINE_LENGTH_IN"),
    s(0x0320, "LINE_COUNT"),
    m(0x0324, "FORMAT", "INPUT_INC 7:0=1, OUTPUT_INC 15:8=1"),
    m(0x0328, "BUF_NOTIFY"),
)
