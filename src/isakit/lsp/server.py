"""The protocol: requests of an editor to questions about a document, and answers back."""

from __future__ import annotations

import asyncio
import time
from pathlib import PurePosixPath

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from isakit import __version__
from isakit.asm.source import SourceSpan
from isakit.errors import Diagnostic
from isakit.lsp.documents import ASSEMBLY, LARGEST, Assembly, compiled_diagnostics
from isakit.lsp.names import NAME, Definition

PAUSE = 0.02
"""Seconds without typing after which a text is looked at."""
QUICK, LONGEST = 0.1, 0.5
"""A text whose last look took longer than the first is left alone for as long as that, up to the second."""
_COMPILED = {".ptx": "ptx", ".py": "python"}
"""Endings of texts that are compiled, to their languages."""
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
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._took: dict[str, float] = {}
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

    def changed(self, uri: str, pause: float | None = None) -> None:
        """Have a document checked once nobody has typed for a moment."""
        if pause is None:
            took = self._took.get(uri, 0.0)
            pause = PAUSE if took < QUICK else min(took, LONGEST)
        if (earlier := self._waiting.pop(uri, None)) is not None:
            earlier.cancel()
        self._waiting[uri] = asyncio.ensure_future(self._check(uri, pause))

    def closed(self, uri: str) -> None:
        """Forget a document, and what was wrong with it."""
        if (waiting := self._waiting.pop(uri, None)) is not None:
            waiting.cancel()
        self._documents.pop(uri, None)
        self._took.pop(uri, None)
        self._publish(uri, None, [])

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        start = time.perf_counter()
        document = self.workspace.get_text_document(uri)
        version, source = document.version, document.source
        language = _COMPILED.get(PurePosixPath(document.path or "").suffix, "")
        if (found := self.assembly(uri)) is not None:
            diagnostics = await asyncio.to_thread(lambda: found[1].diagnostics)
        elif language and len(source) <= LARGEST and (language == "ptx" or "@isakit.kernel" in source):
            diagnostics = await asyncio.to_thread(compiled_diagnostics, source, language, document.filename or uri)
        else:
            diagnostics = []
        self._publish(uri, version, [self._diagnostic(document, d) for d in diagnostics])
        self._took[uri] = time.perf_counter() - start
        if found is not None:
            await asyncio.to_thread(found[1].prepare)

    def _publish(self, uri: str, version: int | None, found: list[lsp.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def _diagnostic(self, document: TextDocument, d: Diagnostic) -> lsp.Diagnostic:
        where = self.range_of(document, SourceSpan(d.line, d.column - 1, max(1, d.width)))
        message = "\n".join((d.message, *d.notes))
        return lsp.Diagnostic(where, message, severity=lsp.DiagnosticSeverity.Error, source="isakit")

    def range_of(self, document: TextDocument, place: SourceSpan) -> lsp.Range:
        """Return a place of a text in the units that the editor counts in."""
        start = lsp.Position(place.line - 1, place.column)
        end = lsp.Position(place.line - 1, place.column + place.width)
        return document.position_codec.range_to_client_units(document.lines or [""], lsp.Range(start, end))

    def place_of(self, document: TextDocument, position: lsp.Position) -> tuple[int, int]:
        """Return the line, from 1, and the column, from 0, of a position of the editor."""
        here = document.position_codec.position_from_client_units(document.lines, position)
        return here.line + 1, here.character


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

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = server.assembly(params.text_document.uri)
        if found is None:
            return None
        document, assembly = found
        line, column = server.place_of(document, params.position)
        shown = assembly.hover(line, column)
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
        return [lsp.Location(params.text_document.uri, server.range_of(document, p)) for p in places]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight] | None:
        found = named(params.text_document.uri, params.position)
        if found is None:
            return None
        return [lsp.DocumentHighlight(server.range_of(found[0], p)) for p in found[1].names.references(found[2])]

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
        edits = [lsp.TextEdit(server.range_of(document, p), params.new_name) for p in assembly.names.references(d)]
        return lsp.WorkspaceEdit(changes={params.text_document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        found = server.assembly(params.text_document.uri)
        if found is None:
            return []
        ranges = [(d, server.range_of(found[0], d.place)) for d in found[1].names.definitions]
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
