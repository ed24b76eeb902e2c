"""The farm finds bugs that are planted, makes them small, and writes tests; its processes may die or hang."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from isakit.compile.translate import integer
from isakit.decompile import names, typed
from isakit.formats import elf
from isakit.machine.tesla.device_memory import FlatMemory
from isakit.machine.tesla.rules import accesses
from isakit.spec.parts import Imm
from support.farm import CAMPAIGNS, campaign
from support.farm.campaign import minimised, pieces_left_out
from support.patience import PATIENCE

CASES = 400
"""Cases within which a planted bug has to be found; the farm does as many in a minute or less."""
QUICK = (
    "words",
    "combinations",
    "texts",
    "containers",
    "ptx-texts",
    "shading-texts",
    "shading-values",
    "shading-loops",
    "hostile",
    "interrupts",
    "threads",
    "shaders",
    "microcode",
    "ptx",
)


def first_failure(name: str, first: int = 0, only: Callable[[Any], bool] = lambda case: True) -> tuple[Any, str]:
    """The first case that fails, and why."""
    one = campaign(name)
    for seed in range(first, first + CASES):
        case = one.make(seed)
        if only(case):
            try:
                one.check(case)
            except Exception as e:
                return case, f"{type(e).__name__}: {e}"
    return None, ""


@pytest.mark.parametrize("name", QUICK)
def test_campaigns_pass(name: str) -> None:
    one = campaign(name)
    for seed in range(2):
        assert one.check(one.make(seed))


def test_every_campaign_has_a_name_and_says_what_it_does() -> None:
    assert all(campaign(name).name == name and campaign(name).what for name in CAMPAIGNS)


def test_a_wrong_bound_is_found() -> None:
    """One access beyond the end of a space is let through."""
    with accesses.outside.rewritten("address > limit - size", "address > limit"):
        case, why = first_failure("hostile", only=lambda c: c["engine"] == "reference" and "space" in c)
    assert case["space"] in ("s", "l", "c0", "c1", "c13", "c14")
    assert "does not fault" in why or "the fault names lane" in why


@pytest.mark.parametrize(
    ("name", "first"), [("words", 3), ("words", 5), ("words", 8), ("combinations", 3), ("combinations", 5)]
)
def test_a_misread_number_is_found(monkeypatch: pytest.MonkeyPatch, name: str, first: int) -> None:
    """The assembler takes one number in 64 for the next one; `first` is a seed of an instruction set."""
    encode = Imm.encode

    def misread(self: Imm, v: int) -> Any:
        return encode(self, v + self.scale if v // self.scale & 63 == 42 else v)

    monkeypatch.setattr(Imm, "encode", misread)
    case, why = first_failure(name, first)
    assert case is not None
    assert "comes back from" in why


def test_a_lost_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference machine forgets what is stored at the end of a line."""
    store = FlatMemory.store

    def forgetful(self: FlatMemory, at: Any, value: Any, size: int) -> None:
        if size < 16 and len(at) == 1 and int(at[0]) % 8 == 0:
            return
        store(self, at, value, size)

    monkeypatch.setattr(FlatMemory, "store", forgetful)
    case, why = first_failure("hostile", only=lambda c: c["engine"] == "reference" and c.get("op") == "st")
    assert case is not None
    assert why == "Wrong: the store is lost"


def test_a_wrong_flag_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler takes `greater` for `greater or equal` in unsigned comparisons."""
    monkeypatch.setitem(integer.CONDITIONS, "hs", "g")
    case, why = first_failure("ptx", 1_060, only=lambda c: ".hs.u" in c["text"])
    assert case is not None
    assert "the PTX says" in why


def test_a_condition_that_is_inverted_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from isakit.compile.usse import rules

    for order, mirrored in (("lt", "gt"), ("gt", "lt"), ("le", "ge"), ("ge", "le")):
        monkeypatch.setitem(rules.INVERTED, order, mirrored)
    _, why = first_failure("shading-values")
    assert "Wrong: pixel" in why


def test_a_wrong_operator_of_spirv_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its front end takes differences for sums."""
    from isakit.compile.shading.spirv import numbers, opcodes

    if why := campaign("glsl-spirv").needs():
        pytest.skip(why)
    monkeypatch.setitem(numbers._BINARY, opcodes.OPS["FSub"], ("+", "float"))
    _, why = first_failure("glsl-spirv")
    assert "Wrong" in why


def test_an_off_by_one_in_a_container_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last byte of a section is left out."""
    read = elf.ElfSection
    monkeypatch.setattr(elf, "ElfSection", lambda *facts: read(*facts[:-1], facts[-1][:-1]))
    case, why = first_failure("written")
    assert case is not None
    assert why


@pytest.mark.mesa
def test_a_wrong_operator_in_glsl_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products are printed as sums."""
    if why := campaign("shader-glsl").needs():
        pytest.skip(why)
    monkeypatch.setitem(typed._OPERATORS, "ieee_mul", "+")
    case, why = first_failure("shader-glsl")
    assert case is not None
    assert "% of the rows" in why


def test_a_name_that_is_a_word_of_glsl_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of a file are printed as they are."""
    if why := campaign("glsl-texts").needs():
        pytest.skip(why)
    monkeypatch.setattr(names, "identifier", lambda name: name)
    case, why = first_failure("glsl-texts")
    assert case is not None
    assert "ERROR" in why


def test_failing_cases_are_made_small() -> None:
    def fails(case: dict[str, Any]) -> bool:
        return 7 in case["words"] and 9 in case["words"]

    def smaller(case: dict[str, Any]) -> Any:
        return ({**case, "words": words} for words in pieces_left_out(case["words"]))

    assert minimised({"words": list(range(40))}, smaller, fails) == {"words": [7, 9]}


BROKEN = """
import os, time
from support.farm import campaign as module
from support.farm.campaign import Campaign
def check(case):
    if case == 3: os.abort()
    if case == 5: time.sleep(100)
    if case == 6: raise ValueError("six")
    return {str(case)}
HERE = (Campaign("broken", "a broken one", lambda seed: seed, check, seconds=5.0),)
"""


def test_crashes_and_hangs_of_workers_are_findings(tmp_path: Path) -> None:
    """A campaign that kills its process at one seed and hangs at another still comes to its end."""
    folder = tmp_path / "support" / "farm"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "campaign.py"):
        (folder / name).write_text((ROOT / "tests/support/farm" / name).read_text())
    (tmp_path / "support" / "__init__.py").write_text("")
    (folder / "broken.py").write_text(BROKEN)
    (tmp_path / "go.py").write_text(f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT / "tools/farm")!r}]
from support.farm import campaign
from support.farm.campaign import CAMPAIGNS
CAMPAIGNS["broken"] = "broken"
if __name__ == "__main__":
    from pool import run
    from reproducer import write_test
    from pathlib import Path
    done = run("broken", 0, 9, 600.0, 1, None, lambda found: write_test(found, Path({str(tmp_path)!r})))
    print(done.cases, sorted(f.seed for f in done.findings.values()), sorted(done.covered))
""")
    got = subprocess.run([sys.executable, str(tmp_path / "go.py")], capture_output=True, text=True, timeout=PATIENCE,
                         check=False, env={"PYTHONPATH": f"{tmp_path}:{ROOT / 'tools/farm'}", "PATH": ""})  # fmt: skip
    assert got.stdout.split("\n")[0].startswith("9 [3, 5, 6]"), got.stderr
    assert (tmp_path / "test_found_broken_6.py").read_text().count("CASE = 6") == 1


OVERRUN = """
import ctypes
import numpy as np
a = np.zeros(4000, np.uint8)
end = a.ctypes.data + 4000
ctypes.memset(end, ctypes.string_at(end, 1)[0] ^ 0xFF, 1)  # what the checker puts there depends on the address
del a
print("survived")
"""


def test_a_run_that_is_ended_keeps_its_figures(tmp_path: Path) -> None:
    """As long as nothing has been said the signal would come before the farm is ready for it."""
    command = [sys.executable, str(ROOT / "tools/farm"), "texts", "soak", "--jobs", "1", "--first", "1"]
    command += ["--seconds", "900", "--table", str(tmp_path / "t")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout is not None
        assert p.stdout.readline().startswith("seeds from ")
        time.sleep(4)
        p.send_signal(signal.SIGTERM)
        out, _ = p.communicate(timeout=PATIENCE)
    assert p.returncode == 0
    assert "| texts |" in out
    assert "| soak |" not in out
    assert "| texts |" in (tmp_path / "t.md").read_text()


def test_the_heap_checker_sees_a_byte_behind_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools/farm"))
    spec = importlib.util.spec_from_file_location("farm_main", ROOT / "tools/farm/__main__.py")
    assert spec is not None
    assert spec.loader is not None
    main = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    try:
        environment = main.heap_checker()
    except SystemExit as e:
        pytest.skip(str(e))
    done = subprocess.run([sys.executable, "-c", OVERRUN], env={**os.environ, **environment}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "")
