"""Faults of the vµc core, and the instructions that can raise them. Source: [vuc] 7, 13, 14."""

from __future__ import annotations

from isakit.arch.vuc import requests as ask
from isakit.sem.faults import Fault, accesses, asks

FAULTS = (
    Fault("OUT_OF_RANGE", "the address lies outside of the space; by default it wraps", "out_of_range",
          accesses("D", "VP", "MVSI", "MVSO", "PWT")),
    Fault("CALL_STACK_OVERFLOW", "the call stack holds eight return addresses already", "full_stack", asks(ask.CALL)),
    Fault("CALL_STACK_UNDERFLOW", "the call stack is empty", "empty_stack", asks(ask.RETURN)),
    Fault("UNWRITTEN_CODE", "the program goes on where no instruction was written", "",
          asks(ask.BRANCH, ask.CALL, ask.RETURN)),
    Fault("MBRING_PACKET", "the ring of macroblocks holds a packet of no known type, or longer than the ring"),
    Fault("CODE_SIZE", "the program does not fit the memory for code"),
)  # fmt: skip
