"""`isakit schema`."""

from __future__ import annotations

import click

from isakit.cli.common import echo_json, json_option
from isakit.errors import IsakitError


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
    from isakit.cli.schemas import SHAPES, schema
    from isakit.errors import did_you_mean

    verbs = sorted([*SHAPES, "export"])
    if verb is not None:
        if verb not in verbs:
            (hint,) = did_you_mean(verb, verbs) or (f"there are {', '.join(verbs)}",)
            raise IsakitError(f"there is no schema of {verb!r}; {hint}")
        echo_json(schema(verb))
    elif as_json:
        echo_json({v: schema(v) for v in verbs})
    else:
        for v in verbs:
            click.echo(f"{v:10} {schema(v).get('$id', schema(v)['title'])}")
