"""Names and meanings of the vµc registers.

Source: [vuc] 9; older names by [vuc] 16.
"""

from __future__ import annotations

from isakit.spec import NamedSpecial, Ref, Status

_SR = Ref("vuc", "9")
VP2, VP3 = frozenset({"vp2"}), frozenset({"vp3+"})
ALL: frozenset[str] = frozenset()
KNOWN, INFERRED, UNKNOWN = Status.KNOWN, Status.INFERRED, Status.UNKNOWN

R_NAMES = tuple(f"$r{i}" for i in range(16))
P_NAMES = tuple("$np0" if i == 1 else f"$p{i}" for i in range(16))
TRUE, NOT_P0 = 15, 1

_ROWS: list[tuple[int, str, frozenset[str], Status, str]] = [
    (0, "baddr", VP2, KNOWN, "B-neighbour read address, 7 bits"),
    (1, "bsel", VP2, UNKNOWN, "B-neighbour selection; encoding unknown"),
    (
        2,
        "spidx",
        ALL,
        KNOWN,
        "selects the block the vector registers and $mbflags show: subpartition, partition",
    ),
    (3, "asel", VP2, UNKNOWN, "A-neighbour selection; encoding unknown"),
    (3, "absel", VP3, UNKNOWN, "neighbour selection; encoding unknown"),
    (4, "h2v", ALL, KNOWN, "word from the host; reading clears $stat bit 11; read-only"),
    (5, "v2h", ALL, KNOWN, "word to the host; writing raises the V2H interrupt"),
    (6, "stat", ALL, KNOWN, "status bits; writing 1 to a bit triggers its unit"),
    (7, "parm", ALL, INFERRED, "the host's PARM register; read-only"),
    (8, "pc", ALL, KNOWN, "address of the reading instruction; read-only"),
    (9, "cspos", ALL, KNOWN, "call stack depth 0..8"),
    (10, "cstop", ALL, KNOWN, "top of the call stack: reading pops, writing pushes"),
    (11, "rpitab", VP2, KNOWN, "D[] address of the reference index to RPI table"),
    (12, "lhi", ALL, KNOWN, "high half of the long accumulator; read-only on VP2"),
    (13, "llo", ALL, KNOWN, "low half of the long accumulator; read-only on VP2"),
    (14, "pred", ALL, KNOWN, "all predicates, one bit each; without forwarding"),
    (15, "icnt", ALL, INFERRED, "instruction counter"),
    (16, "mvxl0", ALL, KNOWN, "list 0 motion vector x of the $spidx block"),
    (17, "mvyl0", ALL, KNOWN, "list 0 motion vector y"),
    (18, "mvxl1", ALL, KNOWN, "list 1 motion vector x"),
    (19, "mvyl1", ALL, KNOWN, "list 1 motion vector y"),
    (20, "refl0", ALL, KNOWN, "list 0 reference index of the $spidx partition"),
    (21, "refl1", ALL, KNOWN, "list 1 reference index"),
    (22, "rpil0", ALL, INFERRED, "list 0 reference picture (surface) index of the partition"),
    (23, "rpil1", ALL, INFERRED, "list 1 reference picture index"),
    (24, "mbflags", ALL, KNOWN, "macroblock flags; bits 0 and 3 writable"),
    (25, "qpy", ALL, KNOWN, "in: mb_qp_delta and intra chroma mode; out: QPY"),
    (26, "qpc", ALL, KNOWN, "chroma QP: Cb in bits 5:0, Cr in bits 13:8"),
    (27, "mbpart", ALL, INFERRED, "partitioning: macroblock in bits 1:0, partitions 0..3 in bits 9:2"),
    (28, "mbxy", ALL, KNOWN, "macroblock position: y in bits 7:0, x in bits 15:8; read-only"),
    (29, "mbaddr", ALL, KNOWN, "macroblock address in bits 12:0, bit 15 first of its slice; read-only"),
    (30, "mbtype", ALL, INFERRED, "macroblock type; writable on the default setting"),
    (31, "submbtype", VP2, INFERRED, "sub macroblock types, four nibbles; read-only"),
    (40, "ambflags", ALL, UNKNOWN, "A neighbour's flags; read-only"),
    (41, "aqpy", VP2, UNKNOWN, "A neighbour's QPY; read-only"),
    (42, "aqpc", VP2, UNKNOWN, "A neighbour's chroma QP; read-only"),
    (56, "bmbflags", ALL, UNKNOWN, "B neighbour's flags; read-only"),
    (57, "bqpy", ALL, UNKNOWN, "B neighbour's QPY; read-only"),
    (58, "bqpc", ALL, UNKNOWN, "B neighbour's chroma QP; read-only"),
]
for _first, _side in ((32, "a"), (48, "b")):
    for _i, _name in enumerate(("mvxl0", "mvyl0", "mvxl1", "mvyl1", "refl0", "refl1", "rpil0", "rpil1")):
        _ROWS.append((_first + _i, _side + _name, ALL, UNKNOWN, f"{_side.upper()} neighbour's {_name}; read-only"))

SPECIAL_REGISTERS = tuple(
    NamedSpecial(number, name, doc, _SR, status, needs) for number, name, needs, status, doc in sorted(_ROWS)
)

OLD_SPECIAL_NAMES = {"$arthi": 12, "$artlo": 13, "$s22": 22, "$s23": 23}
"""Names of the seed for registers that were renamed since."""


def special_names(features: frozenset[str]) -> tuple[str, ...]:
    """Return the text of every special register number in a variant; `$srN` where a number has no name there."""
    names = [f"$sr{i}" for i in range(64)]
    for r in SPECIAL_REGISTERS:
        if r.needs <= features:
            names[r.number] = f"${r.name}"
    return tuple(names)


SR = {r.name: r.number for r in SPECIAL_REGISTERS}
"""Register numbers by name, over all variants."""
