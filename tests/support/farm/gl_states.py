"""Random states of OpenGL: the same scenes on the simulated card, by the installed Mesa, and on llvmpipe."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from support.clients import cuda_build, gl_calls, gl_live
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators.gl_scenes import Unit, random_scene

CLIENT = gl_calls.__file__
SCENES = 12
"""Scenes of a case; they share two processes."""
CHIPS = ("86", "a0", "a3")
MOST = 300
"""Pixels of 4,096 that may differ: renderers round places in textures, levels of detail and corners of cubes apart."""
Pictures = dict[str, np.ndarray[Any, Any]]


def _make(seed: int) -> dict[str, Any]:
    chip = Random(seed).choice(CHIPS)
    return {"chip": chip, "scenes": [random_scene(seed * SCENES + k) for k in range(SCENES)]}


def drawn(scenes: list[list[Unit]], chip: str) -> tuple[Pictures, Pictures]:
    """What scenes leave in targets and errors, of llvmpipe and of the card. Raises Wrong for a program that fails."""
    with tempfile.TemporaryDirectory() as name:
        given, software, card = (Path(name, n) for n in ("scenes.json", "llvmpipe.npz", "card.npz"))
        flat = [list(itertools.chain.from_iterable(units)) for units in scenes]
        given.write_text(json.dumps(flat), encoding="utf-8")
        try:
            gl_live.on_llvmpipe(sys.executable, CLIENT, given, software)
        except subprocess.CalledProcessError as e:
            raise Wrong(f"llvmpipe: exit status {e.returncode}: {e.stderr[-2000:]}") from None
        ran = gl_live.isakit("gl", "--chip", chip, "--unsupported", "--", sys.executable, CLIENT, given, card)
        if ran.returncode or "nothing was missing" not in ran.stderr:
            raise Wrong(f"the card: exit status {ran.returncode}: {ran.stderr[-2000:]}")
        return dict(np.load(software)), dict(np.load(card))


def pixels_apart(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], what: str) -> int:
    """Count the pixels in which two pictures differ by more than rounding."""
    if what.startswith("color"):
        a, b = (np.nan_to_num(x.astype(np.float64), nan=-7, posinf=1e9, neginf=-1e9) for x in (one, other))
        step = 0.02 * np.maximum(1, np.abs(a)) if one.dtype.kind == "f" else 1
        return int((np.abs(a - b) > step).any(axis=-1).sum())
    if what == "depth":
        return int((np.abs(one - other) > 1e-3).sum())
    return int((one != other).sum())


def _check(case: dict[str, Any]) -> set[str]:
    software, card = drawn(case["scenes"], case["chip"])
    covered: set[str] = set()
    for key, picture in software.items():
        scene, *_, what = key.split()
        if what == "errors":
            if picture.tolist() != card[key].tolist():
                raise Wrong(f"scene {scene}: errors {card[key].tolist()}, of llvmpipe {picture.tolist()}")
        elif (apart := pixels_apart(picture, card[key], what)) > MOST:
            raise Wrong(f"scene {scene} on chip {case['chip']}: {what} differs in {apart} pixels")
        elif len(np.unique(picture)) > 1:
            covered.add(what)
    return covered


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    scenes = case["scenes"]
    if len(scenes) > 1:
        for fewer in pieces_left_out(scenes):
            yield {**case, "scenes": fewer}
    elif scenes:
        *units, end = scenes[0]
        for fewer in pieces_left_out(units):
            yield {**case, "scenes": [[*fewer, end]]}


@cache
def _needs() -> str:
    if not sys.platform.startswith("linux") or not gl_live.MESA or not cuda_build.has_compiler():
        return "it needs `cc` and Mesa's nouveau driver (on Debian: apt install libgl1-mesa-dri libegl1)"
    try:
        drawn([random_scene(0)], CHIPS[0])
    except Wrong as e:
        return f"OpenGL 3.3 without a window cannot be had: {str(e).splitlines()[-1]}"
    return ""


HERE = (
    Campaign("gl-states", "random states of OpenGL, by the installed Mesa, against llvmpipe", _make, _check, _smaller,
             seconds=300.0, needs=_needs, memory=None, fixed=0),
)  # fmt: skip
