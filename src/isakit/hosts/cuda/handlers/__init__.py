"""The handlers of all messages, one module for each chapter of the interfaces."""

from isakit.hosts.cuda.handler_table import registered_handlers
from isakit.hosts.cuda.handlers import (
    arrays,
    connection,
    copies,
    devices,
    driver,
    graphics,
    kernels,
    libraries,
    memory,
    streams,
    texture_references,
)

__all__ = [
    "arrays",
    "connection",
    "copies",
    "devices",
    "driver",
    "graphics",
    "kernels",
    "libraries",
    "memory",
    "registered_handlers",
    "streams",
    "texture_references",
]
