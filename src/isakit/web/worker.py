"""The process that works for one page: requests as lines of JSON on standard input, answers on standard output.

`{"id": n, "verb": ..., "fields": {...}}` is answered by `{"id": n, "result": ...}` or `{"id": n, "error": ...}`. SIGINT
interrupts what is being done; the end of the input ends the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from isakit.errors import described_bug
from isakit.json_text import JsonObject
from isakit.sandbox import end_with_parent
from isakit.web.limits import LARGEST_FILE, Limits

if TYPE_CHECKING:
    from isakit.web.verbs import Workbench

IDLE = 0.3
"""Seconds without a request after which a worker prepares for launches."""


def main() -> None:
    """Serve requests until the input ends. The arguments are the limits as JSON, and the server's process."""
    end_with_parent(int(sys.argv[2]))
    limits = Limits(**json.loads(sys.argv[1]))
    source = sys.stdin.buffer
    to = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a library prints must not end up between the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")  # of the page's files: the page does not see them
    _bound(limits)
    _shut_in()
    from isakit.web.verbs import Workbench

    bench = Workbench(limits)
    warm = False
    shown = False
    try:
        while True:
            try:
                if shown and not warm and _idle(source):
                    warm = True
                    with contextlib.suppress(Exception):  # who launches something is told what is wrong
                        list(warm_up())
                line = source.readline()
                if not line:
                    return
                request = json.loads(line)
                data = reply(bench, request, limits)
                shown = shown or request["verb"] == "listing"
            except KeyboardInterrupt:
                continue  # struck between two requests
            to.write(data + b"\n")
            to.flush()
    except BrokenPipeError:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        bench._close()  # pyright: ignore[reportPrivateUsage]


def _idle(source: BinaryIO) -> bool:
    """Wait a moment for a request; return whether none has come."""
    return sys.platform != "win32" and not select.select([source], [], [], IDLE)[0]


def warm_up() -> Iterator[None]:
    """Load and run what a launch needs, while somebody reads the page: the first launch would take a second longer.

    It comes in parts, between which a request can be answered.
    """
    from isakit.runtime import Device

    yield
    from isakit.cli.launches import Prepared

    yield
    from isakit.debug import Session

    yield
    from isakit.web.stepping import Stepping

    yield
    from isakit.instruction_sets import isa

    program = isa("tesla", "gt200").assemble(".kernel k\nexit nop")
    machine = Device("gt200").load(program)["k"].machine(1, 32, [])
    yield
    Stepping(Session(machine, program.kernels["k"]), IDLE, Prepared("tesla", machine)).move("step")


def reply(bench: Workbench, request: JsonObject, limits: Limits) -> bytes:
    """Carry out one request, and return the answer as JSON."""
    from isakit.web.verbs import answer

    try:
        got = answer(bench, str(request["verb"]), request["fields"])
    except KeyboardInterrupt:
        got = {"error": "interrupted", "kind": "interrupt"}
    except Exception as e:  # a mistake of ours: the page is told, the process goes on
        import traceback

        traceback.print_exc()
        got = {"error": f"internal error: {described_bug(e)}", "kind": "internal"}
    data = _encoded({"id": request["id"], **got})
    if len(data) > limits.answer:
        data = _encoded({"id": request["id"], "error": "the answer is too long for a page", "kind": "limit"})
    return data


def _encoded(message: JsonObject) -> bytes:
    return json.dumps(message, default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, set | frozenset | tuple):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def _bound(limits: Limits) -> None:
    """Set bounds that the system keeps: of files, and of memory, which may grow faster than the server looks."""
    try:
        import resource
    except ImportError:  # no such bounds here
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.folder, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Memory of its own, used or not: pages of files, and devices' memory as far as it was never touched, count, too.
    most = 2 * limits.memory
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _shut_in() -> None:
    """Open to this process what it needs and no more: programs, and its own temporary folder.

    The cache of compiled code can be read and not written: what is there runs in processes that are not shut in.
    """
    from isakit.object_cache import cache_folder
    from isakit.sandbox import confine, program_files, python_files, system_files

    cache = cache_folder()
    readable = [*system_files(), *python_files(), *program_files("clang"), *([cache] if cache else [])]
    # Not what `tempfile` takes, which is another folder where this one is full.
    confine(readable, [os.environ.get("TMPDIR") or tempfile.gettempdir()])


if __name__ == "__main__":
    main()
