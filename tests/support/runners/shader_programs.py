"""Short ways to compile and run a shader without a back end."""

import numpy as np

from isakit.compile.check import verify
from isakit.compile.passes.ssa import construct_ssa
from isakit.compile.shading.front import front_end
from support.runners.form_evaluator import evaluate


def run(text, stage="fragment", language="cg", inputs=None, uniforms=None, sampler=None, **options):
    """Compile a text and run it once."""
    made = front_end(text, stage=stage, language=language, **options)
    construct_ssa(made.function)
    verify(made.function, "the front end")
    given = {i.name: np.zeros(4, np.float32) for i in made.interface.inputs} | (inputs or {})
    known = {u.name: [np.zeros(4, np.float32)] * u.array for u in made.interface.uniforms} | (uniforms or {})
    return evaluate(made.function, given, known, sampler), made.interface


def cg(body, before="", **uniforms):
    """The colour a Cg fragment program returns, four numbers; uniforms are given as lists of their elements."""
    declared = "".join(
        f"uniform {'int' if isinstance(v[0], int) else f'float{len(v[0])}'} {k}{f'[{len(v)}]' if len(v) > 1 else ''};\n"
        for k, v in uniforms.items()
    )
    done, _ = run(f"{declared}{before}\nfloat4 main() : COLOR {{\n{body}\n}}", uniforms=uniforms)
    return [float(x) for x in done.outputs["main"]]


def glsl(body, before="", **uniforms):
    """The colour a GLSL fragment program writes to `c`."""
    declared = "".join(
        f"uniform {'int' if isinstance(v[0], int) else f'vec{len(v[0])}' if len(v[0]) > 1 else 'float'} {k}"
        f"{f'[{len(v)}]' if len(v) > 1 else ''};\n"
        for k, v in uniforms.items()
    )
    text = f"#version 420\n{declared}out vec4 c;\n{before}\nvoid main() {{\n{body}\n}}"
    done, _ = run(text, language="glsl", uniforms=uniforms)
    return [float(x) for x in done.outputs["c"]]
