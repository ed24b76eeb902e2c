"""Random kernels whose lanes leave loops and blocks, one or more at a time, around barriers."""

from __future__ import annotations

import pytest

from isakit.compile import compile_ptx
from isakit.errors import CompileWarning
from support.farm import campaign
from support.farm.exits import wrong, wrong_votes
from support.generators.loop_exits import VALUES, Tree, ended, outcomes, ptx, tree_of, voting
from support.needs import needs_clang


@pytest.mark.parametrize("seed", [0, 7, 8, 12])
def test_lanes_of_ptx_meet_at_every_barrier(seed: int) -> None:
    """Each of them was wrong when lanes could leave only one region at a time."""
    exits = campaign("exits")
    assert exits.check(exits.make(seed)) == {"right"}


@needs_clang
def test_lanes_of_c_meet_at_every_barrier() -> None:
    exits = campaign("exits-c")
    assert exits.check(exits.make(0)) == {"right"}


def test_where_lanes_do_not_meet_the_compiler_warns() -> None:
    with pytest.warns(CompileWarning, match=r"^<text>:\d+: parts of a warp may come from here to one barrier of `k`"):
        compile_ptx(ptx(tree_of(97)))


def test_another_number_is_found() -> None:
    tree = [["exchange", 1, 5]]
    assert wrong(ptx(tree), tree) == []
    assert wrong(ptx([*tree, ["add", 1]]), tree) == VALUES


def test_votes_are_those_of_the_lanes_that_are_there() -> None:
    votes = campaign("votes")
    assert votes.check(votes.make(0)) == {"right"}
    assert wrong_votes(ptx(LOOP), LOOP, KINDS) == ""


@needs_clang
def test_votes_of_c_are_those_of_the_lanes_that_are_there() -> None:
    votes = campaign("votes-c")
    assert votes.check(votes.make(0)) == {"right"}


LOOP: list[Tree] = [
    ["exchange", 1, 5], ["vote-together", 1000, "any", 8],
    ["loop", 2, [["vote", 1001, "any", 16], ["if", ["t", 1, 1], [["leave", 1]], []], ["vote", 1002, "all", 16]]],
    ["exchange", 2, 4],
]  # fmt: skip
KINDS = {1000: "any", 1001: "any", 1002: "all"}


def _vote(mask: int, kind: str) -> str:
    return f"%acc, {mask};\n  setp.ne.u32 %q0, %v, 0;\n  vote.{kind}"


OTHERS = {
    "of all where it is any": (_vote(8, "any"), _vote(8, "all")),
    "of all where it is any, in a loop": (_vote(16, "any"), _vote(16, "all")),
    "of any where it is all": (_vote(16, "all"), _vote(16, "any")),
    "of nothing": (_vote(16, "any"), _vote(0, "any")),
    "not written": ("  st.global.u32 [%seen], %v;\n", ""),
    "one more": ("  bra L1;", "  st.global.u32 [%seen+256], %v; bra L1;"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_vote_is_found(what: str) -> None:
    text, (old, new) = ptx(LOOP), OTHERS[what]
    assert old in text
    assert wrong_votes(text.replace(old, new), LOOP, KINDS)


def test_most_votes_have_one_outcome_only() -> None:
    """Where threads of which nobody knows whether they are together would vote alike, or there are none."""
    sure = every = 0
    for seed in range(4):
        tree, kinds = voting(tree_of(seed), seed)
        for n, word in VALUES:
            found = [x for mine in outcomes(ended(tree, n, word), kinds) for x in mine]
            every += len(found)
            sure += sum(least == most for least, most in found)
    assert 0.5 * every < sure < every
