"""Every instruction of high confidence against a NumPy formula on random inputs, in f32 and f16."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import usse
from support.generators.usse_lanes import LANES, f32, random_core, same


@pytest.fixture(scope="module")
def isa():
    return isakit.isa("usse")


@pytest.fixture
def core():
    return random_core()


def put_f16(core, register: int, seed: int) -> np.ndarray:
    """Four random f16 channels in a register pair of pa; returned as float16 [4, lanes]."""
    v = np.random.default_rng(seed).uniform(-8, 8, (4, LANES)).astype(np.float16)
    bits = v.view(np.uint16).astype(np.uint32)
    core.pa[register], core.pa[register + 1] = bits[0] | bits[1] << 16, bits[2] | bits[3] << 16
    return v


def f16(file: np.ndarray, register: int) -> np.ndarray:
    pair = np.ascontiguousarray(file[register : register + 2].T)
    return pair.view(np.float16).T


BINARY = {"mul": np.multiply, "add": np.add, "min": np.minimum, "max": np.maximum, "frc": lambda a, b: a - np.floor(b)}


@pytest.mark.parametrize("op", BINARY)
def test_two_sources_f32(isa, core, op):
    core.run(isa.assemble(f"v{op}.f32 r4.xy -pa2.xyzw sa6.yyyy\nv{op}.f32 i2.xyzw |pa2.wzyx| i1.xyzw"))
    pa, sa, i = f32(core.pa), f32(core.sa), f32(core.i)
    same(f32(core.r[4]), BINARY[op](-pa[2], sa[7]))
    same(f32(core.r[5]), BINARY[op](-pa[3], sa[7]))
    for k, letter in enumerate((5, 4, 3, 2)):
        same(i[8 + k], BINARY[op](np.abs(pa[letter]), i[4 + k]))


@pytest.mark.parametrize("op", BINARY)
def test_two_sources_f16(isa, core, op):
    a, b = put_f16(core, 2, 1), put_f16(core, 4, 2)
    before = core.r[9].copy()
    core.run(isa.assemble(f"v{op}.f16 r4.xyzw pa2.xyzw |pa4.xyzw|\nv{op}.f16 r8.y pa2.wzyx pa4.xyzw"))
    x, y = a.astype(np.float32), b.astype(np.float32)
    same(f16(core.r, 4), BINARY[op](x, np.abs(y)).astype(np.float16))
    same(f16(core.r, 8)[1], BINARY[op](x[2], y[1]).astype(np.float16))
    same(core.r[9], before)


def test_dot_of_the_two_source_group(isa, core):
    core.run(isa.assemble("vdp.f32 r4.xy pa0.xyz1 pa4.xyzw"))
    pa = f32(core.pa)
    expected = ((pa[0] * pa[4] + pa[1] * pa[5]) + pa[2] * pa[6]) + pa[7]
    same(f32(core.r[4]), expected)
    same(f32(core.r[5]), expected)


def test_constants_in_swizzles(isa, core):
    core.run(isa.assemble("vadd.f32 i0.xyzw pa0.012h c0.xxxx"))
    assert [float(f32(core.i[k])[0]) for k in range(4)] == [0.0, 1.0, 2.0, 0.5]


def fused(a, b, c):
    """One rounding: the product of two f32 is exact in f64, the sum is rounded to odd by hand where it matters."""
    from fractions import Fraction

    out = np.empty(a.shape, np.float32)
    for k in np.ndindex(a.shape):
        exact = Fraction(float(a[k])) * Fraction(float(b[k])) + Fraction(float(c[k]))
        near = np.float32(float(exact))
        candidates = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
        best = min(candidates, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.uint32)) & 1))
        out[k] = best
    return out


def test_multiply_add(isa, core):
    core.run(
        isa.assemble("""
        vmad2.f32 r4.xy |pa2.xyzw| -pa4.yyww pa6.xyzw
        vmad4.f32 i2.xyzw -i0.wzwz pa8.xyzw |i1.xyzw|
        vmad3.f32 r8.xy i0.111 pa8.xyz i1.000
    """)
    )
    pa, i = f32(core.pa), f32(core.i)
    same(f32(core.r[4]), fused(np.abs(pa[2]), -pa[5], pa[6]))
    same(f32(core.r[5]), fused(np.abs(pa[3]), -pa[5], pa[7]))
    for k, source in enumerate((3, 2, 3, 2)):
        same(i[8 + k], fused(-i[source], pa[8 + k], np.abs(i[4 + k])))
    same(f32(core.r[8:10]), pa[8:10])


def test_multiply_add_unfused(isa):
    plain = usse.Core(LANES, rules=usse.Rules(fused=False))
    r = np.random.default_rng(4)
    plain.pa[:8] = r.uniform(-1, 1, (8, LANES)).astype(np.float32).view(np.uint32)
    plain.run(isa.assemble("vmad2.f32 r4.xy pa2.xyzw pa4.xyzw pa6.xyzw"))
    pa = f32(plain.pa)
    same(f32(plain.r[4]), pa[2] * pa[4] + pa[6])


def test_multiply_add_f16(isa, core):
    a, b, c = (put_f16(core, 2 * k + 2, k).astype(np.float64) for k in range(3))
    core.run(isa.assemble("vmad2.f16 r4.xyzw pa2.xyzw pa4.xyzw pa6.xyzw\nvmad2.f16 r6.zw pa2.xxxx pa4.xyzw pa6.xyzw"))
    single = (a * b + c).astype(np.float32)  # products of f16 and this sum are exact in f64
    same(f16(core.r, 4), single.astype(np.float16))
    same(f16(core.r, 6)[2:], (a[0] * b[2:] + c[2:]).astype(np.float32).astype(np.float16))


def test_dot_products_with_internal_registers(isa, core):
    core.run(isa.assemble("vdp3.f32 r4.x -pa8.xyz i0.xyz\nvdp4.f32 r6.y pa8.wzyx |i1.xyzw|"))
    pa, i = f32(core.pa), f32(core.i)
    same(f32(core.r[4]), (-pa[8] * i[0] + -pa[9] * i[1]) + -pa[10] * i[2])
    j = np.abs(i[4:8])
    same(f32(core.r[7]), ((pa[11] * j[0] + pa[10] * j[1]) + pa[9] * j[2]) + pa[8] * j[3])


def test_repeated_dot_product_is_a_matrix_product(isa, core):
    core.run(isa.assemble("vdp4.f32 o0.x sa0.xyzw i0.xyzw repeat 4"))
    sa, i = f32(core.sa), f32(core.i)
    for k in range(4):
        rows = sa[4 * k : 4 * k + 4] * i[0:4]
        same(f32(core.o[k]), ((rows[0] + rows[1]) + rows[2]) + rows[3])


def ulp(a: np.ndarray, b: np.ndarray) -> int:
    return int(np.abs(a.view(np.int32).astype(np.int64) - b.view(np.int32)).max())


@pytest.mark.parametrize(
    ("op", "formula", "low", "high"),
    [
        ("rcp", lambda x: 1 / x, -50, 50),
        ("rsq", lambda x: 1 / np.sqrt(x), 1e-6, 1e4),
        ("log", np.log2, 1e-6, 1e4),
        ("exp", np.exp2, -15, 15),
    ],
)
def test_scalar_functions(isa, core, op, formula, low, high):
    x = np.random.default_rng(1).uniform(low, high, LANES).astype(np.float32)
    core.pa[5] = x.view(np.uint32)
    h = np.random.default_rng(2).uniform(max(low, -10), min(high, 10), LANES).astype(np.float16)
    core.pa[8] = h.view(np.uint16).astype(np.uint32) << 16
    core.run(isa.assemble(f"v{op}.f32 r4.xy pa4.y\nv{op}.f16 r6.x pa8.y\nv{op}.f16.f32 r8.w pa4.y"))
    exact = formula(x.astype(np.float64))
    assert ulp(f32(core.r[4]), exact.astype(np.float32)) <= 1
    same(core.r[4], core.r[5])
    same(f16(core.r, 6)[0], formula(h.astype(np.float64)).astype(np.float32).astype(np.float16))
    same(f16(core.r, 8)[3], exact.astype(np.float32).astype(np.float16))


def test_scalar_functions_at_the_edges(isa):
    c = usse.Core(8)
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, 2.0**-140], np.float32)
    c.pa[0] = x.view(np.uint32)
    c.run(isa.assemble("vrcp.f32 r0.x pa0.x\nvrsq.f32 r2.x pa0.x\nvlog.f32 r4.x pa0.x\nvexp.f32 r6.x pa0.x"))
    with np.errstate(all="ignore"):
        same(f32(c.r[0]), np.float32(1) / x)
        same(f32(c.r[2])[:7], np.array([np.inf, -np.inf, 0, np.nan, np.nan, np.nan, 1], np.float32))
        same(f32(c.r[4]), np.array([-np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan, 0, -140], np.float32))
        same(f32(c.r[6]), np.exp2(x))


def test_moves(isa, core):
    core.run(
        isa.assemble("""
        vmov.f32 r4.xy pa2.yyyy
        vmov.f32 i3.xyzw pa2.zwzw
        vmov.i32 r9 pa7
        vmov.f32 o0.xy pa4.xyzw repeat 4
    """)
    )
    same(core.r[4], core.pa[3])
    same(core.r[5], core.pa[3])
    same(core.i[12:16], core.pa[[4, 5, 4, 5]])
    same(core.r[9], core.pa[7])
    same(core.o[:8], core.pa[4:12])


CONDITIONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditional_moves(isa, core, condition):
    core.pa[2, ::3] = 0
    core.pa[14, ::2] = 0
    core.run(isa.assemble(f"vmovc.{condition}.f32 r4.xy pa2 sa4.xyzw sa6.xyzw\nvmovc.{condition}.i32 r8 pa14 sa4 sa5"))
    pa, zero = f32(core.pa), np.float32(0)
    for k in (0, 1):
        same(core.r[4 + k], np.where(CONDITIONS[condition](pa[2 + k], zero), core.sa[4 + k], core.sa[6 + k]))
    number = core.pa[14].view(np.int32)
    same(core.r[8], np.where(CONDITIONS[condition](number, 0), core.sa[4], core.sa[5]))


# --- pack ------------------------------------------------------------------------------------------------------------
def test_pack_floats(isa, core):
    h = put_f16(core, 20, 3)
    core.run(
        isa.assemble(
            "vpck.f16.f32 r4.xyzw pa2.wzyx pa4\nvpck.f32.f16 r6.xy pa20.wyzx\nvpck.f32.f32 i0.xyzw pa2.xyzw pa4"
        )
    )
    pa = f32(core.pa)
    same(f16(core.r, 4), pa[[5, 4, 3, 2]].astype(np.float16))
    same(f32(core.r[6:8]), h[[3, 1]].astype(np.float32))
    same(f32(core.i[:4]), pa[2:6])


@pytest.mark.parametrize(
    ("ty", "dtype", "maximum"),
    [("u8", np.uint8, 255), ("s8", np.int8, 127), ("u16", np.uint16, 65535), ("s16", np.int16, 32767)],
)
def test_pack_integers(isa, core, ty, dtype, maximum):
    r = np.random.default_rng(8)
    info = np.iinfo(dtype)
    x = r.uniform(-1.2, 1.2, (4, LANES)).astype(np.float32)
    big = r.uniform(info.min, info.max, (4, LANES)).astype(np.float32)
    core.pa[0:4], core.pa[4:8] = x.view(np.uint32), big.view(np.uint32)
    whole = np.ascontiguousarray(r.integers(info.min, info.max + 1, (LANES, 4)).astype(dtype))
    words = whole.view(np.uint32).T
    core.pa[16 : 16 + len(words)] = words
    core.run(
        isa.assemble(
            f"vpck.{ty}.f32 r0.xyzw pa0.xyzw pa2 scale\nvpck.{ty}.f32 r2.xy pa4.xyzw pa6\n"
            f"vpck.f32.{ty} i0.xyzw pa16.xyzw scale\nvpck.f32.{ty} r6.xy pa16.yzxx\n"
            f"vpck.{ty}.{ty} r8.xy pa16.zwxx"
        )
    )

    def elements(file, register, count=4):
        n = max(1, dtype().itemsize)
        return np.ascontiguousarray(file[register : register + n].T).view(dtype).T[:count]

    low = 0 if info.min == 0 else -1
    expected = np.rint(np.clip(x.astype(np.float64), low, 1) * maximum).astype(dtype)
    same(elements(core.r, 0), expected)
    same(elements(core.r, 2, 2), np.trunc(big[:2]).astype(dtype))
    fractions = np.maximum(whole.T.astype(np.float32), low * maximum) / np.float32(maximum)
    same(f32(core.i[:4]), fractions)
    same(f32(core.r[6:8]), whole.T[[1, 2]].astype(np.float32))
    same(elements(core.r, 8, 2), whole.T[[2, 3]])


def test_pack_c10(isa, core):
    x = np.linspace(-3, 3, LANES).astype(np.float32)
    core.pa[0] = core.pa[1] = core.pa[2] = core.pa[3] = x.view(np.uint32)
    core.run(isa.assemble("vpck.c10.f32 r0.xyzw pa0.xyzw pa2\nvpck.f32.c10 i0.xyzw r0.xyzw"))
    expected = (np.rint(np.clip(x.astype(np.float64), -2, 2) * 255) / 255).astype(np.float32)
    for k in range(4):
        same(f32(core.i[k]), expected)


# --- integers --------------------------------------------------------------------------------------------------------
def test_bitwise(isa, core):
    core.run(
        isa.assemble(
            "and.u32 pa40 r1 r2\nor.u32 pa41 r1 r2 rol5 inv\nxor.u32 pa42 r1 #0x1234\nshl.u32 pa43 r1 r2\n"
            "shr.u32 pa44 r1 #0x3\nasr.u32 pa45 r1 r2\nand.u16 pa46 r1 #0xff rol8\nlimm.u32 pa47 0x12345678\n"
            "rol.u32 pa48 r1 #0x7"
        )
    )
    a, b = core.r[1], core.r[2]
    n = b % 32
    same(core.pa[40], a & b)
    same(core.pa[41], a | ~(b << 5 | b >> 27))
    same(core.pa[42], a ^ 0x1234)
    same(core.pa[43], a << n)
    same(core.pa[44], a >> 3)
    same(core.pa[45], (a.view(np.int32) >> n.view(np.int32)).view(np.uint32))
    same(core.pa[46], a & 0xFF00)
    same(core.pa[47], np.full(LANES, 0x12345678, np.uint32))
    same(core.pa[48], a << 7 | a >> 25)


def test_integer_multiply_add_pair(isa, core):
    core.run(isa.assemble("i32mad2.u32 i0 r1 r2 r3\ni32mad2.u32 pa5 r1 r2 i0 step1"))
    same(core.pa[5], core.r[1] * core.r[2] + core.r[3])


def test_integer_multiply_add_16(isa, core):
    core.run(
        isa.assemble(
            "i16mad.u16 pa5 r1 r2 r3\ni16mad.s16 idx1 r1 #0x3 s1.u8 #0x5 s2.u8\ni32mad.s16 pa6 r1 r2 s1.high r3 s2.32"
        )
    )
    a, b, c = (core.r[k] for k in (1, 2, 3))
    same(core.pa[5], (a & 0xFFFF) * (b & 0xFFFF) + c & 0xFFFF)
    same(core.idx[1], a * 3 + 5 & 0xFFFF)
    low, high = a.astype(np.uint16).view(np.int16).astype(np.int64), (b >> 16).astype(np.uint16).view(np.int16)
    same(core.pa[6], (low * high + c).astype(np.uint32))


def test_blend(isa, core):
    core.run(isa.assemble("sop2 o0 r1 r2 rgb_add rgb1.s1a rgb2.inv_s1a a_add a1.inv_zero a2.zero"))
    s = np.ascontiguousarray(core.r[1]).view(np.uint8).reshape(LANES, 4).astype(np.float64) / 255
    d = np.ascontiguousarray(core.r[2]).view(np.uint8).reshape(LANES, 4).astype(np.float64) / 255
    a = s[:, 3:]
    expected = np.c_[s[:, :3] * a + d[:, :3] * (1 - a), s[:, 3]]
    out = np.ascontiguousarray(core.o[0]).view(np.uint8).reshape(LANES, 4)
    np.testing.assert_allclose(out, expected * 255, atol=0.5 + 1e-9)


# --- tests -----------------------------------------------------------------------------------------------------------
RELATIONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_comparisons(isa, core, relation):
    core.pa[2, ::3] = core.sa[2, ::3]
    core.r[1, ::3] = core.r[2, ::3]
    a16, b16 = put_f16(core, 20, 1), put_f16(core, 22, 2)
    core.run(
        isa.assemble(
            f"vtst.sub.f32 {relation} p0.x pa2 sa2.xyzw\nvtst.sub.u32 {relation} p1.x r1 r2\n"
            f"vtst.sub.s32 {relation} p2.x r1 r2\nvtst.sub.f16 {relation} p3.z pa20 pa22.xyzw\n"
            f"vtstmsk.sub.f32 {relation} i0 pa2 sa2.xyzw m2"
        )
    )
    pa, sa = f32(core.pa), f32(core.sa)
    compare = RELATIONS[relation]
    same(core.p[0], compare(pa[2], sa[2]))
    same(core.p[1], compare(core.r[1], core.r[2]))
    same(core.p[2], compare(core.r[1].view(np.int32), core.r[2].view(np.int32)))
    same(core.p[3], compare(a16[2], b16[2]))
    for k in range(4):
        same(f32(core.i[k]), compare(pa[2 + k], sa[2 + k]).astype(np.float32))
