"""Cost of a breakpoint far into a launch, of going back from there, and of the tools that look at everything.

The example matmul executes more than 10⁹ thread-instructions. Prints how long a session takes to a conditional
breakpoint there, beside the launch alone; how long `reverse-stepi` takes; what checkpoints take of their bound; and the
sanitizer and the profiler in multiples of the interpreter tier, in processor time.

    python bench/debugger.py [thread-instructions]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import isakit
from isakit.debug.profile import profile
from isakit.debug.sanitize import sanitize
from isakit.debug.session import Session

SOURCE = Path(__file__).parents[1] / "examples/tesla/matmul.s"
SMALL = 128


def prepared(n: int, **options: Any) -> tuple[Any, Any, list[Any]]:
    """A kernel for n x n matrices with its arguments on the device."""
    device = isakit.Device("gt200", **options)
    program = isakit.isa("tesla", "gt200").assemble(SOURCE.read_text("utf-8"))
    arguments = [device.alloc(4 * n * n) for _ in range(3)]
    for matrix in arguments[:2]:
        matrix.write(np.ones((n, n), np.float32).tobytes())
    arguments = [*arguments, np.int32(n)]
    return device.load(program)["matmul"], program, arguments


def machine(n: int, **options: Any) -> tuple[Any, Any, list[Any]]:
    kernel, program, arguments = prepared(n, **options)
    return kernel.machine((n // 16, n // 16), (16, 16), arguments), program, arguments


def timed(function: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[float, Any]:
    started = clock()
    value = function()
    return clock() - started, value


def work(function: Callable[[], Any], runs: int = 3) -> float:
    """Seconds of processor time, the least of some runs."""
    return min(timed(function, time.process_time)[0] for _ in range(runs))


def launch(n: int, **options: Any) -> float:
    """Seconds of a launch that has been warmed up."""
    kernel, _, arguments = prepared(n, **options)
    where = kernel[(n // 16, n // 16), (16, 16)]
    where(*arguments)
    return min(timed(lambda: where(*arguments))[0] for _ in range(2))


def main() -> None:
    wanted = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**9
    kernel, _, arguments = prepared(SMALL)
    few = kernel[(SMALL // 16, SMALL // 16), (16, 16)](*arguments).instructions
    n = 16 * int(2 + SMALL * (wanted / few) ** (1 / 3) / 16)
    whole = launch(n)
    made, program, kept = machine(n)
    session = Session(made, program, labels=program.labels)
    session.break_at("branch", f"instructions >= {wanted}")
    worked = time.process_time()
    there, stop = timed(session.cont)
    worked = time.process_time() - worked
    assert stop.reason == "breakpoint", stop
    backs = [timed(session.reverse_step)[0] for _ in range(3)]
    print(f"{n} x {n}: {session.execution.instructions:.3g} thread-instructions; the launch alone {whole:.2f} s")
    print(f"to the breakpoint: {there:.2f} s, {there - whole:+.2f} s beside the launch ({there / whole:.2f} launches); "
          f"{worked:.2f} s of processor time")  # fmt: skip
    print(f"reverse-stepi: {backs[0]:.2f} s ({backs[0] / there:.2f} of the way there), "
          f"then {backs[1]:.3f} and {backs[2]:.3f} s")  # fmt: skip
    used, bound = session.timeline.used, session.timeline.memory
    print(f"checkpoints: {used / 2**20:.0f} of {bound / 2**20:.0f} MiB")
    del kept

    kernel, _, arguments = prepared(SMALL, tier="interp", threads=1)
    interpreted = work(lambda: kernel[(SMALL // 16, SMALL // 16), (16, 16)](*arguments), 20)
    for name, tool in (("sanitizer", sanitize), ("profiler", profile)):
        launches = [machine(SMALL) for _ in range(3)]
        cost = work(lambda tool=tool, launches=launches: tool(launches.pop()[0]))
        print(f"{name}: {cost / interpreted:.1f} times the interpreter tier ({SMALL} x {SMALL}, {cost:.2f} s)")


if __name__ == "__main__":
    main()
