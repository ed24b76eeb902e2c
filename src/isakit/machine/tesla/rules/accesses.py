"""Checks of memory accesses: alignment and bounds.

A lane's access of `size` bytes, a power of two, either faults, counts, or is ignored (loads give 0, stores do nothing).
Source: [001] "Memory", [tesla] 7, 14. The first routines are expressions: engines compute them for all lanes at once.
"""

from __future__ import annotations

from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.rules.state import BlockState, BufferBytes
from isakit.sem.records import u32, u64
from isakit.sem.routine import Lanes, lowest, routine, shared_routine, wide


@routine
def misaligned(address: u32, size: u32) -> bool:
    """Return true if an address is not a multiple of the size."""
    return address & (size - 1) != 0


@routine
def aligned(address: u32, size: u32, choices: Choices) -> u32:
    """Return the address that is accessed."""
    return address & ~(size - 1) if choices.misaligned == "truncate" else address


@routine
def outside(address: u32, size: u32, limit: u32) -> bool:
    """Return true if any of the bytes is beyond the first `limit` of a space."""
    return limit < size or address > limit - size


@routine
def beyond(address: u32, size: u64) -> bool:
    """Return true if an address is outside of a linear window of device memory."""
    return wide(address) >= size


@routine
def beyond_rows(address: u32, width: u64, height: u64) -> bool:
    """Return true if an address is outside of a 2D window: x in its low half, y in its high half."""
    return wide(address & 0xFFFF) >= width or wide(address >> 16) >= height


@routine
def in_rows(address: u32, pitch: u64) -> u64:
    """Return the offset in bytes of an address in a 2D window."""
    return wide(address >> 16) * pitch + wide(address & 0xFFFF)


@routine
def within(buffer: BufferBytes, address: u32, size: u32) -> bool:
    """Return true if a buffer contains all of the bytes."""
    return address >= buffer.start and wide(address) + size <= wide(buffer.start) + buffer.length


@shared_routine
def in_buffers(block: BlockState, site: BufferBytes, addresses: Lanes, lanes: u32, size: u32) -> u32:
    """Return the mask of the lanes whose bytes are in one of the buffers; `site` caches the last buffer."""
    hits = 0
    rest = lanes
    while rest != 0:
        lane = lowest(rest)
        rest &= rest - 1
        k = 0
        while k < block.range_count:
            buffer = block.ranges[k]
            k += 1
            if within(buffer, addresses[lane], size):
                hits |= 1 << lane
                site.start = buffer.start
                site.length = buffer.length
                k = block.range_count
    return hits
