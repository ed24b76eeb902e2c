"""Any word of any form either runs or is refused by name, in every program type and on any register contents."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isakit
from isakit import usse as u
from isakit.arch.usse import usse
from isakit.codec.decoder import decoder
from isakit.spec import Form

BITS = st.integers(0, (1 << 64) - 1)


def forms() -> list[Form]:
    view = usse.view("sgx543", "primary")
    return [f for f in view.forms if view.available(f)]


@pytest.mark.parametrize("form", forms(), ids=lambda f: f"{f.record.name}-{f.fixed.value:x}")
@pytest.mark.parametrize("program", ["primary", "secondary"])
def test_every_form_runs_or_is_refused(form, program):
    isa = isakit.isa("usse")
    texture = u.Texture(np.random.default_rng(1).uniform(0, 1, (4, 4, 4)).astype(np.float32))

    @settings(max_examples=8)
    @given(BITS, st.integers(0, 1 << 32))
    def check(raw: int, seed: int) -> None:
        word = raw & ~form.fixed.mask | form.fixed.value
        if not decoder(usse, "sgx543", program).one(word, 1).valid:
            return
        core = u.Core(4, textures=dict.fromkeys(range(256), texture))
        r = np.random.default_rng(seed)
        for name in ("r", "o", "pa", "sa", "i"):
            file = getattr(core, name)
            file[:] = r.integers(0, 1 << 32, file.shape, dtype=np.uint64).astype(np.uint32)
        with suppress(isakit.NotModelled, isakit.MachineFault):
            core.run(isa.disassemble([word], program_type=program), max_instructions=50)

    check()
