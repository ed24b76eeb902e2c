"""The handlers of messages, registered here under the names in the table of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import CO_VARARGS
from typing import TypeVar

from isakit.errors import DefinitionError, IsakitError
from isakit.hosts.cuda.table import ApiFunction, by_number, functions
from isakit.sem.value import mask, signed

Handler = Callable[..., object]
T = TypeVar("T", bound=Handler)
_handlers: dict[str, Handler] = {}


class ProtocolError(IsakitError):
    """A malformed message; its connection is closed."""


def signed_int(number: int) -> int:
    """Return an `int` of C from the 64-bit number that represents it in messages."""
    return signed(number & mask(32), 32)


def calling(number: int) -> ApiFunction:
    """Return the function of a message number. Raises ProtocolError."""
    found = by_number().get(number)
    if found is None:
        raise ProtocolError(f"no function has the number {number}")
    return found


def handler(*names: str) -> Callable[[T], T]:
    """Register a function as the handler of these messages.

    It takes the session and the parameters of the table: `int` as a signed number, `float` and `double` as float,
    `string` as str, `bytes` and blocks as bytes, all others as unsigned numbers. It returns the results in the order of
    the table, several as a tuple.

    Raises DefinitionError for a name that is not a message of the table, or has a handler already, and for a function
    with other parameters, or with those of the table in another order.
    """

    def register(function: T) -> T:
        for name in names:
            found = functions().get(name)
            if found is None or found.kind not in ("call", "wire"):
                raise DefinitionError(f"{name} is not a message of the table")
            if name in _handlers:
                raise DefinitionError(f"{name} has two handlers")
            code, sent = function.__code__, [p.name for p in (*found.sent, *filter(None, [found.tail]))]
            given = code.co_varnames[1 : code.co_argcount]
            fits = len(given) <= len(sent) if code.co_flags & CO_VARARGS else len(given) == len(sent)
            if not fits or any(there != own and own in sent for there, own in zip(sent, given, strict=False)):
                raise DefinitionError(
                    f"{code.co_filename}, line {code.co_firstlineno}: the handler of {name} takes the session and "
                    f"{', '.join(sent) or 'nothing else'}, in this order, not {', '.join(given) or 'nothing else'}"
                )
            _handlers[name] = function
        return function

    return register


def registered_handlers() -> Mapping[str, Handler]:
    """Return the registered handlers by the name of their message. Raises DefinitionError if one is missing."""
    wanted = {f.name for f in functions().values() if f.kind in ("call", "wire")}
    if missing := wanted - _handlers.keys():
        raise DefinitionError(f"no handler for {', '.join(sorted(missing))}: see hosts/cuda/handlers")
    return _handlers
