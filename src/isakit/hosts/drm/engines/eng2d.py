"""The 2D engine: images out of the command stream (SIFC), and copies with scaling and conversion (BLIT).

Source: rnndb nv50_2d; [nv50] "Methods".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.graphics.color_formats import ColorFormat, by_code
from isakit.hosts.drm.engine import Engine, action, derived, signed
from isakit.hosts.drm.engines import conditions
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.surface import Surface
from isakit.hosts.drm.tables import ENG2D
from isakit.hosts.drm.tables.method import Word

ROP = 4
BLENDING = (1, 2, 6)
"""Operations that read the destination of a copy, and are not modelled."""
LARGEST = 1 << 16


@dataclass(frozen=True)
class CopySide:
    """A side of a copy."""

    surface: Surface
    form: ColorFormat
    width: int
    height: int

    def pixels(self) -> Array:
        """Return a copy of the stored bytes, [rows, width, bytes of a pixel]; rows may be more than `height`."""
        rows = self.surface.read()
        n = self.form.nbytes
        return np.ascontiguousarray(rows[:, : rows.shape[1] // n * n]).reshape(len(rows), -1, n)


class Engine2D(Engine):
    """The 2D engine of a channel."""

    table = ENG2D

    def __init__(self, memory: VideoMemory, report: Report) -> None:
        super().__init__(memory, report)
        self._stream = bytearray()

    def _image(self, side: str) -> CopySide:
        form = by_code(self.get(f"{side}_FORMAT"))
        if form is None:
            raise NotModelled(f"2D format {self.get(f'{side}_FORMAT'):#x}")
        width, height = min(self.get(f"{side}_WIDTH"), LARGEST), min(self.get(f"{side}_HEIGHT"), LARGEST)
        address = self.address(f"{side}_ADDRESS")
        if self.on(f"{side}_LINEAR"):
            surface = Surface(self.memory, address, width * form.nbytes, height, pitch=self.get(f"{side}_PITCH"))
        else:
            size = self.get(f"{side}_BLOCK_DIMENSIONS")
            surface = Surface(
                self.memory, address, width * form.nbytes, height, block_y=size.HEIGHT, block_z=size.DEPTH,
                depth=max(1, self.get(f"{side}_DEPTH")), z=self.get(f"{side}_LAYER"),
            )  # fmt: skip
        return CopySide(surface, form, width, height)

    @derived("DST_*")
    def target(self) -> CopySide:
        """The image that is written to."""
        return self._image("DST")

    # --- images out of the command stream -----------------------------------------------------------------------------
    @action("SIFC_WIDTH")
    def begin(self, word: Word, index: int) -> None:
        """Begin a new image; earlier data are dropped."""
        self._stream = bytearray()

    @action("SIFC_DATA", bulk=True)
    def stream(self, words: Array) -> None:
        """Add pixels row by row; each row begins with a word. The image is written when it is complete."""
        form = by_code(self.get("SIFC_FORMAT"))
        if form is None or self.get("SIFC_BITMAP_ENABLE"):
            raise NotModelled(f"SIFC format {self.get('SIFC_FORMAT'):#x}")
        width, height = self.get("SIFC_WIDTH"), self.get("SIFC_HEIGHT")
        tight = width * form.nbytes
        pitch = -(-tight // 4) * 4
        need = pitch * height
        if need > self.memory.size or len(self._stream) + 4 * len(words) > need + 4:
            self._stream = bytearray()
            self.report.fault("2d: more data than the image has")
            return
        self._stream += words.tobytes()
        if len(self._stream) < need:
            return
        data = np.frombuffer(bytes(self._stream[:need]), np.uint8).reshape(height, pitch)[:, :tight]
        self._stream = bytearray()
        target = self.target
        if form != target.form:
            if form.nbytes != target.form.nbytes:
                raise NotModelled(f"SIFC from {form.name} to {target.form.name}")
            stored = np.ascontiguousarray(data).view(form.dtype).reshape(-1, form.stored)
            data = target.form.encoded(form.decoded(stored)).view(np.uint8).reshape(height, tight)
        x, y = signed(self.get("SIFC_DST_X_INT")), signed(self.get("SIFC_DST_Y_INT"))
        self._store(target, x * form.nbytes, y, data)
        self.report.count("uploads")

    @staticmethod
    def _store(target: CopySide, x: int, y: int, data: Array) -> None:
        s = target.surface
        if s.pitch:  # uploads into buffers give sizes that are not those of the buffer
            s = replace(s, row_bytes=max(s.row_bytes, x + data.shape[1]), rows=max(s.rows, y + len(data)))
            if len(data) == 1:
                s = replace(s, address=s.address + y * s.pitch + x, row_bytes=data.shape[1], rows=1)
                x = y = 0
        s.write_rectangle(x, y, data)

    # --- copies -------------------------------------------------------------------------------------------------------
    @action("BLIT_SRC_Y_INT")
    def blit(self, word: Word, index: int) -> None:
        """Copy a rectangle, scaled; the whole source is read first."""
        if not conditions.holds(self):
            return
        if self.get("COLOR_KEY_ENABLE"):
            self.report.missing("2d colour key")
        operation = self.get("OPERATION")
        if operation in BLENDING:
            self.report.missing(f"2d operation {self.table.by_name['OPERATION'].values[operation]} (copied)")
        source, target = self._image("SRC"), self.target
        x, y = signed(self.get("BLIT_DST_X")), signed(self.get("BLIT_DST_Y"))
        width, height = self.get("BLIT_DST_W"), self.get("BLIT_DST_H")
        left, low, right, high = max(0, x), max(0, y), min(x + width, target.width), min(y + height, target.height)
        if self.on("CLIP_ENABLE"):
            cx, cy = signed(self.get("CLIP_X")), signed(self.get("CLIP_Y"))
            left, low = max(left, cx), max(low, cy)
            right, high = min(right, cx + self.get("CLIP_W")), min(high, cy + self.get("CLIP_H"))
        if left >= right or low >= high:
            return
        u = self._coordinates("X", "DU_DX", np.arange(left - x, right - x))
        v = self._coordinates("Y", "DV_DY", np.arange(low - y, high - y))
        pixels = source.pixels()[: source.height, : source.width]
        if self.get("BLIT_CONTROL").FILTER:
            part = self._filtered(source, target, pixels, u, v)
        else:
            columns = np.clip(u >> 32, 0, pixels.shape[1] - 1)
            rows = np.clip(v >> 32, 0, pixels.shape[0] - 1)
            part = pixels[rows][:, columns]
            if source.form != target.form:
                stored = np.ascontiguousarray(part).view(source.form.dtype).reshape(-1, source.form.stored)
                part = target.form.encoded(source.form.decoded(stored)).view(np.uint8)
        n = target.form.nbytes
        part = np.ascontiguousarray(part).reshape(high - low, (right - left) * n)
        if operation == ROP:
            part = self._rop(target, left * n, low, part)
        target.surface.write_rectangle(left * n, low, part)
        self.report.count("blits")

    def _coordinates(self, axis: str, step: str, n: Array) -> Array:
        start = signed(self.get(f"BLIT_SRC_{axis}_INT")) << 32 | self.get(f"BLIT_SRC_{axis}_FRACT")
        delta = signed(self.get(f"BLIT_{step}_INT")) << 32 | self.get(f"BLIT_{step}_FRACT")
        if abs(start) + abs(delta) * len(n) >= 1 << 62:
            raise NotModelled("2d coordinates beyond 30 bits")
        return start + delta * n

    def _filtered(self, source: CopySide, target: CopySide, pixels: Array, u: Array, v: Array) -> Array:
        """Filter bilinearly: coordinates are corners of texels for ORIGIN CORNER, else their centres."""
        shift = 1 << 31 if self.get("BLIT_CONTROL").ORIGIN else 0
        color = source.form.decoded(pixels.reshape(-1, source.form.nbytes).view(source.form.dtype))
        if source.form.integer:
            raise NotModelled("2d filtering of integers")
        image = color.view(np.float32).reshape(*pixels.shape[:2], 4)

        def taps(x: Array, n: int) -> tuple[Array, Array, Array]:
            x = x - shift
            return np.clip(x >> 32, 0, n - 1), np.clip((x >> 32) + 1, 0, n - 1), (x & 0xFFFF_FFFF) / 2.0**32

        c0, c1, cw = taps(u, pixels.shape[1])
        r0, r1, rw = taps(v, pixels.shape[0])
        upper = image[r0][:, c0] * (1 - cw)[:, None] + image[r0][:, c1] * cw[:, None]
        lower = image[r1][:, c0] * (1 - cw)[:, None] + image[r1][:, c1] * cw[:, None]
        out = (upper * (1 - rw)[:, None, None] + lower * rw[:, None, None]).astype(np.float32)
        return target.form.encoded(out.reshape(-1, 4).view(np.uint32)).view(np.uint8)

    def _rop(self, target: CopySide, x: int, y: int, part: Array) -> Array:
        """Combine bits of pattern, source and destination by the ROP3 code; the pattern is one colour."""
        old = target.surface.read_rectangle(x, y, part.shape[1], part.shape[0])
        color = np.array([self.get("PATTERN_BITMAP_COLOR", 1)], "<u4").view(np.uint8)
        pattern = np.resize(color, part.shape[1])[None]
        out = np.zeros_like(part)
        code = self.get("ROP")
        for k in range(8):
            if code >> k & 1:
                p = pattern if k & 4 else ~pattern
                s = part if k & 2 else ~part
                d = old if k & 1 else ~old
                out |= p & s & d
        return out
