"""The kernel's part: the ioctls of the render node. Layouts as in drm.h and nouveau_drm.h; source: [nv50]."""

from __future__ import annotations

import errno
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from isakit.hosts.drm import protocol
from isakit.hosts.drm.capture import Recorder
from isakit.hosts.drm.card import Channel
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.dump import Dump
from isakit.hosts.drm.memory import BASE, GpuFault, MemoryObject, VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.surface import Surface

VRAM, GART = 2, 4
MEMORY_BYTES = 512 << 20
"""Bytes of each kind of memory that the card reports."""
AVAILABLE = 400 << 20
MOST_CHANNELS = 64
MOST_ROWS, MOST_STRIDE = 8192, 1 << 17
"""Of a picture of a window."""
TILED = 0x7F00
"""Bits of an object's tile flags: whether it is in blocks. Source: nouveau_drm.h."""
PCI_VENDOR = 0x10DE

INFO = struct.Struct("<IIQQQII")
"""drm_nouveau_gem_info: handle, domain, size, offset, map handle, tile mode, tile flags."""
NEW = struct.Struct("<II")
PUSHBUF = struct.Struct("<IIQIIQQIIQQ")
BUFFER = struct.Struct("<QIIIIIIQ")
PUSH = struct.Struct("<IIQQ")
PUSH_LENGTH = 0x7F_FFFF
NVIF_HEADER = struct.Struct("<BB4xBBQQ")
NVIF_NEW = struct.Struct("<B6xBQQIi")
DEVICE_INFO = struct.Struct("<BBHBB2xQQ16s64s")

Handler = Callable[["Client", bytearray], int]
OnChannel = Callable[[Channel], object]
"""Called with every channel before anything is executed in it."""


class Client:
    """The state the kernel keeps for one process: its memory, channels and objects.

    Attributes: `memory`, `channels`, `cancelled`.
    """

    def __init__(
        self,
        chip: CardChip,
        report: Report,
        settings: CardSettings,
        recorder: Recorder | None = None,
        dump: Dump | None = None,
        on_channel: OnChannel | None = None,
    ) -> None:
        self.on_channel = on_channel
        self.chip, self.report, self.settings, self.recorder, self.dump = chip, report, settings, recorder, dump
        self.memory = VideoMemory(mappings_known=True)
        self.channels: dict[int, Channel] = {}
        self.cancelled = False
        self.classes: dict[int, int] = {}
        self._objects: dict[int, int] = {}

    def ioctl(self, request: int, data: bytes) -> tuple[int, bytes]:
        """Return (status, structure) of a request: 0, or a negated errno with the structure as it came."""
        number = request & 0xFF
        handler = self.HANDLERS.get(number)
        if handler is None:
            self.report.missing(f"ioctl {number:#x}")
            return -errno.EINVAL, data
        argument = bytearray(data)
        try:
            return handler(self, argument), bytes(argument)
        except OSError as e:
            return -(e.errno or errno.EINVAL), data
        except struct.error:
            return -errno.EINVAL, data

    # --- memory objects -----------------------------------------------------------------------------------------------
    @staticmethod
    def _info(o: MemoryObject) -> bytes:
        domain = VRAM if o.domain & VRAM else o.domain & GART or VRAM
        return INFO.pack(o.handle, domain, o.size, o.address, o.offset, o.tile_mode, o.tile_flags)

    def _object(self, handle: int) -> MemoryObject:
        found = self.memory.objects.get(handle)
        if found is None:
            raise OSError(errno.ENOENT, "no such memory object")
        return found

    def gem_new(self, a: bytearray) -> int:
        """Create a memory object."""
        _, domain, size, _, _, mode, flags = INFO.unpack_from(a)
        _, align = NEW.unpack_from(a, INFO.size)
        made = self.memory.allocate(size, align or 1, domain, mode, flags)
        if self.recorder is not None:
            self.recorder.allocated(made)
        a[: INFO.size] = self._info(made)
        return 0

    def gem_info(self, a: bytearray) -> int:
        """Describe a memory object."""
        a[: INFO.size] = self._info(self._object(INFO.unpack_from(a)[0]))
        return 0

    def gem_close(self, a: bytearray) -> int:
        """Close a memory object."""
        handle = struct.unpack_from("<I", a)[0]
        self.memory.free(handle)
        if self.recorder is not None:
            self.recorder.freed(handle)
        return 0

    def cpu_prepared(self, a: bytearray) -> int:
        """Do nothing: pushes are executed before they return."""
        self._object(struct.unpack_from("<I", a)[0])
        return 0

    def picture(self, payload: bytes) -> tuple[int, bytes]:
        """Return (status, rows) of a picture that a window shows."""
        try:
            handle, row, rows, stride = protocol.PICTURE.unpack(payload)
            o = self._object(handle)
            if not 0 < row <= stride or not 0 < rows <= MOST_ROWS or stride > MOST_STRIDE:
                return -errno.EINVAL, b""
            tiled = bool(o.tile_flags & TILED)
            pitch, block = (0, o.tile_mode & 0xF) if tiled else (stride, 0)
            surface = Surface(self.memory, o.address, stride, rows, pitch, block)
            shown = surface.read_rectangle(0, 0, row, rows).tobytes()
        except (struct.error, OSError) as e:
            return -(getattr(e, "errno", None) or errno.EINVAL), b""
        except GpuFault as e:
            self.report.fault(str(e))
            return -errno.EFAULT, b""
        self.report.count("frames shown")
        return 0, shown

    def mapping(self, payload: bytes) -> tuple[int, bytes]:
        """Record that the program has mapped bytes of the memory, or unmapped them; return (status, no bytes)."""
        try:
            kind, place, offset, count = protocol.MAPPING.unpack(payload)
        except struct.error:
            return -errno.EINVAL, b""
        if kind:
            self.memory.add_mapping(place, offset, count)
        else:
            self.memory.remove_mapping(place, count)
        return 0, b""

    # --- the card -----------------------------------------------------------------------------------------------------
    def capability(self, a: bytearray) -> int:
        """Report DRM_CAP_PRIME: import and export are not supported."""
        which, _ = struct.unpack_from("<QQ", a)
        struct.pack_into("<QQ", a, 0, which, 3 if which == 5 else 0)
        return 0

    def accepted(self, a: bytearray) -> int:
        """Accept a request that needs no action."""
        return 0

    def not_shared(self, a: bytearray) -> int:
        """Refuse to share buffers with other processes."""
        return -errno.ENOSYS

    def parameter(self, a: bytearray) -> int:
        """Return properties of the card. Source: nouveau_drm.h."""
        which, _ = struct.unpack_from("<QQ", a)
        facts: dict[int, int] = {
            3: PCI_VENDOR, 4: self.chip.pci_device, 5: 2, 8: MEMORY_BYTES, 9: MEMORY_BYTES, 11: self.chip.number,
            13: 0x0300_0001, 14: time.monotonic_ns(), 15: 1, 16: 1,
        }  # fmt: skip
        if which not in facts:
            return -errno.EINVAL
        struct.pack_into("<QQ", a, 0, which, facts[which])
        return 0

    # --- channels and objects -----------------------------------------------------------------------------------------
    def channel_new(self, a: bytearray) -> int:
        """Create a channel, with a notifier object."""
        if len(self.channels) >= MOST_CHANNELS:
            return -errno.ENOSPC
        number = next(n for n in range(1, MOST_CHANNELS + 1) if n not in self.channels)
        made = Channel(self.memory, self.chip, self.report, self.settings, self.classes)
        if self.dump is not None:
            made.engine3d.drawing.on_draw = partial(self.dump.after_draw, made.engine3d)
        if self.on_channel is not None:
            self.on_channel(made)
        self.channels[number] = made
        notifier = self.memory.allocate(0x1000, 1, GART)
        if self.recorder is not None:
            self.recorder.allocated(notifier)
            self.recorder.channel(number)
        first, second = struct.unpack_from("<II", a)
        struct.pack_into("<IIiII", a, 0, first, second, number, VRAM | GART, notifier.handle)
        struct.pack_into("<I", a, 84, 0)
        return 0

    def channel_free(self, a: bytearray) -> int:
        """Free a channel."""
        number = struct.unpack_from("<i", a)[0]
        return 0 if self.channels.pop(number, None) is not None else -errno.EINVAL

    def object_new(self, a: bytearray) -> int:
        """Create an engine object of the old interface."""
        _, handle, number = struct.unpack_from("<iIi", a)
        return self._bound(handle, number & 0xFFFF)

    def _bound(self, handle: int, number: int) -> int:
        if len(self.classes) > 1 << 12:
            return -errno.ENOSPC
        self.classes[handle] = number
        if self.recorder is not None:
            self.recorder.object(handle, number)
        return 0

    def notifier_new(self, a: bytearray) -> int:
        """Allocate room in the notifier object."""
        channel, handle, size, _ = struct.unpack_from("<IIII", a)
        struct.pack_into("<IIII", a, 0, channel, handle, size, 0)
        return 0

    def object_free(self, a: bytearray) -> int:
        """Free an object of the old interface."""
        _, handle = struct.unpack_from("<iI", a)
        self.classes.pop(handle, None)
        return 0

    def nvif(self, a: bytearray) -> int:
        """Serve the newer interface: objects with methods of their own."""
        _, kind, _, _, _, target = NVIF_HEADER.unpack_from(a)
        at = NVIF_HEADER.size
        if kind == 1:  # SCLASS: no list, the driver asks for what it knows
            struct.pack_into("<B", a, at + 1, 0)
            return 0
        if kind == 2:
            _, _, _, name, handle, number = NVIF_NEW.unpack_from(a, at)
            self._objects[name] = handle
            return self._bound(handle, number & 0xFFFF)
        if kind == 3:
            self.classes.pop(self._objects.pop(target, -1), None)
            return 0
        if kind == 4:
            return self._method(a, at)
        return -errno.EINVAL

    def _method(self, a: bytearray, at: int) -> int:
        _, number = struct.unpack_from("<BB", a, at)
        data = at + 8
        if number == 0:  # NV_DEVICE_INFO
            name = f"NV{self.chip.number:02X}".encode()
            DEVICE_INFO.pack_into(
                a, data, 0, 3, self.chip.number, 0xA1, 6, MEMORY_BYTES, MEMORY_BYTES, name, self.chip.name.encode()
            )
            return 0
        if number == 1:  # NV_DEVICE_TIME
            struct.pack_into("<Q", a, data + 8, time.monotonic_ns())
            return 0
        return -errno.EINVAL

    # --- pushes -------------------------------------------------------------------------------------------------------
    def pushbuf(self, payload: bytes) -> tuple[int, bytes]:
        """Check a push as the kernel does and execute it."""
        head = payload[: PUSHBUF.size]
        try:
            channel, buffers, ba, relocations, pushes, ra, pa, s0, s1, _, _ = PUSHBUF.unpack(head)
            back = PUSHBUF.pack(channel, buffers, ba, relocations, pushes, ra, pa, 0, 0, AVAILABLE, AVAILABLE)
            if len(payload) != PUSHBUF.size + buffers * BUFFER.size + pushes * PUSH.size:
                return -errno.EINVAL, head
            if not pushes:
                return 0, back
            del s0, s1
            target = self.channels.get(channel)
            if target is None:
                return -errno.ENOENT, head
            if relocations:
                self.report.missing("relocations in a push")
                return -errno.EINVAL, head
            objects = [BUFFER.unpack_from(payload, PUSHBUF.size + k * BUFFER.size)[1] for k in range(buffers)]
            at = PUSHBUF.size + buffers * BUFFER.size
            segments: list[tuple[int, int]] = []
            for k in range(pushes):
                index, _, offset, length = PUSH.unpack_from(payload, at + k * PUSH.size)
                length &= PUSH_LENGTH
                if index >= len(objects):
                    return -errno.EINVAL, head
                o = self._object(objects[index])
                if offset + length > o.size or offset & 3:
                    return -errno.EINVAL, head
                segments.append((o.address + offset, length))
        except (struct.error, OSError) as e:
            return -(getattr(e, "errno", None) or errno.EINVAL), head
        if self.recorder is not None:
            self.recorder.push(channel, segments, self.memory)
        self.report.count("pushes")
        try:
            good = target.push(segments)
        except GpuFault as e:
            self.report.fault(str(e))
            good = False
        if self.recorder is not None:
            self.recorder.settled(self.memory)
        return (0 if good else -errno.EIO), back

    def cancel(self) -> None:
        """Stop work in progress for a process that has exited, or that is no longer waited for.

        Called from another thread.
        """
        self.cancelled = True
        for channel in list(self.channels.values()):
            channel.cancel()

    def close(self) -> None:
        """Free everything of a process that has exited."""
        self.channels.clear()
        self.memory.close()

    HANDLERS: ClassVar[dict[int, Handler]] = {
        0x09: gem_close,
        0x0C: capability,
        0x0D: accepted,
        0x2D: not_shared,
        0x2E: not_shared,
        0x40: parameter,
        0x42: channel_new,
        0x43: channel_free,
        0x44: object_new,
        0x45: notifier_new,
        0x46: object_free,
        0x47: nvif,
        0x80: gem_new,
        0x82: cpu_prepared,
        0x83: cpu_prepared,
        0x84: gem_info,
    }


__all__ = ["BASE", "Client"]
