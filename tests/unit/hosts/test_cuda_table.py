"""The table of the CUDA interfaces, and what follows from it."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

import isakit.compile
from isakit.errors import DefinitionError, IsakitError
from isakit.hosts.cuda import handler_table, table
from isakit.hosts.cuda.codes import CudaError, errors
from isakit.hosts.cuda.device_facts import CARDS, attribute, card, properties
from isakit.hosts.cuda.dispatch import packed
from isakit.hosts.cuda.generate import PAGE, c_files, page
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.handlers import registered_handlers
from isakit.machine.tesla.chips import CHIPS


def test_every_message_has_a_handler() -> None:
    assert len(registered_handlers()) == sum(f.kind in ("call", "wire") for f in table.functions().values())


def test_a_handler_with_other_parameters_is_refused_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler_table, "_handlers", {})

    def right(session, number, device):
        """As the table says."""

    def wrong(session):
        """One parameter less."""

    def open_(session, *numbers):
        """Any number of them."""

    assert handler("cudaDeviceGetAttribute")(right) is right
    assert handler("cuDeviceGetAttribute")(open_) is open_
    with pytest.raises(DefinitionError, match=r"table\.py, line \d+: the handler of cudaSetDeviceFlags takes .* flags"):
        handler("cudaSetDeviceFlags")(wrong)

    def exchanged(session, value, limit):
        """The names of the table in another order."""

    with pytest.raises(DefinitionError, match="and limit, value, in this order, not value, limit"):
        handler("cudaDeviceSetLimit")(exchanged)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (None, "returns 0 results, not least, greatest"),
        (1, "returns 1 results"),
        ((1, 2, 3), "returns 3"),
        ((0, 2.5), "float"),
        ((0, "x"), "str"),
    ],
)
def test_results_that_are_not_those_of_the_table_are_refused(result: object, says: str) -> None:
    with pytest.raises((DefinitionError, TypeError), match=says):
        packed(table.functions()["cudaDeviceGetStreamPriorityRange"], result)


def test_a_result_is_packed_as_its_type_says() -> None:
    assert packed(table.functions()["cudaEventElapsedTime"], 2) == struct.pack("<f4x", 2.0)
    assert packed(table.functions()["cudaGetDevice"], -1) == b"\xff" * 8
    assert packed(table.functions()["cudaSetDevice"], None) == b""


def test_the_reference_page_is_what_the_table_says() -> None:
    if not PAGE.parent.is_dir():
        pytest.skip("no docs beside the package")
    assert PAGE.read_text("utf-8") == page(), "python -m isakit.hosts.cuda.generate --docs writes it"


def test_every_exported_function_is_defined_once_in_c() -> None:
    generated = c_files()["functions.h"]
    for f in table.functions().values():
        if f.interface in ("runtime", "driver"):
            assert len(re.findall(rf"^int {f.name}\(", generated, re.MULTILINE)) == (f.kind != "local"), f.name


def test_the_headers_declare_what_was_there_up_to_cuda_5() -> None:
    """`isakit nvcc` builds programs of these versions."""
    headers = Path(isakit.compile.__file__).parent / "c" / "headers" / "cuda"
    declared = set(re.findall(r"\b(\w+)\s*\(", "\n".join(h.read_text("utf-8") for h in headers.glob("*.h"))))
    works = [f for f in table.functions().values() if f.kind not in ("refuse", "later", "wire")]
    public = [f for f in works if f.interface != "internal" and not f.name.startswith("__")]
    old = [f.name for f in public if tuple(map(int, f.since.split("."))) <= (5, 0)]
    assert len(old) > 500
    missing = [name for name in old if not {name, re.sub(r"_v\d$", "", name)} & declared]
    assert missing == [], "declare it in compile/c/headers/cuda"


def test_the_functions_programs_import_are_there() -> None:
    """The union over 104 programs of the first study, from [cuda-runtime] 1.1."""
    wanted = """__cudaRegisterFatBinary __cudaUnregisterFatBinary __cudaRegisterFunction cudaConfigureCall cudaLaunch
    cudaSetupArgument cudaMalloc cudaMemcpy cudaFree cudaGetErrorString cudaGetLastError cudaGetDeviceProperties
    cudaGetDeviceCount cudaSetDevice cudaThreadSynchronize __cudaRegisterVar cudaDeviceReset cudaMemset
    cudaDeviceSynchronize cudaMemcpyToSymbol cudaCreateChannelDesc __cudaRegisterTexture cudaFreeHost cudaEventRecord
    cudaEventElapsedTime cudaEventCreate cudaEventDestroy cudaEventSynchronize cudaGetDevice cudaMallocArray
    cudaBindTextureToArray cudaFreeArray cudaMemcpyToArray cudaMallocHost cudaUnbindTexture cudaThreadExit
    cudaGLSetGLDevice cudaEventQuery cudaHostAlloc cudaMemcpyAsync cudaBindTexture cudaGraphicsGLRegisterBuffer
    cudaGraphicsMapResources cudaGraphicsUnmapResources cudaGraphicsResourceGetMappedPointer
    cudaGraphicsUnregisterResource cudaMemcpy2D cudaMallocPitch cudaSetDeviceFlags cudaHostGetDevicePointer
    cudaMemcpyFromSymbol cudaEventCreateWithFlags cudaGetChannelDesc cudaStreamCreate cudaStreamDestroy
    cudaHostRegister cudaHostUnregister cudaDeviceCanAccessPeer cudaDeviceEnablePeerAccess cudaDeviceDisablePeerAccess
    cudaMemcpy3D cudaMalloc3DArray cudaMemcpy2DToArray cudaRuntimeGetVersion cudaStreamWaitEvent cudaStreamQuery
    cudaMemGetInfo cudaGraphicsResourceSetMapFlags __cudaTextureFetch __cudaRegisterSharedVar __cudaMutexOperation
    cudaGLMapBufferObject cudaGLUnmapBufferObject cudaGLRegisterBufferObject cudaGLUnregisterBufferObject"""
    assert not set(wanted.split()) - {f.name for f in table.functions().values() if f.interface == "runtime"}


@pytest.mark.parametrize(
    ("version", "size", "places"),
    [
        ((2, 3), 512, {"overlap": 344, "multiprocessors": 348, "mapped": 360}),
        ((3, 2), 520, {"overlap": 344, "surface": 408, "bus": 424}),
        ((4, 0), 472, {"overlap": 344, "multiprocessors": 348, "threads": 468, "surface": 416}),
        ((4, 2), 568, {"overlap": 352, "multiprocessors": 356, "threads": 564, "surface": 512}),
        ((5, 0), 584, {"overlap": 352, "multiprocessors": 356}),
        ((5, 5), 584, {"overlap": 352, "multiprocessors": 356}),
        ((6, 5), 632, {"overlap": 352, "multiprocessors": 356}),
    ],
)
def test_properties_lie_where_a_version_expects_them(
    version: tuple[int, int], size: int, places: dict[str, int]
) -> None:
    """Offsets that were observed in programs: [cuda-runtime] 2.5."""
    found = properties(card("sm_13"), version)
    assert len(found) == size
    values = {"overlap": 1, "multiprocessors": 30, "mapped": 1, "threads": 1024, "surface": 256, "bus": 1}
    for name, offset in places.items():
        assert int.from_bytes(found[offset : offset + 4], "little") == values[name], name
    assert found[:11] == b"Tesla C1060"
    assert int.from_bytes(found[328:332], "little") == 1
    assert int.from_bytes(found[332:336], "little") == 3


def test_an_uncertain_version_writes_no_more_than_the_smallest_structure() -> None:
    assert len(properties(card("sm_13"), (4, 2), certain=False)) == 472


def test_cards_have_the_limits_of_their_chips() -> None:
    for c in CARDS.values():
        chip = CHIPS[c.chip]
        assert c.registers == chip.registers
        assert c.multiprocessors == chip.tpcs * chip.mps_per_tpc


def test_devices_have_names() -> None:
    assert card("sm_10").chip == "g80"
    assert card("gt215").capability == 2
    with pytest.raises(IsakitError, match="sm_13"):
        card("sm_14")


def test_attributes_of_later_chips_are_zero() -> None:
    assert attribute(card("sm_11"), 16) == 16
    assert attribute(card("sm_11"), 83) == 0
    assert attribute(card("sm_13"), 87) == 8
    assert attribute(card("sm_11"), 161) == 0
    assert attribute(card("sm_11"), 162) is None


def test_error_codes_are_those_of_each_interface() -> None:
    assert CudaError("cudaErrorLaunchFailure").code("driver") == 700
    assert CudaError("cudaErrorLaunchFailure").code("runtime") == 4
    assert CudaError("cudaErrorInvalidDeviceFunction", driver=500).code("driver") == 500
    runtime = [e.runtime for e in errors() if e.runtime is not None]
    assert len(set(runtime)) == len(runtime)


@pytest.mark.parametrize(
    "line",
    [
        "call 2.0 cudaMalloc(out pear p)",
        "refuse 2.0 cudaMalloc()",
        "push 2.0 f()",
        "call 2.0 f(block a)",
        "local 2.0 f",
        "call cudaSetDevice(int device)",
        "wire 2.0 sync()",
        "call 2.0 f(int first, out int out)",
        "call 2.0 f(int first, int first)",
    ],
)
def test_a_wrong_line_of_the_table_is_an_error(line: str) -> None:
    with pytest.raises(DefinitionError, match=r"^runtime\.txt, line 3: "):
        table._line(line, "runtime", "x", "runtime.txt, line 3")


def test_a_mark_that_says_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in table.INTERFACES:
        (tmp_path / f"{name}.txt").write_text("call 2.0 cuInit(uint flags) | after falt\n" if name == "driver" else "")
    monkeypatch.setattr(table, "API", tmp_path)
    with pytest.raises(DefinitionError, match=r"driver\.txt, line 1: marks are after fault, without device"):
        table.functions.__wrapped__()


def test_marks_are_those_of_functions_that_have_a_message() -> None:
    marked = [f for f in table.functions().values() if f.marks]
    assert {m for f in marked for m in f.marks} == set(table.MARKS)
    assert all(f.kind in ("call", "wire") for f in marked)
    assert all(f.interface == "internal" for f in marked if "of the driver" in f.marks)
