"""Settings for how a simulated card runs programs."""

from __future__ import annotations

from dataclasses import dataclass, field

from isakit.graphics.draw_state import GraphicsChoices
from isakit.graphics.watchdog import Watchdog
from isakit.texture.texture_choices import TextureChoices


@dataclass(frozen=True)
class CardSettings:
    """Engine, tier, threads and watchdog as `Pipeline` takes them, and answers to open questions."""

    engine: str = "auto"
    tier: str = "auto"
    threads: int = 1
    watchdog: Watchdog = field(default_factory=Watchdog)
    choices: GraphicsChoices = field(default_factory=GraphicsChoices)
    texturing: TextureChoices = field(default_factory=lambda: TextureChoices(unbound="zero", level_bias="sampler"))
