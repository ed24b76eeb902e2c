"""Helpers that the commands share: options, reading input, writing output."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from functools import partial, reduce, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from isakit.instruction_sets import isa
from isakit.registry import VARIANTS

if TYPE_CHECKING:
    from isakit.annotations import Project
    from isakit.debug.attach import AttachServer

BAD_INPUT, USAGE, NO = 1, 2, 3
"""Exit codes besides 0 (fine): the input cannot be used; wrong usage; a negative result (the simulated program
faulted, a check found errors, two inputs differ). An interrupt ends with 130."""

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks at the start of a text in UTF-16."""

Options = dict[str, Any]
"""The options of a command by name, as click passes them."""
F = TypeVar("F", bound=Callable[..., object])


def isa_option(required: bool = False) -> Callable[[F], F]:
    """Return the decorator that adds `-m ISA`."""
    return click.option("-m", "--isa", "isa_name", metavar="ISA", required=required, help=f"{', '.join(VARIANTS)}.")


def variant_option(function: F) -> F:
    """Add `-V VARIANT` to a command."""
    return click.option("-V", "--variant", metavar="VARIANT", help="The chip or core, e.g. gt200, vp2.")(function)


def type_option(function: F) -> F:
    """Add `-t TYPE` to a command."""
    return click.option(
        "-t", "--program-type", metavar="TYPE", help="compute, vertex, geometry, fragment; primary, secondary."
    )(function)


def json_option(function: F) -> F:
    """Add `--json` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON.")(function)


def engine_options(threads: int | None = None, about: str = "Threads of the llvm engine.") -> Callable[[F], F]:
    """Return the decorator that adds `--engine`, `--tier` and `--threads`, by default all cores."""
    about += f"  [default: {threads or 'all cores'}]"
    options = (
        click.option(
            "--engine", type=click.Choice(["auto", "reference", "llvm"]), default="auto", help="How to execute."
        ),
        click.option("--tier", type=click.Choice(["auto", "interp", "jit"]), default="auto", help="How llvm executes."),
        click.option("--threads", type=click.IntRange(1), default=threads, help=about),
    )
    return lambda function: reduce(lambda f, option: option(f), reversed(options), function)


def project_option(function: F) -> F:
    """Add `--project FILE` to a command."""
    return click.option("--project", metavar="FILE", help="Names, notes and breakpoints, kept by the workbench.")(
        function
    )


def project_for(path: str | None, data: bytes | None) -> Project | None:
    """Read the project of `--project`; warn if it was made for another file.

    Raises FormatError.
    """
    if path is None:
        return None
    from isakit.annotations import read_project

    project = read_project(path)
    if data is not None and not project.fits(data):
        other = project.file or "file"
        echo(f"note: {path} belongs to another {other}: its addresses may mean something else", err=True)
    return project


def machine_of(project: Project | None, isa_name: str | None, variant: str | None) -> tuple[str | None, str | None]:
    """Return the instruction set and variant that options name, or else a project."""
    if project is None or not project.isa or isa_name is not None:
        return isa_name, variant
    return project.isa, variant or project.variant or None


def named_code(isa_name: str | None, variant: str | None) -> dict[str, str]:
    """Return the instruction set that -m and -V name, for files without one, as `programs.load_all` takes it.

    Raises click.UsageError for a variant of no instruction set.
    """
    if isa_name is None:
        if variant is not None:
            raise click.UsageError(f"-V {variant} needs -m ISA, the instruction set it is a variant of")
        return {}
    chosen = isa(isa_name, variant)
    return {"isa": chosen.name, "variant": chosen.variant}


def socket_place(context: click.Context, option: click.Parameter, value: str | None) -> int | str | None:
    """Parse a port, or the path of a socket. Raises click.BadParameter."""
    if value is None or not value.lstrip("-").isdecimal():
        return value
    if not 0 <= int(value) <= 65535:
        raise click.BadParameter(f"{value} is not a port: ports go from 0 to 65535", context, option)
    return int(value)


def debug_option(what: str) -> Callable[[F], F]:
    """Return a decorator that adds `--debug` to a command that runs a program; its first `what` waits."""
    return click.option("--debug", "debug_place", callback=socket_place, metavar="PORT|SOCKET",
                        help=f"Let debuggers attach there; the first {what} waits for one.")  # fmt: skip


@contextmanager
def attach_server(place: int | str | None, chip: str) -> Generator[AttachServer | None]:
    """Listen at a place for debuggers of a program on a chip; without a place, yield None.

    Raises LaunchError for a place not to be had.
    """
    if place is None:
        yield None
        return
    from isakit.debug.attach import AttachServer

    server = AttachServer(place, chip, waits=True, tell=lambda line: echo(f"isakit: {line}", err=True))
    try:
        yield server
    finally:
        server.close()


class Dimensions(click.ParamType[tuple[int, ...]] if TYPE_CHECKING else click.ParamType):
    """One to `most` positive numbers with commas between them."""

    name = "dimensions"

    def __init__(self, most: int) -> None:
        self.most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        try:
            dims = tuple(int(n, 0) for n in str(value).split(","))
        except ValueError:
            dims = ()
        if not 1 <= len(dims) <= self.most or min(dims) < 1:
            self.fail(f"{value!r}: give 1 to {self.most} positive numbers with commas between them", param, ctx)
        return dims


def read_bytes(name: str) -> bytes:
    """Return a file's content; `-` is standard input."""
    if name == "-":
        return sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
    with open(name, "rb") as f:
        return f.read()


def read_text(name: str) -> str:
    """Return a text file's content; `-` is standard input."""
    return text_of(read_bytes(name))


def text_of(data: bytes) -> str:
    """Return bytes of a text file as text: UTF-16 if they begin with its byte order mark or look like it, else UTF-8.

    Invalid bytes become replacement characters.
    """
    if data[:2] in UTF16_MARKS:
        return data.decode("utf-16", "replace")
    for order, zeros in (("utf-16-le", data[1:64:2]), ("utf-16-be", data[:64:2])):
        if len(zeros) > 1 and not any(zeros):
            return data.decode(order, "replace")
    return data.decode("utf-8-sig", "replace")


def write_bytes(name: str, data: bytes) -> None:
    """Write a file; `-` is standard output."""
    if name == "-":
        click.echo(data, nl=False)
    else:
        with open(name, "wb") as f:
            f.write(data)


def shown(name: str) -> str:
    """Return the name of an input in messages."""
    return "<stdin>" if name == "-" else name


_ASCII_CONTROLS = bytes(c for c in range(0x80) if c not in b"\t\n" and not 0x20 <= c < 0x7F)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Make a text from a file safe for a terminal: control characters become escapes; tabs and line ends stay."""
    if text.isascii() and not len(text) - len(text.encode("ascii").translate(None, _ASCII_CONTROLS)):
        return text  # many times as fast as looking for them one by one
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}", text)


def echo(
    text: str = "",
    nl: bool = True,
    err: bool = False,
    painted: Callable[[str], str] | None = None,
    plain: bool = False,
) -> None:
    """Write a text, in the colours of `painted` if colours are wanted.

    Names and texts of files may be in it: control characters become escapes. `plain`: it contains none, and need not be
    searched.
    """
    if plain and not coloured():
        sys.stdout.write(text)
        sys.stdout.write("\n")
        return
    text = printable(text)
    if painted is not None and coloured():
        click.echo(painted(text), nl=nl, err=err, color=True)
    else:
        click.echo(text, nl=nl, err=err)


def echo_page(text: str, nl: bool = True) -> None:
    """Write a text for reading: on a terminal that it does not fit into, with the user's pager."""
    import shutil  # takes long to import

    if on_terminal() and text.count("\n") >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text, color=coloured())
    else:
        click.echo(text, nl=nl, color=coloured())


def output_option(function: Callable[..., None]) -> Callable[..., None]:
    """Add `-o FILE`: what a command writes to its standard output goes into a file, once all of it is there."""

    @click.option("-o", "--output", metavar="FILE", help="The file to write.  [default: standard output]")
    @wraps(function)
    def written(output: str | None, **named: object) -> None:
        if output is None or output == "-":
            function(**named)
            return
        text = io.StringIO()
        with redirect_stdout(text):
            function(**named)
        write_bytes(output, text.getvalue().encode())

    return written


def echo_json(result: object, indent: int | None = 1) -> None:
    """Write a record, or plain data, as JSON; on one line if `indent` is None."""
    from isakit.results import plain

    text = json.dumps(plain(result), indent=indent, ensure_ascii=False, default=str)
    click.echo(_CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", text))


def coloured() -> bool:
    """Return true if output may be coloured: standard output is a terminal, and NO_COLOR is not set."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or on_terminal()


def on_terminal() -> bool:
    """Return true if standard output is a terminal; it may be closed."""
    return sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]


def _unseen(**_: int) -> None:
    """Replace a progress bar that would not be visible."""


@contextmanager
def progress(what: str, total: int | None = None, *, wanted: bool = True) -> Generator[Callable[..., None]]:
    """Show a progress bar on standard error, if that is a terminal and it is `wanted`.

    Yields the function that takes the amount done, as `completed=`, and the whole amount, as `total=`.
    """
    if not (wanted and sys.stderr.isatty()):
        yield _unseen
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(what, total=total))


def console() -> Any:
    """Return a rich console for standard output; plain if colours are not wanted."""
    from rich.console import Console

    plain = not coloured()
    width = None if on_terminal() else 120
    return Console(
        no_color=plain, force_terminal=None if plain else True, highlight=False, width=width, soft_wrap=False
    )
