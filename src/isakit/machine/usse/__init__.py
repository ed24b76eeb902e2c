"""The USSE core: register banks, repetition, divergent branches, textures, memory."""

from isakit.arch.usse.arithmetic import DEFAULT, Rules
from isakit.machine.usse.sampler import Cube, Texture, Volume
from isakit.machine.usse.shader_code import ShaderCode
from isakit.machine.usse.shader_machine import Machine
from isakit.machine.usse.shader_memory import Memory

__all__ = ["DEFAULT", "Cube", "Machine", "Memory", "Rules", "ShaderCode", "Texture", "Volume"]
