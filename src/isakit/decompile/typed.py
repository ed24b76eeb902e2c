"""From graphs of bits to typed terms: which bits are floats follows from the operations that produce and use them."""

from __future__ import annotations

import math
from collections.abc import Callable

from isakit.decompile.comparisons import INFINITY, MAGNITUDE, SIGN, equals, integer_comparison, zero_comparison
from isakit.decompile.interface import Fetch, Symbol, TargetColor, Texel
from isakit.decompile.terms import Term, Terms
from isakit.errors import NotModelled
from isakit.float_bits import float_of_bits
from isakit.sem.operation import Statics
from isakit.sem.value import Value, mask, signed

_FUNCTIONS = {"rsqrt_f32": "inversesqrt", "log2_f32": "log2", "exp2_f32": "exp2", "ieee_min": "min", "ieee_max": "max"}
_OPERATORS = {"ieee_add": "+", "ieee_mul": "*", "ieee_div": "/"}
_ROUNDINGS = {"rm": "floor", "rp": "ceil", "rz": "trunc", "rn": "roundEven"}
_RELATIONS = {1: "<", 2: "==", 3: "<=", 4: ">", 6: ">=", 13: "!="}
"""Sets of the four bits of `ieee_compare` and the operators that hold for them."""
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
_INTEGER = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_MASKED = ("add", "sub", "mul")
"""Operations whose result can be wider than their operands."""


class Typing:
    """Reads values as floats, unsigned integers or conditions. Raises NotModelled for other values.

    `exact` keeps operations that only affect the sign of a zero.
    """

    def __init__(self, terms: Terms, exact: bool) -> None:
        self.terms, self.exact = terms, exact
        self._done: dict[tuple[str, int], Term] = {}
        self._kept: list[Value] = []

    def _once(self, reading: str, v: Value, make: Callable[[Value], Term]) -> Term:
        key = reading, id(v)
        if key not in self._done:
            self._kept.append(v)
            self._done[key] = make(v)
        return self._done[key]

    # --- floats ------------------------------------------------------------------------------------------------------
    def float(self, v: Value) -> Term:
        """Return a value of 32 bits as f32, one of 16 bits as the f32 equal to the f16."""
        return self._once("float", v, self._half if v.width == 16 else self._float)

    def _number(self, value: float) -> Term:
        return self.terms.number(value, "float")

    def _float(self, v: Value) -> Term:
        if v.op == "const":
            value = float_of_bits(v.attr)
            if v.attr & INFINITY == INFINITY:
                return self.terms.make("uintBitsToFloat", "float", self.uint(v))
            return self._number(value)
        if v.op == "symbol" and getattr(v.attr, "ty", "") == "f32":
            return self._symbol(v)
        if v.op == "select":
            return self._choice(v, self.float)
        if v.op == "xor" and equals(v.args[1], SIGN):
            return self.terms.make("-x", "float", self.float(v.args[0]))
        if v.op == "and" and equals(v.args[1], MAGNITUDE):
            return self.terms.make("abs", "float", self.float(v.args[0]))
        if v.op == "call":
            found = self._call(v)
            if found is not None:
                return found
        return self.terms.make("uintBitsToFloat", "float", self.uint(v))

    def _call(self, v: Value) -> Term | None:
        operation, statics = v.attr[0].name, dict(v.attr[1])
        make = self.terms.make
        if operation in _OPERATORS and statics.get("rounding", "rn") == "rn" and statics.get("format", "f32") == "f32":
            return self._derivative(v) or self._arithmetic(_OPERATORS[operation], *map(self.float, v.args))
        if operation == "ieee_fma":
            a, b, c = map(self.float, v.args)
            if any(_is_number(x, 1.0) for x in (a, b)) or (_is_number(c, 0.0) and not self.exact):
                return self._arithmetic("+", self._arithmetic("*", a, b), c)
            return make("fma", "float", *map(self.float, v.args))
        if operation in _FUNCTIONS:
            return make(_FUNCTIONS[operation], "float", *map(self.float, v.args))
        if operation == "ieee_round":
            return make(_ROUNDINGS[statics.get("rounding", "rn")], "float", self.float(v.args[0]))
        if operation == "ieee_convert" and statics["to"] == "f32" and statics["source"] == "f16":
            return self.float(v.args[0])
        if operation == "int_to_float":
            return make("float", "float", self._integer(v.args[0], statics["source"]))
        if operation == "ratio_to_float":
            return self._ratio(v.args[0], statics)
        return None

    def _arithmetic(self, operator: str, a: Term, b: Term) -> Term:
        for x, y in ((a, b), (b, a)):
            if operator == "*" and _is_number(y, 1.0):
                return x
            if operator == "+" and _is_number(y, 0.0) and (not self.exact or math.copysign(1, y.attr) < 0):
                return x
        if operator == "+" and b.op == "number" and b.attr < 0:
            return self.terms.make("-", "float", a, self._number(-b.attr))
        if operator == "+" and b.op == "-x":
            return self.terms.make("-", "float", a, b.args[0])
        if operator == "+" and a.op == "-x":
            return self.terms.make("-", "float", b, a.args[0])
        return self.terms.make(operator, "float", a, b)

    def _derivative(self, v: Value) -> Term | None:
        """Return dFdx or dFdy: the difference of two neighbours in the quad."""
        if v.attr[0].name != "ieee_add":
            return None
        there, other = v.args
        if other.op != "xor" or not equals(other.args[1], SIGN) or there.op != "machine":
            return None
        here = other.args[0]
        if here.op != "machine" or here.attr[0] != "quad" or there.args[0] is not here.args[0]:
            return None
        step = dict(there.attr[1]).get("with_")
        if step != dict(here.attr[1]).get("without"):
            return None
        return self.terms.make("dFdx" if step == 1 else "dFdy", "float", self.float(there.args[0]))

    def _half(self, v: Value) -> Term:
        make = self.terms.make
        if v.op == "const":
            value = float_of_bits(v.attr, "f16")
            if value == value and abs(value) != float("inf"):
                return self._number(value)
        if v.op == "symbol" and getattr(v.attr, "ty", "") == "f16":
            return self._rounded(self._symbol(v)) if self.exact else self._symbol(v)
        if v.op == "select":
            return self._choice(v, self.float)
        if v.op == "call" and v.attr[0].name == "ieee_convert":
            return self._rounded(self.float(v.args[0]))
        return make("unpackHalf", "float", self.uint(v.zext(32)))

    def _rounded(self, term: Term) -> Term:
        """Return a float rounded to an f16, once."""
        return term if term.op == "f16" else self.terms.make("f16", "float", term)

    def _ratio(self, v: Value, statics: Statics) -> Term:
        """Return an integer as a fraction; a texel's component is one already, and a result's is rounded to one."""
        signed_source, maximum, low = statics["source"][0] == "s", statics["maximum"], statics["low"]
        if v.op == "symbol" and isinstance(v.attr, Texel | TargetColor) and maximum == mask(v.width):
            return self._symbol(v)
        if v.op == "zext" and v.args[0].op == "symbol" and maximum == mask(v.args[0].width):
            return self._ratio(v.args[0], statics)
        rounded = v.args[0] if v.op in ("zext", "extract") else v
        if rounded.op == "call" and rounded.attr[0].name == "float_to_ratio" and not signed_source:
            made = {"rounding": "rn", **dict(rounded.attr[1])}
            if [made[k] for k in ("low", "high", "maximum", "rounding")] == [0, maximum, maximum, "rn"]:
                return self.terms.make(f"unorm{maximum.bit_length()}", "float", self.float(rounded.args[0]))
        if v.op == "const" and not signed_source:
            return self._number(v.attr / maximum)
        number = self._integer(v, statics["source"])
        if signed_source:
            number = self.terms.make("max", "int", number, self.terms.number(low, "int"))
        as_float = self.terms.make("float", "float", number)
        return self.terms.make("/", "float", as_float, self._number(float(maximum)))

    def _symbol(self, v: Value) -> Term:
        s = v.attr
        if isinstance(s, Symbol):
            return self.terms.make("symbol", "float" if s.ty in ("f32", "f16") else "uint", attr=s)
        if isinstance(s, Texel):
            return self._texel(s.fetch, s.component)
        if isinstance(s, TargetColor) and s.component is not None:
            last = Symbol("gl_LastFragData", 0, 4, s.component, "f32")
            return self.terms.make("symbol", "float", attr=last)
        if isinstance(s, TargetColor):
            raise NotModelled("an expression for the colour that was in the target before")
        raise NotModelled("an expression for the address of a buffer or the state of a texture")

    def _texel(self, fetch: Fetch, component: int) -> Term:
        args = tuple(self.float(c) for c in (*fetch.coordinate, *fetch.extra))
        return self.terms.make("texel", "float", *args, attr=(fetch, component))

    def _choice(self, v: Value, read: Callable[[Value], Term]) -> Term:
        a, b = read(v.args[1]), read(v.args[2])
        if a is b:
            return a
        condition = self.condition(v.args[0])
        if condition.op in ("!", "!="):  # texts that say the same are the same
            condition, a, b = self._opposite(condition), b, a
        return self.terms.make("?:", a.type, condition, a, b)

    def result(self, components: list[Value], ty: str, scale: int | None) -> list[Term]:
        """Return the components of a result as the numbers they represent."""
        if ty in ("f32", "f16"):
            return [self.float(v) for v in components]
        if scale is not None and ty[0] == "u":
            return [self._ratio(v, {"source": ty, "maximum": scale, "low": 0}) for v in components]
        if scale is not None:
            return [
                self.terms.make("/", "float", self.terms.make("float", "float", self._integer(v, ty)),
                                self._number(float(scale)))
                for v in components
            ]  # fmt: skip
        return [self._integer(v, ty) for v in components]

    # --- integers ----------------------------------------------------------------------------------------------------
    def _integer(self, v: Value, kind: str) -> Term:
        """Return a value as `u8`, `s16` and so on: signed ones are sign-extended."""
        width = int(kind[1:])
        v = v if v.width <= width else v.bits(0, width)
        if v.width > 32:
            raise NotModelled(f"an expression for {v.width} bits at once")
        if kind[0] == "u":
            return self.uint(v)
        if v.op == "const":
            return self.terms.number(signed(v.attr, v.width), "int")
        return self.terms.make("int", "int", self.uint(v if v.width == 32 else v.sext(32)))

    def uint(self, v: Value) -> Term:
        """Return a value's bits as an unsigned number."""
        return self._once("uint", v, self._uint)

    def _constant(self, n: int) -> Term:
        return self.terms.number(n, "uint")

    def _cut(self, term: Term, width: int) -> Term:
        return term if _width(term) <= width else self._masked(term, self._constant(mask(width)))

    def _masked(self, a: Term, b: Term) -> Term:
        """Return `a & b`; two masks are combined."""
        if b.op == "number" and a.op == "&" and a.args[1].op == "number":
            a, b = a.args[0], self._constant(int(a.args[1].attr) & int(b.attr))
        return self.terms.make("&", "uint", a, b)

    def _uint(self, v: Value) -> Term:
        if v.width > 32:
            raise NotModelled(f"an expression for {v.width} bits at once")
        make = self.terms.make
        if v.op == "const":
            return self._constant(v.attr)
        if v.width == 1:
            return make("uint", "uint", self.condition(v))
        if v.op == "symbol":
            return self._symbol_bits(v)
        if v.op == "select":
            return self._choice(v, self.uint)
        if v.op == "and":
            return self._masked(*map(self.uint, v.args))
        if v.op in _INTEGER:
            term = make(_INTEGER[v.op], "uint", *map(self.uint, v.args))
            return self._cut(term, v.width) if v.op in _MASKED else term
        if v.op == "not":
            return self._cut(make("~", "uint", self.uint(v.args[0])), v.width)
        if v.op == "zext":
            return self.uint(v.args[0])
        if v.op == "sext":
            narrow = v.args[0].width
            shifted = make("<<", "uint", self.uint(v.args[0]), self._constant(32 - narrow))
            wide = make(">>", "int", make("int", "int", shifted), self._constant(32 - narrow))
            return self._cut(make("uint", "uint", wide), v.width)
        if v.op == "extract":
            source = v.args[0]
            term = self.uint(source)
            term = term if v.attr == 0 else make(">>", "uint", term, self._constant(v.attr))
            return self._cut(term, v.width) if v.attr + v.width < source.width else term
        if v.op == "concat":
            hi, lo = v.args
            upper = make("<<", "uint", self.uint(hi), self._constant(lo.width))
            return make("|", "uint", upper, self.uint(lo))
        if v.op in ("shl", "lshr", "ashr"):
            return self._shift(v)
        if v.op == "udiv":
            return make("/", "uint", *map(self.uint, v.args))
        if v.op == "call":
            return self._call_bits(v)
        raise NotModelled(f"an expression for {v.op} of {v.width} bits")

    def _shift(self, v: Value) -> Term:
        value, count = v.args
        make = self.terms.make
        if count.op == "const":
            by = self._constant(min(count.attr, v.width - 1))
            if count.attr >= v.width and v.op != "ashr":
                return self._constant(0)
        elif count.op == "and" and any(a.op == "const" and a.attr < v.width for a in count.args):
            by = self.uint(count)
        else:
            raise NotModelled("an expression for a shift by a register")
        if v.op == "ashr":
            signed_value = make("int", "int", self.uint(value if v.width == 32 else value.sext(32)))
            return self._cut(make("uint", "uint", make(">>", "int", signed_value, by)), v.width)
        term = make("<<" if v.op == "shl" else ">>", "uint", self.uint(value), by)
        return self._cut(term, v.width) if v.op == "shl" else term

    def _symbol_bits(self, v: Value) -> Term:
        s, make = v.attr, self.terms.make
        term = self._symbol(v)
        if isinstance(s, Symbol) and term.type == "uint":
            return self._cut(term, v.width)
        if v.width == 32:
            return make("floatBitsToUint", "uint", term)
        if v.width == 16:
            return make("packHalf", "uint", term)
        scaled = make("roundEven", "float", make("*", "float", term, self._number(float(mask(v.width)))))
        return make("uint", "uint", scaled)

    def _call_bits(self, v: Value) -> Term:
        name, statics, make = v.attr[0].name, dict(v.attr[1]), self.terms.make
        if v.width == 32 and self._call(v) is not None:
            return make("floatBitsToUint", "uint", self.float(v))
        if name == "ieee_convert" and statics["to"] == "f16":
            return make("packHalf", "uint", self.float(v.args[0]))
        if name == "float_to_ratio" and statics.get("rounding", "rn") == "rn":
            low, high, maximum = (self._number(float(statics[k])) for k in ("low", "high", "maximum"))
            scaled = make("*", "float", self.float(v.args[0]), maximum)
            return self._clamped(scaled, low, high, "roundEven", v.width)
        if name == "float_to_int":
            kind = statics["to"]
            width = int(kind[1:])
            low = -(1 << width - 1) if kind[0] == "s" else 0
            high = mask(width - 1) if kind[0] == "s" else mask(width)
            bounds = self._number(float(low)), self._number(float(high))
            rounding = _ROUNDINGS[statics.get("rounding", "rz")]
            return self._clamped(self.float(v.args[0]), *bounds, rounding, v.width)
        raise NotModelled(f"an expression for {name}")

    def _clamped(self, value: Term, low: Term, high: Term, rounding: str, width: int) -> Term:
        make = self.terms.make
        inside = make("clamp", "float", make(rounding, "float", value), low, high)
        if low.attr < 0:
            return self._cut(make("uint", "uint", make("int", "int", inside)), width)
        return make("uint", "uint", inside)

    # --- conditions --------------------------------------------------------------------------------------------------
    def condition(self, v: Value) -> Term:
        """Return a value of one bit as a condition."""
        return self._once("bool", v, self._condition)

    def _condition(self, v: Value) -> Term:
        make = self.terms.make
        if v.op == "const":
            return self.terms.number(bool(v.attr), "bool")
        relation = self._relation(v) or self._float_test(v) or self._integer_test(v)
        if relation is not None:
            return relation
        if v.op == "not":
            return self._negated(v.args[0])
        if v.op in ("and", "or", "xor"):
            return make({"and": "&&", "or": "||", "xor": "!="}[v.op], "bool", *map(self.condition, v.args))
        if v.op == "select":
            return self._choice(v, self.condition)
        if v.op == "eq":
            return make("==", "bool", *map(self.uint, v.args))
        if v.op == "ult":
            return make("<", "bool", *map(self.uint, v.args))
        if v.op == "slt":
            kind = f"s{v.args[0].width}"
            return make("<", "bool", *(self._integer(a, kind) for a in v.args))
        if v.op == "extract":
            bit = make("&", "uint", self.uint(v.args[0]), self._constant(1 << v.attr))
            return make("!=", "bool", bit, self._constant(0))
        raise NotModelled(f"an expression for the condition {v.op}")

    def _integer_test(self, v: Value) -> Term | None:
        """Return a condition as a comparison of integers, None if it is not one."""
        found = integer_comparison(v)
        if found is None:
            return None
        less, comparison, holds = found
        term = self.condition(less)
        relation = self.terms.make(comparison, "bool", *term.args)
        return relation if holds else self._opposite(relation)

    def _negated(self, v: Value) -> Term:
        inner = self.condition(v)
        if inner.op in ("&&", "||"):
            parts = [self._opposite(a) for a in inner.args]
            return self.terms.make("||" if inner.op == "&&" else "&&", "bool", *parts)
        return self._opposite(inner)

    def _opposite(self, term: Term) -> Term:
        opposite = _OPPOSITES.get(term.op)
        if opposite and (term.op in ("==", "!=") or term.args[0].type != "float"):  # a NaN is not less and not greater
            return self.terms.make(opposite, "bool", *term.args)
        return term.args[0] if term.op == "!" else self.terms.make("!", "bool", term)

    def _relation(self, v: Value) -> Term | None:
        """Return `(ieee_compare(a, b) & wanted) != 0`."""
        if v.op != "not" or v.args[0].op != "eq" or not equals(v.args[0].args[1], 0):
            return None
        tested = v.args[0].args[0]
        if tested.op != "and" or tested.args[0].op != "call" or tested.args[0].attr[0].name != "ieee_compare":
            return None
        operator = _RELATIONS.get(tested.args[1].attr) if tested.args[1].op == "const" else None
        if operator is None:
            return None
        return self.terms.make(operator, "bool", *map(self.float, tested.args[0].args))

    def _float_test(self, v: Value) -> Term | None:
        """Return a comparison of a float with zero, None if the condition is not one."""
        found = zero_comparison(v)
        if found is None:
            return None
        x, comparison, holds = found
        term = self.float(x)
        if comparison == "==":
            return self._equals_zero(term)
        operands = (term, self._number(0.0))
        if term.op == "-" and (comparison == "<" or "number" in (term.args[0].op, term.args[1].op)):
            # A difference is below zero where its operands are in that order, whatever they are; with a number, which
            # is finite, it is zero where they are equal.
            operands = term.args
        relation = self.terms.make(comparison, "bool", *operands)
        return relation if holds else self.terms.make("!", "bool", relation)

    def _equals_zero(self, term: Term) -> Term:
        """Return the test of a float for zero; a difference to a finite number is zero where the two are equal."""
        if term.op in ("+", "-") and term.args[1].op == "number":
            number = term.args[1].attr if term.op == "-" else -term.args[1].attr
            return self.terms.make("==", "bool", term.args[0], self._number(number))
        if term.op == "-" and term.args[0].op == "number":
            return self.terms.make("==", "bool", term.args[1], term.args[0])
        return self.terms.make("==", "bool", term, self._number(0.0))


def _is_number(t: Term, value: float) -> bool:
    return t.op == "number" and t.attr == value


def _width(t: Term) -> int:
    """Return an upper bound of the width of an unsigned number in bits."""
    if t.op == "number":
        return int(t.attr).bit_length()
    if t.op == "&":
        return min(map(_width, t.args))
    if t.op == ">>" and t.type == "uint" and t.args[1].op == "number":
        return max(0, _width(t.args[0]) - int(t.args[1].attr))
    return 32
