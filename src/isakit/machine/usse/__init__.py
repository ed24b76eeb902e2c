"""The USSE core: register banks, repetition, divergent branches, textures, memory."""

from isakit.arch.usse.arithmetic import DEFAULT, Rules
from isakit.machine.usse.code import Code
from isakit.machine.usse.core import Machine
from isakit.machine.usse.memory import Memory
from isakit.machine.usse.sampler import Texture, Volume

__all__ = ["DEFAULT", "Code", "Machine", "Memory", "Rules", "Texture", "Volume"]
