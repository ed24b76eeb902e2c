"""From PTX text to declarations and statements, with every name resolved to its declaration.

An error inside a function makes that function fail and no other; reading goes on after its closing brace. Source: the
PTX ISA manual, chapters 4 to 7 and 11.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from isakit.compile.ptx.declarations import LINKAGE, MAX_BYTES, SPACES, DeclarationReader
from isakit.compile.ptx.lexer import PtxToken, outside_calls, tokens
from isakit.compile.ptx.numbers import integer
from isakit.compile.ptx.operands import MAX_DEPTH, PtxScope
from isakit.compile.ptx.syntax import (
    SIZES,
    Label,
    Name,
    Number,
    Operand,
    PtxFunction,
    PtxMark,
    PtxModule,
    PtxRegister,
    PtxSource,
    PtxStatement,
    PtxSyntaxError,
    PtxVariable,
)

MARK = '"isakit.value '
"""The start of a pragma that gives a variable of the source a value."""
_MARK_TYPE = re.compile(
    r"(?:shared:)?(?:[us](?:8|16|32|64)|f(?:16|32|64))|ptr(?::\w{1,8})?|array:\w{1,8}(?::\d{1,9}){1,8}"
)
_MARK_NUMBER = re.compile(r"0x[0-9a-f]{1,16}|\d{1,20}")


class Parser(DeclarationReader):
    """Reads modules and functions."""

    # --- module -----------------------------------------------------------------------------------------------------
    def parse(self) -> PtxModule:
        """Read the whole text and return the module."""
        try:
            self.toks = outside_calls(tokens(self.source.text))
        except PtxSyntaxError as e:
            self.module.errors.append(self.source.diagnostic(e.pos, e.message, e.width))
            return self.module
        while self.toks[self.k].kind != "end":
            start = self.k
            try:
                self._top()
            except (PtxSyntaxError, RecursionError) as e:
                error = e if isinstance(e, PtxSyntaxError) else self.fail("nested too deeply")
                message = self.source.diagnostic(error.pos, error.message, error.width, error.notes)
                entry, self.entry = self.entry, None
                del self.scopes[1:]
                self.depth = 0
                if entry is None:
                    self.module.errors.append(message)
                    self._skip_statement(start)
                else:
                    self.module.entries.pop(entry.name, None)
                    self.module.functions.pop(entry.name, None)
                    self.module.failures.setdefault(entry.name, []).append(message)
                    self._skip_function(start)
        return self.module

    def _skip_statement(self, start: int) -> None:
        self.k = max(self.k, start + 1)
        while self.toks[self.k].kind not in (";", "end", "}") and self.peek() not in ("entry", "func", "visible"):
            self.k += 1
        if self.toks[self.k].kind in (";", "}"):
            self.k += 1

    def _skip_function(self, start: int) -> None:
        """Skip to the end of the body of the function that began at a token."""
        k = start
        while self.toks[k].kind not in ("{", "end"):
            k += 1
        depth = 0
        while self.toks[k].kind != "end":
            kind = self.toks[k].kind
            depth += (kind == "{") - (kind == "}")
            k += 1
            if depth == 0:
                break
        self.k = max(k, start + 1)

    def _top(self) -> None:
        m = self.module
        word = self.peek()
        if word == "version":
            self.k += 1
            t = self.toks[self.k]
            self.k += 1
            got = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", t.text)
            if not got:
                raise self.fail("a version like 1.4 was expected", t)
            m.version = int(got[1]), int(got[2])
        elif word == "target":
            self.k += 1
            names = [self.take("word", "a target").text]
            while self.has(","):
                names.append(self.take("word", "a target").text)
            m.target, m.options = names[0], tuple(names[1:])
        elif word == "address_size":
            self.k += 1
            self.take("number", "32 or 64")
        elif word == "file":
            self._file()
        elif word == "section":
            while not self.has("}"):
                if self.toks[self.k].kind == "end":
                    raise self.fail("a section without its closing `}`")
                self.k += 1
        elif word in ("loc", "pragma"):
            self._loc() if word == "loc" else self._pragma()
        elif word.startswith("metadata"):
            raise self.fail(f"`.{word}` is not supported")
        elif word == "alias":
            raise self.fail("`.alias` is not supported")
        elif word in SPACES or word in LINKAGE or word in ("entry", "func", "attribute"):
            self._declaration()
        elif self.has(";"):
            pass
        else:
            raise self.fail(f"`{self.toks[self.k].text}` begins nothing a module can hold")

    def _file(self) -> None:
        self.k += 1
        number = integer(self.take("number", "a file number").text)
        name = self.take("string", "a file name in quotes").text[1:-1]
        if self.toks[self.k].kind == "string":  # directory and name
            name = f"{name}/{self.take('string').text[1:-1]}"
        self.module.files[number] = name
        while self.has(","):
            self.take("number")

    def _pragma(self) -> None:
        self.k += 1
        self.take("string", "a text in quotes")
        while self.has(","):
            self.take("string")
        self.take(";")

    def _mark(self, entry: PtxFunction, at: PtxToken) -> None:
        """Read `.pragma "isakit.value NAME TYPE OPERAND"`: see `compile.debug_records`."""
        self.k += 1
        words = self.take("string").text[1:-1].split()
        self.take(";")
        if len(words) not in (3, 4) or not _MARK_TYPE.fullmatch(words[2]):
            raise self.fail("a variable, its type and its value were expected", at)
        operand: Operand | None = None
        if len(words) == 4 and words[3].startswith("%"):
            register = self.lookup(words[3])
            operand = Name(words[3], at.pos, register) if isinstance(register, PtxRegister) else None
        elif len(words) == 4:
            if not _MARK_NUMBER.fullmatch(words[3]):
                raise self.fail("a register or a number was expected", at)
            operand = Number(int(words[3], 0), at.pos, 0)
        entry.body.append(PtxMark(unquote(words[1]), words[2], operand, at.pos))

    def _loc(self) -> None:
        self.k += 1
        file = integer(self.take("number", "a file number").text)
        line = integer(self.take("number", "a line").text)
        if self.toks[self.k].kind == "number":
            self.k += 1
        while self.has(","):  # function_name LABEL, inlined_at FILE LINE COLUMN
            while self.toks[self.k].kind in ("word", "number", "+"):
                self.k += 1
                if self.toks[self.k - 1].kind == "number" and self.toks[self.k].kind == "word":
                    break
        self.loc = file, line

    def _declaration(self) -> None:
        external = False
        while True:
            link = self.directive(*LINKAGE)
            if not link:
                break
            external |= link == "extern"
        word = self.peek()
        if word in ("entry", "func"):
            self._function(word == "entry", external)
        else:
            self._variables(external)

    # --- functions --------------------------------------------------------------------------------------------------
    def _function(self, kernel: bool, external: bool) -> None:
        start = self.toks[self.k]
        self.k += 1
        self.scopes.append(PtxScope())
        entry = PtxFunction("?", start.pos, kernel)
        if not kernel and self.toks[self.k].kind == "(":
            entry.results = self._parameters("ret")
        t = self.take("word", "the name of a function")
        entry.name, entry.pos = t.text, t.pos
        self.entry = entry
        if self.toks[self.k].kind == "(":
            entry.params = self._parameters("param")
        while self.toks[self.k].kind == "directive":
            word = self.directive()
            if word in ("noreturn",):
                continue
            values = [self.constant()] if self.toks[self.k].kind != ";" else []
            while self.has(","):
                values.append(self.constant())
            entry.limits[word] = tuple(values)
        known = self.module.entries if kernel else self.module.functions
        if self.has(";"):
            entry.defined = False
            known.setdefault(entry.name, entry)
        else:
            old = known.get(entry.name)
            if (old is not None and old.defined) or entry.name in self.module.failures:
                raise self.fail(f"`{entry.name}` is defined twice", t)
            self.loc = None
            self._body(entry)
            known[entry.name] = entry
        self.scopes.pop()
        self.entry = None

    def _parameters(self, what: str) -> list[PtxVariable]:
        out: list[PtxVariable] = []
        self.take("(")
        if self.has(")"):
            return out
        while True:
            space = self.directive("param", "reg")
            if not space:
                raise self.fail("`.param` was expected")
            align, kind, vector, pointer = self._type()
            t = self.take("word", "the name of a parameter")
            count = vector
            while self.has("["):
                if not self.has("]"):
                    count *= self.constant()
                    self.take("]")
                if not 0 <= count <= MAX_BYTES:
                    raise self.fail(f"`{t.text}` is too large", t)
            v = PtxVariable(
                "param", t.text, kind, count, align if align and pointer is None else max(SIZES[kind], 1), pos=t.pos
            )
            v.unique, v.pointer, v.pointee = t.text, pointer is not None, pointer or ""
            if space == "reg":
                register = PtxRegister(t.text, kind, self._next())
                self.declare(t, register)
                v.space, v.register = "reg", register
            else:
                self.declare(t, v)
            out.append(v)
            if not self.has(","):
                break
        self.take(")")
        return out

    def _body(self, entry: PtxFunction) -> None:
        """Parse a body up to its closing brace; labels are resolved at the end of the scope they are in."""
        self.take("{")
        level = 1
        while level:
            t = self.toks[self.k]
            if t.kind == "{":
                self.k += 1
                level += 1
                if level > MAX_DEPTH:
                    raise self.fail("scopes nested too deeply", t)
                self.scopes.append(PtxScope())
            elif t.kind == "}":
                self.k += 1
                level -= 1
                if level:
                    self.scopes.pop()
            elif t.kind == "end":
                raise self.fail(f"`{entry.name}` does not end")
            else:
                self._item(entry, t)

    def _item(self, entry: PtxFunction, t: PtxToken) -> None:
        if t.kind == "directive":
            word = t.text[1:]
            if word == "loc":
                self._loc()
            elif word == "pragma":
                self._mark(entry, t) if self.toks[self.k + 1].text.startswith(MARK) else self._pragma()
            elif word == "param" and entry.kernel and not self._in_call_scope():
                self._old_parameters(entry)
            elif word in ("branchtargets", "calltargets", "callprototype"):
                raise self.fail(f"`.{word}` is not supported")
            elif word in SPACES or word in LINKAGE:
                external = bool(self.directive("extern"))
                while self.directive(*LINKAGE):
                    pass
                self._variables(external)
            else:
                raise self.fail(f"`{t.text}` begins no statement")
        elif t.kind == "word" and self.toks[self.k + 1].kind == ":":
            self.k += 2
            if self.peek() == "branchtargets":
                self._branch_targets(entry, t)
                return
            if self.peek() == "callprototype":  # arguments and results of a call say what it says
                while self.toks[self.k].kind not in (";", "end"):
                    self.k += 1
                self.take(";")
                return
            entry.body.append(Label(t.text, t.pos))
        elif t.kind == ";":
            self.k += 1
        else:
            entry.body.append(self._statement())

    def _branch_targets(self, entry: PtxFunction, t: PtxToken) -> None:
        self.k += 1
        names = [self.take("word", "a label").text]
        while self.has(","):
            names.append(self.take("word", "a label").text)
        self.take(";")
        entry.branch_targets[t.text] = names

    def _in_call_scope(self) -> bool:
        return len(self.scopes) > 2

    def _old_parameters(self, entry: PtxFunction) -> None:
        """Find the parameters that PTX 1.0 declares in the body of a kernel."""
        before = len(entry.variables)
        self._variables()
        entry.params += entry.variables[before:]
        del entry.variables[before:]

    def _statement(self) -> PtxStatement:
        guard, inverted = None, False
        if self.has("@"):
            inverted = self.has("!")
            guard = self.name()
        t = self.take("word", "an instruction")
        operands: list[Operand] = []
        self.calls = t.text.startswith("call")
        if self.toks[self.k].kind != ";":
            operands.append(self.operand())
            while self.has(","):
                operands.append(self.operand())
        self.take(";", "`,` or `;`")
        return PtxStatement(t.text, tuple(operands), t.pos, guard, inverted, self.loc)


def parse(text: str, path: str = "<text>", origin: str | None = None) -> PtxModule:
    """Read a PTX text, made from `origin`. Never raises for its content: errors are collected in the module."""
    return Parser(PtxSource(text, path, origin)).parse()
