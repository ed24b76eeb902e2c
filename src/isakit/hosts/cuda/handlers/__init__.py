"""What the messages do, by the chapters of the interfaces."""

from isakit.hosts.cuda.handlers import (
    arrays,
    connection,
    copies,
    devices,
    driver,
    kernels,
    memory,
    streams,
    texture_references,
)

ALL = (arrays, connection, copies, devices, driver, kernels, memory, streams, texture_references)

__all__ = ["ALL"]
