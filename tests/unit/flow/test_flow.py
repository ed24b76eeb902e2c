"""Graphs and data flow against definitions: every answer is found again by brute force on random graphs."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import pytest

from isakit.flow.bits import BitNumbers, bits, indices
from isakit.flow.blocks import basic_blocks
from isakit.flow.dataflow import gen_kill, live_sets, solve, uses_and_kills
from isakit.flow.dominators import EXIT, Dominators, loop_parents, natural_loops, post_dominators
from isakit.flow.graph import FlowGraph, further_roots, reachable
from isakit.flow.ssa import Renaming, dominance_frontiers, merges
from isakit.flow.uniformity import Divergence

SEEDS = range(60)
Edges = dict[int, list[int]]


def random_graph(seed: int) -> Edges:
    """A graph whose node 0 is the root; some nodes are not reached, edges may be given twice or lead to their node."""
    r = random.Random(seed)
    size = r.choice((1, 2, 3, 5, 8, 12))
    return {n: [r.randrange(size) for _ in range(r.choice((0, 1, 1, 2, 2, 3)))] for n in range(size)}


def ways_to(graph: Edges, root: int, without: int | None = None) -> set[int]:
    """The nodes that can be reached without passing one of them."""
    found: set[int] = set()
    todo = [root]
    while todo:
        n = todo.pop()
        if n != without and n not in found:
            found.add(n)
            todo += graph[n]
    return found


def dominating(graph: Edges, root: int) -> dict[int, set[int]]:
    """For each node that is reached the nodes that every way to it passes."""
    reached = ways_to(graph, root)
    return {n: {d for d in reached if n not in ways_to(graph, root, without=d)} for n in reached}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_graph_has_what_is_reached_and_each_node_after_those_that_lead_to_it_without_a_cycle(seed: int) -> None:
    edges = random_graph(seed)
    graph = FlowGraph([0], edges.__getitem__)
    assert set(graph.nodes) == reachable([0], edges.__getitem__) == ways_to(edges, 0)
    assert len(graph) == len(graph.nodes)
    assert graph.nodes[0] == 0
    for n, k in graph.number.items():
        assert graph.nodes[k] == n
        assert [graph.nodes[s] for s in graph.succs[k]] == edges[n]
        assert sorted(graph.nodes[p] for p in graph.preds[k]) == sorted(
            p for p in graph.nodes for s in edges[p] if s == n
        )
        for s in edges[n]:  # an edge against the order closes a cycle
            assert graph.number[s] > k or n in ways_to(edges, s)


def test_several_roots_are_all_in_the_graph() -> None:
    edges: Edges = {0: [1], 1: [0], 2: [1], 3: [3]}
    graph = FlowGraph([0, 2, 3], edges.__getitem__)
    assert sorted(graph.nodes) == [0, 1, 2, 3]
    assert 3 in graph
    assert 4 not in graph


@pytest.mark.parametrize("seed", SEEDS)
def test_further_roots_lead_to_all_that_the_first_do_not(seed: int) -> None:
    edges = random_graph(seed)
    roots = further_roots(edges, [0], edges.__getitem__)
    seen = ways_to(edges, 0)
    for n in roots:  # each was needed when it was taken
        assert n not in seen
        seen |= ways_to(edges, n)
    assert seen == set(edges)
    assert reachable([0], edges.__getitem__, without=roots) == ways_to(edges, 0)
    for n in edges:
        assert reachable([0], edges.__getitem__, without={n}) == ways_to(edges, 0, without=n)


def test_the_order_of_a_long_chain_needs_no_recursion() -> None:
    size = 200_000
    graph = FlowGraph([0], lambda n: (n + 1,) if n + 1 < size else ())
    assert graph.nodes == list(range(size))


@pytest.mark.parametrize("seed", SEEDS)
def test_dominators_are_on_every_way(seed: int) -> None:
    edges = random_graph(seed)
    dom, known = Dominators(0, edges.__getitem__), dominating(edges, 0)
    assert set(dom.order) == set(known)
    assert dom.idom[0] == 0
    for n in edges:
        assert (n in dom) == (n in known)
        for m in edges:
            assert dom.dominates(n, m) == (m in known and n in known[m])
    for n in known:
        strict = known[n] - {n}
        nearest = max(strict, key=lambda d: len(known[d]), default=0)
        assert dom.idom[n] == nearest
        assert n == 0 or n in dom.children[nearest]
        for m in known:
            both = known[n] & known[m]
            assert dom.meet(n, m) == max(both, key=lambda d: len(known[d]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("endless", [False, True])
def test_post_dominators_are_on_every_way_to_the_end(seed: int, endless: bool) -> None:
    edges = random_graph(seed)
    post = post_dominators(list(edges), edges.__getitem__, endless=endless)
    end = len(edges)
    ends = {n for n in edges if not edges[n]}
    added = {n for n in edges if post.idom.get(n) == EXIT} if endless else set[int]()
    onward = {n: [*edges[n], *([end] if n in ends else [])] for n in edges} | {end: []}
    leading = {n for n in edges if end in ways_to(onward, n)}
    assert set(post.order) == ({EXIT} | set(edges) if endless else {EXIT} | leading)
    for n in leading:
        ways = [m for m in edges if m in leading and end not in ways_to(onward, n, without=m)]
        if not endless:
            assert {m for m in edges if post.dominates(m, n)} == set(ways)
        else:  # what counts as an end besides can only take dominators away
            assert {m for m in edges if post.dominates(m, n)} <= set(ways) | added


@pytest.mark.parametrize("seed", SEEDS)
def test_a_natural_loop_is_all_that_leads_back_to_its_head_without_passing_it(seed: int) -> None:
    edges = random_graph(seed)
    known = dominating(edges, 0)
    found = natural_loops(Dominators(0, edges.__getitem__))
    expected: dict[int, set[int]] = {}
    for n in known:
        for head in edges[n]:
            if head in known[n]:
                body = {m for m in known if m == n or (m != head and n in ways_to(edges, m, without=head))}
                expected[head] = expected.get(head, {head}) | body
    assert found == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_the_parent_of_a_loop_is_the_smallest_one_around_it(seed: int) -> None:
    edges = random_graph(seed)
    bodies = natural_loops(Dominators(0, edges.__getitem__))
    parents = loop_parents(bodies)
    assert parents.keys() == bodies.keys()
    for head, parent in parents.items():
        around = [h for h in bodies if h != head and bodies[h] > bodies[head]]
        assert parent == min(around, key=lambda h: len(bodies[h]), default=None)


# --- data flow --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("backward", [False, True])
def test_a_solution_is_what_comes_along_all_ways(seed: int, backward: bool) -> None:
    edges, r = random_graph(seed), random.Random(seed)
    graph = FlowGraph(edges, edges.__getitem__)
    size = len(graph)
    gen, kill, start = ([r.getrandbits(8) & r.getrandbits(8) for _ in range(size)] for _ in range(3))
    after = graph.preds if backward else graph.succs
    expected = list(start)
    for bit in range(8):  # a bit comes along every way on which no node removes it
        for n in range(size):
            leaves = gen[n] >> bit & 1
            enters = start[n] >> bit & 1 and not kill[n] >> bit & 1
            if not (leaves or enters):
                continue
            todo, seen = list(after[n]), set[int]()
            while todo:
                m = todo.pop()
                if m not in seen:
                    seen.add(m)
                    expected[m] |= 1 << bit
                    if not kill[m] >> bit & 1:
                        todo += after[m]
    assert solve(graph, gen_kill(gen, kill), start, backward=backward) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_values_of_any_lattice_are_solved(seed: int) -> None:
    """Shortest ways: numbers that join to the smaller one."""
    edges = random_graph(seed)
    graph = FlowGraph(edges, edges.__getitem__)
    start = [Steps(0 if n == 0 else 99) for n in graph.nodes]
    found = solve(graph, lambda n, x: Steps(min(x.count + 1, 99)), start)
    steps = {n: k for k in range(98, -1, -1) for n in _after(edges, k)}
    assert [x.count for x in found] == [steps.get(n, 99) for n in graph.nodes]


@dataclass
class Steps:
    """The length of the shortest way."""

    count: int

    def __or__(self, other: Steps) -> Steps:
        return min(self, other, key=lambda s: s.count)


def _after(edges: Edges, steps: int) -> set[int]:
    at = {0}
    for _ in range(min(steps, 14)):
        at = {s for n in at for s in edges[n]}
    return at if steps <= 14 else set()


def test_a_node_is_visited_again_only_for_news() -> None:
    edges: Edges = {n: [n + 1] for n in range(1000)} | {1000: []}
    visits: list[int] = []

    def transfer(n: int, x: int) -> int:
        visits.append(n)
        return x | 1

    solve(FlowGraph([0], edges.__getitem__), transfer, [0] * 1001)
    assert visits == list(range(1001))
    visits.clear()
    solve(FlowGraph([0], edges.__getitem__), transfer, [0] * 1001, backward=True)
    assert visits == list(range(1000, -1, -1))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_variable_is_live_where_some_way_reads_it_before_it_is_overwritten(seed: int) -> None:
    edges, r = random_graph(seed), random.Random(seed)
    graph = FlowGraph(edges, edges.__getitem__)
    steps = [[(r.getrandbits(4) & r.getrandbits(4), r.getrandbits(4)) for _ in range(r.randrange(4))] for _ in edges]
    ends = [r.getrandbits(4) & r.getrandbits(4) for _ in edges]
    summary = [uses_and_kills(reversed(s)) for s in steps]
    found = live_sets(graph, [u for u, _ in summary], [k for _, k in summary], ends)

    def read_from(n: int, bit: int) -> bool:
        """Whether a way from a node on reads the variable; node and steps are walked one by one."""
        todo, seen = [n], set[int]()
        while todo:
            m = todo.pop()
            if m in seen:
                continue
            seen.add(m)
            for uses, kills in steps[m]:
                if uses >> bit & 1:
                    return True
                if kills >> bit & 1:
                    break
            else:
                if ends[m] >> bit & 1:
                    return True
                todo += graph.succs[m]
        return False

    assert found.entering == [sum(read_from(n, bit) << bit for bit in range(4)) for n in range(len(graph))]
    for n, live in enumerate(found.leaving):
        known = ends[n]
        for s in graph.succs[n]:
            known |= found.entering[s]
        assert live == known


# --- basic blocks -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_hold_each_instruction_once_and_control_enters_them_at_the_top_only(seed: int) -> None:
    edges, r = random_graph(seed), random.Random(seed)
    leaders = {n for n in edges if r.random() < 0.2}
    blocks = basic_blocks(edges, edges.__getitem__, leaders)
    assert sorted(n for b in blocks for n in b) == sorted(edges)
    assert [b[0] for b in blocks] == sorted(b[0] for b in blocks)
    inner = {n for b in blocks for n in b[1:]}
    assert not inner & leaders
    for b in blocks:
        for n, following in itertools.pairwise(b):
            assert edges[n] == [following]
    for n, targets in edges.items():
        for t in targets:
            assert t not in inner or any(n in b and b.index(t) == b.index(n) + 1 for b in blocks if t in b)
    for b in blocks:  # none could be longer
        for c in blocks:
            entries = sum(t == c[0] for targets in edges.values() for t in targets)
            assert not (edges[b[-1]] == [c[0]] and entries == 1 and c[0] not in leaders and c[0] > b[-1])


# --- SSA --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", SEEDS)
def test_the_frontier_of_a_node_is_where_its_dominance_ends(seed: int) -> None:
    edges = random_graph(seed)
    dom, known = Dominators(0, edges.__getitem__), dominating(edges, 0)
    found = dominance_frontiers(dom)
    for n in known:
        ends = {s for m in known for s in edges[m] if n in known[m] and (n == s or n not in known[s])}
        here = [dom.order[k] for k in found[dom.graph.number[n]]]
        # A single edge to a node makes no frontier: no other value comes to it.
        alone = {s for s in ends if sum(s in edges[m] and edges[m].count(s) for m in known) + (s == 0) < 2}
        assert sorted(here) == sorted(ends - alone)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_that_is_looked_up_is_the_one_that_execution_leaves(seed: int) -> None:
    """Random walks keep variables and merges as they are executed; what `Renaming` says must agree everywhere."""
    edges, r = random_graph(seed), random.Random(seed)
    dom = Dominators(0, edges.__getitem__)
    count = 5
    names = BitNumbers(range(count))
    writes = {n: {v for v in range(count) if r.random() < 0.3} for n in edges}
    wanted = [r.getrandbits(count) for _ in dom.order] if seed % 2 else [names.all] * len(dom.order)
    merged = merges(dom, [names.mask(writes[n]) for n in dom.order], wanted)
    assert all(not m & ~w for m, w in zip(merged, wanted, strict=True))
    at = {n: {v: ("merge", n, v) for v in names.of(merged[k])} for k, n in enumerate(dom.order)}
    written = {n: {v: ("write", n, v) for v in writes[n]} for n in edges}
    names_of = Renaming(dom, at, written, lambda v: ("initial", 0, v))
    for _ in range(20):
        n, state = 0, {v: ("initial", 0, v) for v in range(count)}
        for _ in range(30):
            state |= at[n]
            for v in range(count):
                if wanted == [names.all] * len(dom.order):
                    assert names_of.entering(n, v) == state[v]
            state |= written[n]
            for v in range(count):
                if wanted == [names.all] * len(dom.order):
                    assert names_of.leaving(n, v) == state[v]
            if not edges[n]:
                break
            n = r.choice(edges[n])


# --- lanes that part --------------------------------------------------------------------------------------------------
def random_dag(seed: int) -> Edges:
    """A graph without cycles in which everything is reached and each node leads to at most two others."""
    r = random.Random(seed)
    size = r.choice((3, 5, 8, 11))
    edges: Edges = {n: [] for n in range(size)}
    for n in range(1, size):
        before = [m for m in range(n) if len(edges[m]) < 2]
        edges[r.choice(before)].append(n)
    for n in range(size - 1):
        if len(edges[n]) == 1 and r.random() < 0.6:
            edges[n] = list(dict.fromkeys([*edges[n], r.randrange(n + 1, size)]))
    return edges


def ways(edges: Edges, n: int, end: int) -> list[list[int]]:
    """All ways from a node to another one."""
    return [[n]] if n == end else [[n, *rest] for s in edges[n] for rest in ways(edges, s, end)]


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_meet_where_ways_from_both_sides_have_no_node_in_common(seed: int) -> None:
    edges = random_dag(seed)
    divergence = Divergence(list(edges), edges.__getitem__)
    assert not divergence.odd
    for n, after in edges.items():
        if len(after) < 2:
            continue
        stop = divergence.meeting(n)
        apart = divergence.apart(n)
        assert apart == {m for s in after for m in ways_to(edges, s, without=None if stop is EXIT else stop)}
        expected = {
            m
            for m in apart | ({stop} if stop is not EXIT else set())
            if any(not set(a[:-1]) & set(b[:-1]) for a in ways(edges, after[0], m) for b in ways(edges, after[1], m))
        }
        assert divergence.meetings(n) == expected
        assert divergence.loops_left(n) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_branch_leaves_the_loops_that_it_is_in_and_leads_out_of(seed: int) -> None:
    edges = random_graph(seed)
    inside = ways_to(edges, 0)
    divergence = Divergence(sorted(inside), edges.__getitem__)
    dom = Dominators(0, edges.__getitem__)
    bodies = list(natural_loops(dom).values())
    for n in inside:
        left = [body for body in bodies if n in body and set(edges[n]) - body]
        assert divergence.loops_left(n) == left
        if len(set(edges[n])) < 2:
            continue
        r = random.Random(n)
        for _ in range(5):  # lanes that part stay apart at least until they come to the meeting
            at = r.choice(edges[n])
            for _ in range(20):
                if at == divergence.meeting(n):
                    break
                assert at in divergence.apart(n)
                if not edges[at]:
                    break
                at = r.choice(edges[at])
    back = [(n, t) for k, n in enumerate(dom.order) for t in edges[n] if dom.graph.number[t] <= k]
    assert divergence.odd == any(not dom.dominates(t, n) for n, t in back)


# --- sets as bits -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(20))
def test_bits_and_their_numbers(seed: int) -> None:
    r = random.Random(seed)
    numbers = {r.randrange(10 ** r.randrange(1, 5)) for _ in range(r.randrange(40))}
    mask = bits(numbers)
    assert mask == sum(1 << n for n in numbers)
    assert indices(mask) == sorted(numbers, reverse=True)


def test_things_get_numbers_as_they_come() -> None:
    names = BitNumbers("ab")
    assert names.mask("ca") == 0b101
    assert list(names.of(0b110)) == ["b", "c"]
    assert names.all == 0b111
