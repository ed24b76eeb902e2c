"""The options of nvcc 1.0 to 5.0, read as nvcc reads them.

A value follows after `=` or as the next word, and directly after the short names `-I -L -l -D -U -O`. Lists are split
at commas. Source: the manuals of nvcc 1.0 to 5.0, "Command line options".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isakit.errors import IsakitError, did_you_mean


class OptionError(IsakitError):
    """An invalid command line; the message names the option, and what to write instead."""


@dataclass(frozen=True)
class Row:
    """One option.

    Attributes:
        names: its spellings, the first one in messages.
        kind: `flag`, `value`, `list` (split at commas, repeatable) or `words` (repeatable, kept whole).
        about: its effect; after `refused: `, why it is not supported; after `no effect: `, why it is ignored.
    """

    names: tuple[str, ...]
    kind: str
    about: str

    @property
    def key(self) -> str:
        """The name of the option in `Options.given`."""
        return self.names[-1].lstrip("-")


_TABLE = """
-c --compile | flag | compile each file to an object, link nothing
-link --link | flag | compile and link: what is done without another of these
-lib --lib | flag | compile, and put the objects into a library
-cubin --cubin | flag | write the machine code of each .cu or .ptx file as a cubin
-fatbin --fatbin | flag | write it as a fat binary
-ptx --ptx | flag | write the PTX of each .cu file
-E --preprocess | flag | only preprocess
-M --generate-dependencies | flag | write a rule for make that names all files it includes
-MM --generate-nonsystem-dependencies | flag | the same without the headers of the system
-MD --generate-dependencies-with-compile | flag | write that rule beside the object
-MMD --generate-nonsystem-dependencies-with-compile | flag | the same without the headers of the system
-MF --dependency-output | value | the file for the rule
-MT --dependency-target-name | value | the target of the rule
-MP --generate-dependency-targets | flag | add an empty rule for each header
-o --output-file | value | the file to write
-odir --output-directory | value | the folder for objects and the like
-include --pre-include | words | include this file first
-D --define-macro | list | define a macro
-U --undefine-macro | list | undefine a macro
-I --include-path | list | look for headers in this folder
-isystem --system-include | list | the same, for headers of the system
-L --library-path | list | look for libraries in this folder
-l --library | list | link with this library
-shared --shared | flag | link a shared library
-arch --gpu-architecture | value | what to compile for: sm_10 to sm_13, compute_10 to compute_13
-code --gpu-code | list | the images to make
-gencode --generate-code | words | arch=..., code=...: one more image
-maxrregcount --maxrregcount | value | registers a thread has at most
-use_fast_math --use_fast_math | flag | the chip's approximate functions instead of exact ones
-ftz --ftz | value | no effect: denormals of floats are zero on these chips
-prec-div --prec-div | value | true: divisions are rounded correctly; false: they have 2 ulp
-prec-sqrt --prec-sqrt | value | no effect: square roots are rounded correctly
-fmad --fmad | value | no effect: products and sums are not contracted
-O --optimize | value | of the host's code
-g --debug | flag | line tables for debuggers
-G --device-debug | flag | variables for debuggers; machine code always has its lines
-lineinfo --generate-line-info | flag | no effect: machine code always has its lines
-pg --profile | flag | of the host's code
-m --machine | value | 64; 32 is refused
-m64 | flag | no effect: there is nothing else
-m32 | flag | refused: executables have 64 bits
-std --std | value | the C++ of the source, such as c++11
-x --x | value | what the files are: cu, c, c++
-ccbin --compiler-bindir | value | the host's compiler, or its folder
-Xcompiler --compiler-options | list | options for the host's compiler
-Xlinker --linker-options | list | options for the linker
-Xptxas -po --ptxas-options | list | -v: report what each kernel takes; -maxrregcount N
-Xopencc --opencc-options | list | no effect: there is no Open64 behind it
-Xcudafe --cudafe-options | list | no effect: there is no cudafe behind it
-Xfatbin --fatbin-options | list | no effect: fat binaries are not packed
-v --verbose | flag | say which compiler is used and what is done
-dryrun --dryrun | flag | say what would be done, and do nothing
-keep --keep | flag | keep PTX, cubin and fat binary
-save-temps --save-temps | flag | keep PTX, cubin and fat binary
-keep-dir --keep-dir | value | where to
-clean --clean-targets | flag | refused: remove the files yourself
-V --version | flag | say which version of CUDA this stands for
-w --disable-warnings | flag | no warnings
-Werror --Werror | list | no effect: warnings stay warnings
-optf --options-file | list | read more options from this file
-cudart --cudart | value | no effect: the runtime is a shared library
-restrict --restrict | flag | no effect: pointers are taken as they are
-noprof --dont-use-profile | flag | no effect: there is no nvcc.profile
-noalign-double --no-align-double | flag | no effect: doubles are aligned as the host has them
-src-in-ptx --source-in-ptx | flag | no effect: the lines are in the PTX
-expt-relaxed-constexpr --expt-relaxed-constexpr | flag | no effect: constexpr functions run on both sides
-extended-lambda --expt-extended-lambda | flag | no effect: lambdas may have attributes
-Wno-deprecated-gpu-targets --Wno-deprecated-gpu-targets | flag | no effect: these targets are not deprecated here
-t --threads | value | no effect: one image is made after the other
-rdc --relocatable-device-code | value | false is what there is; true is refused
-dc --device-c | flag | refused: a file's device code is whole in itself; compile with -c
-dw --device-w | flag | the same as -c
-dlink --device-link | flag | refused: a file's device code is whole in itself; there is nothing to link
-cuda --cuda | flag | write FILE.cu.cpp.ii, C++ for the host's compiler with the device code in it
-gpu --gpu | flag | refused: there is no .gpu between a .cu file and its PTX
-run --run | flag | refused: link, then run with `isakit cuda`
-deviceemu --device-emulation | flag | refused: kernels run on a simulated chip; use `isakit cuda`
-cudadevrt --cudadevrt | flag | refused: kernels of these chips launch no kernels
-toolkit --toolkit | value | make this folder look like a toolkit: bin/nvcc, include, lib64, lib
-h --help | flag | list the options
"""


def _rows() -> tuple[Row, ...]:
    out: list[Row] = []
    for line in _TABLE.strip().splitlines():
        names, kind, about = (part.strip() for part in line.split("|"))
        out.append(Row(tuple(names.split()), kind, about))
    return tuple(out)


ROWS = _rows()
_NAMES = {name: row for row in ROWS for name in row.names}
_JOINED = ("-I", "-L", "-l", "-D", "-U", "-O")
"""Options whose value may follow without a space."""
_ACTIONS = ("cubin", "fatbin", "ptx", "cuda", "preprocess", "generate-dependencies", "generate-nonsystem-dependencies",
            "compile", "device-w", "lib", "link")  # fmt: skip
NEWEST = 13
"""The newest architecture that is supported."""


@dataclass(frozen=True)
class Image:
    """One image to make: machine code for a chip (`real`) or PTX, for an architecture 10 to 13."""

    arch: int
    real: bool

    def __str__(self) -> str:
        return f"{'sm' if self.real else 'compute'}_{self.arch}"


@dataclass
class Options:
    """A command line.

    Attributes:
        given: the values, by the long name of the option without dashes; flags have one empty string.
        files: the files, in order, libraries (`-lNAME`) included.
        images: the images to make.
        warnings: messages about options that are interpreted differently.
    """

    given: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    files: list[str] = field(default_factory=list[str])
    images: list[Image] = field(default_factory=list[Image])
    warnings: list[str] = field(default_factory=list[str])

    def __contains__(self, key: str) -> bool:
        return key in self.given

    def all(self, key: str) -> list[str]:
        """Return the values of an option, none if it was not given."""
        return self.given.get(key, [])

    def words(self, key: str) -> list[str]:
        """Return the options for another program that the values of an option hold."""
        return [word for text in self.all(key) for word in shlex.split(text)]

    def last(self, key: str, default: str = "") -> str:
        """Return the last value of an option."""
        return self.given[key][-1] if key in self.given else default

    @property
    def action(self) -> str:
        """The last step of the build: `compile`, `cubin`, ..., by default `link`."""
        found = [a for a in _ACTIONS if a in self.given]
        if len(found) > 1:
            raise OptionError(f"`{_short(found[0])}` and `{_short(found[1])}` ask for different files")
        action = found[0] if found else "link"
        return "compile" if action == "device-w" else action

    @property
    def registers(self) -> int:
        """Limit of registers per thread, 0: none."""
        text = self.last("maxrregcount") or self._assembler("-maxrregcount", "--maxrregcount", "maxrregcount")
        if not text:
            return 0
        if not text.isdigit() or not 4 <= int(text) <= 128:
            raise OptionError(f"`-maxrregcount {text}`: give a number from 4 to 128")
        return min(int(text), 124)

    @property
    def reports(self) -> bool:
        """True if `-Xptxas -v` requests the resources of each kernel."""
        return bool({"-v", "--verbose"} & set(self.all("ptxas-options")))

    def _assembler(self, *names: str) -> str:
        """Return the value of an option after -Xptxas, where it may be a separate word."""
        words = self.all("ptxas-options")
        for k, word in enumerate(words):
            name, _, value = word.partition("=")
            if name in names:
                return value or (words[k + 1] if k + 1 < len(words) else "")
            first, _, value = word.partition(" ")
            if first in names:
                return value.strip()
        return ""


def _short(key: str) -> str:
    return next(row.names[0] for row in ROWS if row.key == key)


def read_options(words: Sequence[str]) -> Options:
    """Read a command line. Raises OptionError."""
    out = Options()
    _read(list(words), out, 0)
    for row in ROWS:
        if row.key in out and row.about.startswith("refused: "):
            raise OptionError(f"`{row.names[0]}` is not there: {row.about.removeprefix('refused: ')}")
    if out.last("relocatable-device-code", "false").lower() not in ("false", "0"):
        raise OptionError("`-rdc=true` is not there: a file's device code is whole in itself")
    if out.last("machine", "64") != "64":
        raise OptionError(f"`-m {out.last('machine')}` is not there: executables have 64 bits")
    out.images, out.warnings = _images(out)
    return out


_DEEPEST = 8


def _read(words: list[str], out: Options, depth: int) -> None:
    if depth > _DEEPEST:
        raise OptionError("files of options name each other without end")
    k = 0
    while k < len(words):
        word, k = words[k], k + 1
        if not word.startswith("-") or word == "-":
            out.files.append(word)
            continue
        name, equals, value = word.partition("=")
        row = _NAMES.get(name)
        if row is None or (name == "-O" and not equals):
            joined = next((j for j in _JOINED if word.startswith(j) and len(word) > len(j)), None)
            if joined is not None and (joined != "-O" or re.fullmatch(r"-O[0-9sgz]|-Ofast", word)):
                row, equals, value = _NAMES[joined], "=", word[len(joined) :].removeprefix("=")
            elif name == "-O":
                row, equals, value = _NAMES["-O"], "=", "2"
        if row is None:
            raise OptionError(_unknown(name))
        if row.kind == "flag":
            if equals and value.lower() not in ("true", "false"):
                raise OptionError(f"`{name}` takes no value")
            if value.lower() != "false":
                out.given[row.key] = [""]
            continue
        if not equals:
            if k == len(words):
                raise OptionError(f"`{word}` needs a value")
            value, k = words[k], k + 1
        values = _split(value) if row.kind == "list" else [value]
        if row.key == "options-file":
            for path in values:
                _read(_words_of(path), out, depth + 1)
        elif row.key == "library":
            out.files += [f"-l{v}" for v in values]
        else:
            out.given.setdefault(row.key, []).extend(values)


def _unknown(name: str) -> str:
    (hint,) = did_you_mean(name, _NAMES) or ("`isakit nvcc --help` lists the options",)
    return f"there is no option `{name}`; {hint}"


def _words_of(path: str) -> list[str]:
    try:
        return shlex.split(Path(path).read_text())
    except (OSError, ValueError) as e:
        raise OptionError(f"the options in {path} cannot be read: {e}") from e


def _split(text: str) -> list[str]:
    """Split a list at its commas; text in quotation marks and commas after a backslash are kept together."""
    out, part, quote = [""], 0, ""
    k = 0
    while k < len(text):
        c = text[k]
        if c == "\\" and k + 1 < len(text):
            out[part] += text[k + 1]
            k += 1
        elif quote:
            quote = "" if c == quote else quote
            out[part] += c if quote else ""
        elif c in "\"'" and (not out[part] or out[part].endswith("=")):
            quote = c
        elif c == ",":
            out.append("")
            part += 1
        else:
            out[part] += c
        k += 1
    return [v for v in out if v]


# --- architectures --------------------------------------------------------------------------------------------------
_ARCH = re.compile(r"(sm|compute)_(\d{2,3})[af]?")
_OLD_NAMES = {"compute": "compute_10", "sm": "sm_10"}


def _images(options: Options) -> tuple[list[Image], list[str]]:
    """Return the images to make, and messages about those that are not made."""
    wanted: list[tuple[bool, int]] = []
    for text in options.all("generate-code"):
        wanted += [_arch(code, text) for code in _codes(text)]
    arch = options.last("gpu-architecture")
    codes = options.all("gpu-code")
    if arch in ("all", "all-major", "native"):
        arch = f"sm_{NEWEST}"
    if codes:
        wanted += [_arch(code, code) for code in codes]
    elif arch:
        wanted.append(_arch(arch, arch))
    if not wanted:
        return [Image(NEWEST, True)], []
    made = list(dict.fromkeys(Image(n, real) for real, n in wanted if n <= NEWEST))
    newer = list(dict.fromkeys(f"{'sm' if real else 'compute'}_{n}" for real, n in wanted if n > NEWEST))
    if made:
        return made, [f"no image is made for {', '.join(newer)}: chips up to sm_{NEWEST} are known"] if newer else []
    return [Image(NEWEST, True)], [f"{', '.join(newer)} came after the chips that are known: compiled for sm_{NEWEST}"]


def _codes(text: str) -> list[str]:
    """Split `arch=compute_13,code=sm_13`; several codes are in quotation marks or brackets."""
    plain = re.sub(r"[\"'\\\[\]]", "", text)
    m = re.fullmatch(r"arch=(\w+)(?:,code=([\w,]+))?", plain)
    if m is None:
        raise OptionError(f"`-gencode {text}`: write arch=compute_13,code=sm_13")
    return (m[2] or m[1]).split(",")


def _arch(text: str, where: str) -> tuple[bool, int]:
    """Return (whether it is machine code, the number of the architecture). Raises OptionError."""
    m = _ARCH.fullmatch(_OLD_NAMES.get(text, text))
    if m is None or int(m[2]) < 10:
        raise OptionError(f"`{where}`: there is no architecture {text!r}; there are sm_10 to sm_{NEWEST}")
    return m[1] == "sm", int(m[2])


def listing() -> str:
    """Return a list of all options, as text."""
    width = max(len(", ".join(row.names)) for row in ROWS)
    return "\n".join(f"  {', '.join(row.names):<{width}}  {row.about}" for row in ROWS) + "\n"


__all__ = ["NEWEST", "ROWS", "Image", "OptionError", "Options", "Row", "listing", "read_options"]
