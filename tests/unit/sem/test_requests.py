"""Requests of semantics functions: declared once, and every machine says what it does with each."""

from __future__ import annotations

import pytest

from isakit.errors import DefinitionError
from isakit.sem import const, tracing
from isakit.sem.requests import Requests, covered

R = Requests("toy")
VOTE = R.value("vote", "a vote", operands=1, facts=["kind"], per="warp", width=1)
JUMP = R.control("jump", "a jump", operands=(1, None), target=True)
HALT = R.control("halt", "the end")


def test_a_value_is_a_node_of_its_width():
    with tracing():
        v = VOTE(const(1, 1), kind="any")
    assert (v.op, v.width, v.attr) == ("machine", 1, ("vote", (("kind", "any"),)))


def test_an_action_is_an_effect():
    with tracing() as trace:
        JUMP(const(4, 32), const(5, 32))
    assert [(e.kind, e.name, len(e.args)) for e in trace.effects] == [("control", "jump", 2)]


def test_operands_and_facts_are_checked():
    with tracing():
        for wrong in (lambda: VOTE(), lambda: JUMP(), lambda: HALT(const(1, 1))):
            with pytest.raises(DefinitionError, match="operands"):
                wrong()
        with pytest.raises(DefinitionError, match="vote knows no how"):
            VOTE(const(1, 1), how="any")


def test_a_name_is_declared_once():
    with pytest.raises(DefinitionError, match="twice"):
        R.value("vote", "again")


def test_a_machine_answers_for_every_request():
    assert covered("m", R.controls, {JUMP: 1}, refused=[HALT]) == {"jump": 1}
    with pytest.raises(DefinitionError, match="m neither implements nor refuses halt"):
        covered("m", R.controls, {JUMP: 1})
    with pytest.raises(DefinitionError, match="implements and refuses jump"):
        covered("m", R.controls, {JUMP: 1, HALT: 2}, refused=[JUMP])
    with pytest.raises(DefinitionError, match="nothing declares vote"):
        covered("m", R.controls, {JUMP: 1, HALT: 2, VOTE: 3})
