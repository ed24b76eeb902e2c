"""Every exception isakit raises on purpose, in one tree.

Bad input, an unknown fact or a faulting program always surfaces as one of these; nothing else escapes the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isakit.lean import dataclass

_LONGEST_NAME = 40


def did_you_mean(name: str, words: Iterable[str]) -> tuple[str, ...]:
    """Suggest the closest of `words` for an unknown name, as a note to a message; no note if none is close.

    Names of more than 40 characters are not compared: that takes quadratic time.
    """
    import difflib  # here: only messages need it

    close = difflib.get_close_matches(name, words, 3) if len(name) <= _LONGEST_NAME else []
    return (f"did you mean {' or '.join(f'`{c}`' for c in close)}?",) if close else ()


def described_bug(error: BaseException) -> str:
    """Return a server's message about an internal error of isakit: exception type, text and place.

    The place is the innermost function of isakit on the way, and where the error was raised if that is elsewhere.
    """
    import traceback  # here: only mistakes need it

    frames = traceback.extract_tb(error.__traceback__)
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    if not frames:
        return said
    root = __file__.removesuffix("errors.py")
    ours = [f for f in frames if f.filename.startswith(root)]
    places = [f"{f.filename.removeprefix(root)}:{f.lineno} in {f.name}" for f in (*ours[-1:], frames[-1])]
    return f"{said}, at {', from '.join(dict.fromkeys(places))}"


class IsakitError(Exception):
    """Root of all errors raised by isakit."""


class UnknownIsaError(IsakitError):
    """An instruction set or variant name that does not exist; the message lists the valid ones."""


class DefinitionError(IsakitError):
    """An instruction record contradicts itself or another one; raised while the package is imported."""


class FormatError(IsakitError):
    """A file that cannot be read.

    Attributes: `path` (str or None), `offset` (bytes from the start of the file), `reason`.
    """

    def __init__(self, path: str | None, offset: int, reason: str) -> None:
        self.path, self.offset, self.reason = path, offset, reason
        super().__init__(f"{path or '<data>'}: offset {offset:#x}: {reason}")


_MOST_BESIDE = 2000
"""Files of a folder that are compared with the name of one that is not there."""


class NoSuchFile(FormatError, FileNotFoundError):
    """A file that is not there; also a FileNotFoundError. The message names files beside it that are called alike."""

    def __init__(self, path: str, hint: str = "") -> None:
        (near,) = called_alike(path) or (hint,)
        super().__init__(path, 0, "cannot be read: there is no such file" + (near and f"; {near}"))

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def called_alike(path: str) -> tuple[str, ...]:
    """Suggest the files of similar names beside a missing file, as `did_you_mean` does."""
    import os
    from itertools import islice

    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as found:
            return did_you_mean(name, [f.name for f in islice(found, _MOST_BESIDE)])
    except (OSError, ValueError):
        return ()


class CompileWarning(UserWarning):
    """A warning: a kernel compiles, and may not do what its source says."""


class FormatWarning(UserWarning):
    """A file that can be read, but contradicts itself."""


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place of a source text; line and column count from 1."""

    line: int
    column: int
    message: str
    source: str = ""
    width: int = 1
    notes: tuple[str, ...] = ()
    path: str = "<text>"

    def moved(self, lines: int) -> Diagnostic:
        """Return the message about a text that stands so many lines further down."""
        return Diagnostic(self.line + lines, self.column, self.message, self.source, self.width, self.notes, self.path)

    def __str__(self) -> str:
        lines = [f"{self.path}:{self.line}:{self.column}: error: {self.message}"]
        if self.source:
            gutter = f"{self.line:5d} | "
            lines.append(gutter + self.source.replace("\t", " "))
            lines.append(" " * (len(gutter) - 2) + "| " + " " * (self.column - 1) + "^" + "~" * (self.width - 1))
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


class AsmError(IsakitError):
    """A source text that does not assemble; `diagnostics` holds every error of the file, in order."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


class CompileError(AsmError):
    """A source text that does not compile; `diagnostics` holds what is wrong, in order."""


class EncodeError(AsmError):
    """Operands that no encoding of the instruction can hold, or that need the same bits for different values.

    The diagnostic shows the call that was to be built as its source line.
    """


class NotModelled(IsakitError):
    """Something whose behaviour is not known or not implemented; names the instruction or the feature.

    Attributes: `what` (the instruction or feature), `why` (reason and, where there is one, the option to set).
    """

    def __init__(self, what: str, why: str = "") -> None:
        self.what, self.why = what, why
        super().__init__(f"{what} is not modelled" + (f": {why}" if why else ""))


class LaunchError(IsakitError):
    """Arguments, sizes or limits of a launch that the chip or the kernel does not allow."""


class CheckFailed(IsakitError):
    """A program did something else than a script or a capture expects; the message names what, where and when."""


class HostError(IsakitError):
    """A program, library or tool of the host that is missing or does not do its part."""


class MachineFault(IsakitError):
    """The simulated program did something the machine refuses.

    Attributes: `kind` (the documents' own name, e.g. ILLEGAL_OPCODE, STACK_UNDERFLOW), `pc` (byte address, or the
    instruction address of a vµc core), `block` (tuple or None), `warp`, `lane` (ints or None), `space` and
    `address` (for memory faults), `detail`.
    """

    def __init__(
        self,
        kind: str,
        pc: int,
        block: tuple[int, ...] | None = None,
        warp: int | None = None,
        lane: int | None = None,
        space: str | None = None,
        address: int | None = None,
        detail: str = "",
    ) -> None:
        self.kind, self.pc, self.block, self.warp, self.lane = kind, pc, block, warp, lane
        self.space, self.address, self.detail = space, address, detail
        where = [f"pc {pc:#x}"]
        if block is not None:
            where.append(f"block {block}")
        if warp is not None:
            where.append(f"warp {warp}")
        if lane is not None:
            where.append(f"lane {lane}")
        if space is not None:
            where.append(f"{space}[{address:#x}]" if address is not None else space)
        super().__init__(f"{kind} at {', '.join(where)}" + (f": {detail}" if detail else ""))


class BudgetExceeded(MachineFault):
    """A bounded run used up its instructions or cycles; the state can still be inspected."""
