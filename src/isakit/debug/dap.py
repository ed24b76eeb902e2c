"""The Debug Adapter Protocol over a pair of streams: the protocol between editors and a session.

Threads are warps (groups of invocations, the core); registers are those of the group's first active lane, or of the
focused one. The source is the file in the compiler's or assembler's line table, else the PTX; without either, editors
show the disassembly. Steps are by line unless an editor requests instructions. A client that disconnects, or sends
anything but messages, ends the conversation.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, Protocol, cast

from isakit.debug import groups, loopback, source_views
from isakit.debug.panes import source_label
from isakit.debug.session import Session
from isakit.debug.source_variables import whole_name
from isakit.debug.sources import SourcePlace, Sources
from isakit.debug.stops import Breakpoint, Stop
from isakit.errors import IsakitError, LaunchError, described_bug
from isakit.json_text import JsonObject
from isakit.waits import NOTICE_SECONDS

LONGEST = 1 << 20
"""Largest accepted message, in bytes."""
LONGEST_HEADER = 1 << 10
_LEAST_SIZE = 200
"""Bytes that a message counts for in addition to its text."""
_HEADERS = (b"content-length", b"content-type")
MOST_WAITING = 1 << 22
"""Limit in bytes of all received messages that are not yet answered: a program may run for long. As objects they
take twenty times as much."""
MOST = 1 << 16
"""Largest number of instructions or bytes in one request."""
_REASONS = {"watchpoint": "data breakpoint", "step": "step", "until": "step",
            "fault": "exception", "interrupt": "pause", "start": "entry", "moved": "goto"}  # fmt: skip
REGISTERS, FACTS, STACK, LOCALS, INLINED = 1, 2, 3, 4, 5
"""References of the scopes."""
ARRAYS = 100
"""The reference of the first array among the variables; the others follow."""
PTX = 1
"""Reference of the source that is not a file."""

Message = JsonObject


class MessageSink(Protocol):
    """The receiver of messages."""

    def write(self, data: bytes, /) -> object:
        """Write bytes. Raises OSError if the other end is closed."""
        ...

    def flush(self) -> object:
        """Send the messages that are queued."""
        ...


class DapError(IsakitError):
    """The bytes received are not a message of the protocol."""


def read_message(stream: BinaryIO) -> Message | None:
    """Read the next message; None at the end. Raises DapError."""
    data = _body(stream)
    return None if data is None else _parsed(data)


def _body(stream: BinaryIO) -> bytes | None:
    """Read the body of the next message, None at the end."""
    length = None
    while True:
        line = stream.readline(LONGEST_HEADER)
        if not line:
            return None
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() not in _HEADERS:  # a request of HTTP, which carries a message in its body, has others
            raise DapError(f"{line[:40]!r} is not a header of the protocol")
        if name.strip().lower() == b"content-length":
            try:
                length = int(value)
            except ValueError:
                raise DapError("Content-Length is not a number") from None
        if not line.endswith(b"\n"):
            raise DapError("a header without an end")
    if length is None or not 0 <= length <= LONGEST:
        raise DapError(f"a message of {length} bytes; at most {LONGEST} are taken")
    data = stream.read(length)
    return None if len(data) < length else data


def _parsed(data: bytes) -> Message:
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise DapError("a message that is not JSON") from None
    if not isinstance(message, dict):
        raise DapError("a message that is not an object")
    return cast(Message, message)


class Adapter:
    """One client's conversation about one session; `serve` answers its requests until it ends."""

    def __init__(self, session: Session, source: BinaryIO, to: MessageSink) -> None:
        self.session, self._source, self._to = session, source, to
        self._sent = 0
        self._inbox: queue.SimpleQueue[tuple[Message, int] | None] = queue.SimpleQueue()
        self._held: list[tuple[Message, int]] = []
        self._waiting, self._count = 0, threading.Lock()
        """Bytes of the messages in both."""
        self._ended = self._said_so = False
        self._sources = Sources(session)
        self._set: dict[str, list[int]] = {}
        """Numbers of the breakpoints that a request has set, which the next such request replaces."""
        self._unseen: set[int] = set()
        """Numbers of those whose place no program so far had."""
        session.asked = self._interrupted

    @property
    def sources(self) -> Sources:
        """The source of the program."""
        self._sources = self._sources.current()
        return self._sources

    def serve(self) -> bool:
        """Answer requests; return True if the client disconnects properly, False if the connection is lost."""
        threading.Thread(target=self._read, name="isakit-dap", daemon=True).start()
        while not self._ended:
            received = self._held.pop(0) if self._held else self._received()
            if received is None:
                break
            message, size = received
            with self._count:
                self._waiting -= size
            if message.get("type") == "request":
                self._answer(message)
        for kind in list(self._set):
            self._forget(kind)
        return self._said_so

    def _received(self) -> tuple[Message, int] | None:
        """Wait for a message; return None at the end of the client's messages."""
        while True:
            with suppress(queue.Empty):
                return self._inbox.get(timeout=NOTICE_SECONDS)

    def _read(self) -> None:
        try:
            while (data := _body(self._source)) is not None:
                message = _parsed(data)
                with self._count:
                    self._waiting += len(data) + _LEAST_SIZE
                    if self._waiting > MOST_WAITING:
                        raise DapError(f"more than {MOST_WAITING} bytes of messages wait for their answers")
                self._inbox.put((message, len(data) + _LEAST_SIZE))
        except (IsakitError, OSError, ValueError):
            pass
        self._inbox.put(None)

    def _interrupted(self) -> bool:
        """Return true if a run must end: the client requests a pause, or has disconnected."""
        while True:
            try:
                received = self._inbox.get_nowait()
            except queue.Empty:
                break
            if received is None:
                self._ended = True
                return True
            self._held.append(received)
        return any(m.get("command") in ("pause", "disconnect", "terminate") for m, _ in self._held)

    # --- messages ---
    def _send(self, message: JsonObject) -> None:
        self._sent += 1
        data = json.dumps({"seq": self._sent, **message}).encode()
        try:
            self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            self._to.flush()
        except (OSError, ValueError):
            self._ended = True

    def _event(self, name: str, **body: object) -> None:
        self._send({"type": "event", "event": name, "body": body})

    def _answer(self, request: Message) -> None:
        name, number = request.get("command"), request.get("seq")
        name = name if isinstance(name, str) else ""  # anything else may be nested too deeply to be said again
        about = {"type": "response", "request_seq": number if isinstance(number, int) else 0, "command": name}
        arguments: object = request.get("arguments") or {}
        handler = _HANDLERS.get(name)
        moving = _MOVES.get(name)
        try:
            if not isinstance(arguments, dict):
                raise LaunchError("arguments must be an object")
            if moving is not None:
                arguments = cast(Message, arguments)
                if "threadId" in arguments:
                    groups.look_at(self.session, int(arguments["threadId"]))
                # The response first, then what came of it.
                self._send({**about, "success": True, "body": {"allThreadsContinued": True}})
                self._stopped(self._moved(moving, arguments))
                return
            if handler is None:
                raise LaunchError(f"this debugger has no request {name!r}")
            body = handler(self, cast(Message, arguments))
        except Exception as e:  # also a mistake of ours costs one answer, not the session
            text = _described(e)
            self._send({**about, "success": False, "message": text, "body": {"error": {"id": 1, "format": text}}})
            return
        self._send({**about, "success": True, "body": body})
        if name == "initialize":
            self._event("initialized")
        if name == "configurationDone":
            self._stopped(self.session.arrived())
        self._said_so = self._said_so or name in ("disconnect", "terminate")
        self._ended = self._ended or self._said_so

    def _moved(self, move: Callable[[Adapter, bool], Stop], arguments: Message) -> Stop:
        try:
            return move(self, arguments.get("granularity") != "instruction")
        except Exception as e:  # the request has been answered
            self._event("output", category="stderr", output=f"{_described(e)}\n")
            return self.session.stop

    def _stopped(self, stop: Stop) -> None:
        for b in [self.session.breakpoints.get(n) for n in self._unseen]:
            if b is not None and b.point.addresses:
                self._unseen.discard(b.number)
                self._event("breakpoint", reason="changed", breakpoint=self._told(b))
        if stop.reason == "finished":
            self._event("exited", exitCode=0)
            self._event("terminated")
            return
        reason = _REASONS.get(stop.reason, stop.reason)
        if stop.reason == "breakpoint":
            kind = next((k for k, numbers in self._set.items() if set(numbers) & set(stop.numbers)), "instruction")
            reason = f"{kind} breakpoint" if kind in ("function", "instruction") else "breakpoint"
        self._event("stopped", reason=reason, description=stop.text, text=stop.text, allThreadsStopped=True,
                    threadId=self._focused(), hitBreakpointIds=list(stop.numbers))  # fmt: skip

    def _focused(self) -> int:
        """Return the number of the focused group, for the client."""
        return groups.group_of(self.session.target, self.session.focus)

    # --- requests ---
    def _initialize(self, arguments: Message) -> JsonObject:
        return dict.fromkeys(
            ("supportsConfigurationDoneRequest", "supportsStepBack", "supportsDisassembleRequest",
             "supportsInstructionBreakpoints", "supportsReadMemoryRequest", "supportsWriteMemoryRequest",
             "supportsSetVariable", "supportsConditionalBreakpoints", "supportsHitConditionalBreakpoints",
             "supportsDataBreakpoints", "supportsSteppingGranularity", "supportsTerminateRequest",
             "supportsFunctionBreakpoints", "supportsBreakpointLocationsRequest", "supportsLoadedSourcesRequest",
             "supportsSetExpression", "supportsCompletionsRequest", "supportsRestartRequest",
             "supportsExceptionInfoRequest", "supportsEvaluateForHovers"), True,
        )  # fmt: skip

    def _nothing(self, arguments: Message) -> JsonObject:
        return {}

    def _threads(self, arguments: Message) -> JsonObject:
        found = groups.groups(self.session.target)
        return {"threads": [{"id": k, "name": f"{groups.name_of(t)}, {t.state}"} for k, t in found]}

    def _stack(self, arguments: Message) -> JsonObject:
        session = self.session
        groups.look_at(session, int(arguments.get("threadId", self._focused())))
        frames = [
            {"id": k + 1, "name": source_label(session, a) or hex(a), "instructionPointerReference": hex(a),
             **self._line(self.sources.at(a))}
            for k, a in enumerate(source_views.code_path(session))
        ]  # fmt: skip
        return {"stackFrames": frames, "totalFrames": len(frames)}

    def _line(self, place: SourcePlace | None) -> JsonObject:
        """Return the source line of a frame; line 0 if it is not known."""
        if place is None:
            return {"line": 0, "column": 0}
        return {"line": place.line, "column": 1, "source": _source(place.path)}

    def _source_text(self, arguments: Message) -> JsonObject:
        about = _source_of(arguments) if arguments.get("source") else {}
        reference = int(arguments.get("sourceReference") or about.get("sourceReference") or 0)
        if reference != PTX or not self.sources.ptx:
            raise LaunchError("this source is a file, or is not known")
        return {"content": self.sources.ptx, "mimeType": "text/x-ptx"}

    def _loaded_sources(self, arguments: Message) -> JsonObject:
        files = [_source(f) for f in self.sources.files]
        return {"sources": [*files, *([_source("")] if self.sources.ptx else [])]}

    def _scopes(self, arguments: Message) -> JsonObject:
        names = [("Registers", REGISTERS), ("Facts", FACTS), ("Stack", STACK)]
        known = self.session.execution.variables
        if any("::" in name for name in known):
            names.insert(0, ("Inlined functions", INLINED))
        if known:
            names.insert(0, ("Locals", LOCALS))
        return {"scopes": [{"name": n, "variablesReference": k, "expensive": False} for n, k in names]}

    def _variables(self, arguments: Message) -> JsonObject:
        session = self.session
        match int(arguments["variablesReference"]):
            case 4 | 5 as which:
                return {"variables": [self._shown(v) for v in source_views.variables(session, own=which == LOCALS)]}
            case array if ARRAYS <= array < ARRAYS + len(session.execution.variables):
                name = list(session.execution.variables)[array - ARRAYS]
                whole = source_views.variable(session, whole_name(name))
                if whole is not None and whole.parts:
                    return {"variables": [self._shown(p) for p in whole.parts]}
                v = session.execution.variables.at(name, session.address)
                found = source_views.elements(session, v)
                pairs = list(zip(source_views.element_names(v, len(found)), found, strict=True))
            case 1:
                pairs = [(n, hex(v)) for n, v in session.registers().items()]
            case 2:
                pairs = [(n, str(v)) for n, v in session.execution.facts(session.focus).items()]
                pairs.append(("position", str(session.position)))
            case 3:
                pairs = [(f"{k} {f.kind}", f"{f.address:#x} {f.meaning}") for k, f in enumerate(session.frames())]
            case other:
                raise LaunchError(f"no variables {other}")
        return {"variables": [{"name": n, "value": v, "variablesReference": 0} for n, v in pairs]}

    def _shown(self, v: source_views.ShownVariable) -> JsonObject:
        """Return a variable in the protocol's form; an array can be expanded."""
        names = list(self.session.execution.variables)
        opened = ARRAYS + names.index(v.name) if v.variable.count and v.variable.place else 0
        if v.parts:
            opened = ARRAYS + names.index(v.parts[0].name)
            return {"name": v.name, "value": v.text, "type": v.type, "variablesReference": opened,
                    "evaluateName": v.name, "namedVariables": len(v.parts)}  # fmt: skip
        out: JsonObject = {"name": v.name, "value": v.text, "type": v.type, "variablesReference": opened}
        if opened:
            out["indexedVariables"] = min(v.variable.count, source_views.ELEMENTS)
        else:
            out["evaluateName"] = v.name
        return out

    def _set_variable(self, arguments: Message) -> JsonObject:
        name = str(arguments["name"])
        if int(arguments.get("variablesReference", 0)) >= ARRAYS and name not in self.session.execution.variables:
            raise LaunchError("elements are set as memory: s[...] = ...")
        return self._set_to(name, str(arguments["value"]))

    def _set_expression(self, arguments: Message) -> JsonObject:
        return self._set_to(str(arguments["expression"]), str(arguments["value"]))

    def _set_to(self, what: str, value: str) -> JsonObject:
        session = self.session
        session.set(what, value)
        number = session.evaluate(what)
        return {"value": hex(int(number)) if what.startswith("$") else source_views.number_text(number)}

    def _completions(self, arguments: Message) -> JsonObject:
        from isakit.debug.terminal import Commands

        text = str(arguments["text"])[: max(0, int(arguments.get("column", 1 << 16)) - 1)]
        found = Commands(self.session).completions(text)
        return {"targets": [{"label": word} for word in found[:MOST]]}

    def _evaluate(self, arguments: Message) -> JsonObject:
        text = str(arguments["expression"])
        if arguments.get("context") == "repl":
            from isakit.debug.terminal import Commands

            lines = Commands(self.session).run(text).lines
            return {"result": "\n".join(lines), "variablesReference": 0}
        found = source_views.variable(self.session, text)
        if found is not None:
            shown = self._shown(found)
            return {"result": shown["value"], "type": shown["type"], "variablesReference": shown["variablesReference"]}
        return {"result": source_views.number_text(self.session.evaluate(text)), "variablesReference": 0}

    def _instruction_breakpoints(self, arguments: Message) -> JsonObject:
        def one(b: Message) -> JsonObject:
            address = int(str(b["instructionReference"]), 0) + int(b.get("offset", 0))
            made = self._break("instruction", address, b)
            return {"id": made.number, "verified": True, "instructionReference": hex(address)}

        return self._breakpoints("instruction", arguments, one)

    def _source_breakpoints(self, arguments: Message) -> JsonObject:
        """Replace the breakpoints of a file. A breakpoint on a line without code moves to the next line with code."""
        path = _path(_source_of(arguments))

        def one(b: Message) -> JsonObject:
            where = self.sources.place(path, int(b["line"]))
            if where is None and not self.session.later:
                raise LaunchError("no code comes from this line or those below it")
            return self._told(self._break(path, where or f"{path or 'ptx'}:{b['line']}", b), path)

        return self._breakpoints(path, arguments, one)

    def _function_breakpoints(self, arguments: Message) -> JsonObject:
        return self._breakpoints(
            "function", arguments, lambda b: self._told(self._break("function", str(b["name"]), b))
        )

    def _breakpoints(self, kind: str, arguments: Message, one: Callable[[Message], JsonObject]) -> JsonObject:
        """Set the breakpoints that a request asks for, each by `one`, in place of those of the last request."""
        self._forget(kind)
        out: list[JsonObject] = []
        for b in list(arguments.get("breakpoints", []))[:MOST]:
            try:
                out.append(one(b))
            except _UNUSABLE as e:
                out.append({"verified": False, "message": str(e)})
        return {"breakpoints": out}

    def _told(self, b: Breakpoint, path: str = "") -> JsonObject:
        """Return a breakpoint in the protocol's form; it is verified by the first kernel that has its place."""
        there = bool(b.point.addresses)
        if not there:
            self._unseen.add(b.number)
        out: JsonObject = {"id": b.number, "verified": there}
        if path and there:
            place = self.sources.at(min(b.point.addresses))
            out |= {"line": place.line if place else 0, "source": _source(path)}
        return out if there else {**out, "message": "no kernel that has run so far has this place"}

    def _break(self, kind: str, where: str | int, asked: Any) -> Breakpoint:
        """Set a breakpoint with the conditions of a request."""
        ignore = max(0, int(asked.get("hitCondition") or 1) - 1)
        made = self.session.break_at(where, str(asked.get("condition") or ""), ignore=ignore)
        self._set.setdefault(kind, []).append(made.number)
        return made

    def _forget(self, kind: str) -> None:
        for n in self._set.pop(kind, ()):
            self.session.breakpoints.pop(n, None)

    def _breakpoint_locations(self, arguments: Message) -> JsonObject:
        first = int(arguments["line"])
        lines = self.sources.lines(_path(_source_of(arguments)), first, int(arguments.get("endLine") or first))
        return {"breakpoints": [{"line": n} for n in lines]}

    def _data_info(self, arguments: Message) -> JsonObject:
        name = str(arguments["name"])
        self.session.evaluate(name)
        return {"dataId": name, "description": name, "accessTypes": ["write"], "canPersist": False}

    def _data_breakpoints(self, arguments: Message) -> JsonObject:
        self._forget("data")
        made = [self.session.watch(str(b["dataId"]), "write") for b in list(arguments.get("breakpoints", []))[:100]]
        self._set["data"] = [b.number for b in made]
        return {"breakpoints": [{"id": b.number, "verified": True} for b in made]}

    def _exception_info(self, arguments: Message) -> JsonObject:
        stop = self.session.stop
        if stop.reason != "fault":
            raise LaunchError("nothing has faulted")
        return {"exceptionId": "fault", "description": stop.text, "breakMode": "always"}

    def _disassemble(self, arguments: Message) -> JsonObject:
        code = list(self.session.program)
        start = int(str(arguments["memoryReference"]), 0) + int(arguments.get("offset", 0))
        first = next((k for k, i in enumerate(code) if i.address >= start), len(code))
        first += int(arguments.get("instructionOffset", 0))
        out: list[JsonObject] = []
        for k in range(first, first + min(MOST, int(arguments["instructionCount"]))):
            if 0 <= k < len(code):
                i = code[k]
                row = {"address": hex(i.address), "instruction": i.text, "instructionBytes": i.bytes.hex(" ")}
                label = next((n for n, a in self.session.labels.items() if a == i.address), None)
                out.append(row if label is None else {**row, "symbol": label})
            else:
                out.append({"address": hex(1 << 48), "instruction": "", "presentationHint": "invalid"})
        return {"instructions": out}

    def _place(self, arguments: Message) -> tuple[str, int]:
        space, _, address = str(arguments["memoryReference"]).partition(":")
        return space, int(address or "0", 0) + int(arguments.get("offset", 0))

    def _read_memory(self, arguments: Message) -> JsonObject:
        space, address = self._place(arguments)
        data = self.session.target.read_memory(space, address, min(MOST, int(arguments["count"])), self.session.focus)
        return {"address": hex(address), "data": base64.b64encode(data).decode()}

    def _write_memory(self, arguments: Message) -> JsonObject:
        space, address = self._place(arguments)
        data = base64.b64decode(str(arguments["data"]), validate=True)
        self.session.write(space, address, data)
        return {"bytesWritten": len(data)}


_HANDLERS: dict[str, Callable[[Adapter, Message], JsonObject]] = {
    "initialize": Adapter._initialize, "launch": Adapter._nothing, "attach": Adapter._nothing,
    "configurationDone": Adapter._nothing, "disconnect": Adapter._nothing, "terminate": Adapter._nothing,
    "threads": Adapter._threads, "stackTrace": Adapter._stack, "scopes": Adapter._scopes,
    "variables": Adapter._variables, "setVariable": Adapter._set_variable, "evaluate": Adapter._evaluate,
    "setInstructionBreakpoints": Adapter._instruction_breakpoints, "dataBreakpointInfo": Adapter._data_info,
    "setDataBreakpoints": Adapter._data_breakpoints, "disassemble": Adapter._disassemble,
    "readMemory": Adapter._read_memory, "writeMemory": Adapter._write_memory, "pause": Adapter._nothing,
    "setBreakpoints": Adapter._source_breakpoints, "setFunctionBreakpoints": Adapter._function_breakpoints,
    "breakpointLocations": Adapter._breakpoint_locations, "source": Adapter._source_text,
    "loadedSources": Adapter._loaded_sources, "exceptionInfo": Adapter._exception_info,
    "setExceptionBreakpoints": Adapter._nothing, "setExpression": Adapter._set_expression,
    "completions": Adapter._completions, "cancel": Adapter._nothing,
}  # fmt: skip
# pyright: reportPrivateUsage=false
_MOVES: dict[str, Callable[[Adapter, bool], Stop]] = {
    "continue": lambda a, lines: a.session.cont(),
    "next": lambda a, lines: a.sources.step(into=False) if lines else a.session.next(),
    "stepIn": lambda a, lines: a.sources.step(into=True) if lines else a.session.step(),
    "stepOut": lambda a, lines: a.session.finish(),
    "stepBack": lambda a, lines: a.sources.reverse_step() if lines else a.session.reverse_step(),
    "reverseContinue": lambda a, lines: a.session.reverse_cont(),
    "restart": lambda a, lines: a.session.goto(0),
}
_UNUSABLE = (IsakitError, ValueError, TypeError, KeyError, AttributeError)
"""Errors of one breakpoint that a request asks for."""


def _described(e: Exception) -> str:
    """Return the error message for a refused request."""
    known = isinstance(e, (IsakitError, ValueError, TypeError, KeyError, OverflowError))
    return (str(e) or type(e).__name__) if known else f"internal error: {described_bug(e)}"


def _source(path: str) -> JsonObject:
    """Return a source in the protocol's form: a file, or the PTX."""
    if path:
        return {"name": os.path.basename(path), "path": path}
    return {"name": "kernel.ptx", "sourceReference": PTX}


def _source_of(arguments: Message) -> Message:
    """Return the source named by a request. Raises LaunchError."""
    source = arguments.get("source")
    if not isinstance(source, dict):
        raise LaunchError("`source` must be an object")
    return cast(Message, source)


def _path(source: Message) -> str:
    """Return the path of the source named by a request; "" for the PTX."""
    return "" if source.get("sourceReference") else str(source["path"])


def serve_editor(session: Session, client: socket.socket) -> bool:
    """Serve an editor until it disconnects, which is True, or goes away, which stops the program."""
    with client.makefile("rb") as source:
        try:
            return Adapter(session, source, loopback.SocketWriter(client)).serve()
        finally:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)  # ends the thread that reads


class DapServer(loopback.SingleClientServer):
    """A session on a port or a socket: one editor at a time, until one disconnects.

    One that vanishes leaves the session to the next one. Raises LaunchError for a port that cannot be used.
    """

    def __init__(self, session: Session, place: int | str = 0) -> None:
        super().__init__(loopback.listener(place), lambda client: serve_editor(session, client))


__all__ = ["Adapter", "DapError", "DapServer", "read_message", "serve_editor"]
