"""The program that compiles one CUDA C text by NVRTC, in a process of its own, which `nvrtc` bounds.

Its arguments are the library, the file, the name of the file in messages, and options. PTX goes to standard output, the
compiler's messages to standard error; the status is 3 where it refuses the text. It imports nothing of isakit, and
little else, since it is started for every compilation.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Sequence

REFUSED, BROKEN = 3, 4
"""Exit statuses: the compiler refuses the text; it could not be called."""


class Failed(Exception):
    """A function of NVRTC returned an error."""


class Nvrtc:
    """The library, with errors as `Failed`."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *args: object) -> None:
        """Call a function. Raises Failed."""
        code = self.library[name](*args)
        if code:
            raise Failed(f"NVRTC: {self.library.nvrtcGetErrorString(code).decode()}")

    def text(self, program: ctypes.c_void_p, what: str) -> bytes:
        """Return the log of a program, or its PTX."""
        n = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(n))
        data = ctypes.create_string_buffer(n.value)
        self.call(f"nvrtcGet{what}", program, data)
        return data.value

    def oldest(self) -> int:
        """Return the oldest architecture it compiles for, which has the fewest features that the chips lack."""
        n = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(n))
        known = (ctypes.c_int * n.value)()
        self.call("nvrtcGetSupportedArchs", known)
        return min(known)


def compiled(nvrtc: Nvrtc, text: bytes, name: str, options: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the PTX (empty where the text is refused) and the log. Raises Failed."""
    program = ctypes.c_void_p()
    nvrtc.call("nvrtcCreateProgram", ctypes.byref(program), text, name.encode(), 0, None, None)
    words = [o.encode() for o in (f"--gpu-architecture=compute_{nvrtc.oldest()}", *options)]
    refused = nvrtc.library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
    return b"" if refused else nvrtc.text(program, "PTX"), nvrtc.text(program, "ProgramLog")


def main() -> int:
    """Compile the file of the arguments."""
    library, file, name, *options = sys.argv[1:]
    if hasattr(signal, "SIGXFSZ"):  # Python ignores it: whoever writes too much would try for ever
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        with open(file, "rb") as source:
            ptx, log = compiled(Nvrtc(library), source.read(), name, options)
    except (Failed, OSError, AttributeError) as e:  # AttributeError: a library without one of the functions
        sys.stderr.write(str(e))
        return BROKEN
    sys.stderr.buffer.write(log)
    sys.stdout.buffer.write(ptx)
    return 0 if ptx else REFUSED


if __name__ == "__main__":
    sys.exit(main())
