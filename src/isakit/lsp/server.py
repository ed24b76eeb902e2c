"""The protocol: requests of an editor to questions about a document, and answers back."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from isakit import __version__
from isakit.asm.source import SourceSpan
from isakit.compile.garbage import no_collections
from isakit.errors import Diagnostic
from isakit.lsp.documents import ASSEMBLY, Assembly
from isakit.lsp.ptx_texts import PtxText
from isakit.lsp.python_texts import PythonText
from isakit.lsp.source_texts import SourceText
from isakit.lsp.texts import LARGEST, Completion, Definition, Text
from isakit.programs.sources import ENDINGS

PAUSE = 0.02
"""Seconds before a look at a text that is being written: what is asked with a change is answered first."""
WAIT = 0.03
"""Seconds that a completion waits for words that are still being collected."""
SWITCH = 0.001
"""Seconds after which a check, or the preparation, lets an answer go on."""
_COMPLETIONS = {
    "instruction": lsp.CompletionItemKind.Function, "prefix": lsp.CompletionItemKind.Keyword,
    "directive": lsp.CompletionItemKind.Keyword, "register": lsp.CompletionItemKind.Variable,
    "word": lsp.CompletionItemKind.EnumMember, "label": lsp.CompletionItemKind.Reference,
    "value": lsp.CompletionItemKind.Constant, "parameter": lsp.CompletionItemKind.Field,
    "kernel": lsp.CompletionItemKind.Function, "function": lsp.CompletionItemKind.Function,
    "variable": lsp.CompletionItemKind.Variable, "type": lsp.CompletionItemKind.Struct,
}  # fmt: skip
_SYMBOLS = {
    "label": lsp.SymbolKind.Key, "value": lsp.SymbolKind.Constant, "parameter": lsp.SymbolKind.Field,
    "kernel": lsp.SymbolKind.Function, "function": lsp.SymbolKind.Function, "variable": lsp.SymbolKind.Variable,
    "register": lsp.SymbolKind.Variable, "type": lsp.SymbolKind.Struct,
}  # fmt: skip


class Server(LanguageServer):
    """Answers for the documents that the editor has open. `isa_name`: of texts that do not name one."""

    def __init__(self, isa_name: str = "tesla") -> None:
        super().__init__("isakit", __version__)  # pyright: ignore[reportUnknownMemberType]
        self.isa_name = isa_name
        self._texts: dict[str, tuple[int | None, Text]] = {}
        self._changed: set[str] = set()
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._met: set[str] = set()
        self._ready: set[str] = set()
        self._preparing = threading.Lock()
        _register(self)

    def text(self, uri: str) -> tuple[TextDocument, Text] | None:
        """Return an open document and what is asked about it, as it is now; None in a language that is not known."""
        document = self.workspace.get_text_document(uri)
        version, known = self._texts.get(uri, (None, None))
        if known is None or version != document.version:
            known = _text(document, self.isa_name, known)
            if known is None:
                return None
            self._texts[uri] = document.version, known
        return document, known

    def changed(self, uri: str) -> None:
        """Have a document checked; a check of an earlier text of it is given up."""
        self._changed.add(uri)
        if uri not in self._checks:
            self._checks[uri] = asyncio.ensure_future(self._check(uri))

    def serve(self) -> None:
        """Talk to the editor on standard input and output until it ends; what answers need is prepared meanwhile."""
        sys.setswitchinterval(SWITCH)
        threading.Thread(target=self.prepare, daemon=True).start()
        self.start_io()

    def prepare(self) -> None:
        """Get ready for texts of all instruction sets and for PTX, the usual one first."""
        for isa_name in dict.fromkeys((self.isa_name, *ASSEMBLY.values())):
            self._prepare(Assembly("", "", isa_name))
        self._prepare(PtxText("", ""))

    def _prepare(self, text: Text) -> None:
        """Get ready for a text; who needs the same meanwhile waits for it."""
        with self._preparing, no_collections():
            text.prepare()
            gc.freeze()

    async def ready(self, uri: str, text: Text) -> bool:
        """Get ready for a text in another thread, and wait a moment for it; return whether that is done."""
        if uri not in self._ready:
            preparation = asyncio.ensure_future(asyncio.to_thread(self._prepare, text))
            done, _ = await asyncio.wait([preparation], timeout=WAIT)
            if not done:
                return False
            preparation.result()
            self._ready.add(uri)
        return True

    def closed(self, uri: str) -> None:
        """Forget a document, and what was wrong with it."""
        self._changed.discard(uri)
        if (check := self._checks.pop(uri, None)) is not None:
            check.cancel()
        self._texts.pop(uri, None)
        self._ready.discard(uri)
        self._publish(uri, None, [])

    async def _check(self, uri: str) -> None:
        """Say what is wrong with a document, as often as it has changed meanwhile."""
        while uri in self._changed:
            await asyncio.sleep(PAUSE)
            self._changed.discard(uri)
            if (found := self.text(uri)) is not None:
                await self._look(*found)
        del self._checks[uri]

    async def _look(self, document: TextDocument, text: Text) -> None:
        """Check a text in another thread, and say what is found so far after each step that finds a mistake.

        Given up as soon as the document has changed: places would be those of another text.
        """
        uri, version = document.uri, document.version
        steps = text.check()
        said: list[Diagnostic] | None = None
        found = list[Diagnostic]()
        pause = text.pause
        while (further := await self._step(steps, uri, text.pause > pause)) is not None:
            if uri in self._changed:
                return
            found = further
            if pause or len(found) > len(said or []):
                said = found
                self._publish(uri, version, self._diagnostics(document, found))
            await asyncio.sleep(pause)
            pause = 0.0
        if uri not in self._changed and found != said:
            self._publish(uri, version, self._diagnostics(document, found))
        self._met.add(uri)

    async def _step(self, steps: Iterator[list[Diagnostic]], uri: str, is_long: bool) -> list[Diagnostic] | None:
        """Return the mistakes of the next step of a check, run in another thread, None after the last.

        The end of a long check is not waited for after a change of the text.
        """
        step = asyncio.ensure_future(asyncio.to_thread(_next, steps, uri not in self._met))
        while is_long and not (await asyncio.wait([step], timeout=PAUSE))[0]:
            if uri in self._changed:
                return []
        return await step

    def _publish(self, uri: str, version: int | None, found: list[lsp.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def _diagnostics(self, document: TextDocument, found: list[Diagnostic]) -> list[lsp.Diagnostic]:
        where = self.ranges_of(document, [SourceSpan(d.line, d.column - 1, max(1, d.width)) for d in found])
        return [
            lsp.Diagnostic(r, "\n".join((d.message, *d.notes)), severity=lsp.DiagnosticSeverity.Error, source="isakit")
            for r, d in zip(where, found, strict=True)
        ]

    def range_of(self, document: TextDocument, place: SourceSpan) -> lsp.Range:
        """Return a place of a text in the units that the editor counts in."""
        return self.ranges_of(document, [place])[0]

    def ranges_of(self, document: TextDocument, places: list[SourceSpan]) -> list[lsp.Range]:
        """Return places of a text in the units that the editor counts in."""
        lines = document.lines or [""]  # made anew at every look
        codec = document.position_codec
        ranges = [
            lsp.Range(lsp.Position(p.line - 1, p.column), lsp.Position(p.line - 1, p.column + p.width)) for p in places
        ]
        return [codec.range_to_client_units(lines, r) for r in ranges]

    def place_of(self, document: TextDocument, position: lsp.Position) -> tuple[int, int]:
        """Return the line, from 1, and the column, from 0, of a position of the editor."""
        here = document.position_codec.position_from_client_units(document.lines, position)
        return here.line + 1, here.character


def _next(steps: Iterator[list[Diagnostic]], first: bool) -> list[Diagnostic] | None:
    """Go on with a check by a step; None where it has ended.

    Garbage is collected between steps, where it is little. What is known after those of the `first` check of a text is
    many objects that stay: to look through them again and again would hold up answers.
    """
    with no_collections():
        found = next(steps, None)
    if first:
        gc.collect()
        gc.freeze()
    return found


def _text(document: TextDocument, isa_name: str, earlier: Text | None) -> Text | None:
    """Return a document as a text in its language, None if that is not known. `earlier` is the text before a change."""
    path, source = document.path or document.uri, document.source
    ending = PurePosixPath(path).suffix.lower()
    if document.language_id in ASSEMBLY or ending in (".s", ".asm"):
        isa_name = ASSEMBLY.get(document.language_id or "", isa_name)
        known = earlier if isinstance(earlier, Assembly) else None
        return Assembly(source, document.filename or path, isa_name, known)
    if ending == ".ptx" or document.language_id == "ptx":
        return PtxText(source, path, earlier if isinstance(earlier, PtxText) else None)
    if ending == ".py":
        if "@isakit.kernel" not in source or len(source) > LARGEST:
            return Text()
        return PythonText(source, path, earlier if isinstance(earlier, PythonText) else None)
    if (language := ENDINGS.get(ending)) is not None:
        return SourceText(source, path, language, earlier if isinstance(earlier, SourceText) else None)
    return None


def _register(server: Server) -> None:
    """Give a server its answers, one function per request."""

    def named(uri: str, position: lsp.Position) -> tuple[TextDocument, Text, Definition, SourceSpan] | None:
        found = server.text(uri)
        if found is None:
            return None
        at = found[1].names.at(*server.place_of(found[0], position))
        return None if at is None else (*found, *at)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.changed(uri)
        if (found := server.text(uri)) is not None:
            await server.ready(uri, found[1])

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = server.text(params.text_document.uri)
        if found is None:
            return None
        document, text = found
        line, column = server.place_of(document, params.position)
        shown = text.hover(line, column)
        if shown is None:
            return None
        where = server.range_of(document, SourceSpan(line, shown.column, shown.width))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, shown.text), where)

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["$", "."]))
    async def completion(params: lsp.CompletionParams) -> lsp.CompletionList:
        found = server.text(params.text_document.uri)
        if found is None:
            return lsp.CompletionList(False, [])
        document, text = found
        known = await server.ready(document.uri, text)
        if known:
            words = text.completions(*server.place_of(document, params.position))
        else:  # the editor asks again when the next character is typed
            words = [Completion(d.name, d.kind) for d in text.names.definitions]
        items = [lsp.CompletionItem(c.word, kind=_COMPLETIONS[c.kind], detail=c.detail or None) for c in words]
        return lsp.CompletionList(not known, items)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        uri = params.text_document.uri
        if (found := named(uri, params.position)) is not None:
            return lsp.Location(uri, server.range_of(found[0], found[2].place))
        known = server.text(uri)
        other = None if known is None else known[1].elsewhere(*server.place_of(known[0], params.position))
        if other is None:
            return None
        path, place = other
        where = [lsp.Position(place.line - 1, c) for c in (place.column, place.column + place.width)]
        return lsp.Location(Path(path).as_uri(), lsp.Range(*where))

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location] | None:
        found = named(params.text_document.uri, params.position)
        if found is None:
            return None
        document, text, d, _ = found
        places = [p for p in text.names.references(d) if params.context.include_declaration or p != d.place]
        return [lsp.Location(params.text_document.uri, r) for r in server.ranges_of(document, places)]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight] | None:
        found = named(params.text_document.uri, params.position)
        if found is None:
            return None
        return [lsp.DocumentHighlight(r) for r in server.ranges_of(found[0], found[1].names.references(found[2]))]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        found = named(params.text_document.uri, params.position)
        return found and server.range_of(found[0], found[3])

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        found = named(params.text_document.uri, params.position)
        if found is None:
            return None
        document, text, d, _ = found
        if refusal := text.names.refusal(params.new_name, d):
            raise JsonRpcInvalidParams(refusal)
        where = server.ranges_of(document, text.names.references(d))
        edits = [lsp.TextEdit(r, params.new_name) for r in where]
        return lsp.WorkspaceEdit(changes={params.text_document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        found = server.text(params.text_document.uri)
        if found is None:
            return []
        definitions = found[1].names.definitions
        ranges = zip(definitions, server.ranges_of(found[0], [d.place for d in definitions]), strict=True)
        return [lsp.DocumentSymbol(d.name, _SYMBOLS[d.kind], where, where) for d, where in ranges]


__all__ = ["Server"]
