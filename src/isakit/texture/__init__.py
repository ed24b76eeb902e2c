"""Textures and samplers, and the unit that executes texture instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.lazy import lazy

if TYPE_CHECKING:
    from isakit.texture.sampler_state import Sampler
    from isakit.texture.texture import Texture
    from isakit.texture.texture_choices import TextureChoices
    from isakit.texture.texture_unit import TextureUnit

__all__ = ["Sampler", "Texture", "TextureChoices", "TextureUnit"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.texture.sampler_state": "Sampler",
        "isakit.texture.texture": "Texture",
        "isakit.texture.texture_choices": "TextureChoices",
        "isakit.texture.texture_unit": "TextureUnit",
    },
)
