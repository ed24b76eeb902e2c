"""Memory that compiled code and Python share: an array of 64-bit words, everything but D[] and the code table.

Queue entries lie in descending order of landing, so that the next one to land is the last.
"""

from __future__ import annotations

R, P, CYCLE, PC, NPC = 0, 16, 17, 18, 19
"""General registers; predicates, one bit each; the clock; address about to issue and the one behind."""

ACC, VIEW = 20, 21
"""The accumulator for long instructions, and as $lhi:$llo."""

BEFORE_CYCLE, BEFORE = 22, 23
"""Cycle of the last instruction that wrote predicates, and the predicates before it."""

SERIAL, NEXT, COUNT = 24, 25, 26
"""Last serial number; cycle in which the next entry becomes visible; number of entries."""

LONG_LANDS, LONG_SERIAL = 27, 28
"""When the last long operation lands; the serial number of its entry."""

DEPTH, STORED, TOUCHED, STAT, PARM, COUNTED = 29, 30, 31, 32, 33, 34
"""Call stack depth; whether D[] was stored to, whether macroblock registers were written; $stat; $parm; $icnt minus the
clock."""

STACK, PLAIN, VECTORS, REFS, RPIS, SCALARS = 40, 64, 128, 192, 200, 208
"""Call stack (8); special registers that are just storage (64); vectors (4 x 16); reference and picture indices (2 x 4
each); QPY, QPC, partitioning, position, address, type, sub types."""

QUEUE, ENTRY, CAPACITY = 256, 8, 64
"""First entry, words per entry (visible, lands, serial number, kind, index, value, origin), number of entries."""

SIZE = QUEUE + ENTRY * CAPACITY
NEVER = (1 << 63) - 1
