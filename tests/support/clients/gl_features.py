"""The scenes of gl_features.c: one for each fixed function of the pipeline."""

from __future__ import annotations

from pathlib import Path

from support.runners.gl import CAPTURES

SOURCE = Path(__file__).with_name("gl_features.c")
FEATURES = CAPTURES / "features"
"""What the driver (Mesa 22.3.6) sent for each scene on a chip, and in llvmpipe.npz what llvmpipe draws."""
SCENES = sorted({p.stem.rpartition("-")[0] for p in FEATURES.glob("*.glc")})
TOLERANCE = {
    "srgb": 2,  # llvmpipe approximates the curve
    "mipmaps": 2,  # sums of sums
    "line_loop": 2, "wide_lines": 2,  # colours along a line
    "smooth_lines": 12,  # what of a pixel is covered is approximated
    "color_formats": 9,  # one step of five bits
}  # fmt: skip
"""How far a component may be off, of 255, where one is too little, and why."""
USUAL = 1
"""How far one may be off elsewhere."""
