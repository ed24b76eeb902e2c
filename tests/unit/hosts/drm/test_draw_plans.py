"""Draws of which most is kept from those before draw the same as those of an engine that keeps nothing.

A capture is replayed up to a draw on two cards. Then registers, memory and bindings change at random, the same on both,
and the draw is drawn again: on one with all that it keeps, on the other after it has forgotten everything.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.errors import IsakitError
from isakit.graphics import draw_plan
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.pipeline import Pipeline
from isakit.graphics.watchdog import Watchdog
from isakit.hosts.drm.card import Channel
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.engines.draw3d import Batch, Drawing
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.engines.framebuffer import OpenImages
from isakit.hosts.drm.engines.images import Images
from isakit.hosts.drm.engines.programs import Programs
from isakit.hosts.drm.engines.vertex_input import Inline
from isakit.hosts.drm.replay import Replay
from support.runners.gl import CAPTURES, write_word

STEPS = 120
FLOATS = (0.0, 0.5, 1.0, -1.0, 40.0, 128.0, 3.7)
COMPARISONS = tuple(range(0x200, 0x208))
OPERATIONS = (0x1E00, 0, 0x1E01, 0x1E02, 0x1E03, 0x150A, 0x8507, 0x8508)
CHANGES: dict[str, tuple[int, ...]] = {
    "DEPTH_TEST_ENABLE": (0, 1), "DEPTH_WRITE_ENABLE": (0, 1), "DEPTH_TEST_FUNC": COMPARISONS, "ZETA_ENABLE": (0, 1),
    "BLEND_ENABLE": (0, 1), "BLEND_FUNC_SRC_RGB": (0x4000, 0x4001, 0x4302, 0x4303),
    "BLEND_FUNC_DST_RGB": (0x4000, 0x4001, 0x4302, 0x4303), "BLEND_EQUATION_RGB": (0x8006, 0x800A, 0x8007),
    "COLOR_MASK": (0x1111, 0x1000, 0x0101, 0), "CULL_FACE_ENABLE": (0, 1), "CULL_FACE": (0x404, 0x405, 0x408),
    "FRONT_FACE": (0x900, 0x901), "STENCIL_ENABLE": (0, 1), "STENCIL_FRONT_FUNC_FUNC": COMPARISONS,
    "STENCIL_FRONT_OP_ZPASS": OPERATIONS, "STENCIL_FRONT_FUNC_REF": (0, 1, 0x80), "ALPHA_TEST_ENABLE": (0, 1),
    "ALPHA_TEST_FUNC": COMPARISONS, "SHADE_MODEL": (0x1D00, 0x1D01), "POLYGON_MODE_FRONT": (0x1B00, 0x1B01, 0x1B02),
    "POLYGON_OFFSET_FILL_ENABLE": (0, 1), "PROVOKING_VERTEX_LAST": (0, 1), "LOGIC_OP_ENABLE": (0, 1),
    "VERTEX_TWO_SIDE_ENABLE": (0, 1), "RASTERIZE_ENABLE": (0, 1), "DEPTH_CLIP_NEGATIVE_Z": (0, 1),
    "SAMPLECNT_ENABLE": (0, 1), "COUNTER_ENABLE": (0, 0xFFFF), "VB_ELEMENT_BASE": (0, 1),
}  # fmt: skip
"""Words of registers that draws go on with."""


class Card:
    """A replayed capture that draws its last draw again."""

    def __init__(self, name: str, *, keeps: bool) -> None:
        self.replay = Replay(CAPTURES / name, CardSettings("llvm", watchdog=Watchdog(1 << 14, 1 << 14, 1 << 16)))
        self.keeps, self.batches = keeps, list[Batch]()
        self.channel: Any = None
        self.counts: list[tuple[int, ...]] = []
        self.replay.on_channel = self._begin
        self.replay.run()
        self.engine: Engine3D = self.channel.engine3d

    def _begin(self, channel: Channel) -> None:
        self.channel = channel
        drawing = channel.engine3d.drawing
        drawing.pipeline.make_all = True
        drawn = drawing.draw

        def draw(batch: Batch) -> None:
            self.batches.append(batch)
            drawn(batch)

        drawing.draw = draw  # type: ignore[method-assign]
        drawing.on_draw = self._drawn

    def _drawn(self, frame: int, draw: int, mode: str, s: DrawStats) -> None:
        counts = s.vertices, s.primitives, s.triangles, s.quads, s.fragments, s.samples, s.instructions
        self.counts.append(counts)

    def _forget(self) -> None:
        e = self.engine
        drawing: Drawing = e.drawing
        e.stale = ~0
        e.kept.clear()
        drawing.programs, drawing.opened = Programs(e.memory, e.chip), OpenImages()
        drawing.images = Images(e.memory, drawing.images.short_headers)
        drawing._settings.clear()  # pyright: ignore[reportPrivateUsage]
        drawing._words = ()  # pyright: ignore[reportPrivateUsage]
        drawing._plan = lambda *_: None  # type: ignore[method-assign]  # pyright: ignore[reportPrivateUsage]

    def draw(self, batch: Batch) -> tuple[Any, ...]:
        """Draw, and return everything that can be seen of it."""
        if not self.keeps:
            self._forget()
        self.counts.clear()
        error = ""
        try:
            self.engine.drawing.draw(batch)
        except IsakitError as e:
            error = f"{type(e).__name__}: {e}"
        e = self.engine
        return error, tuple(self.counts), tuple(e.counters.items()), e.samples, self.memory()

    def memory(self) -> tuple[bytes, ...]:
        """Return the bytes of all memory objects."""
        memory = self.replay.memory
        return tuple(memory.view(o.address, o.size).tobytes() for o in memory.objects.values() if o.size < 1 << 22)


@contextmanager
def cards(name: str) -> Generator[tuple[Card, Card]]:
    """Give a card that keeps what it can and one that keeps nothing."""
    both = Card(name, keeps=True), Card(name, keeps=False)
    try:
        yield both
    finally:
        for card in both:
            card.replay.close()


def changes(rng: random.Random, card: Card) -> Callable[[Card], Callable[[], None] | None]:
    """Return a change of state or memory; applied to a card it returns what undoes it, if it is to be undone."""
    table, engine = card.engine.table, card.engine
    kind = rng.choice(("known", "known", "known", "float", "any", "constants", "code", "vertices", "binding", "size"))
    if kind == "known":
        name = rng.choice([n for n in CHANGES if n in table.by_name])
        value = rng.choice(CHANGES[name])
        return lambda c: write_word(c.engine, table.word(name), value)
    if kind == "float":
        name = rng.choice([n for n in table.by_name if n.startswith(("VIEWPORT_SCALE", "VIEWPORT_TR", "BLEND_COLOR"))])
        bits = int(np.float32(rng.choice(FLOATS)).view(np.uint32))
        return lambda c: write_word(c.engine, table.word(name), bits)
    if kind == "any":
        some = [m for m in table.methods if m.read and "ADDRESS" not in m.name and not m.name.startswith("RT_")]
        m = rng.choice(some)
        at, value = m.offset + rng.randrange(m.count) * m.stride >> 2, rng.choice((0, 1, rng.getrandbits(32)))
        if m.name.startswith(("VB_", "GP_", "ZETA", "CB_", "MULTISAMPLE", "VERTEX_BUFFER")):
            value &= 1
        before = engine.state[at]

        def undo(c: Card) -> None:
            write_word(c.engine, at, before)

        def change(c: Card) -> Callable[[], None] | None:
            if at in c.engine._actions:  # pyright: ignore[reportPrivateUsage]
                return None
            write_word(c.engine, at, value)
            return lambda: undo(c)

        return change
    if kind == "size":
        name, value = rng.choice((("RT_HORIZ", 40), ("RT_VERT", 24), ("SCREEN_SCISSOR_HORIZ", 30 << 16)))
        return lambda c: write_word(c.engine, table.word(name), value)
    if kind == "binding":
        slots = sorted(engine.textures)
        if not slots:
            return lambda c: None
        slot, index = rng.choice(slots), rng.choice([*engine.textures.values(), None])

        def bind(c: Card) -> Callable[[], None]:
            before = c.engine.textures.pop(slot, None)
            if index is not None:
                c.engine.textures[slot] = index
            return lambda: c.engine.textures.update({} if before is None else {slot: before})

        return bind
    places = {
        "constants": [a for a, _ in engine.constants.defined.values()],
        "code": [p.segment + p.start for k, p in engine.program_places.items() if k != "geometry"],
        "vertices": [engine.address("VERTEX_ARRAY_START", k) for k in range(3)],
    }[kind]
    inside = [a for a in places if engine.memory.room(a) >= 256]
    if not inside:
        return lambda c: None
    address = rng.choice(inside) + 4 * rng.randrange(24)
    old = int(engine.memory.read_words(address, 1)[0])
    value = old ^ (1 << rng.randrange(31)) if kind == "code" else int(np.float32(rng.choice(FLOATS)).view(np.uint32))
    pushed = rng.random() < 0.5

    def write(c: Card, word: int) -> None:
        c.replay.memory.write_words(address, [word])
        if pushed:  # by the program, between two pushes
            c.replay.memory.touch()

    def poke(c: Card) -> Callable[[], None] | None:
        write(c, value)
        return (lambda: write(c, old)) if kind == "code" else None

    return poke


def streamed(card: Card, batch: Batch) -> Batch:
    """Return a batch whose vertices come in the command stream; the same one where they cannot."""
    e, memory = card.engine, card.engine.memory
    try:
        inline = Inline(e)
        words: list[np.ndarray] = []
        for n in np.concatenate(batch.order).tolist() if batch.order else ():
            for form in inline.formats.values():
                stride = e.get("VERTEX_ARRAY_FETCH", form.buffer).STRIDE
                start = e.address("VERTEX_ARRAY_START", form.buffer) + form.offset + n * stride
                words.append(memory.read_words(start, -(-form.nbytes // 4)))
    except IsakitError:
        return batch
    return replace(batch, order=[], places=[], words=words, indexed=False) if words else batch


@pytest.mark.parametrize(
    "name", ["gears-a0.glc", "textured-a0.glc", "triangle-50.glc", "features/stencil_sides-a0.glc",
             "features/two_sides-a0.glc", "features/mipmaps-a0.glc"],
)  # fmt: skip
def test_a_draw_with_a_plan_is_that_of_an_engine_that_keeps_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(name)
    planned = [0]
    usual = draw_plan.DrawPlan.draw

    def counted(self: draw_plan.DrawPlan, *given: Any) -> DrawStats | None:
        done = usual(self, *given)
        planned[0] += done is not None
        return done

    monkeypatch.setattr(draw_plan.DrawPlan, "draw", counted)
    with cards(name) as (kept, fresh):
        for step in range(STEPS):
            change = changes(rng, kept)
            undo = [change(card) for card in (kept, fresh)]
            batch = rng.choice(kept.batches)
            if rng.random() < 0.3 and batch.order:
                part = rng.randrange(3, 12)
                batch = replace(batch, order=[batch.order[0][:part]], count=part)
            if rng.random() < 0.3:
                batch = streamed(kept, batch)
            assert kept.draw(batch) == fresh.draw(batch), (step, change)
            for again in undo:
                if again is not None:
                    again()
        assert planned[0] >= STEPS // 30


@pytest.mark.parametrize("name", ["gears-a0.glc", "textured-a0.glc", "features/mipmaps-a0.glc"])
def test_draws_with_vertices_in_the_command_stream_have_a_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with cards(name) as (kept, fresh):
        batch = kept.batches[-1]
        if not batch.vertices:
            batch = streamed(kept, batch)
            assert batch.words
        assert [kept.draw(batch) for _ in range(2)] == [fresh.draw(batch) for _ in range(2)]
        monkeypatch.setattr(Pipeline, "draw", None)
        error, counts, *_ = kept.draw(batch)
        assert (error, len(counts)) == ("", 1)


class Recorded(list[int]):
    """Registers that know which of them were read."""

    read: set[int]

    def __getitem__(self, at: Any) -> Any:
        """Return a word or several, and note their places."""
        self.read.update(range(*at.indices(len(self))) if isinstance(at, slice) else [at])
        found: Any = list[Any].__getitem__(self, at)
        return found


@pytest.mark.parametrize("name", ["gears-a0.glc", "features/layered_target-a0.glc", "features/two_sides-a0.glc"])
def test_what_settings_of_draws_are_made_of_is_what_they_are_found_by(name: str) -> None:
    with cards(name) as (kept, _):
        e = kept.engine
        e.state = state = Recorded(e.state)
        state.read = set()
        e.kept.clear()
        e.drawing._new_setting()  # pyright: ignore[reportPrivateUsage]
        view = inspect.getattr_static(type(e), "draw_words")
        outside = {e.table.method_at(w).name for w in state.read if not e._depends[w] & view.bit}  # pyright: ignore[reportPrivateUsage]
        assert outside == set()
