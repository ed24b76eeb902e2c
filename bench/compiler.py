"""Code of the compiler against NVIDIA's of the same PTX: bytes, registers and instructions executed, as ratios.

ISAKIT_SHARED=... python bench/compiler.py [NAME ...]
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from isakit.compile import compile_ptx
from support.oracles.compiled_pairs import SHAPES, arguments, launch, modules, pairs


def main() -> None:
    code, registers, executed, runs = [0, 0], [0, 0], [0, 0], [0, 0]
    for pair in pairs(Path(os.environ["ISAKIT_SHARED"])):
        if sys.argv[1:] and not any(n in pair.name for n in sys.argv[1:]):
            continue
        theirs, ours = modules(pair)
        for name, a in theirs.kernels.items():
            b = ours[name]
            for total, x, y in ((code, len(a.code), len(b.code)), (registers, a.registers or 0, b.registers or 0)):
                total[0] += x
                total[1] += y
            for k, shape in enumerate(SHAPES[:3]):
                params, memory = arguments(b, k)
                x, y = (launch(m, name, shape, params, memory, k, 0x400) for m in (theirs, ours))
                if not x.error and not y.error:
                    executed[0] += x.instructions
                    executed[1] += y.instructions
                    runs[0] += 1
                    equal = bool((x.memory == y.memory).all())
                    runs[1] += equal
                    if not equal:
                        print(f"{pair.name} {name}: other memory after launch {k}")
    print(f"equal memory {runs[1]} of {runs[0]} launches")
    for what, (x, y) in (("code bytes", code), ("registers", registers), ("executed", executed)):
        print(f"{what:12} {y / max(x, 1):.3f} of NVIDIA's")
    body = "  mad.lo.u32 %r1, %r2, %r3, %r1;\n  xor.b32 %r2, %r1, %r3;\n"
    for n in (1000, 10_000, 100_000):
        text = (".version 1.4\n.target sm_13\n.entry k (.param .u64 out) {\n  .reg .u32 %r<4>; .reg .u64 %o;\n"
                "  ld.param.u64 %o, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %r1; mov.u32 %r3, %r1;\n"
                + body * (n // 2) + "  st.global.u32 [%o], %r2; exit;\n}\n")  # fmt: skip
        start = time.process_time()
        compile_ptx(text)
        print(f"{n:6} instructions: {n / (time.process_time() - start):.0f} per second")


if __name__ == "__main__":
    main()
