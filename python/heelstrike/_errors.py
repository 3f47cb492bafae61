"""Exceptions of the library. Every message is a full sentence: what was expected, what was found, where, and the remedy."""
from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from typing import Any

from . import _core


class Error(Exception):
    """Base class of all errors of Heelstrike.

    code         kind of error, e.g. "invalid input"
    file, line   location of an error in a file; line counts from 1
    key          offending key of the file (dotted) or argument of the call
    retryable    the same call may succeed later
    """

    def __init__(self, message: str, *, code: str = "internal", file: str | None = None, line: int | None = None,
                 key: str | None = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.file = file
        self.line = line
        self.key = key
        self.retryable = retryable

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are pickled between the processes of parameter studies.
        return (_again, (type(self), str(self), self.__dict__))


def _again(kind: type[Error], message: str, attributes: dict[str, Any]) -> Error:
    error = kind(message)
    error.__dict__.update(attributes)
    return error


class InputError(Error, ValueError):
    """A value, name, shape, size or file content that is not valid."""


class UnknownName(InputError, KeyError):
    """A name that a mapping does not have: a simulation, the columns of a run, fields, the runs of a study."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # a KeyError would show the sentence in quotes


def unknown(what: str, name: object, known: Iterable[str]) -> UnknownName:
    """Error of a name that a mapping in Python does not have."""
    names = list(known)
    near = [known for known in names if str(name) in known][:3] or difflib.get_close_matches(str(name), names, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    separator = "" if near else ";"
    return UnknownName(f"there is no {what} '{name}'{hint}{separator} there are: {', '.join(names)}", code="invalid input",
                       key=str(name))


def expected(argument: str, what: str, found: object) -> InputError:
    """Error of an argument of another type or shape. Only the type of `found` is reported, because it may be large."""
    kind = "None" if found is None else f"a value of type {type(found).__name__}"
    return InputError(f"{argument}: expected {what}, found {kind}", code="invalid input", key=argument)


class OutOfOrder(Error, RuntimeError):
    """The call is not allowed now: after close(), concurrent with another call, in a child process."""


class Recoverable(Error):
    """The penetration is too deep, or an inner solver did not converge: a smaller step may succeed."""


class SolverFailed(Error):
    """The integrator failed."""


class LimitReached(Error):
    """A configured limit was reached."""


class Unavailable(Error, ConnectionError):
    """The server is unreachable, the connection was lost, or no response arrived in time."""


class VersionMismatch(Error):
    """The server uses another version of the contract."""


class Cancelled(Error):
    """Stopped on request."""


class FileError(Error):
    """A file or folder cannot be read or written."""


class NotImplementedByBackend(Error, NotImplementedError):
    """The contact back-end does not implement this."""


class MissingPackage(Error, ImportError):
    """A function needs a package that this interpreter does not have."""


class RunFailed(Error):
    """A run ended early; `run` has the results up to then."""

    run: Any = None


class HeelstrikeWarning(UserWarning):
    """A valid but implausible scenario, or a run without some of its frames."""


_KINDS = {
    "invalid input": InputError,
    "out of order": OutOfOrder,
    "recoverable": Recoverable,
    "solver failed": SolverFailed,
    "limit reached": LimitReached,
    "unavailable": Unavailable,
    "deadline exceeded": Unavailable,
    "version mismatch": VersionMismatch,
    "cancelled": Cancelled,
    "file": FileError,
    "not found": FileError,
    "not implemented": NotImplementedByBackend,
}


def missing(package: str, user: str) -> MissingPackage:
    """Error of a function that needs a package."""
    return MissingPackage(f"{user} requires {package}, which {sys.executable} does not have; install it: apt-get install "
                          f"python3-{package}, or {sys.executable} -m pip install {package}", code="not found", key=package)


# Name of a scenario from a mapping, which has no file and no lines.
mapping_name = "<scenario>"
_WORDS = {"--force": "overwrite=True", "--output": "output=...", "--set": "set", "--backend": "backend", "--vary": "vary",
          "--jobs": "jobs",
          "--mbs": "mbs=...", "--tls-ca": "tls={'ca_file': ...}", "--tls-cert": "tls={'certificate_file': ...}",
          "--tls-key": "tls={'key_file': ...}", "--tls-authority": "tls={'authority': ...}",
          **{option: f"{name}=True" for name, option in _core.table_formats().items()}}


def in_python(message: str) -> str:
    """Replaces options of the command line in a message of the library by arguments of Python."""
    for option, word in _WORDS.items():
        message = re.sub(rf"(?<![\w-]){option}(?![\w-])", word, message)
    return re.sub(rf"^{mapping_name}(:\d+)?: ", "", message, flags=re.MULTILINE)


def made(code: str, message: str, file: str, line: int, key: str, retryable: bool, is_name: bool = False) -> Error:
    """Creates the exception of a code, for the module in C++. is_name: the error is a name that a mapping does not have."""
    if file == mapping_name:
        file, line = "", 0
    kind = UnknownName if is_name else _KINDS.get(code, Error)
    return kind(in_python(message), code=code, file=file or None, line=line or None, key=key or None,
                retryable=retryable)
