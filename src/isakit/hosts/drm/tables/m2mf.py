"""Methods of the copy engine (M2MF).

Source: rnndb, as the reference lists it ([nv50] methods); names that begin with UNK are what is not known.
"""

from __future__ import annotations

from isakit.hosts.drm.tables.method import Method
from isakit.hosts.drm.tables.method import method as m

M2MF_METHODS: tuple[Method, ...] = (
    m(0x0180, "DMA_NOTIFY"),
    m(0x0184, "DMA_BUFFER_IN"),
    m(0x0188, "DMA_BUFFER_OUT"),
    m(0x0200, "LAYOUT_IN"),
    m(0x0204, "BLOCKLINEAR_DIMENSIONS_IN"),
    m(0x0208, "BLOCKLINEAR_PITCH_IN"),
    m(0x020C, "BLOCKLINEAR_HEIGHT_IN"),
    m(0x0210, "BLOCKLINEAR_DEPTH_IN"),
    m(0x0214, "BLOCKLINEAR_POSITION_IN_Z"),
    m(0x0218, "BLOCKLINEAR_POSITION_IN", "X 15:0, Y 31:16"),
    m(0x021C, "LAYOUT_OUT"),
    m(0x0220, "BLOCKLINEAR_DIMENSIONS_OUT"),
    m(0x0224, "BLOCKLINEAR_PITCH_OUT"),
    m(0x0228, "BLOCKLINEAR_HEIGHT_OUT"),
    m(0x022C, "BLOCKLINEAR_DEPTH_OUT"),
    m(0x0230, "BLOCKLINEAR_POSITION_OUT_Z"),
    m(0x0234, "BLOCKLINEAR_POSITION_OUT", "X 15:0, Y 31:16"),
    m(0x0238, "OFFSET_IN_HIGH"),
    m(0x023C, "OFFSET_OUT_HIGH"),
    m(0x030C, "OFFSET_IN"),
    m(0x0310, "OFFSET_OUT"),
    m(0x0314, "PITCH_IN"),
    m(0x0318, "PITCH_OUT"),
    m(0x031C, "LINE_LENGTH_IN"),
    m(0x0320, "LINE_COUNT"),
    m(0x0324, "FORMAT", "INPUT_INC 7:0, OUTPUT_INC 15:8"),
    m(0x0328, "BUF_NOTIFY"),
)
