"""The command group: finds commands by name, turns errors of the library into messages and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

import click

from isakit.cli.common import BAD_INPUT, NO, USAGE, printable
from isakit.cli.interrupts import interrupted
from isakit.errors import AsmError, IsakitError, MachineFault, UnknownIsaError, called_alike, did_you_mean

COMMANDS = {
    "dis": "Disassemble a program file.",
    "asm": "Assemble a source text.",
    "cc": "Compile a kernel (PTX, C, Python) or a shader (Cg, GLSL).",
    "psp2cgc": "Compile a Cg shader with the options of Sony's compiler.",
    "nvcc": "Build whole .cu files, with the options of nvcc.",
    "explain": "Say what every bit of an instruction means.",
    "info": "Show what a program file contains.",
    "cfg": "Show the control-flow graph of a program.",
    "find": "Find instructions in program files.",
    "diff": "Compare the code of two program files.",
    "scan": "Write an index of all programs in files and archives.",
    "run": "Run a program on a simulated chip.",
    "debug": "Step through a program, forwards and backwards.",
    "sanitize": "Run a program and report races, unwritten values and bad accesses.",
    "profile": "Run a kernel and count what it costs, instruction by instruction.",
    "trace": "Write a trace of a program, or a page to step through it.",
    "compare": "Tell whether two shaders or kernels compute the same.",
    "draw": "Draw a scene with vertex, geometry and fragment programs.",
    "cuda": "Run a CUDA program made for sm_10 to sm_13.",
    "gl": "Run an OpenGL program on Mesa's nv50 driver.",
    "replay": "Run a capture again, without its program.",
    "cache": "Show, empty or check the cache of compiled code.",
    "export": "Write an instruction set as data for other programs.",
    "doc": "Show the manual page of an instruction.",
    "schema": "Show what the JSON of a command looks like, as a JSON schema.",
    "completion": "Write the script with which a shell completes commands.",
    "man": "Write the manual page of a command.",
    "web": "Open the workbench in the browser.",
    "lesson": "Learn by twelve exercises, each with a check.",
    "lsp": "Serve an editor: errors while typing, hover, completion, renaming.",
}
"""Summaries of the verbs, so that the overview loads none of their modules."""

PLACES = {"web": "isakit.web.command", "lsp": "isakit.lsp.command"}
"""Modules of the verbs that are not in this package."""


class LazyCommands(click.Group):
    """Loads a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(PLACES.get(cmd_name, f"isakit.cli.{cmd_name}_")).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            (hint,) = did_you_mean(args[0], COMMANDS) or (f"there are {', '.join(COMMANDS)}",)
            raise click.UsageError(f"no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        if "_ISAKIT_COMPLETE" in os.environ:
            from isakit.cli.completion import register

            register()
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as e:
            click.echo(e.format_message())
            code = 0
        except click.ClickException as e:
            click.echo(printable(f"error: {e.format_message()}"), err=True)
            context = e.ctx if isinstance(e, click.UsageError) else None
            if context is not None:
                click.echo(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.", err=True)
            code = e.exit_code
        except (click.Abort, KeyboardInterrupt):
            interrupted()
        except OSError as e:  # --help and --version write before there is a command
            click.echo(f"error: {e.strerror or e}", err=True)
            code = BAD_INPUT
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warning
                return super().invoke(ctx)
        except KeyboardInterrupt:  # click would begin a line of its own
            interrupted()
        except BrokenPipeError:
            # The reader of our output has had enough. Nothing more may be written, not even when Python exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except IsakitError as e:
            for line in message(e):
                click.echo(printable(line), err=True)
            ctx.exit(USAGE if isinstance(e, UnknownIsaError) else NO if isinstance(e, MachineFault) else BAD_INPUT)
        except MemoryError:
            click.echo("error: there is not enough memory for this", err=True)
            ctx.exit(BAD_INPUT)
        except (OSError, UnicodeDecodeError) as e:
            name = getattr(e, "filename", None)
            near = called_alike(str(name)) if name and isinstance(e, FileNotFoundError) else ()
            said = "; ".join((f"{f'{name}: ' if name else ''}{getattr(e, 'strerror', None) or e}", *near))
            click.echo(printable(f"error: {said}"), err=True)
            ctx.exit(BAD_INPUT)


def _warning(message: Warning | str, *_: object) -> None:
    """Show a warning as a line, without the place in the source that Python adds."""
    click.echo(printable(f"warning: {message}"), err=True)


def message(error: IsakitError) -> list[str]:
    """Return the lines that describe an error; the first one is complete by itself."""
    if isinstance(error, AsmError):
        count = len(error.diagnostics)
        path = error.diagnostics[0].path if count else "<text>"
        return [f"error: {path} has {count} error{'s' * (count != 1)}", *(str(d) for d in error.diagnostics)]
    kind = "fault" if isinstance(error, MachineFault) else "error"
    first, *rest = str(error).splitlines() or [type(error).__name__]
    return [f"{kind}: {first}", *rest, *(f"    {note}" for note in getattr(error, "__notes__", ()))]


@click.group(
    cls=LazyCommands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: isakit dis kernel.cubin",
)
@click.version_option(None, "--version", package_name="isakit", message="isakit %(version)s")
def app() -> None:
    """Read, write and run programs of reverse-engineered instruction sets.

    Instruction sets (-m) and variants (-V): tesla (g80 g84 gt200 gt215 mcp77), vuc (vp2 vp3 vp4), usse (sgx543).
    """


__all__ = ["COMMANDS", "app"]
