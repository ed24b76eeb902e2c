"""Indexes: what is found in files and archives, and that it does not depend on who looked."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import json
import random
import tarfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

import isakit
from isakit.analysis import Pattern
from isakit.corpora import sources as sources_module
from isakit.corpora.programs import sketch_of_program
from support.clients.command_line import run

pytest.importorskip("pyarrow", reason="indexes need pyarrow: pip install 'isakit[index]'")

from isakit.corpora import find, scan, similar
from isakit.corpora.tables import read_batches

EXAMPLES = Path(__file__).parents[3] / "examples"
TESLA = isakit.isa("tesla", "gt200")


def cubin(name: str) -> bytes:
    """The ELF cubin of one of the example kernels."""
    from isakit.programs import write

    return write(TESLA.assemble((EXAMPLES / "tesla" / f"{name}.s").read_text()), "elf")


def rows(index: Path | str, table: str, *columns: str) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    for batch in read_batches(str(index), table, columns):
        out += zip(*(batch.column(c).to_pylist() for c in columns), strict=True)
    return out


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members.items():
            z.writestr(name, data)
    return out.getvalue()


def tarred(**members: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs in files, host files and archives."""
    folder = tmp_path_factory.mktemp("corpus")
    saxpy, matmul = cubin("saxpy"), cubin("matmul")
    (folder / "a.cubin").write_bytes(saxpy)
    (folder / "sub").mkdir()
    (folder / "sub/host").write_bytes(b"\x7fHOST" + bytes(1000) + matmul + bytes(77) + saxpy + bytes(9))
    (folder / "b.zip").write_bytes(zipped(one=saxpy, two=zipped(three=matmul)))
    (folder / "c.tar.gz").write_bytes(gzip.compress(tarred(**{"x/y": matmul})))
    (folder / "d.c").write_text("unsigned char d[] = {" + ",".join(map(str, saxpy)) + "};")
    (folder / "empty").write_bytes(b"")
    (folder / "text").write_text("nothing in here\n")
    return folder


@pytest.fixture(scope="module")
def index(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "i.parquet"
    scan([str(corpus)], str(path), jobs=1)
    return path


def test_programs_are_found_in_files_hosts_and_archives(corpus: Path, index: Path) -> None:
    found = {
        (Path(p).relative_to(corpus).as_posix(), m, n) for p, m, n in rows(index, "kernels", "path", "member", "name")
    }
    assert found == {
        ("a.cubin", "", "saxpy"), ("sub/host", "", "saxpy"), ("sub/host", "", "matmul"), ("b.zip", "one", "saxpy"),
        ("b.zip", "two!/three", "matmul"), ("c.tar.gz", "x/y", "matmul"), ("d.c", "", "saxpy"),
    }  # fmt: skip


def test_every_file_and_member_has_a_row(corpus: Path, index: Path) -> None:
    from hashlib import sha256

    found = {(Path(p).name, m): (size, digest, n) for p, m, size, digest, n in
             rows(index, "files", "path", "member", "bytes", "sha256", "programs")}  # fmt: skip
    assert found["empty", ""] == (0, sha256().hexdigest(), 0)
    host = (corpus / "sub/host").read_bytes()
    assert found["host", ""] == (len(host), sha256(host).hexdigest(), 2)
    assert found["b.zip", "one"][1] == sha256(cubin("saxpy")).hexdigest()


def test_code_that_is_there_often_is_kept_once(index: Path) -> None:
    codes = rows(index, "instructions", "code", "address")
    assert len(codes) == len(set(codes))
    assert {c for c, _ in codes} == {c for (c,) in rows(index, "kernels", "code")}
    saxpy = isakit.load(cubin("saxpy"))["saxpy"].program
    matmul = isakit.load(cubin("matmul"))["matmul"].program
    assert len(codes) == len(saxpy) + len(matmul)


def test_instructions_have_the_facts_the_decoder_gives(index: Path) -> None:
    (code,) = {c for c, n in rows(index, "kernels", "code", "name") if n == "matmul"}
    columns = ("code", "address", "size", "word", "opcode", "record", "group", "error")
    found = [r[1:] for r in rows(index, "instructions", *columns) if r[0] == code]
    program = isakit.load(cubin("matmul"))["matmul"].program
    assert found == [
        (i.address, i.size, i.word, i.mnemonic, i.record.name, i.group.value, "") for i in program
        if i.record is not None and i.group is not None
    ]  # fmt: skip


def test_words_that_are_no_instruction_keep_the_name_of_their_error(tmp_path: Path) -> None:
    words = [0x10000201, 0x2000000F, 0xF0000001, 0xE0000001, 0x12345679, 0x3]
    text = ".isa tesla g80\n.kernel k\n.word " + ", ".join(map(hex, words))
    from isakit.programs import write

    (tmp_path / "k.cubin").write_bytes(write(isakit.isa("tesla", "g80").assemble(text), "elf"))
    scan([str(tmp_path / "k.cubin")], str(tmp_path / "i"), jobs=1)
    program = isakit.load(tmp_path / "k.cubin")["k"].program
    assert rows(tmp_path / "i", "instructions", "address", "size", "error") == [
        (i.address, i.size, i.error or "") for i in program
    ]


def test_the_same_patterns_match_in_files_and_in_an_index(corpus: Path, index: Path) -> None:
    for text in ("ld * g14[$r*]", "group=branch", "writes=$r1 or reads=$r2", "address=0x10", "not opcode=m*"):
        pattern = Pattern(text)
        direct = {
            (k.name, i.address, i.text) for name in ("saxpy", "matmul")
            for k in isakit.load(cubin(name)).kernels.values() for i in k.program if pattern.matches(i)
        }  # fmt: skip
        hits = list(find(str(index), pattern))
        assert {(h.kernel, h.instruction.address, h.instruction.text) for h in hits} == direct, text
    assert len({(h.path, h.member, h.offset) for h in hits}) == 7


def test_two_processes_write_the_same_bytes_as_one(corpus: Path, index: Path, tmp_path: Path) -> None:
    scan([str(corpus)], str(tmp_path / "two"), jobs=2)
    for name in ("files", "kernels", "instructions", "strings"):
        assert (tmp_path / "two" / f"{name}.parquet").read_bytes() == (index / f"{name}.parquet").read_bytes()


@pytest.mark.parametrize("cut", [1, 999, 1005, 1500])
def test_windows_find_what_the_whole_has(cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = cubin("saxpy")
    (tmp_path / "host").write_bytes(bytes(cut) + program + bytes(3000) + program)
    monkeypatch.setattr(sources_module, "WINDOW", 1 << 17)
    monkeypatch.setattr(sources_module, "OVERLAP", len(program))
    (tmp_path / "long").write_bytes(bytes((1 << 17) - cut) + program + bytes(1 << 17) + program)
    scan([str(tmp_path)], str(tmp_path / "i"), jobs=1)
    found = [(Path(p).name, at) for p, at in rows(tmp_path / "i", "kernels", "path", "offset")]
    size = len(program)
    assert found == [
        ("host", cut), ("host", cut + size + 3000), ("long", (1 << 17) - cut), ("long", (1 << 18) - cut + size)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_damaged_archives_are_a_row_with_an_error(seed: int, corpus: Path, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for name in ("b.zip", "c.tar.gz"):
        data = bytearray((corpus / name).read_bytes())
        for _ in range(20):
            data[rng.randrange(30, len(data))] = rng.randrange(256)
        (tmp_path / name).write_bytes(data[: rng.randrange(len(data) // 2, len(data))])
    report = scan([str(tmp_path)], str(tmp_path / "i"), jobs=1)
    found = rows(tmp_path / "i", "files", "path", "errors")
    assert report.files == len(found) >= 2
    assert {Path(p).name for p, errors in found if errors} == {"b.zip", "c.tar.gz"}


def test_a_failure_of_a_reader_is_an_error_of_its_file(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isakit.corpora import tables

    def fails(*_: object) -> None:
        raise TypeError("no reader is perfect")

    monkeypatch.setattr(tables, "found_in", fails)
    scan([str(corpus / "a.cubin")], str(tmp_path / "i"), jobs=1)
    assert rows(tmp_path / "i", "files", "errors") == [(["TypeError: no reader is perfect"],)]


def test_an_archive_in_itself_ends(tmp_path: Path) -> None:
    data = cubin("saxpy")
    for _ in range(6):
        data = zipped(inner=data)
    (tmp_path / "deep.zip").write_bytes(data)
    report = scan([str(tmp_path)], str(tmp_path / "i"), jobs=1)
    assert report.files == 4
    assert report.kernels == 0


def test_pipes_and_broken_links_are_left_out(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert scan([str(tmp_path)], str(tmp_path / "i"), jobs=1).files == 0


def test_an_index_is_there_when_it_is_complete(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isakit.corpora import tables

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tables.IndexWriter, "add", fails)
    with pytest.raises(KeyboardInterrupt):
        scan([str(corpus)], str(tmp_path / "i"), jobs=1)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over_what_is_no_index(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    assert "no index" in run("scan", str(corpus), "-o", str(tmp_path / "mine"), code=1).stderr
    assert (tmp_path / "mine").read_text() == "mine"


def test_object_stores_are_read_and_written_through_fsspec(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="URLs need fsspec: pip install 'isakit[distributed]'")
    fs = fsspec.filesystem("memory")
    fs.pipe({"/corpus/a/k.cubin": cubin("saxpy"), "/corpus/b.zip": zipped(one=cubin("matmul"))})
    try:
        report = scan(["memory://corpus"], "memory://index", jobs=1)
        assert (report.files, report.kernels) == (3, 2)
        found = {(p, m, n) for p, m, n in rows("memory://index", "kernels", "path", "member", "name")}
        assert found == {("memory:///corpus/a/k.cubin", "", "saxpy"), ("memory:///corpus/b.zip", "one", "matmul")}
        assert "nothing is there" in run("scan", "memory://no", "-o", str(tmp_path / "i"), code=1).stderr
    finally:
        fs.rm("/corpus", recursive=True)
        fs.rm("/index", recursive=True)


def test_an_index_beside_what_it_is_of_is_not_in_it(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="URLs need fsspec: pip install 'isakit[distributed]'")
    fs = fsspec.filesystem("memory")
    fs.pipe({"/store/k.cubin": cubin("saxpy")})
    try:
        for _ in range(2):
            assert scan(["memory:///store"], "memory:///store/index", jobs=1).files == 1
    finally:
        fs.rm("/store", recursive=True)


def test_web_servers_are_read(corpus: Path, index: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="URLs need fsspec: pip install 'isakit[distributed]'")
    pytest.importorskip("aiohttp", reason="http:// needs aiohttp: pip install aiohttp")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(corpus))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        try:
            report = scan([url], str(tmp_path / "i"), jobs=1)
            assert scan([url + "b.zip"], str(tmp_path / "one"), jobs=1).kernels == 2
            with pytest.raises(isakit.IsakitError, match=r"nothing: .*404"):
                scan([url + "nothing"], str(tmp_path / "no"), jobs=1)
        finally:
            server.shutdown()
    assert report.kernels == len(rows(index, "kernels", "name"))
    columns = ("member", "offset", "name", "code", "sketch")
    assert sorted(rows(tmp_path / "i", "kernels", *columns)) == sorted(rows(index, "kernels", *columns))
    with pytest.raises(isakit.IsakitError, match=r"[Cc]onnect"):
        scan([url], str(tmp_path / "no"), jobs=1)


def test_s3_is_read_and_written(corpus: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("s3fs", "moto", "flask", "flask_cors"):
        pytest.importorskip(package, reason="the test needs s3fs and moto[server]")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        fs, _ = sources_module.filesystem("s3://bucket")
        fs.mkdir("bucket")
        fs.put(str(corpus), "bucket/corpus", recursive=True)
        scan(["s3://bucket"], "s3://bucket/index.parquet", jobs=1)
        columns = ("member", "offset", "name", "code")
        found = rows("s3://bucket/index.parquet", "kernels", *columns)
        with pytest.raises(isakit.IsakitError, match="NoSuchBucket"):
            scan(["s3://other"], str(tmp_path / "no"), jobs=1)
    finally:
        server.stop()
    assert sorted(found) == sorted(rows(index, "kernels", *columns))


def test_disc_images_are_looked_into(tmp_path: Path) -> None:
    pycdlib = pytest.importorskip("pycdlib", reason="images of discs need pycdlib")
    iso = pycdlib.PyCdlib()
    iso.new(joliet=3)
    data = cubin("saxpy")
    iso.add_fp(io.BytesIO(data), len(data), "/K.;1", joliet_path="/kernel.cubin")
    iso.write(str(tmp_path / "disc.iso"))
    iso.close()
    scan([str(tmp_path / "disc.iso")], str(tmp_path / "i"), jobs=1)
    assert rows(tmp_path / "i", "kernels", "member", "name") == [("kernel.cubin", "saxpy")]


def test_sketches_find_versions_of_a_kernel(index: Path) -> None:
    text = (EXAMPLES / "tesla/matmul.s").read_text()
    program = TESLA.assemble(text).kernels["matmul"]
    found = similar(str(index), program)
    assert {r.kernel for r in found} == {"matmul"}
    assert {r.likeness for r in found} == {1.0}
    assert similar(str(index), TESLA.assemble("exit nop")) == []


def test_a_sketch_estimates_how_much_is_common() -> None:
    import numpy as np

    rng = random.Random(3)
    names = [
        *("mov b32 $r1 $r2", "add b32 $r1 $r2 $r3", "xor b32 $r1 $r2 $r3", "ld b32 $r1 g14[$r2]"),
        *("shl b32 $r1 $r2 0x1", "mul f32 $r1 $r2 $r3", "st b32 g14[$r1] $r2", "and b32 $r1 $r2 $r3"),
    ]
    lines = [rng.choice(names) for _ in range(300)]
    for share in (0.1, 0.5, 0.9):
        other = lines[: int(300 * share)] + [rng.choice(names) for _ in range(300 - int(300 * share))]
        one, two = (TESLA.assemble("\n".join(x)) for x in (lines, other))
        runs = [{tuple(i.mnemonic for i in p[k : k + 3]) for k in range(len(p) - 2)} for p in (one, two)]
        true = len(runs[0] & runs[1]) / len(runs[0] | runs[1])
        estimate = float(np.mean(sketch_of_program(one) == sketch_of_program(two)))
        assert abs(true - estimate) < 0.2, share


def test_the_command_line_scans_and_finds(corpus: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "i.parquet")
    said = json.loads(run("scan", "--json", "-j", "1", str(corpus), "-o", path).stdout)
    assert (said["schema"], said["kernels"]) == ("isakit-scan-1", 7)
    counted = run("find", "--count", "--index", path, "group=branch").stdout.splitlines()
    assert any(line.endswith("b.zip!/two!/three: matmul: 1") for line in counted), counted
    alike = run("find", "--index", path, "--like", str(corpus / "a.cubin")).stdout.splitlines()
    assert len(alike) == 4
    assert all(line.startswith("saxpy: 100 %") for line in alike)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("find", "x"), 2), (("find", "--like", "a", "x"), 2), (("find", "--index", "nowhere", "mov *"), 1),
     (("scan", "nowhere", "-o", "i"), 1)],
)  # fmt: skip
def test_wrong_requests_are_one_line(words: tuple[str, ...], code: int) -> None:
    run(*words, code=code)
