"""`isakit web`."""

from __future__ import annotations

import json
import re
import secrets
import sys
from pathlib import Path
from types import FrameType

import click

from isakit.errors import HostError, IsakitError
from isakit.web.limits import Limits

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LARGEST_FILE = 16 << 20


@click.command(
    "web",
    epilog="""\b
Examples:
  isakit web --open
  isakit web kernel.cubin --port 8000
  isakit web launches""",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port.  [default: a free one]")
@click.option("--host", default="127.0.0.1", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--not-only-loopback", is_flag=True, help="Really let other machines in; they need the token.")
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Say the address as JSON.")
@click.argument("file", required=False, metavar="[FILE]")
def command(port: int, host: str, not_only_loopback: bool, browse: bool, as_json: bool, file: str | None) -> None:
    """Open the workbench in the browser: read, write, run and step programs.

    The page works with this machine only. Its address has a random token; anyone who knows it can use the page. Ctrl-C
    ends the server and everything it runs.
    """
    if host not in LOOPBACK and not not_only_loopback:
        raise click.UsageError(f"--host {host} would let other machines in; if that is meant, add --not-only-loopback")
    try:
        import uvicorn

        from isakit.web.app import make_app
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
        url = f"http://{shown}:{number}/{token}/"
        click.echo(json.dumps({"url": url, "port": number}) if as_json else f"the workbench is at {url}")
        sys.stdout.flush()
        if browse:
            import webbrowser

            webbrowser.open(url)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, date_header=False,
                                timeout_graceful_shutdown=1, timeout_keep_alive=30, lifespan="on")  # fmt: skip
        server = uvicorn.Server(config)
        end = server.handle_exit

        def ends(sig: int, frame: FrameType | None) -> None:
            """A second Ctrl-C would cut short what takes a second at most, and processes of pages would stay."""
            if not server.should_exit:
                end(sig, frame)

        server.handle_exit = ends
        server.run(sockets=[listening])


def _given(name: str) -> dict[str, bytes]:
    """The file the page opens first, under a name that a page may use; the files of a capture with their folder."""
    path = Path(name)
    plain = re.sub(r"[^\w.+-]", "_", path.resolve().name, flags=re.ASCII).lstrip("._+-") or "file"
    if (path / "capture.json").is_file():
        parts = [path / "capture.json", *sorted(path.glob("launches/*.json")), *sorted(path.glob("blobs/*"))]
        size = sum(p.stat().st_size for p in parts)
        if size > Limits().folder:
            raise IsakitError(f"{name} has {size} bytes; the workbench takes captures of {Limits().folder}")
        return {f"{plain}/{p.relative_to(path)}": p.read_bytes() for p in parts}
    if path.is_dir():
        raise IsakitError(f"{name} is a folder, and no capture of `isakit cuda`: give a file")
    data = path.read_bytes()
    if len(data) > _LARGEST_FILE:
        raise IsakitError(f"{name} has {len(data)} bytes; the workbench takes {_LARGEST_FILE}")
    return {plain: data}


__all__ = ["command"]
