"""Pages of the manual as the page draws them, by its own script."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

from isakit.docsgen.find import find_pages
from isakit.spec.isa import instruction_set
from support.clients.node_tools import needs_node, node

SCRIPT = """
import {readFileSync} from "node:fs";
class Element {
  constructor(tag) { this.tag = tag; this.children = []; }
  append(...more) { this.children.push(...more); }
  setAttribute() {}
}
globalThis.document = {documentElement: {dataset: {}}, createElement: (tag) => new Element(tag)};
const {markdown} = await import("./markdown.mjs");
const plain = (e) => typeof e === "string" ? e : [e.tag, ...e.children.map(plain)];
console.log(JSON.stringify(JSON.parse(readFileSync(process.argv[2])).map((text) => markdown(text).map(plain))));
"""


def drawn(folder: Path, *texts: str) -> list[list[object]]:
    """The elements of each text: a tag with what is in it, or a text."""
    static = files("isakit.web") / "static"
    (folder / "markdown.mjs").write_text((static / "markdown.js").read_text().replace("./dom.js", "./dom.mjs"))
    shutil.copy(str(static / "dom.js"), folder / "dom.mjs")
    (folder / "draw.mjs").write_text(SCRIPT)
    (folder / "texts.json").write_text(json.dumps(texts))
    return json.loads(node(str(folder / "draw.mjs"), str(folder / "texts.json")))


@needs_node()
def test_the_parts_of_a_page_become_elements(tmp_path: Path) -> None:
    text = "# add\n\nTwo `a|b` of **them**,\nsee [here](x.md).\n\n```text\nadd | # x\n```\n\n- one\n- two\n\nend"
    (found,) = drawn(tmp_path, text)
    assert found == [
        ["h2", "add"],
        ["p", "Two ", ["code", "a|b"], " of ", ["b", "them"], ", see ", ["i", "here"], "."],
        ["pre", "add | # x"],
        ["ul", ["li", "one"], ["li", "two"]],
        ["p", "end"],
    ]


@needs_node()
def test_a_table_has_its_head_and_bars_that_are_no_border(tmp_path: Path) -> None:
    (found,) = drawn(tmp_path, "| a | b |\n|---|---|\n| x \\| y<br>z | `c` |\n")
    head = ["thead", ["tr", ["th", "a"], ["th", "b"]]]
    body = ["tbody", ["tr", ["td", "x | y", ["br"], "z"], ["td", ["code", "c"]]]]
    assert found == [["table", head, body]]


@needs_node()
def test_markup_stays_text_and_every_page_ends(tmp_path: Path) -> None:
    pages = [p for word in ("add", "mul", "tex", "bra", "ld") for p in find_pages([instruction_set("tesla")], word)]
    strange = ["<img src=x onerror=hit()>", "```\nnever closed", "| a", "#", "**", "`", "- ", "\n\n"]
    found = drawn(tmp_path, *pages, *strange)
    assert found[len(pages)] == [["p", strange[0]]]
    assert all(f[0][0] == "h2" and any(e[0] == "table" for e in f) for f in found[: len(pages)])
