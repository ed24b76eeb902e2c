"""Overload resolution: the function that a call means, and the conversions of its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from isakit.compile.shading.conversion import IMPOSSIBLE, common_base, computed, convert, cost
from isakit.compile.shading.intrinsics import INTRINSICS, Intrinsic
from isakit.compile.shading.language import Language
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.typed import Typed, TypedConstant, TypedFunction, TypedIntrinsic
from isakit.compile.shading.types import BOOL, FLOAT, INT, UINT, VOID, Base, Numeric, SamplerType, Type

_GENERIC = frozenset("FNIB")
_EXACT = {"f": Numeric(FLOAT), "2": Numeric(FLOAT, 2), "3": Numeric(FLOAT, 3), "4": Numeric(FLOAT, 4),
          "u": Numeric(UINT), "b": Numeric(BOOL), "S": SamplerType("2d"), "C": SamplerType("cube"),
          "1": SamplerType("1d"), "D": SamplerType("3d"), "v": VOID}  # fmt: skip


class Fit:
    """A matched signature: the result, the parameters, and the cost of the conversions."""

    def __init__(self, intrinsic: Intrinsic, result: Type, parameters: list[Type], price: int) -> None:
        self.intrinsic, self.result, self.parameters, self.price = intrinsic, result, parameters, price


def _floats(values: Sequence[Typed], letters: str) -> Base:
    """Return the base of float parameters without a base of their own: half where all arguments are."""
    found = [v for v, k in zip(values, letters, strict=True)
             if k in "FNfn234M" and isinstance(v.type, Numeric) and v.type.is_float]  # fmt: skip
    return common_base(found) if found else FLOAT


def _fitted(intrinsic: Intrinsic, signature: str, values: Sequence[Typed], language: Language) -> Fit | None:
    """Return the match of a signature with arguments, None if it does not accept them."""
    result, letters = signature.split(":")
    if len(letters) != len(values):
        return None
    generic = [v for v, k in zip(values, letters, strict=True) if k in _GENERIC]
    if any(not isinstance(v.type, Numeric) or v.type.is_matrix for v in generic):
        return None
    size = 1
    if generic:
        sizes = {v.numeric.size for v in generic}
        longer = sizes - {1}
        if (not language.converts and len(sizes) > 1) or (len(longer) > 1 and not language.converts):
            return None
        size = min(longer, default=1)
    numbers = [v for v, k in zip(values, letters, strict=True) if k in "FNI"]
    base = computed(common_base(numbers)) if numbers else FLOAT
    if base.kind != "float" and "F" in letters:
        base = FLOAT
    if base.kind == "float" and "I" in letters:
        if not language.converts:
            return None
        base = INT
    if base.kind == "float":
        base = _floats(values, letters)
    if "N" in letters and not language.converts and any(v.numeric.is_bool for v in numbers):
        return None
    kinds: list[Type] = []
    for v, k in zip(values, letters, strict=True):
        if k in "FNI":
            kinds.append(Numeric(base, size))
        elif k == "n":
            kinds.append(Numeric(base))
        elif k == "B":
            kinds.append(Numeric(BOOL, size))
        elif k == "M":
            if not isinstance(v.type, Numeric) or v.type.vectors != v.type.size:
                return None
            kinds.append(Numeric(base, v.type.size, v.type.size))
        elif k in "f234":
            kinds.append(Numeric(_floats(values, letters) if "F" in letters else FLOAT, _EXACT[k].size))  # type: ignore[union-attr]
        else:
            kinds.append(_EXACT[k])
    price = sum(cost(v, k, language) for v, k in zip(values, kinds, strict=True))
    if price >= IMPOSSIBLE:
        return None
    results: dict[str, Type] = {
        "F": Numeric(base if base.kind == "float" else FLOAT, size),
        "N": Numeric(base, size), "B": Numeric(BOOL, size), "f": Numeric(base),
        "I": Numeric(INT, size), "U": Numeric(UINT, size), "M": kinds[0] if kinds else VOID,
    }  # fmt: skip
    return Fit(intrinsic, results.get(result) or _result(result, letters, base), kinds, price)


def _result(letter: str, letters: str, base: Base) -> Type:
    kind = _EXACT[letter]
    return kind.of(base) if letter in "34" and letters == "33" and isinstance(kind, Numeric) else kind


def intrinsic_call(name: str, values: list[Typed], language: Language, pos: int, table: str = "") -> Typed | None:
    """Check a call of a function of the language; None if there is none of that name. Raises ShadingError.

    `table`: the language whose functions are searched, if it differs.
    """
    known = INTRINSICS[table or language.name].get(name)
    if known is None:
        return None
    fits = [
        fit
        for intrinsic in known
        for signature in intrinsic.signatures
        if signature != "=" and (fit := _fitted(intrinsic, signature, values, language)) is not None
    ]
    special = next((i for i in known if i.signatures == ("=",)), None)
    if special is not None:
        return _matrices(special.op, values, pos, name, language)
    if not fits:
        solid = next((v.type for v in values if isinstance(v.type, SamplerType) and v.type.kind in ("1d", "3d")), None)
        if solid is not None:
            raise ShadingError(pos, f"{solid.kind.upper()} textures are not supported", len(name))
        given = ", ".join(language.say(v.type) for v in values)
        raise ShadingError(pos, f"there is no `{name}({given})`", len(name), (_taken(known),))
    best = min(fits, key=lambda f: f.price)
    arguments = [convert(v, k, language) for v, k in zip(values, best.parameters, strict=True)]
    return TypedIntrinsic(pos, best.result, best.intrinsic.op, arguments)


def _taken(known: list[Intrinsic]) -> str:
    counts = sorted({len(s.partition(":")[2]) for i in known for s in i.signatures})
    return f"it takes {' or '.join(map(str, counts))} argument{'s' * (counts != [1])}"


def _matrices(op: str, values: list[Typed], pos: int, name: str, language: Language) -> Typed:
    """Return the result of `mul`, `transpose`, `outerProduct`, whose type depends on the shapes of matrices."""
    kinds = [v.type for v in values]
    wrong = ShadingError(pos, f"there is no `{name}({', '.join(map(language.say, kinds))})`", len(name))
    if any(not isinstance(k, Numeric) for k in kinds):
        raise wrong
    numbers = [v.numeric for v in values]
    if op == "transpose":
        if len(numbers) != 1 or not numbers[0].is_matrix:
            raise wrong
        (m,) = numbers
        return TypedIntrinsic(pos, Numeric(m.base, m.vectors, m.size), op, values)
    if len(numbers) != 2:
        raise wrong
    if op == "outerProduct":
        column, row = numbers
        if column.is_matrix or row.is_matrix or min(column.size, row.size) < 2:
            raise wrong
        return TypedIntrinsic(pos, Numeric(column.base, column.size, row.size), op, values)
    made = product(values[0], values[1], language, pos, rows_first=True)
    if made is None:
        raise wrong
    return made


def product(a: Typed, b: Typed, language: Language, pos: int, rows_first: bool) -> Typed | None:
    """Check the matrix product of two values; None if their sizes do not match.

    `rows_first`: the vectors of a matrix are its rows (Cg), and not its columns (GLSL): a matrix of one is the
    transpose of that of the other, so that the operands are exchanged.
    """
    base = common_base([a, b])
    if base.kind != "float":
        base = FLOAT if base.kind != "int" else base
    m, n = a.numeric, b.numeric
    a, b = convert(a, m.of(base), language), convert(b, n.of(base), language)
    if not rows_first:
        a, b, m, n = b, a, n, m
    # From here on matrices are rows: a is m.vectors x m.size.
    if m.is_matrix and n.is_matrix:
        if m.size != n.vectors:
            return None
        return TypedIntrinsic(pos, Numeric(base, n.size, m.vectors), "mul", [a, b])
    if m.is_matrix:
        if n.is_scalar:
            return None
        return TypedIntrinsic(pos, Numeric(base, m.vectors), "mul", [a, b]) if m.size == n.size else None
    if n.is_matrix:
        return TypedIntrinsic(pos, Numeric(base, n.size), "mul", [a, b]) if m.size == n.vectors else None
    if m.is_scalar or n.is_scalar or m.size != n.size or not rows_first:
        return None
    return TypedIntrinsic(pos, Numeric(base), "dot", [a, b])


def chosen(known: list[TypedFunction], values: list[Typed], language: Language, pos: int) -> TypedFunction | None:
    """Return the function of the text that a call resolves to; None if none accepts the arguments.

    Raises ShadingError.
    """
    best: list[TypedFunction] = []
    lowest = IMPOSSIBLE
    for f in known:
        if len(f.parameters) != len(values):
            continue
        price = 0
        for p, v in zip(f.parameters, values, strict=True):
            price += cost(v, p.type, language)
        if price < lowest:
            best, lowest = [f], price
        elif price == lowest < IMPOSSIBLE:
            best.append(f)
    if len(best) > 1 and not all(isinstance(v, TypedConstant) for v in values):
        both = " and ".join(f"`{f}`" for f in best[:2])
        raise ShadingError(pos, f"this call can mean {both}", len(best[0].name))
    return best[0] if best else None
