"""The command line, called from tests."""

from __future__ import annotations

from click.testing import CliRunner, Result

from isakit.cli.app import app


def run(*args: str, stdin: str | bytes = "", code: int = 0) -> Result:
    """What `isakit args...` wrote. It must end with that exit code, and if it fails, with a message."""
    result = CliRunner().invoke(app, list(args), input=stdin)
    assert result.exit_code == code, result.output
    if code:
        assert result.stderr.startswith(("error: ", "fault: "))
    return result
