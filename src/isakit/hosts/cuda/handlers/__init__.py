"""The handlers of all messages, one module for each chapter of the interfaces."""

from isakit.hosts.cuda.handler_table import registered_handlers
from isakit.hosts.cuda.handlers import (
    arrays,
    connection,
    copies,
    cublas,
    cufft,
    curand,
    devices,
    driver,
    graphics,
    kernels,
    memory,
    streams,
    texture_references,
)

__all__ = [
    "arrays",
    "connection",
    "copies",
    "cublas",
    "cufft",
    "curand",
    "devices",
    "driver",
    "graphics",
    "kernels",
    "memory",
    "registered_handlers",
    "streams",
    "texture_references",
]
