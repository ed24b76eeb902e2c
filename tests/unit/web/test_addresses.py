"""What the part of an address after # may hold: read as the page reads it, by its own script."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from isakit.web.addresses import fragments_of_example
from support.clients.node_tools import needs_node, node

SCRIPT = """
import {readFileSync} from "node:fs";
import {decode} from "./state.mjs";
const out = [];
for (const f of JSON.parse(readFileSync(process.argv[2]))) {
  try { out.push(await decode(f)); } catch (e) { out.push(e.message); }
}
console.log(JSON.stringify(out));
"""
RIGHT = {"isa": "tesla", "variant": "gt200", "language": "asm", "lesson": "sum",
         "launch": {"grid": [4], "block": [64, 2], "args": ["out:u32:64"], "textures": []}}  # fmt: skip


def fragment(content: object) -> str:
    """What stands after # for a page."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(content).encode()) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decoded(folder: Path, fragments: list[str]) -> list[Any]:
    """What the page makes of each fragment: the state, or the text of the error."""
    shutil.copy(str(files("isakit.web") / "static" / "state.js"), folder / "state.mjs")
    (folder / "read.mjs").write_text(SCRIPT)
    (folder / "fragments.json").write_text(json.dumps(fragments))
    return json.loads(node(str(folder / "read.mjs"), str(folder / "fragments.json")))


@needs_node()
def test_fields_of_an_address_that_are_something_else_are_left_out_and_named(tmp_path: Path) -> None:
    odd = [5, True, "4,4", {"length": 3}, [[1]], ["a", 5], [None], ["x"] * 257]
    cases: list[tuple[dict[str, Any], list[str]]] = [({}, [])]
    cases += [({"launch": {name: v}}, [f"launch.{name}"]) for name in RIGHT["launch"] for v in odd]
    cases += [({name: v}, [name]) for name in ("isa", "variant", "language", "lesson") for v in odd if v != "4,4"]
    cases += [({"launch": v}, ["launch"]) for v in (5, "x", True)]
    given = [{"v": 1, "source": "exit", **RIGHT, **changes} for changes, _ in cases]
    for state, found, (_, names) in zip(given, decoded(tmp_path, [fragment(g) for g in given]), cases, strict=True):
        assert found["odd"] == names, state
        del state["v"], found["odd"]
        for name in names:
            field, _, part = name.partition(".")
            if part:
                del state[field][part]
            else:
                del state[field]
        assert found == state


@needs_node()
def test_an_address_that_holds_no_page_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    """A version that is the name of something every object has once kept the page busy for ever."""
    versions = ["constructor", "toString", "__proto__", 2, 0, None, [1], {}]
    wrong = [fragment({"v": v, "source": "exit"}) for v in versions]
    wrong += [fragment(c) for c in (None, 5, "text", [], {}, {"v": 1}, {"v": 1, "source": 5}, {"v": 1, "source": None})]
    unreadable = ["%", "AAAA", "!", fragment(RIGHT)[:-9], "é"]
    for text in decoded(tmp_path, wrong):
        assert text == "the address is of another version"
    for text in decoded(tmp_path, unreadable):
        assert text.startswith("the address cannot be read: ")
    (text,) = decoded(tmp_path, [fragment({"v": 1, "source": "x" * (1 << 22)})])
    assert "more than a page takes" in text


@needs_node()
def test_examples_of_documentation_are_opened_as_they_stand(tmp_path: Path) -> None:
    kernel = ".isa tesla g80\n.kernel k\n    exit nop\n"
    code = f'isa.assemble("""{kernel}""")\nprint("""no program""")\n'
    (opened,) = fragments_of_example("tesla", kernel)
    assert fragments_of_example("python", code) == [opened]
    assert fragments_of_example("usse", "     0 000 .... a trace\n") == fragments_of_example("bash", kernel) == []
    (state,) = decoded(tmp_path, [opened])
    assert (state["source"], state["isa"], state["variant"]) == (kernel, "tesla", "g80")
    assert (state["language"], state["odd"]) == ("asm", [])


def test_shaders_of_documentation_are_opened_as_cg() -> None:
    shader = "float4 main(float2 uv : TEXCOORD0, uniform sampler2D t) : COLOR { return tex2D(t, uv); }\n"
    (opened,) = fragments_of_example("hlsl", shader)
    state = json.loads(zlib.decompress(base64.urlsafe_b64decode(opened + "=" * (-len(opened) % 4)), -15))
    assert (state["language"], state["isa"], state["source"]) == ("cg", "usse", shader)
    assert fragments_of_example("hlsl", shader.replace("uv);", "uw);")) == []
