"""The command line, called from tests."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from isakit.cli.app import app
from isakit.cli.schema_ import schema, verbs_with_json
from support.oracles.json_schemas import problems


def run(*args: str, stdin: str | bytes = "", code: int = 0) -> Result:
    """What `isakit args...` wrote. It must end with that exit code, and if it fails, with a message."""
    result = CliRunner().invoke(app, list(args), input=stdin)
    assert result.exit_code == code, result.output
    if "--json" in args and not code:
        check_json(args[0], result.stdout)
    if code:
        assert result.stderr.startswith(("error: ", "fault: "))
    return result


def check_json(verb: str, text: str) -> None:
    """JSON of a command is as its schema says, and has nothing that the schema does not name."""
    if verb not in verbs_with_json() or not text.strip():
        return
    texts = text.splitlines() if verb == "debug" else [text]
    for each in texts:
        assert list(problems(json.loads(each), schema(verb), open_=False)) == []
