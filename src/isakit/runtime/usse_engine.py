"""The engine of a shader: compiled code where it pays, the reference engine otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isakit.errors import LaunchError
from isakit.machine.usse.shader_code import ShaderCode
from isakit.machine.usse.texture_samples import WordsOf, words_of
from isakit.runtime.engine_choice import ENGINES, chosen, unusable

if TYPE_CHECKING:
    from isakit.machine.usse.compiled_shader import CompiledRuns
    from isakit.machine.usse.shader_machine import Advance, Machine

Engine = Literal["auto", "reference", "llvm"]
FEW = 1 << 12
"""Number of invocations up to which `auto` uses the reference engine, even if compiled code is on disk."""
WORTH = 1 << 19
"""Invocations, over all runs of a program, from which on `auto` compiles it."""


def check_engine(engine: str) -> None:
    """Raise LaunchError for an unknown name."""
    if engine not in ENGINES:
        raise LaunchError(f"no engine {engine!r}; there are: {', '.join(ENGINES)}")


def stretches_for(engine: Engine, code: ShaderCode, invocations: int) -> tuple[CompiledRuns, bool] | None:
    """Return the compiled parts of a program for a run over invocations, and whether to compile missing ones.

    None for the reference engine. Raises NotModelled for `llvm` where it cannot be had; `auto` warns.
    """
    if engine == "auto" and invocations < FEW:
        return None
    if not chosen(engine, unusable, depth=4):
        return None
    from isakit.engine.llvm import host
    from isakit.machine.usse.compiled_shader import stretches_of

    stretches = stretches_of(code, host())
    stretches.lanes += invocations
    return stretches, engine == "llvm" or stretches.lanes >= WORTH


def sampling(engine: Engine, invocations: int) -> WordsOf:
    """Return the function that computes the registers of texture samples for the given number of invocations."""
    if (engine == "auto" and invocations < FEW) or not chosen(engine, unusable, depth=7):
        return words_of
    from isakit.engine.llvm import host
    from isakit.machine.usse.compiled_samples import Samples

    return Samples(host()).words_of


def advance_of(machine: Machine, stretches: CompiledRuns, compile: bool) -> Advance:
    """Return the function that runs the compiled parts on a machine."""
    from isakit.machine.usse.compiled_samples import Samples
    from isakit.machine.usse.compiled_shader import Runner

    machine.words_of = Samples(stretches.target).words_of
    return Runner(machine, stretches, compile).advance
