"""Where programs in the card's memory end: what lies behind them is left over from others."""

from __future__ import annotations

import pytest

from isakit.arch.tesla.tesla import tesla
from isakit.asm.assembler import assemble
from isakit.codec.decoder import decoder
from isakit.errors import MachineFault
from isakit.hosts.drm.engines.programs import extent

ENTRY = 0x7FF00
LEFT_OVER = "bra 0x100"
UNITS = decoder(tesla, "g84", "fragment")


def words_of(text: str) -> list[int]:
    """The words of a fragment program."""
    return assemble(text, UNITS).words


@pytest.mark.parametrize("end", ["exit nop", "exit (never) nop", "exit mov b32 $r0 $r1", "ret"])
def test_a_program_ends_with_its_exit_whatever_its_guard(end: str) -> None:
    program = words_of(f"mov b32 $r0 $r1\n{end}")
    assert extent(UNITS, program + words_of(LEFT_OVER), ENTRY) == len(program)


def test_what_a_branch_leads_to_belongs_to_the_program() -> None:
    program = words_of("(lg $c0) bra 0x7ff10\nexit (never) nop\nmov b32 $r0 $r1\nexit (never) nop")
    assert extent(UNITS, program + words_of(LEFT_OVER), ENTRY) == len(program)


def test_a_program_that_goes_on_to_what_is_no_code_of_its_own_is_a_fault() -> None:
    with pytest.raises(MachineFault, match="CODE_OUT_OF_RANGE"):
        extent(UNITS, words_of(f"(lg $c0) ret\n{LEFT_OVER}"), ENTRY)
