"""Method tables: every method the driver was seen to write is declared under its reference name, and accounted for."""

from __future__ import annotations

import ast
import csv
import inspect
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from isakit.errors import DefinitionError
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import chip_named
from isakit.hosts.drm.engine import Engine, action
from isakit.hosts.drm.engines.compute import ComputeEngine
from isakit.hosts.drm.engines.copy import CopyEngine
from isakit.hosts.drm.engines.eng2d import Engine2D
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.tables import ENG3D, TABLES
from isakit.hosts.drm.tables.method import Method, MethodTable, method
from isakit.registry import VARIANTS

TURNED_OFF = frozenset(
    {
        "2d SIFC_DST_X_FRACT",
        "2d SIFC_DST_Y_FRACT",
        "2d SIFC_DX_DU_FRACT",
        "2d SIFC_DX_DU_INT",
        "2d SIFC_DY_DV_FRACT",
        "2d SIFC_DY_DV_INT",
        "3d CLIPID_ENABLE",
        "3d CSAA_ENABLE",
        "3d DEPTH_BOUNDS_EN",
        "3d POINT_RASTER_RULES",
        "3d SCREEN_Y_CONTROL",
        "3d UNK0FDC",
        "3d UNK19C0",
        "3d WINDOW_OFFSET_X",
        "3d WINDOW_OFFSET_Y",
        "m2mf FORMAT",
    }
)
"""What the driver only switches off: it is not modelled, and no capture counts it."""
ENGINES: dict[str, type[Engine]] = {"m2mf": CopyEngine, "2d": Engine2D, "3d": Engine3D, "compute": ComputeEngine}


def seen(shared: Path) -> list[dict[str, str]]:
    with (shared / "reference" / "nv50-methods.tsv").open() as f:
        return [r for r in csv.DictReader(f, delimiter="\t") if r["name"] != "?"]


def test_every_method_that_was_seen_is_declared_by_its_name(shared: Path) -> None:
    tables = {t.name: t for t in TABLES}
    wrong: list[str] = []
    for row in seen(shared):
        found = tables[row["engine"]].by_word[int(row["first_offset"], 16) >> 2]
        if found is None or found[0].name != row["name"].replace("(i)", "").replace(".", "_"):
            wrong.append(f"{row['engine']} {row['name']}")
    assert wrong == []


def test_a_new_channel_draws_into_all_samples() -> None:
    """The driver writes the mask only when a program changes it."""
    memory = VideoMemory(1 << 16)
    engine = Engine3D(memory, Report(), chip_named("a0"), CardSettings(engine="reference"))
    assert [engine.get("MSAA_MASK", k) for k in range(4)] == [0xFFFF] * 4
    assert engine.get("MULTISAMPLE_ENABLE") == 0
    memory.close()


def test_every_method_that_was_seen_acts_is_read_is_ignored_or_is_only_switched_off(shared: Path) -> None:
    left: list[str] = []
    for row in seen(shared):
        name = row["name"].replace("(i)", "").replace(".", "_")
        if "counted" in ENGINES[row["engine"]].effect(name):
            left.append(f"{row['engine']} {name}")
    assert set(left) == TURNED_OFF


def test_no_two_methods_of_an_engine_share_a_word() -> None:
    for t in TABLES:
        words = [m.offset + k * m.stride for m in t.methods for k in range(m.count)]
        assert len(words) == len(set(words)), t.name


def test_a_write_is_shown_with_its_fields() -> None:
    assert ENG3D.shown(0x0900 >> 2, 0x2000_0010) == "VERTEX_ARRAY_FETCH(0) = STRIDE=0x10 ENABLE"


def test_a_write_is_shown_with_its_value_by_name() -> None:
    assert ENG3D.shown(0x130C >> 2, 0x203) == "DEPTH_TEST_FUNC = lequal"


def test_a_write_to_nothing_is_shown_by_its_offset() -> None:
    assert ENG3D.shown(0x0004 >> 2, 5) == "0x0004 = 0x5"


@pytest.mark.parametrize(
    "methods",
    [
        (method(0x2000, "TOO_FAR"),),
        (method(0x101, "ODD"),),
        (method(0x100, "A"), method(0x104, "A")),
        (Method(0x100, "BITS", (method(0, "x", "F 33:0").fields)),),
        (method(0x100, "BITS", "F 3:0", width=8),),
        (method(0x100, "BITS", width=33),),
        (method(0x100, "A", count=3), method(0x108, "B")),
        (method(0x100, "BITS", "F 0:7"),),
        (method(0x100, "NEUTRAL", "F 3:0=16"),),
        (method(0x100, "OVERLAP", "F 7:0, G 11:4"),),
        (method(0x100, "TWICE", "F 7:0, F 15:8"),),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(methods: tuple[Method, ...]) -> None:
    says = (
        r"t (TOO_FAR|ODD): .* does not fit|A: there are two|BITS: (bits|33|8)|B: another method is at 0x0108|"
        r"NEUTRAL: .*neutral value|(OVERLAP|TWICE): two fields share"
    )
    with pytest.raises(DefinitionError, match=says):
        MethodTable("t", "", frozenset(), methods)


@pytest.mark.parametrize("bits", ["F 15-8", "F", "F 7:0, 15:8 G", "F 7:0=x"])
def test_a_field_that_is_misspelt_is_refused(bits: str) -> None:
    with pytest.raises(DefinitionError, match="is not a field; fields are like `FORMAT 24:19`"):
        method(0x100, "A", bits)


def test_the_chips_that_have_a_method_first_are_known() -> None:
    variants = {None, *VARIANTS["tesla"]}
    assert [m.name for t in TABLES for m in t.methods if m.since not in variants] == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("@action('VERTEX_END')\n    def f(self, word, index): 'Do.'", "no method 'VERTEX_END'; did you mean"),
        ("@action('VERTEX_END_GL')\n    def f(self, word, index): 'Do.'", "another action has 'VERTEX_END_GL' already"),
        ("@action('UNK1220')\n    def f(self, word): 'Do.'", "action of UNK1220 takes self, word, index"),
        ("@action('UNK1220', bulk=True)\n    def f(self, word, index): 'Do.'", "takes self, words"),
        ("@action('UNK1220')\n    def f(self, word, index): pass", "needs a docstring"),
    ],
)
def test_an_action_that_could_not_run_is_refused(body: str, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        exec(f"class Other(Engine3D):\n    {body}", {"Engine3D": Engine3D, "action": action})


def test_fields_that_engines_read_are_those_of_the_tables() -> None:
    """A misspelt field would only fail when a program writes the method."""
    fields = {f.name for t in TABLES for m in t.methods for f in m.fields}
    folder = Path(inspect.getfile(Engine)).parent / "engines"
    read = {
        (f.name, n.attr)
        for f in folder.glob("*.py")
        for n in ast.walk(ast.parse(f.read_text()))
        if isinstance(n, ast.Attribute) and n.attr.isupper() and isinstance(n.value, ast.Name | ast.Call)
    }
    assert {name for _, name in read} & fields > {"SAMPLER", "VALID", "TSC"}
    assert [r for r in sorted(read) if r[1] not in fields] == []


def test_a_word_has_the_fields_of_its_method() -> None:
    word = ENG3D.by_name["BIND_TSC"].word(0x5031)
    assert (word.SAMPLER, word.TSC, word.VALID) == (3, 5, 1)
    with pytest.raises(AttributeError):
        _ = word.TEXTURE


def test_bits_that_do_not_count_are_not_read() -> None:
    """Drivers write masks of 32 ones to a register of eight bits."""
    with closing(VideoMemory(1 << 16)) as memory:
        engine = Engine3D(memory, Report(), chip_named("a0"), CardSettings(engine="reference"))
        engine.write(ENG3D.by_name["STENCIL_FRONT_MASK"].offset, np.array([0xFFFF_FF5A], np.uint32), True)
        assert engine.get("STENCIL_FRONT_MASK") == 0x5A


def test_elements_of_packed_arrays_are_read_by_their_numbers() -> None:
    with closing(VideoMemory(1 << 16)) as memory:
        engine = Engine3D(memory, Report(), chip_named("a0"), CardSettings(engine="reference"))
        engine.write(ENG3D.by_name["STRMOUT_MAP"].offset, np.array([0x44332211, 0x88776655], np.uint32), True)
        assert [engine.packed("STRMOUT_MAP", k, 8) for k in range(8)] == [0x11 * k for k in range(1, 9)]
        engine.write(ENG3D.by_name["VP_ATTR_EN"].offset, np.array([0x21, 0xF0], np.uint32), True)
        assert [engine.packed("VP_ATTR_EN", k, 4) for k in (0, 1, 2, 8, 9)] == [1, 2, 0, 0, 15]
