"""How long an editor waits for the language server on a text of 5,000 lines.

The command is talked to by pygls' own client. For each request: processor time of the server and time that passed, the
median and the quartiles of several changes, and as a ratio the processor time beside that of assembling the text for
the first time. Of PTX and Python, which are checked and have no names yet, the errors only. Usage:
bench/language_server.py [--lines N] [--repeat N] [--language tesla|ptx|python] [FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

ENDINGS = {"tesla": "s", "ptx": "ptx", "python": "py"}


def ptx_kernels(count: int) -> str:
    """Kernels of some 100 lines."""
    body = "".join(
        f"    add.u32 %r{2 + k % 8}, %r{1 + k % 7}, {k};\n    st.global.u32 [%d1+{4 * k}], %r{2 + k % 8};\n"
        for k in range(44)
    )
    kernels = "".join(
        f".visible .entry k{k}(.param .u64 a)\n{{\n    .reg .u32 %r<20>;\n    .reg .u64 %d<4>;\n"
        f"    ld.param.u64 %d1, [a];\n    mov.u32 %r1, %tid.x;\n{body}    ret;\n}}\n"
        for k in range(count // 96)
    )
    return f".version 2.3\n.target sm_20\n.address_size 64\n{kernels}"


def python_kernels(count: int) -> str:
    """Kernels of some 50 lines."""
    body = "".join(f"        s = s * {k} + a[n + {k}]\n" for k in range(43))
    kernels = "".join(
        f'@isakit.kernel\ndef k{k}(a: "u32p", n: "u32"):\n    if n:\n        s = a[n]\n{body}        a[n] = s\n\n'
        for k in range(count // 49)
    )
    return f"import isakit\n\n{kernels}"


def invented(count: int) -> str:
    """A text whose lines are all different, with a branch and a label in every 25."""
    lines = [".isa tesla gt200"]
    while len(lines) < count:
        k = len(lines)
        lines += [f"L{k}: add b32 $r{k % 60} $r{k // 60 % 60} {k:#x}"] if k % 25 == 0 else []
        lines.append(f"    bra L{k // 25 * 25 or 25}" if k % 25 == 24 else f"    mov b32 $r{k % 60} {k:#x}")
    return "\n".join(lines[:count])


def processor_time(pid: int) -> float:
    """Seconds of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def row(title: str, used: list[float], passed: list[float], base: float) -> str:
    def told(times: list[float]) -> str:
        low, middle, high = (1000 * t for t in statistics.quantiles(times, n=4))
        return f"{middle:.0f} ({low:.0f} .. {high:.0f})"

    return f"| {title} | {told(used)} | {told(passed)} | {statistics.mean(used) / base:.3f} |"


async def measure(text: str, repeat: int, language: str) -> None:
    client: Any = LanguageClient("bench", "1")
    said: asyncio.Queue[Any] = asyncio.Queue()
    client.feature("textDocument/publishDiagnostics")(lambda params: said.put_nowait(params))
    await client.start_io(sys.executable, "-m", "isakit", "lsp")
    pid = client._server.pid
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
    document = lsp.TextDocumentIdentifier(f"file:///kernel.{ENDINGS[language]}")
    lines = text.split("\n")
    label = next((k for k, line in enumerate(lines) if ":" in line), 0)
    typical, new_line = {
        "tesla": ("mov", "    mov b32 $r1 {:#x}\n"), "ptx": ("add.u32", "    add.u32 %r2, %r1, {};\n"),
        "python": ("s = s", "        s = s + {}\n"),
    }[language]  # fmt: skip
    middle = next(k for k in range(len(lines) // 2, len(lines)) if typical in lines[k])
    version = 1
    start = processor_time(pid)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(document.uri, "", version, text)))
    first = await said.get()
    base = processor_time(pid) - start
    print(f"{len(lines):,} lines, {len(first.diagnostics)} errors; first time: {1000 * base:.0f} ms\n")
    await asyncio.sleep(3)  # the words of completions are collected

    def change(kind: int) -> None:
        """Type a character in the middle, or (kind 1) a whole new line."""
        nonlocal version
        version += 1
        at = lsp.Position(middle, 0 if kind else len(lines[middle]))
        new = new_line.format(version) if kind else " "
        edits = [lsp.TextDocumentContentChangePartial(text=new, range=lsp.Range(at, at))]
        named = lsp.VersionedTextDocumentIdentifier(uri=document.uri, version=version)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(named, edits))

    async def errors() -> None:
        while (await said.get()).version != version:
            pass

    def ask(what: str, kind: Any, line: int, column: int, **more: Any) -> Callable[[], Awaitable[Any]]:
        method = getattr(client, f"text_document_{what}_async")
        return lambda: method(kind(text_document=document, position=lsp.Position(line, column), **more))

    print("| | processor time, ms | passed, ms | of the first time |\n|---|---|---|---|")
    for title, kind, action in (
        ("errors after a character", 0, errors),
        ("errors after a new line", 1, errors),
        ("hover after a character", 0, ask("hover", lsp.HoverParams, 20, 6)),
        ("completion after a character", 0, ask("completion", lsp.CompletionParams, 20, 12)),
        ("definition after a character", 0, ask("definition", lsp.DefinitionParams, label, 1)),
        ("rename after a character", 0, ask("rename", lsp.RenameParams, label, 1, new_name="again")),
    ):
        if language != "tesla" and action is not errors:
            continue
        used, passed = [], []
        for _ in range(repeat):
            await asyncio.sleep(0.3)
            while not said.empty():
                said.get_nowait()
            cpu, wall = processor_time(pid), time.perf_counter()
            change(kind)
            await action()
            used.append(processor_time(pid) - cpu)
            passed.append(time.perf_counter() - wall)
        print(row(title, used, passed, base))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--language", choices=ENDINGS, default="tesla")
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    invent = {"tesla": invented, "ptx": ptx_kernels, "python": python_kernels}[options.language]
    text = Path(options.file).read_text() if options.file else invent(options.lines)
    asyncio.run(measure(text, options.repeat, options.language))


if __name__ == "__main__":
    main()
