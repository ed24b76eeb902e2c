"""Completions of shells for `isakit`: verbs, options, and names of isakit's as values of options.

Loaded only when a shell asks. The scripts are click's; `Values` answers their requests.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from isakit.registry import VARIANTS

VARIABLE = "_ISAKIT_COMPLETE"
"""Environment variable with the request of a completion script."""


def script(shell: str, app: click.Command) -> str:
    """Return the script that a shell reads to complete `isakit`; `app` is its group of commands."""
    return SHELLS[shell](app, {}, "isakit", VARIABLE).source()


def values(parameter: click.Parameter, chosen: dict[str, object]) -> Iterable[str] | None:
    """Return the possible values of a parameter after `chosen`, the arguments before it; None if it takes a file."""
    name = parameter.name
    if name == "isa_name":
        return VARIANTS
    if name == "variant":
        return _variants(chosen.get("isa_name"))
    if name == "program_type":
        return ("compute", "vertex", "geometry", "fragment", "primary", "secondary")
    if name in ("chip", "device"):
        return _chips()
    if name == "dask" or parameter.metavar in ("ADDRESS", "VERSION", "WORD", "COMMAND", "X,Y", "X[,Y]", "X[,Y[,Z]]"):
        return ()
    if name in ("kernel", "entry", "kernels"):
        return _kernels(chosen.get("file"))
    if name == "name" and "isa_name" in chosen:
        return _instructions(chosen["isa_name"])
    if isinstance(parameter.type, (click.types.IntParamType, click.types.FloatParamType)):
        return ()
    return None


def _variants(isa_name: object) -> list[str]:
    sets = [s for s in VARIANTS if s == isa_name] or list(VARIANTS)
    return [v for s in sets for v in VARIANTS[s]]


def _chips() -> list[str]:
    from isakit.machine.tesla.chips import CHIPS

    return sorted(str(c) for c in CHIPS)


def _instructions(isa_name: object) -> list[str]:
    from isakit.instruction_sets import isa

    sets = [s for s in VARIANTS if s == isa_name] or list(VARIANTS)
    return sorted({r.name for s in sets for r in isa(s).instructions})


def _kernels(file: object) -> list[str]:
    from isakit.errors import IsakitError
    from isakit.programs import load_all

    try:
        return sorted({k for m in load_all(file) for k in m.kernels}) if isinstance(file, str) else []
    except (IsakitError, OSError, ValueError, AttributeError):
        return []


class _Values(ShellComplete):
    """Completions of click, and values of parameters that have none of their own."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import (
            _resolve_context,  # pyright: ignore[reportPrivateUsage]
            _resolve_incomplete,  # pyright: ignore[reportPrivateUsage]
        )

        context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args)
        found, incomplete = _resolve_incomplete(context, args, incomplete)
        items = found.shell_complete(context, incomplete)
        if items or not isinstance(found, click.Parameter):
            return items
        if found.name == "verb" and isinstance(self.cli, click.Group):
            names = self.cli.list_commands(context)
        else:
            names = values(found, context.params)
        if names is None:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(n) for n in names if n.startswith(incomplete)]


class _Bash(_Values, BashComplete):
    """Values in bash."""

    @staticmethod
    def _check_version() -> None:
        """Skip click's check: the script itself checks the version, and running bash costs a process per completion."""


class _Zsh(_Values, ZshComplete):
    """Values in zsh."""


class _Fish(_Values, FishComplete):
    """Values in fish."""


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    """Register `SHELLS` with click, which completes the words of command lines by them."""
    from click.shell_completion import add_completion_class

    for name, kind in SHELLS.items():
        add_completion_class(kind, name)
