"""The runner of others' suites: tests in order, a file to resume from, programs that crash and hang."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT

PROGRAM = """
import sys, time
cases = open(sys.argv[-1].partition("=")[2]).read().split()
for case in cases:
    print(f"Test case '{case}'..", flush=True)
    if case.endswith("crashes"): sys.exit(3)
    if case.endswith("hangs"): time.sleep(60)
    print("  Fail (one pixel differs)" if case.endswith("fails") else "  Pass (Pass)", flush=True)
    print("", flush=True)
"""


@pytest.fixture
def suites(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import gl_suites

    yield gl_suites
    sys.modules.pop("gl_suites")


def run(suites: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["gl_suites.py", *map(str, words)])
    suites.main()


def test_every_case_has_a_result_whatever_its_process_does(
    suites: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"suite.a.{k}" for k in range(12)] + ["suite.b.crashes", "suite.b.hangs", "suite.b.fails"]
    program, cases, out = tmp_path / "program.py", tmp_path / "cases.txt", tmp_path / "out.jsonl"
    program.write_text(PROGRAM)
    cases.write_text("\n".join(names))
    monkeypatch.setattr(suites.subprocess, "Popen", _through_python(suites.subprocess.Popen))
    words = ("deqp", program, "--cases", cases, "-o", out, "--limit", "3", "--batch", "5", "--", "--some-option")
    run(suites, monkeypatch, *words)
    found = suites.results_in(out)
    assert {n: r["status"] for n, r in found.items()} == {
        n: {"crashes": "crash", "hangs": "timeout", "fails": "Fail"}.get(n.rpartition(".")[2], "Pass") for n in names
    }
    assert [*found] == suites.in_order(names)
    before = out.read_bytes()
    run(suites, monkeypatch, *words)
    assert out.read_bytes() == before


def _through_python(popen: type) -> object:
    return lambda command, **options: popen([sys.executable, *command], **options)


def test_a_run_goes_on_where_its_file_ends(suites: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"suite.a.{k}" for k in range(8)]
    order = suites.in_order(names)
    assert order != sorted(names)
    assert set(order) == set(names)
    out = tmp_path / "out.jsonl"
    first = suites.Results(out, names, 0, 3)
    for name in first.left:
        first.add(name, "Pass", 0.1)
    with out.open("a") as f:
        f.write('{"name": "suite.a')  # killed while it wrote
    second = suites.Results(out, names, 1, 5)
    assert second.left == order[3:6]
    second.add(second.left[0], "Pass", 0.1)
    assert [*suites.results_in(out)] == order[:4]


def test_the_table_counts_what_passes_elsewhere(suites: ModuleType, tmp_path: Path) -> None:
    def written(name: str, **statuses: str) -> Path:
        path = tmp_path / name
        lines = [json.dumps({"name": n, "status": s, "seconds": 1, "details": "why"}) for n, s in statuses.items()]
        path.write_text("\n".join(lines))
        return path

    card = written("card", **{"s.a.1": "Pass", "s.a.2": "Fail", "s.b.1": "NotSupported", "s.b.2": "crash"})
    llvmpipe = written("llvmpipe", **{"s.a.1": "Pass", "s.a.2": "QualityWarning", "s.b.1": "Pass", "s.b.2": "Fail"})
    assert suites.table(card, llvmpipe, 2).splitlines() == [
        "| tests | of | pass | not offered | fail |", "|---|---|---|---|---|",
        "| s.a | 2 | 1 | 0 | 1 |", "| s.b | 1 | 0 | 1 | 0 |", "| all | 3 | 1 | 1 | 1 |", "", "Fail: s.a.2 why",
    ]  # fmt: skip
    assert "| all | 4 | 1 | 1 | 2 |" in suites.table(card, None, 2)


def test_lists_name_pages_and_lists(suites: ModuleType, tmp_path: Path) -> None:
    for name, text in (
        ("two/00_test_list.txt", "// all\none.html\n--min-version 2.0.1 sub/00_test_list.txt\ndeqp/00_test_list.txt\n"),
        ("two/sub/00_test_list.txt", "a.html\n--max-version 1.9.9 old.html\n--slow ../other/b.html\n# c.html\n"),
        ("two/deqp/00_test_list.txt", "no.html\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = list(suites.listed(tmp_path, "two/00_test_list.txt", 2))
    assert found == ["two/one.html", "two/sub/a.html", "two/other/b.html"]
    assert "two/sub/old.html" in suites.listed(tmp_path, "two/00_test_list.txt", 1)


HOSTILE = """
import os, sys, time
first, second, *_ = open(sys.argv[-1].partition("=")[2]).read().split()
say = lambda text: os.write(1, text.encode("utf-8", "surrogateescape"))
say("Test case 'other'..\\n  Pass (of another one)\\n" + "x" * 100_000 + "\\udcff\\n  Pass (of none)\\n")
if first.endswith(".0"): sys.exit()
say(f"Test case '{first}'..\\n  Pass (\u00e9\\u2028)\\nTest case '{first}'..\\n  Fail (again)\\n")
say(f"Test case '{second}'..\\n")
if first.endswith(".2"): os.close(1), time.sleep(60)
while True: say("busy" + chr(10) * (first.endswith(".1")))
"""


def test_what_a_program_says_of_other_cases_does_not_keep_a_run_from_its_end(
    suites: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, cases, out = tmp_path / "program.py", tmp_path / "cases.txt", tmp_path / "out.jsonl"
    program.write_text(HOSTILE)
    monkeypatch.setattr(suites.subprocess, "Popen", _through_python(suites.subprocess.Popen))
    found = suites.run_cases([str(program)], ["a.0", "b"], 1.0)
    assert list(found) == []
    for first in ("a.1", "a.2", "a.3"):
        found = [(name, status) for name, status, *_ in suites.run_cases([str(program)], [first, "b"], 0.5)]
        assert found == [(first, "Pass"), ("b", "timeout")]
    cases.write_text("a.0\nb.0\na.0\n")
    run(suites, monkeypatch, "deqp", program, "--cases", cases, "-o", out, "--limit", "3")
    assert {n: r["status"] for n, r in suites.results_in(out).items()} == {"a.0": "crash", "b.0": "crash"}


def test_a_line_that_is_no_result_is_left_out(suites: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    good = b'{"name": "a", "status": "Pass", "seconds": 1, "details": ""}'
    path.write_bytes(
        b'\xff\xfe\n5\n[]\nnull\n{"name": 3}\n{"name": "b"}\n{"name": []}\n' + b"[" * 99_999 + b"\n" + good
    )
    assert [*suites.results_in(path)] == ["a"]
    assert "| all | 1 | 1 | 0 | 0 |" in suites.table(path, path, 2)
