"""The parser of both languages. It stops at the first error: what follows a wrong token is not worth reading."""

from __future__ import annotations

from typing import NoReturn

from isakit.compile.shading.intrinsics import TEXTURE_FUNCTION
from isakit.compile.shading.language import HLSL_NOTE, HLSL_TYPES, Language
from isakit.compile.shading.lexer import Token, number
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.syntax import (
    AssignSyntax,
    BinarySyntax,
    BlockSyntax,
    BracesSyntax,
    CallSyntax,
    ChoiceSyntax,
    ConstructSyntax,
    Declaration,
    DeclareSyntax,
    EvaluateSyntax,
    FunctionSyntax,
    IfSyntax,
    LeaveSyntax,
    LoopSyntax,
    MemberSyntax,
    NameSyntax,
    NumberSyntax,
    ReturnSyntax,
    StatementSyntax,
    StructSyntax,
    SubscriptSyntax,
    SwitchSyntax,
    Syntax,
    TypeSyntax,
    UnarySyntax,
    VariableSyntax,
)

DEEPEST = 120
"""The deepest nesting of expressions, or of statements."""

_LEVELS = {
    "||": 1, "^^": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, ">": 8, "<=": 8, ">=": 8,
    "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11,
}  # fmt: skip
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
_UNARY = frozenset(("-", "+", "!", "~", "++", "--"))
_STATEMENTS = frozenset(("if", "for", "while", "do", "return", "break", "continue", "discard", "switch"))
BYTES_NOTE = "a colour leaves the shader as bytes with --target u8x4, and is a float4 or half4 in the text"
_NO_NAMES = _STATEMENTS | {"else", "struct", "case", "default", "true", "false"}


class Parser:
    """Reads the declarations of a shader."""

    def __init__(self, tokens: list[Token], language: Language) -> None:
        self.tokens, self.language, self.at, self.nested = tokens, language, 0, 0
        self.token = tokens[0]
        self.wanted = "a declaration"
        """The construct that a type begins here, as messages name it: a declaration or a parameter."""
        self.structs: set[str] = set()
        self.aliases: dict[str, TypeSyntax] = {}
        self.declarations: list[Declaration] = []
        self.invariants: list[str] = []

    # --- tokens ------------------------------------------------------------------------------------------------------
    def step(self) -> Token:
        """Return the current token and advance; the end token stays."""
        t = self.token
        if t.kind != "end":
            self.at += 1
            self.token = self.tokens[self.at]
        return t

    def on(self, *kinds: str) -> bool:
        """Return whether the current token is of one of the given kinds."""
        return self.token.kind in kinds

    def ahead(self, n: int = 1) -> Token:
        """Return the token `n` positions ahead without taking it."""
        return self.tokens[min(self.at + n, len(self.tokens) - 1)]

    def take(self, kind: str) -> bool:
        """Take the current token if it is this mark or word; return whether it was."""
        found = self.on(kind) or (self.on("word") and self.token.text == kind)
        if found:
            self.step()
        return found

    def expect(self, kind: str, where: str = "") -> Token:
        """Take a token that must come here and return it. Raises ShadingError."""
        if not self.on(kind):
            self.unexpected(f"`{kind}`{where}")
        return self.step()

    def unexpected(self, wanted: str) -> NoReturn:
        """Raise ShadingError: name what was expected here."""
        t = self.token
        found = "the end of the text" if t.kind == "end" else f"`{t.text[:40]}`"
        raise ShadingError(t.pos, f"{wanted} was expected, not {found}", len(t.text))

    def name(self, what: str) -> Token:
        """Read a name that the author chooses."""
        if not self.on("word") or self.token.text in _NO_NAMES:
            self.unexpected(what)
        return self.step()

    def deeper(self, place: Token) -> None:
        """Enter a nesting level; the caller leaves it by subtracting 1 from `nested`. Raises ShadingError."""
        self.nested += 1
        if self.nested > DEEPEST:
            raise ShadingError(place.pos, "this is nested too deeply", len(place.text))

    def made(self, node: Syntax) -> Syntax:
        """Return an expression, unless it is nested too deeply. Raises ShadingError."""
        if node.depth > DEEPEST:
            raise ShadingError(node.pos, "this expression is nested too deeply")
        return node

    # --- declarations ------------------------------------------------------------------------------------------------
    def run(self) -> list[Declaration]:
        """Read the whole text. Raises ShadingError."""
        while not self.on("end"):
            if not self.take(";"):
                self.declaration()
        return self.declarations

    def declaration(self) -> None:
        """Parse a declaration at the top of the text."""
        if self.token.text == "precision":
            self.precision()
            return
        if self.token.text == "typedef":
            self.step()
            of = self.type_name()
            name = self.name("a name for the type")
            self.aliases[name.text] = self.sized(of)
            self.expect(";")
            return
        found = self.qualified()
        if found is None:
            return
        qualifiers, layout, kind = found
        if self.on(";"):
            self.step()
            return
        name = self.name("a name")
        if self.on("(") and not qualifiers & {"uniform", "attribute", "varying", "in", "out", "const"}:
            self.declarations.append(self.function(qualifiers, kind, name))
        else:
            self.declarations += self.variables(qualifiers, layout, kind, name)

    def precision(self) -> None:
        """Parse `precision mediump float;`."""
        while self.on("word"):
            self.step()
        self.expect(";")

    def qualified(self) -> tuple[frozenset[str], dict[str, int], TypeSyntax] | None:
        """Parse qualifiers and a type; return None if the declaration ends after them."""
        qualifiers: set[str] = set()
        layout: dict[str, int] = {}
        while self.on("word"):
            word = self.token.text
            if word == "layout" and self.ahead().kind == "(":
                self.step()
                layout |= self.layout()
            elif word in self.language.qualifiers:
                self.step()
                qualifiers.add(word)
            else:
                break
        if qualifiers and self.on(";"):
            if "__nativecolor" in qualifiers:
                self.unexpected("the program, as `__nativecolor float4 main`")
            self.step()
            return None
        if self.token.text == "struct":
            kind = self.structure()
        elif self.on("word") and self.ahead().kind == "{" and qualifiers & {"uniform", "in", "out"}:
            self.block_of(frozenset(qualifiers), layout)
            return None
        elif "invariant" in qualifiers and self.ahead().kind in (";", ","):
            while self.take(",") or self.on("word"):
                if self.on("word"):
                    self.invariants.append(self.step().text)
            self.expect(";")
            return None
        else:
            kind = self.type_name()
        while self.on("word") and self.token.text in self.language.after:
            qualifiers.add(self.step().text)
        return frozenset(qualifiers), layout, kind

    def brackets(self) -> None:
        """Skip parenthesised text."""
        self.expect("(")
        while not self.on(")", "end"):
            self.step()
        self.expect(")")

    def layout(self) -> dict[str, int]:
        """Parse `(location = 0, std140)`."""
        out: dict[str, int] = {}
        self.expect("(")
        while True:
            key = self.name("a word")
            out[key.text] = 1
            if self.take("="):
                value = number(self.expect("number")).value
                out[key.text] = int(value)
            if not self.take(","):
                break
        self.expect(")")
        return out

    def structure(self) -> TypeSyntax:
        """Parse `struct Name { ... }`, or the name of one."""
        self.step()
        name = self.step() if self.on("word") else self.token._replace(text=f"struct@{self.token.pos}")
        if not self.on("{") and name.text in self.structs:
            return TypeSyntax(name.pos, name.text, None)
        self.structs.add(name.text)
        self.declarations.append(StructSyntax(name.pos, name.text, self.fields()))
        return TypeSyntax(name.pos, name.text, None)

    def fields(self) -> list[VariableSyntax]:
        """Read the fields of a structure or a block."""
        out: list[VariableSyntax] = []
        self.expect("{")
        while not self.take("}"):
            found = self.qualified()
            if found is not None:
                out += self.variables(*found, self.name("a name"))
        return out

    def block_of(self, qualifiers: frozenset[str], layout: dict[str, int]) -> None:
        """Read a block of uniforms, inputs or outputs: its fields become variables, or those of one structure."""
        block = self.step()
        fields = self.fields()
        if self.on("word"):
            name = self.step()
            self.structs.add(block.text)
            self.declarations.append(StructSyntax(block.pos, block.text, fields))
            kind = self.sized(TypeSyntax(block.pos, block.text, None))
            self.declarations.append(VariableSyntax(name.pos, name.text, kind, qualifiers, layout=layout))
        else:
            for v in fields:
                v.qualifiers |= qualifiers
                self.declarations.append(v)
        self.expect(";")

    def is_type(self, at: int = 0) -> bool:
        """Return whether a token names a type."""
        t = self.ahead(at)
        text = t.text
        return t.kind == "word" and (text in self.language.types or text in self.structs or text in self.aliases)

    def type_name(self) -> TypeSyntax:
        """Read the name of a type with the array sizes after it."""
        t = self.token
        if not self.is_type():
            if t.kind != "word" or t.text in _NO_NAMES:
                self.unexpected(self.wanted)
            what = self.language.refused.get(t.text)
            if what:
                raise ShadingError(t.pos, f"{what} are not supported", len(t.text))
            from isakit.errors import did_you_mean

            notes = did_you_mean(t.text, [*self.language.types, *self.structs])
            if t.text in HLSL_TYPES and not self.language.product:
                notes = (HLSL_NOTE,)
            raise ShadingError(t.pos, f"`{t.text[:40]}` is not a type of {self.language.name}", len(t.text), notes)
        self.step()
        text = t.text
        if text in ("unsigned", "signed") and f"{text} {self.token.text}" in self.language.types:
            text = f"{text} {self.step().text}"
        elif text in ("unsigned", "signed") and self.token.text.startswith("char"):
            name = f"{text} {self.token.text[:40]}"
            raise ShadingError(t.pos, f"{name} is not supported", len(name), (BYTES_NOTE,))
        if text in self.aliases:
            return self.sized(self.aliases[text]._replace(pos=t.pos))
        return self.sized(TypeSyntax(t.pos, text, self.language.types.get(text)))

    def sized(self, kind: TypeSyntax) -> TypeSyntax:
        """Read a type with the sizes that follow."""
        sizes: list[Syntax | None] = []
        while self.on("["):
            self.step()
            sizes.append(None if self.on("]") else self.expression())
            self.expect("]")
        return kind._replace(sizes=(*sizes, *kind.sizes)) if sizes else kind

    def variables(
        self, qualifiers: frozenset[str], layout: dict[str, int], kind: TypeSyntax, name: Token
    ) -> list[VariableSyntax]:
        """Read the variables of a declaration whose first name has been read, up to the semicolon."""
        out: list[VariableSyntax] = []
        while True:
            v = self.variable(qualifiers, layout, kind, name)
            out.append(v)
            if not self.take(","):
                break
            name = self.name("a name")
        self.expect(";")
        return out

    def variable(
        self, qualifiers: frozenset[str], layout: dict[str, int], kind: TypeSyntax, name: Token
    ) -> VariableSyntax:
        """Parse what follows the name of a variable."""
        v = VariableSyntax(name.pos, name.text, self.sized(kind), qualifiers, layout=layout)
        v.semantic = self.semantic(v)
        if self.take("="):
            v.initial = self.initial()
        return v

    def semantic(self, v: VariableSyntax | None = None) -> tuple[str, int] | None:
        """Parse `: TEXCOORD0`; of registers only those of samplers count, `: register(s2)`, which are units."""
        found: tuple[str, int] | None = None
        while self.take(":"):
            t = self.name("a semantic")
            if self.on("("):
                unit = self.ahead().text
                if v is not None and t.text == "register" and unit[:1] == "s" and unit[1:].isdecimal():
                    v.layout = {**v.layout, "binding": int(unit[1:])}
                self.brackets()
            elif self.on("["):
                self.step()
                found = f"{t.text}{self.expect('number').text}", t.pos
                self.expect("]")
            else:
                found = t.text, t.pos
        return found

    def initial(self) -> Syntax:
        """Read the value after `=`: an expression or values in braces."""
        if not self.on("{"):
            return self.assignment()
        place = self.step()
        self.deeper(place)
        items: list[Syntax] = []
        while not self.on("}"):
            items.append(self.initial())
            if not self.take(","):
                break
        self.expect("}")
        self.nested -= 1
        return BracesSyntax(place.pos, 1 + max((i.depth for i in items), default=0), items)

    def function(self, qualifiers: frozenset[str], kind: TypeSyntax, name: Token) -> FunctionSyntax:
        """Read a function after its name."""
        parameters: list[VariableSyntax] = []
        self.expect("(")
        if self.token.text == "void" and self.ahead().kind == ")":
            self.step()
        self.wanted = "a parameter"
        while not self.on(")"):
            found = self.qualified()
            if found is None:
                self.unexpected("a parameter")
            own, layout, of = found
            named = self.on("word") and self.token.text not in _NO_NAMES
            if named:
                parameters.append(self.variable(own, layout, of, self.step()))
            else:
                parameters.append(VariableSyntax(of.pos, "", self.sized(of), own))
            if not self.take(","):
                break
        self.expect(")", " or `,`")
        self.wanted = "a declaration"
        semantic = self.semantic()
        declared = self.take(";")
        if not declared and not self.on("{"):
            self.unexpected("`{`")
        body = None if declared else self.block()
        return FunctionSyntax(name.pos, name.text, kind, parameters, semantic, qualifiers, body)

    # --- statements --------------------------------------------------------------------------------------------------
    def block(self) -> BlockSyntax:
        """Parse statements in braces."""
        place = self.expect("{")
        self.deeper(place)
        out: list[StatementSyntax] = []
        while not self.on("}"):
            if self.on("end"):
                raise ShadingError(place.pos, "this `{` is not closed")
            out.append(self.statement())
        self.step()
        self.nested -= 1
        return BlockSyntax(place.pos, out)

    def statement(self) -> StatementSyntax:
        """Parse a statement."""
        t = self.token
        if t.kind == "{":
            return self.block()
        if t.kind == ";":
            self.step()
            return BlockSyntax(t.pos, [])
        if t.kind == "[":  # an attribute, as `[unroll]`
            while self.step().kind not in ("]", "end"):
                pass
            return self.statement()
        if t.kind == "word" and t.text in _STATEMENTS:
            self.deeper(t)
            self.step()
            made: StatementSyntax = getattr(self, f"of_{t.text}")(t)
            self.nested -= 1
            return made
        if t.text == "precision" and self.ahead().kind == "word":
            self.precision()
            return BlockSyntax(t.pos, [])
        if self.declares():
            return self.declared(t)
        value = self.expression()
        self.expect(";")
        return EvaluateSyntax(t.pos, value)

    def declares(self) -> bool:
        """Return whether a declaration begins here."""
        t = self.token
        if t.kind != "word":
            return False
        if t.text == "struct" or t.text in self.language.qualifiers:
            return True
        following = self.ahead()
        return following.kind == "word" or (self.is_type() and following.kind == "[" and self._array_follows())

    def _array_follows(self) -> bool:
        """Return whether `type[n] name` stands here, and no constructor of an array."""
        n = 1
        while self.ahead(n).kind == "[":
            while self.ahead(n).kind not in ("]", "end", ";"):
                n += 1
            n += 1
        return self.ahead(n).kind == "word"

    def declared(self, t: Token) -> StatementSyntax:
        """Parse the declaration of variables in a function."""
        found = self.qualified()
        if found is None or self.on(";"):
            self.take(";")
            return BlockSyntax(t.pos, [])
        return DeclareSyntax(t.pos, self.variables(*found, self.name("a name")))

    def parenthesized(self) -> Syntax:
        """Parse an expression in parentheses."""
        self.expect("(")
        value = self.expression()
        self.expect(")")
        return value

    def of_if(self, t: Token) -> StatementSyntax:
        condition = self.parenthesized()
        yes = self.statement()
        return IfSyntax(t.pos, condition, yes, self.statement() if self.take("else") else None)

    def of_while(self, t: Token) -> StatementSyntax:
        condition = self.parenthesized()
        return LoopSyntax(t.pos, None, condition, None, self.statement())

    def of_do(self, t: Token) -> StatementSyntax:
        body = self.statement()
        if not self.take("while"):
            self.unexpected("`while`")
        condition = self.parenthesized()
        self.expect(";")
        return LoopSyntax(t.pos, None, condition, None, body, after=True)

    def of_for(self, t: Token) -> StatementSyntax:
        self.expect("(")
        initial = self.statement()
        if not isinstance(initial, DeclareSyntax | EvaluateSyntax | BlockSyntax):
            raise ShadingError(initial.pos, "a loop begins with a declaration or an expression")
        condition = None if self.on(";") else self.expression()
        self.expect(";")
        step = None if self.on(")") else self.expression()
        self.expect(")")
        return LoopSyntax(t.pos, initial, condition, step, self.statement())

    def of_switch(self, t: Token) -> StatementSyntax:
        value = self.parenthesized()
        self.expect("{")
        cases: list[tuple[list[Syntax | None], list[StatementSyntax]]] = []
        while not self.take("}"):
            labels: list[Syntax | None] = []
            while self.token.text in ("case", "default"):
                labels.append(self.expression() if self.step().text == "case" else None)
                self.expect(":")
            if not labels:
                self.unexpected("`case`")
            statements: list[StatementSyntax] = []
            while self.token.text not in ("case", "default") and not self.on("}", "end"):
                statements.append(self.statement())
            cases.append((labels, statements))
        return SwitchSyntax(t.pos, value, cases)

    def of_return(self, t: Token) -> StatementSyntax:
        value = None if self.on(";") else self.initial()
        self.expect(";")
        return ReturnSyntax(t.pos, value)

    def _leave(self, t: Token) -> StatementSyntax:
        self.expect(";")
        return LeaveSyntax(t.pos, t.text)

    of_break = of_continue = of_discard = _leave

    # --- expressions -------------------------------------------------------------------------------------------------
    def expression(self) -> Syntax:
        """Read an expression, commas and all."""
        a = self.assignment()
        while self.on(","):
            op = self.step()
            b = self.assignment()
            a = self.made(BinarySyntax(op.pos, 1 + max(a.depth, b.depth), ",", a, b))
        return a

    def assignment(self) -> Syntax:
        """Read an expression without commas."""
        place = self.token
        self.deeper(place)
        a = self.binary(1)
        if self.on("?"):
            mark = self.step()
            yes = self.assignment()
            self.expect(":")
            no = self.assignment()
            a = self.made(ChoiceSyntax(mark.pos, 1 + max(a.depth, yes.depth, no.depth), a, yes, no))
        if self.on(*_ASSIGNMENTS):
            op = self.step()
            value = self.initial() if op.kind == "=" and self.on("{") else self.assignment()
            a = self.made(AssignSyntax(op.pos, 1 + max(a.depth, value.depth), op.kind[:-1], a, value))
        self.nested -= 1
        return a

    def binary(self, level: int) -> Syntax:
        """Parse binary operators of at least a precedence level."""
        a = self.unary()
        while True:
            found = _LEVELS.get(self.token.kind, 0)
            if found < level:
                return a
            op = self.step()
            b = self.binary(found + 1)
            a = self.made(BinarySyntax(op.pos, 1 + max(a.depth, b.depth), op.kind, a, b))

    def unary(self) -> Syntax:
        """Parse operators before an operand, and casts."""
        t = self.token
        if t.kind in _UNARY:
            self.step()
            self.deeper(t)
            a = self.unary()
            self.nested -= 1
            op = f"{t.kind}x" if t.kind in ("++", "--") else t.kind
            return self.made(UnarySyntax(t.pos, 1 + a.depth, op, a))
        if t.kind == "(" and self.is_type(1) and self._is_cast():
            if self.language.product:
                raise ShadingError(t.pos, "there are no casts: a constructor converts, as float(x)")
            self.step()
            kind = self.type_name()
            self.expect(")")
            self.deeper(t)
            a = self.unary()
            self.nested -= 1
            return self.made(ConstructSyntax(t.pos, 1 + a.depth, kind, [a], cast=True))
        return self.postfix(self.primary())

    def _is_cast(self) -> bool:
        n = 2
        while self.ahead(n).kind == "word":
            n += 1
        return self.ahead(n).kind == ")"

    def postfix(self, a: Syntax) -> Syntax:
        """Parse the postfix operators of an operand: fields, indices, `++`."""
        while True:
            t = self.token
            if t.kind == ".":
                self.step()
                name = self.name("a field or components")
                if self.on("(") and name.text == "length":
                    self.step()
                    self.expect(")")
                a = MemberSyntax(name.pos, a.depth + 1, a, name.text)
            elif t.kind == "[":
                self.step()
                index = self.expression()
                self.expect("]")
                a = SubscriptSyntax(t.pos, 1 + max(a.depth, index.depth), a, index)
            elif t.kind in ("++", "--"):
                self.step()
                a = UnarySyntax(t.pos, a.depth + 1, f"x{t.kind}", a)
            else:
                return a
            self.made(a)

    def primary(self) -> Syntax:
        """Read a number, a name, a call, a constructor, or an expression in parentheses."""
        t = self.token
        if t.kind == "number":
            self.step()
            value = number(t)
            return NumberSyntax(t.pos, 1, value.value, value.suffix, t.text)
        if t.kind == "(":
            self.step()
            self.deeper(t)
            a = self.expression()
            self.nested -= 1
            self.expect(")")
            return a
        if t.kind != "word" or t.text in _NO_NAMES - {"true", "false"}:
            self.unexpected("an expression")
        if t.text in ("true", "false"):
            self.step()
            return NumberSyntax(t.pos, 1, int(t.text == "true"), "bool", t.text)
        if self.ahead().kind == "<" and self.takes_type(t.text):
            self.step()
            self.step()
            kind = self.type_name()
            self.expect(">")
            arguments, depth = self.arguments()
            if t.text == "bit_cast":
                return self.made(ConstructSyntax(t.pos, depth, kind, arguments, bits=True))
            return self.made(ConstructSyntax(t.pos, depth + 1, kind, [CallSyntax(t.pos, depth, t.text, arguments)]))
        if self.is_type() and (t.text not in self.structs or self.ahead().kind in ("(", "[")):
            kind = self.type_name()
            arguments, depth = self.arguments()
            return self.made(ConstructSyntax(t.pos, depth, kind, arguments))
        self.step()
        if self.on("("):
            arguments, depth = self.arguments()
            return self.made(CallSyntax(t.pos, depth, t.text, arguments))
        return NameSyntax(t.pos, 1, t.text)

    def takes_type(self, name: str) -> bool:
        """Return whether a function takes a type in angle brackets, as `bit_cast` and Cg's texture functions do."""
        return name == "bit_cast" or (not self.language.product and TEXTURE_FUNCTION.fullmatch(name) is not None)

    def arguments(self) -> tuple[list[Syntax], int]:
        """Read the arguments of a call; return them and their nesting depth."""
        place = self.expect("(")
        self.deeper(place)
        out: list[Syntax] = []
        if self.token.text == "void" and self.ahead().kind == ")":
            self.step()
        while not self.on(")"):
            out.append(self.assignment())
            if not self.take(","):
                break
        self.expect(")", " or `,`")
        self.nested -= 1
        return out, 1 + max((a.depth for a in out), default=0)
