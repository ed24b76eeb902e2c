"""`isakit nvcc`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from isakit.cli.common import echo


@click.command(
    "nvcc",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    epilog="""\b
Examples:
  isakit nvcc -arch=sm_13 -O2 -o saxpy saxpy.cu
  isakit cuda -- ./saxpy
  make NVCC="isakit nvcc"
  isakit nvcc --toolkit cuda; make CUDA_PATH=$PWD/cuda""",
)
@click.argument("words", metavar="[OPTIONS] FILES", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...]) -> None:
    """Build whole .cu files, with the options of nvcc 1.0 to 5.0.

    Executables run with `isakit cuda`. Needs a clang with the NVPTX target, and C++ headers and a linker: those of the
    system, or the wheel that `pip install 'isakit[c]'` brings. Without -arch, code is made for sm_13.
    """
    from isakit.hosts.cuda.nvcc.options import OptionError, listing, read_options

    if not words or {"-h", "--help"} & set(words):
        context = click.get_current_context()
        echo(f"{context.get_help()}\n\nOptions:\n{listing()}", nl=False)
        return
    from isakit.hosts.cuda.nvcc.build import build, version_text

    if {"-V", "--version"} & set(words):
        echo(version_text(), nl=False)
        return
    try:
        options = read_options(words)
        if "toolkit" in options:
            from isakit.hosts.cuda.nvcc.toolkit import lay_out

            lay_out(Path(options.last("toolkit")))
            if not options.files:
                return
        build(options, lambda line: echo(line, err=True))
    except OptionError as e:
        raise click.UsageError(str(e)) from e
    sys.stdout.flush()
