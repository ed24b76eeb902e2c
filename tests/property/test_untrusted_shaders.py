"""Shader files with any of their bytes changed run, or end in one of the library's own errors."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isakit import IsakitError
from isakit.formats.gxp import HEADER_SIZES
from support.generators.hostile_shaders import LANES, clear, run, shader


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A shader file with some bytes overwritten; lengths and places stay, so that most of it is read as before."""
    data = bytearray(shader(draw(st.sampled_from(["vertex", "fragment"]))))
    for _ in range(draw(st.integers(1, 5))):
        new = draw(
            st.one_of(st.binary(min_size=1, max_size=4), st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\0\0\0\x80"]))
        )
        # Often after the header, where a change is less often fatal.
        at = draw(st.integers(draw(st.sampled_from([4, max(HEADER_SIZES.values())])), len(data) - len(new)))
        data[at : at + len(new)] = new
    return bytes(data)


def test_the_unchanged_files_run() -> None:
    assert run(shader("vertex")).position.shape == (LANES, 4)
    assert run(shader("fragment")).color.shape == (LANES, 4)


@given(changed())
def test_changed_shader_files_run_or_are_refused(data: bytes) -> None:
    try:
        result = run(data)
    except IsakitError as e:
        clear(e)
    else:
        assert all(len(rows) == LANES for rows in result.values())
