"""The verbs a page can ask of its worker: one method each, plain data in and out."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from isakit.errors import AsmError, FormatError, IsakitError, MachineFault
from isakit.hosts.drm import CAPTURE_MAGIC, is_capture
from isakit.json_text import JsonObject
from isakit.results import plain
from isakit.web import captures
from isakit.web.folder import Folder, checked, checked_spec
from isakit.web.limits import ROWS, STEPS, Limits
from isakit.web.source import LANGUAGES, assembled, compiled, diagnostic_data, diagnostics, shaded
from isakit.web.units import PageUnits

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.cli.launches import Prepared
    from isakit.codec import Instruction
    from isakit.debug.session import Session
    from isakit.web.stepping import Stepping

TEXT = "editor"
"""The file whose units come from the editor."""
_FIRST = 4096
"""Bytes of a JSON file in which it says what it is."""
_BY_ENDING = {ending: language for language, ending in LANGUAGES.items()} | {".asm": "asm"}


class RequestFields:
    """The fields of a request, checked as they are taken. Raises IsakitError for those of another type."""

    def __init__(self, fields: JsonObject) -> None:
        self._fields = fields

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text."""
        return self._of(name, str, default)

    def number(self, name: str, default: int | None = None, least: int = 0, most: int = 1 << 32) -> int:
        """Return a whole number within bounds."""
        value = self._of(name, int, default)
        if isinstance(value, bool) or not least <= value <= most:
            raise IsakitError(f"{name} is a number from {least} to {most}")
        return value

    def data(self, name: str) -> bytes:
        """Return bytes, which come in base64."""
        try:
            return base64.b64decode(self.text(name), validate=True)
        except (binascii.Error, ValueError):
            raise IsakitError(f"{name} is not base64") from None

    def fields(self, name: str) -> JsonObject:
        """Return an object."""
        return self._of(name, dict, {})

    def _of(self, name: str, kind: type[object], default: object) -> Any:
        value = self._fields.get(name, default)
        if not isinstance(value, kind):
            raise IsakitError(f"{name} is missing or no {kind.__name__}")
        return value


class Workbench:
    """The state of one page. Public methods are the verbs; each takes `RequestFields` and returns what JSON can say."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._folder = Folder(limits.folder)
        self._folder.enter()
        self._units = PageUnits()
        self._stepping: Stepping | None = None

    def _close(self) -> None:
        self._folder.close()

    # --- files and texts ---
    def open(self, asked: RequestFields) -> JsonObject:
        """Open a dropped file: its programs, or its text; arrays and scenes are kept in the folder."""
        name, data = checked(asked.text("name")), asked.data("data")
        self._folder.store(name, data)
        return {**self._opened(name, data, asked), "files": self._folder.names()}

    def _opened(self, name: str, data: bytes, asked: RequestFields) -> JsonObject:
        if asked.text("role", "") == "part":  # of a scene
            return {"kind": "part"}
        if data.startswith(CAPTURE_MAGIC):
            return {"kind": "frames"}
        ending = name[name.rfind(".") :].lower() if "." in name else ""
        if ending in _BY_ENDING:
            return {"kind": "text", "language": _BY_ENDING[ending], "text": _text(data)}
        if ending == ".json" and b'"isakit_project"' in data[:_FIRST]:
            from isakit.annotations import read_project

            return {"kind": "project", "project": plain(read_project(data, name))}
        if ending == ".json":
            return {"kind": "scene"}
        if ending == ".npy":
            from isakit.runtime.npy import load_array

            array = load_array(name)
            return {"kind": "array", "dtype": str(array.dtype), "shape": list(array.shape)}
        from isakit.programs import load_all

        named = {k: v for k in ("isa", "variant") if (v := asked.text(k, ""))}
        units = self._units.add_module(name, load_all(data, **named, path=name), name)
        if not units:
            raise FormatError(name, 0, "holds no program")
        undecoded = sum(i.error is not None for i in units[0].program) if "isa" in named else 0
        return {"kind": "programs", "units": [u.as_json() for u in units], "undecoded": undecoded}

    def part(self, asked: RequestFields) -> JsonObject:
        """Store a file of a capture by its path in the folder of the capture; `capture` opens it when all are here."""
        folder, file = captures.part(asked.text("name"), asked.text("path"))
        self._folder.store_part(folder, file, asked.data("data"))
        return {}

    def capture(self, asked: RequestFields) -> JsonObject:
        """Return the launches of a capture of `isakit cuda`, each to be launched again."""
        name = checked(asked.text("name"))
        units = self._units.add_launches(name, captures.launches(name))
        if not units:
            raise FormatError(name, 0, "holds no launch")
        return {"units": [u.as_json() for u in units], "files": self._folder.names()}

    def frame(self, asked: RequestFields) -> JsonObject:
        """Return the picture after a draw of a capture of `isakit gl`; without `draw` after the last one."""
        return captures.frame(asked.text("name"), asked.number("draw", 0) or None)

    def details(self, asked: RequestFields) -> JsonObject:
        """Return the inputs of a draw of a capture of `isakit gl`, see `captures.details`."""
        return captures.details(asked.text("name"), asked.number("frame"), asked.number("draw", None, 1))

    def vertex(self, asked: RequestFields) -> JsonObject:
        """Begin to step the program of a vertex of a draw of a capture of `isakit gl`."""
        place = asked.number("number"), asked.number("frame"), asked.number("draw", None, 1)
        self._stepping = None
        return self._stepped(asked.text("name"), captures.vertex(asked.text("name"), *place))

    def array(self, asked: RequestFields) -> JsonObject:
        """Make an array for arguments, of a text such as `ramp:f32:8x8`, and keep it under a name."""
        import io

        import numpy as np
        from click import ClickException

        from isakit.cli.arguments import parse

        spec = checked_spec(asked.text("spec"))
        if spec.partition(":")[0] not in ("ramp", "random", "zeros", "u16", "u32", "f32"):
            raise IsakitError("an array is made by ramp:, random: or zeros:, a single number by u16:, u32: or f32:")
        try:
            value = parse(spec).value
        except ClickException as e:
            raise IsakitError(e.format_message()) from None
        out = io.BytesIO()
        np.save(out, value, allow_pickle=False)
        self._folder.store(checked(asked.text("name")), out.getvalue())
        return {"files": self._folder.names()}

    def assemble(self, asked: RequestFields) -> JsonObject:
        """Assemble or compile the editor's text; return its programs, or its errors."""
        from isakit.formats import write_elf_cubin
        from isakit.formats.gxp import write_gxp

        text, language = asked.text("source"), asked.text("language", "asm")
        if language not in LANGUAGES:
            raise IsakitError(f"there is no language {language!r}; there are {', '.join(LANGUAGES)}")
        variant = asked.text("variant", "")
        ptx, wrong = "", list[JsonObject]()
        try:
            if language == "asm":
                program = assembled(text, asked.text("isa", "tesla"), variant)
                units = self._units.add_program(TEXT, program, self._stored(program, text))
            elif language == "text":  # no program: the one before stays in view
                units = []
            elif language == "cg":
                shader = shaded(text)
                self._folder.store("editor.gxp", write_gxp(shader.file))
                units = self._units.add_module(TEXT, [shader], "editor.gxp", language)
            else:
                module, ptx, errors = compiled(text, language, variant)
                wrong = [diagnostic_data(d) for d in errors]
                self._folder.store("editor.cubin", write_elf_cubin(module))
                units = self._units.add_module(TEXT, [module], "editor.cubin", language)
        except AsmError as e:
            self._units.drop(TEXT)
            return {"units": [], "diagnostics": diagnostics(e), "ptx": ptx}
        return {"units": [u.as_json() for u in units], "diagnostics": wrong, "ptx": ptx}

    def exercise(self, asked: RequestFields) -> JsonObject:
        """Check a text as the answer to an exercise of the course."""
        from isakit.course.checks import check
        from isakit.course.exercises import exercise
        from isakit.web.lessons import handed_in

        found = exercise(asked.text("name"))
        with TemporaryDirectory() as folder:
            (Path(folder) / found.file).write_bytes(handed_in(found, asked.text("source")))
            return {"checks": plain(check(found, Path(folder)))}

    def keep(self, asked: RequestFields) -> JsonObject:
        """Keep the editor's programs as they are, under a name, to compare with what the text becomes."""
        name, units = checked(asked.text("name")), self._units.of(TEXT)
        if not units:
            raise IsakitError("the text is not a program yet")
        stored = units[0].stored
        if stored:
            kept = name + stored[stored.rfind(".") :]
            self._folder.store(kept, (self._folder.path / stored).read_bytes())
            stored = kept
        return {"units": [u.as_json() for u in self._units.keep(TEXT, name, stored)]}

    def _stored(self, program: Program, text: str) -> str:
        """Write an assembled program into the folder, for launches: its name; "" for a shader without `.gxp`."""
        from isakit.programs import write

        if program.isa == "tesla":
            name, data = "editor.s", text.encode()
        elif program.isa == "vuc":
            name, data = "editor.bin", write(program, "raw")
        elif program.file is not None:
            name, data = "editor.gxp", write(program, "gxp")
        else:
            return ""
        self._folder.store(name, data)
        return name

    def grammar(self, asked: RequestFields) -> JsonObject:
        """Return rules that colour a text of an instruction set, and its words."""
        return grammar_of(asked.text("isa"))

    def project(self, asked: RequestFields) -> JsonObject:
        """Apply a project to the programs of a file; return them, and the text of the project file.

        `fits`: whether the project belongs to this content of the file.
        """
        from isakit.annotations import project_of, read_project

        file = checked(asked.text("file"))
        project = read_project(json.dumps(asked.fields("project")).encode(), file)
        units = self._units.annotate(file, project)
        data = (self._folder.path / file).read_bytes()
        if not project.sha256:
            program, fresh = units[0].program, project_of(data)
            project = replace(project, sha256=fresh.sha256, file=file, isa=program.isa, variant=program.variant)
        return {"units": [u.as_json() for u in units], "project": plain(project), "text": project.to_json(),
                "fits": project.fits(data)}  # fmt: skip

    def glsl(self, asked: RequestFields) -> JsonObject:
        """Return the shader of a file as GLSL, and the names that a project may replace."""
        from isakit.decompile import file_names, glsl
        from isakit.formats import Shader

        kernel = self._units[asked.text("unit")].kernel
        if kernel is None or not isinstance(kernel.module, Shader):
            raise IsakitError("only shader files (GXP) are shown as GLSL")
        return {"text": glsl(kernel.module), "names": file_names(kernel.module)}

    # --- reading ---
    def listing(self, asked: RequestFields) -> JsonObject:
        """Return lines of a program; `ranges`: 1 for those with the live ranges of registers as columns."""
        from isakit.web.listing import lines

        unit, start, count = self._units[asked.text("unit")], asked.number("start", 0), asked.number("count", 200)
        return lines(unit, start, count, bool(asked.number("ranges", 0, 0, 1)))

    def explain(self, asked: RequestFields) -> JsonObject:
        """Explain the bits of an instruction."""
        from isakit.web.listing import explained

        return explained(self._units[asked.text("unit")], asked.number("address"))

    def graph(self, asked: RequestFields) -> JsonObject:
        """Return the control-flow graph of a program."""
        from isakit.web.listing import graph

        return graph(self._units[asked.text("unit")])

    def search(self, asked: RequestFields) -> JsonObject:
        """Return numbers of the lines whose instructions match a pattern, see `isakit find`."""
        from isakit.analysis import Pattern

        wanted = Pattern(asked.text("pattern"))
        program = self._units[asked.text("unit")].program
        found = [n for n, i in enumerate(program) if wanted.matches(i)]
        return {"lines": found[:10_000], "count": len(found)}

    def diff(self, asked: RequestFields) -> JsonObject:
        """Compare two programs, see `isakit diff`; rows that are the same are included."""
        from isakit.analysis.diff import diff_programs

        one, other = self._units[asked.text("a")], self._units[asked.text("b")]
        found = diff_programs(one.program, other.program, one.name or one.file, other.name or other.file)
        rows = [{"change": r.change.value, "a": _side(r.a), "b": _side(r.b), "why": list(r.why)} for r in found.rows]
        return {**plain(found.record()), "rows": rows[:ROWS]}

    def manual(self, asked: RequestFields) -> JsonObject:
        """Return pages of the manual by name, or those that hold a word."""
        from isakit.docsgen.find import find_pages, search
        from isakit.registry import VARIANTS
        from isakit.spec.isa import instruction_set

        name = asked.text("isa", "")
        isas = [instruction_set(n) for n in ([name] if name else VARIANTS)]
        word = asked.text("word")
        pages = find_pages(isas, word)
        return {"pages": pages, "found": [] if pages else [list(f) for f in search(isas, word)[:200]]}

    # --- running ---
    def launch(self, asked: RequestFields) -> JsonObject:
        """Begin a launch that is stepped; it replaces the one before."""
        from isakit.web.stepping import begun

        self._stepping = None
        program = self._units[asked.text("unit")].program
        self._stepping = begun(self._prepared(asked), program, self._limits.seconds)
        return self._stepping.state()

    def _prepared(self, asked: RequestFields) -> Prepared:
        from isakit.web.stepping import launched

        unit = self._units[asked.text("unit")]
        if unit.launch:
            return captures.prepared(unit.file, unit.launch)
        given = asked.fields("launch")
        if not unit.stored:
            how = "; begin the text with `.gxp fragment` or `.gxp vertex`" if unit.program.isa == "usse" else ""
            raise IsakitError(f"this program cannot be launched by itself{how}")
        wanted = {"isa": unit.program.isa, "variant": unit.program.variant, "kernel": unit.name or None}
        if unit.program.isa == "tesla":
            wanted["chip"] = unit.program.variant
        else:
            wanted["kernel"] = None
        return launched(unit.stored, {**given, **wanted})

    def scene(self, asked: RequestFields) -> JsonObject:
        """Draw a scene of the folder: its picture as PNG. `files`: texts to put into the folder first, by name."""
        from isakit.web.scenes import drawn

        for name, text in asked.fields("files").items():
            if not isinstance(text, str):
                raise IsakitError(f"{name} is not text")
            self._folder.store(checked(name), text.encode())
        return drawn(checked(asked.text("name")))

    def pixel(self, asked: RequestFields) -> JsonObject:
        """Explain a pixel's colour and start stepping its fragment program; in a capture, that of any of its fragments.

        Without a fragment there are no units.
        """
        from isakit.web.scenes import fragment

        self._stepping = None
        name, x, y = checked(asked.text("name")), asked.number("x"), asked.number("y")
        if not is_capture(Path(name)):
            return self._stepped(name, fragment(name, x, y))
        found = captures.pixel(name, x, y, asked.number("frame"), asked.number("draw", None, 1))
        fates = [str(f) for f in found.fragments]
        if not fates:
            return {"about": found.lines(), "fragments": fates, "units": []}
        number = asked.number("fragment", found.last)
        return {**self._stepped(name, found.session(number)), "fragments": fates, "fragment": number}

    def _stepped(self, name: str, session: Session) -> JsonObject:
        """Start to step a session, and return its state for the page."""
        from isakit.web.stepping import Stepping

        units = self._units.add_program(name, session.program)
        self._stepping = Stepping(session, self._limits.seconds)
        return {"about": session.about, "units": [u.as_json() for u in units], "state": self._stepping.state()}

    @property
    def _session(self) -> Stepping:
        if self._stepping is None:
            raise IsakitError("nothing has been launched")
        return self._stepping

    def move(self, asked: RequestFields) -> JsonObject:
        """Move forwards or backwards: see `stepping.MOVES`."""
        how, count = asked.text("how"), asked.number("count", 1, 1, STEPS)
        return self._session.move(how, count, asked.text("where", ""))

    def state(self, asked: RequestFields) -> JsonObject:
        """Return the state of the launch."""
        return self._session.state()

    def focus(self, asked: RequestFields) -> JsonObject:
        """Look at another thread."""
        return self._session.focus(asked.number("thread"))

    def breakpoint(self, asked: RequestFields) -> JsonObject:
        """Set a breakpoint or watchpoint, or remove one by its number."""
        if asked.number("delete", 0):
            self._session.session.delete(asked.number("delete"))
        else:
            kind, access = asked.text("kind", "break"), asked.text("access", "change")
            self._session.breakpoint(asked.text("where"), asked.text("condition", ""), kind, access)
        return self._session.state()

    def set(self, asked: RequestFields) -> JsonObject:
        """Set a register or a cell of memory; `thread` is another one than that in focus."""
        session = self._session.session
        session.set(asked.text("what"), asked.text("value"), asked.number("thread", session.focus))
        return self._session.state()

    def grid(self, asked: RequestFields) -> JsonObject:
        """Return the registers of all threads of the group that is looked at."""
        return self._session.grid()

    def evaluate(self, asked: RequestFields) -> JsonObject:
        """Return the value of an expression for the focused thread."""
        return {"value": str(self._session.session.evaluate(asked.text("expression")))}

    def memory(self, asked: RequestFields) -> JsonObject:
        """Return bytes of a memory."""
        return self._session.memory(asked.text("space"), asked.number("address"), asked.number("size", 256))

    def access(self, asked: RequestFields) -> JsonObject:
        """Return the memory that the next instruction touches, and its cost."""
        return self._session.access()

    def arrays(self, asked: RequestFields) -> JsonObject:
        """Return the content of the launch's arrays."""
        return {"arrays": self._session.arrays()}

    def pipeline(self, asked: RequestFields) -> JsonObject:
        """Return the instructions of a vµc core around the present cycle, and its rings."""
        from isakit.web.pipeline import pipeline

        return pipeline(self._session.session)

    def invocations(self, asked: RequestFields) -> JsonObject:
        """Return the invocations of a shader as a picture of a result, a register, or of their next instructions."""
        from isakit.web.invocations import invocations

        return invocations(self._session.session, self._session.prepared, asked.text("what", ""))

    def profile(self, asked: RequestFields) -> JsonObject:
        """Run a launch from its start and return its profile. Raises IsakitError where it is not of a Tesla kernel."""
        from isakit.debug.profile import profile

        prepared = self._prepared(asked)
        if prepared.isa != "tesla":
            raise IsakitError("only Tesla kernels can be profiled")
        found = profile(prepared.machine, prepared.name, capability=asked.text("capability", "") or None)
        return plain(found.record())


def grammar_of(isa_name: str) -> JsonObject:
    """Return the rules that colour texts of an instruction set, made from its records, its mnemonics and variants."""
    from isakit.export.lexing import rules, words_of
    from isakit.instruction_sets import isa
    from isakit.registry import VARIANTS

    chosen = isa(isa_name)
    return {"rules": [list(r) for r in rules(chosen)], "mnemonics": words_of(chosen)[0],
            "variants": list(VARIANTS[chosen.name])}  # fmt: skip


def _side(i: Instruction | None) -> JsonObject | None:
    return None if i is None else {"address": i.address, "text": i.text}


def _text(data: bytes) -> str:
    from isakit.cli.common import text_of

    return text_of(data)


VERBS = tuple(name for name in vars(Workbench) if not name.startswith("_"))
"""Names of the verbs."""


def answer(bench: Workbench, verb: str, fields: JsonObject) -> JsonObject:
    """Carry out one request: `{"result": ...}`, or `{"error": text, "kind": ...}`. Raises nothing but interrupts."""
    if verb not in VERBS:
        return {"error": f"no verb {verb[:40]!r}", "kind": "request"}
    try:
        return {"result": getattr(bench, verb)(RequestFields(fields))}
    except MachineFault as e:
        return {"error": str(e), "kind": "fault"}
    except AsmError as e:
        return {"error": str(e), "kind": "text", "diagnostics": diagnostics(e)}
    except IsakitError as e:
        return {"error": str(e), "kind": "input"}
    except (MemoryError, RecursionError):
        return {"error": "this takes more memory than a page may use", "kind": "limit"}
    except OSError as e:
        return {"error": f"{e.strerror or e}", "kind": "input"}
    except UnicodeError:
        return {"error": "this is not text", "kind": "input"}
