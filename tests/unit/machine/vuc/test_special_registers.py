"""Special registers: every name, side effects, access rights, window on the current block."""

from __future__ import annotations

import pytest

from isakit.arch.vuc.registers import SPECIAL_REGISTERS, special_names
from isakit.errors import NotModelled
from isakit.vuc import Core, Options


def core_with(text: str, variant: str = "vp3", options: Options | None = None) -> Core:
    core = Core(variant, options)
    core.load(text + "\nend: bra #end\nnop\n")
    return core


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_every_register_can_be_read_by_name(variant: str) -> None:
    core = Core(variant)
    for n, name in enumerate(special_names(core.features)):
        if name == "$cstop":
            continue
        core.load(f"or $r1 {name} 0x0\nnop")
        core.step()
        assert core.r[1] == core.sr[n] or name in ("$icnt", "$pc")
        core.load(f"or $r2 $sr{n} 0x0\nnop")
        assert core.op(0).instruction.text == f"or $r2 {name} 0x0"


def test_variants_name_different_registers() -> None:
    vp2, vp3 = special_names(frozenset({"vp2"})), special_names(frozenset({"vp3", "vp3+"}))
    assert (vp2[0], vp2[3], vp2[11], vp2[31]) == ("$baddr", "$asel", "$rpitab", "$submbtype")
    assert (vp3[0], vp3[3], vp3[11], vp3[31]) == ("$sr0", "$absel", "$sr11", "$sr31")
    assert len({r.number for r in SPECIAL_REGISTERS}) == 54


def test_h2v_read_clears_its_bit() -> None:
    core = core_with("or $r1 $h2v 0x0\nnop")
    core.host["H2V"] = 0x1234
    assert core.sr["stat"] == 0x800
    assert core.host["H2V"] == 0x1234, "a host read has no side effect"
    assert core.sr["stat"] == 0x800
    core.step()
    assert (core.r[1], core.sr["stat"]) == (0x1234, 0)


def test_guarded_off_read_has_no_side_effect() -> None:
    core = core_with("$p2 or $r1 $h2v 0x0\nnop")
    core.host["H2V"] = 5
    core.step(3)
    assert core.sr["stat"] == 0x800


def test_v2h_write_is_seen_two_cycles_later() -> None:
    core = core_with("mov $r1 0x7\nmov $v2h $r1\nnop\nnop")
    core.step(2)
    assert (core.host["V2H"], core.host["INTR"]) == (0, 0)
    core.step()
    assert (core.host["V2H"], core.host["INTR"]) == (7, 4)


@pytest.mark.parametrize("name", ["h2v", "pc", "cspos", "mbxy", "mbaddr", "amvxl0", "bqpy"])
def test_read_only_registers_keep_their_value(name: str) -> None:
    core = core_with(f"mov $r1 0x55\nmov ${name} $r1\nnop\nnop")
    core.sr[name] = 0 if name in ("pc", "cspos") else 0x77
    before = core.sr[name]
    core.step(4)
    assert name == "pc" or core.sr[name] == before
    assert any(d[2] == "READ_ONLY_REGISTER" for d in core.diagnostics)


def test_writable_in_doubt_is_an_option() -> None:
    text = "mov $r1 0x23\nmov $mbtype $r1\nnop"
    core = core_with(text)
    core.step(4)
    assert core.sr["mbtype"] == 0x23
    core = core_with(text, options=Options(writable=frozenset()))
    core.step(4)
    assert core.sr["mbtype"] == 0


def test_unnamed_registers_read_zero_and_keep_nothing() -> None:
    core = core_with("mov $r1 0x23\nmov $sr43 $r1\nnop\nor $r2 $sr43 0x0")
    core.step(5)
    assert core.r[2] == 0
    assert {d[2] for d in core.diagnostics} == {"READ_ONLY_REGISTER", "UNNAMED_REGISTER"}


def test_pred_register() -> None:
    core = core_with("or $r1 $pred 0x0\nmov $r2 0x3ffe\nmov $pred $r2\nnop\nnop\nor $r3 $pred 0x0")
    core.step(7)
    assert core.r[1] == 0x8002
    assert core.r[3] == 0xBFFE, "bit 1 is the complement of bit 0, bit 15 is 1"


def test_pc_is_that_of_the_reader() -> None:
    core = core_with("nop\nnop\nor $r1 $pc 0x0\nadd $r2 $pc 0x0")
    core.step(4)
    assert core.r[1:3] == [2, 3]


def test_user_bits_of_stat() -> None:
    core = core_with(
        "mov $r1 0x2000\nadd $r1 $r1 $r1\nadd $r2 $r1 $r1\nmov $stat $r2\nnop\nnop\nmov $stat $r2\nmov $stat $r1\nnop"
    )
    core.step(6)
    assert core.sr["stat"] == 0x8000
    core.step(4)
    assert core.sr["stat"] == 0, "writing 1 toggles"
    assert core.pulses == 1


def test_icnt_counts_issued_instructions_and_clicnt_clears_it() -> None:
    core = core_with("nop\n$p2 nop\nor $r1 $icnt 0x0\nclicnt\nor $r2 $icnt 0x0\nor $r3 $icnt 0x0")
    core.step(6)
    assert core.r[1:4] == [2, 0, 1]


def test_waiting_cycles_can_count() -> None:
    text = "wsts 0xb\nor $r1 $icnt 0x0"
    for options, want in ((None, 1), (Options(count_waits=True), 10)):
        core = core_with(text, options=options)
        core.step(10)
        assert core.waiting
        core.host["H2V"] = 1
        core.step(1)
        assert core.r[1] == want


def test_watchdog() -> None:
    core = core_with("nop\nloop: bra #loop\nnop")
    core.host["WDCNT"] = 10
    core.step(10)
    assert core.icnt == 10
    assert core.sr["stat"] == 0, "one cycle later"
    core.step()
    assert core.sr["stat"] == 0x1000
    assert core.host["INTR"] == 1
    core.host["WDCNT"] = 100
    assert core.sr["stat"] == 0
    core = core_with("nop\nloop: bra #loop\nnop", options=Options(watchdog_halts=True))
    core.host["WDCNT"] = 10
    core.step(50)
    assert core.halted
    assert core.cycle == 11


def test_unknown_operations() -> None:
    with pytest.raises(NotModelled, match="unko21"):
        core_with("unko21\nnop").step(1)
    core = core_with("unko21\nadd $r1 $r0 0x1", options=Options(unknown_ops="ignore"))
    core.step(2)
    assert core.r[1] == 1


def test_unknown_register_names_are_errors() -> None:
    core = Core("vp3")
    for key in ("baddr", "nothing", 64):
        with pytest.raises(KeyError):
            core.sr[key]
    with pytest.raises(KeyError, match="no host register"):
        core.host["VPRING_ENABLE"]
