"""An instruction set that is changed: what was made of it before stays what it was."""

from __future__ import annotations

from dataclasses import replace

import isakit
from isakit.debug.coverage import items_of
from isakit.spec import Layout, make_form, where
from isakit.spec.isa import instruction_set


def nothing() -> None:
    """Do nothing. Written for a test."""


def test_a_view_outlives_a_record_that_comes_and_goes() -> None:
    vuc = instruction_set("vuc")
    before = vuc.view("vp3", "")
    items = items_of(before)
    free = next(f for f in before.forms if not before.available(f))
    layout = Layout("invented", 1, where({}))
    form = replace(make_form(layout, "nothing", {}, {}), fixed=free.fixed, needs=frozenset({"!vp3+", "invented"}))
    changed = len(vuc.records)
    vuc.records.append(replace(vuc.records[0], name="invented", forms=(form,), semantics=nothing))
    try:
        during = vuc.view("vp3", "")
        assert during is not before
        assert during.forms[:-1] == before.forms, "a form is the same object in all views"
        assert isakit.isa("vuc", "vp3").decoder().view is during
        assert items_of(before) is items
    finally:
        del vuc.records[changed:]
    assert vuc.view("vp3", "") is before
