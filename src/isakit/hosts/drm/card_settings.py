"""Settings for how a simulated card runs programs."""

from __future__ import annotations

from dataclasses import dataclass, field

from isakit.graphics.draw_state import DEFAULT_CHOICES, GraphicsChoices
from isakit.graphics.watchdog import Watchdog
from isakit.texture.texture_choices import TextureChoices

TEXTURING = TextureChoices(unbound="zero", level_bias="sampler")
"""Default choices on open questions about textures."""


@dataclass(frozen=True)
class CardSettings:
    """Engine, tier, threads and watchdog for `Pipeline`, and choices on open questions."""

    engine: str = "auto"
    tier: str = "auto"
    threads: int = 1
    watchdog: Watchdog = field(default_factory=Watchdog)
    choices: GraphicsChoices = DEFAULT_CHOICES
    texturing: TextureChoices = TEXTURING
