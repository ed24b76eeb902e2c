"""Every form, operand alternative and modifier value of every compute instruction is executed, and the result checked.

The items come from the records. For each one a word is made and run on a machine through the public launch interface
and, lane by lane, on plain ints (`lane_oracle`); what the two leave behind must be the same. The summary of the
test run prints the coverage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random

import pytest

import isakit
from isakit.arch.tesla import tesla
from isakit.debug.coverage import KINDS, Item, items_of, recording, word_for
from isakit.errors import NotModelled
from isakit.spec import Choice, Form, Imm, Part
from isakit.spec.parts import static_bits
from support.oracles import lane_oracle
from support.oracles.lane_oracle import compare, tuned

# Coordinates of texture instructions are random bits, NaN included: warnings about them mean nothing.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

VARIANTS = ("gt200", "gt215", "g84", "g80", "mcp77")
"""In the order in which they are asked for an item: the first one that has it executes it."""

EXCEPTIONS = {
    "texcsaa": "what it returns about a multisampled surface is in no document: NotModelled",
}
"""Records that cannot be executed, and why."""

FORMS = 32
"""Forms one test takes on at most."""

TOO_FEW = {"texprep": ("$r0", "$r0:$r1"), "texgather": ("$r0",)}
"""Source blocks that are too short for the only kind of texture the instruction works on: NotModelled."""


@cache
def all_items() -> dict[str, set[Item]]:
    """The items of each record, over all variants."""
    out: dict[str, set[Item]] = {}
    for v in VARIANTS:
        for items in items_of(tesla.view(v, "compute")).values():
            for item in items:
                out.setdefault(item.record, set()).add(item)
    return out


def control_last(item: Item) -> tuple[bool, Item]:
    return item.part.split("/")[0] in ("guard", "tail"), item


def excepted(item: Item) -> str:
    """Why an item is not executed, or an empty string."""
    if item.record in EXCEPTIONS:
        return EXCEPTIONS[item.record]
    if item.kind == "value" and item.part == "src" and item.what in TOO_FEW.get(item.record, ()):
        return "fewer sources than the texture has coordinates: NotModelled"
    return ""


def word_with(view, form: Form, item: Item, last: int | None, random: Random, todo: set[Item]) -> int | None:
    """A word that has the item. Guards and tails change nothing else: the previous word is taken again."""
    condition = items_of(view)[form][item]
    if last is not None and control_last(item)[0]:
        word = last & ~condition.need.mask | condition.need.value
        if condition.holds(word) and form.matches(word) and form.error(word) is None:
            return word
    for _ in range(50):
        word = word_for(view, form, item, random, todo)
        if word is None:
            return None
        having = [i for i, c in items_of(view)[form].items() if c.holds(word)]
        if not any(excepted(i) for i in having):
            return tuned(form, word, random, condition.need.mask)
    return None


def shares() -> list[tuple[str, int, int]]:
    """(record, share, number of shares): big records are split by form, so that test processes can divide them.

    Says nothing about items: making them takes seconds, and this runs whenever tests are collected.
    """
    return [(r.name, k, n) for r in tesla.records for n in [-(-len(r.forms) // FORMS)] for k in range(n)]


@pytest.mark.parametrize(("record", "share", "of"), shares())
def test_every_item_is_executed(record: str, share: int, of: int, record_property) -> None:
    random = Random(f"coverage of {record} {share}")
    wanted = {i for i in all_items().get(record, ()) if i.form % of == share}
    if not wanted:
        pytest.skip("no instruction of compute programs")
    left_out = {i for i in wanted if excepted(i)}
    done: set[Item] = set()
    wrong: list[str] = []
    for variant in VARIANTS:
        view = tesla.view(variant, "compute")
        with recording(view) as coverage:
            for form, items in items_of(view).items():
                last = None
                for item in sorted((set(items) & wanted) - done - left_out, key=control_last):
                    if item in done or item in coverage.executed:
                        continue
                    todo = wanted - done - coverage.executed - left_out
                    last = word_with(view, form, item, last, random, todo)
                    if last is not None:
                        difference = compare(variant, form, last, random)
                        if difference:
                            wrong.append(f"{variant} `{form.text(last)}` {last:#x}: {difference}")
        done |= coverage.executed & wanted
    for kind in KINDS:
        total = [i for i in wanted if i.kind == kind]
        record_property("instruction coverage", (kind, len(total), sum(i in done for i in total)))
    for reason, n in Counter(excepted(i) for i in left_out).items():
        record_property("instruction coverage exception", (record, n, reason))
    assert not wrong, f"{len(wrong)} words: " + "\n".join(wrong[:10])
    missing = sorted(wanted - done - left_out)
    assert not missing, f"{len(missing)} items not executed: " + "\n".join(str(i) for i in missing[:20])
    assert not left_out & done, "an exception that is not needed: " + ", ".join(str(i) for i in left_out & done)


def test_no_operand_kind_is_left_out() -> None:
    """Kinds with more static bits than coverage enumerates would be missing from the count without a word."""

    def kinds(part: Part) -> Iterator[Part]:
        if isinstance(part, Choice):
            for a in part.alternatives:
                yield from kinds(a.part)
        else:
            yield part

    for record in tesla.records:
        for kind in (k for form in record.forms for p in form.parts.values() for k in kinds(p)):
            assert static_bits(kind).bit_count() <= 8, (record.name, kind)
            assert not (isinstance(kind, Imm) and static_bits(kind)), (record.name, kind)


def test_exceptions_are_really_not_modelled() -> None:
    for text in (
        "texcsaa all $r0:#:#:# $t0 $s0 $r0:$r1 0x0 0x0 0x0",
        "texprep cube all $r0:#:#:# $t0 $s0 $r0",
        "texprep cube all $r0:#:#:# $t0 $s0 $r0:$r1",
        "texgather all $r0:#:#:# $t0 $s0 $r0 0x0 0x0 0x0",
    ):
        i = next(iter(isakit.isa("tesla", "gt215").assemble(text)))
        with pytest.raises(NotModelled):
            compare("gt215", i.form, i.word, Random(0))


def test_the_oracle_notices_a_machine_that_is_wrong(monkeypatch) -> None:
    i = next(iter(isakit.isa("tesla", "gt200").assemble("(e $c0) add b32 $c1 $r1 $r2 $r3")))
    assert compare("gt200", i.form, i.word, Random(1)) == ""
    fields = lane_oracle.fields_of
    monkeypatch.setattr(lane_oracle, "fields_of", lambda form, word, wanted: fields(form, word ^ 1 << 9, wanted))
    assert "$r1 lane" in compare("gt200", i.form, i.word, Random(1))
