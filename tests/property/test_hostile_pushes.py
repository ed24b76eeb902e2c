"""Pushes that no driver would send: the card reports an error and goes on; never fails, never leaves its memory."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.graphics.watchdog import Watchdog
from isakit.hosts.drm import capture
from isakit.hosts.drm.memory import BASE
from support.farm import campaign, pushes
from support.runners.gl import CAPTURES, Card, header

METHODS = {3: 0x2000, 4: 0x0900, 5: 0x0400, 6: 0x0800}
"""Subchannel -> bytes of methods that are worth trying."""
INTERESTING = (0, 1, 2, 0xFFFF, 0x10000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, BASE, BASE + 0xFFF8, 0x3F80_0000)


def internal(card: Card) -> list[str]:
    """Mistakes of ours."""
    return [f for f in card.report.faults if f.startswith("internal")]


def random_packets(rng: np.random.Generator, count: int) -> np.ndarray:
    """Packets with random methods and data, and some words that are none."""
    out: list[int] = []
    for _ in range(count):
        kind = rng.integers(20)
        if kind == 0:
            out += rng.integers(0, 1 << 32, 3, np.uint64).tolist()
            continue
        subchannel = int(rng.choice(list(METHODS)))
        n = int(rng.integers(1, 6))
        form = 0x4000_0000 if kind < 4 else 0
        out.append(header(subchannel, int(rng.integers(0x40, METHODS[subchannel] >> 2)) * 4, n, form))
        for _ in range(n):
            out.append(int(rng.choice(INTERESTING)) if rng.random() < 0.5 else int(rng.integers(1 << 32)))
    return np.array(out, np.uint64).astype(np.uint32)


def run_packets(seed: int, packets: int) -> None:
    rng = np.random.default_rng(seed)
    card = Card("a3" if seed & 1 else "50", 1 << 22)
    done = 0
    while done < packets:
        card.push(random_packets(rng, 200))
        done += 200
        assert internal(card) == []
        if done % 20_000 == 0:
            card = Card("a3" if done & 1 else "50", 1 << 22)


@pytest.mark.parametrize("seed", range(4))
def test_random_packets_are_errors_and_nothing_else(seed: int) -> None:
    run_packets(seed, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_million_random_packets_are_errors_and_nothing_else(seed: int) -> None:
    run_packets(seed, 100_000)


def mutated(name: str, seed: int, changes: int) -> list[str]:
    """Replay a capture with some words of its memory changed, as a driver with a mistake would."""
    from isakit.hosts.drm.card_settings import CardSettings
    from isakit.hosts.drm.replay import Replay

    rng = np.random.default_rng(seed)
    replay = Replay(CAPTURES / name, CardSettings(engine="reference"))
    records = list(replay._records)  # pyright: ignore
    pushed = [k for k, r in enumerate(records) if r.kind == "write" and rng.random() < 0.5]
    for k in pushed[:changes]:
        words = np.frombuffer(records[k].data, np.uint32).copy()
        at = np.flatnonzero(words)
        if len(at):
            words[int(rng.choice(at))] = (
                int(rng.choice(INTERESTING)) if rng.random() < 0.5 else int(rng.integers(1 << 32))
            )
        records[k] = capture.CapturedEvent("write", records[k].numbers, words.tobytes())
    replay._records = iter(records)  # pyright: ignore
    replay.run()
    replay.close()
    return [f for f in replay.report.faults if f.startswith("internal")]


@pytest.mark.parametrize("seed", range(12))
def test_a_driver_with_a_mistake_gets_errors_and_nothing_else(seed: int) -> None:
    assert mutated("triangle-a0.glc", seed, 3) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_a_driver_with_many_mistakes_gets_errors_and_nothing_else(seed: int) -> None:
    assert mutated("triangle-a3.glc" if seed & 1 else "textured-50.glc", seed, 20) == []


@pytest.mark.parametrize("size", [1 << 20, 1 << 31, (1 << 32) - 1])
def test_copies_of_enormous_sizes_are_refused(size: int) -> None:
    card = Card()
    target = card.memory.allocate(1 << 16, 1)
    words = [header(5, 0x0200, 1), 1, header(5, 0x021C, 1), 1, header(5, 0x0238, 2), 0, 0,
             header(5, 0x030C, 8), target.address, target.address, size, size, size, size, 0x101, 0]  # fmt: skip
    assert not card.push(words)
    assert "bytes" in next(iter(card.report.faults))


def test_a_push_from_unmapped_memory_is_refused() -> None:
    from isakit.hosts.drm.memory import GpuFault

    card = Card()
    with pytest.raises(GpuFault):
        card.channel.push([(1 << 39, 64)])


def test_an_object_without_an_engine_is_reported() -> None:
    card = Card()
    card.push([header(7, 0, 1), 0x1234])
    assert any("no engine speaks" in f for f in card.report.faults)


@pytest.mark.parametrize("seed", [5, 13, 44, 2909, *range(20_010, 20_020)])
def test_a_capture_with_changed_words_gets_errors_and_nothing_else(seed: int) -> None:
    """The first four once ended in a mistake of ours: targets without pixels or not there, levels beyond the last."""
    campaign("pushes").check(campaign("pushes").make(seed))


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_a_launch_of_billions_of_blocks_is_ended(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks have few instructions: what takes the reference machine its time is to begin them."""
    monkeypatch.setattr(pushes, "WATCHDOG", Watchdog(compiled=1 << 12, work=1 << 12))
    changes = [(63, 32, 0x7FFF_FFFF), (43, 53, 0x8000_0000)]
    _, faults = pushes.packets_of({"file": "compute_cases-a3.glc", "changes": changes, "cut": None}, engine)
    assert faults[0].startswith("compute: BudgetExceeded: TIMEOUT"), faults


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_a_million_points_as_large_as_the_target_are_ended(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The farm found them: each run over their fragments is short, all together had no end."""
    monkeypatch.setattr(pushes, "WATCHDOG", Watchdog(compiled=1 << 12, reference=1 << 12, work=1 << 16))
    changes = [(41, 553, 536870912), (26, 85, 552804), (41, 106, 339424749), (32, 543, 1048584)]
    _, faults = pushes.packets_of({"file": "features/points-a0.glc", "changes": changes, "cut": None}, engine)
    assert any("a draw takes too long" in f for f in faults), faults
