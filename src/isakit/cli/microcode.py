"""`isakit run` for microcode: a vµc program, its data and its results from and to files.

Settings are `NAME=VALUE` texts:

| setting | meaning | |---|---| | data=FILE[@CELL] | fill D[] with little-endian 16-bit cells (a `.npy` file: its
values) | | ring=FILE | feed the macroblock ring with little-endian 32-bit words | | memory=FILE@ADDRESS | bytes of host
memory, for rings and surfaces | | host.NAME=N | write a host register before the start, e.g. host.PARM, host.WDCNT,
host.H2V | | option.NAME=VALUE | a field of `Options`, e.g. option.out_of_range=fault | | script=FILE | play the host:
timed writes and expected answers, see `isakit.runtime.vuc_script` | | until=ADDRESS | stop when the instruction at this
address is about to issue | | trace=FILE | a line for every cycle (`-`: with the other output) | | save_data=FILE,
save_state=FILE | keep D[], or everything as JSON, afterwards | | save_memory=FILE@ADDRESS:BYTES | keep host memory | |
lint=yes | print the linter's findings first |
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_origin, get_type_hints

import numpy as np

from isakit.description import words_of
from isakit.errors import FormatError, LaunchError
from isakit.lean import dataclass
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.watch import Cycle
from isakit.runtime.npy import load_array
from isakit.runtime.vuc import DEFAULT_CYCLES, Core, Stop
from isakit.runtime.vuc_script import Script, parse_script


@dataclass(frozen=True)
class MicrocodeRun:
    """A run of microcode: the reason of its end and its costs, the state of the core, and the linter's messages."""

    stats: Stop
    state: dict[str, Any]
    findings: list[str]


Report = tuple[MicrocodeRun, list[str]]

_FLAGS = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}


def run_image(
    source: object,
    settings: Sequence[str] = (),
    *,
    max_cycles: int | None = None,
    engine: Literal["auto", "reference", "llvm"] = "auto",
) -> Report:
    """Run a program and report its end, its state and its messages.

    Args:
        source: a `Program`, or a module from `isakit.load`.
        settings: see the module's table.
        max_cycles: cycle limit, default 1,000,000.
        engine: as `isakit.vuc.Core` takes it.

    Returns the result and the lines to print. Raises LaunchError for a wrong setting, FormatError for a file with other
    content, CheckFailed if a script's expectation is not met, MachineFault for a faulting program, OSError for files.
    """
    given = _Settings(settings)
    core = _prepared(source, given, engine)
    texts: list[str] = []
    findings: list[str] = []
    if _flag(given.one("lint") or "no", "lint"):
        from isakit.runtime.vuc_lint import lint

        findings = [str(f) for f in lint([w or 0 for w in core.code[: _length(core)]], core.variant)]
        texts += findings
    trace: list[str] = []
    if given.one("trace"):

        def keep(cycle: Cycle) -> None:
            trace.append(str(cycle))

        core.on_cycle = keep
    until = given.one("until")
    script = given.one("script")
    try:
        if script:
            commands = parse_script(Path(script).read_text(encoding="utf-8", errors="replace"))
            texts += Script(core).play(commands)
        stop = core.run(
            max_cycles or DEFAULT_CYCLES, until=_place(until, "until") if until else None, stop_spinning=True
        )
    finally:
        where = given.one("trace")
        if where == "-":
            texts += trace
        elif where:
            Path(where).write_text("".join(line + "\n" for line in trace), encoding="utf-8")
    _save(core, given)
    texts += _summary(core, stop.reason, stop.cycles)
    state = {k: v for k, v in core.state().items() if k not in ("pwt", "vp", "mvsi", "mvso")}
    return MicrocodeRun(stop, state, findings), texts


def prepared_core(
    source: object, settings: Sequence[str] = (), engine: Literal["auto", "reference", "llvm"] = "auto"
) -> Core:
    """Prepare a core with a program and its data, at the first instruction. Arguments and errors as of `run_image`."""
    return _prepared(source, _Settings(settings), engine)


def _prepared(source: Any, given: _Settings, engine: Literal["auto", "reference", "llvm"]) -> Core:
    _extents(given)  # what is wrong with them is said before the run
    core = Core(source.variant or "vp3", given.options(), engine=engine)
    core.load(source, start=False)
    for path, cell in given.placed("data"):
        core.write_data(_cells(path), _place(cell, "data") if cell else 0)
    for path, address in given.placed("memory"):
        core.memory.write(_place(address, "memory", "FILE@ADDRESS"), path.read_bytes())
    for name, value in given.prefixed("host."):
        core.host[name] = _number(value, f"host.{name}")
    core.start()
    for path in given.all("ring"):
        core.feed(_words(Path(path)))
    return core


def _length(core: Core) -> int:
    return max((i + 1 for i, w in enumerate(core.code) if w is not None), default=0)


def _summary(core: Core, reason: str, cycles: int) -> list[str]:
    registers = " ".join(f"$r{k}={v:#x}" for k, v in enumerate(core.r) if v)
    predicates = " ".join(f"$p{k}" for k, v in enumerate(core.p) if v and k not in (1, 15))
    out = [f"{reason} at {core.pc:#x} after {cycles} cycles", registers or "all registers are 0"]
    if predicates:
        out.append(f"set: {predicates}")
    out.append(f"V2H={core.host['V2H']:#x} STAT={core.sr['stat']:#x} INTR={core.host.intr:#x}")
    kinds = dict.fromkeys(f"{kind}: {text}" for _, _, kind, text in core.diagnostics)
    return out + [f"note: {text}" for text in list(kinds)[:20]]


def _save(core: Core, given: _Settings) -> None:
    for path in given.all("save_data"):
        Path(path).write_bytes(core.read_data())
    for path in given.all("save_state"):
        Path(path).write_text(core.to_json(), encoding="utf-8")
    for path, address, count in _extents(given):
        path.write_bytes(core.memory.read(address, count))


def _extents(given: _Settings) -> list[tuple[Path, int, int]]:
    """Return the parts of host memory to keep: file, address and number of bytes."""
    form = "FILE@ADDRESS:BYTES"
    out: list[tuple[Path, int, int]] = []
    for path, extent in given.placed("save_memory"):
        address, _, count = extent.partition(":")
        out.append((path, _place(address, "save_memory", form), _place(count, "save_memory", form)))
    return out


def _cells(path: Path) -> bytes | list[int]:
    if path.suffix != ".npy":
        return path.read_bytes()
    values = load_array(path).ravel()
    kind = values.dtype.kind
    if kind == "c" or (kind == "f" and not np.all(np.isfinite(values) & (values == np.trunc(values)))):
        raise FormatError(str(path), 0, "cells of D[] are whole numbers")
    return [int(v) for v in values]


def _words(path: Path) -> list[int]:
    data = path.read_bytes()
    if len(data) % 4:
        raise LaunchError(f"{path}: {len(data)} bytes are not whole 32-bit words")
    return words_of(data)


def _number(text: str, name: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise LaunchError(f"{name}: {text!r} is not a number") from None


def _place(text: str, name: str, form: str = "") -> int:
    """Parse an address or a size; `form` is the form of the setting if it must have a value."""
    if form and not text:
        raise LaunchError(f"{name}: give {name}={form}")
    number = _number(text, name)
    if number < 0:
        raise LaunchError(f"{name}: {text} is negative")
    return number


def _flag(text: str, name: str) -> bool:
    if text not in _FLAGS:
        raise LaunchError(f"{name}: {text!r} is not one of {', '.join(_FLAGS)}")
    return _FLAGS[text]


class _Settings:
    """`NAME=VALUE` texts, checked."""

    FILES = ("data", "ring", "memory", "save_data", "save_state", "save_memory")
    OTHERS = ("until", "trace", "lint", "script")

    def __init__(self, texts: Sequence[str]) -> None:
        self.pairs: list[tuple[str, str]] = []
        for text in texts:
            name, equals, value = text.partition("=")
            known = name in (*self.FILES, *self.OTHERS) or name.startswith(("host.", "option."))
            if not equals or not known:
                names = ", ".join((*self.FILES, *self.OTHERS, "host.NAME", "option.NAME"))
                raise LaunchError(f"{text!r}: microcode takes settings NAME=VALUE with the names {names}")
            self.pairs.append((name, value))

    def all(self, name: str) -> list[str]:
        """Return the values of a name."""
        return [value for n, value in self.pairs if n == name]

    def placed(self, name: str) -> list[tuple[Path, str]]:
        """Return the files of a setting, each with the text after its `@`."""
        parts = (value.rpartition("@") if "@" in value else (value, "", "") for value in self.all(name))
        return [(Path(path), place) for path, _, place in parts]

    def one(self, name: str) -> str:
        """Return the last value of a name, or an empty text."""
        return (self.all(name) or [""])[-1]

    def prefixed(self, prefix: str) -> list[tuple[str, str]]:
        """Return the settings whose name starts with a prefix, without it."""
        return [(n.removeprefix(prefix), v) for n, v in self.pairs if n.startswith(prefix)]

    def options(self) -> Options:
        """Return the core's options."""
        known = get_type_hints(Options)
        values: dict[str, Any] = {}
        for name, text in self.prefixed("option."):
            if name not in known:
                raise LaunchError(f"option.{name}: there are {', '.join(known)}")
            kind = known[name]
            if kind is bool:
                values[name] = _flag(text, f"option.{name}")
            elif kind is int:
                values[name] = _number(text, f"option.{name}")
            elif get_origin(kind) is Literal:
                values[name] = text
            elif get_origin(kind) is frozenset:
                values[name] = frozenset(filter(None, text.split(",")))
            else:
                raise LaunchError(f"option.{name} cannot be set here")
        return Options(**values)
