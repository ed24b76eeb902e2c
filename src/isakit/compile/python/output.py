"""`print` and `assert` in Python kernels: records in a buffer, which the host writes out after the launch.

`compile/c/headers/cuda/printing.h` says what the buffer holds. A record of `print` has a text with a placeholder for
each value; `runtime/printing.py` formats the values as Python does.
"""

from __future__ import annotations

import ast

from isakit.compile.python.calls import Calls
from isakit.compile.python.types import Pointer, boolean, f32, f64, i32, i64, u32
from isakit.compile.python.writer import TypedValue

_BUFFER, _WORDS = "@__isakit_printed", 1 << 18
_ASSERTION, _PYTHON = 2, 3
_HEAD = 5
_VALUE, _MOST_VALUES = "\1", 16
_UNSIGNED, _SIGNED, _FLOAT, _DOUBLE, _BOOLEAN = range(5)


class Output(Calls):
    """Translates `print` and `assert`."""

    def print_call(self, node: ast.Call) -> None:
        """Write a `print` of numbers, texts and f-strings, with `sep` and `end`."""
        between, end = " ", "\n"
        for k in node.keywords:
            if (
                k.arg not in ("sep", "end")
                or not isinstance(k.value, ast.Constant)
                or not isinstance(k.value.value, str)
            ):
                self.fail("`print` in a kernel takes values, `sep` and `end`, which are texts", k.value)
            between, end = (k.value.value, end) if k.arg == "sep" else (between, k.value.value)
        values: list[TypedValue] = []
        text = between.join(self._piece(a, values) for a in node.args) + end
        if len(values) > _MOST_VALUES:
            self.fail(f"`print` in a kernel takes {_MOST_VALUES} numbers at most", node)
        kinds = [self._kind(v, node) for v in values]
        words = [self._word(v) for v in values]
        self._record(_PYTHON, text, sum(kind << 4 * k for k, kind in enumerate(kinds)), words)

    def do_Assert(self, s: ast.Assert) -> None:
        if s.msg is not None and not (isinstance(s.msg, ast.Constant) and isinstance(s.msg.value, str)):
            self.fail("the message of an `assert` in a kernel is a text", s.msg)
        failed, end = self.new("failed"), self.new("holds")
        self.condition(s.test, end, failed)
        self.label(failed)
        what = self.shown(s.test) if s.msg is None else f"{self.shown(s.test)}, {s.msg.value}"
        line = self.line_of_call or self.source.first + s.lineno - 1
        words = [TypedValue(self._text(self.source.path), i64), TypedValue(str(line), i64),
                 TypedValue(self._text(self.function.name), i64)]  # fmt: skip
        places = [self.special(f"{register}.{axis}") for register in ("ctaid", "tid") for axis in "xyz"]
        self._record(_ASSERTION, what, 0, [*words, *(self.convert(v, i64) for v in places)])
        self.line('call void asm sideeffect "membar.gl;", "~{memory}"()')
        self.line('call void asm sideeffect "trap;", "~{memory}"()')
        self.label(end)

    def _piece(self, node: ast.expr, values: list[TypedValue]) -> str:
        """Return the text of an argument with placeholders for its values, which are appended to the list."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value.replace(_VALUE, "?").replace("\0", "?")
        if isinstance(node, ast.JoinedStr):
            return "".join(self._piece(p, values) for p in node.values)
        if isinstance(node, ast.FormattedValue):
            if node.conversion != -1 or node.format_spec is not None:
                self.fail("a text of `print` in a kernel has values without a format", node)
            node = node.value
        values.append(self.value(node))
        return _VALUE

    def _kind(self, v: TypedValue, node: ast.AST) -> int:
        if isinstance(v.type, Pointer):
            self.fail("`print` in a kernel shows numbers and texts, not arrays", node)
        if v.type is boolean:
            return _BOOLEAN
        if v.type.is_float:
            return _DOUBLE if v.type is f64 else _FLOAT
        return _SIGNED if v.type.signed else _UNSIGNED

    def _word(self, v: TypedValue) -> TypedValue:
        """Return a number as the 64 bits that a record holds."""
        if v.type is boolean:
            return self.make(f"zext i1 {v.text} to i64", i64)
        if isinstance(v.type, Pointer) or not v.type.is_float:
            return self.convert(v, i64)
        if v.type is f64:
            return self.make(f"bitcast double {v.text} to i64", i64)
        return self.make(
            f"zext i32 {self.make(f'bitcast float {self.convert(v, f32).text} to i32', u32).text} to i64", i64
        )

    def _text(self, text: str) -> str:
        """Return the address of a string in the device's memory, as a constant."""
        data = text.encode("utf-8", "replace") + b"\0"
        name = f"@{self.kernel_name}.text{len(self.top)}"
        shown = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
        self.top.append(f'{name} = internal addrspace(1) constant [{len(data)} x i8] c"{shown}"')
        return f"ptrtoint (ptr addrspace(1) {name} to i64)"

    def _record(self, kind: int, text: str, kinds: int, words: list[TypedValue]) -> None:
        """Emit code that writes a record if there is room for it."""
        buffer = f"{_BUFFER} = internal addrspace(1) global [{_WORDS} x i32] zeroinitializer, align 8"
        if buffer not in self.top:
            self.top.append(buffer)
        count = _HEAD + 2 * len(words)
        at = self.make(f"atomicrmw add ptr addrspace(1) {_BUFFER}, i32 {count} monotonic", i32)
        room = self.make(f"icmp ult i32 {at.text}, {_WORDS - count}", boolean)
        write, end = self.new("write"), self.new("written")
        self.branch(room, write, end)
        self.label(write)
        first = self.make(f"getelementptr i32, ptr addrspace(1) {_BUFFER}, i32 {at.text}", i64).text
        self._put(first, 2, self._text(text))
        self._put(first, 4, str(kinds - (1 << 64) if kinds >> 63 else kinds))
        for k, v in enumerate(words):
            self._put(first, 1 + _HEAD + 2 * k, v.text)
        place = self.make(f"getelementptr i32, ptr addrspace(1) {first}, i32 1", i64).text
        self.line(f"store i32 {kind << 24 | count}, ptr addrspace(1) {place}, align 4")
        self.label(end)

    def _put(self, first: str, word: int, value: str) -> None:
        place = self.make(f"getelementptr i32, ptr addrspace(1) {first}, i32 {word}", i64).text
        self.line(f"store i64 {value}, ptr addrspace(1) {place}, align 4")
