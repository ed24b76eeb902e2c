"""Pages and their workers: limits of time and memory, pages that close, pages that are too many."""

import asyncio
import os

import pytest

from isakit.errors import IsakitError
from isakit.web.limits import Limits
from isakit.web.tabs import Tabs, relay, resident
from support.patience import PATIENCE

SOURCE = ".kernel k\n.param out ptr\nagain:\n    bra #again\n"


def carried_out(test, limits):
    """Run a coroutine function with pages of certain limits."""

    async def whole():
        tabs = Tabs(limits)
        try:
            await test(tabs)
        finally:
            await tabs.close_all()

    asyncio.run(whole())


async def asked(tabs, tab, verb, fields):
    """Ask until it is not interrupted: on a busy machine, what comes first imports and compiles for too long."""
    for _ in range(10):
        got = await tabs.ask(tab, verb, fields)
        if got.get("kind") != "interrupt":
            break
    assert "result" in got, got
    return got["result"]


async def launched(tabs, tab):
    got = await asked(tabs, tab, "assemble", {"source": SOURCE, "isa": "tesla", "variant": "gt200"})
    await asked(tabs, tab, "launch", {"unit": got["units"][0]["unit"], "launch": {"args": ["out:u32:1"]}})


def test_what_takes_too_long_is_interrupted_and_the_launch_is_kept():
    async def test(tabs):
        tab = await tabs.open()
        for _ in range(10):  # a worker that is busy compiling for the first time may need more than one attempt
            await launched(tabs, tab)
            got = await tabs.ask(tab, "move", {"how": "cont"})
            if "result" in got:
                break
        assert got["result"]["reason"] == "interrupt", got
        assert got["result"]["text"].startswith("interrupted after 4 s, at instruction "), got
        assert (await tabs.ask(tab, "state", {}))["result"]["finished"] is False

    carried_out(test, Limits(seconds=4, grace=30, arrive=600))


def test_a_worker_that_takes_too_much_memory_is_ended_and_replaced():
    async def test(tabs):
        tab = await tabs.open()
        got = await tabs.ask(tab, "grammar", {"isa": "tesla"})
        if not resident(tab.worker.pid):
            pytest.skip("the system does not say how much memory a process uses")
        assert "result" in got
        tab.worker.limits = Limits(memory=1 << 20)  # less than it has
        got = await tabs.ask(tab, "array", {"name": "x.npy", "spec": "random:f64:16000000"})
        assert got["kind"] == "ended"
        assert "memory" in got["error"]
        assert "result" in await tabs.ask(tab, "grammar", {"isa": "vuc"})

    carried_out(test, Limits())


def test_a_page_that_nobody_has_open_ends():
    async def test(tabs):
        tab = await tabs.open()
        pid = tab.worker.pid
        stream = tabs.alive(tab)
        await anext(stream)
        await asyncio.sleep(0.6)
        assert len(tabs) == 1  # it is open, whatever the time
        await stream.aclose()
        assert len(tabs) == 1  # it may come back: reloading is no end
        async with asyncio.timeout(PATIENCE):
            while len(tabs):
                await asyncio.sleep(0.05)
            await tab.worker.gone()
        assert tab.worker.pid == pid
        assert not os.path.exists(f"/proc/{pid}") or not os.path.isdir("/proc/self")

    carried_out(test, Limits(leave=0.3))


def test_requests_that_wait_while_their_worker_ends_start_one_new_worker():
    async def test(tabs):
        tab = await tabs.open()
        waiting = [asyncio.ensure_future(tabs.ask(tab, "grammar", {"isa": "tesla"})) for _ in range(6)]
        await asyncio.sleep(0.05)
        ended = tab.worker
        ended.end("killed")
        answers = await asyncio.gather(*waiting)
        assert {"kind", "error"} <= set(answers[-1])
        await ended.gone()
        assert len(tabs.running()) <= 2  # of the page, and of the next one

    carried_out(test, Limits(arrive=600))


def test_a_page_that_closes_while_its_worker_is_replaced_leaves_no_worker(monkeypatch):
    async def test(tabs):
        tab = await tabs.open()
        tab.worker.end("killed")
        start = tabs._started

        async def closed_meanwhile():
            worker = await start()
            tabs.close(tab)
            return worker

        monkeypatch.setattr(tabs, "_started", closed_meanwhile)
        assert (await tabs.ask(tab, "grammar", {"isa": "tesla"}))["kind"] == "ended"
        monkeypatch.undo()
        await asyncio.wait_for(tab.worker.gone(), PATIENCE)

    carried_out(test, Limits(arrive=600))


def test_there_are_no_more_pages_than_allowed():
    async def test(tabs):
        await tabs.open()
        await tabs.open()
        with pytest.raises(IsakitError, match="close one"):
            await tabs.open()

    carried_out(test, Limits(tabs=2))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_worker_has_nothing_open_of_its_server():
    """Standard error least of all: where that is a terminal, it could read there what its user types."""

    async def test(tabs):
        tab = await tabs.open()
        await asked(tabs, tab, "grammar", {"isa": "tesla"})
        folder = f"/proc/{tab.worker.pid}/fd"
        found = [os.readlink(f"{folder}/{n}") for n in ("0", "1", "2")]
        own = {os.readlink(f"/proc/self/fd/{n}") for n in (0, 1, 2)}
        assert not own & set(found), found

    carried_out(test, Limits())


def test_what_a_worker_complains_of_is_shown_without_control_characters(capfd):
    async def relayed():
        errors = asyncio.StreamReader()
        errors.feed_data(b"odd \x1b]0;name\x07\n" + b"x" * (1 << 20))
        errors.feed_eof()
        await relay(errors)

    asyncio.run(relayed())
    said = capfd.readouterr().err
    assert "odd \\x1b]0;name\\x07\n" in said
    assert len(said) < 1 << 17


def test_a_worker_has_no_variables_but_those_it_needs(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "a secret of this user")

    async def test(tabs):
        tab = await tabs.open()
        await asked(tabs, tab, "grammar", {"isa": "tesla"})  # a process that has hardly begun shows no variables
        with open(f"/proc/{tab.worker.pid}/environ", "rb") as f:
            got = dict(v.split(b"=", 1) for v in f.read().split(b"\0") if v)
        assert got[b"PATH"] == os.environb[b"PATH"]
        assert b"A_TOKEN" not in got

    if not os.path.exists("/proc/self/environ"):
        pytest.skip("the system does not show the variables of a process")
    carried_out(test, Limits())
