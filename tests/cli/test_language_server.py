"""`isakit lsp` as an editor meets it: the protocol's own client, talking to the command."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.needs import CLANG
from support.patience import PATIENCE

lsp: Any = pytest.importorskip("lsprotocol.types")
clients: Any = pytest.importorskip("pygls.lsp.client")

SAXPY = """\
// a remark with an emoji: \U0001f600
.isa tesla gt200
start:  mov b32 $r1 $r2
    add b32 $r1 $r1 $r2
    /* \U0001f600 */ bra start
    exit nop
"""
SECTIONS = """\
.isa tesla
size = 0x10
.kernel one
.param n u32
again:
    mov b32 $r0 b32 s[n]
    bra again
.kernel two
again:
    mov b32 $r0 size
    bra again
"""


class Editor:
    """A client with one document, and what the server has said of it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.said: asyncio.Queue[Any] = asyncio.Queue()
        client.feature("textDocument/publishDiagnostics")(lambda params: self.said.put_nowait(params))

    async def open(self, text: str, uri: str = "file:///kernel.s", language: str = "") -> list[Any]:
        """Open a document, and return what is wrong with it."""
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, language, 1, text)))
        return await self.told()

    async def told(self) -> list[Any]:
        """Return what the server says next of the document."""
        return list((await asyncio.wait_for(self.said.get(), PATIENCE)).diagnostics)

    async def ask(self, what: str, line: int, column: int, **more: Any) -> Any:
        """Ask about a place, from 0, in UTF-16 units as editors count."""
        document = lsp.TextDocumentIdentifier("file:///kernel.s")
        kind = {"hover": lsp.HoverParams, "completion": lsp.CompletionParams, "definition": lsp.DefinitionParams,
                "references": lsp.ReferenceParams, "rename": lsp.RenameParams,
                "prepare_rename": lsp.PrepareRenameParams}[what]  # fmt: skip
        call = getattr(self.client, f"text_document_{what}_async")
        return await asyncio.wait_for(
            call(kind(text_document=document, position=lsp.Position(line, column), **more)), PATIENCE
        )

    async def words(self, line: int, column: int) -> set[str]:
        """Return what completes a place, when the server has collected it."""
        while (found := await self.ask("completion", line, column)).is_incomplete:
            pass
        return {i.label for i in found.items}


def edit(steps: Callable[[Editor], Awaitable[None]], *options: str) -> None:
    """Start the server, carry out steps, and end it as an editor does."""

    async def run() -> None:
        client = clients.LanguageClient("test", "1")
        editor = Editor(client)
        await client.start_io(sys.executable, "-m", "isakit", "lsp", *options)
        pid = client._server.pid
        try:
            capabilities = lsp.ClientCapabilities()
            await asyncio.wait_for(client.initialize_async(lsp.InitializeParams(capabilities)), PATIENCE)
            client.initialized(lsp.InitializedParams())
            await steps(editor)
            await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
            client.exit(None)
            await asyncio.wait_for(client._server.wait(), PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                client._server.kill()
            await client.stop()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(run())


def spans(places: list[Any]) -> list[tuple[int, int, int]]:
    """Return ranges as (line, first column, last column)."""
    ranges = [getattr(p, "range", p) for p in places]
    return [(r.start.line, r.start.character, r.end.character) for r in ranges]


def test_errors_stand_where_the_text_is_wrong_and_go_when_it_is_mended() -> None:
    async def steps(editor: Editor) -> None:
        found = await editor.open(SAXPY.replace("add b32", "ad b32"))
        assert [(d.range.start.line, d.range.start.character, d.severity) for d in found] == [(3, 4, 1)]
        assert "ad" in found[0].message
        document = lsp.VersionedTextDocumentIdentifier(2, "file:///kernel.s")
        change = lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(3, 4), lsp.Position(3, 6)), "add")
        editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        assert await editor.told() == []
        closed = lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier("file:///kernel.s"))
        editor.client.text_document_did_close(closed)
        assert await editor.told() == []

    edit(steps)


def test_hover_explains_the_bits_of_an_instruction() -> None:
    async def steps(editor: Editor) -> None:
        assert await editor.open(SAXPY) == []
        shown = (await editor.ask("hover", 3, 6)).contents.value
        assert "add b32 $r1 $r1 $r2" in shown
        assert "| src1 |" in shown
        assert ".isa NAME" in (await editor.ask("hover", 1, 2)).contents.value
        assert await editor.ask("hover", 0, 3) is None

    edit(steps)


def test_names_are_found_and_renamed_behind_characters_of_two_units() -> None:
    async def steps(editor: Editor) -> None:
        await editor.open(SAXPY)
        use = SAXPY.split("\n")[4].index("start") + 1  # one more unit than characters
        found = await editor.ask("definition", 4, use + 2)
        assert spans([found]) == [(2, 0, 5)]
        assert spans(await editor.ask("references", 2, 1, context=lsp.ReferenceContext(True))) == [
            (2, 0, 5), (4, use, use + 5)]  # fmt: skip
        assert spans([await editor.ask("prepare_rename", 2, 1)]) == [(2, 0, 5)]
        edits = (await editor.ask("rename", 2, 1, new_name="again")).changes["file:///kernel.s"]
        assert [e.new_text for e in edits] == ["again"] * 2
        for wrong in ("1st", "a b", ""):
            with pytest.raises(Exception, match="not a name"):
                await editor.ask("rename", 2, 1, new_name=wrong)
        assert await editor.ask("definition", 3, 10) is None

    edit(steps)


def test_names_of_a_kernel_are_its_own() -> None:
    async def steps(editor: Editor) -> None:
        assert await editor.open(SECTIONS) == []
        assert spans([await editor.ask("definition", 6, 9)]) == [(4, 0, 5)]
        assert spans([await editor.ask("definition", 10, 9)]) == [(8, 0, 5)]
        assert spans([await editor.ask("definition", 9, 17)]) == [(1, 0, 4)]
        assert spans([await editor.ask("definition", 5, 22)]) == [(3, 7, 8)]
        edits = (await editor.ask("rename", 8, 0, new_name="loop")).changes["file:///kernel.s"]
        assert spans(edits) == [(8, 0, 5), (10, 8, 13)]
        with pytest.raises(Exception, match="already defined"):
            await editor.ask("rename", 8, 0, new_name="size")

    edit(steps)


def test_completion_knows_what_begins_a_statement_and_what_follows() -> None:
    async def steps(editor: Editor) -> None:
        await editor.open(SECTIONS)
        first = await editor.words(6, 5)
        assert {"add", "bra", "exit", ".kernel"} <= first
        assert "$r" not in first
        assert "size" not in first
        then = await editor.words(6, 8)
        assert {"$r", "again", "size", "n", "two"} <= then
        assert "add" not in then

    edit(steps)


@pytest.mark.parametrize(
    ("uri", "text", "wrong"),
    [
        ("file:///k.ptx", ".version 1.4\n.target sm_13\n.entry k () {\n    foo.u32 %r1, %r2;\n}\n", 3),
        ("file:///k.py", '@isakit.kernel\ndef k(x: "f32p"):\n    x[0] = nothing\n', 2),
        ("file:///other.py", "def broken(:\n", None),
        ("file:///k.frag", "varying vec2 t;\nvoid main() {\n    gl_FragColor = nothing;\n}\n", 2),
        ("file:///k.cg", "float4 main(float2 t : TEXCOORD0) : COLOR {\n    return float4(t, 0);\n}\n", 1),
        pytest.param("file:///k.cu", "__global__ void k(int *a) {\n    *a = nothing;\n}\n", 1, marks=CLANG),
    ],
)
def test_sources_are_compiled(uri: str, text: str, wrong: int | None) -> None:
    async def steps(editor: Editor) -> None:
        found = await editor.open(text, uri)
        assert [d.range.start.line for d in found] == ([] if wrong is None else [wrong])

    edit(steps)


def test_a_text_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f'open({str(mark)!r}, "w")\n@isakit.kernel\ndef k(x: "u32p"):\n    x[0] = 1\n'

    async def steps(editor: Editor) -> None:
        assert await editor.open(text, "file:///k.py") == []

    edit(steps)
    assert not mark.exists()


@pytest.mark.parametrize("language", ["isakit-usse", "isakit-vuc"])
def test_the_language_of_the_editor_is_that_of_a_text_that_names_none(language: str) -> None:
    text = {"isakit-usse": "nop\n", "isakit-vuc": "nop\n"}[language]

    async def steps(editor: Editor) -> None:
        assert await editor.open(text, language=language) == []
        assert (await editor.ask("hover", 0, 1)).contents.value

    edit(steps, "-m", "tesla")


def test_a_server_ends_with_its_editor() -> None:
    async def run() -> None:
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "isakit", "lsp", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert server.stdin is not None
        server.stdin.write(b"Content-Length: 40\r\n\r\n{")
        await server.stdin.drain()
        server.stdin.close()
        assert await asyncio.wait_for(server.wait(), PATIENCE) is not None

    asyncio.run(run())


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_an_interrupt_ends_a_server_that_waits_for_its_editor() -> None:
    async def run() -> None:
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "isakit", "lsp",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
        body = json.dumps(asked).encode()
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await server.stdin.drain()
        assert (await server.stdout.readline()).startswith(b"Content-Length")
        server.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(server.wait(), PATIENCE) == 130
        assert server.stderr is not None
        assert await server.stderr.read() == b"interrupted\n"

    asyncio.run(run())
