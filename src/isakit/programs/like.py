"""Putting an edited listing back into the file it is of: what the text does not change stays, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import field
from difflib import SequenceMatcher

from isakit import formats
from isakit.asm import Program
from isakit.asm.spelling import KernelSpelling
from isakit.codec import Instruction
from isakit.description import InfoRecord, Kernel, Module
from isakit.errors import FormatError
from isakit.formats.cubin_elf_edit import edit_elf_cubin
from isakit.formats.cubin_text_edit import edit_text_cubin
from isakit.formats.edits import Edits, KernelEdit
from isakit.lean import dataclass

_PROGRAM = re.compile(r"^[ \t]*\.file[ \t]+(\d{1,9})\b.*$", re.MULTILINE)
_MOST_COMPARED = 3000
"""Instructions of an edited stretch up to which old and new ones are compared pair by pair."""


@dataclass
class WrittenLike:
    """A file made like another one; `notes` say what in it may no longer be true."""

    data: bytes
    notes: list[str] = field(default_factory=list[str])


def split_text(text: str) -> dict[int, str]:
    """Return the texts of the programs of a host file, by their number in it; none for a text without `.file` lines.

    Every text has as many lines as the whole one, so that lines of messages are right.
    """
    marks = list(_PROGRAM.finditer(text))
    out: dict[int, str] = {}
    ends = [m.start() for m in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        lines = text.count("\n", 0, mark.end())
        body = text[mark.end() : end]
        number = int(mark[1])
        if number in out:
            raise FormatError(None, mark.start(), f"the text has file {number} twice")
        out[number] = "\n" * lines + body
    return out


def put_back(programs: Program | Mapping[int, Program], data: bytes, path: str | None = None) -> WrittenLike:
    """Return a file like the one in `data`, with the content of assembled texts in place of its own.

    Everything a text does not mention stays. In a GXP file programs can change, in a cubin code, sizes, parameters,
    constants, initial values of variables, units of textures and notes; in a host file every program in it, as long as
    it does not grow beyond its place.

    Args:
        programs: the program, or the programs of the programs in a host file by their number, see `split_text`.
        data: content of the file.
        path: its name, for messages.

    Raises FormatError for what the file has no place for.
    """
    modules = _read(programs, data, path)
    if isinstance(programs, Program):
        if len(modules) > 1:
            raise FormatError(
                path, 0, f"the file has {len(modules)} programs; say with `.file NUMBER` whose the text is"
            )
        programs = {0: programs}
    out, notes = bytearray(data), list[str]()
    for number, program in programs.items():
        if number >= len(modules):
            raise FormatError(path, 0, f"the file has {len(modules)} programs, there is no file {number}")
        module = modules[number]
        start, end = module.offset, module.offset + module.size
        whole = len(modules) == 1 and (not module.size or (start, end) == (0, len(data)) or (module.kind == "text-cubin"
                                       and not start and data[:4] != b"\x7fELF"))  # fmt: skip
        if whole:
            start, end = 0, len(data)
        elif bytes(out[start:end]) != data[start:end] or not _there(data[start:end], module):
            raise FormatError(path, start, "this program cannot be replaced where it is")
        new = _module_like(program, data[start:end], module, notes)
        followed = len(modules) == 1 and start == 0  # bytes after a cubin, which move along
        if not whole and not followed:
            new = _fitted(new, end - start, module)
        out[start:end] = new
    return WrittenLike(bytes(out), notes)


def _read(programs: Program | Mapping[int, Program], data: bytes, path: str | None) -> list[Module]:
    """Read the modules of the file; the text names the instruction set of words that do not."""
    try:
        return formats.load_images(data, path=path)
    except FormatError:
        if b".version" in data and b".target" in data:
            raise FormatError(
                path, 0, "this is PTX, which has no machine code to replace; make a cubin without --like, --format elf"
            ) from None
        first = programs if isinstance(programs, Program) else next(iter(programs.values()))
        return formats.load_images(data, isa=first.isa, variant=first.variant, path=path)


def _words_like(program: Program, data: bytes, original: Module) -> bytes:
    """Return a file of words, or of microcode and its data, with other words."""
    if program.kernels or len(program.by_type) > 1:
        raise FormatError(original.path, 0, f"a file of words ({original.kind}) holds one program without a name")
    code = program.to_bytes()
    image = original.payload
    if original.kind == "hex":
        unit = program.decoder.view.variant.unit_bytes
        if program.tail:
            raise FormatError(original.path, 0, "bytes that fill no word have no place in a text of words")
        text = data.decode("latin-1")
        size = unit if unit in (4, 8) else 8
        return formats.replace_hex(text, program.words, original.path, word_size=size).encode("latin-1")
    if isinstance(image, formats.VucImage) and len(code) != len(data):
        if program.tail:
            raise FormatError(original.path, 0, "bytes that fill no word have no place before data")
        return formats.pack_vuc(formats.replaced(image, program.words))
    return code


def _there(data: bytes, module: Module) -> bool:
    """Return true if these are the bytes the module was read from, not those of an array in a C source."""
    try:
        found = formats.load_images(data)
    except FormatError:
        return False
    return len(found) == 1 and found[0].kind == module.kind and list(found[0].kernels) == list(module.kernels)


def _fitted(new: bytes, room: int, module: Module) -> bytes:
    """Fit a program into exactly as many bytes as there are."""
    if len(new) > room:
        raise FormatError(
            module.path,
            module.offset,
            f"the program needs {len(new)} bytes, there are {room}: {len(new) - room} too many",
        )
    return new + (b"\n" if module.kind == "text-cubin" else b"\0") * (room - len(new))


def _module_like(program: Program, data: bytes, original: Module, notes: list[str]) -> bytes:
    if original.isa and program.isa != original.isa:
        raise FormatError(original.path, 0, f"this file holds {original.isa} code, not {program.isa} code")
    if isinstance(original, formats.Shader):
        return write_like(program, original)
    if original.kind in ("raw", "hex", "vuc"):
        return _words_like(program, data, original)
    if original.kind not in ("elf-cubin", "text-cubin"):
        raise FormatError(original.path, 0, f"programs cannot be put into a file of kind {original.kind}")
    if program.variant != original.variant:
        raise FormatError(original.path, 0, f"this file is for {original.variant}, the text for {program.variant}")
    edits = _edits(program, original, notes)
    if original.kind == "elf-cubin":
        return edit_elf_cubin(data, edits, original.path)
    return edit_text_cubin(data, edits, original.path)


def _edits(program: Program, original: Module, notes: list[str]) -> Edits:
    """Return the edits by which a text differs from the file."""
    edits = Edits()
    by_spelling: dict[str, list[Kernel]] = {}
    for k in original.kernels.values():
        by_spelling.setdefault(KernelSpelling(k).name, []).append(k)
    for part in program.parts or (program,):
        if part.kernel is None and not part.to_bytes():
            continue
        if part.kernel is not None:
            found = by_spelling.get(part.kernel.name, [])
        else:
            found = list(original.kernels.values())
        if len(found) != 1:
            what = f"no kernel {part.kernel.name!r}" if part.kernel else f"{len(found)} kernels"
            raise FormatError(original.path, 0, f"the file has {what}; it has {', '.join(by_spelling) or 'none'}")
        edits.kernels[found[0].name] = _kernel_edit(part, found[0])
    for bank, segments in program.constants.items():
        content = formats.merge_segments(segments)
        if content != original.constant_bytes(bank):
            edits.constants[bank] = content
    if isinstance(program.file, Module):
        _module_edits(program.file, original, edits)
    if any(e.code is not None and len(e.code) != len(original[name].code) for name, e in edits.kernels.items()):
        sections = original.extra.get("sections")
        names = [getattr(s, "name", "") for s in sections] if isinstance(sections, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        debug = [n for n in names if "debug" in n]
        if debug:
            notes.append(f"{', '.join(debug)} describe the code as it was before")
    return edits


def _module_edits(wanted: Module, original: Module, edits: Edits) -> None:
    """Add the edits of the text that concern the whole file."""
    variables = {v.name: v for v in original.globals}
    for v in wanted.globals:
        old = variables.get(v.name)
        if old is None or (old.size, old.section, old.offset) != (v.size, v.section, v.offset):
            raise _fixed(original, f"variable {v.name!r}")
        if v.data is not None and v.data != old.data:
            edits.variables[v.name] = v.data
    for what, new, old in (
        ("relocation", wanted.relocations, original.relocations), ("note", wanted.info, original.info),
    ):  # fmt: skip
        for item in new:
            if item not in old:
                raise _fixed(original, f"{what} {item}")
    textures = {s.name: s for s in original.samplers}
    units: dict[str, int] = {}
    for s in wanted.samplers:
        old_sampler = textures.get(s.name)
        if old_sampler is None or old_sampler.sizes != s.sizes or (s.unit is None) != (old_sampler.unit is None):
            raise _fixed(original, f"sampler {s.name!r}")
        if s.unit is not None and s.unit != old_sampler.unit:
            units[s.name] = s.unit
    if units:  # a text cubin keeps them outside its kernels
        name = next(iter(original.kernels), None)
        if name is None:
            raise _fixed(original, "a sampler")
        edits.kernels.setdefault(name, KernelEdit()).units.update(units)
    for key, value in wanted.extra.items():
        if key != "omitted" and original.extra.get(key) != value:
            raise _fixed(original, f"header value {key}")


def _fixed(original: Module, what: str) -> FormatError:
    return FormatError(original.path, 0, f"{what} is not in the file like that; --like changes values only")


def _kernel_edit(part: Program, old: Kernel) -> KernelEdit:
    edit = KernelEdit()
    code = part.to_bytes()
    if part.address != old.address:
        raise FormatError(None, 0, f"{old.name} begins at {old.address:#x}, the text at {part.address:#x}")
    if code != old.code:
        edit.code = code
        edit.moved = code_map(old.program.instructions, part.instructions)
    new = part.kernel
    if new is None:
        return edit
    for name in ("registers", "shared_bytes", "local_bytes", "barriers"):
        value = getattr(new, name)
        if value is not None and value != getattr(old, name):
            setattr(edit, name, value)
    if new.params:
        end = max(p.offset + p.size for p in new.params)
        area = new.param_bytes if new.param_bytes not in (None, 0) else end
        places = [(p.offset, p.size) for p in new.params]
        if places != [(p.offset, p.size) for p in old.params] or area != old.param_bytes:
            edit.params = new.params, area or end
    for bank, segments in new.constants.items():
        content = formats.merge_segments(segments)
        if content != old.constant_bytes(bank) or bank not in old.constants:
            edit.constants[bank] = content
    units = {s.name: s.unit for s in old.samplers}
    for s in new.samplers:
        if s.name not in units:
            raise FormatError(None, 0, f"{old.name} uses no texture {s.name!r}; --like changes values only")
        if s.unit is not None and s.unit != units[s.name]:
            edit.units[s.name] = s.unit
    edit.info = _changed_notes(new.info, old)
    for r in new.relocations:
        if r not in old.relocations:
            raise FormatError(None, 0, f"{old.name}: {r} is not in the file; --like changes values only")
    if new.max_threads and new.max_threads != old.max_threads:
        edit.max_threads = new.max_threads
    return edit


def _changed_notes(new: Sequence[InfoRecord], old: Kernel) -> dict[int, InfoRecord]:
    if not new:
        return {}
    kinds = [[(r.form, r.attribute) for r in records] for records in (new, old.info)]
    if kinds[0] != kinds[1]:
        raise FormatError(None, 0, f"{old.name} has other .info notes than the text; --like changes values only")
    return {k: r for k, (r, before) in enumerate(zip(new, old.info, strict=True)) if r != before}


def code_map(old: Sequence[Instruction], new: Sequence[Instruction]) -> Callable[[int], int | None]:
    """Return a map from offsets in old code to offsets in new code, None for what is not there any more.

    Instructions are the same if they differ in nothing but where they branch to.
    """
    before, after = [_shape(i) for i in old], [_shape(i) for i in new]
    found: dict[int, int] = {}
    shortest = min(len(before), len(after))
    head = next((k for k in range(shortest) if before[k] != after[k]), shortest)
    tail = next((k for k in range(shortest - head) if before[-1 - k] != after[-1 - k]), shortest - head)
    found.update({k: k for k in range(head)})
    found.update({len(before) - 1 - k: len(after) - 1 - k for k in range(tail)})
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(left), len(right), 1) <= _MOST_COMPARED:
        for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
            found.update({head + block.a + k: head + block.b + k for k in range(block.size)})
    places: dict[int, int] = {}
    for k, n in found.items():
        for b in range(old[k].size):
            places[old[k].address + b] = new[n].address + b
    return places.get


def _shape(i: Instruction) -> object:
    address = i.code_address
    return i.words if address is None else i.text_with({address.name: "@"})


def write_like(program: Program, original: Module) -> bytes:
    """Return a file like `original`, a GXP file, with the programs of a text in place of its own.

    A program the text does not have stays as it is. The header's number of phases follows the program, and its number
    of temporaries grows with it; everything else is the original's. Raises FormatError for files of other kinds;
    `put_back` takes those, with their bytes.
    """
    if not isinstance(original, formats.Shader):
        raise FormatError(original.path, 0, f"programs can be put into GXP files, this is {original.kind}")
    if program.isa != original.isa:
        raise FormatError(original.path, 0, f"this file holds {original.isa} code, not {program.isa} code")
    if program.kernels:
        raise FormatError(original.path, 0, "a GXP file has programs, no kernels")
    gxp = copy(original.file)
    for kind, part in program.by_type.items():
        if part.tail:
            raise FormatError(None, len(part.units), f"{len(part.tail)} bytes at the end fill no word")
        setattr(gxp, kind, part.words)
        gxp.temp_registers = max(gxp.temp_registers, _temporaries(part))
        if kind == "primary":
            old, new = _phases(original.primary), _phases(part)
            gxp.phase_count += len(new) - len(old)
            if gxp.phases == (tuple(old) or (0,)):
                gxp.phases = tuple(new) or (0,)
    return formats.write_gxp(gxp)


def _phases(program: Program) -> list[int]:
    """Return numbers of the instructions that phases begin with."""
    return [k for k, i in enumerate(program) if i.mnemonic == "phas"]


def _temporaries(program: Program) -> int:
    """Return one more than the highest temporary the code names."""
    return max((r.index + 1 for i in program for r in i.registers if r.file == "r"), default=0)
