"""What the library raises. Every message is a whole sentence: what was expected, what was found, where, what to do."""
from __future__ import annotations

import re
from typing import Any


class Error(Exception):
    """Anything that Heelstrike refuses or cannot do.

    code         kind of error, e.g. "invalid input"
    file, line   where the mistake is, when it is in a file; line counts from 1
    key          offending key of the file (dotted) or argument of the call
    retryable  the same call may succeed later
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
        # Exceptions cross processes in parameter studies.
        return (_again, (type(self), str(self), self.__dict__))


def _again(kind: type[Error], message: str, attributes: dict[str, Any]) -> Error:
    error = kind(message)
    error.__dict__.update(attributes)
    return error


class InputError(Error, ValueError):
    """A value, name, shape, size or file content that cannot be accepted."""


def expected(argument: str, what: str, found: object) -> InputError:
    """The mistake of an argument that has another type or shape. Of `found` only the type is told: it may be large."""
    kind = "None" if found is None else f"a value of type {type(found).__name__}"
    return InputError(f"{argument}: expected {what}, found {kind}", code="invalid input", key=argument)


class OutOfOrder(Error, RuntimeError):
    """The call is not allowed now: after close(), beside another thread, in a child process."""


class Recoverable(Error):
    """Too deep, or an inner solver did not converge: a smaller step may succeed."""


class SolverFailed(Error):
    """The integrator gave up."""


class LimitReached(Error):
    """A configured limit was reached."""


class Unavailable(Error, ConnectionError):
    """The server is not there, the connection was lost, or no answer came in time."""


class VersionMismatch(Error):
    """The server speaks another version of the contract."""


class Cancelled(Error):
    """Stopped on request."""


class FileError(Error):
    """A file or folder cannot be read or written."""


class NotImplementedByBackend(Error, NotImplementedError):
    """The contact back-end does not offer this."""


class RunFailed(Error):
    """A run ended before its time; `run` holds what was computed until then."""

    run: Any = None


class HeelstrikeWarning(UserWarning):
    """Something in a scenario that is allowed but hardly meant, or a run without some of its frames."""


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


# What a scenario is called that comes from a mapping: it has no file and no lines.
mapping_name = "<scenario>"
_WORDS = {"--force": "overwrite=True", "--output": "output=...", "--set": "set", "--backend": "backend", "--hdf5": "hdf5=True",
          "--mbs": "mbs=...", "--tls-ca": "tls={'ca_file': ...}", "--tls-cert": "tls={'certificate_file': ...}",
          "--tls-key": "tls={'key_file': ...}", "--tls-authority": "tls={'authority': ...}"}


def in_python(message: str) -> str:
    """A message of the library with arguments of Python where it names options of the command line."""
    for option, word in _WORDS.items():
        message = re.sub(rf"(?<![\w-]){option}(?![\w-])", word, message)
    return re.sub(rf"^{mapping_name}(:\d+)?: ", "", message, flags=re.MULTILINE)


def made(code: str, message: str, file: str, line: int, key: str, retryable: bool) -> Error:
    """The exception of a code, for the module in C++."""
    if file == mapping_name:
        file, line = "", 0
    return _KINDS.get(code, Error)(in_python(message), code=code, file=file or None, line=line or None, key=key or None,
                                   retryable=retryable)
