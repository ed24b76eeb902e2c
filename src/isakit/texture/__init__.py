"""Textures and samplers, and the unit that answers texture instructions."""

from __future__ import annotations

from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture
from isakit.texture.texture_choices import TextureChoices
from isakit.texture.texture_unit import TextureUnit

__all__ = ["Sampler", "Texture", "TextureChoices", "TextureUnit"]
