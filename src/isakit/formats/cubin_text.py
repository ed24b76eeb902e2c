"""Text .cubin files of CUDA 1.x and 2.x: a tree of `key = value` and `name { ... }`.

Three layers: `parse_tree`/`write_tree` keep every key of the file in order, `read_text_cubin` turns the tree into a
`Module`, `write_text_cubin` builds a file from a `Module`. Source: [tesla] 11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from isakit.description import (
    ConstantSegment,
    GlobalVariable,
    Kernel,
    Module,
    Relocation,
    TextureSlot,
    bytes_of,
    words_of,
)
from isakit.errors import FormatError
from isakit.registry import ARCH_TO_VARIANT, VARIANT_TO_ARCH

MAX_BANK_BYTES = 1 << 20
"""More than any constant bank holds (64 KiB); keeps a wrong `bytes =` from asking for memory."""

_MAX_DEPTH = 16
_MAX_BARRIERS = 16
_TOKEN = re.compile(r"[{}=]|[^\s{}=]+")
_SPECIAL = re.compile(r"[{}=]")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")
_WORD = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,10}")
_INLINE = ("architecture", "abiversion", "modname")
_CODE_KEYS = frozenset({"name", "lmem", "smem", "reg", "bar"})


@dataclass(frozen=True)
class Pair:
    """`key = value`. `offset` is where the value stands in the text and is not part of equality."""

    key: str
    value: str
    offset: int = field(default=0, compare=False)


@dataclass
class TextBlock:
    """`name { ... }`; `items` in file order.

    `offset` is where its brace opens in the text, `end` where it closes; they are not part of equality.
    """

    name: str
    items: Items = field(default_factory=list["Pair | TextBlock | str"])
    offset: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the value of the first pair with that key."""
        return next((i.value for i in self.items if isinstance(i, Pair) and i.key == key), default)

    def blocks(self, name: str | None = None) -> Iterator[TextBlock]:
        """Yield child blocks, optionally only those of one name."""
        return (i for i in self.items if isinstance(i, TextBlock) and name in (None, i.name))


Items: TypeAlias = list[Pair | TextBlock | str]


def parse_tree(text: str, path: str | None = None, offset: int = 0) -> TextBlock:
    """Parse the text into a nameless root block; takes time linear in its length.

    `offset` is added to the offsets in error messages. Raises FormatError.
    """
    root = TextBlock("")
    stack = [root]
    pending: str | None = None  # a word that may turn out to be a key, a block name or a bare value
    pos = 0
    while match := _TOKEN.search(text, pos):
        token, pos, at = match[0], match.end(), offset + match.start()
        top = stack[-1]
        if token == "{":
            if pending is None:
                raise FormatError(path, at, "'{' without a name before it")
            if len(stack) > _MAX_DEPTH:
                raise FormatError(path, at, f"blocks are nested deeper than {_MAX_DEPTH}")
            block = TextBlock(pending, offset=at)
            top.items.append(block)
            pending = None
            # Most of a file is words between braces: take them at once instead of token by token.
            special = _SPECIAL.search(text, pos)
            if special and special[0] == "}":
                block.items.extend(text[pos : special.start()].split())
                pos = special.end()
                block.end = offset + special.start()
            else:
                stack.append(block)
        elif token == "=":
            match = _TOKEN.search(text, pos)
            if pending is None or match is None or match[0] in "{}=":
                raise FormatError(path, at, "'=' needs a key before it and a value after it")
            top.items.append(Pair(pending, match[0], offset + match.start()))
            pending, pos = None, match.end()
        else:
            if pending is not None:
                top.items.append(pending)
                pending = None
            if token != "}":
                pending = token
            elif len(stack) == 1:
                raise FormatError(path, at, "'}' closes nothing")
            else:
                stack.pop().end = at
    if pending is not None:
        stack[-1].items.append(pending)
    if len(stack) > 1:
        raise FormatError(path, offset + len(text), f"block {stack[-1].name!r} is not closed")
    return root


def write_tree(root: TextBlock) -> str:
    """Return the text of a tree; parsing it gives an equal tree."""
    out: list[str] = []
    _write_items(root, "", out)
    return "".join(out)


def _write_items(block: TextBlock, indent: str, out: list[str]) -> None:
    row: list[str] = []

    def flush() -> None:
        if row:
            out.append(f"{indent}{' '.join(row)}\n")
            row.clear()

    for item in block.items:
        if isinstance(item, str):
            row.append(item)
            if len(row) == 4:
                flush()
            continue
        flush()
        if isinstance(item, Pair):
            out.append(f"{indent}{item.key} = {item.value}\n")
        elif item.name in _INLINE and all(isinstance(i, str) for i in item.items):
            out.append(f"{indent}{item.name} {{{' '.join(i for i in item.items if isinstance(i, str))}}}\n")
        else:
            out.append(f"{indent}{item.name}  {{\n")
            _write_items(item, indent + "\t", out)
            out.append(f"{indent}}}\n")
    flush()


# --- tree -> module ------------------------------------------------------------------------------------------------


def read_text_cubin(data: bytes | str, path: str | None = None, offset: int = 0) -> Module:
    """Read a text cubin, abiversion 0 or 1.

    `bar =` is the highest barrier a kernel uses, so one more is allocated: that is enough for files of later
    releases too, which print the count. Unknown keys and blocks stay in `extra["text"]`.
    Raises FormatError. Source: [tesla] 11.
    """
    text = data if isinstance(data, str) else data.decode("latin-1")
    root = parse_tree(text, path, offset)
    reader = _Reader(path, offset)
    module = Module("text-cubin", path=path, offset=offset, size=len(text))
    rest: Items = []
    for item in root.items:
        if not isinstance(item, TextBlock):
            rest.append(item)
        elif item.name in _INLINE:
            if item.name in module.extra:
                raise reader.error(item, f"second {item.name!r}")
            module.extra[item.name] = " ".join(i for i in item.items if isinstance(i, str))
        elif item.name == "code":
            kernel = reader.kernel(item)
            if kernel.name in module.kernels:
                raise reader.error(item, f"second kernel {kernel.name!r}")
            module.add(kernel)
        elif item.name == "consts":
            reader.constant(item, module.constants)
        elif item.name == "reloc":
            reader.global_variable(item, module)
        elif item.name == "sampler":
            module.samplers.append(TextureSlot(item.get("name", "") or "", reader.number(item, "texunit")))
        else:
            rest.append(item)
    arch = str(module.extra.pop("architecture", ""))
    if arch not in ARCH_TO_VARIANT:
        raise FormatError(path, offset, f"architecture {arch!r} is not one of {', '.join(ARCH_TO_VARIANT)}")
    module.variant = ARCH_TO_VARIANT[arch]
    if rest:
        module.extra["text"] = rest
    return module


@dataclass
class _Reader:
    path: str | None
    base: int

    def error(self, block: TextBlock, reason: str) -> FormatError:
        return FormatError(self.path, block.offset, reason)

    def number(self, block: TextBlock, key: str, limit: int = 1 << 32) -> int:
        text = block.get(key, "0") or ""
        if not _NUMBER.fullmatch(text) or len(text) > 12:
            raise self.error(block, f"{key} = {text[:40]} is not a number")
        value = int(text, 16 if text[:2] in ("0x", "0X") else 10)
        if value >= limit:
            raise self.error(block, f"{key} = {text} is out of range (limit {limit:#x})")
        return value

    def words(self, block: TextBlock) -> bytes:
        # Zero is printed without 0x ("0000000000"), so every word is taken as hexadecimal.
        values: list[int] = []
        for item in block.items:
            if not isinstance(item, str) or not _WORD.fullmatch(item) or (value := int(item, 16)) > 0xFFFFFFFF:
                shown = item if isinstance(item, str) else item.key if isinstance(item, Pair) else item.name
                raise self.error(block, f"{block.name}: {shown[:40]!r} is not a 32-bit word")
            values.append(value)
        return bytes_of(values)

    def memory(self, block: TextBlock) -> bytes | None:
        parts = [self.words(mem) for mem in block.blocks("mem")]
        return b"".join(parts) if parts else None

    def constant(self, block: TextBlock, banks: dict[int, list[ConstantSegment]]) -> None:
        data = self.memory(block) or b""
        offset = self.number(block, "offset", MAX_BANK_BYTES)
        # `mem` is whole words, `bytes` may end inside the last one.
        size = self.number(block, "bytes", MAX_BANK_BYTES) if block.get("bytes") is not None else len(data)
        if len(data) > (size + 3) // 4 * 4:
            raise self.error(block, f"{len(data)} bytes of content in a segment of {size} bytes")
        segment = ConstantSegment(offset, size, data[:size], block.get("name", "") or "")
        banks.setdefault(self.number(block, "segnum", 16), []).append(segment)

    def global_variable(self, block: TextBlock, module: Module) -> None:
        name = block.get("name")
        if not name:
            raise self.error(block, "a reloc block has no name")
        if any(g.name == name for g in module.globals):
            raise self.error(block, f"second variable {name!r}")
        size, data = self.number(block, "bytes"), self.memory(block)
        if data is not None and len(data) > (size + 3) // 4 * 4:
            raise self.error(block, f"{len(data)} bytes of content in a variable of {size} bytes")
        module.globals.append(GlobalVariable(name, size, None if data is None else data[:size]))
        segnum, offset = self.number(block, "segnum", 16), self.number(block, "offset", MAX_BANK_BYTES)
        module.relocations.append(Relocation(f"c{segnum}", offset, name))

    def kernel(self, block: TextBlock) -> Kernel:
        name = block.get("name")
        if not name:
            raise self.error(block, "a code block has no name")
        kernel = Kernel(
            name,
            b"".join(self.words(b) for b in block.blocks("bincode")),
            registers=self.number(block, "reg"),
            shared_bytes=self.number(block, "smem"),
            local_bytes=self.number(block, "lmem"),
            barriers=self.number(block, "bar", _MAX_BARRIERS) + 1,
        )
        rest: Items = []
        for item in block.items:
            if isinstance(item, TextBlock) and item.name == "const":
                self.constant(item, kernel.constants)
            elif not (isinstance(item, TextBlock) and item.name == "bincode") and not (
                isinstance(item, Pair) and item.key in _CODE_KEYS
            ):
                rest.append(item)
        if rest:
            kernel.extra["text"] = rest
        return kernel


# --- module -> text ------------------------------------------------------------------------------------------------


def write_text_cubin(module: Module) -> str:
    """Write a text cubin; reading it gives an equal module if the module came from one.

    Raises FormatError for what the format cannot say: a variant without an sm number, relocations in code,
    names with blanks or braces, or a variable without a place in the address table.
    """
    root = TextBlock("")
    arch = VARIANT_TO_ARCH.get(module.variant)
    if arch is None:
        raise FormatError(module.path, 0, f"a text cubin cannot be for variant {module.variant!r}")
    root.items.append(TextBlock("architecture", [arch]))
    root.items.append(TextBlock("abiversion", [_name(module, str(module.extra.get("abiversion", "0")))]))
    if "modname" in module.extra or not module.extra:
        root.items.append(TextBlock("modname", [_name(module, str(module.extra.get("modname", "cubin")))]))
    for sampler in module.samplers:
        unit = Pair("texunit", str(sampler.unit or 0))
        root.items.append(TextBlock("sampler", [_pair(module, "name", sampler.name), unit]))
    for bank, segments in module.constants.items():
        root.items += [_constant(module, "consts", bank, s) for s in segments]
    root.items += _globals(module)
    for kernel in module.kernels.values():
        if kernel.relocations:
            raise FormatError(module.path, 0, f"kernel {kernel.name!r}: a text cubin has no relocations in code")
        root.items.append(_code(module, kernel))
    root.items += _rest(module.extra)
    return write_tree(root)


def _rest(extra: dict[str, object]) -> Items:
    rest = extra.get("text")
    return [i for i in rest if isinstance(i, Pair | TextBlock | str)] if isinstance(rest, list) else []  # pyright: ignore[reportUnknownVariableType]


def _name(module: Module, text: str) -> str:
    if not text or _SPECIAL.search(text) or text.split() != [text]:
        raise FormatError(module.path, 0, f"{text!r} cannot stand in a text cubin")
    return text


def _pair(module: Module, key: str, value: str) -> Pair:
    return Pair(key, _name(module, value))


def _words(name: str, data: bytes) -> TextBlock:
    data += bytes(-len(data) % 4)
    return TextBlock(name, [f"0x{w:08x}" for w in words_of(data)])


def _segment_head(module: Module, name: str, segname: str, segnum: int, offset: int, size: int) -> Items:
    head: Items = [_pair(module, "name", name)] if name else []
    numbers = {"segnum": segnum, "offset": offset, "bytes": size}
    return [*head, Pair("segname", segname), *(Pair(key, str(value)) for key, value in numbers.items())]


def _constant(module: Module, kind: str, bank: int, segment: ConstantSegment) -> TextBlock:
    size = max(segment.size, len(segment.data))
    block = TextBlock(kind, _segment_head(module, segment.name, "const", bank, segment.offset, size))
    if segment.data:
        block.items.append(_words("mem", segment.data))
    return block


def _globals(module: Module) -> Items:
    slots = {r.symbol: r for r in module.relocations}
    if len(slots) != len(module.relocations):
        raise FormatError(module.path, 0, "a text cubin has one address slot per variable")
    out: Items = []
    for variable in module.globals:
        slot = slots.pop(variable.name, None)
        if slot is None or not slot.target[1:].isdigit() or slot.addend:
            raise FormatError(module.path, 0, f"variable {variable.name!r} has no slot in a table of addresses")
        _name(module, variable.name)
        head = _segment_head(module, variable.name, "reloc", int(slot.target[1:]), slot.offset, variable.size)
        out.append(TextBlock("reloc", head if variable.data is None else [*head, _words("mem", variable.data)]))
    if slots:
        raise FormatError(module.path, 0, f"relocations for unknown variables: {', '.join(sorted(slots))}")
    return out


def _code(module: Module, kernel: Kernel) -> TextBlock:
    if (kernel.barriers or 0) > _MAX_BARRIERS:
        raise FormatError(module.path, 0, f"kernel {kernel.name!r}: {kernel.barriers} barriers")
    block = TextBlock("code", [
        _pair(module, "name", kernel.name),
        Pair("lmem", str(kernel.local_bytes or 0)),
        Pair("smem", str(kernel.shared_bytes or 0)),
        Pair("reg", str(kernel.registers or 0)),
        Pair("bar", str(max((kernel.barriers or 0) - 1, 0))),
    ])  # fmt: skip
    for bank, segments in kernel.constants.items():
        block.items += [_constant(module, "const", bank, s) for s in segments]
    block.items.append(_words("bincode", kernel.code))
    block.items += _rest(kernel.extra)
    return block
