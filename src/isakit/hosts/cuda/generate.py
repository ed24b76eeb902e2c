"""Files generated from the table: the C functions of the library, and the reference page.

`python -m isakit.hosts.cuda.generate --docs` writes the page, `--check` compares the page in docs/reference with the
table.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from isakit.hosts.cuda.codes import errors, library_code
from isakit.hosts.cuda.table import INTERFACES, LIBRARIES, SCALARS, ApiFunction, ApiParameter, fingerprint, functions

EXPORTED = INTERFACES[1:]
_INVALID = {"runtime": 11, "driver": 1, **{name: library_code(name, "cudaErrorInvalidValue") for name in LIBRARIES}}
_FINISH = {name: f"{name}_status" for name in EXPORTED}

# How a number of the request is made from the parameter, and the parameter from a number of the answer.
_SEND = {
    "int": "(uint64_t)(int64_t){0}",
    "float": "float_bits({0})",
    "double": "double_bits({0})",
    "ptr": "address_number({0})",
    "handle": "address_number({0})",
    "array": "address_number({0})",
    "stream": "handle_number({0})",
    "event": "handle_number({0})",
    "mapped": "mapped_number({0})",
    "host": "({0} != 0)",
    "symbol": "0",
}
_RECEIVE = {
    "float": "float_of((uint32_t){0})",
    "ptr": "address_of({0})",
    "handle": "address_of({0})",
    "array": "address_of({0})",
    "mapped": "mapped_address({0})",
}


_CODELESS = ("hint", "refuse", "later")
"""Kinds of functions that send no message."""
_MADE = "/* Made from the table of the interfaces by generate.py; not to be edited. */"


def c_files() -> dict[str, str]:
    """Return the generated headers of the C library, by file name."""
    exported = [f for f in functions().values() if f.interface in EXPORTED]
    table = [_MADE, f"#define TABLE {fingerprint():#x}u"]
    table += [f"#define OP_{f.name} {f.number}" for f in functions().values() if f.kind not in _CODELESS]
    table += [f"EXPORT {prototype(f)};" for f in exported]
    made = [_MADE, *(_function(f) for f in exported if f.kind != "local"), "const struct export exports[] = {"]
    made += [f'    {{"{f.name}", (void (*)(void)){f.name}}},' for f in exported]
    made += ["    {0, 0},", "};"]
    rows = [
        f"{{{e.runtime if e.runtime is not None else -1}, {e.driver if e.driver is not None else -1}, "
        f'"{e.name}", "{e.driver_name}", "{e.text}"}},'
        for e in errors()
    ]
    failures = ("cudaErrorNoDevice", "cudaErrorInvalidValue", "cudaErrorMemoryAllocation", "*")
    codes = [f"{{{', '.join(str(library_code(name, e)) for e in failures)}}}," for name in LIBRARIES]
    table += ["enum library {CUBLAS, CUFFT, CURAND};"]
    texts = {"library_codes.h": [_MADE, *codes], "table.h": table, "functions.h": made, "errors.h": [_MADE, *rows]}
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def _c_parameter(p: ApiParameter) -> str:
    if p.type == "string":
        return f"const char *{p.name}"
    if p.variable:
        return f"{'' if p.result else 'const '}void *{p.name}"
    made = SCALARS[p.type]
    star = "" if made.endswith("*") else " "
    return f"{made}{star}{'*' if p.result else ''}{p.name}" if p.result else f"{made}{star}{p.name}"


def prototype(f: ApiFunction) -> str:
    """Return the declaration of a function of the C library."""
    if f.kind == "blas":
        return _blas_prototype(f)
    parameters = ", ".join(_c_parameter(p) for p in f.parameters) or "void"
    return f.prototype or f"int {f.name}({parameters})"


def _function(f: ApiFunction) -> str:
    head = f"{prototype(f)}\n{{"
    lines = [f"    {line}" for line in _BODIES[f.kind](f)]
    base = f.name.rpartition("_v")[0]
    if base and any(p.type == "block" for p in f.parameters):  # sizes are as wide as those of the first version there
        narrow = f"    return {base}({', '.join(p.name for p in f.parameters)});"
        lines = ["#if UINTPTR_MAX == UINT32_MAX", narrow, "#else", *lines, "#endif"]
    return "\n".join([head, *lines, "}"])


def _unused(f: ApiFunction, used: str = "") -> Iterator[str]:
    for p in f.parameters:
        if not re.search(rf"\b{p.name}\b", used):
            yield f"(void){p.name};"


def _hint(f: ApiFunction) -> list[str]:
    return [*_unused(f), f"return {_FINISH[f.interface]}(0);"]


def _refuse(f: ApiFunction) -> list[str]:
    said = f'refuse("{f.name}", "{f.note}");'
    return [*_unused(f), "static int told;", f"if (!told++) {said}", f"return {_FINISH[f.interface]}({f.more});"]


def _copy(f: ApiFunction) -> list[str]:
    move = "move_in_stream(handle_number(stream), " if f.parameters[-1].name == "stream" else "move_bytes("
    done = f"return {_FINISH[f.interface]}({move}OP_{f.name}, {f.more}));"
    return [*_unused(f, done), done]


def _call(f: ApiFunction) -> list[str]:
    finish = _FINISH[f.interface]
    needed = [p.name for p in f.parameters if p.way == "out" or (p.variable and p.way == "in" and p.type != "bytes")]
    lines = [f"if ({' || '.join(f'!{n}' for n in needed)}) return {finish}({_INVALID[f.interface]});"] if needed else []
    if f.name == "cuParamSetv":
        lines.append(f"if (!value && count) return {finish}({_INVALID[f.interface]});")
    sent = [_SEND.get(p.type, "(uint64_t){0}").format(p.name) for p in f.sent]
    if sent:
        lines.append(f"const uint64_t in[] = {{{', '.join(sent)}}};")
    out = f.returned
    blocks = [p for p in f.parameters if p.variable and p.result]
    if out:
        lines.append(f"uint64_t out[{len(out)}];")
    room = sum(p.room for p in blocks)
    if room:
        lines.append(f"unsigned char back[{room}];")
    tail, length = "0", "0"
    if f.tail is not None:
        tail = f.tail.name
        length = {"string": f"strlen({tail})", "block": str(f.tail.room)}.get(f.tail.type, f.parameters[-1].name)
    lines.append(
        f"struct request request = {{OP_{f.name}, {'in' if sent else '0'}, {len(sent)}, {tail}, {length}, "
        f"{'out' if out else '0'}, {len(out)}, {'back' if room else '0'}, {room}, 0}};"
    )
    lines.append("int status = ask(&request);")
    stores = [*_stores(out), *_blocks(blocks)]
    if stores:
        lines += ["if (!status) {", *(f"    {s}" for s in stores), "}"]
    return [*lines, f"return {finish}(status);"]


# --- routines of cuBLAS ---------------------------------------------------------------------------------------------
_ELEMENTS = {"S": "float", "D": "double", "C": "struct complex32", "Z": "struct complex64"}
_REALS = {"S": "S", "D": "D", "C": "S", "Z": "D"}


def _blas_letter(f: ApiFunction, p: ApiParameter) -> str:
    """Return the C type letter of a number: that of an element or its real part, I for an int."""
    return {"scalar": f.element, "real": _REALS[f.element]}.get(p.type, "I")


def _blas_type(f: ApiFunction, p: ApiParameter) -> str:
    letter = _blas_letter(f, p)
    return "int" if letter == "I" else _ELEMENTS[letter]


def _blas_prototype(f: ApiFunction) -> str:
    result = next((p for p in f.parameters if p.result), None)
    out = [] if f.legacy else ["void *handle"]
    for p in f.parameters:
        number = p.type in ("scalar", "real")
        if p is result:
            out += [] if f.legacy else [f"{_blas_type(f, p)} *{p.name}"]
        elif p.type == "ptr":
            out.append(f"void *{p.name}")
        elif f.legacy:
            out.append(f"{_blas_type(f, p) if number else 'int' if p.type == 'int' else 'char'} {p.name}")
        else:
            out.append(f"const {_blas_type(f, p)} *{p.name}" if number else f"int {p.name}")
    gives = "int" if not f.legacy else "void" if result is None else _blas_type(f, result)
    return f"{gives} {f.name}({', '.join(out)})"


def _blas(f: ApiFunction) -> list[str]:
    """Return the C code that sends a routine's arguments; a scalar is two numbers, or its device address."""
    result = next((p for p in f.parameters if p.result), None)
    sent: list[str] = []
    for p in f.parameters:
        if p.type in ("scalar", "real"):
            if not p.result:
                where = f"&{p.name}" if f.legacy else p.name
                sent += [f"scalar_part('{_blas_letter(f, p)}', {where}, {part}, device)" for part in (0, 1)]
        elif p.type == "ptr":
            sent.append(f"address_number({p.name})")
        elif not p.result:
            sent.append(f"(uint64_t)(int64_t){p.name}")
    lines = ["const int device = 0;"] if f.legacy else ["const int device = scalars_on_device(handle);"]
    needed = [] if f.legacy else [p.name for p in f.parameters if p.type in ("scalar", "real") or p.result]
    if needed:
        lines.append(f"if ({' || '.join(f'!{n}' for n in needed)}) return cublas_status(INVALID);")
    lines.append(f"const uint64_t in[] = {{{', '.join(sent)}}};")
    given = f"OP_{f.name}, {'0' if f.legacy else 'handle'}, device, in, sizeof in / sizeof *in"
    if result is None:
        return [*lines, f"{'' if f.legacy else 'return '}blas({given}, 0, 0);"]
    letter = f"'{_blas_letter(f, result)}'"
    if not f.legacy:
        return [*lines, f"return blas({given}, {letter}, {result.name});"]
    made = f"{_blas_type(f, result)} result;"
    return [*lines, made, "memset(&result, 0, sizeof result);", f"blas({given}, {letter}, &result);", "return result;"]


def _stores(out: list[ApiParameter]) -> Iterator[str]:
    for n, p in enumerate(out):
        test = f"if ({p.name}) " if p.way == "opt" else ""
        if p.type in ("stream", "event"):
            yield f"{test}store_handle({p.name}, out[{n}]);"
        else:
            value = _RECEIVE.get(p.type, f"({SCALARS[p.type]}){{0}}").format(f"out[{n}]")
            yield f"{test}*{p.name} = {value};"


def _blocks(blocks: list[ApiParameter]) -> Iterator[str]:
    at = 0
    for n, p in enumerate(blocks):
        test = f"if ({p.name}) " if p.way == "opt" else ""
        last = n == len(blocks) - 1
        length = f"request.back_length - {at}" if last else str(p.room)
        guard = f"if (request.back_length >= {at if last else at + p.room}) " if at or not last else ""
        yield f"{test}{guard}memcpy({p.name}, back + {at}, {length});"
        at += p.room


_BODIES: Mapping[str, Callable[[ApiFunction], list[str]]] = {
    "call": _call, "copy": _copy, "hint": _hint, "refuse": _refuse, "later": _refuse, "blas": _blas,
}  # fmt: skip


# --- the page -------------------------------------------------------------------------------------------------------
_DOES = {
    "call": "yes",
    "copy": "yes",
    "blas": "yes",
    "local": "yes",
    "hint": "accepted: ",
    "refuse": "no: ",
}


def page() -> str:
    """Return the reference page of the interfaces."""
    out = [
        "# CUDA functions",
        "",
        "What the libraries of `isakit cuda` export. A function that is not there answers with the error code the",
        "table names and says so once on standard error; nothing is silently left out.",
        "",
        "This page is made from `src/isakit/hosts/cuda/api` by `python -m isakit.hosts.cuda.generate --docs`.",
    ]
    titles = {
        "runtime": "Runtime (`libcudart`)",
        "driver": "Driver (`libcuda`)",
        "cublas": "cuBLAS (`libcublas`)",
        "cufft": "cuFFT (`libcufft`)",
        "curand": "cuRAND (`libcurand`)",
    }
    for interface in INTERFACES[1:]:
        mine = [f for f in functions().values() if f.interface == interface and f.kind != "later"]
        there = sum(f.kind != "refuse" for f in mine)
        out += ["", f"## {titles[interface]}", "", f"{there} of {len(mine)} functions."]
        for section in dict.fromkeys(f.section for f in mine):
            out += ["", f"### {section}", "", "| function | since | there |", "|---|---|---|"]
            out += [_row(f) for f in mine if f.section == section]
        out += _later([f for f in functions().values() if f.interface == interface and f.kind == "later"])
    return "\n".join(out) + "\n"


def _later(functions: list[ApiFunction]) -> Iterator[str]:
    """Yield lines about functions of later chips, grouped by the reason why they are missing."""
    if not functions:
        return
    yield from ("", f"### {functions[0].section}", "")
    yield f"{len(functions)} functions that clients of today look for answer with error {functions[0].more}:"
    for note in dict.fromkeys(f.note for f in functions):
        yield ""
        names = ", ".join(f"`{f.name}`" for f in functions if f.note == note)
        yield from textwrap.wrap(f"- {note}: {names}", 120, subsequent_indent="  ", break_long_words=False)


def _row(f: ApiFunction) -> str:
    code = f" (error {f.more})" if f.kind == "refuse" else ""
    return f"| `{f.name}` | {f.since} | {_DOES[f.kind]}{f.note if f.kind in ('hint', 'refuse') else ''}{code} |"


PAGE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "cuda-functions.md"


def main(arguments: list[str]) -> int:
    """Write or check the generated files."""
    if arguments == ["--docs"]:
        PAGE.write_text(page(), "utf-8")
    elif arguments == ["--check"]:
        c_files()
        if not PAGE.exists() or PAGE.read_text("utf-8") != page():
            sys.stderr.write(f"{PAGE} is not what the table says; run this with --docs\n")
            return 1
    else:
        sys.stderr.write("usage: python -m isakit.hosts.cuda.generate --docs | --check\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
