"""Routines of cuBLAS, on views of the device's memory.

Matrices are in column-major order. A routine computes in the precision of its elements and writes after it has read
everything, so that operands may overlap as in the original. The original's rounding is not modelled: sums are in
NumPy's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isakit.engine.protocol import Array
from isakit.hosts.cuda.libraries import DeviceArrays

ELEMENTS = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
REALS = {"S": np.float32, "D": np.float64, "C": np.float32, "Z": np.float64}


class InvalidOperand(Exception):
    """A size, leading dimension or letter that a routine does not accept."""


Scalar = complex | np.generic
"""A factor, or a scalar result."""


@dataclass
class Operands:
    """Arguments of a routine: numbers by the names of the table, and the memory that addresses refer to."""

    element: str
    given: Mapping[str, Any]
    arrays: DeviceArrays

    def __getattr__(self, name: str) -> Any:
        try:
            return self.given[name]
        except KeyError:
            raise AttributeError(name) from None

    @cached_property
    def dtype(self) -> type[np.inexact]:
        """The type of the elements."""
        return ELEMENTS[self.element]

    @property
    def conjugate(self) -> bool:
        """True if the elements are complex."""
        return self.element in "CZ"

    def size(self, *names: str) -> tuple[int, ...]:
        """Return sizes by name. Raises InvalidOperand for a negative one."""
        for name in names:
            if self.given[name] < 0:
                raise InvalidOperand(f"{name} is {self.given[name]}")
        return tuple(self.given[name] for name in names)

    def vector(self, name: str, n: int) -> Array:
        """Return a vector of n elements; one with a negative increment begins at its end."""
        step = self.given[f"inc{name}"]
        if step == 0:
            raise InvalidOperand(f"inc{name} is 0")
        if n == 0:
            return np.empty(0, self.dtype)
        width = np.dtype(self.dtype).itemsize
        found = self.arrays(self.given[name], self.dtype, (n,), (abs(step) * width,))
        return found if step > 0 else found[::-1]

    def matrix(self, name: str, rows: int, columns: int) -> Array:
        """Return a column-major matrix, by its leading dimension."""
        return self.matrix_at(self.given[name], name, rows, columns)

    def matrix_at(self, address: int, name: str, rows: int, columns: int) -> Array:
        """Return a matrix at an address."""
        between = self.given[f"ld{name.lower()}"]
        if between < max(1, rows):
            raise InvalidOperand(f"ld{name.lower()} is {between} with {rows} rows")
        if not rows or not columns:
            return np.empty((rows, columns), self.dtype)
        width = np.dtype(self.dtype).itemsize
        return self.arrays(address, self.dtype, (rows, columns), (width, between * width))

    def packed(self, n: int) -> Array:
        """Return the elements of a packed triangle in column-major order."""
        count = n * (n + 1) // 2
        width = np.dtype(self.dtype).itemsize
        return self.arrays(self.A, self.dtype, (count,), (width,)) if count else np.empty(0, self.dtype)

    @property
    def upper(self) -> bool:
        """True if the upper triangle is stored."""
        return self.uplo == 1

    def triangle(self, stored: Array) -> Array:
        """Return a triangular matrix with zeros outside of the triangle, and ones on a unit diagonal."""
        out = np.triu(stored) if self.upper else np.tril(stored)
        if self.unit:
            np.fill_diagonal(out, 1)
        return out

    def whole(self, stored: Array, hermitian: bool) -> Array:
        """Return a symmetric or Hermitian matrix from its stored triangle."""
        kept = np.triu(stored) if self.upper else np.tril(stored)
        other = kept.T.conj() if hermitian else kept.T
        out = kept + other
        diagonal = np.diagonal(stored)
        np.fill_diagonal(out, np.real(diagonal) if hermitian else diagonal)
        return out

    def unpacked(self, n: int) -> Array:
        """Return a matrix from its packed triangle."""
        out = np.zeros((n, n), self.dtype)
        out.T[_packed_order(n, self.upper)] = self.packed(n)
        return out

    def pack(self, matrix: Array) -> None:
        """Store a packed triangle."""
        n = len(matrix)
        self.packed(n)[...] = matrix.T[_packed_order(n, self.upper)]

    def banded(self, rows: int, columns: int, lower: int, upper: int) -> Array:
        """Return a banded matrix, whose diagonals are stored as rows."""
        stored = self.matrix("A", lower + upper + 1, columns)
        out = np.zeros((rows, columns), self.dtype)
        for k in range(-lower, upper + 1):
            at = np.arange(max(0, k), min(columns, rows + k))
            out[at - k, at] = stored[upper - k, at]
        return out

    def band(self, n: int) -> Array:
        """Return a square matrix from the stored diagonals of one triangle."""
        (k,) = self.size("k")
        return self.banded(n, n, 0, k) if self.upper else self.banded(n, n, k, 0)


def _packed_order(n: int, upper: bool) -> tuple[Array, Array]:
    """Return the positions (column, row) of the elements of a packed triangle, in order."""
    return np.tril_indices(n) if upper else np.triu_indices(n)


def _operation(matrix: Array, trans: int) -> Array:
    """Return a matrix unchanged (0), transposed (1) or conjugate-transposed (2)."""
    if trans not in (0, 1, 2):
        raise InvalidOperand(f"the operation {trans}")
    return matrix if trans == 0 else matrix.T if trans == 1 else matrix.T.conj()


def _sum(alpha: Scalar, product: Array, beta: Scalar, old: Array) -> Array:
    """Return alpha * product + beta * old; old is not read if beta is 0."""
    return alpha * product if beta == 0 else alpha * product + beta * old


def solved(triangle: Array, right: Array, upper: bool) -> Array:
    """Return x of triangle @ x = right, by substitution; zeros on the diagonal give infinities."""
    out = right.copy()
    n = len(triangle)
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        out[i] = (out[i] - triangle[i, known] @ out[known]) / triangle[i, i]
    return out


# --- vectors --------------------------------------------------------------------------------------------------------
def _pair(o: Operands) -> tuple[Array, Array]:
    (n,) = o.size("n")
    return o.vector("x", n), o.vector("y", n)


def _axpy(o: Operands) -> None:
    x, y = _pair(o)
    y[...] = o.alpha * x + y


def _copy(o: Operands) -> None:
    x, y = _pair(o)
    y[...] = x.copy()


def _swap(o: Operands) -> None:
    x, y = _pair(o)
    x[...], y[...] = y.copy(), x.copy()


def _scal(o: Operands) -> None:
    (n,) = o.size("n")
    x = o.vector("x", n)
    x[...] = o.alpha * x


def _dot(o: Operands) -> Scalar:
    x, y = _pair(o)
    return np.dot(x, y)


def _dotc(o: Operands) -> Scalar:
    x, y = _pair(o)
    return np.vdot(x, y)


def _one(o: Operands) -> Array:
    """Return the vector of a routine that has only one; empty if `n` or `incx` is not positive."""
    return o.vector("x", o.n) if o.n > 0 and o.incx > 0 else np.empty(0, o.dtype)


def _nrm2(o: Operands) -> Scalar:
    return np.sqrt(np.sum(np.abs(_one(o).astype(np.complex128)) ** 2))


def _sizes(o: Operands) -> Array:
    x = _one(o)
    return np.abs(np.real(x)) + np.abs(np.imag(x))


def _asum(o: Operands) -> Scalar:
    return np.sum(_sizes(o))


def _extreme(find: Callable[[Array], np.intp]) -> Callable[[Operands], int]:
    def run(o: Operands) -> int:
        sizes = _sizes(o)
        return int(find(sizes)) + 1 if len(sizes) else 0

    return run


def _rot(o: Operands) -> None:
    x, y = _pair(o)
    x[...], y[...] = o.c * x + o.s * y, o.c * y - o.s * x


# --- matrices and vectors -------------------------------------------------------------------------------------------
def _gemv_with(o: Operands, matrix: Array) -> None:
    a = _operation(matrix, o.trans)
    y = o.vector("y", a.shape[0])
    y[...] = _sum(o.alpha, a @ o.vector("x", a.shape[1]), o.beta, y)


def _gemv(o: Operands) -> None:
    _gemv_with(o, o.matrix("A", *o.size("m", "n")))


def _gbmv(o: Operands) -> None:
    _gemv_with(o, o.banded(*o.size("m", "n", "kl", "ku")))


def _ger(conjugated: bool) -> Callable[[Operands], None]:
    def run(o: Operands) -> None:
        m, n = o.size("m", "n")
        a, y = o.matrix("A", m, n), o.vector("y", n)
        a[...] = a + o.alpha * np.outer(o.vector("x", m), y.conj() if conjugated else y)

    return run


def _stored(o: Operands, how: str) -> Array:
    (n,) = o.size("n")
    return o.matrix("A", n, n) if how == "full" else o.unpacked(n) if how == "packed" else o.band(n)


def _symmetric_product(how: str) -> Callable[[Operands], None]:
    def run(o: Operands) -> None:
        n = o.n
        a = o.whole(_stored(o, how), o.conjugate)
        y = o.vector("y", n)
        y[...] = _sum(o.alpha, a @ o.vector("x", n), o.beta, y)

    return run


def _rank_update(how: str, second: bool) -> Callable[[Operands], None]:
    def run(o: Operands) -> None:
        n, old = o.n, _stored(o, how)
        x = o.vector("x", n)
        if second:
            y = o.vector("y", n)
            added = o.alpha * np.outer(x, y.conj()) + np.conj(o.alpha) * np.outer(y, x.conj())
        else:
            added = o.alpha * np.outer(x, x.conj())
        _update(o, old, old + added, how)

    return run


def _update(o: Operands, old: Array, new: Array, how: str = "full") -> None:
    """Write one triangle; a Hermitian diagonal is real."""
    if o.conjugate and not o.given.get("symmetric"):
        np.fill_diagonal(new, np.real(np.diagonal(new)))
    if how == "packed":
        o.pack(new)
    else:
        kept = np.triu_indices(len(old)) if o.upper else np.tril_indices(len(old))
        old[kept] = new[kept]


def _triangular_vector(how: str, solve: bool) -> Callable[[Operands], None]:
    def run(o: Operands) -> None:
        a = _operation(o.triangle(_stored(o, how)), o.trans)
        x = o.vector("x", o.n)
        x[...] = solved(a, x, o.upper == (o.trans == 0)) if solve else a @ x

    return run


# --- matrices -------------------------------------------------------------------------------------------------------
def _inner(o: Operands, name: str, rows: int, columns: int, trans: int) -> Array:
    """Return a factor of a product, which is rows x columns after its operation."""
    shape = (rows, columns) if trans == 0 else (columns, rows)
    return _operation(o.matrix(name, *shape), trans)


def _gemm(o: Operands) -> None:
    m, n, k = o.size("m", "n", "k")
    c = o.matrix("C", m, n)
    product = _inner(o, "A", m, k, o.transa) @ _inner(o, "B", k, n, o.transb)
    c[...] = _sum(o.alpha, product, o.beta, c)


def _gemm_batched(o: Operands) -> None:
    (count,) = o.size("count")
    lists = {name: _addresses(o, name, count) for name in "ABC"}
    for at in range(count):
        _gemm(Operands(o.element, {**o.given, **{name: int(lists[name][at]) for name in "ABC"}}, o.arrays))


def _addresses(o: Operands, name: str, count: int) -> Array:
    return o.arrays(o.given[name], np.uint64, (count,), (8,)) if count else np.empty(0, np.uint64)


def _beside(o: Operands, square: Callable[[int], Array], to: str = "C") -> None:
    """Multiply by a square matrix from the left or right, into C."""
    m, n = o.size("m", "n")
    b, c = o.matrix("B", m, n), o.matrix(to, m, n)
    a = square(m if o.side == 0 else n)
    product = a @ b if o.side == 0 else b @ a
    c[...] = _sum(o.alpha, product, o.given.get("beta", 0), c)


def _symm(hermitian: bool) -> Callable[[Operands], None]:
    return lambda o: _beside(o, lambda n: o.whole(o.matrix("A", n, n), hermitian))


def _trmm(o: Operands) -> None:
    _beside(o, lambda n: _operation(o.triangle(o.matrix("A", n, n)), o.trans), "C" if "C" in o.given else "B")


def _trsm(o: Operands) -> None:
    m, n = o.size("m", "n")
    b = o.matrix("B", m, n)
    order = m if o.side == 0 else n
    a = _operation(o.triangle(o.matrix("A", order, order)), o.trans)
    upper = o.upper == (o.trans == 0)
    right = o.alpha * b
    b[...] = solved(a, right, upper) if o.side == 0 else solved(a.T, right.T, not upper).T


def _rank_k(hermitian: bool, second: bool) -> Callable[[Operands], None]:
    def run(o: Operands) -> None:
        n, k = o.size("n", "k")
        c, a = o.matrix("C", n, n), _inner(o, "A", n, k, o.trans)

        def other(x: Array) -> Array:
            return x.T.conj() if hermitian else x.T

        if second:
            b = _inner(o, "B", n, k, o.trans)
            added = o.alpha * (a @ other(b)) + (np.conj(o.alpha) if hermitian else o.alpha) * (b @ other(a))
        else:
            added = o.alpha * (a @ other(a))
        shown = Operands(o.element, {**o.given, "symmetric": not hermitian}, o.arrays)
        _update(shown, c, np.asarray(_sum(o.dtype(1), added, o.beta, c)))

    return run


def _geam(o: Operands) -> None:
    m, n = o.size("m", "n")
    a, b = _inner(o, "A", m, n, o.transa), _inner(o, "B", m, n, o.transb)
    o.matrix("C", m, n)[...] = o.alpha * a + o.beta * b


def _dgmm(o: Operands) -> None:
    m, n = o.size("m", "n")
    a, x = o.matrix("A", m, n), o.vector("x", m if o.side == 0 else n)
    o.matrix("C", m, n)[...] = x[:, None] * a if o.side == 0 else a * x


ROUTINES: Mapping[str, Callable[[Operands], Scalar | None]] = {
    "axpy": _axpy, "copy": _copy, "swap": _swap, "scal": _scal, "dot": _dot, "dotu": _dot, "dotc": _dotc,
    "nrm2": _nrm2, "asum": _asum, "amax": _extreme(np.argmax), "amin": _extreme(np.argmin), "rot": _rot,
    "gemv": _gemv, "gbmv": _gbmv, "ger": _ger(False), "geru": _ger(False), "gerc": _ger(True),
    "symv": _symmetric_product("full"), "hemv": _symmetric_product("full"), "sbmv": _symmetric_product("band"),
    "hbmv": _symmetric_product("band"), "spmv": _symmetric_product("packed"), "hpmv": _symmetric_product("packed"),
    "syr": _rank_update("full", False), "her": _rank_update("full", False), "syr2": _rank_update("full", True),
    "her2": _rank_update("full", True), "spr": _rank_update("packed", False), "hpr": _rank_update("packed", False),
    "spr2": _rank_update("packed", True), "hpr2": _rank_update("packed", True),
    "trmv": _triangular_vector("full", False), "tbmv": _triangular_vector("band", False),
    "tpmv": _triangular_vector("packed", False), "trsv": _triangular_vector("full", True),
    "tbsv": _triangular_vector("band", True), "tpsv": _triangular_vector("packed", True),
    "gemm": _gemm, "gemmBatched": _gemm_batched, "symm": _symm(False), "hemm": _symm(True),
    "syrk": _rank_k(False, False), "herk": _rank_k(True, False), "syr2k": _rank_k(False, True),
    "her2k": _rank_k(True, True), "trmm": _trmm, "trsm": _trsm, "geam": _geam, "dgmm": _dgmm,
}  # fmt: skip
"""Routines by their names without type letter."""


def run(routine: str, element: str, given: Mapping[str, Any], arrays: DeviceArrays) -> Scalar | None:
    """Run a routine; return its result, None if it has none. Raises InvalidOperand."""
    with np.errstate(all="ignore"):
        return ROUTINES[routine](Operands(element, given, arrays))
