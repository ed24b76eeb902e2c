"""Compiled fast paths of a form: text, decode error and unexplained bits as generated Python functions.

Each is generated once per resolved form when it is first needed, so that executing makes no text functions; the interpretive methods of `Form` say the same more slowly and
tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from isakit.spec.record import Form


class CompiledForm:
    """The functions of one form, each taking the instruction word and made when it is first asked for.

    `addressed`: the text also depends on the address; then `form.text(word, address)` gives it.
    """

    def __init__(self, form: Form) -> None:
        self.form = form

    @cached_property
    def addressed(self) -> bool:
        """Whether the text depends on where the instruction stands."""
        return any(p.addressed for p in self.form.parts.values())

    @cached_property
    def text(self) -> Callable[[int], str]:
        """The text of a word."""
        space = _Namespace()
        pieces: list[str] = []
        for item in self.form.syntax:
            if item[0] == "{":
                pieces.append(self.form.parts[item[1:-1]].text_source(space.keep))
            elif item == ")":
                pieces.append("')'")
            else:
                pieces.append(repr(" " + item))
        text = "+".join(_fold_literals(pieces)) or "''"
        tail = ".replace('( ','(')[1:]" if any(i == "(" for i in self.form.syntax) else "[1:]"
        return self._made("text", f" return ({text}){tail}", space)

    @cached_property
    def error(self) -> Callable[[int], str | None]:
        """The decode error of a word, or None."""
        space = _Namespace()
        errors = [f"({r.error!r} if w&{r.when.mask}=={r.when.value} else None)" for r in self.form.refusals]
        errors += [s for p in self.form.parts.values() if (s := p.error_source(space.keep)) != "None"]
        return self._made("error", f" return {' or '.join(errors) or 'None'}", space)

    @cached_property
    def unexplained(self) -> Callable[[int], int]:
        """Bits of a word that differ from what the assembler would write and that no part tells."""
        space = _Namespace()
        claims = [p.claimed_source(space.keep) for p in self.form.parts.values()]
        constant = self.form.fixed.mask
        for c in claims:
            if c.isdigit():
                constant |= int(c)
        dynamic = list(dict.fromkeys(c for c in claims if not c.isdigit()))
        claimed = "|".join([str(constant), *dynamic])
        body = f" r=(w^{self.form.base})&{(1 << 128) - 1 ^ constant}\n" + (
            f" return r&~({claimed}) if r else 0" if dynamic else " return r"
        )
        return self._made("unexplained", body, space)

    def _made(self, name: str, body: str, space: _Namespace) -> Any:
        names = dict(space.names)
        exec(compile(f"def {name}(w):\n{body}\n", f"<form {self.form.layout.name}>", "exec"), names)
        return names[name]


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


def _fold_literals(pieces: list[str]) -> list[str]:
    """Adjacent string literals joined."""
    out: list[str] = []
    for p in pieces:
        if out and p[0] in "'\"" and out[-1][0] in "'\"":
            out[-1] = repr(eval(out[-1]) + eval(p))  # both are literals made by repr() above
        else:
            out.append(p)
    return out
