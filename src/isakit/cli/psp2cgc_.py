"""`isakit psp2cgc`."""

from __future__ import annotations

import os

import click

from isakit.cli.common import BAD_INPUT, echo, read_text, shown, write_bytes
from isakit.errors import CompileError

PROFILES = {"sce_vp_psp2": "vertex", "sce_fp_psp2": "fragment"}
ALONE = {"-Wperf": "say which lines cost more than they may need to"}
WITH_VALUE = {
    "-profile": "sce_vp_psp2 or sce_fp_psp2: the stage",
    "-o": "the file to write (default: beside FILE, as a_f_cg.gxp for a_f.cg)",
    "-D": "NAME[=TEXT], a macro",
    "-I": "a folder with files to include; those of the source's own are always found",
    "-entry": "the function that is the program",
}
IDLE = {
    "-W": "warnings (-W0 to -W4)", "-Werror": "warnings as errors",
    "-pedantic": "more warnings", "-nowarn": "no warnings", "-cache": "a cache", "-O": "optimisation (-O0 to -O4)",
    "-fastmath": "less exact arithmetic", "-nofastmath": "its opposite", "-fastprecision": "half precision",
    "-nofastprecision": "its opposite", "-fastint": "short integers", "-nofastint": "its opposite",
    "-bestprecision": "single precision", "-invpos": "positions alike in all programs", "-noinvpos": "its opposite",
    "-sdb": "debugging information, and its file x.sdb", "-nosdb": "its opposite",
    "-nostdlib": "no library", "-quiet": "no messages", "-strict": "strict checks", "-packing": "a packing of uniforms",
}  # fmt: skip


class CommandLine:
    """The options and files that a command line names."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.given: dict[str, list[str]] = {}
        self.files: list[str] = []
        rest = list(reversed(words))
        while rest:
            said = rest.pop()
            word = said[1:] if said.startswith("--") else said  # makefiles write --profile and --cache, too
            name = next((n for n in ("-D", "-I") if word.startswith(n)), word)
            if name in WITH_VALUE:
                value = word.removeprefix(name) or (rest.pop() if rest else "")
                if not value:
                    raise click.UsageError(f"{name} needs a value: {WITH_VALUE[name]}")
                self.given.setdefault(name, []).append(value)
            elif word == "-" or not word.startswith("-"):
                self.files.append(word)
            elif word in ALONE:
                self.given.setdefault(word, [])
            elif word not in IDLE and not (word[:2] in IDLE and word[2:].isdecimal()):
                raise click.UsageError(f"there is no option {said!r}")
            elif word == "-sdb" and rest and rest[-1].lower().endswith(".sdb"):
                rest.pop()

    def last(self, name: str, default: str = "") -> str:
        """Return the value that an option was given last."""
        return self.given.get(name, [default])[-1]


@click.command(
    "psp2cgc",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    options_metavar="",
    epilog="""\b
Examples:
  isakit psp2cgc -profile sce_fp_psp2 -W4 texture_f.cg -o texture_f.gxp
  make CGC="isakit psp2cgc" """,
)
@click.argument("words", metavar="[OPTIONS] FILE -o OUT", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...]) -> None:
    """Compile a Cg shader, with the options that makefiles give Sony's compiler.

    Options stand in any order. Messages are written as file(line,column): error: text.
    """
    if not words or {"-h", "--help", "-help"} & set(words):
        context = click.get_current_context()
        echo(f"{context.get_help()}\n\nOptions:\n{listing()}", nl=False)
        return
    asked = CommandLine(words)
    if len(asked.files) != 1:
        raise click.UsageError(f"one source file is compiled, not {len(asked.files)}")
    (file,) = asked.files
    profile = asked.last("-profile")
    stem, ending = os.path.splitext(file)
    output = asked.last("-o") or ("" if file == "-" else f"{stem}{ending.replace('.', '_')}.gxp")
    if profile not in PROFILES:
        given = f", not {profile}" if profile else ""
        raise click.UsageError(f"-profile is {' or '.join(PROFILES)}{given}")
    if not output:
        raise click.UsageError("-o OUT says which file to write for standard input")
    from isakit.cli.cc_shader import macros
    from isakit.compile.shading.compiled import beside, build_shader

    try:
        made = build_shader(read_text(file), stage=PROFILES[profile], language="cg", path=shown(file),
                            entry=asked.last("-entry", "main"), defines=macros(asked.given.get("-D", [])),
                            resolver=beside(file, asked.given.get("-I", []), above=True))  # fmt: skip
    except CompileError as e:
        for d in e.diagnostics:
            echo(f"{d.path}({d.line},{d.column}): error: {d.message}", err=True)
        click.get_current_context().exit(BAD_INPUT)
    for d in made.warnings:
        echo(f"{d.path}({d.line},{d.column}): warning: {d.message}", err=True)
    if "-Wperf" in asked.given:
        from isakit.compile.usse.cost import cost_of

        for n in cost_of(made.shader).notes:
            echo(f"{shown(file)}({max(n.line, 1)},1): perf: {n.message}", err=True)
    write_bytes(output, made.data)


def listing() -> str:
    """Return the options as text."""
    rows = [*WITH_VALUE.items(), *ALONE.items(), *((n, f"{what}; taken, without effect") for n, what in IDLE.items())]
    width = max(len(n) for n, _ in rows)
    return "".join(f"  {name:{width}}  {what}\n" for name, what in rows)
