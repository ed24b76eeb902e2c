"""The host's side of a run as a script: timed register writes, packets, and the expected answers of the core.

One command per line, `#` begins a comment; numbers may be hexadecimal:

| command | meaning | |---|---| | `run N` | run N cycles | | `at CYCLE` | run until the counter reaches CYCLE | | `write
NAME VALUE` | write a host register, such as H2V, or D[CELL] | | `feed WORD ...` | append words to the macroblock ring |
| `io SPACE ADDRESS VALUE ...` | values of loads from B6[] or B7[], one after the other, the last one repeated | | `wait
NAME VALUE [within N]` | run until NAME has a value | | `interrupt NAME [within N]` | run until an interrupt has been
raised since the last such command | | `expect NAME VALUE` | compare | | `expect-store SPACE ADDRESS VALUE` | compare
with the next store to B6[] or B7[] |

A NAME is a host register, `$rN`, a special register (`$stat`), `D[CELL]`, `pc` or `cycle`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from isakit.errors import CheckFailed, LaunchError
from isakit.machine.vuc.special_registers import UnknownRegisterError
from isakit.runtime.vuc import Core

PATIENCE = 100_000
"""Cycles that `wait` and `interrupt` wait at most, unless the command says it."""
_CELL = re.compile(r"D\[(\w+)\]")
_SPACES = ("B6", "B7")


@dataclass(frozen=True)
class ScriptCommand:
    """A line of a script."""

    line: int
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The command as written, apart from blanks."""
        return " ".join(self.words)


def parse_script(text: str) -> list[ScriptCommand]:
    """Parse the commands of a script. Raises LaunchError for a line that is not one, with its number."""
    out: list[ScriptCommand] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = tuple(line.partition("#")[0].split())
        if not words:
            continue
        command = ScriptCommand(number, words)
        if words[0] not in _COMMANDS:
            raise _wrong(command, f"there is no command {words[0]!r}; there are {', '.join(_COMMANDS)}")
        least, most, _ = _COMMANDS[words[0]]
        if not least <= len(words) - 1 <= most:
            raise _wrong(command, f"{words[0]} does not take {len(words) - 1} arguments")
        out.append(command)
    return out


@dataclass
class Script:
    """A script and the core it plays the host of."""

    core: Core
    answers: dict[tuple[str, int], deque[int]] = field(default_factory=dict[tuple[str, int], "deque[int]"])
    seen_stores: int = 0

    def __post_init__(self) -> None:
        self.core.on_io_load = self._loaded

    def play(self, commands: Sequence[ScriptCommand]) -> Iterator[str]:
        """Execute commands; yield a line for every comparison or wait.

        Raises CheckFailed if the core behaves differently, LaunchError for names and numbers that do not exist, and
        everything the program raises.
        """
        for c in commands:
            found = _COMMANDS[c.words[0]][2](self, c)
            if found:
                yield f"{self.core.cycle:>8}  {found}"

    # --- commands ----------------------------------------------------------------------------------------------------
    def run(self, c: ScriptCommand) -> str:
        """Execute `run N`."""
        self._pass(_number(c, 1))
        return ""

    def at(self, c: ScriptCommand) -> str:
        """Execute `at CYCLE`."""
        cycle = _number(c, 1)
        if cycle < self.core.cycle:
            raise _wrong(c, f"cycle {self.core.cycle} has come already")
        self._pass(cycle - self.core.cycle)
        return ""

    def write(self, c: ScriptCommand) -> str:
        """Execute `write NAME VALUE`."""
        name, value = c.words[1], _number(c, 2)
        cell = _CELL.fullmatch(name)
        if cell:
            self.core.write_data([value], _parsed(c, cell[1]))
            return ""
        self._checked(c, lambda: self.core.host.__setitem__(name, value))
        return ""

    def feed(self, c: ScriptCommand) -> str:
        """Execute `feed WORD ...`."""
        self.core.feed([_number(c, k) for k in range(1, len(c.words))])
        return ""

    def io(self, c: ScriptCommand) -> str:
        """Execute `io SPACE ADDRESS VALUE ...`."""
        space = _space(c)
        self.answers[space, _number(c, 2)] = deque(_number(c, k) for k in range(3, len(c.words)))
        return ""

    def wait(self, c: ScriptCommand) -> str:
        """Execute `wait NAME VALUE [within N]`."""
        name, wanted, limit = c.words[1], _number(c, 2), _patience(c, 3)
        if not self._comes(lambda: self._value(c, name) == wanted, limit):
            raise self._failed(c, f"{name} is {self._value(c, name):#x} after {limit} cycles")
        return f"{name} is {wanted:#x}"

    def interrupt(self, c: ScriptCommand) -> str:
        """Execute `interrupt NAME [within N]`."""
        name, limit = c.words[1], _patience(c, 2)
        if name not in self.core.host.interrupts:
            raise _wrong(c, f"there is no interrupt {name!r}; there are {', '.join(self.core.host.interrupts)}")
        bit = 1 << self.core.host.interrupts[name]
        if not self._comes(lambda: bool(self.core.host.intr & bit), limit):
            raise self._failed(c, f"no interrupt {name} after {limit} cycles")
        self.core.host["INTR"] = bit
        return f"interrupt {name}"

    def expect(self, c: ScriptCommand) -> str:
        """Execute `expect NAME VALUE`."""
        wanted, value = _number(c, 2), self._value(c, c.words[1])
        if value != wanted:
            raise self._failed(c, f"{c.words[1]} is {value:#x}")
        return f"{c.words[1]} is {wanted:#x}"

    def expect_store(self, c: ScriptCommand) -> str:
        """Execute `expect-store SPACE ADDRESS VALUE`."""
        space, address, wanted = _space(c), _number(c, 2), _number(c, 3)
        stores = self.core.io_writes
        if self.seen_stores >= len(stores):
            raise self._failed(c, "there is no other store")
        _, at, where, value = stores[self.seen_stores]
        self.seen_stores += 1
        if (at, where, value) != (space, address, wanted):
            raise self._failed(c, f"the next store is {at}[{where:#x}] = {value:#x}")
        return f"{space}[{address:#x}] = {wanted:#x}"

    # --- helpers -----------------------------------------------------------------------------------------------------
    def _comes(self, reached: Callable[[], bool], limit: int) -> bool:
        """Advance by at most `limit` cycles until a condition holds; return whether it does."""
        end = self.core.cycle + limit
        while not reached():
            if self.core.cycle >= end or self.core.halted:
                return False
            self._pass(1)
        return True

    def _pass(self, cycles: int) -> None:
        """Advance by cycles, also those of a sleeping core."""
        end = self.core.cycle + cycles
        while self.core.cycle < end and not self.core.halted:
            before = self.core.cycle
            self.core.run(end - before)
            if self.core.cycle < end and not self.core.halted:
                self.core.step(end - self.core.cycle if self.core.cycle == before else 1)

    def _loaded(self, space: str, address: int) -> int | None:
        answers = self.answers.get((space, address))
        if not answers:
            return None
        return answers.popleft() if len(answers) > 1 else answers[0]

    def _value(self, c: ScriptCommand, name: str) -> int:
        core = self.core
        cell = _CELL.fullmatch(name)
        if cell:
            number = _parsed(c, cell[1])
            if number >= len(core.data):
                raise _wrong(c, f"D[] has {len(core.data):#x} cells")
            return core.data[number]
        if name in ("pc", "cycle"):
            return core.pc if name == "pc" else core.cycle
        if name.startswith("$r") and name[2:].isdigit() and int(name[2:]) < len(core.r):
            return core.r[int(name[2:])]
        if name.startswith("$"):
            return int(self._checked(c, lambda: core.sr[name[1:]]))
        return int(self._checked(c, lambda: core.host[name]))

    def _checked(self, c: ScriptCommand, act: Callable[[], object]) -> int:
        try:
            return act() or 0  # type: ignore[return-value]
        except (LaunchError, UnknownRegisterError) as e:
            raise _wrong(c, str(e)) from None

    def _failed(self, c: ScriptCommand, why: str) -> CheckFailed:
        return CheckFailed(f"line {c.line}: {c.text}: {why} (cycle {self.core.cycle}, pc {self.core.pc:#x})")


def _wrong(c: ScriptCommand, why: str) -> LaunchError:
    return LaunchError(f"line {c.line} of the script: {why}")


def _parsed(c: ScriptCommand, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise _wrong(c, f"{text!r} is not a number") from None


def _number(c: ScriptCommand, k: int) -> int:
    number = _parsed(c, c.words[k])
    if not 0 <= number < 1 << 32:
        raise _wrong(c, f"{c.words[k]} does not fit 32 bits")
    return number


def _patience(c: ScriptCommand, k: int) -> int:
    if len(c.words) == k:
        return PATIENCE
    if len(c.words) != k + 2 or c.words[k] != "within":
        raise _wrong(c, f"`within N` may follow, not {' '.join(c.words[k:])!r}")
    return _number(c, k + 1)


def _space(c: ScriptCommand) -> str:
    if c.words[1] not in _SPACES:
        raise _wrong(c, f"{c.words[1]!r} is not an I/O space; there are {', '.join(_SPACES)}")
    return c.words[1]


_MANY = 1 << 16
_COMMANDS: dict[str, tuple[int, int, Callable[[Script, ScriptCommand], str]]] = {
    "run": (1, 1, Script.run), "at": (1, 1, Script.at), "write": (2, 2, Script.write), "feed": (1, _MANY, Script.feed),
    "io": (3, _MANY, Script.io), "wait": (2, 4, Script.wait), "interrupt": (1, 3, Script.interrupt),
    "expect": (2, 2, Script.expect), "expect-store": (3, 3, Script.expect_store),
}  # fmt: skip
"""Name -> least and most arguments, and what carries it out."""
