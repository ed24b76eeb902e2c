"""The protocol: requests of an editor to questions about a document, and answers back."""

from __future__ import annotations

import asyncio
import gc
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from isakit import __version__
from isakit.asm.source import SourceSpan
from isakit.errors import Diagnostic
from isakit.lsp.documents import ASSEMBLY, LARGEST, Assembly
from isakit.lsp.names import NAME, Definition

if TYPE_CHECKING:
    from isakit.lsp.ptx_texts import PtxText
    from isakit.lsp.python_texts import PythonText

PAUSE = 0.02
"""Seconds between two looks at a text that is being written."""
_COMPLETIONS = {
    "instruction": lsp.CompletionItemKind.Function, "prefix": lsp.CompletionItemKind.Keyword,
    "directive": lsp.CompletionItemKind.Keyword, "register": lsp.CompletionItemKind.Variable,
    "word": lsp.CompletionItemKind.EnumMember, "label": lsp.CompletionItemKind.Reference,
    "value": lsp.CompletionItemKind.Constant, "parameter": lsp.CompletionItemKind.Field,
    "kernel": lsp.CompletionItemKind.Function,
}  # fmt: skip
_SYMBOLS = {
    "label": lsp.SymbolKind.Key, "value": lsp.SymbolKind.Constant, "parameter": lsp.SymbolKind.Field,
    "kernel": lsp.SymbolKind.Function,
}  # fmt: skip


class Server(LanguageServer):
    """Answers for the documents that the editor has open. `isa_name`: of texts that do not name one."""

    def __init__(self, isa_name: str = "tesla") -> None:
        super().__init__("isakit", __version__)  # pyright: ignore[reportUnknownMemberType]
        self.isa_name = isa_name
        self._documents: dict[str, tuple[int | None, Assembly]] = {}
        self._compiled: dict[str, PtxText | PythonText] = {}
        self._changed: set[str] = set()
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._looking: dict[str, asyncio.Lock] = {}
        self._met: set[str] = set()
        _register(self)

    def assembly(self, uri: str) -> tuple[TextDocument, Assembly] | None:
        """Return an open document that is assembly, as it is now; None for one that is not."""
        document = self.workspace.get_text_document(uri)
        if not _is_assembly(document):
            return None
        version, known = self._documents.get(uri, (None, None))
        if known is None or version != document.version:
            isa_name = ASSEMBLY.get(document.language_id or "", self.isa_name)
            known = Assembly(document.source, document.filename or uri, isa_name, known)
            self._documents[uri] = document.version, known
        return document, known

    def changed(self, uri: str) -> None:
        """Have a document checked, after the look at it that is under way."""
        self._changed.add(uri)
        if uri not in self._checks:
            self._checks[uri] = asyncio.ensure_future(self._check(uri))

    async def prepare(self) -> None:
        """Get ready for texts of the instruction set that is taken where a text names none."""
        await asyncio.to_thread(Assembly("", "", self.isa_name).prepare)
        gc.freeze()

    def closed(self, uri: str) -> None:
        """Forget a document, and what was wrong with it."""
        self._changed.discard(uri)
        if (check := self._checks.pop(uri, None)) is not None:
            check.cancel()
        self._documents.pop(uri, None)
        self._compiled.pop(uri, None)
        self._looking.pop(uri, None)
        self._met.discard(uri)
        self._publish(uri, None, [])

    def looking(self, uri: str) -> asyncio.Lock:
        """Return the lock that one look at a document has: two would do the same work."""
        return self._looking.setdefault(uri, asyncio.Lock())

    async def _check(self, uri: str) -> None:
        """Say what is wrong with a document, as often as it has changed meanwhile."""
        while uri in self._changed:
            self._changed.discard(uri)
            document = self.workspace.get_text_document(uri)
            version = document.version
            async with self.looking(uri):
                found = await self._mistakes(document)
            self._publish(uri, version, self._diagnostics(document, found))
            if uri not in self._met:
                self._met.add(uri)
                if (assembly := self.assembly(uri)) is not None:
                    await asyncio.to_thread(assembly[1].prepare)
                gc.freeze()  # what is known of instructions and statements is many objects, which stay
            await asyncio.sleep(PAUSE)
        del self._checks[uri]

    async def _mistakes(self, document: TextDocument) -> list[Diagnostic]:
        if (found := self.assembly(document.uri)) is not None:
            return await asyncio.to_thread(lambda: found[1].diagnostics)
        if len(source := document.source) > LARGEST:
            return []
        known = self._compiled.get(document.uri)
        text = await asyncio.to_thread(_compiled, source, document.filename or document.uri, known)
        if text is None:
            return []
        self._compiled[document.uri] = text
        return text.diagnostics

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


def _compiled(source: str, path: str, earlier: PtxText | PythonText | None) -> PtxText | PythonText | None:
    """Return a text that is PTX or has Python kernels, None for another. Neither is executed."""
    match PurePosixPath(path).suffix:
        case ".ptx":
            from isakit.lsp.ptx_texts import PtxText

            return PtxText(source, path, earlier if isinstance(earlier, PtxText) else None)
        case ".py" if "@isakit.kernel" in source:
            from isakit.lsp.python_texts import PythonText

            return PythonText(source, path, earlier if isinstance(earlier, PythonText) else None)
        case _:
            return None


def _is_assembly(document: TextDocument) -> bool:
    return document.language_id in ASSEMBLY or PurePosixPath(document.path or "").suffix in (".s", ".asm")


def _register(server: Server) -> None:
    """Give a server its answers, one function per request."""

    def named(uri: str, position: lsp.Position) -> tuple[TextDocument, Assembly, Definition, SourceSpan] | None:
        found = server.assembly(uri)
        if found is None:
            return None
        at = found[1].names.at(*server.place_of(found[0], position))
        return None if at is None else (*found, *at)

    @server.feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        await server.prepare()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = server.assembly(params.text_document.uri)
        if found is None:
            return None
        document, assembly = found
        line, column = server.place_of(document, params.position)
        async with server.looking(params.text_document.uri):
            shown = await asyncio.to_thread(assembly.hover, line, column)
        if shown is None:
            return None
        where = server.range_of(document, SourceSpan(line, shown.column, shown.width))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, shown.text), where)

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["$", "."]))
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        found = server.assembly(params.text_document.uri)
        if found is None:
            return []
        document, assembly = found
        words = assembly.completions(*server.place_of(document, params.position))
        return [lsp.CompletionItem(c.word, kind=_COMPLETIONS[c.kind], detail=c.detail or None) for c in words]

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        found = named(params.text_document.uri, params.position)
        return found and lsp.Location(params.text_document.uri, server.range_of(found[0], found[2].place))

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location] | None:
        found = named(params.text_document.uri, params.position)
        if found is None:
            return None
        document, assembly, d, _ = found
        places = [p for p in assembly.names.references(d) if params.context.include_declaration or p != d.place]
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
        document, assembly, d, _ = found
        _check_new_name(params.new_name, assembly, d)
        where = server.ranges_of(document, assembly.names.references(d))
        edits = [lsp.TextEdit(r, params.new_name) for r in where]
        return lsp.WorkspaceEdit(changes={params.text_document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        found = server.assembly(params.text_document.uri)
        if found is None:
            return []
        definitions = found[1].names.definitions
        ranges = zip(definitions, server.ranges_of(found[0], [d.place for d in definitions]), strict=True)
        return [lsp.DocumentSymbol(d.name, _SYMBOLS[d.kind], where, where) for d, where in ranges]


def _check_new_name(name: str, assembly: Assembly, d: Definition) -> None:
    """Raise what the editor shows, for a name that the assembler does not take or that means something already."""
    from pygls.exceptions import JsonRpcInvalidParams

    if not NAME.fullmatch(name) or name == ".":
        raise JsonRpcInvalidParams(f"{name!r} is not a name: letters, digits, `_`, `.` and `$`, no digit first")
    known = any(other.name == name for other in assembly.names.definitions)
    if known and any(assembly.names.definition(name, p.line) for p in assembly.names.references(d)):
        raise JsonRpcInvalidParams(f"`{name}` is already defined")


__all__ = ["Server"]
