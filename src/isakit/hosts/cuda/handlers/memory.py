"""Device memory, and host memory that the device can access."""

from __future__ import annotations

from isakit.hosts.cuda.codes import CudaError, check_flags, invalid
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.handlers.devices import total_memory
from isakit.hosts.cuda.session import Session

_NOWHERE = (1 << 64) - 1
"""The device address of host memory that the device cannot access."""
_PITCH = 64
_PAGE = 1 << 16
"""Alignment of mapped host memory: a multiple of any page size."""


@handler("cudaMalloc")
def malloc(s: Session, size: int) -> int:
    return s.heap.alloc(size) if size else 0


@handler("cudaFree")
def free(s: Session, address: int) -> None:
    if address:
        s.heap.free(address)


@handler("cuMemAlloc", "cuMemAlloc_v2")
def driver_malloc(s: Session, size: int) -> int:
    s.context()
    if not size:
        raise invalid("no bytes")
    return s.heap.alloc(size)


@handler("cuMemFree", "cuMemFree_v2")
def driver_free(s: Session, address: int) -> None:
    # With any context current, or none: the address says whose memory it is (NVIDIA/cuda-python, pull request 2750).
    s.heap.free(address)


@handler("cudaMallocPitch")
def malloc_pitch(s: Session, width: int, rows: int) -> tuple[int, int]:
    if width > 1 << 31 or rows > 1 << 32:
        raise CudaError("cudaErrorMemoryAllocation", f"{width} x {rows} bytes")
    pitch = -(-width // _PITCH) * _PITCH
    return (s.heap.alloc(pitch * rows), pitch) if pitch and rows else (0, pitch)


@handler("pitched")
def malloc_3d(s: Session, width: int, height: int, depth: int) -> tuple[int, int]:
    return malloc_pitch(s, width, height * depth)


@handler("cuMemAllocPitch", "cuMemAllocPitch_v2")
def driver_pitch(s: Session, width: int, height: int, element: int) -> tuple[int, int]:
    s.context()
    if element not in (4, 8, 16) or not width or not height:
        raise invalid(f"{width} x {height}, elements of {element} bytes")
    return malloc_pitch(s, width, height)


@handler("cudaMemGetInfo", "cuMemGetInfo", "cuMemGetInfo_v2")
def info(s: Session) -> tuple[int, int]:
    total = total_memory(s)
    return max(0, total - s.heap.used), total


@handler("cuMemGetAddressRange", "cuMemGetAddressRange_v2")
def address_range(s: Session, address: int) -> tuple[int, int]:
    found = s.heap.range_of(address)
    if found is None:
        raise invalid(f"nothing is at {address:#x}")
    return found[0], found[1] - found[0]


# --- memory of the host ---------------------------------------------------------------------------------------------
def _pin(s: Session, size: int, alignment: int = 4096) -> int:
    if not 0 < size <= s.pinned.limit - s.pinned.first:
        raise CudaError("cudaErrorMemoryAllocation", f"{size} bytes of the host")
    return s.pinned.alloc(size, alignment)


@handler("cudaMallocHost", "cuMemAllocHost", "cuMemAllocHost_v2")
def malloc_host(s: Session, size: int) -> int:
    return _pin(s, max(size, 1))


@handler("cudaHostAlloc", "cuMemHostAlloc")
def host_alloc(s: Session, size: int, flags: int) -> int:
    check_flags(flags, 7)
    return _pin(s, max(size, 1))


@handler("cudaFreeHost", "cuMemFreeHost")
def free_host(s: Session, address: int) -> None:
    if address == _NOWHERE:
        raise invalid("not memory of cudaMallocHost")
    try:
        s.pinned.free(address)
    except CudaError as e:
        raise invalid(e.why) from None


@handler("cudaHostGetDevicePointer", "cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2")
def device_pointer(s: Session, address: int, flags: int) -> int:
    if flags or s.pinned.range_of(address) is None:
        raise invalid("not memory of cudaHostAlloc")
    if not s.card.mapped:
        raise CudaError("cudaErrorMemoryAllocation", f"{s.card.name} cannot map memory of the host")
    return address


@handler("cudaHostGetFlags", "cuMemHostGetFlags")
def host_flags(s: Session, address: int) -> int:
    if s.pinned.range_of(address) is None:
        raise invalid("not memory of cudaHostAlloc")
    return 2


@handler("pin")
def pin(s: Session, address: int, size: int, flags: int) -> int:
    """Reserve device addresses for host memory shared with the device. Without a size, check that this is allowed."""
    check_flags(flags, 3)
    if not size:
        return 0
    if not s.card.mapped:
        raise CudaError("cudaErrorMemoryAllocation", f"{s.card.name} cannot map memory of the host")
    return _pin(s, size, _PAGE)


@handler("unpin")
def unpin(s: Session, address: int) -> tuple[int, int]:
    found = s.pinned.range_of(address)
    if found is None or found[0] != address:
        raise invalid(f"nothing is mapped at {address:#x}")
    s.pinned.free(address)
    return found[0], found[1] - found[0]
