"""`isakit debug`."""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from isakit.cli import interrupted
from isakit.cli.common import echo, echo_json, json_option, on_terminal, socket_place, write_bytes
from isakit.cli.launches import launch_options, prepare
from isakit.errors import IsakitError
from isakit.hosts.drm import is_capture
from isakit.results import Output, record

if TYPE_CHECKING:
    from isakit.debug.loopback import SingleClientServer
    from isakit.debug.session import Session
    from isakit.debug.terminal import Reply, Terminal

PROMPT = "(isakit) "


@record
class CommandReply:
    """The answer to a command: lines of text, and data of the command's own kind."""

    command: str
    lines: list[str]
    data: object


OUTPUT = Output("debug", 1, lambda: CommandReply)
_CHANGED = re.compile(r"\*\$?[\w:]+=\S+|^\*.*")
"""Values that panes mark as changed."""


@click.command(
    "debug",
    epilog="""\b
Examples:
  isakit debug matmul.s --grid 4,4 --block 16,16 --arg in:a.npy --arg in:b.npy --arg out:f32:64x64 --arg i32:64
  isakit debug shader.gxp --arg texcoord0=in:t.npy -x commands.txt
  isakit debug p2_mailbox.s --json -x commands.txt
  isakit debug scene.json --pixel 40,25 -e "info about"
  isakit debug frame.glc --draw 3 --pixel 40,25 -e "info about"
  isakit debug frame.glc --draw 3 --vertex 7 -e "info about"
  isakit cuda --debug ./k.sock -- ./a.out & isakit debug --attach ./k.sock
\b
Arguments are those of `isakit run`. Some commands:
  b PLACE [if EXPR]  c  s  n  fin  rs  rc  p EXPR  x CELL  info warps  layout  help""",
)
@launch_options
@click.option(
    "-G",
    "--device-debug",
    "debug_build",
    is_flag=True,
    help="Variables of a source stay when they were used last, as far as registers are there.",
)
@click.option("-x", "scripts", multiple=True, metavar="FILE", help="Carry out the commands of a file, then end.")
@click.option("-e", "lines", multiple=True, metavar="COMMAND", help="Carry out a command, then end.")
@click.option(
    "--pixel",
    metavar="X,Y",
    help="FILE is a scene or a GL capture: debug the fragment program of a pixel, Y from below.",
)
@click.option("--fragment", type=click.IntRange(0), metavar="N",
              help="The pixel's fragment.  [default: the last one that changed it]")  # fmt: skip
@click.option(
    "--frame", type=click.IntRange(0), metavar="N", help="FILE is a GL capture: its frame.  [default: the last]"
)
@click.option("--draw", type=click.IntRange(1), metavar="K", help="FILE is a GL capture: a draw of the frame.")
@click.option("--vertex", type=click.IntRange(0), metavar="M",
              help="With --draw: debug the vertex program of the draw's vertex M, in drawing order.")  # fmt: skip
@click.option("--dap", is_flag=True, help="Speak the Debug Adapter Protocol on standard input and output.")
@click.option("--dap-port", "dap_place", callback=socket_place, metavar="PORT|SOCKET",
              help="Serve the Debug Adapter Protocol on a port of this machine (0: a free one) or socket.")  # fmt: skip
@click.option("--gdb", "gdb_place", callback=socket_place, metavar="PORT|SOCKET",
              help="Serve gdb's remote protocol on a port of this machine (0: a free one) or socket.")  # fmt: skip
@click.option("--gdb-file", metavar="OUT",
              help="With --gdb: write an ELF file with lines and variables, which gdb loads.")  # fmt: skip
@click.option("--attach", "attached", callback=socket_place, metavar="PORT|SOCKET",
              help="Debug what `isakit cuda --debug` or `gl --debug` runs there, in place of a FILE.")  # fmt: skip
@json_option
@click.argument("file", metavar="[FILE]", required=False)
def command(
    file: str | None,
    isa_name: str | None,
    variant: str | None,
    scripts: tuple[str, ...],
    lines: tuple[str, ...],
    pixel: str | None,
    fragment: int | None,
    frame: int | None,
    draw: int | None,
    vertex: int | None,
    dap: bool,
    dap_place: int | str | None,
    gdb_place: int | str | None,
    gdb_file: str | None,
    attached: int | str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Step through a program, forwards and backwards.

    A port lets in every user of this machine, a SOCKET (the path of a new file) this user alone.

    A kernel, a shader or microcode stands at its first instruction. Without -x and -e commands come from the terminal,
    or from standard input; `help` lists them. With --json every command answers with one line of JSON.
    """
    from isakit.debug.session import Session
    from isakit.debug.terminal import Commands

    if attached is not None:
        if file is not None:
            raise click.UsageError("--attach goes without FILE")
        _attach(attached, dap, _lines_of(scripts, lines), as_json)
        return
    if file is None:
        raise click.UsageError("give a FILE, or --attach")
    if gdb_file is not None and gdb_place is None:
        raise click.UsageError("--gdb-file goes with --gdb")
    given = _lines_of(scripts, lines)
    if vertex is not None:
        if (pixel, fragment) != (None, None):
            raise click.UsageError("--vertex goes without --pixel and --fragment")
        session = _of_vertex(file, vertex, frame, draw, options["chip"])
    elif pixel is not None:
        session = _of_pixel(file, pixel, fragment, frame, draw, options["chip"])
    elif (frame, draw) != (None, None):
        raise click.UsageError("--frame and --draw go with --pixel or --vertex")
    else:
        prepared = prepare(file, isa_name, variant, options)
        session = Session(prepared.machine, prepared.program, labels=prepared.labels)
        for b in prepared.annotations.breakpoints if prepared.annotations is not None else ():
            session.break_at(b.where, b.condition)
    if dap:
        from isakit.debug.dap import Adapter

        # A reader of its own: the interpreter waits for sys.stdin at its end, which may be in the middle of a read.
        source = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
        with _interrupts_end_it():
            Adapter(session, source, sys.stdout.buffer).serve()
        return
    server: SingleClientServer | None = None
    if dap_place is not None:
        from isakit.debug.dap import DapServer

        server = DapServer(session, dap_place)
        echo(f"the Debug Adapter Protocol is spoken at {server.place}", err=True)
    elif gdb_place is not None:
        from isakit.debug.gdb.server import GdbServer
        from isakit.debug.gdb.stub import SCRIPT

        server = GdbServer(session, gdb_place)
        loaded = ""
        if gdb_file is not None:
            from isakit.debug.gdb.dwarf import debug_file

            write_bytes(gdb_file, debug_file(session, file))
            loaded = f" {shlex.quote(gdb_file)}"
        echo(f"gdb{loaded} -ex 'source {SCRIPT}' -ex 'target remote {server.place}'", err=True)
    if server is not None:
        with _interrupts_end_it():
            server.serve()
        return
    commands = Commands(session)
    _converse(commands, given, as_json, lambda: (session.about, commands.stopped(session.stop)))


def _lines_of(scripts: tuple[str, ...], lines: tuple[str, ...]) -> list[str]:
    """Return the commands of files, then those of the command line. Raises OSError."""
    return [line for path in scripts for line in Path(path).read_text("utf-8").splitlines()] + list(lines)


def _attach(place: int | str, dap: bool, given: list[str], as_json: bool) -> None:
    """Debug a program that runs in another process, until the user leaves or it ends. Raises HostError."""
    from isakit.debug.attach import RemoteCommands, carry_bytes

    if dap:
        with _interrupts_end_it():
            carry_bytes(place, sys.stdin.fileno(), sys.stdout.fileno())
        return
    commands = RemoteCommands(place, pauses=not given and sys.stdin.isatty())
    try:
        first = commands.stopped()
        if given or as_json or not sys.stdin.isatty():
            _answer(first, as_json, "")
        _converse(commands, given, as_json, lambda: ([], first))
    finally:
        commands.close()


def _converse(
    commands: Terminal, given: list[str], as_json: bool, greeting: Callable[[], tuple[list[str], Reply]]
) -> None:
    """Carry out the commands given, or those that are typed or come from standard input."""
    if given:
        _carry_out(commands, iter(given), as_json, strict=True)
    elif sys.stdin.isatty() and not as_json:
        about, first = greeting()
        for line in about:
            echo(line)
        _answer(first, False, "")
        _carry_out(commands, _typed(commands), False, strict=False)
    else:
        _carry_out(commands, (line.rstrip("\n") for line in sys.stdin), as_json, strict=False)


@contextlib.contextmanager
def _interrupts_end_it() -> Generator[None]:
    """Let Ctrl-C end a server while its program runs; a session takes KeyboardInterrupt as a request to pause."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, or no main thread
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        interrupted()

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _of_pixel(file: str, place: str, fragment: int | None, frame: int | None, draw: int | None, chip: str) -> Session:
    """Start a session in the fragment program of a pixel of a scene or a capture.

    Raises IsakitError, click.UsageError.
    """
    from isakit.debug.pixels import pixel
    from isakit.tesla import Scene

    x, _, y = place.partition(",")
    if not (x.strip().isdecimal() and y.strip().isdecimal()):
        raise click.BadParameter(f"{place!r}: give a column and a row, X,Y", param_hint="--pixel")
    chosen = chip if _chip_is_given() else None
    if is_capture(Path(file)):
        from isakit.debug.captured_pixels import captured_pixel

        return captured_pixel(Path(file), int(x), int(y), frame, draw, chosen).session(fragment)
    if (frame, draw) != (None, None):
        raise click.UsageError("--frame and --draw are for captures of GL programs")
    return pixel(Scene(file), int(x), int(y), chosen).session(fragment)


def _of_vertex(file: str, vertex: int, frame: int | None, draw: int | None, chip: str) -> Session:
    """Start a session in the vertex program of a captured draw. Raises IsakitError, click.UsageError."""
    from isakit.debug.captured_vertices import captured_vertex

    if not is_capture(Path(file)):
        raise click.UsageError("--vertex is for captures of GL programs")
    if draw is None:
        raise click.UsageError("--vertex needs --draw: `isakit replay --list` shows the draws")
    return captured_vertex(Path(file), vertex, draw, frame, chip if _chip_is_given() else None).session()


def _chip_is_given() -> bool:
    """Return whether the command line names a chip."""
    source = click.get_current_context().get_parameter_source("chip")
    return source is not click.core.ParameterSource.DEFAULT


def _carry_out(commands: Terminal, lines: Iterator[str], as_json: bool, strict: bool) -> None:
    """Execute command lines until `quit`; with `strict` the first failure ends the run."""
    from isakit.debug.terminal import ProgramGoneError
    from isakit.debug.terminal import Reply as Answer

    for line in lines:
        if strict and (not line.strip() or line.lstrip().startswith("#")):
            continue
        try:
            reply = commands.run(line)
        except IsakitError as e:
            if strict or isinstance(e, ProgramGoneError):
                raise
            reply = Answer([f"error: {e}"], {"error": str(e)})
        if commands.live and not as_json and on_terminal():
            click.clear()
        _answer(reply, as_json, line)
        if reply.quit:
            return


def _answer(reply: Reply, as_json: bool, line: str) -> None:
    if as_json:
        echo_json(CommandReply(line, reply.lines, reply.data), None)
        return
    for text in reply.lines:
        echo(text, painted=_painted)


def _painted(text: str) -> str:
    """Return a line coloured for a terminal: the next instruction and changed values stand out."""
    if text.startswith("---"):
        return click.style(text, dim=True)
    if text.startswith(">"):
        return click.style(text, bold=True)
    return _CHANGED.sub(lambda m: click.style(m[0], fg="yellow", bold=True), text)


def _typed(commands: Terminal) -> Iterator[str]:
    """Yield lines typed at a prompt, with history and completion if the terminal supports them."""
    try:
        import readline
    except ImportError:  # plain input then
        pass
    else:

        def complete(text: str, state: int) -> str | None:
            found = commands.completions(readline.get_line_buffer())
            return found[state] if state < len(found) else None

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        readline.parse_and_bind("tab: complete")
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            echo()
            return
        except KeyboardInterrupt:
            echo()


__all__ = ["command"]
