"""Types of expressions: names are resolved, overloads chosen, conversions made explicit, constants folded."""

from __future__ import annotations

from isakit.compile.shading.builtins import CONSTANTS, BuiltIn
from isakit.compile.shading.conversion import (
    as_base,
    common_base,
    computed,
    convert,
    folded,
    folded_unary,
    rebased,
    rebased_literal,
    resized,
)
from isakit.compile.shading.intrinsics import BORROWED, INTRINSICS, TEXTURE_FUNCTION
from isakit.compile.shading.language import CG, Language
from isakit.compile.shading.overloads import chosen, intrinsic_call, product
from isakit.compile.shading.source import ShaderSources, ShadingError
from isakit.compile.shading.syntax import (
    AssignSyntax,
    BinarySyntax,
    BracesSyntax,
    CallSyntax,
    ChoiceSyntax,
    ConstructSyntax,
    MemberSyntax,
    NameSyntax,
    NumberSyntax,
    SubscriptSyntax,
    Syntax,
    TypeSyntax,
    UnarySyntax,
)
from isakit.compile.shading.typed import (
    Changes,
    ShaderVariable,
    Typed,
    TypedAssign,
    TypedBinary,
    TypedCall,
    TypedChoice,
    TypedComponents,
    TypedConstant,
    TypedConstruct,
    TypedConvert,
    TypedElement,
    TypedField,
    TypedFunction,
    TypedName,
    TypedResize,
    TypedSame,
    TypedSequence,
    TypedShortcut,
    TypedSpread,
    TypedStep,
    TypedUnary,
)
from isakit.compile.shading.types import (
    BOOL,
    FIXED,
    FLOAT,
    HALF,
    INT,
    T_BOOL,
    T_INT,
    UINT,
    VOID,
    ArrayType,
    Numeric,
    StructType,
    Type,
    elements_of,
)
from isakit.errors import did_you_mean

LARGEST = 1 << 14
"""Scalars and vectors a variable may have."""
_ORDER = frozenset(("<", ">", "<=", ">="))
_LOGIC = frozenset(("&&", "||", "^^"))
_WHOLE = frozenset(("%", "&", "|", "^", "<<", ">>"))
_SUFFIXES = {"": FLOAT, "f": FLOAT, "h": HALF, "x": FIXED}


class ExpressionCheck:
    """Checks expressions in the scopes of a function."""

    def __init__(self, language: Language, stage: str, sources: ShaderSources, built_in: dict[str, BuiltIn]) -> None:
        self.language, self.stage, self.sources, self.built_in = language, stage, sources, built_in
        self.scopes: list[dict[str, ShaderVariable]] = [{}]
        self.structs: dict[str, StructType] = {}
        self.functions: dict[str, list[TypedFunction]] = {}
        self.variables: list[ShaderVariable] = []
        self.function: TypedFunction | None = None
        self.assigned: list[Changes] = []
        """The changes that each loop around makes."""

    # --- names -------------------------------------------------------------------------------------------------------
    def find(self, name: str) -> ShaderVariable | None:
        """Return the variable a name means here."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if self.language.product and name in self.built_in:
            return self.built_in_variable(name, self.built_in[name])
        return None

    def built_in_variable(self, name: str, b: BuiltIn) -> ShaderVariable:
        """Declare a built-in variable on its first use, and return it."""
        v = ShaderVariable(name, b.type, b.role, 0)
        v.semantic = b.semantic
        self.scopes[0][name] = v
        self.variables.append(v)
        return v

    def type_of(self, t: TypeSyntax) -> Type:
        """Return the type named by a syntax node. Raises ShadingError."""
        kind = t.type if t.type is not None else self.structs.get(t.name)
        if kind is None:
            raise ShadingError(t.pos, f"`{t.name[:40]}` is not a type", len(t.name))
        for size in reversed(t.sizes):
            count = 0 if size is None else self.count(size)
            if size is not None and count < 1:
                raise ShadingError(size.pos, "an array has at least one element")
            kind = ArrayType(kind, count)
            if kind.leaves > LARGEST:
                raise ShadingError(t.pos, "this is too large", len(t.name))
        return kind

    def count(self, size: Syntax) -> int:
        """Check an integer constant and return it."""
        v = self.of(size)
        if not isinstance(v, TypedConstant) or not v.numeric.is_scalar or v.numeric.base.kind not in ("int", "uint"):
            raise ShadingError(v.pos, "a constant whole number was expected")
        return min(int(v.values[0]), 1 << 24)

    # --- expressions -------------------------------------------------------------------------------------------------
    def of(self, s: Syntax) -> Typed:
        """Check an expression. Raises ShadingError."""
        made: Typed = getattr(self, f"of_{type(s).__name__}")(s)
        return made

    def value(self, s: Syntax) -> Typed:
        """Check an expression that must have a value."""
        v = self.of(s)
        if v.type is VOID:
            raise ShadingError(v.pos, "this has no value")
        return v

    def number(self, s: Syntax) -> Typed:
        """Check an expression that must be a scalar, vector or matrix."""
        v = self.value(s)
        if not isinstance(v.type, Numeric):
            raise ShadingError(v.pos, f"a number was expected, not a value of type {self.language.say(v.type)}")
        return v

    def wanted(self, s: Syntax, to: Type, what: str) -> Typed:
        """Check an expression that must have a type."""
        if isinstance(s, BracesSyntax):
            return self.braces(s, to)
        return convert(self.value(s), to, self.language, what)

    def condition(self, s: Syntax) -> Typed:
        """Check an expression that must be a condition."""
        v = self.number(s)
        if v.type == T_BOOL:
            return v
        if not self.language.converts or not v.numeric.is_scalar:
            raise ShadingError(v.pos, f"a condition is a bool, not a value of type {self.language.say(v.type)}")
        return rebased(v, BOOL)

    def of_NumberSyntax(self, s: NumberSyntax) -> Typed:
        if s.suffix == "bool":
            return TypedConstant(s.pos, T_BOOL, (s.value,))
        if isinstance(s.value, float):
            kind = Numeric(_SUFFIXES[s.suffix])
            if s.suffix in ("h", "x") and self.language.product:
                raise ShadingError(s.pos, f"`{s.text[:40]}` is not a number", len(s.text))
        else:
            kind = Numeric(UINT if s.suffix == "u" else INT)
        return TypedConstant(s.pos, kind, (as_base(s.value, kind.base),), self.language.infinite and not s.suffix)

    def of_NameSyntax(self, s: NameSyntax) -> Typed:
        v = self.find(s.name)
        if v is None:
            if self.language.product and s.name in CONSTANTS:
                return TypedConstant(s.pos, T_INT, (CONSTANTS[s.name],))
            if s.name in self.functions or s.name in INTRINSICS[self.language.name]:
                raise ShadingError(s.pos, f"`{s.name}` is a function", len(s.name))
            names = {n for scope in self.scopes for n in scope}
            notes = did_you_mean(s.name, names)
            raise ShadingError(s.pos, f"`{s.name[:40]}` is not declared", len(s.name), notes)
        v.read = True
        if v.value is not None:
            return TypedConstant(s.pos, v.type, v.value.values)
        return TypedName(s.pos, v.type, v)

    def of_UnarySyntax(self, s: UnarySyntax) -> Typed:
        if "x" in s.op:
            target = self.target(s.operand)
            if not isinstance(target.type, Numeric) or target.type.is_bool:
                raise ShadingError(s.pos, f"a value of type {self.language.say(target.type)} cannot be counted", 2)
            return TypedStep(s.pos, target.type, target, s.op.strip("x")[0], s.op[0] == "x")
        a = self.number(s.operand)
        if s.op == "!":
            if not self.language.converts and a.type != T_BOOL:
                raise ShadingError(s.pos, f"`!` takes a bool, not a value of type {self.language.say(a.type)}")
            a = rebased(a, BOOL)
        elif s.op == "~" and a.numeric.base.kind not in ("int", "uint"):
            raise ShadingError(s.pos, f"`~` takes whole numbers, not a value of type {self.language.say(a.type)}")
        elif a.numeric.is_bool:
            if not self.language.converts:
                raise ShadingError(s.pos, f"`{s.op}` takes numbers, not a value of type {self.language.say(a.type)}")
            a = rebased(a, INT)
        if s.op == "+":
            return a
        if a.numeric.base.kind != "float" and s.op != "!":
            a = rebased(a, computed(a.numeric.base)) if a.numeric.base.bits < 32 else a
        return folded_unary(s.op, a, s.pos) or TypedUnary(s.pos, a.type, s.op, a)

    def of_BinarySyntax(self, s: BinarySyntax) -> Typed:
        if s.op == ",":
            first, second = self.of(s.a), self.of(s.b)
            return TypedSequence(s.pos, second.type, first, second)
        return self.operation(s.op, self.value(s.a), self.value(s.b), s.pos)

    def operation(self, op: str, a: Typed, b: Typed, pos: int) -> Typed:
        """Check an operator and its two values."""
        wrong = ShadingError(pos, f"there is no {self.language.say(a.type)} {op} {self.language.say(b.type)}", len(op))
        if op in ("==", "!=") and (not self.language.converts or not isinstance(a.type, Numeric)):
            return self.equality(op, a, b, pos, wrong)
        if not isinstance(a.type, Numeric) or not isinstance(b.type, Numeric):
            raise wrong
        if op in _LOGIC:
            return self.logic(op, a, b, pos, wrong)
        matrices = (a.type.is_matrix or b.type.is_matrix) and not (a.type.is_scalar or b.type.is_scalar)
        if op == "*" and self.language.product and matrices:
            made = product(a, b, self.language, pos, rows_first=False)
            if made is None:
                raise wrong
            return made
        if not self.language.converts and (a.type.is_bool or b.type.is_bool):
            raise wrong
        base = computed(common_base([a, b]))
        if op in ("<<", ">>"):
            base = computed(a.type.base)
        if op in _WHOLE and base.kind == "float" and not (op == "%" and self.language.converts):
            raise wrong
        if not self.language.converts and any(
            v.numeric.base != base and v.numeric.base.kind == "float" for v in (a, b)
        ):  # fmt: skip
            raise wrong
        a, b = self.alike(rebased_literal(a, base), rebased_literal(b, base), wrong)
        kind = a.numeric
        if op in _ORDER or op in ("==", "!="):
            if (not self.language.converts and not kind.is_scalar) or kind.is_matrix:
                raise wrong
            kind = kind.of(BOOL)
        return folded(op, a, b, kind, pos) or TypedBinary(pos, kind, op, a, b)

    def alike(self, a: Typed, b: Typed, wrong: ShadingError) -> tuple[Typed, Typed]:
        """Convert two values to a common shape: scalars are repeated, and in Cg longer vectors are truncated."""
        m, n = a.numeric, b.numeric
        if m.shape == n.shape:
            return a, b
        if m.is_scalar:
            return resized(a, n), b
        if n.is_scalar:
            return a, resized(b, m)
        if not self.language.converts or m.is_matrix or n.is_matrix:
            raise wrong
        return (resized(a, n), b) if m.size > n.size else (a, resized(b, m))

    def equality(self, op: str, a: Typed, b: Typed, pos: int, wrong: ShadingError) -> Typed:
        """Check `==` and `!=` of whole values."""
        if isinstance(a.type, Numeric) and isinstance(b.type, Numeric):
            base = common_base([a, b])
            a, b = convert(a, a.type.of(base), self.language), convert(b, b.type.of(base), self.language)
        if a.type != b.type or (not isinstance(a.type, Numeric | StructType | ArrayType)):
            raise wrong
        if isinstance(a.type, Numeric) and a.type.is_scalar:
            return folded(op, a, b, T_BOOL, pos) or TypedBinary(pos, T_BOOL, op, a, b)
        return TypedSame(pos, T_BOOL, a, b, op == "!=")

    def logic(self, op: str, a: Typed, b: Typed, pos: int, wrong: ShadingError) -> Typed:
        """Check `&&`, `||` and `^^`."""
        if not self.language.converts and not a.type == b.type == T_BOOL:
            raise wrong
        a, b = self.alike(rebased(a, BOOL), rebased(b, BOOL), wrong)
        got = folded(op, a, b, a.numeric, pos)
        if got is not None:
            return got
        if op == "^^":
            return TypedBinary(pos, a.type, "!=", a, b)
        return TypedShortcut(pos, a.type, op, a, b)

    def of_ChoiceSyntax(self, s: ChoiceSyntax) -> Typed:
        condition = self.number(s.condition)
        if not self.language.converts and condition.type != T_BOOL:
            raise ShadingError(
                condition.pos, f"a condition is a bool, not a value of type {self.language.say(condition.type)}"
            )
        condition = rebased(condition, BOOL)
        a, b = self.value(s.a), self.value(s.b)
        if a.type != b.type:
            wrong = ShadingError(
                s.pos, f"this chooses between {self.language.say(a.type)} and {self.language.say(b.type)}"
            )
            if not isinstance(a.type, Numeric) or not isinstance(b.type, Numeric):
                raise wrong
            base = common_base([a, b])
            a, b = (convert(v, v.numeric.of(base), self.language) for v in (a, b))
            if a.type != b.type and not self.language.converts:
                raise wrong
            a, b = self.alike(a, b, wrong)
        size = condition.numeric.size
        if size > 1:
            if not isinstance(a.type, Numeric) or a.type.is_matrix or a.type.size not in (1, size):
                raise ShadingError(
                    s.pos, f"{self.language.say(condition.type)} chooses between vectors as long as it is"
                )
            a, b = (resized(v, Numeric(v.numeric.base, size)) for v in (a, b))
        elif isinstance(condition, TypedConstant):
            return a if condition.values[0] else b
        return TypedChoice(s.pos, a.type, condition, a, b)

    # --- parts of values ---------------------------------------------------------------------------------------------
    def of_MemberSyntax(self, s: MemberSyntax) -> Typed:
        base = self.value(s.base)
        kind = base.type
        width = len(s.name)
        if isinstance(kind, StructType):
            for k, f in enumerate(kind.fields):
                if f.name == s.name:
                    return TypedField(s.pos, f.type, base, k)
            notes = did_you_mean(s.name, [f.name for f in kind.fields])
            raise ShadingError(s.pos, f"{self.language.say(kind)} has no field `{s.name[:40]}`", width, notes)
        if isinstance(kind, ArrayType) and s.name == "length":
            return TypedConstant(s.pos, T_INT, (kind.count,))
        if not isinstance(kind, Numeric):
            raise ShadingError(s.pos, f"a value of type {self.language.say(kind)} has no fields", width)
        places = self.places(kind, s)
        made = Numeric(kind.base, len(places))
        if isinstance(base, TypedConstant):
            return TypedConstant(s.pos, made, tuple(base.values[p] for p in places))
        return TypedComponents(s.pos, made, base, places)

    def places(self, kind: Numeric, s: MemberSyntax) -> tuple[int, ...]:
        """Return the indices of the components that a swizzle names."""
        name, width = s.name, len(s.name)
        if kind.is_matrix:
            found = _matrix_places(kind, name)
            if found is None or self.language.product:
                raise ShadingError(s.pos, f"{self.language.say(kind)} has no components `{name[:40]}`", width)
            return found
        letters = next((x for x in self.language.swizzles if name[0] in x), "")
        size = kind.size if not (kind.is_scalar and self.language.product) else 0
        if not letters or len(name) > 4 or any(c not in letters[:size] for c in name):
            hint = (f"it has {', '.join(x[:size] for x in self.language.swizzles)}",) if size else ()
            raise ShadingError(s.pos, f"{self.language.say(kind)} has no components `{name[:40]}`", width, hint)
        return tuple(letters.index(c) for c in name)

    def of_SubscriptSyntax(self, s: SubscriptSyntax) -> Typed:
        base, index = self.value(s.base), self.number(s.index)
        kind = base.type
        if not index.numeric.is_scalar or (index.numeric.is_float and not self.language.converts):
            raise ShadingError(
                index.pos, f"an index is a whole number, not a value of type {self.language.say(index.type)}"
            )
        elements = elements_of(kind)
        if elements is None:
            raise ShadingError(s.pos, f"a value of type {self.language.say(kind)} has no elements")
        count, of = elements
        index = rebased(index, INT) if index.numeric.base is not UINT else index
        if isinstance(index, TypedConstant):
            k = int(index.values[0])
            if not 0 <= k < count:
                raise ShadingError(index.pos, f"there is no element {k}: there are {count}")
            if isinstance(kind, Numeric) and not kind.is_matrix:
                if isinstance(base, TypedConstant):
                    return TypedConstant(s.pos, of, (base.values[k],))
                return TypedComponents(s.pos, of, base, (k,))
        return TypedElement(s.pos, of, base, index)

    # --- assignments -------------------------------------------------------------------------------------------------
    def target(self, s: Syntax) -> Typed:
        """Check an expression that is assigned to."""
        root = s
        while isinstance(root, MemberSyntax | SubscriptSyntax):
            root = root.base
        known = self.find(root.name) if isinstance(root, NameSyntax) else None
        if known is not None and known.value is not None:
            raise ShadingError(root.pos, f"`{known.name}` is a constant", len(known.name))
        v = self.of(s)
        node = v
        while not isinstance(node, TypedName):
            if isinstance(node, TypedComponents):
                if len(set(node.places)) < len(node.places):
                    raise ShadingError(v.pos, "a component is named twice where a value is stored")
            elif not isinstance(node, TypedField | TypedElement):
                raise ShadingError(v.pos, "this cannot be assigned to")
            node = node.base
        self.assign(node.variable, node.pos)
        return v

    def assign(self, v: ShaderVariable, pos: int) -> None:
        """Record that a variable is assigned to. Raises ShadingError if it may not be."""
        read_only = "const" in v.qualifiers
        if not self.language.converts and v.role in ("uniform", "input", "sampler"):
            read_only = True
        if read_only:
            what = v.role if v.role in ("uniform", "input", "sampler") else "constant"
            raise ShadingError(pos, f"`{v.name}` is {'an' if what == 'input' else 'a'} {what}", len(v.name))
        v.assigned = True
        if self.function is not None:
            self.function.changed.add(v)
        for changed in self.assigned:
            changed.add(v)

    def of_AssignSyntax(self, s: AssignSyntax) -> Typed:
        target = self.target(s.target)
        if not s.op:
            return TypedAssign(s.pos, target.type, target, "", self.wanted(s.value, target.type, "the value"))
        value = self.value(s.value)
        whole = self.operation(s.op, target, value, s.pos)
        made = convert(whole, target.type, self.language, "the result")
        if isinstance(whole, TypedBinary) and whole.a is target:
            inner = whole
            if made is whole:
                return TypedAssign(s.pos, target.type, target, s.op, inner.b)
        return TypedAssign(s.pos, target.type, target, "", made)

    # --- calls and constructors --------------------------------------------------------------------------------------
    def of_CallSyntax(self, s: CallSyntax) -> Typed:
        values = [self.value(a) for a in s.arguments]
        known = self.functions.get(s.name, [])
        f = chosen(known, values, self.language, s.pos)
        if f is not None:
            return self.call(f, s, values)
        made = intrinsic_call(s.name, values, self.language, s.pos)
        if made is not None:
            return made
        if known:
            given = ", ".join(self.language.say(v.type) for v in values)
            notes = tuple(f"there is `{k}`" for k in known[:3])
            raise ShadingError(s.pos, f"there is no `{s.name}({given})`", len(s.name), notes)
        if self.language is CG and s.name in BORROWED:
            said = f"`{s.name}` is a function of GLSL: not every compiler of Cg takes it"
            self.sources.warn(s.pos, said, len(s.name))
            borrowed = intrinsic_call(s.name, values, self.language, s.pos, "glsl")
            if borrowed is not None:
                return borrowed
        if s.name in ("textureSize", "textureQueryLevels", "textureQueryLod"):
            said = "a program cannot ask this of a texture: give it as a uniform"
            raise ShadingError(s.pos, said, len(s.name))
        typed = TEXTURE_FUNCTION.fullmatch(s.name)
        if self.language is CG and typed is not None and typed[1]:
            texel = intrinsic_call(typed[2], values, self.language, s.pos)
            if texel is not None:
                kind = Numeric(_SUFFIXES[typed[1][0]], int(typed[1][1]))
                return resized(rebased(texel, kind.base), kind)
        names = [*self.functions, *INTRINSICS[self.language.name]]
        notes = did_you_mean(s.name, names)
        raise ShadingError(s.pos, f"there is no function `{s.name[:40]}`", len(s.name), notes)

    def call(self, f: TypedFunction, s: CallSyntax, values: list[Typed]) -> Typed:
        """Check a call of a function of the text."""
        arguments: list[Typed] = []
        for p, syntax, v in zip(f.parameters, s.arguments, values, strict=True):
            if p.qualifiers & {"out", "inout"}:
                target = self.target(syntax)
                if target.type != p.type and not (self.language.converts and _alike(p.type, target.type)):
                    both = f"a {self.language.say(p.type)}, not to a {self.language.say(target.type)}"
                    raise ShadingError(v.pos, f"`{p.name}` is stored to {both}")
                arguments.append(target)
            else:
                arguments.append(convert(v, p.type, self.language))
        if self.function is not None:
            self.function.calls.setdefault(f, s.pos)
        for changed in self.assigned:
            changed.add(f)
        return TypedCall(s.pos, f.result, f, arguments)

    def of_ConstructSyntax(self, s: ConstructSyntax) -> Typed:
        kind = self.type_of(s.type)
        width = len(s.type.name)
        if s.bits:
            return self.bit_cast(kind, s)
        if isinstance(kind, ArrayType | StructType):
            if isinstance(kind, ArrayType) and not kind.count:
                kind = ArrayType(kind.of, len(s.arguments))
            if s.cast:
                return self.filled(kind, self.value(s.arguments[0]))
            return self.aggregate(kind, s.arguments, s.pos, width)
        if not isinstance(kind, Numeric):
            raise ShadingError(s.pos, f"there is no constructor of {self.language.say(kind)}", width)
        parts = [self.number(a) for a in s.arguments]
        if not parts:
            raise ShadingError(s.pos, f"a {self.language.say(kind)} is made of something", width)
        made = self.construct(kind, parts, s.pos, width)
        made.pos = s.pos
        return made

    def construct(self, kind: Numeric, parts: list[Typed], pos: int, width: int) -> Typed:
        """Check a scalar, vector or matrix made of numbers."""
        first = parts[0].numeric
        if len(parts) == 1:
            one = rebased(parts[0], kind.base)
            if first.is_scalar and not kind.is_scalar and kind.is_matrix and self.language.product:
                return TypedSpread(pos, kind, one, diagonal=True)
            if first.is_scalar or first.shape == kind.shape:
                return resized(one, kind)
            if first.is_matrix and kind.is_matrix:
                return TypedResize(pos, kind, one)
            if first.components > kind.components and not kind.is_matrix:
                return TypedComponents(pos, kind, one, tuple(range(kind.size)))
        total = 0
        for p in parts:
            if total >= kind.components:
                raise ShadingError(
                    p.pos, f"a {self.language.say(kind)} has {kind.components} components, which are there before this"
                )
            total += p.numeric.components
        if total < kind.components:
            raise ShadingError(pos, f"a {self.language.say(kind)} has {kind.components} components, not {total}", width)
        if total > kind.components and not self.language.product:
            raise ShadingError(pos, f"a {self.language.say(kind)} has {kind.components} components, not {total}", width)
        parts = [rebased(p, kind.base) for p in parts]
        if all(isinstance(p, TypedConstant) for p in parts):
            values = tuple(v for p in parts if isinstance(p, TypedConstant) for v in p.values)
            return TypedConstant(pos, kind, values[: kind.components])
        return TypedConstruct(pos, kind, parts)

    def bit_cast(self, kind: Type, s: ConstructSyntax) -> Typed:
        """Check `bit_cast<type>(value)`."""
        if len(s.arguments) != 1:
            raise ShadingError(s.pos, "`bit_cast` takes one value", 8)
        v = self.number(s.arguments[0])
        have = v.numeric
        fits = isinstance(kind, Numeric) and not kind.is_matrix and not have.is_matrix and not have.is_bool
        if not fits or not isinstance(kind, Numeric) or kind.is_bool:
            raise ShadingError(
                s.pos, f"the bits of a {self.language.say(have)} cannot be a {self.language.say(kind)}", 8
            )
        if kind.base.bits * kind.size != have.base.bits * have.size:
            raise ShadingError(
                s.pos, f"a {self.language.say(kind)} does not have as many bits as a {self.language.say(have)}", 8
            )
        return TypedConvert(s.pos, kind, v, bits=True)

    def aggregate(self, kind: Type, items: list[Syntax], pos: int, width: int) -> Typed:
        """Check the construction of an array or structure from its parts."""
        if isinstance(kind, ArrayType):
            wanted = [kind.of] * min(kind.count, LARGEST)
        elif isinstance(kind, StructType):
            wanted = [f.type for f in kind.fields]
        else:
            wanted = []
        if len(items) != len(wanted):
            raise ShadingError(pos, f"{self.language.say(kind)} has {len(wanted)} parts, not {len(items)}", width)
        return TypedConstruct(
            pos, kind, [self.wanted(i, t, f"part {k + 1}") for k, (i, t) in enumerate(zip(items, wanted, strict=True))]
        )

    def filled(self, kind: Type, value: Typed) -> Typed:
        """Check `(type)value`: in Cg, a number fills every part of a structure or array."""
        if value.type == kind:
            return value
        if not isinstance(value, TypedConstant):
            raise ShadingError(value.pos, f"only a constant becomes a whole {self.language.say(kind)}")
        if isinstance(kind, ArrayType):
            parts = [self.filled(kind.of, value)] * kind.count
        elif isinstance(kind, StructType):
            parts = [self.filled(f.type, value) for f in kind.fields]
        else:
            return convert(value, kind, self.language)
        return TypedConstruct(value.pos, kind, parts)

    def braces(self, s: BracesSyntax, to: Type) -> Typed:
        """Check an initializer list for a type."""
        if isinstance(to, ArrayType) and not to.count:
            to = ArrayType(to.of, len(s.items))
        if isinstance(to, Numeric):
            if to.is_matrix and len(s.items) == to.vectors and any(isinstance(i, BracesSyntax) for i in s.items):
                return TypedConstruct(s.pos, to, [self.wanted(i, to.row, "a part") for i in s.items])
            if any(isinstance(i, BracesSyntax) for i in s.items):
                raise ShadingError(s.pos, f"a {self.language.say(to)} is not nested like this")
            parts = [self.number(i) for i in s.items]
            if not parts:
                raise ShadingError(s.pos, f"a {self.language.say(to)} is made of something")
            return self.construct(to, parts, s.pos, 1)
        flat = isinstance(to, ArrayType) and isinstance(to.of, Numeric) and len(s.items) == to.count * to.of.components
        if flat and isinstance(to, ArrayType) and isinstance(to.of, Numeric) and to.of.components > 1:
            n = to.of.components
            groups = [BracesSyntax(s.pos, 1, s.items[k : k + n]) for k in range(0, len(s.items), n)]
            return self.aggregate(to, list(groups), s.pos, 1)
        return self.aggregate(to, s.items, s.pos, 1)

    def of_BracesSyntax(self, s: BracesSyntax) -> Typed:
        raise ShadingError(s.pos, "values in braces stand only after `=`")


def _alike(a: Type, b: Type) -> bool:
    """Return whether two types are numbers of the same shape."""
    return isinstance(a, Numeric) and isinstance(b, Numeric) and a.shape == b.shape


def _matrix_places(kind: Numeric, name: str) -> tuple[int, ...] | None:
    """Return the components that `_m00_m12` or `_11_23` name, None for another name."""
    out: list[int] = []
    for part in name.split("_")[1:]:
        zero = part.startswith("m")
        digits = part[1:] if zero else part
        if len(digits) != 2 or not digits.isdecimal() or not digits.isascii():
            return None
        row, column = (int(d) - (not zero) for d in digits)
        if not (0 <= row < kind.vectors and 0 <= column < kind.size):
            return None
        out.append(row * kind.size + column)
    return tuple(out) if name.startswith("_") and 1 <= len(out) <= 4 else None
