"""Variables of the source through LLVM: from its debug records to pragmas of PTX.

LLVM says in its records which value each variable has, through all optimisations, but drops most of that on the way to
PTX, which has no location lists. So after the last optimisation every record becomes an inline assembly statement that
takes the value: `.pragma "isakit.value NAME TYPE OPERAND"`, see `compile.debug_records`.
"""

from __future__ import annotations

import math
import os
import re
from urllib.parse import quote

from isakit.float_bits import bits_of_float, float_of_bits
from isakit.flow.dominators import Dominators

_RECORD = re.compile(
    r"^ *(?:#dbg_value\(|(?:tail )?call void @llvm\.dbg\.value\(metadata )"
    r"(.*), (?:metadata )?(![0-9]+), (?:metadata )?!DIExpression\((.*?)\)(?:\), !dbg|,) (![0-9]+)\)? *$"
)
"""A record; up to version 18 a call."""
_SHARED = re.compile(
    r"^(@[-\w.$]+) = [^@\"]*addrspace\(3\) global ((?:\[[0-9]+ x )*[a-z]\w*\]*) .*!dbg (![0-9]+)", re.MULTILINE
)
"""A variable in shared memory."""
_KERNEL = re.compile(r"^define .*!dbg (![0-9]+) \{$")
_DECLARED = re.compile(r"^ *(?:#dbg_|(?:tail )?call void @llvm\.dbg\.)(?:value|declare|assign|label)\(")
_NODE = re.compile(r"^(![0-9]+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_FIELD = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|!\{[^}]*\}|[^,]+)')
_VALUE = re.compile(
    r"([^\"(]+(?: addrspace\(\d+\))?\*+|i1|i8|i16|i32|i64|half|float|double|ptr(?: addrspace\(\d+\))?) (.+)"
)
"""A value and its type; up to version 14, pointers have types."""
_VALUE_NAME = re.compile(r'%(?:"[^"]*"|[-\w.$]+)')
_DEFINITION = re.compile(r'^ *(%(?:"[^"]*"|[-\w.$]+)) = ')
_LABEL = re.compile(r'^("[^"]*"|[-\w.$]+):')
_TARGET = re.compile(r'label %("[^"]*"|[-\w.$]+)')
_CONSTRAINTS = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d", "ptr": "l"}
_SIZES = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64, "ptr": 64}
_ENCODINGS = {"DW_ATE_signed": "s", "DW_ATE_signed_char": "s", "DW_ATE_unsigned": "u", "DW_ATE_unsigned_char": "u",
              "DW_ATE_boolean": "u", "DW_ATE_float": "f", "DW_ATE_UTF": "u"}  # fmt: skip
_NAMED_ONLY = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_member")
_MARK = re.compile(r'\s*(?:\.pragma "isakit\.value |// (?:begin|end) inline asm$)')
DEEPEST = 20
"""Depth to which nested types are followed."""


class _Flow:
    """Definitions of a function's values: a debug record may come before the definition it refers to."""

    def __init__(self, lines: list[str], first: int) -> None:
        self._blocks: list[_IrBlock] = [_IrBlock("", first)]
        self._defined: dict[str, tuple[_IrBlock, int]] = {}
        named = {"": self._blocks[0]}
        for number in range(first + 1, len(lines)):
            line = lines[number]
            if line.startswith("}"):
                break
            if (label := _LABEL.match(line)) is not None:
                block = _IrBlock(label[1].strip('"'), number)
                if number == first + 1:  # the function's first block, which may have a name
                    self._blocks.clear()
                named[block.name] = block
                self._blocks.append(block)
            elif (definition := _DEFINITION.match(line)) is not None:
                self._defined[definition[1]] = self._blocks[-1], number
            self._blocks[-1].targets += (t.strip('"') for t in _TARGET.findall(line))
        successors = {b: [named[t] for t in b.targets if t in named] for b in self._blocks}
        self._dominators = Dominators(self._blocks[0], lambda b: successors[b])
        self._reached = set(self._dominators.order)

    def reaches(self, value: re.Match[str] | None, at: int) -> bool:
        """Return whether a value is defined on all paths to a line; constants and arguments are."""
        if value is None or value[0] not in self._defined:
            return True
        block, number = self._defined[value[0]]
        here = next(b for b in reversed(self._blocks) if b.first <= at)
        if block is here:
            return number < at
        return here in self._reached and block in self._reached and self._dominators.dominates(block, here)


class _IrBlock:
    """A basic block of LLVM IR: its name, the line it begins at, and its successors."""

    def __init__(self, name: str, first: int) -> None:
        self.name, self.first = name, first
        self.targets: list[str] = []


class _Metadata:
    """The debug metadata of a module: names and types of variables."""

    def __init__(self, ir: str) -> None:
        self.nodes: dict[str, tuple[str, dict[str, str]]] = {
            m[1]: (m[2], dict(_FIELD.findall(m[3]))) for m in _NODE.finditer(ir)
        }

    def fields(self, node: str) -> dict[str, str]:
        """Return the fields of a node; none where there is no such node."""
        return self.nodes.get(node, ("", {}))[1]

    def variable(self, node: str, location: str) -> tuple[str, str] | None:
        """Return the name and type of a variable of a kernel; None for one without a name, or of an unsupported type.

        A variable of a function that was inlined is called `function::name`.
        """
        kind, fields = self.nodes.get(node, ("", {}))
        name = fields.get("name", "").strip('"')
        if kind != "DILocalVariable" or not name:
            return None
        type = self._type(fields.get("type", ""))
        if place := self.fields(location).get("inlinedAt"):
            scopes = fields.get("scope", ""), self.fields(place).get("scope", "")
            function, caller = (self.fields(self._function(s)).get("name", "").strip('"') for s in scopes)
            name = name if function == caller else f"{function}::{name}"  # a kernel of OpenCL calls one of its name
        return None if type is None else (name, type)

    def in_shared_memory(self, ir: str) -> dict[str, list[tuple[str, str, str]]]:
        """Return by function its variables in shared memory: name, type and address of each."""
        out: dict[str, list[tuple[str, str, str]]] = {}
        typed = "addrspace(3)*" in ir
        for m in _SHARED.finditer(ir):
            variable = self.fields(self.fields(m[3]).get("var", ""))
            axes = [int(n) for n in re.findall(r"(\d+) x ", m[2])]
            node = variable.get("type", "")
            element = self._type(self.fields(node).get("baseType", "") if axes else node)
            word = m[2].rstrip("]").rpartition(" ")[2]
            # LLVM makes a variable that has two values alone one of i1.
            if element is not None and element[1:] == str(_SIZES.get(word)):
                inner = "".join(f":{n}" for n in axes[1:])
                kind = f"array:{element}:{math.prod(axes)}{inner}" if axes else f"shared:{element}"
                name = variable.get("name", "").strip('"')
                pointer = f"{m[2]} addrspace(3)*" if typed else "ptr addrspace(3)"
                out.setdefault(self._function(variable.get("scope", "")), []).append((name, kind, f"{pointer} {m[1]}"))
        return out

    def _function(self, scope: str) -> str:
        """Return the function that a scope is in; "" for others."""
        for _ in range(DEEPEST):
            kind, fields = self.nodes.get(scope, ("", {}))
            if kind == "DISubprogram":
                return scope
            scope = fields.get("scope", "")
        return ""

    def is_in(self, scope: str, folder: str) -> bool:
        """Return whether a scope is a function of a file in a folder."""
        file = self.fields(self.fields(self._function(scope)).get("file", ""))
        directory, name = (file.get(part, "").strip('"') for part in ("directory", "filename"))
        return os.path.join(directory, name).startswith(os.path.join(folder, ""))

    def _type(self, node: str, deep: int = 0) -> str | None:
        kind, fields = self.nodes.get(node, ("", {}))
        if deep > DEEPEST:
            return None
        if kind == "DIBasicType":
            name = fields.get("name", "").strip('"')
            if name.startswith("isakit:"):
                return name.removeprefix("isakit:")
            letter, size = _ENCODINGS.get(fields.get("encoding", "")), fields.get("size", "")
            known = size in (("16", "32", "64") if letter == "f" else ("8", "16", "32", "64"))
            return f"{letter}{size}" if letter and known else None
        if kind == "DIDerivedType":
            tag, base = fields.get("tag", ""), fields.get("baseType", "")
            if tag in _NAMED_ONLY:
                return self._type(base, deep + 1)
            if tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
                of = self._type(base, deep + 1)
                return f"ptr:{of}" if of and ":" not in of and of != "ptr" else "ptr"
        if kind == "DICompositeType" and fields.get("tag", "") == "DW_TAG_enumeration_type":
            return self._type(fields.get("baseType", ""), deep + 1)
        return None


def without_headers(ir: str, folder: str) -> str:
    """Return LLVM IR in which inlined code of a folder's functions has the locations of the calls, and no variables."""
    about = _Metadata(ir)

    def at_call(m: re.Match[str]) -> str:
        location = m[1]
        for _ in range(DEEPEST):
            fields = about.fields(location)
            if fields.get("inlinedAt") not in about.nodes or not about.is_in(fields.get("scope", ""), folder):
                break
            location = fields["inlinedAt"]
        written = "".join(f"{name}: {value}, " for name, value in about.fields(location).items())
        return m[0] if location == m[1] else f"{m[0][: m.start(3) - m.start()]}{written[:-2]})"

    def is_ours(line: str) -> bool:
        m = _RECORD.match(line)
        return m is not None and about.is_in(about.fields(m[2]).get("scope", ""), folder)

    text = "\n".join(line for line in ir.splitlines() if not is_ours(line)) + "\n"
    return _NODE.sub(lambda m: at_call(m) if m[2] == "DILocation" else m[0], text)


def marked(ir: str) -> str:
    """Return fully optimised LLVM IR with marks in place of its debug records."""
    about = _Metadata(ir)
    out: list[str] = []
    lines = ir.splitlines()
    flow: _Flow | None = None
    shared = about.in_shared_memory(ir)
    for number, line in enumerate(lines):
        if line.startswith("define "):
            flow = _Flow(lines, number)
        m = _RECORD.match(line)
        if m is not None:
            variable = about.variable(m[2], m[4])
            if variable is not None and flow is not None:
                value = _VALUE.fullmatch(m[1])
                known = value is not None and not m[3] and flow.reaches(_VALUE_NAME.search(value[2]), number)
                out.append(f"  {_mark(*variable, value if known else None)}")
        elif not _DECLARED.match(line):
            out.append(line)
        if (kernel := _KERNEL.match(line)) is not None:
            found = shared.get(kernel[1], ())
            out += (f"  {_mark(name, kind, _VALUE.fullmatch(at))}" for name, kind, at in found)
    text = "\n".join(out).replace("emissionKind: FullDebug", "emissionKind: DebugDirectivesOnly")
    # Up to version 15, an attribute is a word; the declaration of records, which are calls there, has one too.
    older = "@llvm.dbg.value(" in ir and " memory(" not in ir
    effect = "inaccessiblememonly" if older else "memory(inaccessiblemem: readwrite)"
    return f"{text}\nattributes #9090 = {{ nounwind willreturn {effect} }}\n"


def _mark(name: str, type: str, value: re.Match[str] | None) -> str:
    """Return the statement that marks a value, a match of `_VALUE`; None stands for an unknown one."""
    operand, inputs = _operand(value) if value is not None else ("", "")
    constraint = f'"{inputs.partition(" ")[0]}"' if inputs else '""'
    text = f".pragma \\22isakit.value {quote(name, safe=':_')} {type} {operand}".rstrip() + "\\22;"
    return f'call void asm sideeffect "{text}", {constraint}({inputs.partition(" ")[2]}) #9090'


def _operand(m: re.Match[str]) -> tuple[str, str]:
    """Return the operand of a mark, and its input as `constraint type value`; "" if it has none."""
    if m[2] in ("poison", "undef"):
        return "", ""
    kind, what = "ptr" if m[1].endswith("*") else m[1].partition(" ")[0], m[2]
    if what.startswith(("%", "@")):
        return ("$0", f"{_CONSTRAINTS[kind]} {m[1]} {what}") if kind in _CONSTRAINTS else ("", "")
    number = _constant(kind, what)
    if number is None:
        return "", ""
    return hex(number & (1 << _SIZES.get(kind, 32)) - 1), ""


def _constant(kind: str, text: str) -> int | None:
    """Return the bits of a constant of LLVM, None for an expression."""
    if text in ("true", "false"):
        return int(text == "true")
    if text == "null":
        return 0
    if kind[0] == "i":
        return int(text) if re.fullmatch(r"-?\d+", text) else None
    if kind not in ("float", "double"):
        return None
    if text.startswith("0x") and re.fullmatch(r"0x[0-9A-Fa-f]{16}", text):
        number = float_of_bits(int(text, 16), "f64")
    else:
        try:
            number = float(text)
        except ValueError:
            return None
    return bits_of_float(number, "f32" if kind == "float" else "f64")


def without_marks(ptx: str) -> tuple[str, list[int]]:
    """Return readable PTX, without marks and the comments around inline assembly, and the new number of each line.

    A removed line has the number of the one before it.
    """
    out: list[str] = []
    numbers: list[int] = []
    for line in ptx.splitlines():
        if not _MARK.match(line):
            out.append(line)
        numbers.append(len(out))
    return "\n".join(out) + "\n", numbers


def as_debug_build(ptx: str) -> str:
    """Return PTX as a debug build, in which variables are kept: `.target` names `debug`, as NVIDIA writes it."""
    return re.sub(r"^\s*\.target\s+[^\n/]*[\w]", r"\g<0>, debug", ptx, count=1, flags=re.MULTILINE)


__all__ = ["as_debug_build", "marked", "without_headers", "without_marks"]
