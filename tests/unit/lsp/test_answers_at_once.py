"""Questions of an editor are answered while the text is still being compiled, and a change gives the compiling up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from isakit.errors import Diagnostic
from isakit.lsp.documents import Assembly
from isakit.lsp.ptx_texts import PtxText
from support.patience import PATIENCE

lsp: Any = pytest.importorskip("lsprotocol.types")
pytest.importorskip("pygls")

PTX = ".version 1.4\n.target sm_13\n" + "".join(
    f".entry k{k} (.param .u32 n) {{\n    .reg .u32 %r<4>;\nL{k}: ld.param.u32 %r1, [n];\n    bra L{k};\n}}\n"
    for k in range(4)
)
URI = "file:///k.ptx"


class Document:
    """A server with one document, and what it has said of it: versions and lines of mistakes."""

    def __init__(self, text: str, uri: str) -> None:
        from isakit.lsp.server import Server

        self.uri, self.server = uri, Server()
        self.said: asyncio.Queue[tuple[int | None, list[int]]] = asyncio.Queue()
        self.server.text_document_publish_diagnostics = lambda params: self.said.put_nowait(
            (params.version, [d.range.start.line for d in params.diagnostics])
        )
        protocol: Any = self.server.protocol
        list(protocol.lsp_initialize(lsp.InitializeParams(lsp.ClientCapabilities())))
        self.server.workspace.put_text_document(lsp.TextDocumentItem(uri, "", 1, text))
        self.server.changed(uri)

    def change(self, version: int, line: int, new: str) -> None:
        """Put a line before another one."""
        at = lsp.Position(line, 0)
        edit = lsp.TextDocumentContentChangePartial(text=new, range=lsp.Range(at, at))
        self.server.workspace.update_text_document(lsp.VersionedTextDocumentIdentifier(version, self.uri), edit)
        self.server.changed(self.uri)

    async def ask(self, what: str, kind: Any, line: int, column: int, **more: Any) -> Any:
        protocol: Any = self.server.protocol
        answer = protocol.fm.features[f"textDocument/{what}"](
            kind(text_document=lsp.TextDocumentIdentifier(self.uri), position=lsp.Position(line, column), **more)
        )
        return await asyncio.wait_for(answer, PATIENCE) if asyncio.iscoroutine(answer) else answer


def with_document(text: str, uri: str, steps: Callable[[Document], Awaitable[None]]) -> None:
    async def run() -> None:
        await asyncio.wait_for(steps(Document(text, uri)), PATIENCE)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("cls", "uri", "text", "label"),
    [
        (PtxText, URI, PTX, 4),
        (Assembly, "file:///k.s", ".isa tesla gt200\nL0: mov b32 $r1 $r2\nbra L0\n", 1),
    ],
)
def test_requests_are_answered_while_a_text_is_compiled(
    cls: type[PtxText | Assembly], uri: str, text: str, label: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    check = cls.check

    def held_up(self: Any) -> Iterator[list[Diagnostic]]:
        begun.set()
        assert go_on.wait(PATIENCE)
        yield from check(self)

    monkeypatch.setattr(cls, "check", held_up)

    async def steps(document: Document) -> None:
        try:
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            hover = await document.ask("hover", lsp.HoverParams, label, 5)
            assert "mov" in hover.contents.value or "ld" in hover.contents.value
            assert await document.ask("completion", lsp.CompletionParams, label + 1, 0)
            there = await document.ask("definition", lsp.DefinitionParams, label, 1)
            assert there.range.start.line == label
            edits = await document.ask("rename", lsp.RenameParams, label, 1, new_name="again")
            assert len(edits.changes[uri]) == 2
            assert document.said.empty()
        finally:
            go_on.set()
        assert await document.said.get() == (1, [])

    with_document(text, uri, steps)


def test_a_change_gives_up_the_kernels_that_are_still_to_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    from isakit.compile import driver

    compiled: list[str] = []
    reached, go_on = threading.Event(), threading.Event()
    compile_entry = driver.compile_entry

    def counted(ptx: Any, entry: Any, *options: Any) -> Any:
        compiled.append(entry.name)
        if entry.name == "k1" and not reached.is_set():
            reached.set()
            assert go_on.wait(PATIENCE)
        return compile_entry(ptx, entry, *options)

    monkeypatch.setattr(driver, "compile_entry", counted)
    wrong = PTX.replace("%r1, [n]", "%r9, [n]")  # in every kernel

    async def steps(document: Document) -> None:
        assert await asyncio.to_thread(reached.wait, PATIENCE)
        assert await document.said.get() == (1, [4])  # what is known so far
        document.change(2, 16, "// said\n")
        go_on.set()
        while (told := await document.said.get())[1] != [4, 9, 14, 20]:
            assert told[0] == 2
        assert told[0] == 2
        assert compiled == ["k0", "k1", "k2", "k3"]  # what was found before the change is kept

    with_document(wrong, URI, steps)


def test_an_instruction_is_explained_where_the_text_does_not_assemble() -> None:
    text = Assembly(".isa tesla\nsize = 0x10\nadd b32 $r1 $r2 $r3\nadd b32 $r1 $r2 size; bad\nbra nowhere", "k.s")
    assert text.diagnostics
    for line in (3, 4):
        shown = text.hover(line, 5)
        assert shown is not None
        assert "| bits | field |" in shown.text
    shown = text.hover(5, 1)  # its bits are not known
    assert shown is not None
    assert shown.text.startswith("**bra**")


def test_names_are_offered_while_the_words_of_instruction_sets_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    prepare = Assembly.prepare

    def held_up(self: Assembly) -> None:
        assert go_on.wait(PATIENCE)
        prepare(self)

    monkeypatch.setattr(Assembly, "prepare", held_up)

    async def steps(document: Document) -> None:
        try:
            first = await document.ask("completion", lsp.CompletionParams, 2, 4)
            assert first.is_incomplete
            assert [i.label for i in first.items] == ["L0"]
        finally:
            go_on.set()
        while (then := await document.ask("completion", lsp.CompletionParams, 2, 4)).is_incomplete:
            pass
        assert {"L0", "$r"} <= {i.label for i in then.items}

    with_document(".isa tesla gt200\nL0: mov b32 $r1 $r2\nbra L0\n", "file:///k.s", steps)
