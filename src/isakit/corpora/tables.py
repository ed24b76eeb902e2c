"""The tables of an index: their columns, and rows on their way into them.

An index is a folder with one Parquet file per table. `code` joins kernels and instructions: it names a piece of code by
its content, so that code in many files is stored once. `path`, `member` and `offset` tell where a program is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from isakit.corpora.programs import (
    SKETCH,
    CodeRows,
    code_key,
    decoder_of,
    found_in,
    readable,
    sketch_of,
    texts_of,
    words_of,
)
from isakit.corpora.sources import FileSource, Piece, pieces
from isakit.description import Kernel, Module
from isakit.errors import IsakitError

SCHEMA = "isakit-index-1"
TABLES = ("files", "kernels", "instructions", "strings")
_LEAST_ROWS = 1 << 17
"""Rows of a table that are collected before they are written."""
_LONGEST_TEXT = 4096


def arrow() -> Any:
    """Import the package pyarrow. Raises IsakitError if it is missing."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        import pyarrow.parquet  # pyright: ignore[reportMissingImports, reportUnusedImport]
    except ImportError:
        raise IsakitError("an index needs the package pyarrow: pip install 'isakit[index]'") from None
    return pyarrow  # pyright: ignore[reportUnknownVariableType]


@cache
def schema(table: str) -> Any:
    """Return the columns of a table, as a pyarrow schema; its metadata names this version of the format."""
    pa = arrow()
    text, number, names = pa.string(), pa.int32(), pa.dictionary(pa.int32(), pa.string())
    place = [("path", text), ("member", text)]
    columns: dict[str, list[tuple[str, object]]] = {
        "files": [*place, ("bytes", pa.int64()), ("sha256", text), ("programs", number), ("ptx", number),
                  ("errors", pa.list_(text))],
        "kernels": [*place, ("offset", pa.int64()), ("kind", names), ("isa", names), ("variant", names),
                    ("program_type", names), ("name", text), ("code", text), ("address", pa.uint32()),
                    ("code_bytes", number), ("instructions", number), ("undecodable", number), ("registers", number),
                    ("shared_bytes", number), ("local_bytes", number), ("barriers", number),
                    ("parameters", pa.list_(text)), ("sketch", pa.list_(pa.uint32(), SKETCH))],
        "instructions": [("code", names), ("address", pa.uint32()), ("size", pa.uint8()), ("word", pa.uint64()),
                         ("opcode", names), ("record", names), ("group", names), ("error", names)],
        "strings": [*place, ("offset", pa.int64()), ("kind", names), ("text", text)],
    }  # fmt: skip
    return pa.schema(columns[table], metadata={"isakit": json.dumps({"schema": SCHEMA, "table": table})})


class Rows:
    """Rows of all tables, in memory."""

    def __init__(self) -> None:
        self.files: list[tuple[object, ...]] = []
        self.kernels: list[tuple[object, ...]] = []
        self.strings: list[tuple[object, ...]] = []
        self._code: dict[str, CodeRows] = {}
        self.bytes = 0

    def add_source(self, source: FileSource) -> None:
        """Add all programs of a file. Never raises, whatever the file holds."""
        from hashlib import sha256

        state = _Member(source.path)
        digest = sha256()
        for piece in pieces(source):
            if piece.member != state.member or piece.offset == 0:
                self._close(state, digest.hexdigest())
                state, digest = _Member(source.path, piece.member), sha256()
            digest.update(piece.data[: piece.fresh])
            state.bytes = piece.offset + len(piece.data)
            self.bytes += piece.fresh
            state.seen = True
            if piece.error:
                state.errors.append(piece.error)
                continue
            try:
                self._programs(piece, state)
            except Exception as e:  # whatever goes wrong over one file, the others are still looked at
                state.errors.append(f"{type(e).__name__}: {e}")
        self._close(state, digest.hexdigest())

    def add_failure(self, source: FileSource, why: str) -> None:
        """Add a row for a file that could not be read."""
        self.files.append((source.path, "", source.size, "", 0, 0, [why]))

    def _close(self, m: _Member, digest: str) -> None:
        if m.seen:
            errors = [e[:_LONGEST_TEXT] for e in m.errors]
            self.files.append((m.path, m.member, m.bytes, digest, m.programs, m.ptx, errors))

    def _programs(self, piece: Piece, m: _Member) -> None:
        for f in found_in(piece, m.path):
            if f.what == "ptx":
                m.ptx += 1
            if f.error is not None:
                m.errors.append(f"{f.what} at {f.offset + piece.offset:#x}: {f.error.reason}")
            if f.module is None:
                continue
            m.programs += 1
            offset = f.module.offset
            self.strings += [(m.path, m.member, offset, kind, text[:_LONGEST_TEXT])
                             for kind, text in dict.fromkeys(texts_of(f.module))]  # fmt: skip
            if f.name:
                self.strings.append((m.path, m.member, offset, "source", f.name[:_LONGEST_TEXT]))
            for kernel in f.module.kernels.values():
                try:
                    self.kernels.append(self._kernel(f.module, kernel, m, offset))
                except IsakitError as e:
                    m.errors.append(f"{kernel.name}: {e}")

    def _kernel(self, module: Module, k: Kernel, m: _Member, offset: int) -> tuple[Any, ...]:
        place = m.path, m.member, offset, module.kind
        sizes = k.registers, k.shared_bytes, k.local_bytes, k.barriers
        params = [f"{p.kind or f'b{8 * p.size}'} {p.name}".strip() for p in k.params]
        if not readable(module):
            return (*place, module.isa, module.variant, "", k.name, "", k.address, len(k.code), None, None, *sizes,
                    params, None)  # fmt: skip
        coder = decoder_of(module, k)
        code = code_key(module, k)
        rows = self._code.get(code)
        if rows is None:
            rows = self._code[code] = words_of(coder).rows(k.code, k.address)
        wrong = sum(1 for w in rows.word.tolist() if rows.table.error[w])
        view = coder.view
        return (*place, module.isa, view.variant.name, view.program, k.name, code, k.address, len(k.code),
                len(rows.word), wrong, *sizes, params, sketch_of(rows).tolist())  # fmt: skip

    def tables(self) -> dict[str, Any]:
        """Return the rows as pyarrow tables."""
        pa = arrow()
        out: dict[str, object] = {}
        for name, rows in (("files", self.files), ("kernels", self.kernels), ("strings", self.strings)):
            columns = schema(name)
            values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
            out[name] = pa.table(
                [_column(pa, list(v), f.type) for v, f in zip(values, columns, strict=True)], schema=columns
            )
        out["instructions"] = self._instructions(pa)
        return out

    def _instructions(self, pa: Any) -> Any:
        columns = schema("instructions")
        parts: dict[str, list[Any]] = {f.name: [] for f in columns}
        counts: list[int] = []
        tables: dict[int, tuple[Any, list[Any]]] = {}
        for rows in self._code.values():
            counts.append(len(rows.word))
            tables.setdefault(id(rows.table), (rows.table, []))[1].append(rows)
        if not counts:
            return columns.empty_table()
        keys: list[str] = []
        lengths: list[int] = []
        order = {id(rows): key for key, rows in self._code.items()}
        for table, some in tables.values():
            word = np.concatenate([r.word for r in some])
            used, places = np.unique(word, return_inverse=True)
            listed = used.tolist()
            keys += [order[id(r)] for r in some]
            lengths += [len(r.word) for r in some]
            parts["address"].append(np.concatenate([r.address for r in some]))
            parts["size"].append(np.array([table.size[w] for w in listed], np.uint8)[places])
            parts["word"].append(np.array([table.words[w] for w in listed], np.uint64)[places])
            for name in ("opcode", "record", "group", "error"):
                parts[name].append(([getattr(table, name)[w] for w in listed], places))
        arrays: list[Any] = []
        for field in columns:
            if field.name == "code":
                arrays.append(_coded(pa, keys, np.repeat(np.arange(len(keys), dtype=np.int32), lengths)))
            elif field.name in ("address", "size", "word"):
                arrays.append(pa.array(np.concatenate(parts[field.name]), field.type))
            else:
                arrays.append(_merged(pa, parts[field.name]))
        return pa.table(arrays, schema=columns)


class _Member:
    """The counts for a file, or for a member of an archive."""

    def __init__(self, path: str, member: str = "") -> None:
        self.path, self.member = path, member
        self.bytes = self.programs = self.ptx = 0
        self.errors: list[str] = []
        self.seen = False


def _column(pa: Any, values: list[Any], kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        known = list(dict.fromkeys(values))
        numbers = {v: n for n, v in enumerate(known)}
        return _coded(pa, known, np.array([numbers[v] for v in values], np.int32))
    return pa.array(values, kind)


def _coded(pa: Any, values: Sequence[str], indices: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values, pa.string()))


def _merged(pa: Any, parts: Sequence[tuple[list[str], Any]]) -> Any:
    """Return a column from several lists of texts and indices into them, with each text once in its dictionary."""
    known: dict[str, int] = {}
    indices: list[Any] = []
    for texts, places in parts:
        numbers = np.array([known.setdefault(t, len(known)) for t in texts], np.int32)
        indices.append(numbers[places])
    return _coded(pa, list(known), np.concatenate(indices))


class IndexWriter:
    """Writes an index under its name once it is complete. To be used once, in a `with`."""

    def __init__(self, path: str) -> None:
        self.pa = arrow()
        self.path = path
        self._seen: set[bytes] = set()
        self._waiting: dict[str, list[Any]] = {name: [] for name in TABLES}
        self._remote = "://" in path
        self.rows: dict[str, int] = dict.fromkeys(TABLES, 0)

    @property
    def places(self) -> tuple[str, str]:
        """The folders it writes: the final one, and the temporary one used until the index is complete."""
        return self.path, f"{self.path}.part"

    def __enter__(self) -> Self:
        self._make()
        return self

    def _make(self) -> None:
        if self._remote:
            from isakit.corpora.sources import filesystem

            fs, root = filesystem(self.path)
            fs.makedirs(root, exist_ok=True)
            opened = {name: fs.open(f"{root}/{name}.parquet", "wb") for name in TABLES}
            self._folder = None
        else:
            if Path(self.path).exists() and not (Path(self.path) / "files.parquet").is_file():
                raise IsakitError(f"{self.path} exists and is not an index; name another place")
            self._folder = Path(self.places[1])
            self._folder.mkdir(parents=True, exist_ok=True)
            opened = {name: (self._folder / f"{name}.parquet").open("wb") for name in TABLES}
        self._files: dict[str, Any] = opened
        self._writers = {
            name: self.pa.parquet.ParquetWriter(f, schema(name), compression="zstd") for name, f in opened.items()
        }

    def add(self, tables: dict[str, Any]) -> None:
        """Append rows to the existing ones, without instructions of code that is already in the index."""
        for name, table in tables.items():
            if name == "instructions":
                table = self._fresh(table)
            self.rows[name] += len(table)
            waiting = self._waiting[name]
            waiting.append(table)
            if sum(map(len, waiting)) >= _LEAST_ROWS:
                self._flush(name)

    def _fresh(self, table: Any) -> Any:
        if not len(table):
            return table
        column = table.column("code").combine_chunks()
        keys = column.dictionary.to_pylist()
        new = np.array([bytes.fromhex(k) not in self._seen for k in keys])
        self._seen.update(bytes.fromhex(k) for k in keys)
        if new.all():
            return table
        return table.filter(self.pa.array(new[column.indices.to_numpy()]))

    def _flush(self, name: str) -> None:
        if self._waiting[name]:
            table = self.pa.concat_tables(self._waiting[name]).unify_dictionaries()
            self._writers[name].write_table(table)
            self._waiting[name] = []

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        for name in TABLES:
            if kind is None:
                self._flush(name)
            self._writers[name].close()
            self._files[name].close()
        if self._folder is None:
            return
        import shutil

        if kind is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        if Path(self.path).exists():
            shutil.rmtree(self.path)
        self._folder.rename(self.path)


def read_batches(index: str, table: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the rows of a table of an index in batches, with these columns.

    Raises IsakitError if it is not an index.
    """
    pa = arrow()
    try:
        if "://" in index:
            from isakit.corpora.sources import filesystem

            fs, root = filesystem(index)
            source: Any = fs.open(f"{root}/{table}.parquet", "rb")
        else:
            source = str(Path(index) / f"{table}.parquet")
        with pa.parquet.ParquetFile(source) as f:
            metadata: dict[bytes, bytes] = f.schema_arrow.metadata or {}
            said: dict[str, Any] = json.loads(metadata.get(b"isakit", b"{}"))
            if said.get("schema") != SCHEMA:
                raise IsakitError(f"{index}: the index is of version {said.get('schema')!r}, this reads {SCHEMA}")
            yield from f.iter_batches(columns=list(columns))
    except (OSError, pa.ArrowException, ValueError) as e:
        raise IsakitError(f"{index}: no index: {e}") from None
