"""Compiled fast paths of a form: text, decode error and unexplained bits as generated Python functions.

Generated once per resolved form, each when it is first called; the interpretive methods of `Form` say the same more
slowly and tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, cast

from isakit.codec.facts import FormFacts
from isakit.lean import cached_property
from isakit.spec.parts import claimed_source, error_source, text_source
from isakit.spec.record import Form

if TYPE_CHECKING:
    from isakit.codec.decoder import Decoder


class _Namespace:
    """Objects the generated source refers to, by name."""

    def __init__(self) -> None:
        self.names: dict[str, object] = {}
        self._known: dict[Hashable, str] = {}

    def keep(self, obj: object) -> str:
        key: object = cast("object", obj) if isinstance(obj, tuple) else id(obj)
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"k{len(self.names)}"
            self.names[name] = obj
        return name


class CompiledForm:
    """The functions of one form, each taking the instruction word and generated when it is first asked for.

    Executing an instruction needs `error` alone: text functions, which cost most, are generated only for printing.
    `addressed`: the text also depends on the address; then `form.text(word, address)` gives it.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.addressed = form.addressed
        self._facts: FormFacts | None = None

    def facts(self, decoder: Decoder) -> FormFacts:
        """Return the facts of words of the form; `decoder` is the one the form was found by."""
        if self._facts is None:
            self._facts = FormFacts(decoder.isa, self.form)
        return self._facts

    @cached_property
    def text(self) -> Callable[[int], str]:
        """The text of the word."""
        form, space = self.form, _Namespace()
        pieces: list[str] = []
        for item in form.syntax:
            if item[0] == "{":
                pieces.append(text_source(form.parts[item[1:-1]], space.keep))
            elif item == ")":
                pieces.append("')'")
            else:
                pieces.append(repr(" " + item))
        text = "+".join(_fold_literals(pieces)) or "''"
        tail = ".replace('( ','(')[1:]" if any(i == "(" for i in form.syntax) else "[1:]"
        return self._function(f"({text}){tail}", space)

    @cached_property
    def error(self) -> Callable[[int], str | None]:
        """The name of the decode error, or None."""
        form, space = self.form, _Namespace()
        errors = [f"{r.error!r} if w&{r.when.mask}=={r.when.value} else None" for r in form.refusals]
        found = [s for p in form.parts.values() if (s := error_source(p, space.keep)) != "None"]
        sources = [*(f"({e})" for e in errors), *found]
        return self._function(" or ".join(sources), space) if sources else _no_error

    @cached_property
    def unexplained(self) -> Callable[[int], int]:
        """The bits that no field explains and that differ from their default."""
        form, space = self.form, _Namespace()
        claims = [claimed_source(p, space.keep) for p in form.parts.values()]
        constant = form.fixed.mask
        for c in claims:
            if c.isdigit():
                constant |= int(c)
        dynamic = list(dict.fromkeys(c for c in claims if not c.isdigit()))
        odd = f"(w^{form.base})&{(1 << 128) - 1 ^ constant}"
        if not dynamic:
            return self._function(odd, space)
        return self._function(f"r&~({'|'.join([str(constant), *dynamic])}) if (r:={odd}) else 0", space)

    def _function(self, expression: str, space: _Namespace) -> Callable[[int], Any]:
        """Compile an expression to a function of `w`."""
        return eval(compile(f"lambda w:{expression}", f"<form {self.form.layout.name}>", "eval"), space.names)


def _no_error(word: int) -> None:
    """Do nothing: all words of the form are instructions."""


def _fold_literals(pieces: list[str]) -> list[str]:
    """Join adjacent string literals."""
    out: list[str] = []
    for p in pieces:
        if out and p[0] in "'\"" and out[-1][0] in "'\"":
            out[-1] = repr(eval(out[-1]) + eval(p))  # both are literals made by repr() above
        else:
            out.append(p)
    return out
