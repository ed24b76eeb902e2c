"""How long an editor waits for the language server on a text of 5,000 lines.

The command is talked to by pygls' own client. First, the time that passes until each of the requests is answered that
follow the opening of the text at once, while its mistakes are still looked for: completion, hover, definition, rename,
and again in turn until the mistakes are told, the longest wait of those. Then, for each request after a change:
processor time of the server and time that passed, the median and the quartiles of several changes, and as a ratio the
processor time beside that of looking at the text for the first time. Usage:
bench/language_server.py [--lines N] [--repeat N] [--language LANGUAGE] [--after SECONDS] [FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

ENDINGS = {
    "tesla": "s",
    "vuc": "s",
    "usse": "s",
    "ptx": "ptx",
    "python": "py",
    "cuda": "cu",
    "cg": "cg",
    "glsl": "frag",
}


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


def cuda_kernels(count: int) -> str:
    """Kernels of some 50 lines."""
    body = "".join(f"    s = s * {k}u + a[n + {k}];\n" for k in range(45))
    return "".join(
        f"__global__ void k{k}(unsigned *a, unsigned n) {{\n    unsigned s = a[n];\n{body}    a[n] = s;\n}}\n\n"
        for k in range(count // 50)
    )


def shader_functions(count: int, head: str, tail: str) -> str:
    """Functions of some 50 lines in a shader, of which it calls one."""
    body = "".join(f"    s = s * {k}.0 + a;\n" for k in range(45))
    functions = "".join(
        f"float f{k}(float a) {{\n    float s = a;\n{body}    return s;\n}}\n\n" for k in range(count // 50)
    )
    return head + functions + tail


def assembly(count: int, language: str) -> str:
    """A text whose lines differ, with a branch and a label in every 25."""
    head, first, plain, branch = {
        "tesla": (".isa tesla gt200", "add b32 $r{0} $r{1} {2:#x}", "mov b32 $r{0} {2:#x}", "bra L{3}"),
        "vuc": (".isa vuc", "add $r{4} $r{5} $r1", "mov $r{4} {6:#x}", "bra #L{3}"),
        "usse": (
            ".isa usse",
            "vmul.f32 i0.xyzw i0.xyzw sa{7}.xyzw",
            "vpck.f32.f32 i0.xyzw pa{7}.xyzw pa{8}",
            "br L{3}",
        ),
    }[language]
    lines = [head]
    while len(lines) < count:
        k = len(lines)
        numbers = (
            k % 60,
            k // 60 % 60,
            k,
            k // 25 * 25 or 25,
            k % 15,
            k // 15 % 15,
            k % 200,
            k % 30 * 2,
            k % 30 * 2 + 2,
        )
        lines += [f"L{k}: {first.format(*numbers)}"] if k % 25 == 0 else []
        lines.append("    " + (branch if k % 25 == 24 else plain).format(*numbers))
    return "\n".join(lines[:count])


def invented(count: int, language: str) -> str:
    """Return a text in a language."""
    match language:
        case "ptx":
            return ptx_kernels(count)
        case "python":
            return python_kernels(count)
        case "cuda":
            return cuda_kernels(count)
        case "cg":
            return shader_functions(count, "", "float4 main(float2 t : TEXCOORD0) : COLOR { return f0(t.x); }\n")
        case "glsl":
            head = "varying vec2 t;\n"
            return shader_functions(count, head, "void main() { gl_FragColor = vec4(f0(t.x)); }\n")
        case _:
            return assembly(count, language)


def processor_time(pid: int) -> float:
    """Seconds of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def row(title: str, used: list[float], passed: list[float], base: float) -> str:
    def told(times: list[float]) -> str:
        low, middle, high = (1000 * t for t in statistics.quantiles(times, n=4))
        return f"{middle:.0f} ({low:.0f} .. {high:.0f})"

    return f"| {title} | {told(used)} | {told(passed)} | {statistics.mean(used) / base:.3f} |"


async def measure(text: str, repeat: int, language: str, after: float) -> None:
    client: Any = LanguageClient("bench", "1")
    said: asyncio.Queue[Any] = asyncio.Queue()
    client.feature("textDocument/publishDiagnostics")(lambda params: said.put_nowait(params))
    begin = time.perf_counter()
    await client.start_io(sys.executable, "-m", "isakit", "lsp")
    pid = client._server.pid
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
    print(f"initialize: {1000 * (time.perf_counter() - begin):.0f} ms")
    await asyncio.sleep(after)
    document = lsp.TextDocumentIdentifier(f"file:///kernel.{ENDINGS[language]}")
    lines = text.split("\n")
    typical, new_line = {
        "tesla": ("mov", "    mov b32 $r1 {:#x}\n"), "ptx": ("add.u32", "    add.u32 %r2, %r1, {};\n"),
        "vuc": ("mov", "    mov $r1 {}\n"), "usse": ("vpck", "    vpck.f32.f32 i0.xyzw pa0.xyzw pa{}\n"),
        "python": ("s = s", "        s = s + {}\n"),
    }.get(language, ("s = s", "    s = s + a;\n"))  # fmt: skip
    named = re.compile({"ptx": r"(k1)\(", "python": r"def (k1)"}.get(language, r"^(L\d+):|\b[kf]1\("))
    label, column = next(
        ((k, m.start(m.lastindex or 0)) for k, line in enumerate(lines) if (m := named.search(line))), (0, 0)
    )
    middle = next(k for k in range(len(lines) // 2, len(lines)) if typical in lines[k])
    version = 1
    start, begin = processor_time(pid), time.perf_counter()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(document.uri, "", version, text)))

    def ask(what: str, kind: Any, line: int, column: int, **more: Any) -> Callable[[], Awaitable[Any]]:
        method = getattr(client, f"text_document_{what}_async")
        return lambda: method(kind(text_document=document, position=lsp.Position(line, column), **more))

    here = lines[middle].index(typical) + 1
    requests = [
        ("completion", ask("completion", lsp.CompletionParams, middle, len(lines[middle]))),
        ("hover", ask("hover", lsp.HoverParams, middle, here)),
        ("definition", ask("definition", lsp.DefinitionParams, label, column)),
        ("rename", ask("rename", lsp.RenameParams, label, column, new_name="again")),
    ]
    print("| first | passed, ms | answer |\n|---|---|---|")
    waits = []
    while said.empty() and time.perf_counter() - begin < 60:
        for title, action in requests:
            asked = time.perf_counter()
            answer = await action()
            waits.append(time.perf_counter() - asked)
            if len(waits) <= len(requests):
                told = "names" if getattr(answer, "is_incomplete", False) else "yes" if answer else "none"
                print(f"| {title} | {1000 * waits[-1]:.0f} | {told} |")
        await asyncio.sleep(0.1)
    first = await said.get()
    while first.version != version:
        first = await said.get()
    told, base = time.perf_counter() - begin, processor_time(pid) - start
    print(f"| longest of {len(waits)} until the mistakes are told | {1000 * max(waits):.0f} | |")
    print(f"| mistakes | {1000 * told:.0f} | {len(first.diagnostics)} |\n")
    await asyncio.sleep(3)

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

    print("| | processor time, ms | passed, ms | of the first time |\n|---|---|---|---|")
    for title, kind, action in (
        ("errors after a character", 0, errors),
        ("errors after a new line", 1, errors),
        *((f"{title} after a character", 0, action) for title, action in requests),
    ):
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
    parser.add_argument("--after", type=float, default=0, help="seconds from the greeting to the opening of the text")
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    text = Path(options.file).read_text() if options.file else invented(options.lines, options.language)
    asyncio.run(measure(text, options.repeat, options.language, options.after))


if __name__ == "__main__":
    main()
