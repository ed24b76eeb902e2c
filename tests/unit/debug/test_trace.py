"""Traces and replay pages: what they say is what a session sees."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import ROOT
from isakit.debug.session import Session
from isakit.debug.trace.perfetto import NANOSECONDS, perfetto
from isakit.debug.trace.replay import recorded, replay
from isakit.results import plain
from support.clients.browser import BROWSER, document, text_of
from support.clients.command_line import run
from support.runners import debugging
from support.runners.debugging import buffer_of, diverging

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


# --- Perfetto ---------------------------------------------------------------------------------------------------------
def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers, or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            b = data[at]
            at += 1
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, data[at : at + size]
            at += size


def events(data: bytes) -> tuple[dict[int, str], list[tuple[int, int, str, Any]]]:
    """Names of tracks by number, and (time, type, track, name or value) of the events."""
    names: dict[int, str] = {}
    out: list[tuple[int, int, str, Any]] = []
    for number, packet in fields(data):
        assert number == 1
        p = dict(fields(packet))
        if 60 in p:
            track = dict(fields(p[60]))
            names[track[1]] = track[2].decode()
        if 11 in p:
            e = dict(fields(p[11]))
            what = e[30] if 30 in e else e[23].decode() if 23 in e else None
            out.append((p[8] // NANOSECONDS, e[9], names[e[11]], what))
    return names, out


def test_a_track_per_warp_with_a_slice_per_basic_block() -> None:
    names, found = events(b"".join(perfetto(diverging(), 1000)))
    assert {"block (0, 0) warp 0", "block (0, 0) warp 1", "active lanes"} <= set(names.values())
    first = [(t, kind, what) for t, kind, track, what in found if track == "block (0, 0) warp 0"]
    slices = [(start, what, end) for (start, kind, what), (end, last, _) in pairwise(first)
              if kind == BEGIN and last == END]  # fmt: skip
    assert [s[1] for s in slices][:4] == ["entry", "low", "twice", "low+0x8"]
    assert slices[0] == (0, "entry", 6)
    assert all(a[2] == b[0] for a, b in pairwise(slices))
    assert found[-1][3] == "the program has ended"


def test_counters_of_lanes_and_memory_are_those_of_the_launch() -> None:
    session = diverging()
    _, found = events(b"".join(perfetto(session, 1000)))
    lanes = [what for _, kind, track, what in found if kind == COUNTER and track == "active lanes"]
    assert lanes[:3] == [32, 16, 32]
    written = [what for _, kind, track, what in found if kind == COUNTER and track == "g14[] bytes written"]
    assert written == [128, 256]


def test_a_warp_that_waits_ends_its_slice() -> None:
    program = isakit.isa("tesla", "gt200").assemble(debugging.REDUCTION)
    device = isakit.Device("gt200")
    out = device.alloc(4 * 64)
    session = Session(device.load(program)["sum"].machine(1, 64, (out,)), program, labels=program.labels)
    _, found = events(b"".join(perfetto(session, 1000)))
    assert [track for _, kind, track, what in found if (kind, what) == (INSTANT, "waits")] == ["block (0, 0) warp 0"]


@pytest.mark.parametrize("make", [debugging.tesla, debugging.usse, debugging.vuc])
def test_slices_nest_and_time_does_not_run_backwards(make: Callable[[int], Session]) -> None:
    _, found = events(b"".join(perfetto(make(5), 300)))
    depth: dict[str, int] = {}
    for _, kind, track, _ in found:
        depth[track] = depth.get(track, 0) + (kind == BEGIN) - (kind == END)
        assert depth[track] in (0, 1)
    assert not any(depth.values())
    assert [t for t, *_ in found] == sorted(t for t, *_ in found)


def test_perfettos_own_protocol_buffers_read_it() -> None:
    pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = pb.Trace()
    data = b"".join(perfetto(diverging(), 1000, "diverge"))
    trace.ParseFromString(data)
    assert trace.packet[0].track_descriptor.name == "diverge (tesla gt200)"
    begun = [p.track_event.name for p in trace.packet if p.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN]
    assert begun[:3] == ["entry", "low", "twice"]
    assert pb.Trace.FromString(trace.SerializeToString()) == trace


# --- replay -----------------------------------------------------------------------------------------------------------
class Replayed:
    """The state that a page shows, computed from its data as the page computes it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = json.loads(json.dumps(data))
        self.rows = list(self.data["start"]["rows"])
        self.registers: dict[tuple[str, int, int], int] = {}
        for file, number, threads, values in self.data["start"]["registers"]:
            self.registers |= {(file, number, t): v for t, v in zip(threads, values, strict=True)}
        self.memory = {(s, int(a, 16)): w for s, ws in self.data["start"]["memory"].items() for a, w in ws.items()}

    def apply(self, k: int, side: int) -> None:
        step = self.data["steps"][k]
        for n, *pair in step.get("rows", ()):
            assert self.rows[n] == pair[1 - side]
            self.rows[n] = pair[side]
        for file, number, threads, *pair in step.get("registers", ()):
            for j, t in enumerate(threads):
                assert self.registers.get((file, number, t), 0) == pair[1 - side][j]
                self.registers[file, number, t] = pair[side][j]
        for space, address, *pair in step.get("memory", ()):
            assert self.memory.get((space, address)) == pair[1 - side]
            self.memory[space, address] = pair[side]


def non_zero(registers: dict[tuple[str, int, int], int]) -> dict[tuple[str, int, int], int]:
    return {k: v for k, v in registers.items() if v}


def registers_of(session: Session) -> dict[tuple[str, int, int], int]:
    out: dict[tuple[str, int, int], int] = {}
    for name in session.target.register_files:
        rows = session.target.read_file(name)
        out |= {(name, int(n), int(t)): int(rows[n, t]) for n, t in zip(*np.nonzero(rows), strict=True)}
    return out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [debugging.tesla, debugging.usse, debugging.vuc])
def test_a_replay_shows_what_a_session_sees_in_both_directions(make: Callable[[int], Session], seed: int) -> None:
    session = make(seed)
    data = plain(recorded(session, 60))
    taken = len(data["steps"])
    session.goto(0)
    shown = Replayed(data)
    at_start = dict(shown.registers)
    for k in range(taken):
        assert session.execution.following == data["steps"][k]["thread"]
        assert session.position == data["steps"][k]["at"]
        if k % 20 == 0:
            assert non_zero(shown.registers) == registers_of(session)
        session.timeline.step()
        shown.apply(k, 1)
    if not session.finished:
        assert non_zero(shown.registers) == registers_of(session)
    for k in reversed(range(taken)):
        shown.apply(k, 0)
    assert non_zero(shown.registers) == non_zero(at_start)


def test_a_replay_shows_memory_before_and_behind_a_store() -> None:
    session = diverging(32)
    data = plain(recorded(session))
    address = buffer_of(session) + 4 * 7
    shown = Replayed(data)
    assert shown.memory["g14", address] == "00000000"
    for k in range(len(data["steps"])):
        shown.apply(k, 1)
    assert shown.memory["g14", address] == (15).to_bytes(4, "little").hex()
    assert data["end"] == "the program has ended"


def test_a_fault_ends_a_replay_with_its_text() -> None:
    source = ".isa tesla gt200\n.kernel bad\n    mov b32 $r1 0x4\n    exit st b32 g14[$r1] $r1\n"
    kernel = isakit.Device("gt200").load(isakit.isa("tesla", "gt200").assemble(source))["bad"]
    data = plain(recorded(Session(kernel.machine(1, 32))))
    assert len(data["steps"]) == 1
    assert "g14" in data["end"]


def test_a_page_is_one_file_and_keeps_markup_of_programs_out_of_itself() -> None:
    page = replay(diverging(32), title="</script><b>")
    assert "<b>" not in page
    assert not re.search(r"(src|href)=", page)
    assert "default-src 'none'" in page


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize(("path", "step"), [("10", 10), ("34,13", 13), ("0,34,0,25", 25)])
def test_a_browser_shows_lanes_registers_stack_and_memory_of_a_step(tmp_path: Path, path: str, step: int) -> None:
    session = diverging()
    page = tmp_path / "replay.html"
    page.write_text(replay(session), "utf-8")
    session.goto(0)
    for _ in range(step):
        session.timeline.step()
    session.focus = session.execution.following or 0
    html = document(page, f"{path}@{session.focus}")
    assert text_of(html, "output", 'id="where"') == [f"step {step} of 34"]
    (line,) = text_of(html, "div", 'class="next"')
    assert line == f"{session.address:04x}  {session.program.at(session.address or 0).text}"  # type: ignore[union-attr]
    active = sum(session.target.thread(t).active for t in range(64))
    assert html.count('class="lane active"') + html.count('class="lane active focus"') == active
    shown = dict(re.findall(r"<td[^>]*>([a-z]+\d+) = (0x[0-9a-f]+)", html))
    expected = {n.replace("$", ""): hex(v) for n, v in session.registers().items()}
    assert shown
    assert all(expected[name] == value for name, value in shown.items())
    assert all(name in shown for name, value in expected.items() if value != "0x0")
    stack = text_of(html, "table", 'id="stack"')[0]
    assert [f.meaning in stack for f in session.frames()] == [True] * len(session.frames())
    assert f"s[0x{0:x}]" in html


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    out, page = tmp_path / "out.pftrace", tmp_path / "replay.html"
    example = str(ROOT / "examples/tesla/diverge.s")
    launch = ("--block", "32", "--arg", "zeros:i32:32")
    run("trace", example, *launch, "--trace", str(out), "--html", str(page))
    assert out.read_bytes()[:1] == b"\x0a"
    assert "</html>" in page.read_text("utf-8")
    data = json.loads(run("trace", example, *launch, "--json", "--max", "5").stdout)
    assert (len(data["steps"]), data["end"]) == (5, "5 steps are shown")
    run("trace", example, *launch, code=2)
