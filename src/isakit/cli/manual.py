"""Manual pages in the format of man(7), generated from the help of the commands."""

from __future__ import annotations

import re
import shlex

import click

EXIT_CODES = [
    ("0", "fine"),
    ("1", "the input is wrong"),
    ("2", "wrong usage"),
    ("3", "the simulated program faulted, or what was compared differs"),
    ("130", "interrupted"),
]


def shared_files() -> dict[str, str]:
    """Return the files a package installs for the shell beside the program, by their path below its prefix."""
    from isakit.cli.app import COMMANDS, app
    from isakit.cli.completion import script

    places = {
        "bash": "bash-completion/completions/isakit", "zsh": "zsh/site-functions/_isakit",
        "fish": "fish/vendor_completions.d/isakit.fish",
    }  # fmt: skip
    pages = {f"share/man/man1/isakit{'-' * bool(v)}{v}.1": page(v) for v in ("", *COMMANDS)}
    return {**pages, **{f"share/{place}": script(shell, app) + "\n" for shell, place in places.items()}}


def page(verb: str = "") -> str:
    """Return the manual page of a verb, or of the program."""
    from isakit.cli.app import COMMANDS, app

    context = click.Context(app, info_name="isakit")
    command: click.Command | None = app
    if verb:
        command = app.get_command(context, verb)
        if command is None:
            raise click.UsageError(f"no command {verb!r}; pages of instructions: `isakit doc {shlex.quote(verb)}`")
        context = click.Context(command, context, verb)
    assert command is not None
    name = f"isakit-{verb}" if verb else "isakit"
    summary = COMMANDS[verb] if verb else "read, write and run programs of reverse-engineered instruction sets"
    out = [f'.TH "{name.upper()}" "1" "" "isakit" "isakit manual"', ".SH NAME", _text(f"{name} - {summary}")]
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    out += [".SH SYNOPSIS", f".B {_text(usage)}", ".SH DESCRIPTION"]
    for paragraph in (command.help or "").replace("\b\n", "").split("\n\n"):
        out += [".PP", _text(" ".join(paragraph.split()))]
    rows = [r for p in command.get_params(context) if (r := p.get_help_record(context)) is not None]
    if rows:
        out.append(".SH OPTIONS")
    for option, text in rows:
        out += [".TP", f".B {_text(option)}", _text(text)]
    if not verb:
        out.append(".SH COMMANDS")
        for each, text in COMMANDS.items():
            out += [".TP", f".BR isakit\\-{_text(each)} (1)", _text(text)]
    examples, notes = _epilog(command.epilog or "")
    if notes:
        out += [".SH NOTES", *map(_text, notes)]
    if examples:
        out += [".SH EXAMPLES", ".nf", *map(_text, examples), ".fi"]
    out.append(".SH EXIT STATUS")
    for code, text in EXIT_CODES:
        out += [".TP", f".B {code}", _text(text)]
    return "\n".join(out) + "\n"


def _epilog(epilog: str) -> tuple[list[str], list[str]]:
    """Split the end of a help text into its examples, indented or after `Example:`, and its other notes."""
    examples: list[str] = []
    notes: list[str] = []
    for line in epilog.replace("\b\n", "").splitlines():
        text = re.sub(r"^Examples?:\s*", "", line)
        if text.startswith("  ") or text != line:
            examples.append(text.strip())
        else:
            notes.append(text or ".PP")
    return [e for e in examples if e], notes if any(n != ".PP" for n in notes) else []


def _text(text: str) -> str:
    """Escape a line for the formatter."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
