"""From the statements of a PTX function to operations on variables."""

from isakit.compile.translate.function import translate

__all__ = ["translate"]
