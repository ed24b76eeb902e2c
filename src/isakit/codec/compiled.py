"""Compiled fast paths of a form: text, decode error and unexplained bits as generated Python functions.

Generated once per resolved form when it is first met; the interpretive methods of `Form` say the same more slowly and
tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from isakit.spec.record import Form


@dataclass(frozen=True, eq=False)
class CompiledForm:
    """The functions of one form, each taking the instruction word.

    `addressed`: the text also depends on the address; then `form.text(word, address)` gives it.
    """

    form: Form
    text: Callable[[int], str]
    error: Callable[[int], str | None]
    unexplained: Callable[[int], int]
    source: str
    addressed: bool = False


class _Namespace:
    """Objects the generated source refers to, by name."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._known: dict[Any, str] = {}

    def keep(self, obj: Any) -> str:
        key: object = cast("object", obj) if isinstance(obj, tuple) else id(obj)
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"k{len(self.names)}"
            self.names[name] = obj
        return name


def compile_form(form: Form) -> CompiledForm:
    """Generate and compile the fast paths of a resolved form."""
    space = _Namespace()
    keep = space.keep
    pieces: list[str] = []
    for item in form.syntax:
        if item[0] == "{":
            pieces.append(form.parts[item[1:-1]].text_source(keep))
        elif item == ")":
            pieces.append("')'")
        else:
            pieces.append(repr(" " + item))
    text = "+".join(_fold_literals(pieces)) or "''"
    tail = ".replace('( ','(')[1:]" if any(i == "(" for i in form.syntax) else "[1:]"
    errors = [f"{r.error!r} if w&{r.when.mask}=={r.when.value} else None" for r in form.refusals]
    errors = [f"({e})" for e in errors] + [s for p in form.parts.values() if (s := p.error_source(keep)) != "None"]
    claims = [p.claimed_source(keep) for p in form.parts.values()]
    constant = form.fixed.mask
    for c in claims:
        if c.isdigit():
            constant |= int(c)
    dynamic = list(dict.fromkeys(c for c in claims if not c.isdigit()))
    claimed = "|".join([str(constant), *dynamic])
    source = (
        f"def text(w):\n return ({text}){tail}\n"
        f"def error(w):\n return {' or '.join(errors) or 'None'}\n"
        f"def unexplained(w):\n r=(w^{form.base})&{(1 << 128) - 1 ^ constant}\n"
        + (f" return r&~({claimed}) if r else 0\n" if dynamic else " return r\n")
    )
    names = dict(space.names)
    exec(compile(source, f"<form {form.layout.name}>", "exec"), names)
    return CompiledForm(
        form, names["text"], names["error"], names["unexplained"], source, any(p.addressed for p in form.parts.values())
    )


def _fold_literals(pieces: list[str]) -> list[str]:
    """Adjacent string literals joined."""
    out: list[str] = []
    for p in pieces:
        if out and p[0] in "'\"" and out[-1][0] in "'\"":
            out[-1] = repr(eval(out[-1]) + eval(p))  # both are literals made by repr() above
        else:
            out.append(p)
    return out
