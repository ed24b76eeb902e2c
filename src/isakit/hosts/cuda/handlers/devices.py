"""Devices: there is one, chosen on the command line. Contexts are in `driver`."""

from __future__ import annotations

import hashlib
import struct

from isakit.hosts.cuda.codes import CudaError, check_flags, invalid
from isakit.hosts.cuda.device_facts import attribute, properties
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.session import Session

_BUS = "0000:01:00.0"


def only(device: int) -> None:
    """Raise CudaError for a device number other than 0."""
    if device:
        raise CudaError("cudaErrorInvalidDevice", f"device {device}")


def total_memory(s: Session) -> int:
    """Return the size of the device's memory for programs in bytes."""
    return min(s.card.memory, s.heap.limit - s.heap.first)


@handler("cudaGetDeviceCount", "cuDeviceGetCount")
def count(s: Session) -> int:
    return 1


@handler("properties")
def device_properties(s: Session, device: int) -> bytes:
    only(device)
    version, certain = s.version
    memory = None if s.pointer == 8 else total_memory(s)
    room = len(properties(s.card, s.named_version, pointer=s.pointer))
    return properties(s.card, version, certain=certain, memory=memory, pointer=s.pointer)[:room]


@handler("cudaDeviceGetAttribute", "cuDeviceGetAttribute")
def device_attribute(s: Session, number: int, device: int) -> int:
    only(device)
    found = attribute(s.card, number)
    if found is None:
        raise invalid(f"attribute {number}")
    return found


@handler("cudaChooseDevice")
def choose(s: Session, wanted: bytes) -> int:
    return 0


@handler("cudaSetDevice", "cudaGLSetGLDevice")
def set_device(s: Session, device: int) -> None:
    only(device)


@handler("cudaGetDevice")
def get_device(s: Session) -> int:
    return 0


@handler("cudaSetValidDevices")
def set_valid(s: Session, devices: int, number: int) -> None:
    if number < 0 or number > 1 or not devices:
        raise invalid(f"{number} devices")


@handler("cudaSetDeviceFlags")
def set_flags(s: Session, flags: int) -> None:
    check_flags(flags, 0x1F)
    s.flags = flags


@handler("cudaDeviceGetByPCIBusId", "cuDeviceGetByPCIBusId")
def by_bus(s: Session, name: str) -> int:
    if name.lower() not in (_BUS, _BUS[5:], _BUS[:-2]):
        raise CudaError("cudaErrorInvalidDevice", name)
    return 0


@handler("cudaDeviceGetPCIBusId", "cuDeviceGetPCIBusId")
def bus_of(s: Session, length: int, device: int) -> bytes:
    only(device)
    if length < len(_BUS) + 1:
        raise invalid(f"{length} bytes for a name")
    return _BUS.encode() + b"\0"


@handler("cudaDriverGetVersion", "cuDriverGetVersion")
def driver_version(s: Session) -> int:
    return 6050


@handler("cudaRuntimeGetVersion")
def runtime_version(s: Session) -> int:
    (major, minor), _ = s.version
    return 1000 * major + 10 * minor


@handler("cudaDeviceReset")
def reset(s: Session) -> None:
    s.reset()


@handler("cudaThreadExit")
def thread_exit(s: Session) -> None:
    """End a thread. Before CUDA 4 each had its own memory and ended only that: here the last one ends it."""
    s.users.discard(s.thread)
    if s.version[0] >= (4, 0) or not s.users:
        s.reset()


@handler("cudaDeviceSynchronize", "cudaThreadSynchronize")
def synchronize(s: Session) -> None:
    """Do nothing: every call returns when its work is done."""


@handler("cudaDeviceSetLimit", "cudaThreadSetLimit", "cuCtxSetLimit")
def set_limit(s: Session, limit: int, value: int) -> None:
    if limit not in s.limits:
        raise CudaError("cudaErrorUnsupportedLimit", f"limit {limit}")
    if limit:
        raise CudaError("cudaErrorUnsupportedLimit", "printf and malloc in kernels need sm_20")
    s.limits[limit] = value


@handler("cudaDeviceGetLimit", "cudaThreadGetLimit", "cuCtxGetLimit")
def get_limit(s: Session, limit: int) -> int:
    if limit not in s.limits:
        raise CudaError("cudaErrorUnsupportedLimit", f"limit {limit}")
    return s.limits[limit]


@handler("cudaDeviceGetCacheConfig", "cudaThreadGetCacheConfig", "cuCtxGetCacheConfig")
def cache_config(s: Session) -> int:
    return 0


@handler("cudaDeviceGetSharedMemConfig", "cuCtxGetSharedMemConfig")
def shared_config(s: Session) -> int:
    return 1


@handler("cudaDeviceGetStreamPriorityRange", "cuCtxGetStreamPriorityRange")
def priorities(s: Session) -> tuple[int, int]:
    return 0, 0


@handler("cudaDeviceCanAccessPeer", "cuDeviceCanAccessPeer")
def can_access(s: Session, device: int, peer: int) -> int:
    only(device)
    only(peer)
    return 0


@handler("cudaDeviceEnablePeerAccess")
def enable_peer(s: Session, peer: int, flags: int) -> None:
    raise CudaError("cudaErrorInvalidDevice", "there is one device")


@handler("cudaDeviceDisablePeerAccess")
def disable_peer(s: Session, peer: int) -> None:
    only(peer)
    raise CudaError("cudaErrorPeerAccessNotEnabled", "there is one device")


# --- the driver's view ---------------------------------------------------------------------------------------------
@handler("cuInit")
def init(s: Session, flags: int) -> None:
    check_flags(flags)


@handler("cuDeviceGet")
def get(s: Session, ordinal: int) -> int:
    only(ordinal)
    return 0


@handler("device_name")
def name(s: Session, device: int) -> bytes:
    only(device)
    return s.card.name.encode()


@handler("cuDeviceComputeCapability")
def capability(s: Session, device: int) -> tuple[int, int]:
    only(device)
    return 1, s.card.capability


@handler("cuDeviceGetUuid")
def uuid(s: Session, device: int) -> bytes:
    """Return 16 bytes that identify the card: the same for all cards of a name."""
    only(device)
    return hashlib.sha256(f"isakit {s.card.name}".encode()).digest()[:16]


@handler("cuDeviceTotalMem", "cuDeviceTotalMem_v2")
def total(s: Session, device: int) -> int:
    only(device)
    return total_memory(s)


@handler("cuDeviceGetProperties")
def driver_properties(s: Session, device: int) -> bytes:
    only(device)
    # CUdevprop: threads per block, sizes of block and grid, shared and constant bytes, SIMD width, pitch, registers,
    # clock, texture alignment.
    return struct.pack("<14i", 512, 512, 512, 64, 65535, 65535, 1, 16384, 65536, 32, 0x7FFF_FFFF, s.card.registers,
                       s.card.clock, 256)  # fmt: skip
