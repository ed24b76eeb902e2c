"""Breakpoints from user input: places to addresses, watched data to the instructions that may access it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

from isakit.codec import Instruction
from isakit.debug.execution import Execution, MemoryAccess, Point
from isakit.debug.expression_values import evaluate
from isakit.debug.expressions import TYPES, Binary, Load, Node, NumberTerm, Variable
from isakit.debug.expressions import NamedRegister as Named
from isakit.debug.session_view import SessionView
from isakit.debug.source_variables import OptimisedOutError
from isakit.debug.stops import Breakpoint, Cell, Range, Watched
from isakit.debug.views import ThreadView, holds, parsed, place
from isakit.errors import LaunchError, NotModelled, did_you_mean
from isakit.sem.semantics import trace_of
from isakit.spec import InstructionKind
from isakit.spec.operands import Compound, Memory, Operand, Register


def joins(i: Instruction) -> bool:
    """Return true if lanes reconverge at an instruction: it has the `join` tail."""
    return any(str(o) == "join" for o in i.operands)


# --- places -----------------------------------------------------------------------------------------------------------
def addresses(session: SessionView, where: str | int) -> list[int]:
    """Return the addresses of a place as `Session.break_at` takes it. Raises LaunchError."""
    code = [i for i in session.program if i.valid]
    if isinstance(where, int):
        if all(i.address != where for i in code):
            raise LaunchError(f"no instruction begins at {where:#x}")
        return [where]
    name = where.strip().removeprefix("*").removeprefix("#")
    if name in session.labels:
        return [session.labels[name]]
    if name == "kernel":
        return [session.labels["entry"]]
    if ":" in name and (lines := _source_line(session, name)):
        return lines
    try:
        return addresses(session, int(name, 0))
    except ValueError:
        pass
    if name in tuple(InstructionKind):
        # `exit` also stands before other instructions, which end their lanes then.
        found = [
            i.address for i in code if i.group == name or (name == InstructionKind.EXIT and i.text.startswith("exit "))
        ]
    elif name == "join":
        found = [i.address for i in code if joins(i)]
    else:
        found = [i.address for i in code if i.mnemonic == name]
    if not found:
        known = [*session.labels, *InstructionKind, *{i.mnemonic for i in code}]
        (hint,) = did_you_mean(name, known) or ("give an address, a label, an instruction or a group of them",)
        raise LaunchError(f"no place {where!r} in this program; {hint}")
    return found


def _source_line(session: SessionView, place: str) -> list[int]:
    """Return the first addresses of the code of `FILE:LINE`; none for another place. Raises LaunchError."""
    path, _, number = place.rpartition(":")
    if not number.isdecimal():
        return []
    table = session.program.source_table
    if table is None:
        raise LaunchError(f"no line {place}: this program does not know its source lines")
    found = table.ptx_addresses(int(number))[:1] if path == "ptx" else table.addresses(int(number), path)
    if found:
        return found
    there = sorted({w.line for _, w in table if w.line and (not path or w.path.endswith(path))})
    near = min(there, key=lambda n: abs(n - int(number)), default=0)
    hint = f"; the nearest line is {near}" if near else ""
    raise LaunchError(f"no code comes from {place}{hint}")


def breakpoint_at(session: SessionView, number: int, where: str | int, condition: str, *, ignore: int = 0,
                  once: bool = False) -> Breakpoint:  # fmt: skip
    """Make a breakpoint; see `Session.break_at`."""
    found = addresses(session, where)
    node = parsed(session.execution, condition) if condition else None
    execution = session.execution

    def check(thread: int) -> bool:
        return node is None or any(holds(execution, node, t) for t in execution.lanes(thread))

    point = Point({a: _condition_at(execution, node, a) for a in found}, check, skip=ignore)
    said = f"{where:#x}" if isinstance(where, int) else where
    return Breakpoint(number, "breakpoint", said, point, condition, once=once, node=node)


def _condition_at(execution: Execution, node: Node | None, address: int) -> Node | None:
    """Return a condition with source variables replaced by their locations at an address.

    A condition on a variable that has been optimised out there is false.
    """
    if node is None:
        return None
    try:
        return execution.variables.placed(node, address)
    except OptimisedOutError:
        return NumberTerm(0)


def tracepoint(
    session: SessionView, number: int, where: str | int, collect: Sequence[str], condition: str
) -> Breakpoint:
    """Make a tracepoint; see `Session.trace`."""
    b = breakpoint_at(session, number, where, condition)
    b.kind = "tracepoint"
    b.collect = [(text, parsed(session.execution, text)) for text in collect]
    return b


# --- what is watched --------------------------------------------------------------------------------------------------
def watchpoint(session: SessionView, number: int, what: str, access: Watched, condition: str = "",
               size: int | None = None, ignore: int = 0) -> Breakpoint:  # fmt: skip
    """Make a watchpoint; see `Session.watch`. Raises NotModelled for accesses that the machine cannot observe."""
    execution, focus = session.execution, session.focus
    to = place(execution, what, focus)
    node = parsed(execution, condition) if condition else None
    if isinstance(to, Load):
        space = execution.target.memories[to.space]
        address = int(evaluate(to.address, ThreadView(execution, focus)))
        own = not space.shared and to.space != "s"  # s[] is a block's; blocks are told apart by the point
        watched: Range | Cell = Range(to.space, address, size or TYPES[to.type][0], focus if own else None)
        execution.target.read_memory(to.space, address, watched.size, focus)
        point = execution_point(session, watched, access)
    else:
        if access in ("read", "access"):
            raise NotModelled(f"watching reads of {what}", "registers are watched for writes and changes")
        watched = Cell(to.file, to.number, focus, what)
        point = _register_point(session, watched)
    point.skip = ignore
    inner = point.check
    if node is not None:
        point.check = lambda t: inner(t) and any(holds(execution, node, x) for x in execution.lanes(t))
    return Breakpoint(number, "watchpoint", what, point, condition, watched=watched, access=access, node=node)


def _register_point(session: SessionView, cell: Cell) -> Point:
    execution = session.execution
    if execution.target.isa != "tesla":
        return Point({}, lambda thread: True, every=True, sure=False)
    place_ = cell.file, cell.number
    facts = execution.facts(cell.thread)
    same = _all(Binary("==", Variable(n), NumberTerm(facts[n])) for n in ("block", "warp"))
    found = [i.address for i in session.program if i.valid and place_ in i.defs]

    def check(thread: int) -> bool:
        mine = execution.facts(thread)
        return all(mine[n] == facts[n] for n in ("block", "warp")) and cell.thread in execution.lanes(thread)

    return Point(dict.fromkeys(found, same), check, sure=False, lanes=1 << facts["lane"])


def execution_point(session: SessionView, watched: Range, access: Watched) -> Point:
    """Return the instructions that may access a range, with the conditions that compiled code can test."""
    if session.target.isa != "tesla":
        if session.target.isa == "vuc" and access in ("read", "access"):
            raise NotModelled("watching reads of a vµc core", "its memories are watched for writes and changes")
        return Point({}, lambda thread: True, every=True, sure=False)
    found: dict[int, Node | None] = {}
    for i in session.program:
        if i.valid and _touches(i, watched.space, reads=access in ("read", "access"), writes=access != "read"):
            node = _in_range(i, watched)
            if node != NumberTerm(0):
                found[i.address] = node
    facts = session.execution.facts(session.focus)
    if watched.space.startswith("g"):
        return Point(found, lambda thread: True, sure=False)
    # Shared memory is that of the focused block, local memory that of the focused thread.
    names = ("block", "warp") if watched.space == "l" else ("block",)
    own: Node = _all(Binary("==", Variable(n), NumberTerm(facts[n])) for n in names)

    def check(thread: int) -> bool:
        mine = session.execution.facts(thread)
        return all(mine[n] == facts[n] for n in names)

    lanes = 1 << facts["lane"] if watched.space == "l" else None
    nodes = {a: own if node is None else _all((own, node)) for a, node in found.items()}
    return Point(nodes, check, sure=False, lanes=lanes)


def _all(nodes: Iterable[Node]) -> Node:
    """Return the conjunction of conditions."""
    return reduce(lambda a, b: Binary("&&", a, b), nodes)


def _touches(i: Instruction, space: str, *, reads: bool, writes: bool) -> bool:
    """Return true if an instruction may access a space in one of the given ways."""
    form = i.form
    if form is None:
        return False
    try:
        trace = trace_of(form, i.word)
    except NotModelled:
        return False
    kinds = [*(("load",) if reads else ()), *(("store", "atomic") if writes else ()), *(("atomic",) if reads else ())]
    return any(e.name == space for e in trace.of_kind(*kinds))


def memory_operands(i: Instruction) -> Iterator[Memory]:
    """Yield the memory operands in an instruction's text."""

    def inside(o: Operand) -> Iterator[Memory]:
        if isinstance(o, Memory):
            yield o
        elif isinstance(o, Compound):
            for part in o.operands:
                yield from inside(part)

    for o in i.operands:
        yield from inside(o)


def _in_range(i: Instruction, watched: Range) -> Node | None:
    """Return the condition that a lane's address lies in the range: 0 for never, None if there is no simple one."""
    found = [m for m in memory_operands(i) if m.space == watched.space]
    if len(found) != 1 or found[0].index is not None:
        return None
    m, size = found[0], found[0].size or 16  # no access is wider
    if not isinstance(m.base, Register):
        inside = watched.address - size < m.offset < watched.address + watched.size
        return None if inside else NumberTerm(0)
    node: Node = Named(f"${m.base.file}{m.base.index}")
    if not m.post_increment:
        node = Binary("+", node, NumberTerm(m.offset))
    mask = 0xFFFF if m.base.file == "a" else 0xFFFF_FFFF
    address = Binary("&", node, NumberTerm(mask))
    low = Binary(">", address, NumberTerm(watched.address - size))
    return Binary("&&", low, Binary("<", address, NumberTerm(watched.address + watched.size)))


def watched_through(session: SessionView, watched: Sequence[Breakpoint]) -> list[tuple[Breakpoint, str]]:
    """Execute the next instruction; return the watchpoints it triggers, each with a description."""
    execution = session.execution
    before = [_content(session, b) for b in watched]
    needs_touches = any(isinstance(b.watched, Range) and b.access != "change" for b in watched)
    step: Callable[[], object] = session.timeline.step
    who = execution.following or 0
    defs = _writes_here(session, who)
    lanes = execution.lanes(who)
    touches: Sequence[MemoryAccess] = ()
    if needs_touches and execution.target.isa != "vuc":
        touches = execution.touched(step)
    else:
        step()
    out: list[tuple[Breakpoint, str]] = []
    for b, old in zip(watched, before, strict=True):
        text = _happened(session, b, old, touches, defs, lanes)
        if text:
            out.append((b, text))
    return out


def _writes_here(session: SessionView, thread: int) -> Sequence[tuple[str, int]]:
    address = session.target.thread(thread).address
    i = None if address is None else session.program.at(address)
    return i.defs if i is not None else ()


def _content(session: SessionView, b: Breakpoint) -> bytes:
    """Return the content of the data that a watchpoint watches; empty if it no longer exists."""
    try:
        match b.watched:
            case Range(space, address, size, thread):
                at = session.focus if thread is None else thread
                return session.target.read_memory(space, address, size, at)
            case Cell(file, number, thread):
                return session.target.read_register((file, number), thread).to_bytes(8, "little")
            case _:
                return b""
    except LaunchError:
        return b""


def _happened(session: SessionView, b: Breakpoint, old: bytes, touches: Sequence[MemoryAccess],
              defs: Sequence[tuple[str, int]], lanes: Sequence[int]) -> str:  # fmt: skip
    """Describe an instruction's effect on a watched value; return "" if the watchpoint does not count it."""
    new = _content(session, b)
    change = f"{_shown(old)} to {_shown(new)}" if old != new else f"{_shown(new)} again"
    if b.access == "change":
        return f"{b.where} changed from {change}" if new != old and new and old else ""
    if isinstance(b.watched, Cell):
        wrote = (b.watched.file, b.watched.number) in defs and b.watched.thread in lanes
        return f"{b.where} was written, {change}" if wrote or old != new else ""
    if session.target.isa == "vuc":
        return f"{b.where} was written, {change}" if old != new else ""
    assert isinstance(b.watched, Range)
    for t in touches:
        if b.watched.hit_by(t) and (b.access == "access" or t.access == b.access):
            name = session.target.thread(t.thread).name if t.thread < session.target.thread_count else "a thread"
            verb = "read" if t.access == "read" else "wrote"
            return f"{name} {verb} {t.space}[{t.address:#x}], {t.size} bytes" + (
                f", {change}" if verb == "wrote" else ""
            )
    return ""


def _shown(data: bytes) -> str:
    return hex(int.from_bytes(data[:8], "little")) if len(data) <= 8 else data[:32].hex(" ")
