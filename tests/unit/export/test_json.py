"""The JSON of an instruction set is enough to decode with, and says what its schema says."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import isakit
from isakit.export.json_ import FORMAT, SCHEMA
from support.clients.command_line import run
from support.oracles.json_schemas import problems


@cache
def exported(name: str, variant: str) -> dict[str, Any]:
    return json.loads(run("export", "-m", name, "-V", variant, "--format", "json").stdout)


@pytest.mark.parametrize(("name", "variant"), [("vuc", "vp2"), ("usse", "sgx543"), ("tesla", "g80")])
def test_it_is_as_the_schema_says(name: str, variant: str) -> None:
    data = exported(name, variant)
    assert list(problems(data, SCHEMA)) == []
    assert json.loads(run("export", "-m", name, "--format", "schema").stdout) == SCHEMA
    assert data["format"] == FORMAT
    assert {i["name"] for i in data["instructions"]} == {r.name for r in isakit.isa(name).instructions}


def test_a_broken_file_is_not_as_the_schema_says() -> None:
    data = {**exported("vuc", "vp2"), "format": "isakit-isa 0"}
    assert list(problems(data, SCHEMA)) == ["$.format is 'isakit-isa 0'"]
    del data["registers"]
    assert "$ lacks registers" in problems(data, SCHEMA)


def test_masks_and_values_find_the_form_of_every_word() -> None:
    isa = isakit.isa("vuc", "vp2")
    forms = [(i["name"], f) for i in exported("vuc", "vp2")["instructions"] for f in i["forms"]]
    forms.sort(key=lambda nf: -int(nf[1]["fixed"]["mask"], 16).bit_count())
    program = isa.assemble("add $r1 $r2 $r3\nnop")
    for i in program:
        word = i.words[0]

        def holds(bits: dict[str, str], word: int = word) -> bool:
            return word & int(bits["mask"], 16) == int(bits["value"], 16)

        found = next(n for n, f in forms if holds(f["fixed"]) and not any(holds(u) for u in f["unless"]))
        assert i.form is not None
        assert i.form.record is not None
        assert found == i.form.record.name


def test_the_graph_of_an_addition_adds() -> None:
    (add,) = [i for i in exported("vuc", "vp2")["instructions"] if "add" in i["mnemonics"] and i["name"] == "add"]
    nodes = add["forms"][0]["semantics"]["nodes"]
    assert any(n["op"] == "add" for n in nodes)
    assert all(a < k for k, n in enumerate(nodes) for a in n["args"])
