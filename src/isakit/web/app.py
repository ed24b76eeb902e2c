"""The server: who may use it, the files of the page, and requests to workers.

Every address begins with a random token. Requests are refused that name another host, come from another origin, or are
longer than they may be; the page may load scripts and styles from here only.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.web import packages
from isakit.web.files import files, page
from isakit.web.lessons import lesson, lessons
from isakit.web.limits import Limits
from isakit.web.tabs import Tabs, WorkerEnded

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}  # fmt: skip
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LAST = {"Connection": "close"}
"""Of what is refused: the client stops sending a body that is not read, and asks for no more without a token."""
_MOST_FIELDS = 64
_DEEPEST = 16
"""Levels of the fields of a request. JSON is read and written by recursion, by the worker, too."""


class _Full(Exception):
    """The requests that wait for their answers take as much memory as they may."""


def _memory(data: bytes) -> int:
    """Return the bytes that a part of a body takes at most, as bytes or as the objects it stands for in JSON."""
    wide = not data.isascii() or b"\\u" in data  # one such character makes all others of its text as wide
    return len(data) * (4 if wide else 1) + 64 * data.count(b",") + 128 * data.count(b"[") + 256 * data.count(b"{")


class RequestGuard:
    """Lets requests through that are for this server, from its own page, and no longer than allowed.

    Those that wait for their answers, of all pages, also where nobody waits for an answer any more, are bounded
    `together`.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], body: int, together: int) -> None:
        self._app, self._hosts, self._body, self._together = app, hosts, body, together
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            response: Response = PlainTextResponse(f"{refused}\n", 403, HEADERS | _LAST)
            if scope["type"] == "http":
                await response(scope, receive, send)
            return

        taken = held = 0

        async def bounded() -> Message:
            nonlocal taken, held
            message = await receive()
            part: bytes = message.get("body", b"")
            taken += len(part)
            if taken > self._body:
                raise ClientDisconnect
            memory = _memory(part)
            if self._held + memory > self._together:
                raise _Full
            held += memory
            self._held += memory
            return message

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {k.lower() for k, _ in message["headers"]}
                added = HEADERS if message["status"] < 300 else HEADERS | _LAST
                message["headers"] = [
                    *message["headers"],
                    *((k.lower().encode(), v.encode()) for k, v in added.items() if k.lower().encode() not in names),
                ]
            await send(message)

        try:
            with contextlib.suppress(ClientDisconnect):
                await self._app(scope, bounded, sealed)
        except _Full:
            text = f"all requests together may take {self._together >> 20} MB of memory; wait for some to be answered\n"
            await PlainTextResponse(text, 503, HEADERS | _LAST)(scope, receive, send)
        finally:
            self._held -= held

    def _refused(self, scope: Scope) -> str | None:
        if scope["type"] != "http":
            return "only HTTP is spoken here"
        given: dict[bytes, list[bytes]] = {}
        for k, v in scope["headers"]:
            given.setdefault(k.lower(), []).append(v)
        host = given.get(b"host", [])
        if len(host) != 1 or host[0].decode("latin-1") not in self._hosts:
            return "this host is not served here"
        origin = given.get(b"origin", [])
        if len(origin) > 1 or (origin and origin[0].decode("latin-1") not in {f"http://{h}" for h in self._hosts}):
            return "this origin has no access"
        if given.get(b"sec-fetch-site", [b"none"])[0] not in (b"none", b"same-origin"):
            return "this site has no access"
        length = given.get(b"content-length", [b"0"])[0]
        if not length.isdigit() or int(length) > self._body:
            return f"a request may have {self._body} bytes"
        return None


def _nested_deeper(value: object, levels: int) -> bool:
    """Return whether lists and objects are nested in a value on more levels than these."""
    if not isinstance(value, dict | list):
        return False
    inner = cast("JsonObject", value).values() if isinstance(value, dict) else cast("list[object]", value)
    return not levels or any(_nested_deeper(v, levels - 1) for v in inner)


def make_app(hosts: frozenset[str], token: str, given: Mapping[str, bytes] | None = None) -> Starlette:
    """Make the application.

    `hosts`: values of the Host header that are answered; `token`: what addresses begin with; `given`: files that every
    page opens, by name.
    """
    limits = Limits()
    tabs = Tabs(limits)
    found = files()

    def route(path: str, endpoint: Any, method: str) -> Route:
        async def checked(request: Request) -> Response:
            if not secrets.compare_digest(request.path_params["token"].encode(), token.encode()):
                return PlainTextResponse("the address has another token\n", 403)
            return await endpoint(request)

        return Route("/{token}/" + path, checked, methods=[method])

    async def static(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        if name not in found:
            return PlainTextResponse("there is no such file\n", 404)
        if name == "index.html":
            return Response(page(packages.installed()), media_type=TYPES[".html"])
        path = found[name]
        return Response(path.read_bytes(), media_type=TYPES.get(path.suffix, "application/octet-stream"))

    async def opened(request: Request) -> Response:
        try:
            tab = await tabs.open()
        except IsakitError as e:
            return JSONResponse({"error": str(e)}, 503)
        return JSONResponse({"tab": tab.id, "lessons": lessons(), "given": list(given or ()), "largest": limits.file})

    async def alive(request: Request) -> Response:
        try:
            tab = tabs[request.path_params["tab"]]
        except WorkerEnded as e:
            return JSONResponse({"error": str(e)}, 404)
        return StreamingResponse(tabs.alive(tab), media_type="application/octet-stream")

    async def one_lesson(request: Request) -> Response:
        try:
            return JSONResponse(lesson(request.path_params["name"]))
        except IsakitError as e:
            return JSONResponse({"error": str(e)}, 404)

    async def one_given(request: Request) -> Response:
        data = (given or {}).get(request.path_params["name"])
        return PlainTextResponse("there is no such file\n", 404) if data is None else Response(data)

    async def interrupt(request: Request) -> Response:
        try:
            tabs[request.path_params["tab"]].worker.interrupt()
        except WorkerEnded as e:
            return JSONResponse({"error": str(e)}, 404)
        return JSONResponse({"result": {}})

    async def ask(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return JSONResponse({"error": "requests are JSON", "kind": "request"}, 415)
        try:
            tab = tabs[request.path_params["tab"]]
            # The request itself would keep the bytes.
            fields: object = json.loads(b"".join([part async for part in request.stream()]))
        except WorkerEnded as e:
            return JSONResponse({"error": str(e), "kind": "ended"}, 404)
        except (ValueError, RecursionError):
            return JSONResponse({"error": "this is not JSON", "kind": "request"}, 400)
        if not isinstance(fields, dict) or len(cast("JsonObject", fields)) > _MOST_FIELDS:
            return JSONResponse({"error": "a request is an object", "kind": "request"}, 400)
        if _nested_deeper(cast("JsonObject", fields), _DEEPEST):
            return JSONResponse({"error": "a request is not nested so deeply", "kind": "request"}, 400)
        return JSONResponse(await tabs.ask(tab, request.path_params["verb"], cast("JsonObject", fields)))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        tabs.prepare()
        try:
            yield
        finally:
            await tabs.close_all()

    app = Starlette(
        routes=[
            route("", static, "GET"),
            route("open", opened, "POST"),
            route("alive/{tab}", alive, "GET"),
            route("lesson/{name}", one_lesson, "GET"),
            route("given/{name:path}", one_given, "GET"),
            route("interrupt/{tab}", interrupt, "POST"),
            route("ask/{tab}/{verb}", ask, "POST"),
            route("{name:path}", static, "GET"),
        ],
        lifespan=lifespan,
    )
    app.state.tabs = tabs
    app.add_middleware(RequestGuard, hosts=hosts, body=limits.body, together=limits.together)
    return app
