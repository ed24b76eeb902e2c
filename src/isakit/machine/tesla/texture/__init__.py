"""Textures and samplers, and the unit that answers texture instructions."""

from __future__ import annotations

from isakit.machine.tesla.texture.choices import TextureChoices
from isakit.machine.tesla.texture.sampler import Sampler
from isakit.machine.tesla.texture.texture import Texture
from isakit.machine.tesla.texture.unit import TextureUnit

__all__ = ["Sampler", "Texture", "TextureChoices", "TextureUnit"]
