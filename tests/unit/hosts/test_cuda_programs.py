"""Programs in C that use CUDA as programs of its time do, run by `isakit cuda`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from isakit.hosts.cuda import program
from isakit.hosts.cuda import run as cuda_run
from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.modules import FAT_CONTAINER, ProgramModule
from isakit.hosts.cuda.process_device import DeviceOptions
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import functions
from support.clients import cuda_build
from support.clients.cuda_build import Entry, run
from support.clients.leftovers import ended
from support.generators import fat_binaries
from support.patience import PATIENCE, until

pytestmark = pytest.mark.skipif(not cuda_build.has_compiler(), reason="needs `cc` on 64-bit x86 Linux")


@pytest.fixture(scope="session")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checks as CUDA 4.2 would build them."""
    return cuda_build.build("checks", tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="session")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checks as CUDA 2.3 would: text cubins, 32-bit handles."""
    folder = tmp_path_factory.mktemp("old")
    return cuda_build.build("checks", folder, runtime="libcudart.so.2", generation="old")


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checks of the driver interface."""
    return cuda_build.build("driver", tmp_path_factory.mktemp("driver"))


# A fault resets the device, and symbols change what kernels compute: these two come last.
RUNTIME = ("launches", "later_launches", "copies", "textures", "host_memory", "events", "threads", "errors", "symbols")


def test_the_runtime_interface_of_cuda_4(new: Path) -> None:
    assert run("--", new, *RUNTIME).stdout == "".join(f"{name} ok\n" for name in RUNTIME)


def test_forked_processes_have_devices_of_their_own(new: Path) -> None:
    assert run("--", new, "forks").stdout == "forks ok\n"


@pytest.mark.parametrize("check", ["symbols", "textures", "events"])
def test_the_runtime_interface_of_cuda_2(old: Path, check: str) -> None:
    assert run("--", old, check).stdout == f"{check} ok\n"


DRIVER = ("modules", "memory", "textures", "devices", "boxes", "references")


def test_the_driver_interface(driver: Path, tmp_path: Path) -> None:
    out = run("--", driver, *DRIVER, folder=tmp_path).stdout
    assert out == "".join(f"{name} ok\n" for name in DRIVER)


def test_the_compiler_of_the_driver_interface_says_what_it_did(tmp_path: Path) -> None:
    program = cuda_build.build("compiler", tmp_path)
    assert run("--", program, folder=tmp_path).stdout == "compiler ok\n"


def test_the_driver_interface_of_the_first_releases(tmp_path: Path) -> None:
    program = cuda_build.build("first_driver", tmp_path)
    out = run("--", program).stdout
    assert out == "".join(f"{name} ok\n" for name in ("contexts", "memory", "arrays", "textures", "events"))


def test_what_is_not_there_answers_with_its_error_and_says_so_once(tmp_path: Path) -> None:
    refused = [f for f in functions().values() if f.kind in ("refuse", "later")]
    lines = [f"int {f.name}();\n" for f in refused]
    lines += ["static void calls(void)\n{\n"]
    for f in refused:
        call = f"{f.name}({', '.join(['0UL'] * len(f.parameters))})"
        lines += [f"    EXPECT({call}, {f.more}); EXPECT({call}, {f.more});\n"]
        if f.interface == "runtime":
            lines += [f"    EXPECT(cudaGetLastError(), {f.more});\n"]
    (tmp_path / "refused.h").write_text("".join([*lines, "}\n"]))
    done = run("--", cuda_build.build("refused", tmp_path, beside=cuda_build.LIBRARIES))
    said = done.stderr.splitlines()
    assert [line for line in said if "is not available: " not in line] == []
    assert sorted(line.split()[1] for line in said) == sorted(f.name for f in refused)


def test_the_rest_of_the_runtime_interface(tmp_path: Path) -> None:
    names = ("settings", "memory", "arrays", "streams", "leftovers")
    assert run("--", cuda_build.build("rest", tmp_path)).stdout == "".join(f"{name} ok\n" for name in names)


@pytest.mark.parametrize("check", ["later", "beside"])
def test_what_later_clients_call(driver: Path, check: str) -> None:
    assert run("--", driver, check).stdout == f"{check} ok\n"


def test_contexts_belong_to_threads(driver: Path) -> None:
    assert run("--", driver, "migration").stdout == "migration ok\n"


@pytest.fixture(scope="session")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What samples of the time do besides the plain calls, and a library they open late."""
    folder = tmp_path_factory.mktemp("sdk")
    cuda_build.build("late", folder, library=True)
    return cuda_build.build("sdk", folder)


def test_what_samples_do_besides_the_plain_calls(sdk: Path) -> None:
    names = ("unbound", "names", "streams", "texture_memory", "queries", "plugins")
    out = run("--", sdk, *names, folder=sdk.parent).stdout
    assert out == "".join(f"{name} ok\n" for name in names)


def test_unbound_textures_are_faults_where_it_is_strict(sdk: Path) -> None:
    done = run("--strict", "--", sdk, "unbound", code=1)
    assert "UNBOUND_TEXTURE" in done.stderr


def test_the_driver_interface_finds_the_context_of_the_runtime(sdk: Path) -> None:
    assert run("--", sdk, "both").stdout == "both ok\n"


@pytest.mark.parametrize(
    ("device", "says"),
    [("sm_10", "GeForce 8800 GTX major 1 minor 0"), ("sm_12", "GeForce GT 240 major 1 minor 2")],
)
def test_the_device_is_what_the_command_line_says(new: Path, device: str, says: str) -> None:
    assert says in run("--device", device, "--", new, "device").stdout


def test_structures_are_those_of_the_version(old: Path, new: Path) -> None:
    assert "size 512 version 2030" in run("--", old, "device").stdout
    assert "size 568 version 4020" in run("--", new, "device").stdout
    assert "size 472 version 4000" in run("--cuda", "4.0", "--", new, "device").stdout


def test_memory_is_one_heap_unless_it_is_strict(new: Path) -> None:
    assert "stray 0\ncopy 0\n" in run("--", new, "strays").stdout
    strict = run("--strict", "--", new, "strays")
    assert "stray 4\ncopy 4\n" in strict.stdout
    assert "UNMAPPED_ADDRESS" in strict.stderr


def test_fresh_memory_holds_the_fill_pattern(new: Path) -> None:
    assert "byte 0\n" in run("--", new, "unwritten").stdout
    assert "byte 205\n" in run("--fill", "205", "--", new, "unwritten").stdout


def test_exit_status_and_signals_are_those_of_the_program(new: Path) -> None:
    run("--", new, "launches", "status", code=42)
    run("--", new, "crash", code=-signal.SIGSEGV)
    run("--", "/bin/sh", "-c", "exit 9", code=9)


def test_programs_started_by_a_script_find_the_device(new: Path) -> None:
    done = run("--", "/bin/sh", "-c", f"{new} launches && {new} events && exit 5", code=5)
    assert done.stdout == "launches ok\nevents ok\n"


def require(bits: int) -> None:
    """Skip the test where no program of so many bits can be built and run."""
    if bits == 32 and not cuda_build.narrow_compiler():
        pytest.skip("needs a C compiler that builds for 32 bits (gcc-multilib, or the extra `c` with libc6-i386)")


@pytest.mark.parametrize(("runtime", "generation"), [("libcudart.so.4", "new"), ("libcudart.so.2", "old")])
def test_programs_of_32_bits(tmp_path: Path, runtime: str, generation: str) -> None:
    require(32)
    program = cuda_build.build("checks", tmp_path, runtime=runtime, generation=generation, bits=32)
    checks = RUNTIME if generation == "new" else ("symbols", "textures", "events")
    assert run("--", program, *checks).stdout == "".join(f"{name} ok\n" for name in checks)


def test_the_driver_interface_in_programs_of_32_bits(tmp_path: Path) -> None:
    require(32)
    program = cuda_build.build("driver", tmp_path, bits=32)
    checks = [name for name in DRIVER if name != "modules"]  # whose kernels take pointers of 64 bits
    assert run("--", program, *checks, folder=tmp_path).stdout == "".join(f"{name} ok\n" for name in checks)


@pytest.mark.parametrize("bits", [64, 32])
def test_a_statically_linked_runtime_is_diverted(tmp_path: Path, bits: int) -> None:
    """Functions of the runtime that are part of the program do nothing here; ours must run instead of them."""
    require(bits)
    cuda_build.build("checks", tmp_path, bits=bits)
    names = [f.name for f in cuda_build.functions().values() if f.interface == "runtime"]
    nops = "nop; " * 16
    body = f'__attribute__((noinline)) int {{}}(void) {{{{ __asm__ volatile("{nops}"); return 999; }}}}\n'
    (tmp_path / "static.c").write_text("".join(body.format(n) for n in names))
    line = [*cuda_build.command(bits), "-w", "-O0", "-no-pie", "-I", str(tmp_path), "-I", str(cuda_build.PROGRAMS)]
    line += [str(cuda_build.PROGRAMS / "checks.c"), str(tmp_path / "static.c"), "-lm", "-pthread"]
    subprocess.run([*line, "-o", str(tmp_path / "static")], check=True)
    assert subprocess.run([tmp_path / "static", "launches"], check=False, capture_output=True).returncode == 1
    out = run("--", tmp_path / "static", "launches", "copies", "textures").stdout
    assert out == "launches ok\ncopies ok\ntextures ok\n"


@pytest.mark.parametrize(
    "beside", [(), (Entry(2, 20, b"\x7fELF of a later chip"),)], ids=["alone", "beside a later cubin"]
)
def test_ptx_is_compiled_where_there_is_no_machine_code(beside: tuple[Entry, ...], tmp_path: Path) -> None:
    images = (Entry(1, 10, cuda_build.PTX.encode() + b"\0"), *beside)
    program = cuda_build.build("checks", tmp_path, images=images)
    assert run("--", program, "launches").stdout == "launches ok\n"


@pytest.mark.parametrize(("runtime", "generation"), [("libcudart.so.4", "new"), ("libcudart.so.2", "old")])
def test_code_for_the_newest_chip_is_chosen_of_either_kind_of_fat_binary(
    tmp_path: Path, runtime: str, generation: str
) -> None:
    program = cuda_build.build("chips", tmp_path, runtime=runtime, generation=generation, later=True)
    assert run("--device", "sm_13", "--", program).stdout == "PASSED\n"
    assert run("--device", "sm_12", "--", program, "first").stdout == "PASSED\n"


def test_code_for_later_chips_alone_is_no_code(tmp_path: Path) -> None:
    program = cuda_build.build("checks", tmp_path, images=[Entry(2, 20, b"\x7fELF of a later chip")])
    done = run("--", program, "launches", code=1)
    assert "is 48, expected 0" in done.stdout
    assert "no code for sm_10 to sm_13: there is elf for sm_20" in done.stderr


def test_a_runtime_that_comes_with_the_program_does_not_get_in_the_way(tmp_path: Path) -> None:
    """The loader finds the other one first; ours is asked all the same."""
    program = cuda_build.build("checks", tmp_path, flags=["-Wl,--disable-new-dtags,-rpath,$ORIGIN"])
    assert (tmp_path / "libcudart.so.4").exists()
    assert run("--", program, "launches").stdout == "launches ok\n"


def test_a_trace_shows_the_calls(new: Path) -> None:
    trace = run("--trace", "--", new, "launches").stderr
    assert "cudaMalloc(4000)" in trace
    assert "launch(" in trace
    assert "cudaMemcpy: 4000 x 1 x 1" in trace


def test_launches_of_the_same_shape_are_repeated_with_new_parameters(new: Path) -> None:
    done = json.loads(run("--stats", "--json", "--", new, "many").stderr)
    assert done["launches"] == 10_001


def test_statistics_count_launches(new: Path) -> None:
    text = run("--stats", "--", new, "launches").stderr
    assert "affine" in text
    assert "0 faults" in text


@pytest.mark.parametrize(
    ("program", "says"),
    [("/nonexistent", "there is no such program"), ("/etc/passwd", "it is not executable")],
)
def test_what_cannot_be_started_is_one_clear_line(program: str, says: str) -> None:
    done = run("--", program, code=1)
    assert done.stderr == f"error: {program}: {says}\n"


def test_missing_libraries_of_the_time_are_named(tmp_path: Path) -> None:
    stub, main = tmp_path / "libcusparse.so.4", tmp_path / "needs"
    subprocess.run(
        ["cc", "-shared", "-nostdlib", "-Wl,-soname,libcusparse.so.4", "-o", stub, "-x", "c", "/dev/null"], check=True
    )
    line = ["cc", "-o", main, "-x", "c", "-", "-x", "none", "-Wl,--no-as-needed", stub]
    subprocess.run(line, input="int main(void) { return 0; }", text=True, check=True)
    stub.unlink()
    done = run("--", main, code=1)
    assert "libcusparse.so.4" in done.stderr.splitlines()[0]


def _processes(marker: str) -> list[int]:
    """Processes with a word in their command line."""
    out: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if marker.encode() in (folder / "cmdline").read_bytes():
                    out.append(int(folder.name))
            except OSError:
                continue
    return out


def _running(program: Path) -> list[int]:
    """Processes of a program; what the command has just forked has the same command line, and another program."""
    return [p for p in _processes(str(program)) if os.path.realpath(f"/proc/{p}/exe") == str(program)]


def _parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _ancestors(process: int) -> set[int]:
    out: set[int] = set()
    while process > 1 and process not in out:
        process = _parent(process)
        out.add(process)
    return out


def _children() -> list[int]:
    return [int(f.name) for f in Path("/proc").iterdir() if f.name.isdigit()]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM)])
def test_an_interrupt_ends_program_and_device(new: Path, number: int, status: int) -> None:
    """Also while a kernel runs that never ends; nothing is left behind."""
    line = [sys.executable, "-m", "isakit", "cuda", "--", str(new), "endless"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        parent.send_signal(number)
        try:
            assert parent.wait(PATIENCE) == status
        finally:
            parent.kill()  # a program that was started with the signal ignored never ends by it
    assert not _processes(str(new))


def test_a_program_that_ends_before_it_is_served(monkeypatch: pytest.MonkeyPatch, new: Path) -> None:
    """Signals end it while the engine is still being loaded."""
    start = program.start

    def started(*given: Any) -> subprocess.Popen[bytes]:
        child = start(*given)
        child.terminate()
        child.wait()
        return child

    monkeypatch.setattr(program, "start", started)
    assert cuda_run.run(str(new), ["endless"])[0] == -signal.SIGTERM


def test_a_killed_program_ends_its_kernel(new: Path) -> None:
    line = [sys.executable, "-m", "isakit", "cuda", "--", str(new), "endless"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        (child,) = _running(new)
        time.sleep(0.3)
        os.kill(child, signal.SIGKILL)
        assert parent.wait(PATIENCE) == -signal.SIGKILL
    assert not _processes(str(new))


@pytest.fixture(scope="module")
def repeat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cuda_build.build("repeat", tmp_path_factory.mktemp("repeat"))


def test_launches_that_are_not_waited_for_all_run(repeat: Path) -> None:
    done = run("--stats", "--", repeat, "sum", "5000")
    assert done.stdout == "PASSED\n"
    assert re.search(r"^ +5000 .* count$", done.stderr, re.MULTILINE), done.stderr


def test_launches_see_what_was_bound_and_destroyed_before_them(repeat: Path) -> None:
    assert run("--", repeat, "changes").stdout == "PASSED\n"


def test_a_fault_of_a_launch_that_is_not_waited_for_shows_at_the_next_answer(repeat: Path) -> None:
    done = run("--strict", "--", repeat, "fault", "100")
    assert done.stdout == "PASSED\n"
    assert done.stderr.count("fault: stray") == 1


def test_a_fault_shows_at_its_launch_where_launches_block(repeat: Path) -> None:
    done = run("--strict", "--", repeat, "fault", environment={"CUDA_LAUNCH_BLOCKING": "1"}, code=1)
    assert "is 4, expected 0" in done.stdout


def test_a_killed_program_ends_the_kernels_that_wait_to_run(repeat: Path) -> None:
    line = [sys.executable, "-m", "isakit", "cuda", "--", str(repeat), "endless", "200"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "waiting\n"
        (child,) = _running(repeat)
        time.sleep(0.3)
        os.kill(child, signal.SIGKILL)
        assert parent.wait(PATIENCE) == -signal.SIGKILL
    assert not _processes(str(repeat))


def test_a_killed_command_leaves_nothing_behind(new: Path) -> None:
    """The program's call returns with an error, and it ends; no process that compiles goes on either."""
    line = [sys.executable, "-m", "isakit", "cuda", "--", str(new), "endless"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        time.sleep(0.3)
        started = {p for p in _children() if parent.pid in _ancestors(p)}
        assert started
        parent.kill()
        assert parent.wait(PATIENCE) == -signal.SIGKILL
        assert until(lambda: all(map(ended, started)))
        assert "the connection to the simulated device is lost" in parent.communicate()[1]


def test_several_programs_at_once(new: Path) -> None:
    line = [sys.executable, "-m", "isakit", "cuda", "--", str(new), "threads", "launches"]
    running = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        assert process.communicate(timeout=PATIENCE)[0] == "threads ok\nlaunches ok\n"
        assert process.returncode == 0


def _stays(before: set[str]) -> bool:
    """Whether shared memory stays that was not there before; that of programs beside this one comes and goes."""
    new = set(os.listdir("/dev/shm")) - before
    return not until(lambda: not new.intersection(os.listdir("/dev/shm")))


def test_nothing_is_left_in_the_file_system(new: Path, tmp_path: Path) -> None:
    environment = {"TMPDIR": str(tmp_path / "tmp"), "HOME": str(tmp_path / "home")}
    for folder in environment.values():
        Path(folder).mkdir()
    before = set(os.listdir("/dev/shm"))
    run("--", new, "launches", folder=tmp_path, environment=environment)
    run("--", new, "crash", folder=tmp_path, environment=environment, code=-signal.SIGSEGV)
    assert not _stays(before)
    assert not list((tmp_path / "tmp").iterdir())


def test_without_the_command_there_is_no_device(new: Path) -> None:
    from isakit.hosts.cuda.build import library_folder

    env = {**os.environ, "LD_LIBRARY_PATH": str(library_folder())}
    done = subprocess.run([new, "device"], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 1
    assert "cudaGetDeviceCount(&count_) is 38" in done.stdout
    assert done.stderr == "isakit: no simulated device; start the program with `isakit cuda`\n"


def test_captured_launches_replay_alike_on_every_engine(new: Path, tmp_path: Path) -> None:
    folder = tmp_path / "launches"
    run("--capture", folder, "--", new, "launches", "textures", "host_memory", "symbols")
    from support.clients.command_line import run as command

    assert len(list((folder / "launches").iterdir())) == 12
    for options in (["--engine", "reference"], ["--tier", "interp"], ["--tier", "jit"], ["--threads", "2"]):
        out = command("replay", str(folder), "--check", *options).stdout
        assert out.count("same") == 12, out
    entry = folder / "launches" / "0001.json"
    assert command("replay", str(entry), "--check", "--json").stdout.count('"same": true') == 1


def test_textures_that_were_not_bound_replay_alike(sdk: Path, tmp_path: Path) -> None:
    from support.clients.command_line import run as command

    run("--capture", tmp_path / "launches", "--", sdk, "unbound")
    assert command("replay", str(tmp_path / "launches"), "--check").stdout.count("same") == 1


def test_a_replay_says_what_differs(new: Path, tmp_path: Path) -> None:
    from support.clients.command_line import run as command

    folder = tmp_path / "launches"
    run("--capture", folder, "--", new, "launches")
    path = folder / "launches" / "0001.json"
    entry = json.loads(path.read_text())
    entry["params"] = entry["params"][:32] + "e7030000"  # one element fewer
    path.write_text(json.dumps(entry))
    out = command("replay", str(folder), "--check", code=3).stdout
    assert "4 bytes differ" in out or "3 bytes differ" in out
    assert "captured" in out


def test_a_damaged_capture_is_an_error(new: Path, tmp_path: Path) -> None:
    from support.clients.command_line import run as command

    folder = tmp_path / "launches"
    run("--capture", folder, "--", new, "launches")
    blob = next((folder / "blobs").iterdir())
    blob.write_bytes(b"\x78\x01" + bytes(20))
    assert str(blob) in command("replay", str(folder), code=1).stderr
    assert "capture.json is missing" in command("replay", str(tmp_path), code=1).stderr
    assert "holds a capture already" in run("--capture", folder, "--", new, "launches", code=1).stderr


def test_the_same_program_twice_gives_the_same_bytes(new: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("--capture", tmp_path / name, "--", new, "launches", "symbols", "textures")
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
    assert len(files) > 10
    for f in files:
        assert (tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes(), f


@pytest.mark.slow
def test_the_library_passes_with_address_and_undefined_behaviour_checks(tmp_path: Path) -> None:
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=all"
    program = cuda_build.build("checks", tmp_path, flags=flags.split())
    driver = cuda_build.build("driver", tmp_path / "driver", flags=flags.split())
    # Leaks of a process that ends are none; `malloc` may refuse sizes no memory has.
    options = "detect_leaks=0:allocator_may_return_null=1"
    environment = {"ISAKIT_CUDA_CFLAGS": flags, "ASAN_OPTIONS": options}
    out = run("--", program, *RUNTIME, environment=environment, timeout=200)
    assert "ERROR" not in out.stderr
    assert out.stdout.count(" ok\n") == len(RUNTIME)
    out = run("--", driver, *DRIVER, environment=environment, folder=tmp_path, timeout=200)
    assert out.stdout.count(" ok\n") == len(DRIVER)
    assert run("--", driver, "migration", environment=environment).stdout == "migration ok\n"
    names = ("unbound", "names", "streams", "texture_memory", "queries")
    others = {"sdk": names, "repeat": ("changes",), "first_driver": (), "rest": (), "compiler": ()}
    for name, arguments in others.items():
        program = cuda_build.build(name, tmp_path / name, flags=flags.split())
        run("--", program, *arguments, environment=environment, folder=tmp_path, timeout=200)


def test_packed_ptx_is_compiled_where_there_is_no_machine_code() -> None:
    image = fat_binaries.container(
        fat_binaries.entry(1, fat_binaries.packed(fat_binaries.PTX), 13, b"a.cu", 0x2010, len(fat_binaries.PTX))
    )
    session = Session(DeviceOptions(card("sm_13"), engine="reference"))
    try:
        module = ProgramModule(session, FAT_CONTAINER, image)
        assert list(module.loaded)
        assert "registers" in module.information
    finally:
        session.close()
