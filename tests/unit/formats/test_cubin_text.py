from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit import formats as f
from isakit.errors import FormatError
from unit.formats.strategies import damage, survives, text_modules

SAMPLE = """architecture {sm_11}
abiversion   {1}
modname {cubin}
consts  {
\tname = table segname = const segnum = 0 offset = 8 bytes = 6
\tmem { 0x00000001 0x0000ffff }
}
reloc {
  name=counter segname=reloc segnum=14 offset=4 bytes=4
}
sampler { name = tex texunit = 3 }
code  {
\tname = _Z1kPf
\tlmem= 16
\tsmem =28
\treg = 4
\tbar = 15
\tconst { segname = const segnum = 1 offset = 0 bytes = 4 mem { 0x3f800000 } }
\tbincode  { 0x10000001 0000000000 0xF0000001 }
\tparams_SMEM { odd = 1 }
}
"""


def test_fields() -> None:
    module = f.read_text_cubin(SAMPLE)
    assert (module.variant, module.extra) == ("g84", {"abiversion": "1", "modname": "cubin"})
    kernel = module.kernels["_Z1kPf"]
    assert kernel.words == [0x10000001, 0, 0xF0000001]
    assert (kernel.local_bytes, kernel.shared_bytes, kernel.registers, kernel.barriers) == (16, 28, 4, 16)
    assert kernel.constant_bytes(1) == bytes.fromhex("0000803f")
    assert module.constant_bytes(0) == bytes(8) + bytes.fromhex("01000000ffff")
    assert module.constant_symbols() == {"table": (0, 8, 6)}
    assert module.globals == [f.GlobalVariable("counter", 4)]
    assert module.address_table({"counter": 0x1234}) == bytes(4) + bytes.fromhex("34120000")
    assert module.samplers == [f.TextureSlot("tex", 3)]
    assert kernel.extra["text"] == [f.TextBlock("params_SMEM", [f.Pair("odd", "1")])]


def test_tree_is_written_back() -> None:
    tree = f.parse_tree(SAMPLE)
    text = f.write_tree(tree)
    assert f.parse_tree(text) == tree
    assert f.write_tree(f.parse_tree(text)) == text


@given(text_modules())
def test_write_then_read(module: f.Module) -> None:
    assert f.read_text_cubin(f.write_text_cubin(module)) == module


@given(text_modules(), st.integers(0))
def test_damage(module: f.Module, seed: int) -> None:
    data = damage(f.write_text_cubin(module).encode(), seed)
    survives(f.read_text_cubin, data)
    survives(f.load_images, data)


@given(st.text("{}= \nax01", max_size=60))
def test_any_text(text: str) -> None:
    survives(lambda _: f.parse_tree(text), b"")
    try:
        tree = f.parse_tree(text)
    except FormatError:
        return
    assert f.parse_tree(f.write_tree(tree)) == tree


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("architecture {sm_10} code {", "not closed"),
        ("architecture {sm_10} }", "closes nothing"),
        ("{ x }", "without a name"),
        ("architecture {sm_10} code { name = }", "needs a key"),
        ("architecture {sm_20}", "not one of sm_10"),
        ("architecture {sm_10} code { name = k bincode { 0x1g } }", "not a 32-bit word"),
        ("architecture {sm_10} code { name = k bincode { 0x112345678 } }", "not a 32-bit word"),
        ("architecture {sm_10} code { name = k reg = 1_0 }", "not a number"),
        ("architecture {sm_10} code { name = k smem = 99999999999 }", "out of range"),
        ("architecture {sm_10} code { name = k bar = 16 }", "out of range"),
        ("architecture {sm_10} code { reg = 1 }", "no name"),
        ("architecture {sm_10} code { name = k } code { name = k }", "second kernel"),
        ("architecture {sm_10} consts { bytes = 99999999 }", "out of range"),
        ("architecture {sm_10} consts { bytes = 4 mem { 0x1 0x2 } }", "content in a segment"),
        ("a { " * 40, "deeper"),
    ],
)
def test_errors(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        f.read_text_cubin(text, "x.cubin")


def test_a_million_words_take_seconds() -> None:
    body = " ".join(f"0x{i:08x}" for i in range(1_000_000))
    start = time.process_time()
    module = f.read_text_cubin(f"architecture {{sm_10}} code {{ name = k bincode {{ {body} }} }}")
    assert len(module.kernels["k"].code) == 4_000_000
    assert time.process_time() - start < 20


def test_many_braces_take_linear_time() -> None:
    start = time.process_time()
    for text in ("a{b=1}" * 200_000, "a {" * 200_000, "a " * 500_000, "a{" + "b=1 " * 300_000):
        survives(lambda data: f.parse_tree(data.decode()), text.encode())
    assert time.process_time() - start < 20


def test_what_text_cannot_say() -> None:
    for module in (
        f.Module("elf-cubin", variant="vp2"),
        f.Module("elf-cubin", variant="g80", kernels={"a b": f.Kernel("a b")}),
        f.Module("elf-cubin", variant="g80", globals=[f.GlobalVariable("v", 4)]),
        f.Module("elf-cubin", variant="g80", kernels={"k": f.Kernel("k", barriers=17)}),
        f.Module(
            "elf-cubin",
            variant="g80",
            globals=[f.GlobalVariable("", 4)],
            relocations=[f.Relocation("c14", 0, "")],
        ),
        f.Module("elf-cubin", variant="g80", relocations=[f.Relocation("c14", 0, "v")]),
        f.Module("elf-cubin", variant="g80", kernels={"k": f.Kernel("k", relocations=[f.Relocation("code", 0, "f")])}),
    ):
        with pytest.raises(FormatError):
            f.write_text_cubin(module)
