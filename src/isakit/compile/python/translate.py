"""A Python function as LLVM IR. What a kernel cannot say is an error at its line."""

from __future__ import annotations

import ast
import os
import warnings
from bisect import bisect
from typing import Any

from isakit.compile.python.statements import Statements
from isakit.compile.python.types import POINTERS, SCALARS, Pointer, Scalar
from isakit.compile.python.writer import (
    FunctionSource,
    TranslationStop,
    Type,
    TypedValue,
    function_source,
    ir_name,
    source_lines,
)
from isakit.errors import CompileError, Diagnostic

NO_FILE = f"{os.devnull}/text"
"""A name that no file has: Python looks for one of the name it is given, to show a wrong line."""
TOO_DEEP = "this is nested too deeply"
HEADER = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""


def parsed(text: str, path: str, first: int = 1) -> ast.Module:
    """The syntax tree of a text that begins at line `first` of its file. Raises CompileError.

    What Python would warn of, as of numbers that later versions will not read, is no matter of a kernel.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, NO_FILE)
    except (SyntaxError, ValueError) as e:  # ValueError: signs that no file can have
        row, column = getattr(e, "lineno", None) or 1, getattr(e, "offset", None) or 1
        message = getattr(e, "msg", None) or str(e)
    except (RecursionError, MemoryError):
        row, column, message = _too_deep(text), 1, TOO_DEEP
    raise CompileError([Diagnostic(first + row - 1, column, message, path=path)])


def _too_deep(text: str) -> int:
    """The line up to which a text cannot be parsed because of what is nested in it."""
    lines = source_lines(text)

    def fails(count: int) -> bool:
        try:
            ast.parse("\n".join(lines[:count]), NO_FILE)
        except (RecursionError, MemoryError):
            return True
        except (SyntaxError, ValueError):
            return False
        return False

    return bisect(range(1, len(lines)), False, key=fails) + 1


def translate(source: FunctionSource, named: bool = False) -> tuple[str, str, list[tuple[str, Type]]]:
    """(name, LLVM IR, parameters) of a kernel; `named`: with debug records of its variables.

    Raises CompileError that points at the Python line.
    """
    tree = parsed(source.text, source.path, source.first)
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if function is None:
        raise CompileError([Diagnostic(source.first, 1, "a kernel is a function made by `def`", path=source.path)])
    if not function.name.isascii():
        row = source.first + function.lineno - 1
        raise CompileError([Diagnostic(row, 1, "the name of a kernel is written in ASCII", path=source.path)])
    t = _Translator(source, function, named)
    try:
        return t.run()
    except TranslationStop as e:
        raise CompileError([e.diagnostic]) from None
    except RecursionError:
        row = source.first + getattr(t.at, "lineno", 1) - 1
        raise CompileError([Diagnostic(row, 1, TOO_DEEP, path=source.path)]) from None


class _Translator(Statements):
    # --- whole kernels ----------------------------------------------------------------------------------------------
    def run(self) -> tuple[str, str, list[tuple[str, Type]]]:
        f = self.function
        a = f.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs:
            self.fail("a kernel takes plain parameters only")
        params: list[tuple[str, Type]] = []
        for p in a.args:
            kind = self.annotation(p.annotation, p)
            params.append((p.arg, kind))
            if isinstance(kind, Pointer):
                self.params[p.arg] = TypedValue(f"%p.{ir_name(p.arg)}", kind)
                self.entry += self.record("value", f"ptr addrspace(1) %p.{ir_name(p.arg)}", p.arg, kind)
            else:
                slot = self.slot(p.arg, kind)
                self.entry.append(f"  store {kind.llvm} %p.{ir_name(p.arg)}, ptr {slot}")
        self.lines.append("body:")
        self.block(f.body)
        if not self.done:
            self.line("ret void")
        text = ", ".join(
            f"{'ptr addrspace(1)' if isinstance(k, Pointer) else k.llvm} %p.{ir_name(n)}" for n, k in params
        )
        name = f.name
        dbg = self.debug_info(name)
        ir = [HEADER, *self.top, *sorted(self.declared),
              f"define ptx_kernel void @{name}({text}) !dbg !3 {{", "entry:", *self.entry, "  br label %body",
              *self.lines, "}", *dbg, *self.loops]  # fmt: skip
        return name, "\n".join(ir) + "\n", params

    def debug_info(self, name: str) -> list[str]:
        path = self.source.path.replace("\\", "/").replace('"', "")
        folder, _, file = path.rpartition("/")
        out = ["!llvm.dbg.cu = !{!0}", "!llvm.module.flags = !{!4}",
               '!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "isakit", isOptimized: true, '
               f"runtimeVersion: 0, emissionKind: {'FullDebug' if self.named else 'DebugDirectivesOnly'})",
               f'!1 = !DIFile(filename: "{file}", directory: "{folder}")', "!2 = !DISubroutineType(types: !{})",
               f'!3 = distinct !DISubprogram(name: "{name}", file: !1, line: {self.source.first}, type: !2, unit: !0, '
               "spFlags: DISPFlagDefinition)",
               '!4 = !{i32 2, !"Debug Info Version", i32 3}']  # fmt: skip
        return [
            *out,
            *self.variables,
            *(f"!{k} = !DILocation(line: {n}, column: 1, scope: !3)" for n, k in self.debug.items()),
        ]

    def annotation(self, node: ast.expr | None, p: ast.arg) -> Type:
        if node is None:
            self.fail(f"`{p.arg}` needs a type", p, f"types: {' '.join((*SCALARS, *POINTERS))}")
        value: Any = None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            value = node.value
        elif isinstance(node, ast.Name):
            value = self.source.names.get(node.id, node.id)
        elif isinstance(node, ast.Attribute):
            value = node.attr
        if isinstance(value, Scalar | Pointer):
            return value
        name = value if isinstance(value, str) else getattr(value, "__name__", "")
        kind = SCALARS.get(name) or POINTERS.get(name)
        if kind is None:
            self.fail(f"`{self.shown(node)}` is not a type of a kernel's parameter", node,
                      f"types: {' '.join((*SCALARS, *POINTERS))}")  # fmt: skip
        return kind


__all__ = ["FunctionSource", "function_source", "parsed", "translate"]
