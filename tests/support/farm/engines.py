"""The same program on every engine: kernels, choices, shaders, microcode."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import isakit
from isakit.engine.llvm import host
from isakit.errors import IsakitError
from isakit.machine.usse import Rules
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators import fuzz
from support.generators.usse_programs import forms, program, words_of
from support.runners.usse_engines import compare as compare_shader
from support.runners.vuc_slices import compare as compare_microcode

WAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("llvm", {"tier": "interp", "threads": 1}),
    ("llvm", {"tier": "jit", "threads": 1}),
    ("llvm", {"tier": "interp", "threads": 2}),
    ("llvm", {"tier": "jit", "threads": 2}),
    ("llvm", {"tier": "interp", "threads": 1, "portable": True}),
    ("llvm", {"tier": "jit", "threads": 1, "portable": True}),
)

LAUNCHES = 4
"""Launches of a kernel with other inputs: compiling it takes longer than all of them."""


def _make_kernel(seed: int) -> dict[str, Any]:
    k = fuzz.kernel(seed)
    return {"seed": seed, "way": seed % len(WAYS), "chip": k.chip, "text": k.text, "grid": k.grid, "block": k.block,
            "flags": k.flags, "budget": k.budget, "launches": LAUNCHES}  # fmt: skip


def _make_choices(seed: int) -> dict[str, Any]:
    case = _make_kernel(seed)
    return {**case, "chosen": True, "budget": case["budget"] or fuzz.LONG}


def check_kernel(case: dict[str, Any]) -> set[str]:
    """A kernel leaves the same memory, counts or fault on the reference engine and in another way, on all inputs."""
    fuzz.keep_nothing()
    k = fuzz.prepared(
        case["seed"], case["chip"], case["text"], case["grid"], case["block"], case["flags"], case["budget"]
    )
    if case.get("chosen"):
        k.choices = fuzz.random_choices(case["seed"])
    engine, how = WAYS[case["way"]]
    for number in range(case["launches"]):
        if number:
            k.inputs = fuzz.random_inputs(case["seed"] + (number << 40), len(k.inputs))
        difference = fuzz.run(k, "reference").difference(fuzz.run(k, engine, **how))
        if difference:
            raise Wrong(f"{case['chip']}, {engine} {how}, launch {number}: {difference}")
    code = isakit.isa("tesla", case["chip"]).disassemble(k.words)
    return {f"tesla {i.mnemonic}" for i in code if i.valid} | {f"{engine} {how}"}


def _shorter_kernel(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case["launches"] > 1:
        yield {**case, "launches": 1}
    for lines in pieces_left_out(case["text"].splitlines()):
        shorter = {**case, "text": "\n".join(lines) + "\n", "budget": case["budget"] or fuzz.LONG}
        try:
            fuzz.prepared(0, case["chip"], shorter["text"], 1, 32, {}, None)
        except IsakitError:
            continue
        yield shorter


# --- shaders ----------------------------------------------------------------------------------------------------------
def _make_shader(seed: int) -> dict[str, Any]:
    r = Random(seed)
    kind = "secondary" if r.random() < 0.2 else "primary"
    words = [w for f in r.sample(forms(kind), 6) for w in words_of(f, r, kind, 1)]
    if kind == "primary" and r.random() < 0.6:
        words = program(r, words)
    return {
        "seed": seed, "type": kind, "words": words, "lanes": r.choice((16, 37, 48, 64)), "limit": r.choice((300, 17)),
        "portable": r.random() < 0.3, "fused": r.random() < 0.5, "flush": r.random() < 0.5,
    }  # fmt: skip


def _check_shader(case: dict[str, Any]) -> set[str]:
    """A shader leaves the same registers, notes and counts as compiled code and without."""
    compare_shader(case["words"], host(portable=case["portable"]), program=case["type"], lanes=case["lanes"],
                   seed=case["seed"], limit=case["limit"],
                   rules=Rules(fused=case["fused"], flush=case["flush"]))  # fmt: skip
    return {f"usse {case['type']}"}


def _fewer_words(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for words in pieces_left_out(case["words"]):
        if words:
            yield {**case, "words": words}


# --- microcode --------------------------------------------------------------------------------------------------------
def _check_microcode(case: dict[str, Any]) -> set[str]:
    """A core has the same state after every slice of cycles as compiled code and without."""
    compare_microcode(case["variant"], case["seed"])
    return {case["variant"]}


HERE = (
    Campaign("kernels", f"random Tesla kernels on the engines, {LAUNCHES} launches each", _make_kernel, check_kernel,
             _shorter_kernel, 300.0, fixed=len(WAYS)),
    Campaign("choices", "random kernels with random answers to open questions", _make_choices, check_kernel,
             _shorter_kernel, 300.0, fixed=len(WAYS)),
    Campaign("shaders", "random USSE programs on the engines", _make_shader, _check_shader, _fewer_words),
    Campaign("microcode", "random vµc programs on the engines",
             lambda seed: {"seed": seed, "variant": ("vp2", "vp3", "vp4")[seed % 3]}, _check_microcode),
)  # fmt: skip
