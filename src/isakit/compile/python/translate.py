"""A Python function as LLVM IR. Anything a kernel cannot express is an error at its line."""

from __future__ import annotations

import ast
import os
import warnings
from bisect import bisect
from collections.abc import Sequence

from isakit.compile.python.statements import Statements
from isakit.compile.python.types import POINTERS, SCALARS, Pointer, Scalar, i32, type_named
from isakit.compile.python.writer import (
    FunctionSource,
    TranslationStop,
    Type,
    TypedValue,
    VariableWidened,
    function_source,
    ir_name,
    source_lines,
)
from isakit.errors import CompileError, Diagnostic

NO_FILE = f"{os.devnull}/text"
"""A file name that cannot exist: Python opens the file it is given to show a wrong line."""
TOO_DEEP = "this is nested too deeply"
HEADER = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""


def parsed(text: str, path: str, first: int = 1) -> ast.Module:
    """Parse a text that begins at line `first` of its file. Raises CompileError.

    Python's warnings, as of number literals that later versions refuse, do not concern a kernel.
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
    """Return the line where a text becomes too deeply nested to parse."""
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


def translate(
    source: FunctionSource, named: bool = False, types: Sequence[Type] | None = None
) -> tuple[str, str, list[tuple[str, Type]]]:
    """Return (name, LLVM IR, parameters) of a kernel.

    Args:
        source: the function.
        named: with debug records of its variables.
        types: of its parameters, instead of the annotated ones.

    Raises CompileError that points at the Python line.
    """
    tree = parsed(source.text, source.path, source.first)
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if function is None:
        raise CompileError([Diagnostic(source.first, 1, "a kernel is a function made by `def`", path=source.path)])
    if not function.name.isascii():
        row = source.first + function.lineno - 1
        raise CompileError([Diagnostic(row, 1, "the name of a kernel is written in ASCII", path=source.path)])
    widths: dict[tuple[tuple[str, ...], str], Scalar] = {}
    while True:
        t = _Translator(source, function, named)
        t.widths = None if types is None else widths
        try:
            return t.run(types)
        except VariableWidened:  # types only grow: this ends
            continue
        except TranslationStop as e:
            raise CompileError([e.diagnostic]) from None
        except RecursionError:
            row = source.first + getattr(t.at, "lineno", 1) - 1
            raise CompileError([Diagnostic(row, 1, TOO_DEEP, path=source.path)]) from None


class _Translator(Statements):
    # --- whole kernels ----------------------------------------------------------------------------------------------
    def run(self, types: Sequence[Type] | None = None) -> tuple[str, str, list[tuple[str, Type]]]:
        f = self.function
        a = f.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs:
            self.fail("a kernel takes plain parameters only")
        params: list[tuple[str, Type]] = []
        widened: list[tuple[TypedValue, Scalar, str]] = []
        if types is not None and len(types) != len(a.args):
            self.fail(f"`{f.name}` takes {len(a.args)} arguments, got {len(types)}")
        for k, p in enumerate(a.args):
            kind = types[k] if types is not None else self.annotation(p.annotation, p)
            params.append((p.arg, kind))
            if isinstance(kind, Pointer):
                shape = tuple(TypedValue(f"%p.{ir_name(p.arg)}.{k}", i32) for k in range(kind.dimensions))
                self.params[p.arg] = TypedValue(f"%p.{ir_name(p.arg)}", kind, shape=shape)
                self.entry += self.record("value", f"ptr addrspace(1) %p.{ir_name(p.arg)}", p.arg, kind)
            else:
                wide = kind if self.widths is None else self.widths.get(((), p.arg), kind)
                slot = self.slot(p.arg, wide)
                if wide is kind:
                    self.entry.append(f"  store {kind.llvm} %p.{ir_name(p.arg)}, ptr {slot}")
                else:
                    widened.append((TypedValue(f"%p.{ir_name(p.arg)}", kind), wide, slot))
        self.lines.append("body:")
        for v, wide, slot in widened:
            self.line(f"store {wide.llvm} {self.convert(v, wide).text}, ptr {slot}")
        self.block(f.body)
        self.line("ret void")
        given: list[str] = []
        for n, k in params:
            given.append(f"{'ptr addrspace(1)' if isinstance(k, Pointer) else k.llvm} %p.{ir_name(n)}")
            if isinstance(k, Pointer):
                given += [f"i32 %p.{ir_name(n)}.{d}" for d in range(k.dimensions)]
        text = ", ".join(given)
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
        value: object = None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            value = node.value
        elif isinstance(node, ast.Name):
            value = self.source.names.get(node.id, node.id)
        elif isinstance(node, ast.Attribute):
            value = node.attr
        elif isinstance(node, ast.Subscript):
            value = f"{self.type_name(node.value)}[{ast.unparse(node.slice).strip('()')}]"
        if isinstance(value, Scalar | Pointer):
            return value
        name = value if isinstance(value, str) else getattr(value, "__name__", "")
        kind = type_named(name)
        if kind is None:
            self.fail(f"`{self.shown(node)}` is not a type of a kernel's parameter", node,
                      f"types: {' '.join((*SCALARS, *POINTERS))}")  # fmt: skip
        return kind


__all__ = ["FunctionSource", "function_source", "parsed", "translate"]
