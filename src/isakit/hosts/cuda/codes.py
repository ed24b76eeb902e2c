"""Error codes of the two interfaces, read from `api/errors.txt`, and the exception handlers raise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from isakit.errors import IsakitError
from isakit.hosts.cuda.table import API, LIBRARIES


@dataclass(frozen=True)
class ErrorText:
    """One kind of error: its code in the runtime and in the driver interface (None if it has none there).

    `text` is its message in an interface where it has a name, `name` or `driver_name`; a code of the driver without a
    name is reported by its calls for an error of the runtime.
    """

    runtime: int | None
    driver: int | None
    name: str
    driver_name: str
    text: str


def _code(text: str) -> int | None:
    return None if text == "-" else int(text)


@cache
def errors() -> tuple[ErrorText, ...]:
    """Return all errors, in the order of the file."""
    out: list[ErrorText] = []
    for line in (API / "errors.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            runtime, driver, text = (part.strip() for part in line.split("|"))
            code, _, name = runtime.partition(" ")
            driver_code, _, driver_name = driver.partition(" ")
            out.append(ErrorText(_code(code), _code(driver_code), name, driver_name, text))
    return tuple(out)


@cache
def _by_name() -> dict[str, ErrorText]:
    return {(e.name or e.driver_name): e for e in errors()}


class CudaError(IsakitError):
    """A call that fails: `name` is that of the runtime's error (cudaErrorInvalidValue, ...); `why` is for a trace.

    `driver` overrides the code of the driver interface, where one error of the runtime corresponds to several.
    """

    def __init__(self, name: str, why: str = "", driver: int | None = None) -> None:
        self.name, self.why = name, why
        known = _by_name()[name]
        self.runtime = known.runtime if known.runtime is not None else 30
        self.driver = driver if driver is not None else known.driver if known.driver is not None else 1
        super().__init__(f"{name}: {why}" if why else name)

    def code(self, interface: str) -> int:
        """Return the error code of an interface."""
        if interface in LIBRARIES:
            return library_code(interface, self.name)
        return self.driver if interface == "driver" else self.runtime


@cache
def library_statuses() -> dict[str, dict[str, int]]:
    """Return the status codes of each library by name, and by the runtime errors that are mapped to them."""
    out: dict[str, dict[str, int]] = {name: {} for name in LIBRARIES}
    for line in (API / "library_errors.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            library, status, becomes = (part.strip() for part in line.split("|"))
            code, _, name = status.partition(" ")
            out[library] |= dict.fromkeys((name, *becomes.split()), int(code))
    return out


def library_code(library: str, error: str) -> int:
    """Return the status with which a library reports an error of the runtime."""
    statuses = library_statuses()[library]
    return statuses.get(error, statuses["*"])


class LibraryError(CudaError):
    """A call of a library failed with a status of its own, by name (CUFFT_INVALID_SIZE, ...)."""

    def __init__(self, status: str, why: str = "") -> None:
        super().__init__("cudaErrorUnknown", why)
        self.status = status
        self.args = (f"{status}: {why}" if why else status,)

    def code(self, interface: str) -> int:
        """Return the status; for an interface other than the library's, the code of an unknown error."""
        return library_statuses().get(interface, {}).get(self.status) or super().code(interface)


def invalid(why: str = "") -> CudaError:
    """Return the error for an invalid argument."""
    return CudaError("cudaErrorInvalidValue", why)


def check_flags(flags: int, known: int = 0) -> None:
    """Raise CudaError for flags with others than the known bits."""
    if flags & ~known:
        raise invalid(f"flags {flags:#x}")
