"""Captures of GL programs with words changed that the driver wrote: pushes, programs, headers, vertices.

The card answers with errors or draws something else; a mistake of its own is a finding. Every address that an engine
uses is checked against the memory objects, so what lies beyond them must stay zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from isakit.errors import FormatError
from isakit.graphics.watchdog import Watchdog
from isakit.hosts.drm import capture
from isakit.hosts.drm.card import Channel
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.memory import BASE
from isakit.hosts.drm.replay import Replay
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.runners.gl import CAPTURES

FILES = sorted(str(p.relative_to(CAPTURES)) for p in CAPTURES.rglob("*.glc"))
EDGES = (0, 1, 2, 0xFFFF, 0x10000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, BASE, BASE + 0xFFF8, 0x3F80_0000, 0x7F80_0000,
         0x7FC0_0000)  # fmt: skip
CHANGES = 24
"""At most so many words of a capture are changed."""
WATCHDOG = Watchdog(compiled=1 << 16, reference=1 << 16, work=1 << 18)
"""Ends a program within seconds that changed words made endless, or a launch of billions of blocks: the watchdog that
cards have otherwise takes about as long as a case may."""


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    records = list(capture.read(CAPTURES / (name := r.choice(FILES)))[1])
    written = [k for k, record in enumerate(records) if record.kind == "write" and len(record.data) >= 4]
    changes: list[tuple[int, int, int]] = []
    for _ in range(r.randint(1, CHANGES)):
        k = r.choice(written)
        words = np.frombuffer(records[k].data[: len(records[k].data) // 4 * 4], np.uint32)
        used = np.flatnonzero(words)
        at = int(r.choice(used)) if len(used) and r.random() < 0.9 else r.randrange(len(words))
        how = r.random()
        turned = int(words[at]) ^ 1 << r.randrange(32)
        value = r.choice(EDGES) if how < 0.4 else r.getrandbits(32) if how < 0.6 else turned
        changes.append((k, at, value))
    return {"file": name, "changes": changes, "cut": r.randrange(len(records)) if r.random() < 0.1 else None}


def _changed(case: dict[str, Any]) -> Iterator[capture.CapturedEvent]:
    """The records of a case."""
    by_record: dict[int, list[tuple[int, int]]] = {}
    for k, at, value in case["changes"]:
        by_record.setdefault(k, []).append((at, value))
    for k, record in enumerate(capture.read(CAPTURES / case["file"])[1]):
        if k == case["cut"]:  # half of a record's bytes are lost
            record = capture.CapturedEvent(record.kind, record.numbers, record.data[: len(record.data) // 8 * 4])
        if k in by_record and record.kind == "write":
            data = bytearray(record.data)
            for at, value in by_record[k]:
                data[4 * at : 4 * at + 4] = value.to_bytes(4, "little")
            record = capture.CapturedEvent(record.kind, record.numbers, bytes(data))
        yield record


def packets_of(case: dict[str, Any], engine: str = "reference") -> tuple[int, list[str]]:
    """Replay a case: (packets that were decoded, faults that were reported). Raises Wrong."""
    replay = Replay(CAPTURES / case["file"], CardSettings(engine, watchdog=WATCHDOG))
    channels: list[Channel] = []
    replay.on_channel = channels.append
    replay._records = _changed(case)  # pyright: ignore[reportPrivateUsage]
    try:
        replay.run()
        ends = [o.offset + o.size for o in replay.memory.objects.values()]
        beyond = replay.memory.bytes[max(ends, default=0) :][: 1 << 20]
        if beyond.any():
            raise Wrong("memory past all objects changed")
    except FormatError:
        pass  # a capture that contradicts itself is refused
    finally:
        replay.close()
    faults = list(replay.report.faults)
    mistakes = [f for f in faults if f.startswith(("internal", "simulator"))]
    if mistakes:
        raise Wrong(mistakes[0])
    return sum(c.packets for c in channels), faults


def _check(case: dict[str, Any]) -> set[str]:
    _, faults = packets_of(case)
    return {f"{case['file'].partition('-')[0]}: {f.split(':')[0]}" for f in faults} or {case["file"]}


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case["cut"] is not None:
        yield {**case, "cut": None}
    for fewer in pieces_left_out(case["changes"]):
        yield {**case, "changes": list(fewer)}


HERE = (Campaign("pushes", "what a driver with a mistake would send", _make, _check, _smaller),)
