"""The cost of a shader as a record, for `cost` and the command line."""

from __future__ import annotations

from isakit.results import record


@record
class CostNote:
    """A source line that costs more than it may need to; line 0: the whole shader."""

    line: int
    message: str


@record
class ShaderCost:
    """The cost of a shader.

    Attributes:
        primary_instructions, secondary_instructions: of the program that runs for every vertex or pixel, and of the one
            that runs once for each draw.
        least_issues, most_issues: instructions that the primary program executes on its shortest and its longest way,
            repeats counted; None where a loop has no bound.
        texels_before: texels that are fetched before the program starts.
        samples: texture samples that the program requests and waits for.
        f32_operations, f16_operations: instructions that compute with floats.
        primary_registers, temporary_registers, shared_registers: 32 bits each; the last are uniforms and constants.
    """

    primary_instructions: int
    secondary_instructions: int
    least_issues: int
    most_issues: int | None
    texels_before: int
    samples: int
    f32_operations: int
    f16_operations: int
    primary_registers: int
    temporary_registers: int
    shared_registers: int
    notes: list[CostNote]
