"""`isakit cache`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from isakit.cli.common import NO, echo, echo_json, json_option
from isakit.results import OMITTED, Omitted, Output, record

if TYPE_CHECKING:
    from isakit.object_cache import Contents


@record
class CacheState:
    """The content of the cache, or the findings of an action; `refused`: the reason why it is not used."""

    folder: str | None
    objects: int
    bytes: int
    limit: int
    refused: str | None
    damaged: int | Omitted = OMITTED


OUTPUT = Output("cache", 1, lambda: CacheState)


@click.command(
    "cache",
    epilog="""\b
Examples:
  isakit cache
  isakit cache verify --json
\b
The folder is $ISAKIT_CACHE, else in the user's cache folder; ISAKIT_CACHE=off switches caching off.
$ISAKIT_CACHE_SIZE is the size in MiB at which the least recently used objects go.""",
)
@json_option
@click.argument("action", type=click.Choice(["info", "clear", "verify"]), default="info")
def command(action: str, as_json: bool) -> None:
    """Show, empty or check the cache of compiled code.

    `info` shows what is there, `clear` removes it, `verify` reads every object and removes those that are
    damaged: the exit code is 3 if there were any.
    """
    from isakit import object_cache

    folder = object_cache.cache_folder()
    found = {"info": object_cache.contents, "clear": object_cache.clear, "verify": object_cache.verify}[action]()
    refused = None if folder is None else object_cache.refusal(folder)
    if as_json:
        damaged = found.damaged if action == "verify" else OMITTED
        where = None if folder is None else str(folder)
        echo_json(CacheState(where, found.objects, found.bytes, object_cache.size_limit(), refused, damaged))
    elif folder is None:
        echo("caching is off")
    else:
        _say(action, folder, found, refused)
    if action == "verify" and found.damaged:
        echo(f"error: {found.damaged} of the objects were damaged", err=True)
        click.get_current_context().exit(NO)


def _say(action: str, folder: Path, found: Contents, refused: str | None) -> None:
    """Print the content of the cache, or the removed objects."""
    from isakit import object_cache

    size = f"{found.objects} objects, {found.bytes / (1 << 20):.1f} MiB"
    if action == "clear":
        echo(f"removed {size}")
    elif action == "verify":
        echo(f"{size} good, {found.damaged} damaged and removed")
    else:
        echo(f"{folder}: {size} of at most {object_cache.size_limit() >> 20} MiB")
    if refused is not None:
        echo(f"it is not used: {refused}", err=True)
