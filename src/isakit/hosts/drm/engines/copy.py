"""M2MF: copies of rectangles between pitch and block-linear images. Source: [nv50] "Methods"."""

from __future__ import annotations

from isakit.engine.protocol import Array
from isakit.hosts.drm.engine import Engine, action, signed
from isakit.hosts.drm.memory import GpuFault
from isakit.hosts.drm.surface import Surface
from isakit.hosts.drm.tables import M2MF
from isakit.hosts.drm.tables.method import Word


class CopyEngine(Engine):
    """The copy engine of a channel."""

    table = M2MF

    def _image(self, side: str, rows: int, count: int) -> tuple[Surface, int, int]:
        address = (self.get(f"OFFSET_{side}_HIGH") & 0xFF) << 32 | self.get(f"OFFSET_{side}")
        if self.on(f"LAYOUT_{side}"):
            pitch = signed(self.get(f"PITCH_{side}"))
            if rows == 1 or pitch == count:
                pitch = count
            if pitch < count:
                raise GpuFault(address, count, f"a line of {count} bytes exceeds the pitch of {pitch}")
            return Surface(self.memory, address, count, rows, pitch=pitch), 0, 0
        place = self.get(f"BLOCKLINEAR_POSITION_{side}")
        size = self.get(f"BLOCKLINEAR_DIMENSIONS_{side}")
        image = Surface(
            self.memory,
            address,
            self.get(f"BLOCKLINEAR_PITCH_{side}"),
            self.get(f"BLOCKLINEAR_HEIGHT_{side}"),
            block_y=size.Y,
            block_z=size.Z,
            depth=self.get(f"BLOCKLINEAR_DEPTH_{side}"),
            z=self.get(f"BLOCKLINEAR_POSITION_{side}_Z"),
        )
        return image, place.X, place.Y

    @action("BUF_NOTIFY")
    def copy(self, word: Word, index: int) -> None:
        """Copy LINE_COUNT lines of LINE_LENGTH_IN bytes."""
        rows, count = self.get("LINE_COUNT"), self.get("LINE_LENGTH_IN")
        if not rows or not count:
            return
        source, x, y = self._image("IN", rows, count)
        data: Array = source.read_rectangle(x, y, count, rows)
        target, x, y = self._image("OUT", rows, count)
        if source.pitch:  # rows where they are
            data = data.copy()
        target.write_rectangle(x, y, data)
        self.report.count("copies")
