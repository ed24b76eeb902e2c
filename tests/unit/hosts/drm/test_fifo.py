"""The FIFO: headers of packets and where their data goes."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.hosts.drm.fifo import Fifo, FifoError
from support.runners.gl import header


class Sink:
    def __init__(self) -> None:
        self.got: list[tuple[int, int, list[int], bool]] = []

    def write(self, subchannel: int, method: int, data: np.ndarray, increment: bool) -> None:
        self.got.append((subchannel, method, data.tolist(), increment))


def decoded(*segments: list[int]) -> list[tuple[int, int, list[int], bool]]:
    sink = Sink()
    fifo = Fifo(sink.write)
    for s in segments:
        fifo.segment(np.array(s, np.uint32))
    return sink.got


def test_an_incrementing_packet_writes_methods_one_after_another() -> None:
    assert decoded([header(3, 0x200, 2), 7, 8]) == [(3, 0x200, [7, 8], True)]


def test_a_repeating_packet_writes_one_method() -> None:
    assert decoded([header(3, 0xF04, 3, 0x4000_0000), 1, 2, 3]) == [(3, 0xF04, [1, 2, 3], False)]


def test_a_long_packet_takes_its_count_from_the_next_word() -> None:
    assert decoded([0x0003_0000 | 3 << 13 | 0x15E8, 2, 5, 6]) == [(3, 0x15E8, [5, 6], False)]


def test_data_goes_on_in_the_next_segment() -> None:
    assert decoded([header(3, 0x200, 3), 1], [2, 3]) == [(3, 0x200, [1], True), (3, 0x204, [2, 3], True)]


def test_the_count_of_a_long_packet_may_stand_in_the_next_segment() -> None:
    assert decoded([0x0003_0000 | 3 << 13 | 0x15E8], [1, 9]) == [(3, 0x15E8, [9], False)]


def test_zero_words_are_skipped() -> None:
    assert decoded([0, 0, header(1, 0x100, 1), 4, 0]) == [(1, 0x100, [4], True)]


def test_a_packet_without_data_writes_nothing() -> None:
    assert decoded([header(1, 0x100, 0)]) == []


@pytest.mark.parametrize("word", [0x8000_0000, 0x0000_0001, 0xFFFF_FFFF, 0x2000_0000])
def test_a_word_that_is_no_header_is_an_error(word: int) -> None:
    with pytest.raises(FifoError, match="not a header"):
        decoded([word])
