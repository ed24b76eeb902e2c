"""Semantic analysis of declarations and statements: the typed form of a parsed text, and all errors in it."""

from __future__ import annotations

from isakit.compile.shading.builtins import BuiltIn
from isakit.compile.shading.check_expressions import LARGEST, ExpressionCheck
from isakit.compile.shading.language import Language
from isakit.compile.shading.source import ShaderSources, ShadingError
from isakit.compile.shading.syntax import (
    BlockSyntax,
    BracesSyntax,
    Declaration,
    DeclareSyntax,
    EvaluateSyntax,
    FunctionSyntax,
    IfSyntax,
    LeaveSyntax,
    LoopSyntax,
    ReturnSyntax,
    StatementSyntax,
    StructSyntax,
    SwitchSyntax,
    VariableSyntax,
)
from isakit.compile.shading.typed import (
    CheckedShader,
    ShaderVariable,
    Typed,
    TypedBlock,
    TypedConstant,
    TypedDeclare,
    TypedEvaluate,
    TypedFunction,
    TypedIf,
    TypedLeave,
    TypedLoop,
    TypedReturn,
    TypedStatement,
    TypedSwitch,
)
from isakit.compile.shading.types import (
    VOID,
    ArrayType,
    Numeric,
    StructField,
    StructType,
    Type,
    holds_samplers,
    innermost,
    is_sampler,
)

MOST_ERRORS = 20


class Check(ExpressionCheck):
    """Checks a text. `run` returns its typed form, or raises all errors as one."""

    def __init__(self, language: Language, stage: str, sources: ShaderSources, built_in: dict[str, BuiltIn]) -> None:
        super().__init__(language, stage, sources, built_in)
        self.errors: list[ShadingError] = []
        self.bodies: list[tuple[TypedFunction, FunctionSyntax]] = []
        self.loops = 0
        self.switches = 0
        self.columns = False

    def run(self, declarations: list[Declaration]) -> CheckedShader:
        """Check everything and return the typed shader. Raises CompileError."""
        for d in declarations:
            try:
                if isinstance(d, StructSyntax):
                    self.struct(d)
                elif isinstance(d, FunctionSyntax):
                    self.declare_function(d)
                else:
                    self.outside(d)
            except ShadingError as e:
                self.fail(e)
        for f, d in self.bodies:
            self.body(f, d)
        if not self.errors:
            self.refuse_recursion()
        if self.errors:
            raise self.sources.failure(self.errors)
        return CheckedShader(self.variables, self.functions)

    def fail(self, e: ShadingError) -> None:
        """Record an error and continue, unless there are too many."""
        self.errors.append(e)
        if len(self.errors) >= MOST_ERRORS:
            raise self.sources.failure(self.errors)

    # --- declarations ------------------------------------------------------------------------------------------------
    def struct(self, d: StructSyntax) -> None:
        fields: list[StructField] = []
        for v in d.fields:
            if v.name in (f.name for f in fields):
                raise ShadingError(v.pos, f"`{v.name}` is already a field of `{d.name}`", len(v.name))
            kind = self.type_of(v.type)
            if kind is VOID or (isinstance(kind, ArrayType) and not kind.count):
                raise ShadingError(v.pos, f"a field cannot be of type {self.language.say(kind)}", len(v.name))
            fields.append(
                StructField(
                    v.name,
                    kind,
                    v.semantic[0].upper() if v.semantic else "",
                    "uniform" in v.qualifiers or is_sampler(kind),
                )
            )
        kind = StructType(d.name, tuple(fields))
        if kind.leaves > LARGEST:
            raise ShadingError(d.pos, "this is too large", len(d.name))
        self.structs[d.name] = kind

    def variable(self, d: VariableSyntax, role: str) -> ShaderVariable:
        """Check a declaration; return its variable."""
        kind = self.type_of(d.type)
        if kind is VOID:
            raise ShadingError(d.pos, f"`{d.name}` has no type that holds a value", len(d.name))
        if is_sampler(kind) and (role != "local" or self.language.product):
            role = "sampler"
        v = ShaderVariable(d.name, kind, role, d.pos)
        v.qualifiers, v.layout = d.qualifiers, d.layout
        v.semantic = d.semantic[0].upper() if d.semantic else ""
        v.columns = "column_major" in d.qualifiers or (self.columns and "row_major" not in d.qualifiers)
        return v

    def outside(self, d: VariableSyntax) -> None:
        """Check a variable declared outside of functions."""
        known = self.built_in.get(d.name) if self.language.product else None
        if known is not None:
            v = self.find(d.name)
            assert v is not None
            kind = self.type_of(d.type)
            if isinstance(kind, ArrayType) and isinstance(v.type, ArrayType) and 0 < kind.count <= v.type.count:
                v.type = kind
            elif kind != v.type and not isinstance(kind, ArrayType):
                raise ShadingError(d.pos, f"`{d.name}` is of type {self.language.say(v.type)}", len(d.name))
            return
        q = d.qualifiers
        if self.language.product:
            role = (
                "uniform" if "uniform" in q
                else "input" if q & {"attribute", "in"} or ("varying" in q and self.stage == "fragment")
                else "output" if q & {"out", "varying"} else "local"
            )  # fmt: skip
        else:
            role = (
                "output" if "out" in q and "static" not in q
                else "input" if "varying" in q or ("in" in q and "uniform" not in q)
                else "local" if q & {"static", "const"} else "uniform"
            )  # fmt: skip
        v = self.variable(d, role)
        if self.language.product:
            self.refuse_interface(v)
        if d.name in self.scopes[0]:
            raise ShadingError(d.pos, f"`{d.name}` is already declared", len(d.name))
        initial = self.initial(v, d)
        if v.role == "local" and isinstance(v.type, ArrayType) and not v.type.count:
            raise ShadingError(d.pos, f"the size of `{d.name}` is missing", len(d.name))
        v.initial = initial
        self.scopes[0][d.name] = v
        self.variables.append(v)

    def refuse_interface(self, v: ShaderVariable) -> None:
        """Refuse types that GLSL does not let uniforms, attributes and varyings have. Raises ShadingError."""
        if v.role == "sampler" and "uniform" not in v.qualifiers:
            raise ShadingError(v.pos, f"the sampler `{v.name}` must be a uniform", len(v.name))
        for word in v.qualifiers & {"attribute", "varying"}:
            kind = innermost(v.type) if word == "varying" else v.type
            if not isinstance(kind, Numeric) or not kind.is_float:
                raise ShadingError(v.pos, f"`{v.name}`: an {word} is of floats" if word == "attribute" else
                                   f"`{v.name}`: a {word} is of floats", len(v.name))  # fmt: skip

    def refuse_parameters(self, f: TypedFunction) -> None:
        """Refuse parameters and results that no function has. Raises ShadingError."""
        if holds_samplers(f.result) and self.language.product:
            raise ShadingError(f.pos, f"`{f.name}` cannot give a sampler", len(f.name))
        for p in f.parameters:
            stored = p.qualifiers & {"out", "inout"}
            if stored and holds_samplers(p.type) and self.language.product:
                raise ShadingError(p.pos, f"`{p.name}` holds a sampler, which nothing is stored to", len(p.name))
            if stored and "const" in p.qualifiers:
                raise ShadingError(p.pos, f"`{p.name}` is a constant, which nothing is stored to", len(p.name))
        if self.language.product and f.name == "main" and (f.parameters or f.result is not VOID):
            raise ShadingError(f.pos, "`main` takes nothing and gives nothing", len(f.name))

    def initial(self, v: ShaderVariable, d: VariableSyntax) -> Typed | None:
        """Check the initializer of a variable; the name of a constant is replaced by its value."""
        if d.initial is None:
            if "const" in v.qualifiers and v.role == "local":
                raise ShadingError(d.pos, f"the constant `{d.name}` needs a value", len(d.name))
            return None
        if v.role == "sampler":
            raise ShadingError(d.initial.pos, "a sampler has no value")
        if isinstance(v.type, ArrayType) and not v.type.count:
            if isinstance(d.initial, BracesSyntax):
                got = self.braces(d.initial, v.type)
            else:
                got = self.value(d.initial)
            if not isinstance(got.type, ArrayType) or got.type.of != v.type.of:
                raise ShadingError(d.initial.pos, f"`{d.name}` is an array of {v.type.of}")
            v.type = got.type
            return got
        got = self.wanted(d.initial, v.type, f"`{d.name}`")
        if isinstance(got, TypedConstant) and "const" in v.qualifiers and v.role == "local":
            v.value = got
        return got

    def declare_function(self, d: FunctionSyntax) -> None:
        """Declare a function by its name and types."""
        parameters = [self.variable(p, "local") for p in d.parameters]
        for p in parameters:
            if isinstance(p.type, ArrayType) and not p.type.count:
                raise ShadingError(p.pos, f"the size of `{p.name}` is missing", len(p.name))
        f = TypedFunction(d.name, self.type_of(d.result), parameters, d.pos)
        f.semantic, f.qualifiers = d.semantic, d.qualifiers
        self.refuse_parameters(f)
        kinds = [p.type for p in parameters]
        for old in self.functions.setdefault(d.name, []):
            if [p.type for p in old.parameters] == kinds:
                if old.result != f.result:
                    raise ShadingError(d.pos, f"`{d.name}` was declared with another result", len(d.name))
                if d.body is None:
                    return
                if any(known is old for known, _ in self.bodies):
                    raise ShadingError(d.pos, f"`{d.name}` with these parameters is already defined", len(d.name))
                old.parameters, old.pos, old.semantic = parameters, d.pos, d.semantic
                old.qualifiers = d.qualifiers
                self.bodies.append((old, d))
                return
        self.functions[d.name].append(f)
        if d.body is not None:
            self.bodies.append((f, d))

    def body(self, f: TypedFunction, d: FunctionSyntax) -> None:
        """Check the body of a function."""
        assert d.body is not None
        self.function = f
        scope: dict[str, ShaderVariable] = {}
        for p in f.parameters:
            if p.name in scope and p.name:
                self.fail(ShadingError(p.pos, f"there are two parameters `{p.name}`", len(p.name)))
            scope[p.name] = p
        self.scopes.append(scope)
        f.body = TypedBlock(d.body.pos, self.statements(d.body.statements))
        self.scopes.pop()
        self.function = None

    def refuse_recursion(self) -> None:
        """Report the first function that calls itself, directly or through others."""
        state: dict[TypedFunction, int] = {}
        for top in (f for known in self.functions.values() for f in known):
            if top in state:
                continue
            state[top] = 1
            path = [(top, iter(top.calls.items()))]
            while path:
                f, calls = path[-1]
                for g, pos in calls:
                    if state.get(g) == 1:
                        self.fail(ShadingError(pos, f"`{g.name}` calls itself", len(g.name)))
                        return
                    if g not in state:
                        state[g] = 1
                        path.append((g, iter(g.calls.items())))
                        break
                else:
                    state[f] = 2
                    path.pop()

    # --- statements --------------------------------------------------------------------------------------------------
    def statements(self, found: list[StatementSyntax]) -> list[TypedStatement]:
        """Check a sequence of statements; an error in one does not keep the next from being checked."""
        out: list[TypedStatement] = []
        for s in found:
            try:
                made = self.statement(s)
            except ShadingError as e:
                self.fail(e)
                continue
            if isinstance(made, TypedBlock) and isinstance(s, DeclareSyntax):
                out += made.statements
            else:
                out.append(made)
        return out

    def statement(self, s: StatementSyntax) -> TypedStatement:
        """Check a statement. Raises ShadingError."""
        made: TypedStatement = getattr(self, f"do_{type(s).__name__}")(s)
        return made

    def scoped(self, s: StatementSyntax) -> TypedStatement:
        """Check a statement in a scope of its own."""
        self.scopes.append({})
        try:
            return self.statement(s)
        finally:
            self.scopes.pop()

    def do_BlockSyntax(self, s: BlockSyntax) -> TypedStatement:
        self.scopes.append({})
        out = self.statements(s.statements)
        self.scopes.pop()
        return TypedBlock(s.pos, out)

    def do_DeclareSyntax(self, s: DeclareSyntax) -> TypedStatement:
        out: list[TypedStatement] = []
        for d in s.variables:
            v = self.variable(d, "local")
            if v.role == "sampler" or d.qualifiers & {"uniform", "varying", "attribute", "in", "out", "inout"}:
                raise ShadingError(d.pos, f"`{d.name}` cannot be declared in a function", len(d.name))
            if d.name in self.scopes[-1]:
                raise ShadingError(d.pos, f"`{d.name}` is already declared", len(d.name))
            initial = None
            try:
                initial = self.initial(v, d)
                if isinstance(v.type, ArrayType) and not v.type.count:
                    raise ShadingError(d.pos, f"the size of `{d.name}` is missing", len(d.name))
            except ShadingError as e:
                self.fail(e)
            self.scopes[-1][d.name] = v
            if v.value is None:
                out.append(TypedDeclare(d.pos, v, initial))
        return TypedBlock(s.pos, out, scope=False)

    def do_EvaluateSyntax(self, s: EvaluateSyntax) -> TypedStatement:
        return TypedEvaluate(s.pos, self.of(s.value))

    def do_IfSyntax(self, s: IfSyntax) -> TypedStatement:
        condition = self.condition(s.condition)
        yes = self.scoped(s.yes)
        return TypedIf(s.pos, condition, yes, None if s.no is None else self.scoped(s.no))

    def do_LoopSyntax(self, s: LoopSyntax) -> TypedStatement:
        self.scopes.append({})
        self.loops += 1
        try:
            initial = None if s.initial is None else self.statement(s.initial)
            self.assigned.append(set())
            condition = None if s.condition is None else self.condition(s.condition)
            tested = self.assigned.pop()
            self.assigned.append(set())
            step = None if s.step is None else self.of(s.step)
            counted = self.assigned.pop()
            self.assigned.append(set())
            body = self.scoped(s.body)
            changed = self.assigned.pop() | tested  # what the condition counts is changed in every turn, too
            for around in self.assigned:
                around |= changed | counted
            return TypedLoop(s.pos, initial, condition, step, body, s.after, changed, counted)
        finally:
            self.loops -= 1
            self.scopes.pop()

    def do_SwitchSyntax(self, s: SwitchSyntax) -> TypedStatement:
        value = self.number(s.value)
        if not value.numeric.is_scalar or value.numeric.base.kind not in ("int", "uint"):
            raise ShadingError(
                value.pos, f"a switch takes a whole number, not a value of type {self.language.say(value.type)}"
            )
        self.switches += 1
        self.scopes.append({})
        cases: list[tuple[list[int | None], list[TypedStatement]]] = []
        seen: set[int | None] = set()
        for labels, statements in s.cases:
            numbers = [None if label is None else self.count(label) for label in labels]
            for n, label in zip(numbers, labels, strict=True):
                if n in seen:
                    raise ShadingError(label.pos if label else s.pos, "this case is already there")
                seen.add(n)
            cases.append((numbers, self.statements(statements)))
        self.scopes.pop()
        self.switches -= 1
        return TypedSwitch(s.pos, value, cases)

    def do_ReturnSyntax(self, s: ReturnSyntax) -> TypedStatement:
        assert self.function is not None
        result: Type = self.function.result
        if s.value is None:
            if result is not VOID:
                raise ShadingError(s.pos, f"`{self.function.name}` gives a {self.language.say(result)}", 6)
            return TypedReturn(s.pos, None)
        if result is VOID:
            raise ShadingError(s.pos, f"`{self.function.name}` returns no value", 6)
        return TypedReturn(s.pos, self.wanted(s.value, result, "the result"))

    def do_LeaveSyntax(self, s: LeaveSyntax) -> TypedStatement:
        if s.word == "discard" and self.stage != "fragment" and self.language.product:
            raise ShadingError(s.pos, "only a fragment program has a pixel to discard", 7)
        if s.word == "continue" and not self.loops:
            raise ShadingError(s.pos, "`continue` stands in a loop", 8)
        if s.word == "break" and not self.loops and not self.switches:
            raise ShadingError(s.pos, "`break` stands in a loop", 5)
        return TypedLeave(s.pos, s.word)
