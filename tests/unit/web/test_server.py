"""The server of the workbench: who gets in, what a page can do to others, and what is left behind."""

import json
import os
import random
import time
from pathlib import Path

import pytest

from support.clients.leftovers import ended
from support.clients.workbench import server
from support.patience import PATIENCE, until

pytest.importorskip("starlette", reason="needs the extra `web`")
pytest.importorskip("uvicorn", reason="needs the extra `web`")

ENDLESS = ".kernel k\n.param out ptr\nagain:\n    add b32 $r0 $r0 $r0\n    bra #again\n"
SHORT = ".kernel k\n.param out ptr\n    mov b32 $r1 b32 s[out]\n    mov b32 $r2 0x7\n    exit st b32 g14[$r1] $r2\n"


@pytest.fixture(scope="module")
def running():
    with server() as made:
        yield made


@pytest.fixture
def page(running):
    made = running.page()
    yield made
    made.close()


# --- who gets in ---
@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", "", "localhost:80", "127.0.0.1.nip.io:80"])
def test_another_host_is_refused(running, host):
    assert running.request("GET", running.path, Host=host)[0] in (400, 403)


def test_the_other_names_of_loopback_are_this_host(running):
    assert running.request("GET", running.path, Host=f"localhost:{running.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://example.org", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_origin_is_refused(running, origin):
    assert running.request("POST", running.path + "open", Origin=origin)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_from_another_site_is_refused(running, site):
    assert running.request("GET", running.path, Sec_Fetch_Site=site)[0] == 403


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/main.js", "/wrong/open"])
def test_without_the_token_there_is_nothing(running, path):
    assert running.request("POST" if path.endswith("open") else "GET", path)[0] in (403, 404)


@pytest.mark.parametrize("path", [
    "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/app.py", "/etc/passwd",
    "vendor/../../app.py", "static/main.js", "lesson/..%2f..%2fapp", "given/..%2fapp.py", "lesson/../app", "%00",
    "vendor", "vendor/", pytest.param("lesson/" + "a" * 5000, id="long name"),
])  # fmt: skip
def test_no_other_file_can_be_read(running, path):
    status, body = running.request("GET", running.path + path)
    assert status == 404
    assert b"import" not in body


def test_the_page_says_what_it_may_load(running):
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    connection.request("GET", running.path)
    response = connection.getresponse()
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy.replace("style-src-attr 'unsafe-inline'", "")
    assert response.headers["Referrer-Policy"] == "no-referrer"
    text = response.read().decode()
    assert "<script>" not in text
    assert " on" + "click" not in text


def test_the_page_is_small_and_so_are_the_packages_of_npm():
    from isakit.web.app import files

    sizes = {name: f.stat().st_size for name, f in files().items()}
    assert sum(n for name, n in sizes.items() if not name.startswith("vendor/")) < 250_000
    assert sum(n for name, n in sizes.items() if name.startswith("vendor/")) < 1_000_000


def test_a_request_that_is_too_long_is_not_taken(running, page):
    path = f"{running.path}ask/{page.tab}/open"
    status, _ = running.request("POST", path, b"x", Content_Length=str(1 << 30), Content_Type="application/json")
    assert status in (400, 403, 413)
    assert page.result("grammar", isa="tesla")["mnemonics"]


def peak(pid):
    """The most memory a process has had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("VmHWM"))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("length", ["declared", "in pieces"])
def test_a_gigabyte_is_refused_and_memory_stays_bounded(running, page, length):
    import socket

    before = peak(running.process.pid)
    head = f"POST {running.path}ask/{page.tab}/open HTTP/1.1\r\nHost: {running.host}\r\n"
    head += "Content-Type: application/json\r\n"
    head += f"Content-Length: {1 << 30}\r\n\r\n" if length == "declared" else "Transfer-Encoding: chunked\r\n\r\n"
    piece = b"x" * (1 << 20) if length == "declared" else b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
    sent = 0
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as s:
        s.sendall(head.encode())
        try:
            for _ in range(1 << 10):
                s.sendall(piece)
                sent += 1 << 20
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 1 << 28, "it was not refused on the way"
    assert peak(running.process.pid) - before < 128 << 20
    assert page.result("grammar", isa="tesla")["mnemonics"]


@pytest.mark.parametrize("body", [
    b"", b"[]", b"{", b"null", b"[" * 100_000, b'{"a":' * 5000, b'{"a":' * 900 + b"1" + b"}" * 900,
    b'{"a":' + b"[" * 17 + b"]" * 17 + b"}", b"\xff\xfe", b'"x"',
])  # fmt: skip
def test_what_is_no_request_is_refused(running, page, body):
    path = f"{running.path}ask/{page.tab}/listing"
    assert running.request("POST", path, body, Content_Type="application/json")[0] == 400
    assert running.request("POST", path, b"{}", Content_Type="text/plain")[0] == 415


def test_an_unknown_page_or_verb_is_an_error(running, page):
    assert (
        running.request("POST", f"{running.path}ask/nobody/listing", b"{}", Content_Type="application/json")[0] == 404
    )
    for verb in ("__init__", "_close", "nothing", "%5f%5fdict%5f%5f"):
        assert page.ask(verb)["kind"] == "request"


# --- what a page can do ---
def test_a_page_assembles_steps_and_reads_its_arrays(page):
    unit = page.assembled(SHORT)
    state = page.result("launch", unit=unit, launch={"grid": [1], "block": [1], "args": ["out:u32:1"]})
    assert "mov" in state["instruction"]
    assert page.result("move", how="cont")["reason"] == "finished"
    assert page.result("arrays")["arrays"][0]["data"] == "BwAAAA=="
    assert page.result("move", how="back")["finished"] is False


def test_an_endless_program_is_interrupted_and_disturbs_no_other_page(running, page):
    import threading

    unit = page.assembled(ENDLESS)
    page.result("launch", unit=unit, launch={"args": ["out:u32:1"]})
    answers = []
    thread = threading.Thread(target=lambda: answers.append(page.ask("move", how="cont")))
    thread.start()
    time.sleep(0.3)
    other = running.page()
    try:
        begun = time.monotonic()
        assert other.result("assemble", source=SHORT, isa="tesla")["units"]
        assert time.monotonic() - begun < PATIENCE
        assert not answers
    finally:
        other.close()
    for _ in range(300):  # what is being compiled is interrupted when it can be
        running.request("POST", f"{running.path}interrupt/{page.tab}")
        thread.join(0.4)
        if answers:
            break
    assert answers[0].get("kind") == "interrupt" or answers[0]["result"]["reason"] == "interrupt"
    assert page.result("state")["finished"] is False


def workers(running):
    """Processes that the server started."""
    found = []
    for p in Path("/proc").iterdir():
        try:
            if p.name.isdigit() and int((p / "stat").read_text().rpartition(")")[2].split()[1]) == running.process.pid:
                found.append(int(p.name))
        except (OSError, IndexError):
            pass
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_worker_that_dies_is_replaced_and_the_page_is_told(running, page):
    page.result("assemble", source=SHORT, isa="tesla")
    for w in workers(running):
        os.kill(w, 9)
    assert page.ask("state")["kind"] == "ended"
    assert page.result("grammar", isa="usse")["mnemonics"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_nothing_is_left_behind():
    with server() as made:
        pages = [made.page() for _ in range(3)]
        for p in pages:
            p.result("grammar", isa="tesla")
        mine = workers(made)
        folders = [os.readlink(f"/proc/{w}/cwd") for w in mine]
        assert len(mine) >= 3
        assert made.end() in (0, 130, -2)
    assert until(lambda: all(map(ended, mine)))
    assert all(f for f in folders)


def mutated(rng, verb, fields):
    """A request with something wrong in it."""
    odd = [None, -1, 1 << 70, "", "x" * 5000, [], {}, True, 1.5, "../../etc/passwd", "\0", [[]] * 50, {"a": {"b": 1}}]
    fields = json.loads(json.dumps(fields))
    for _ in range(rng.randint(1, 3)):
        what = rng.random()
        if what < 0.5 and fields:
            fields[rng.choice(list(fields))] = rng.choice(odd)
        elif what < 0.7 and fields:
            del fields[rng.choice(list(fields))]
        elif what < 0.9:
            fields[rng.choice(["unit", "address", "start", "launch", "how", "data", "source"])] = rng.choice(odd)
        else:
            verb = rng.choice(["launch", "move", "open", "assemble", "explain", "memory", "array", "set", "state"])
    return verb, fields


def hostile(page, seed, count):
    rng = random.Random(seed)
    unit = page.assembled(SHORT)
    good = [
        ("assemble", {"source": SHORT, "isa": "tesla", "variant": "gt200", "language": "asm"}),
        ("assemble", {"source": ".version 1.4\n.target sm_10\n.entry k () { exit; }", "language": "ptx"}),
        ("open", {"name": "x.npy", "data": "k05VTVBZAQB2AHsnZGVzY3In"}), ("open", {"name": "a.bin", "data": "AAAA"}),
        ("listing", {"unit": unit, "start": 0, "count": 10}), ("explain", {"unit": unit, "address": 0}),
        ("graph", {"unit": unit}), ("search", {"unit": unit, "pattern": "mov *"}), ("grammar", {"isa": "tesla"}),
        ("launch", {"unit": unit, "launch": {"grid": [1], "block": [1], "args": ["out:u32:1"]}}),
        ("move", {"how": "step", "count": 3, "where": "0x0"}), ("memory", {"space": "s", "address": 0, "size": 64}),
        ("breakpoint", {"where": "0x0", "condition": "$r0 > 1", "kind": "break"}),
        ("evaluate", {"expression": "1+$r0"}), ("set", {"what": "$r0", "value": "3"}), ("arrays", {}),
        ("focus", {"thread": 1}),
        ("array", {"name": "q.npy", "spec": "ramp:f32:4"}), ("manual", {"isa": "tesla", "word": "add"}),
        ("profile", {"unit": unit, "launch": {"args": ["out:u32:1"]}}),
    ]  # fmt: skip
    for _ in range(count):
        verb, fields = mutated(rng, *rng.choice(good))
        answer = page.ask(verb, **fields)
        assert "result" in answer or answer["kind"] in ("input", "request", "text", "fault", "limit"), (
            verb,
            fields,
            answer,
        )


def test_odd_requests_get_answers(page):
    hostile(page, random.randrange(1 << 30), 250)


@pytest.mark.slow
def test_many_odd_requests_get_answers(page):
    hostile(page, 1, 100_000)
