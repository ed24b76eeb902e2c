"""The command line of `isakit nvcc`: what is taken, in which spelling, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from isakit.hosts.cuda.nvcc.options import ROWS, Image, OptionError, read_options


@pytest.mark.parametrize(
    ("line", "key", "values"),
    [
        ("-Iinc a.cu", "include-path", ["inc"]),
        ("-I inc a.cu", "include-path", ["inc"]),
        ("-I=inc,more a.cu", "include-path", ["inc", "more"]),
        ("--include-path inc a.cu", "include-path", ["inc"]),
        ("-DN=3 -D M a.cu", "define-macro", ["N=3", "M"]),
        ("-O3 a.cu", "optimize", ["3"]),
        ("-O a.cu", "optimize", ["2"]),
        ("-O 1 a.cu", "optimize", ["2"]),
        ("--optimize 1 a.cu", "optimize", ["1"]),
        ("-std=c++98 a.cu", "std", ["c++98"]),
        ("-Xcompiler -fPIC,-Wall a.cu", "compiler-options", ["-fPIC", "-Wall"]),
        (["-Xcompiler", "-Wall -O1", "a.cu"], "compiler-options", ["-Wall -O1"]),
        (["-Xcompiler", ',"-fPIC","-g"', "a.cu"], "compiler-options", ["-fPIC", "-g"]),
        (["-Xcompiler", r"-DX=\,", "a.cu"], "compiler-options", ["-DX=,"]),
        ("--ptxas-options=-v a.cu", "ptxas-options", ["-v"]),
        ("-L/x -L /y a.cu", "library-path", ["/x", "/y"]),
        ("--use_fast_math a.cu", "use_fast_math", [""]),
    ],
)
def test_values_are_read_in_every_spelling(line: str | list[str], key: str, values: list[str]) -> None:
    words = line.split() if isinstance(line, str) else line
    assert read_options(words).all(key) == values


def test_libraries_stay_where_they_stand_among_the_files() -> None:
    options = read_options(["a.o", "-lm", "b.a", "-l", "cuda,z", "c.cu"])
    assert options.files == ["a.o", "-lm", "b.a", "-lcuda", "-lz", "c.cu"]


@pytest.mark.parametrize(
    ("line", "images"),
    [
        ("a.cu", [Image(13, True)]),
        ("-arch=sm_10 a.cu", [Image(10, True)]),
        ("-arch sm_11 a.cu", [Image(11, True)]),
        ("--gpu-architecture=compute_12 a.cu", [Image(12, False)]),
        ("-arch=compute_10 -code=sm_11,compute_10 a.cu", [Image(11, True), Image(10, False)]),
        ("-gencode arch=compute_10,code=sm_10 -gencode=arch=compute_13,code=sm_13 a.cu",
         [Image(10, True), Image(13, True)]),
        (["-gencode", r'arch=compute_12,code=\"sm_12,compute_12\"', "a.cu"], [Image(12, True), Image(12, False)]),
        (["-gencode=arch=compute_13,code=[sm_13,compute_13]", "a.cu"], [Image(13, True), Image(13, False)]),
        ("-arch=native a.cu", [Image(13, True)]),
    ],
)  # fmt: skip
def test_images_follow_from_the_architectures(line: str | list[str], images: list[Image]) -> None:
    options = read_options(line.split() if isinstance(line, str) else line)
    assert (options.images, options.warnings) == (images, [])


def test_newer_architectures_are_left_out_or_compiled_for_the_newest_chip_with_one_warning() -> None:
    options = read_options(["-gencode", "arch=compute_13,code=sm_13", "-gencode", "arch=compute_20,code=sm_20", "a.cu"])
    assert options.images == [Image(13, True)]
    assert [w for w in options.warnings if "sm_20" in w] == options.warnings
    assert len(options.warnings) == 1
    options = read_options(["-arch=sm_35", "a.cu"])
    assert options.images == [Image(13, True)]
    assert len(options.warnings) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-frobnicate a.cu", "there is no option `-frobnicate`"),
        ("-archh=sm_13 a.cu", "-arch"),
        ("-arch=sm_9 a.cu", "no architecture 'sm_9'"),
        ("-gencode code=sm_13 a.cu", "arch=compute_13,code=sm_13"),
        ("-dc a.cu", "`-dc` is not there"),
        ("-rdc=true a.cu", "`-rdc=true` is not there"),
        ("-m32 a.cu", "`-m32` is not there"),
        ("-m 32 a.cu", "`-m 32` is not there"),
        ("-o", "`-o` needs a value"),
        ("-deviceemu a.cu", "isakit cuda"),
        ("-c=maybe a.cu", "`-c` takes no value"),
    ],
)
def test_what_is_not_there_is_refused_by_name(line: str, message: str) -> None:
    with pytest.raises(OptionError) as e:
        read_options(line.split())
    assert message in str(e.value)


def test_two_kinds_of_output_are_a_contradiction() -> None:
    with pytest.raises(OptionError, match="ask for different files"):
        assert read_options(["-c", "-ptx", "a.cu"]).action


@pytest.mark.parametrize(
    ("line", "registers"),
    [("-maxrregcount=20 a.cu", 20), ("--maxrregcount 128 a.cu", 124), ("a.cu", 0)],
)
def test_registers_have_a_bound(line: str, registers: int) -> None:
    assert read_options(line.split()).registers == registers


def test_options_for_the_assembler_count() -> None:
    assert read_options(["-Xptxas", "-v,-maxrregcount=16", "a.cu"]).registers == 16
    assert read_options(["-Xptxas", "-maxrregcount 24", "a.cu"]).registers == 24
    assert read_options(["-po", "maxrregcount=16", "a.cu"]).registers == 16
    assert read_options(["-Xptxas", "-v", "a.cu"]).reports
    with pytest.raises(OptionError, match="from 4 to 128"):
        assert read_options(["-maxrregcount=none", "a.cu"]).registers


def test_files_of_options_are_read(tmp_path: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("-DA -arch=sm_12 'with space.cu'\n")
    options = read_options(["-optf", str(more)])
    assert (options.files, options.all("define-macro"), options.images) == (["with space.cu"], ["A"], [Image(12, True)])
    more.write_text(f"-optf {more}")
    with pytest.raises(OptionError, match="without end"):
        read_options(["-optf", str(more)])
    with pytest.raises(OptionError, match="cannot be read"):
        read_options(["-optf", str(tmp_path / "none.txt")])


def test_every_option_says_what_it_is_and_no_two_have_one_name() -> None:
    names = [name for row in ROWS for name in dict.fromkeys(row.names)]
    assert len(names) == len(set(names))
    for row in ROWS:
        assert row.kind in ("flag", "value", "list", "words")
        assert row.about
