"""Programs, and the hardware's settings for their inputs and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from isakit.arch.tesla.tesla import tesla
from isakit.asm import Program, assemble
from isakit.codec.decoder import decoder
from isakit.errors import LaunchError
from isakit.graphics.assembly import Input
from isakit.graphics.planes import FragmentInput, PointInput, PositionInput, PrimitiveInput, VaryingInput
from isakit.graphics.stage_program import Kind, StageProgram
from isakit.machine.tesla.choices import DEFAULT, Choices

Code = str | Path | Program | Sequence[int]


class PipelineShader:
    """A program and its interface; the base of the three kinds.

    Args:
        code: assembly text, the path of a file with it, an assembled program, or 32-bit words.
        chip: variant name or alias.
        registers: registers per lane (default: as many as the program writes).
        local_bytes: bytes of l[] per lane.
        constants: c[] bank number -> content, or the content of c0 (bytes or an array).
        flags: multiprocessor flags, `mul_zero_wins` and the like.
        choices: choices on open questions about control flow and memory.
        address: byte address of the first word.

    Attributes: `constants`: c[] bank number -> content; may be changed between draws.
    """

    kind: Kind

    def __init__(
        self,
        code: Code,
        chip: str = "gt200",
        *,
        registers: int | None = None,
        local_bytes: int = 0,
        constants: object = None,
        flags: Sequence[str] = (),
        choices: Choices = DEFAULT,
        address: int = 0,
    ) -> None:
        name = tesla.variant(chip).name
        if isinstance(code, Path):
            code = assemble(code.read_text(encoding="utf-8"), decoder(tesla, name, self.kind), str(code))
        elif isinstance(code, str):
            code = assemble(code, decoder(tesla, name, self.kind))
        words = list(code.words) if isinstance(code, Program) else list(code)
        self.program = StageProgram(
            self.kind,
            words,
            name,
            registers=registers,
            local_bytes=local_bytes,
            constants={} if constants is None else _banks(constants),
            choices=choices,
            flags=frozenset(flags),
            address=address,
        )
        self.constants = self.program.constants


def _banks(constants: object) -> dict[int, bytes]:
    banks = cast(Mapping[int, Any], constants if isinstance(constants, Mapping) else {0: constants})
    return {k: v if isinstance(v, bytes) else np.ascontiguousarray(v).tobytes() for k, v in banks.items()}


class VertexShader(PipelineShader):
    """A vertex program.

    Attributes:
        inputs: the content of each word of a[], (attribute, component) or "vertex_id" or "instance_id"; None packs all
            components of all attributes of the draw, followed by the ids asked for.
        vertex_id, instance_id: whether the ids follow, if `inputs` is None.
        position: o[] words of the clip-space position; unused if a geometry program follows.
        point_size: o[] word of the point size, or None.
    """

    kind = "vertex"

    def __init__(
        self,
        code: Code,
        chip: str = "gt200",
        *,
        inputs: Sequence[Input] | None = None,
        vertex_id: bool = False,
        instance_id: bool = False,
        position: Sequence[int] = (0, 1, 2, 3),
        point_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(code, chip, **options)
        self.inputs = None if inputs is None else list(inputs)
        self.vertex_id, self.instance_id = vertex_id, instance_id
        self.position, self.point_size = _position(position), point_size


class GeometryShader(PipelineShader):
    """A geometry program: works on whole primitives, emits the vertices of new ones.

    Attributes:
        inputs: o[] words of the vertex program, in the order in which they lie in p[] for each vertex.
        output: points, line_strip or triangle_strip.
        max_vertices: vertices one input primitive may emit.
        position, point_size: as for vertex programs.
    """

    kind = "geometry"

    def __init__(
        self,
        code: Code,
        chip: str = "gt200",
        *,
        inputs: Sequence[int],
        output: str = "triangle_strip",
        max_vertices: int,
        position: Sequence[int] = (0, 1, 2, 3),
        point_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(code, chip, **options)
        if output not in ("points", "line_strip", "triangle_strip"):
            raise LaunchError(f"a geometry program emits points, line_strip or triangle_strip, not {output!r}")
        self.inputs, self.output, self.max_vertices = list(inputs), output, max_vertices
        self.position, self.point_size = _position(position), point_size


class FragmentShader(PipelineShader):
    """A fragment program.

    Attributes:
        inputs: the content of each word of v[].
        colors: for every render target, the registers of its components.
        depth: register of the depth result, or None.
        second: registers of the second colour that blending may use, or None.
        sample_mask: register of the sample mask, or None.
    """

    kind = "fragment"

    def __init__(
        self,
        code: Code,
        chip: str = "gt200",
        *,
        inputs: Sequence[FragmentInput | str | tuple[int, str]] = (),
        colors: Sequence[Sequence[int]] = ((0, 1, 2, 3),),
        depth: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(code, chip, **options)
        self.inputs: list[FragmentInput] = list(map(_input, inputs))
        self.colors, self.depth = list[tuple[int, ...]](map(tuple, colors)), depth
        self.second: tuple[int, ...] | None = None
        self.sample_mask: int | None = None

    @property
    def two_sided(self) -> bool:
        """True if back faces have inputs of their own."""
        varyings = (i.otherwise if isinstance(i, PointInput) else i for i in self.inputs)
        return any(isinstance(i, VaryingInput) and i.back is not None for i in varyings)

    def results(self, targets: int) -> set[int]:
        """Return the registers that are read for the given number of targets."""
        found = set(self.second or ()).union(*self.colors[:targets])
        return found | {n for n in (self.depth, self.sample_mask) if n is not None}


def _input(what: FragmentInput | str | tuple[int, str]) -> FragmentInput:
    """Return an input: `"w"` is a position component, `"s"` a point coordinate, `(4, "flat")` an output word."""
    if isinstance(what, PositionInput | VaryingInput | PointInput | PrimitiveInput):
        return what
    if isinstance(what, str):
        if what in ("x", "y", "z", "w"):
            return PositionInput(what)
        if what in ("s", "t"):
            return PointInput(what)
    elif what[1] in ("perspective", "linear", "flat"):
        return VaryingInput(what[0], what[1])
    raise LaunchError(
        f"{what!r} is not an input of a fragment program: use x y z w, s t, or (output word, interpolation)"
    )


def _position(words: Sequence[int]) -> tuple[int, int, int, int]:
    if len(words) != 4:
        raise LaunchError(f"a position has four output words, not {len(words)}")
    x, y, z, w = words
    return x, y, z, w
