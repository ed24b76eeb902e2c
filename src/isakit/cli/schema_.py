"""`isakit schema`."""

from __future__ import annotations

import importlib

import click

from isakit.cli.app import COMMANDS, PLACES
from isakit.cli.common import echo, echo_json, json_option
from isakit.errors import IsakitError, did_you_mean
from isakit.json_text import JsonObject
from isakit.results import Output


def verbs_with_json() -> list[str]:
    """Return the verbs whose JSON has a schema."""
    return sorted(["export", *(v for v in COMMANDS if v not in _WITHOUT)])


_WITHOUT = {"schema", "completion", "lsp", "man", "export", "nvcc", "psp2cgc"}


def output(verb: str) -> Output:
    """Return the JSON output that a verb declares. Raises KeyError for a verb that writes none."""
    if verb not in verbs_with_json() or verb == "export":
        raise KeyError(verb)
    return importlib.import_module(PLACES.get(verb, f"isakit.cli.{verb}_")).OUTPUT


def schema(verb: str) -> JsonObject:
    """Return the JSON schema of a verb's output. Raises KeyError for a verb that writes none."""
    if verb == "export":
        from isakit.export.json_ import SCHEMA

        return SCHEMA
    return output(verb).schema()


@click.command(
    "schema",
    epilog="""\b
Examples:
  isakit schema
  isakit schema dis > dis.schema.json""",
)
@json_option
@click.argument("verb", required=False)
def command(verb: str | None, as_json: bool) -> None:
    """Write the JSON schema of what a command writes with --json; without a command, list them.

    With --json, and without a command, all schemas by command.
    """
    verbs = verbs_with_json()
    if verb is not None:
        if verb not in verbs:
            (hint,) = did_you_mean(verb, verbs) or (f"there are {', '.join(verbs)}",)
            raise IsakitError(f"there is no schema of {verb!r}; {hint}")
        echo_json(schema(verb))
    elif as_json:
        echo_json({v: schema(v) for v in verbs})
    else:
        for v in verbs:
            echo(f"{v:10} {schema(v).get('$id', schema(v)['title'])}")
