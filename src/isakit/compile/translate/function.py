"""Control flow, the remaining instructions, and the translation of a whole function."""

from __future__ import annotations

from itertools import chain

from isakit.compile.ir import Block, Const, Function, IrValue
from isakit.compile.layout import VariableLayout
from isakit.compile.ops import BRKPT, CMP, FENCE, OR, PMEVENT, PNOT, POR, SHL, SHR, TRAP, VOTE, ZEXT16
from isakit.compile.ptx import grammar, types
from isakit.compile.ptx.syntax import (
    SIZES,
    Address,
    Group,
    Label,
    Name,
    Number,
    Operand,
    PtxFunction,
    PtxMark,
    PtxModule,
    PtxRegister,
    PtxStatement,
    PtxVariable,
    Vector,
    names_in,
    source_name,
)
from isakit.compile.tesla.chip import Chip
from isakit.compile.translate.barriers import VOTES, Barriers, reduces
from isakit.compile.translate.base import Args, Mods, Unsupported
from isakit.compile.translate.floats import Floats
from isakit.compile.translate.integer import Integer
from isakit.compile.translate.memory import MemoryAddress
from isakit.errors import DefinitionError, did_you_mean

MAX_CALLS = 4096
"""Calls inlined into one kernel at most: larger kernels are refused before they exhaust the host's memory."""
_HEAP = "kernels have a heap from sm_20 on; pass memory of cudaMalloc to the kernel"
_LACKING = {
    **dict.fromkeys(("malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"), _HEAP),
    "vprintf": "`vprintf` is not supported: there is no device runtime",
    "__isakit_lacks_shuffles": "lanes exchange registers from sm_30 on; exchange the values in shared memory",
    "__isakit_lacks_ballots": "masks of votes need sm_20; use __any and __all, or atomicOr in shared memory",
    "__isakit_lacks_surfaces": "surfaces need sm_20; read through a texture, write to linear memory",
    "__isakit_lacks_layers": "layered textures, cube maps and tex2Dgather need sm_20; put layers into a 3-D texture",
    "__isakit_lacks_random_doubles": "how cuRAND makes a double of its bits is not published; use curand_uniform",
    "__isakit_lacks_random_poisson": "how cuRAND makes Poisson's numbers is not published; use curand_uniform",
    "__isakit_lacks_random_generator": "of cuRAND's generators there is XORWOW in kernels; use curandStateXORWOW_t",
}
"""Messages for calls of functions that only later chips have; our headers declare some of them under these names."""


_ENDS = ("exit", "ret")
"""Instructions that end a function, which have no translating method of their own."""


class Translator(Integer, Floats, Barriers):
    """One kernel."""

    def __init__(self, module: PtxModule, entry: PtxFunction, chip: Chip, layout: VariableLayout) -> None:
        super().__init__(module, entry, chip, layout)
        self.labels: dict[tuple[int, str], Block] = {}
        self.calls: list[str] = []
        self.inlined = 0
        self.returns: list[Block] = []

    # --- moves ------------------------------------------------------------------------------------------------------
    def do_mov(self, m: Mods, a: Args) -> None:
        ty = m["move"]
        if ty == "pred":
            self.write_predicate(a[0], self.predicate(a[1]))
        elif ty == "b128":
            raise self.refuse("128-bit moves are not supported")
        elif ty == "f64" and self.is_double(ty):
            self.write_double(a[0], self.double(a[1]))
        elif self.is_wide(ty) and not (isinstance(a[1], Vector) and len(a[1].items) == 4):
            self.write_pair(a[0], self.pair(a[1]))
        elif isinstance(a[1], Vector) or isinstance(a[0], Vector):
            self._mov_vector(ty, a)
        else:
            self.write(a[0], self.word(a[1], ty), ty, loose=ty == "f64")

    def _mov_vector(self, ty: str, a: Args) -> None:
        op = self.b.op
        if ty == "b32" and isinstance(a[1], Vector) and len(a[1].items) == 2:
            x, y = (self.word(i, "b16") for i in a[1].items)
            self.write(a[0], op(OR, op(ZEXT16, x), op(SHL, y, Const(16))), ty)
        elif ty == "b32" and isinstance(a[0], Vector) and len(a[0].items) == 2:
            x = self.word(a[1], ty)
            self.write(a[0].items[0], x, "b16")
            self.write(a[0].items[1], op(SHR, x, Const(16)), "b16")
        else:
            raise self.refuse("moves of vectors are supported between 16 and 32, and 32 and 64 bits")

    # --- synchronisation --------------------------------------------------------------------------------------------
    def do_membar(self, m: Mods, a: Args) -> None:
        """Emit a fence for the passes; it becomes no instruction, as memory is accessed in program order."""
        self.b.emit(FENCE, [], "")
        self.b.shared = {}

    do_fence = do_membar

    def do_vote(self, m: Mods, a: Args) -> None:
        if not self.chip.vote:
            raise self.refuse(f"{self.chip.variant} has no votes", notes=("gt200, gt215 and mcp77 have",))
        p = self.predicate(a[1])
        if m["vote"] == "uni":
            q = self.b.op(PNOT, p)
            every, none = (self.b.emit(VOTE(kind="all"), [x], "p").out for x in (p, q))
            self.write_predicate(a[0], self.b.op(POR, every, none))
        else:
            self.write_predicate(a[0], self.b.emit(VOTE(kind=m["vote"]), [p], "p").out)

    def do_ballot(self, m: Mods, a: Args) -> None:
        raise self.refuse("these chips cannot gather a predicate of all lanes into a register")

    def do_trap(self, m: Mods, a: Args) -> None:
        self.b.emit(TRAP, [], "")

    def do_brkpt(self, m: Mods, a: Args) -> None:
        self.b.emit(BRKPT, [], "")

    def do_pmevent(self, m: Mods, a: Args) -> None:
        if not isinstance(a[0], Number) or not 0 <= int(a[0].value) < 16:
            raise self.refuse("performance events are 0 to 15", a[0])
        self.b.emit(PMEVENT(id=int(a[0].value)), [], "")

    def do_nanosleep(self, m: Mods, a: Args) -> None:
        """Emit nothing: sleeping is a hint."""

    # --- control ----------------------------------------------------------------------------------------------------
    def label(self, operand: Operand) -> Block:
        """Return the block that begins at a label."""
        if isinstance(operand, Name):
            got = self.labels.get((self.frame, operand.text))
            if got is not None:
                return got
            names = (n for f, n in self.labels if f == self.frame)
            raise self.refuse(f"there is no label `{operand.text}`", operand, did_you_mean(operand.text, names))
        raise self.refuse("a label was expected", operand)

    def do_brx(self, m: Mods, a: Args) -> None:
        """Branch by a table: as a chain of comparisons, because an indirect branch takes all lanes to one address."""
        if not isinstance(a[1], Name) or a[1].text not in self.entry.branch_targets:
            raise self.refuse("the name of a list of branch targets was expected", a[1])
        index = self.word(a[0], "u32")
        keep = self.fresh()
        self.put(keep, index)
        names = self.entry.branch_targets[a[1].text]
        for k, name in enumerate(names):
            block, after = self.label(Name(name, a[1].pos)), self.new_block()
            if k == len(names) - 1:
                self.jump(block, after)
            else:
                self.branch(self.b.op(CMP(cond="e", ty="u32"), self.get(keep), Const(k)), block, after, after)

    def do_call(self, m: Mods, a: Args) -> None:
        """Inline a function."""
        groups = list(a)
        results: Args = ()
        first = groups[0] if groups else None
        if isinstance(first, Group):
            results = first.items
            groups = groups[1:]
        name = groups[0] if groups else None
        given: Args = groups[1].items if len(groups) > 1 and isinstance(groups[1], Group) else ()
        if not isinstance(name, Name):
            raise self.refuse("the name of a function was expected", name)
        if isinstance(name.what, PtxRegister):
            self._call_through(name, given, results)
            return
        callee = self.module.functions.get(name.text)
        if callee is None or not callee.defined:
            if name.text in _LACKING:
                raise self.refuse(_LACKING[name.text], name)
            failed = name.text in self.module.failures
            raise self.refuse(
                f"the function `{name.text}` has errors" if failed else f"the function `{name.text}` is not defined",
                name,
            )
        if len(given) != len(callee.params) or len(results) != len(callee.results):
            raise self.refuse(
                f"`{name.text}` takes {len(callee.params)} arguments and gives {len(callee.results)}", name
            )
        self._inline(callee, name, given, results)

    def _call_through(self, pointer: Name, given: Args, results: Args) -> None:
        """Call the function that a pointer means: its number is compared with that of each candidate."""
        shape = [_bytes_of(o) for o in (*given, *results)]
        possible = [
            f for f in taken_functions(self.module)
            if f.defined and len(f.params) == len(given) and [p.size for p in (*f.params, *f.results)] == shape
        ]  # fmt: skip
        if not possible:
            raise self.refuse("no function whose address is taken has these arguments and results", pointer)
        keep, after = self.fresh(), self.new_block()
        self.put(
            keep, self.pair(pointer)[0] if self.is_wide(self.register(pointer).type) else self.word(pointer, "u32")
        )
        for f in possible:
            here, following = self.new_block(), self.new_block()
            number = Const(self.module.number_of(f.name))
            p = self.b.op(CMP(cond="e", ty="u32"), self.get(keep), number)
            self.branch(p, here, following, here)
            self._inline(f, pointer, given, results)
            self.jump(after, following)
        self.b.emit(TRAP, [], "")  # no function
        self.jump(after)

    def _inline(self, callee: PtxFunction, name: Name, given: Args, results: Args) -> None:
        """Translate the statements of a function, with its parameters set to the arguments."""
        if callee.name in self.calls:
            raise self.refuse(f"`{source_name(callee.name)}` calls itself; these chips have no stack for that", name)
        self.inlined += 1
        if self.inlined > MAX_CALLS:
            raise self.refuse("too many calls to inline")
        at, frame, entry = self.at, self.frame, self.entry
        inner = self.inlined
        for p, v in zip(callee.params, given, strict=True):
            self._copy(p, inner, v, frame, True)
        self.frame = inner
        self.calls.append(callee.name)
        self.returns.append(self.new_block())
        self.layout.place([v for v in callee.variables if v.space in ("shared", "local")])
        self._keep(callee, inner)
        self.entry = PtxFunction(entry.name, entry.pos, params=entry.params, branch_targets=callee.branch_targets)
        self.body(callee)
        self.entry = entry
        self.jump(self.returns.pop())
        self.calls.pop()
        self.frame, self.at = frame, at
        for p, v in zip(callee.results, results, strict=True):
            self._copy(p, inner, v, frame, False)

    def _keep(self, callee: PtxFunction, frame: int) -> None:
        """Put parameters whose address is taken into local memory. One slot each is enough: there is no recursion."""
        taken: set[str] = set()
        for item in callee.body:
            if isinstance(item, PtxStatement) and item.opcode.split(".")[0] not in ("call", "ld", "st"):
                names = (o.base if isinstance(o, Address) else o for o in item.operands)
                taken |= {n.what.unique for n in names if isinstance(n, Name) and isinstance(n.what, PtxVariable)}
        for p in callee.params:
            if p.space != "param" or p.unique not in taken:
                continue
            place = PtxVariable("local", p.name, p.type, p.count, max(p.align, 4), pos=p.pos)
            place.unique = f"{callee.name}::{p.unique}"
            self.layout.place([place])
            at = self.layout.address(place)
            assert isinstance(at, int)
            self.kept[p.unique, p.pos] = at
            for k in range(-(-p.size // 4)):
                word = self.get(self.variable(("param", p.unique, p.pos, k, frame), "r"))
                self.store(MemoryAddress(Const(at + 4 * k), 0, "local"), "b32", word)

    def _copy(self, p: PtxVariable, inner: int, operand: Operand, outer: int, into: bool) -> None:
        """Copy an argument into a parameter, or a result out of one."""
        if p.space == "reg":
            mine = Name(p.name, operand.pos, p.register)
            pair = (mine, operand) if into else (operand, mine)
            if p.type == "pred":
                self.write_predicate(pair[0], self.predicate(pair[1]))
            else:
                move = Mods({"move": p.type})
                self.do_mov(move, pair)
            return
        if isinstance(operand, Name) and isinstance(operand.what, PtxVariable) and operand.what.space == "param":
            theirs = operand.what
            if theirs.size != p.size:
                raise self.refuse(f"`{p.name}` has {p.size} bytes, `{theirs.name}` has {theirs.size}", operand)
            for k in range(-(-p.size // 4)):
                if into:
                    self.frame = outer
                    value = self.param_word(theirs, 4 * k, "b32")
                    self.put(self.variable(("param", p.unique, p.pos, k, inner), "r"), value)
                else:
                    value = self.get(self.variable(("param", p.unique, p.pos, k, inner), "r"))
                    self.put(self.variable(("param", theirs.unique, theirs.pos, k, outer), "r"), value)
            return
        if into and SIZES[p.type] == p.size:
            words = self.pair(operand) if p.size == 8 else (self.word(operand, p.type),)
            for k, w in enumerate(words):
                self.put(self.variable(("param", p.unique, p.pos, k, inner), "r"), w)
            return
        raise self.refuse("the name of a parameter was expected", operand)

    # --- whole functions --------------------------------------------------------------------------------------------
    def run(self) -> Function:
        """Translate the kernel."""
        f = self.function
        self.body(self.entry)
        f.params = [(p.name, _type_name(p), self.layout.params[p.name], p.size) for p in self.entry.params]
        f.param_bytes = self.layout.param_bytes
        limits = self.entry.limits.get("maxntid") or self.entry.limits.get("reqntid") or ()
        f.max_threads = tuple(limits)
        f.shared, f.local = self.layout.shared, self.layout.local
        return f

    def body(self, entry: PtxFunction) -> None:
        """Translate the statements of a kernel or of an inlined function."""
        frame = self.frame
        for item in entry.body:
            if isinstance(item, Label):
                if (frame, item.name) in self.labels:
                    raise Unsupported(item.pos, f"the label `{item.name}` is defined twice", len(item.name))
                self.labels[frame, item.name] = self.new_block()
        fallen = True
        for item in entry.body:
            if isinstance(item, Label):
                block = self.labels[frame, item.name]
                if fallen:
                    self.b.block.term = ("jump", block)
                self.go(block)
                fallen = True
                continue
            if isinstance(item, PtxMark):
                if fallen:
                    self.mark_value(item.name, item.type, item.operand, self.module.source.line(item.pos))
                continue
            if not fallen:
                self.go(self.new_block())  # nothing reaches this
            self.mark(item)
            fallen = self.statement(item)
            self.frame = frame
        if fallen:
            self.leave()
        if frame:
            self.go(self.new_block())

    def leave(self) -> None:
        """End the block: jump behind the inlined call, or exit the kernel."""
        if self.frame and self.returns:
            self.b.block.term = ("jump", self.returns[-1])
        else:
            self.b.block.term = ("exit",)

    def statement(self, s: PtxStatement) -> bool:
        """Translate an instruction; return whether control can reach the next one."""
        got = grammar.match(s.opcode)
        if got is None:
            raise self._unknown(s)
        if not got.row.least <= len(s.operands) <= got.row.most:
            raise self.refuse(f"`{s.opcode}` takes {got.row.least} operands: `{got.row.text}`")
        types.check(s)
        key = got.row.key
        if key == "bra":
            return self._branch(s)
        after = None
        if (p := self._guard(s)) is not None:
            after, block = self.new_block(), self.new_block()
            self.branch(p, block, after, block)
        if key in _ENDS:
            self._end(key)
            if after is not None:
                self.go(after)
            return after is not None
        to = s.operands[0] if got.row.text.partition(" ")[2][:1] in ("d", "p") else None
        self.wrote = not isinstance(to, Name) or to.text == "_"
        getattr(self, f"do_{key}")(got.mods, s.operands)
        if not self.wrote:
            raise DefinitionError(f"PTX grammar, `{got.row.text}`: `do_{key}` writes no result")
        if after is not None:
            self.jump(after)
        return after is not None or key != "brx"

    def _guard(self, s: PtxStatement) -> IrValue | None:
        """Return the predicate that an instruction is executed under, None for always."""
        if s.guard is None:
            return None
        p = self.predicate(s.guard)
        return self.b.op(PNOT, p) if s.inverted else p

    def _end(self, key: str) -> None:
        if key == "ret":
            self.leave()
        else:
            self.b.block.term = ("exit",)

    def _branch(self, s: PtxStatement) -> bool:
        target = self.label(s.operands[0])
        p = self._guard(s)
        if p is None:
            self.b.block.term = ("jump", target)
            return False
        after = self.new_block()
        self.b.block.uniform = s.opcode == "bra.uni"
        self.branch(p, target, after, after)
        return True

    def _unknown(self, s: PtxStatement) -> Unsupported:
        base = s.opcode.split(".")[0]
        if base in grammar.REFUSED:
            return self.refuse(f"`{s.opcode}` is not supported: {grammar.REFUSED[base]}")
        rows = grammar.near(s.opcode)
        if rows:
            return self.refuse(f"`{s.opcode}` is not supported", notes=("this is: " + "; ".join(rows[:4]),))
        return self.refuse(f"there is no instruction `{s.opcode}`", notes=did_you_mean(base, grammar.rows()))


def _type_name(p: PtxVariable) -> str:
    if p.count == 1:
        if not p.pointer:
            return p.type
        return "ptr" + ("64" if p.size == 8 else "") + (".shared" if p.pointee == "shared" else "")
    return f"{p.type}[{p.count}]"


def _bytes_of(o: Operand) -> int:
    """Return the size of an argument or result of a call."""
    what = o.what if isinstance(o, Name) else None
    return what.size if isinstance(what, PtxVariable) else SIZES[what.type] if isinstance(what, PtxRegister) else 0


def taken_functions(module: PtxModule) -> list[PtxFunction]:
    """Return the functions whose address is taken, by a statement or in the content of a variable."""
    named: set[str] = set()
    for f in (*module.entries.values(), *module.functions.values()):
        for s in f.body:
            if isinstance(s, PtxStatement) and not s.opcode.startswith("call"):
                named.update(o.text for o in s.operands if isinstance(o, Name) and o.what is None)
    for v in module.variables.values():
        named.update(i.symbol for i in v.initial if i.symbol)
    return [f for name, f in module.functions.items() if name in named]


def used_variables(entry: PtxFunction, module: PtxModule) -> list[PtxVariable]:
    """Return the shared and local variables that a function, and the functions it calls, name."""
    out: dict[str, PtxVariable] = {}
    seen: set[str] = set()
    work = [entry]

    def visit(name: Name) -> None:
        if isinstance(name.what, PtxVariable) and name.what.space in ("shared", "local"):
            out.setdefault(name.what.unique, name.what)
        elif name.what is None and name.text in module.functions and name.text not in seen:
            seen.add(name.text)
            work.append(module.functions[name.text])

    while work:
        for item in work.pop().body:
            if isinstance(item, PtxStatement):
                if reduces(item):
                    out[VOTES.unique] = VOTES
                for o in item.operands:
                    for name in names_in(o):
                        visit(name)
                    if item.opcode.startswith("call") and isinstance(o, Name) and isinstance(o.what, PtxRegister):
                        called = [f for f in taken_functions(module) if f.name not in seen]
                        seen.update(f.name for f in called)
                        work += called
    declared = [v.unique for v in (*module.variables.values(), *entry.variables)]
    order = {name: k for k, name in enumerate(declared)}
    return sorted(out.values(), key=lambda v: order.get(v.unique, len(order)))


def named_registers(entry: PtxFunction) -> dict[int, PtxRegister]:
    """Return the registers that a function names, by their index."""
    statements = (item for item in entry.body if isinstance(item, PtxStatement))
    named = (name.what for s in statements for o in s.operands for name in names_in(o))
    return {what.index: what for what in named if isinstance(what, PtxRegister)}


for _row in chain.from_iterable(grammar.rows().values()):
    if _row.key not in ("bra", *_ENDS) and not hasattr(Translator, f"do_{_row.key}"):
        raise DefinitionError(f"PTX grammar, `{_row.text}`: nothing translates it; Translator has no `do_{_row.key}`")


def translate(
    module: PtxModule, entry: PtxFunction, chip: Chip, layout: VariableLayout, named: bool = False
) -> Function:
    """Translate a kernel to operations on variables; `named`: mark the values of its registers.

    Raises PtxSyntaxError for mistakes and unsupported features.
    """
    layout.place(used_variables(entry, module))
    t = Translator(module, entry, chip, layout)
    if named:
        t.registers = named_registers(entry)
    return t.run()
