"""The work of nvcc on files: device code, fat binaries, objects, libraries, executables.

A .cu file is compiled twice by clang: for the chip, to PTX, which our compiler turns into machine code; and for the
host, with the fat binary of that code embedded and the calls that register it. The linker adds our libcudart.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from isakit.compile import Compiled, compile_ptx
from isakit.compile.c.clang import (
    COMMON,
    CUDA_HEADERS,
    NAMED,
    STANDARD,
    UNSEEN,
    for_arch,
    for_code_generator,
    machine_command,
    messages,
)
from isakit.compile.debug_records import as_debug_build
from isakit.compile.lockstep import LIMITS, unmarked
from isakit.compile.python.llvm import promoted
from isakit.errors import CompileError, HostError, IsakitError, NoSuchFile
from isakit.formats import write_elf_cubin
from isakit.formats.fatbin import FatImage, write_fatbin
from isakit.hosts.cuda.build import library_folder
from isakit.hosts.cuda.nvcc.options import Image, OptionError, Options
from isakit.hosts.cuda.nvcc.spelling import files_of, respelled
from isakit.hosts.cuda.nvcc.tools import Tools, find_tools
from isakit.hosts.cuda.table import LIBRARIES
from isakit.processes import Reaper, TemporaryFolder
from isakit.registry import ARCH_TO_VARIANT

RUNTIME = "libcudart.so.5.0"
"""The name under which executables load the runtime: our headers are those of CUDA 5.0."""
VERSION = (5, 0)
_LANGUAGES = {".cu": "cu", ".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".C": "c++", ".ii": "c++",
              ".ptx": "ptx", ".cubin": "cubin"}  # fmt: skip
_LINKED = {".o": "object", ".obj": "object", ".a": "library", ".so": "library"}
_SUFFIX = {
    "compile": ".o",
    "lib": ".o",
    "link": ".o",
    "cubin": ".cubin",
    "fatbin": ".fatbin",
    "ptx": ".ptx",
    "cuda": ".cu.cpp.ii",
}
_TOOLKIT_LIBRARIES = ("cublas", "cufft", "curand", "cusparse", "npp", "cudpp", "cutil", "cusolver", "cudnn")
_WITH_RUNTIME = {"cudart", "cudart_static", "cudadevrt"}

Tell = Callable[[str], None]
"""Called with a line for the user."""


class BuildError(IsakitError):
    """A compiler or linker of the host failed; its output is the message."""


@dataclass(frozen=True)
class Source:
    """A file of the command line, and its kind: cu, c, c++, ptx, cubin, object or library."""

    path: str
    language: str

    @property
    def stem(self) -> str:
        """The file name without folder and extension."""
        return Path(self.path).stem


def version_text() -> str:
    """Return the text of `--version`; CMake and PyCUDA read the release."""
    from isakit import __version__

    release = ".".join(map(str, VERSION))
    return (
        f"nvcc: isakit {__version__}, a compiler driver for CUDA C on compute capability 1.0 to 1.3\n"
        f"Cuda compilation tools, release {release}, V{release}.0\n"
    )


def build(options: Options, tell: Tell) -> None:
    """Execute a command line; `tell` is called with warnings, reports and, with -v, the commands.

    Raises OptionError, CompileError, BuildError, HostError, NoCompilerError.
    """
    action = options.action
    sources = [_source(path, options) for path in options.files]
    if not sources:
        raise OptionError("no files are given")
    for text in options.warnings:
        tell(f"warning: {text}")
    compiled = [s for s in sources if s.language not in ("object", "library")]
    if action != "link" and not compiled:
        raise OptionError(f"there is nothing to compile among {', '.join(options.files)}")
    if action not in ("link", "lib") and len(compiled) > 1 and "output-file" in options:
        raise OptionError(f"`-o {options.last('output-file')}`: there are several files to write")
    with Reaper() as reaper, TemporaryFolder(reaper) as folder:  # also what compilers keep for themselves goes
        around = {**os.environ, **reaper.environment, "TMPDIR": str(folder)}
        _Build(options, tell, folder, around).run(action, sources)


def _source(path: str, options: Options) -> Source:
    if path.startswith("-l"):
        return Source(path, "library")
    given = {"cuda": "cu"}.get(options.last("x"), options.last("x"))
    name = Path(path).name
    suffix = Path(path).suffix
    if given in ("cu", "c", "c++") and suffix not in _LINKED:
        language = given
    elif given and given not in ("cu", "c", "c++"):
        raise OptionError(f"`-x {given}`: there are cu, c and c++")
    else:
        language = _LANGUAGES.get(suffix) or _LINKED.get(suffix) or ("library" if ".so." in name else "")
    if not language:
        raise OptionError(f"{path}: what is in a file named {name}? Say it with -x cu, c or c++")
    if language != "library" and not Path(path).is_file() and "dryrun" not in options:
        raise NoSuchFile(path)
    return Source(path, language)


class _Build:
    def __init__(self, options: Options, tell: Tell, folder: Path, environment: Mapping[str, str]) -> None:
        self.options, self.tell, self.folder, self.environment = options, tell, folder, environment
        self.dry = "dryrun" in options
        self.tools: Tools = find_tools(options.last("compiler-bindir"))
        self.warned_double = False
        self._respelled: dict[Source, list[str]] = {}
        if "verbose" in options:
            for line in self.tools.lines():
                tell(f"#$ {line}")

    # --- the whole -----------------------------------------------------------------------------------------------
    def run(self, action: str, sources: Sequence[Source]) -> None:
        makes = {
            "preprocess": self.preprocess, "generate-dependencies": self.dependencies,
            "generate-nonsystem-dependencies": self.dependencies, "ptx": self.ptx, "cubin": self.cubin,
            "fatbin": self.fatbin, "compile": self.object, "cuda": self.host_text,
        }  # fmt: skip
        if action in makes:
            for source in sources:
                if source.language not in ("object", "library"):
                    makes[action](source, self.output(source, action))
            return
        parts: list[str] = []
        for k, source in enumerate(sources):
            if source.language in ("object", "library"):
                parts.append(source.path)
            else:
                made = self.folder / f"{k}-{source.stem}.o"
                self.object(source, made)
                parts.append(str(made))
        if action == "lib":
            self.library(parts)
        else:
            self.link(parts)

    def output(self, source: Source, action: str) -> Path:
        given = self.options.last("output-file")
        if given:
            return Path(given)
        return Path(self.options.last("output-directory", "."), source.stem + _SUFFIX.get(action, ""))

    # --- device code ---------------------------------------------------------------------------------------------
    def compiled(self, source: Source, arch: int) -> tuple[str, Compiled | None]:
        """Compile a file to PTX and machine code for an architecture, 10 to 13; to nothing in a dry run."""
        text = self.ptx_of(source, arch)
        if self.dry:
            return text, None
        origin = Path(source.path).read_bytes().decode("utf-8", "replace") if source.language == "cu" else None
        chip = ARCH_TO_VARIANT[f"sm_{arch}"]
        if self._doubles_are_floats(text, arch):
            self.warned_double = True
            self.tell(f"warning: {source.path}: double is float below sm_13; compile with -arch=sm_13")
        got = compile_ptx(text, chip, path=source.path, origin=origin, max_registers=self.options.registers)
        if got.diagnostics:
            raise CompileError(got.diagnostics)
        if self.options.reports:
            for line in report(got, arch):
                self.tell(line)
        return text, got

    def _doubles_are_floats(self, text: str, arch: int) -> bool:
        return arch < 13 and not self.warned_double and ".f64" in text and "disable-warnings" not in self.options

    def respelled(self, source: Source) -> list[str]:
        """Return options that make clang read the files of a source as nvcc did, for devices and the host alike."""
        if source not in self._respelled:
            stem = f"{len(self._respelled)}.{source.stem}"
            self._respelled[source] = [] if self.dry else self._overlaid(source, stem)
        return self._respelled[source]

    def _overlaid(self, source: Source, stem: str) -> list[str]:
        """Write respelled copies of a source's files, and return the options that substitute them."""
        roots: list[dict[str, str]] = []
        folders = [*self.options.all("include-path"), *(w[2:] for w in self._host_words(("-I",))),
                   *self.options.all("system-include")]  # fmt: skip
        for path, text in files_of(Path(source.path), folders):
            new = respelled(text)
            if new != text:
                made = self.folder / f"{stem}.{len(roots)}.respelled"
                made.write_bytes(new)
                roots.append({"name": os.path.abspath(path), "type": "file", "external-contents": str(made)})
        if not roots:
            return []
        overlay = self.folder / f"{stem}.overlay"
        overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}))
        return ["-ivfsoverlay", str(overlay)]

    def ptx_of(self, source: Source, arch: int) -> str:
        if source.language == "ptx":
            return Path(source.path).read_bytes().decode("utf-8", "replace")
        if source.language != "cu":
            raise OptionError(f"{source.path}: only .cu and .ptx files have device code")
        out, made = (self.folder / f"{source.stem}.{arch}.{end}" for end in ("ptx", "ll"))
        command = [*self.tools.device(arch), *COMMON, *LIMITS, *self._fast(), *self.common(source),
                   *self.respelled(source), "-w", "-S", "-emit-llvm", "-o", str(made), source.path]  # fmt: skip
        named = "device-debug" in self.options
        self.run_one(_for_clang([*command, *(NAMED + UNSEEN if named else [])]), source)
        ir = "" if self.dry else made.read_text("utf-8")
        if named and not self.dry and (ir := promoted(ir)) is None:
            self.run_one(_for_clang([*command, *NAMED]), source)
            ir = made.read_text("utf-8")
        if not self.dry:
            made.write_text(for_code_generator(ir, named), "utf-8")
        self.run_one([*machine_command(self.tools.clang, self._fast()), "-w", "-o", str(out), str(made)], source)
        if self.dry:
            return ""
        ptx = for_arch(unmarked(out.read_text("utf-8"), ir), arch)
        return as_debug_build(ptx) if named else ptx

    def _fast(self) -> list[str]:
        """Return options for the precision of divisions, and for fast math functions."""
        fast = "use_fast_math" in self.options
        out = ["-D__ISAKIT_FAST_MATH__"] if fast else []
        if fast or self.options.last("prec-div").lower() in ("false", "0"):
            out += ["-mllvm", f"-nvptx-prec-divf32={0 if fast else 1}"]
        return out

    def images(self, source: Source) -> list[FatImage]:
        """Return the images for a file. Raises CompileError."""
        out: list[FatImage] = []
        name = Path(source.path).name
        if source.language == "cubin":
            return [FatImage("elf", self.options.images[0].arch, Path(source.path).read_bytes(), name)]
        for image in self.options.images:
            text, got = self.compiled(source, image.arch)
            data = b"" if got is None else write_elf_cubin(got.module) if image.real else text.encode()
            out.append(FatImage("elf" if image.real else "ptx", image.arch, data, name))
            self.keep(source, image, text, data)
        return out

    def keep(self, source: Source, image: Image, text: str, data: bytes) -> None:
        if self.dry or not ({"keep", "save-temps"} & set(self.options.given)):
            return
        base = Path(self.options.last("keep-dir", "."), source.stem)
        _write(base.with_name(f"{base.name}.compute_{image.arch}.ptx"), text.encode())
        if image.real:
            _write(base.with_name(f"{base.name}.{image}.cubin"), data)

    def ptx(self, source: Source, output: Path) -> None:
        text = self.ptx_of(source, self.options.images[0].arch)
        self.write(output, text.encode())

    def cubin(self, source: Source, output: Path) -> None:
        _, got = self.compiled(source, self.options.images[0].arch)
        self.write(output, b"" if got is None else write_elf_cubin(got.module))

    def fatbin(self, source: Source, output: Path) -> None:
        self.write(output, write_fatbin(self.images(source)))

    # --- the host's part -----------------------------------------------------------------------------------------
    def common(self, source: Source) -> list[str]:
        """Return the options common to every pass over a source: macros, include folders, the language standard."""
        o = self.options
        out = [f"-D{v}" for v in o.all("define-macro")] + [f"-U{v}" for v in o.all("undefine-macro")]
        out += [f"-I{v}" for v in o.all("include-path")]
        out += [x for v in o.all("system-include") for x in ("-isystem", v)]
        out += [x for v in o.all("pre-include") for x in ("-include", v)]
        if "std" in o and source.language != "c":
            out.append(f"-std={_gnu(o.last('std'))}")
        if source.language == "cu":
            out += ["-D__NVCC__", *_WARNINGS, *self._host_words(("-D", "-U", "-I", "-std=", "-m", "-include"))]
        return out

    def _host_words(self, beginnings: tuple[str, ...]) -> list[str]:
        """Return the options after -Xcompiler that also affect the device's pass."""
        words = self.options.words("compiler-options")
        out = [w for w in words if w.startswith(beginnings) and w not in ("-I", "-D", "-include")]
        return [w for w in out if not w.startswith(("-march", "-mtune", "-msse", "-mavx", "-m64", "-mfpmath"))]

    def host_options(self) -> list[str]:
        o = self.options
        out = [f"-O{o.last('optimize', '2' if 'debug' not in o else '0')}", "-fPIC"]
        return [
            *out,
            *(["-g"] if "debug" in o else []),
            *(["-pg"] if "profile" in o else []),
            *o.words("compiler-options"),
        ]

    def rules(self, source: Source, output: Path) -> list[str]:
        """Return the options that write a make rule beside the object."""
        o = self.options
        for key, option in (
            ("generate-dependencies-with-compile", "-MD"),
            ("generate-nonsystem-dependencies-with-compile", "-MMD"),
        ):
            if key in o:
                file = o.last("dependency-output") or str(output.with_suffix(".d"))
                target = o.last("dependency-target-name") or str(output)
                more = ["-MP"] if "generate-dependency-targets" in o else []
                return [option, "-MF", file, "-MT", target, *more]
        return []

    def object(self, source: Source, output: Path) -> None:
        if source.language in ("ptx", "cubin"):
            raise OptionError(f"{source.path}: device code alone makes no object; use -cubin or -fatbin")
        out = self.folder / f"{source.stem}.made.o"
        if source.language != "cu":
            language = ["-x", source.language]
            command = [*self.tools.host, *language, "-I", str(CUDA_HEADERS), *self.common(source), *self.host_options(),
                       *self.rules(source, output), "-c", source.path, "-o", str(out)]  # fmt: skip
            self.run_one(command, None)
        else:
            self.with_device_code(source, [*self.rules(source, output), "-c", "-o", str(out)])
        if not self.dry:
            self.write(output, out.read_bytes())

    def with_device_code(self, source: Source, how: Sequence[str]) -> None:
        """Compile the host's part of a .cu file, with the images of its kernels embedded."""
        fat = self.folder / f"{source.stem}.fatbin"
        data = write_fatbin(self.images(source))
        fat.write_bytes(data)
        if {"keep", "save-temps"} & set(self.options.given) and not self.dry:
            _write(Path(self.options.last("keep-dir", "."), f"{source.stem}.fatbin"), data)
        command = [*self.tools.hosted(), *self.common(source), *self.respelled(source), *self._loud(),
                   *self.host_options(),
                   "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat), *how, source.path]  # fmt: skip
        self.run_one(_for_clang(command), source)

    def host_text(self, source: Source, output: Path) -> None:
        """Write C++ from which a host compiler makes the object, as nvcc did: here it is the assembly of the object."""
        if source.language != "cu":
            self.preprocess(source, output)
            return
        made = self.folder / f"{source.stem}.s"
        self.with_device_code(source, [*self.rules(source, output), "-S", "-g0", "-fno-integrated-as", "-fno-addrsig",
                                       "-o", str(made)])  # fmt: skip
        if not self.dry:
            self.write(output, _assembly_in_cpp(made.read_bytes()))

    def _loud(self) -> list[str]:
        """Return options that suppress warnings of the host's pass, unless the makefile requests some."""
        words = " ".join(self.options.all("compiler-options"))
        return [] if "-W" in words and "disable-warnings" not in self.options else ["-w"]

    def preprocess(self, source: Source, output: Path) -> None:
        to_file = "output-file" in self.options or "cuda" in self.options
        self._preprocessed(source, ["-E"], output if to_file else None)

    def dependencies(self, source: Source, output: Path) -> None:
        o = self.options
        system = "generate-dependencies" in o
        target = o.last("dependency-target-name") or f"{source.stem}.o"
        folder = o.last("output-directory")
        more = ["-MP"] if "generate-dependency-targets" in o else []
        target = str(Path(folder, target)) if folder and "dependency-target-name" not in o else target
        file = o.last("dependency-output")
        to = Path(file) if file else output if "output-file" in o else None
        self._preprocessed(source, ["-M" if system else "-MM", "-MT", target, *more], to)

    def _preprocessed(self, source: Source, how: list[str], output: Path | None) -> None:
        first = self.tools.hosted() if source.language == "cu" else [*self.tools.host, "-I", str(CUDA_HEADERS)]
        command = [*first, *self.common(source), *self._host_words(("-f",)), "-w", *how, source.path]
        text = self.run_one(_for_clang(command) if source.language == "cu" else command, source)
        if output is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            self.write(output, text.encode("utf-8", "surrogateescape"))

    # --- libraries and executables ---------------------------------------------------------------------------------
    def library(self, parts: Sequence[str]) -> None:
        output = Path(self.options.last("output-file") or "a.a")
        out = self.folder / "made.a"
        self.run_one([*self.tools.archiver(), "rcs", str(out), *(p for p in parts if not p.startswith("-l"))], None)
        if not self.dry:
            self.write(output, out.read_bytes())

    def link(self, parts: Sequence[str]) -> None:
        o = self.options
        name = "a.so" if "shared" in o else "a.out"
        output = Path(o.last("output-file") or Path(o.last("output-directory", "."), name))
        ours = library_folder()
        folders = [f"-L{v}" for v in o.all("library-path")]
        words = o.words("compiler-options")
        linker = [x for v in o.words("linker-options") for x in ("-Xlinker", v)]
        libraries = [_library(p, o.all("library-path")) for p in parts]
        out = output if self.dry else self.folder / "made"
        if self.dry or "verbose" in o:  # a line that CMake looks for, and for its words in the line of the linker
            self.tell(f'#$ LIBRARIES=  "-L{ours}" -lcudart')
        command = [*self.tools.host, *(["-shared"] if "shared" in o else []), *(["-g"] if "debug" in o else []),
                   *(["-pg"] if "profile" in o else []), *words, "-o", str(out), *filter(None, libraries), *linker,
                   f"-L{ours}", "-lcudart", *folders, "-lm"]  # fmt: skip
        if Path(self.tools.host[0]).name.startswith(("gcc", "cc")):
            command.append("-lstdc++")
        self.run_one(command, None)
        if not self.dry:
            self.write(output, out.read_bytes(), executable=True)

    # --- running what is needed ----------------------------------------------------------------------------------
    def run_one(self, command: Sequence[str], source: Source | None) -> str:
        """Run a compiler; return its standard output. Raises CompileError or BuildError if it fails."""
        if self.dry or "verbose" in self.options:
            self.tell(f"#$ {_shown(command)}")
        if self.dry:
            return ""
        try:
            got = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=self.environment
            )
        except OSError as e:
            raise HostError(f"{command[0]} cannot be run: {e}") from e
        said = got.stderr.decode("utf-8", "replace").strip()
        if got.returncode:
            if source is not None:
                raise CompileError(messages(said, source.path, source.path))
            raise BuildError(said or f"{command[0]} has failed and does not say why")
        if said and "disable-warnings" not in self.options:
            self.tell(said)
        return got.stdout.decode("utf-8", "surrogateescape")

    def write(self, output: Path, data: bytes, executable: bool = False) -> None:
        if not self.dry:
            _write(output, data, executable)


def _shown(command: Sequence[str]) -> str:
    """Return a command as nvcc prints it, which scripts parse: file names in quotation marks."""
    words = [shlex.quote(w) for w in command]
    files = [k for k, w in enumerate(command) if "/" in w or w.endswith(".o") or command[max(0, k - 1)] == "-o"]
    for k in files:
        if not set(command[k]) & set('"\\$`'):
            words[k] = f'"{command[k]}"'
    return " ".join(words)


def _write(output: Path, data: bytes, executable: bool = False) -> None:
    """Write a file under a temporary name and rename it; devices and pipes are written directly. Raises BuildError."""
    partial: Path | None = None
    try:
        if output.exists() and not output.is_file():
            output.write_bytes(data)
            return
        name = output.with_name(f".{output.name}.{secrets.token_hex(4)}")  # others may write to this folder, too
        made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777 if executable else 0o666)
        partial = name
        with open(made, "wb") as f:
            f.write(data)
        os.replace(partial, output)
    except OSError as e:
        raise BuildError(f"{output} cannot be written: {e.strerror or e}") from e
    finally:
        if partial is not None:
            with suppress(OSError):
                partial.unlink()


_WARNINGS = ("-Wno-builtin-macro-redefined", "-Wno-c++11-narrowing", "-Wno-reserved-user-defined-literal",
             "-Wno-register", "-Wno-invalid-constexpr", "-Wno-return-mismatch")  # fmt: skip
"""Options for code that clang rejects and compilers of the time accepted."""
_UNKNOWN_TO_CLANG = ("-fno-tree-", "-ftree-", "-finline-limit", "-fno-default-inline", "--param", "-fopt-info")

_OLD_STANDARD = re.compile(r"-std=((c|gnu)\+\+(98|03)|(c|gnu)(89|90|99|9x|11))")
"""C++ standards too old for our headers, and those of C, which makefiles have for their other files."""


def _for_clang(command: Sequence[str]) -> list[str]:
    """Return the command without options that only GCC knows, with GCC's OpenMP, and our standard for older ones."""
    out = [w for w in command if not w.startswith(_UNKNOWN_TO_CLANG) and w != "-ansi"]
    out = ["-fopenmp=libgomp" if w == "-fopenmp" else w for w in out]
    out = [f"-std={STANDARD}" if _OLD_STANDARD.fullmatch(w) else w for w in out]
    return [*out, "-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-Qunused-arguments"]


def _assembly_in_cpp(text: bytes) -> bytes:
    """Return C++, valid in any standard, that consists of this assembly only.

    The compiler's own output begins in `.text`.
    """
    special = re.compile(rb"[\\\"?]")  # a ? may begin a trigraph
    lines = [special.sub(rb"\\\g<0>", line.expandtabs(8)) for line in text.splitlines()]
    return b"__asm__(\n" + b"".join(b'"%s\\n"\n' % line for line in [*lines, b".text"]) + b");\n"


def _gnu(standard: str) -> str:
    return standard if standard.startswith("gnu") else standard.replace("c++", "gnu++", 1)


def _library(part: str, folders: Sequence[str]) -> str:
    """Return the linker option of a library; "" for the runtime, which comes last. Raises OptionError."""
    if not part.startswith("-l"):
        return part
    name = part[2:]
    if name in _WITH_RUNTIME:
        return ""
    if name == "cuda":
        return "-l:libcuda.so.1"
    if name.startswith(_TOOLKIT_LIBRARIES):
        files = [f"lib{name}.so", f"lib{name}.a"]
        if not any(Path(folder, file).exists() for folder in folders for file in files):
            if name in LIBRARIES:
                return f"-l:{RUNTIME.replace('cudart', name)}"
            raise OptionError(f"`-l{name}`: isakit has {', '.join(LIBRARIES)} only; give the folder of yours with -L")
    return part


def report(got: Compiled, arch: int) -> list[str]:
    """Return lines on the resources of each kernel in the wording of NVIDIA's assembler, which scripts parse."""
    out: list[str] = []
    for kernel in got.module.kernels.values():
        shared = max(0, (kernel.shared_bytes or 0) - 16)
        parts = [f"Used {kernel.registers} registers"]
        if kernel.local_bytes:
            parts.append(f"{kernel.local_bytes}+0 bytes lmem")
        if kernel.shared_bytes:
            parts.append(f"{shared}+16 bytes smem")
        constants = sum(s.size for s in got.module.constants.get(0, []))
        if constants:
            parts.append(f"{constants} bytes cmem[0]")
        own = sum(s.size for s in kernel.constants.get(1, []))
        if own:
            parts.append(f"{own} bytes cmem[1]")
        out.append(f"ptxas info    : Compiling entry function '{kernel.name}' for 'sm_{arch}'")
        out.append(f"ptxas info    : {', '.join(parts)}")
    return out


__all__ = ["BuildError", "build", "report", "version_text"]
