"""`isakit web`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType

import click

from isakit.cli.common import echo, echo_json
from isakit.errors import HostError, IsakitError
from isakit.results import Output, plain, record, records_at
from isakit.sandbox import absent
from isakit.web import packages
from isakit.web.limits import Limits


@record
class PageAddress:
    """The address of the workbench, and the parts of the sandbox that the system does not offer."""

    url: str
    port: int
    absent: list[str]


OUTPUT = Output("web", 1, records_at("isakit.web.command:PageAddress", "isakit.web.site:StaticSite"))
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LARGEST_FILE = 16 << 20


def _write_static(out: Path, pyodide: Path | None, as_json: bool, file: str | None) -> None:
    from isakit.web.site import write_site

    if file is not None:
        raise click.UsageError("--static takes no FILE: visitors open their own")
    with tempfile.TemporaryDirectory(prefix="isakit-web-") as folder:
        site = write_site(out, pyodide, _bundles(Path(folder, "vendor")))
    if as_json:
        echo_json(site)
    else:
        if site.uncompiled:
            echo(f"note: {site.uncompiled}; a page needs some seconds more to begin", err=True)
        echo(f"{site.files} files, {site.bytes / 1e6:.1f} MB in {site.folder}")
        echo(f"for instance: python3 -m http.server --bind 127.0.0.1 --directory {site.folder}")


def _bundles(place: Path) -> Path:
    """Return the folder of the bundles: where they are, or made now in this place, as far as npm can be reached."""
    if packages.installed():
        return packages.BUILT
    try:
        packages.build(place)
    except (HostError, OSError) as e:
        echo(f"note: {e}; {packages.without()}", err=True)
    return place


@click.command(
    "web",
    epilog="""\b
Examples:
  isakit web --open
  isakit web kernel.cubin --port 8000
  isakit web launches
  isakit web --static site                (a folder for any file server)""",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port.  [default: a free one]")
@click.option("--host", default="127.0.0.1", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--not-only-loopback", is_flag=True, help="Really let other machines in; they need the token.")
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--static",
    "static",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="OUT",
    help="Write the workbench as a folder of static files instead, and end.",
)
@click.option(
    "--pyodide",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="With --static: where the two archives of npm are.  [default: npm fetches them once]",
)
@click.option("--json", "as_json", is_flag=True, help="Say the address as JSON.")
@click.argument("file", required=False, metavar="[FILE|DIR]")
def command(
    port: int,
    host: str,
    not_only_loopback: bool,
    browse: bool,
    static: Path | None,
    pyodide: Path | None,
    as_json: bool,
    file: str | None,
) -> None:
    """Open the workbench in the browser: read, write, run and step programs.

    FILE is opened in it: a program, a text, a scene, an array, or a capture; DIR is a capture of `isakit cuda`.

    The page works with this machine only. Its address has a random token; anyone who knows it can use the page. Ctrl-C
    ends the server and everything it runs.

    With --static nothing is served: the folder OUT holds the page with isakit in itself, for any file server; kernels
    run on the reference engine in the visitor's browser.
    """
    if static is not None:
        _write_static(static, pyodide, as_json, file)
        return
    if pyodide is not None:
        raise click.UsageError("--pyodide needs --static")
    if host not in LOOPBACK and not not_only_loopback:
        raise click.UsageError(f"--host {host} would let other machines in; if that is meant, add --not-only-loopback")
    try:
        import uvicorn

        from isakit.web.app import make_app
        from isakit.web.connections import bounded_connections
    except ImportError as e:
        raise HostError(f"the workbench needs {e.name}: install the extra `web` (pip install 'isakit[web]')") from None
    import socket

    given = _given(file) if file else {}
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        token = secrets.token_urlsafe(18)
        names = {shown, "127.0.0.1", "localhost", "[::1]"} if host in LOOPBACK else {shown}
        app = make_app(frozenset(f"{n}:{number}" for n in names), token, given=given)
        config = uvicorn.Config(app, http=bounded_connections(Limits()), ws="none", log_level="warning",
                                access_log=False, server_header=False, date_header=False,
                                timeout_graceful_shutdown=1, timeout_keep_alive=30, lifespan="on")  # fmt: skip

        class Server(uvicorn.Server):
            stopped_by = 0
            """The signal that ended it."""

            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                """Ignore a second Ctrl-C.

                It would cut short what takes a second at most, and processes of pages would stay. uvicorn's own handler
                is not called: interrupted by the second signal, it takes the first one for that.
                """
                if self.should_exit:
                    return
                self.should_exit = True
                self.stopped_by = sig
                with contextlib.suppress(RuntimeError):  # not running
                    loop = asyncio.get_running_loop()
                    loop.call_soon_threadsafe(app.state.tabs.end_streams)

        server = Server(config)
        url = f"http://{shown}:{number}/{token}/"
        with _until_ended(server.handle_exit):
            about = PageAddress(url, number, absent())
            echo(json.dumps(plain(about)) if as_json else f"the workbench is at {url}")
            for what in about.absent:
                echo(f"note: programs of a page are not shut in as they should be: there is no {what}", err=True)
            if without := packages.without():
                echo(f"note: {without}; to get them, install isakit again where npm can be reached", err=True)
            sys.stdout.flush()
            if browse:
                import webbrowser

                webbrowser.open(url)
            server.run(sockets=[listening])
            if server.stopped_by == signal.SIGINT:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the next one would strike while this one ends it all
                raise KeyboardInterrupt
        if server.stopped_by:
            signal.raise_signal(server.stopped_by)


@contextlib.contextmanager
def _until_ended(handler: Callable[[int, FrameType | None], None]) -> Generator[None]:
    """Give signals that end the server a handler from before it starts until it has ended.

    uvicorn handles them while it serves. Before and after that asyncio would cancel what runs, or Python would raise
    KeyboardInterrupt in the middle of it: both end in tracebacks.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.signal(n, handler) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for n, old in before.items():
            if signal.getsignal(n) is not signal.SIG_IGN:
                signal.signal(n, old)


def _given(name: str) -> dict[str, bytes]:
    """Return the file the page opens first, under a name that a page may use; a capture's files with their folder."""
    path = Path(name)
    plain = re.sub(r"[^\w.+-]", "_", path.resolve().name, flags=re.ASCII).lstrip("._+-") or "file"
    if (path / "capture.json").is_file():
        found = [path / "capture.json", *sorted(path.glob("launches/*.json")), *sorted(path.glob("blobs/*"))]
        parts = [p for p in found if p.is_file()]
        size = sum(p.stat().st_size for p in parts)
        if size > Limits().folder:
            raise IsakitError(f"{name} has {size} bytes; the workbench takes captures of {Limits().folder}")
        return {f"{plain}/{p.relative_to(path)}": p.read_bytes() for p in parts}
    if path.is_dir():
        raise IsakitError(f"{name} is a folder, and no capture of `isakit cuda`: give a file")
    size = path.stat().st_size
    if size > _LARGEST_FILE:
        raise IsakitError(f"{name} has {size} bytes; the workbench takes {_LARGEST_FILE}")
    return {plain: path.read_bytes()}


__all__ = ["command"]
