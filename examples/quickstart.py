"""Assemble a kernel, look at one of its instructions, run it, and check the result: `python examples/quickstart.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import isakit

HERE = Path(__file__).resolve().parent


def main() -> None:
    isa = isakit.isa("tesla", "gt200")
    program = isa.assemble((HERE / "tesla" / "saxpy.s").read_text())
    print(f"saxpy.s assembles to {len(program)} instructions, {len(program.to_bytes())} bytes:\n")
    print(program)

    mad = next(i for i in program if "f32" in i.text and "(mul" in i.text)
    print(f"Every bit of `{mad.text}`:\n")
    print(isa.explain(mad.text))

    n = 1000
    x = np.linspace(0, 1, n, dtype=np.float32)
    y = np.ones(n, np.float32)
    device = isakit.Device("gt200")
    saxpy = device.load(program)["saxpy"]
    stats = saxpy[-(-n // 256), 256](n, np.float32(2), x, y)  # y = 2 * x + y, in place

    difference = np.abs(y - (2 * x + 1)).max()
    print(
        f"\n{n} threads on a simulated {device.chip}: {stats.warp_instructions} warp instructions "
        f"in {stats.seconds * 1000:.1f} ms"
    )
    print(f"y[0], y[1], y[{n - 1}] = {y[0]}, {y[1]}, {y[n - 1]}; largest difference from NumPy: {difference:.1e}")
    if difference > 1e-6:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
