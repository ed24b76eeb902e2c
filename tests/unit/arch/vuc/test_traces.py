"""Traces with register numbers as parameters (what a compiled engine takes) do the same as those made word by word."""

from __future__ import annotations

import random
from typing import Any

import pytest

from isakit.arch.vuc import vuc
from isakit.codec import decoder
from isakit.engine import compile_trace
from isakit.machine.vuc.core_code import trace_word
from isakit.sem.semantics import fields_of, trace_of


class Recorder:
    """A state that answers loads from a formula and remembers everything."""

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        self.files = {"r": [0] + [rnd.getrandbits(16) for _ in range(15)],
                      "p": [rnd.getrandbits(1) for _ in range(16)], "acc": [rnd.getrandbits(32)]}  # fmt: skip
        self.log: list[tuple[Any, ...]] = []

    def load(self, space: str, address: int, size: int, attrs: Any, lanes: Any) -> int:
        self.log.append(("load", space, address, size))
        return (address * 0x9E37 + 0x1234) & (0xFF if size == 1 else 0xFFFF)

    def store(self, space: str, address: int, value: int, size: int, attrs: Any, lanes: Any) -> None:
        self.log.append(("store", space, address, value, size))

    def machine(self, name: str, args: Any, attrs: Any, lanes: Any) -> int:
        return (args[0] * 0x1357 + 0x23) & 0xFF if args else 0x3210

    def delayed_write(self, file: str, index: int, value: int, attrs: Any) -> None:
        self.log.append((file, index, value, attrs["latency"]))


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_symbolic_and_specialised_traces_agree(variant: str) -> None:
    d = decoder(vuc, variant)
    bits = d.view.variant.unit_bits
    rnd = random.Random(variant)
    compiled: dict[int, Any] = {}
    kinds: set[str] = set()
    for n in range(2500):
        i = d.one(rnd.getrandbits(bits) | (0x14000000 if n % 2 else 0), 1)
        if not i.valid:
            continue
        form, word = i.form, i.word
        trace = trace_of(form, word)
        general = compiled.get(id(trace))
        if general is None:
            general = compiled[id(trace)] = compile_trace(trace, "scalar"), trace
        one, two = Recorder(n), Recorder(n)
        requests = general[0].run(one, None, fields_of(form, word, general[0].fields))
        assert compile_trace(trace_word(form, word), "scalar").run(two, None, ()) == requests, i.text
        assert one.log == two.log, i.text
        assert one.files == two.files, i.text
        kinds.add(i.mnemonic)
    assert len(kinds) >= 45
    assert len(compiled) < 1000
