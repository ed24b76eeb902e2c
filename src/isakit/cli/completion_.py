"""`isakit completion`."""

from __future__ import annotations

import click

from isakit.cli.common import echo


@click.command(
    "completion",
    epilog="""\b
Examples:
  isakit completion bash > ~/.local/share/bash-completion/completions/isakit
  isakit completion zsh > ~/.zfunc/_isakit
  isakit completion fish > ~/.config/fish/completions/isakit.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Write the script with which a shell completes verbs, options and their values."""
    from isakit.cli.completion import script

    echo(script(shell, ctx.find_root().command))
