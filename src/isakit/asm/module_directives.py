"""The directives of a cubin besides code: variables, textures, relocations, notes to the loader.

Each directive occurs here twice: its text in a listing (`module_lines`, `kernel_lines`) and its meaning to the
assembler (`MODULE_DIRECTIVES`). Together they convert a `Module` to text and back. Content that has no text is named by
`.omitted`, which writers of files check. Source: [tesla] 11, 12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from isakit.asm.reader import Directive, Reader
from isakit.asm.sections import Bank
from isakit.asm.source import Statement
from isakit.codec import Token
from isakit.description import (
    MAX_SPACE,
    ConstantSegment,
    ExtraSection,
    GlobalVariable,
    InfoRecord,
    Kernel,
    Module,
    Relocation,
    TextureSlot,
    named_segments,
)

MODULE_DIRECTIVES: dict[str, Directive] = {}
"""The directives of this module by name."""

OMITTED = "omitted"
"""Key of `Module.extra`: content of the file that has no text, as a list of str."""

_HEADER_KEYS = ("elfclass", "e_flags", "e_type", "e_version", "osabi", "abiversion", "modname")
_WRITABLE = re.compile(r"[A-Za-z_.$@?][\w.$@?]*", re.ASCII)
_HEADER_WORD = re.compile(r"[\w.$@?-]+", re.ASCII)
_INDENT = "    "
_BINDINGS = ("global", "local", "weak")


# --- spelling --------------------------------------------------------------------------------------------------------


def module_lines(module: Module) -> Iterator[str]:
    """Yield the lines before the first kernel of the listing of a file; none for a file that is only kernels."""
    header: list[str] = []
    for key in _HEADER_KEYS:
        value = module.extra.get(key)
        if isinstance(value, int):
            header.append(f"{key}={value:#x}")
        elif isinstance(value, str) and _HEADER_WORD.fullmatch(value):
            header.append(f"{key}={value}")
        elif value is not None:
            yield f".omitted header {key}"
    if header:
        yield f".header {' '.join(header)}"
    for s in module.samplers:
        if _plain(s.name):
            unit = "" if s.unit is None else f" {s.unit}"
            sizes = "".join(f" {n:#x}" for n in s.sizes)
            yield f".sampler {s.name}{unit}{' size' if sizes else ''}{sizes}"
        else:
            yield ".omitted sampler with an unusual name"
    yield from (_info(r) for r in module.info)
    for v in module.globals:
        if not _plain(v.name):
            yield ".omitted variable with an unusual name"
            continue
        yield f".variable {v.name} {v.size:#x}" + (f" {v.section} {v.offset:#x}" if v.section else "")
        if v.data is not None:
            yield from data_lines(v.data)
    yield from _relocations(module.relocations)
    for e in _list(module, "sections"):
        if isinstance(e, ExtraSection):
            name = e.name if _plain(e.name) else "with an unusual name"
            yield f".omitted section {name} ({e.size} bytes)"
    if _list(module, "text"):
        yield ".omitted keys of the text cubin that are not understood"


def kernel_lines(kernel: Kernel) -> Iterator[str]:
    """Yield the lines after the parameters in the listing of a kernel that came from a file."""
    if not kernel.entry:
        yield ".function"
    if kernel.binding != "global":
        yield f".binding {kernel.binding}"
    if kernel.max_threads:
        yield f".max_threads {' '.join(map(str, kernel.max_threads))}"
    end = max((p.offset + p.size for p in kernel.params), default=0)
    if kernel.param_bytes is not None and (kernel.param_bytes != end or not end):
        yield f".param_bytes {kernel.param_bytes:#x}"
    for s in kernel.samplers:
        yield f".sampler {s.name} {s.unit or 0}" if _plain(s.name) else ".omitted sampler with an unusual name"
    yield from (_info(r) for r in kernel.info)
    yield from _relocations(kernel.relocations)
    if kernel.extra.get("text"):
        yield ".omitted keys of the kernel that are not understood"


def size_lines(segments: list[ConstantSegment], length: int) -> Iterator[str]:
    """Yield `.size` for the names of a bank of `length` bytes that end elsewhere than where the next one begins."""
    names = {s.name: s.offset for s in segments if s.name and _plain(s.name)}
    guessed = {s.name: s.size for s in named_segments(bytes(length), names)}
    for s in segments:
        if s.name in names and guessed[s.name] != s.size:
            yield f".size {s.name} {s.size:#x}"


def data_lines(data: bytes) -> Iterator[str]:
    """Yield bytes as `.word` and `.byte` lines of at most 16 bytes."""
    for at in range(0, len(data), 16):
        piece = data[at : at + 16]
        if len(piece) % 4 == 0:
            cells = (f"{int.from_bytes(piece[k : k + 4], 'little'):#010x}" for k in range(0, len(piece), 4))
            yield _INDENT + ".word " + ", ".join(cells)
        else:
            yield _INDENT + ".byte " + ", ".join(f"{b:#04x}" for b in piece)


def omitted(module: Module) -> list[str]:
    """Return the parts that a text says it leaves out, see `OMITTED`."""
    return [str(o) for o in _list(module, OMITTED)]


def _plain(name: str) -> bool:
    return _WRITABLE.fullmatch(name) is not None


def _list(module: Module, key: str) -> list[object]:
    found = module.extra.get(key)
    return list(found) if isinstance(found, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _info(r: InfoRecord) -> str:
    return f".info {r.form} {r.attribute:#04x}" + "".join(f" {b:#04x}" for b in r.data)


def _relocations(entries: list[Relocation]) -> Iterator[str]:
    for r in entries:
        if not (_plain(r.symbol) and _plain(r.target)):
            yield ".omitted relocation with an unusual name"
            continue
        rest = f" {r.addend:#x} {r.kind}" if r.kind != 1 else f" {r.addend:#x}" if r.addend else ""
        yield f".reloc {r.target} {r.offset:#x} {r.symbol}{rest}"


# --- reading ---------------------------------------------------------------------------------------------------------


def file_of(r: Reader) -> Module:
    """Return the module that the directives of a text fill."""
    if not isinstance(r.file, Module):
        r.file = Module("text", r.decoder.isa.name, r.variant.name)
    return r.file


class _DirectiveError(Exception):
    """A directive is not written according to its usage."""


def _directive(usage: str) -> Callable[[Callable[[Reader, Statement, list[str]], None]], None]:
    name = "." + usage.split()[0]

    def register(run: Callable[[Reader, Statement, list[str]], None]) -> None:
        def checked(r: Reader, s: Statement, args: list[Token]) -> None:
            try:
                run(r, s, s.text.replace(",", " ").split()[1:])
            except _DirectiveError as e:
                r.source.error(s.place(), str(e), f"usage: .{usage}")

        MODULE_DIRECTIVES[name] = Directive(name, "." + usage, (run.__doc__ or "").strip(), checked)

    return register


def _number(words: list[str], k: int, high: int, what: str, low: int = 0) -> int:
    try:
        value = int(words[k], 0)
    except (IndexError, ValueError):
        raise _DirectiveError(f"{what} was expected") from None
    if not low <= value <= high:
        raise _DirectiveError(f"{what} is {low:#x} to {high:#x}, not {value:#x}")
    return value


def _count(words: list[str], low: int, high: int) -> None:
    if not low <= len(words) <= high:
        raise _DirectiveError("something is missing" if len(words) < low else f"`{words[high]}` is not expected here")


def _kernel(r: Reader) -> Kernel:
    if r.section.kernel is None:
        raise _DirectiveError("this belongs after a `.kernel`")
    return r.section.kernel


def _outside(r: Reader) -> Module:
    if r.section.kernel is not None:
        raise _DirectiveError("this belongs before the first `.kernel`")
    return file_of(r)


@_directive("header KEY=VALUE ...")
def _header(r: Reader, s: Statement, words: list[str]) -> None:
    """Set numbers and words of the header of the file."""
    _count(words, 1, len(_HEADER_KEYS))
    for word in words:
        key, _, value = word.partition("=")
        if key not in _HEADER_KEYS or not _HEADER_WORD.fullmatch(value):
            raise _DirectiveError(f"keys are {' '.join(_HEADER_KEYS)}")
        _outside(r).extra[key] = int(value, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", value) else value


@_directive("omitted WHAT")
def _omitted(r: Reader, s: Statement, words: list[str]) -> None:
    """Name content of the file that the listing lacks: a file made from it would lose that."""
    _count(words, 1, 64)
    module = file_of(r)
    module.extra[OMITTED] = [*omitted(module), " ".join(words)]


@_directive("variable NAME BYTES [SECTION OFFSET]")
def _variable(r: Reader, s: Statement, words: list[str]) -> None:
    """Declare a variable in global memory. Its initial content may follow as data, until `.code`."""
    _count(words, 2, 4)
    module = _outside(r)
    if any(v.name == words[0] for v in module.globals):
        raise _DirectiveError(f"second variable {words[0]!r}")
    size = _number(words, 1, MAX_SPACE - 1, "a number of bytes")
    section, offset = (words[2], _number(words, 3, MAX_SPACE - 1, "an offset")) if len(words) > 2 else ("", 0)
    r.bank = Bank()
    r.variables.append((GlobalVariable(words[0], size, None, section, offset), r.bank, s))
    module.globals.append(r.variables[-1][0])


@_directive("sampler NAME [UNIT] [size X Y Z]")
def _sampler(r: Reader, s: Statement, words: list[str]) -> None:
    """Declare a texture reference: of the module, or with its unit for a kernel that uses it."""
    _count(words, 1, 6)
    k = words.index("size") if "size" in words else len(words)
    sizes = tuple(_number(words, n, MAX_SPACE - 1, "a size") for n in range(k + 1, len(words)))
    unit = _number(words, 1, MAX_SPACE - 1, "a unit") if k > 1 else None
    kernel = r.section.kernel
    samplers = kernel.samplers if kernel is not None else file_of(r).samplers
    if any(old.name == words[0] for old in samplers):
        raise _DirectiveError(f"second sampler {words[0]!r}")
    samplers.append(TextureSlot(words[0], unit, sizes))


@_directive("info FORM ATTRIBUTE [BYTE ...]")
def _info_record(r: Reader, s: Statement, words: list[str]) -> None:
    """Add a note to the loader, of the kernel or of the module, as an ELF cubin keeps it."""
    _count(words, 2, 1 << 16)
    form, attribute = _number(words, 0, 4, "a form", 1), _number(words, 1, 255, "an attribute")
    data = bytes(_number(words, k, 255, "a byte") for k in range(2, len(words)))
    if form != 4 and len(data) != 2:
        raise _DirectiveError(f"a note of form {form} has 2 bytes")
    record = InfoRecord(form, attribute, data)
    (r.section.kernel.info if r.section.kernel is not None else file_of(r).info).append(record)


@_directive("reloc TARGET OFFSET SYMBOL [ADDEND [KIND]]")
def _reloc(r: Reader, s: Statement, words: list[str]) -> None:
    """Relocate: an address belongs at an offset of a bank (`c14`), of the kernel's code (`code`) or of a section."""
    _count(words, 3, 5)
    addend = _number(words, 3, MAX_SPACE - 1, "an addend", -MAX_SPACE) if len(words) > 3 else 0
    kind = _number(words, 4, MAX_SPACE - 1, "a kind") if len(words) > 4 else 1
    entry = Relocation(words[0], _number(words, 1, MAX_SPACE - 1, "an offset"), words[2], addend, kind)
    (r.section.kernel.relocations if r.section.kernel is not None else file_of(r).relocations).append(entry)


@_directive("size NAME BYTES")
def _size(r: Reader, s: Statement, words: list[str]) -> None:
    """Set the size of a named constant that does not reach up to the next name."""
    _count(words, 2, 2)
    r.section.sizes[words[0]] = _number(words, 1, 1 << 20, "a number of bytes")


@_directive("function")
def _function(r: Reader, s: Statement, words: list[str]) -> None:
    """Make the kernel a device function, which the host cannot launch."""
    _count(words, 0, 0)
    _kernel(r).entry = False


@_directive("binding global|local|weak")
def _binding(r: Reader, s: Statement, words: list[str]) -> None:
    """Set the binding of the kernel's symbol; without it, it is global."""
    _count(words, 1, 1)
    if words[0] not in _BINDINGS:
        raise _DirectiveError(f"`{words[0]}` is not one of {' '.join(_BINDINGS)}")
    _kernel(r).binding = words[0]


@_directive("max_threads X Y Z")
def _max_threads(r: Reader, s: Statement, words: list[str]) -> None:
    """Set the threads per block the kernel was compiled for."""
    _count(words, 1, 3)
    _kernel(r).max_threads = tuple(_number(words, k, MAX_SPACE - 1, "a size") for k in range(len(words)))


@_directive("param_bytes BYTES")
def _param_bytes(r: Reader, s: Statement, words: list[str]) -> None:
    """Set the size of the parameter area if it is not the end of the last parameter; 0: there are no parameters."""
    _count(words, 1, 1)
    _kernel(r).param_bytes = _number(words, 0, 0xFFFF, "a number of bytes")
