"""Why the package cannot be imported, and which interpreter can. Uses the standard library only."""
from __future__ import annotations

import glob
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

# One line each: identity of the installation, version of Python, version of numpy ("" without).
_QUESTION = """import os, sys
print(os.path.realpath(sys.executable), sys.prefix)
print('%d.%d' % sys.version_info[:2])
try:
    import numpy
    print(numpy.__version__)
except ImportError:
    print()"""


@dataclass
class _Interpreter:
    file: str
    version: str
    numpy: str


def _interpreters() -> list[_Interpreter]:
    """Those on the PATH and in /usr/bin, each installation once."""
    found: dict[str, _Interpreter] = {}
    for folder in [*os.get_exec_path(), "/usr/bin"]:
        for file in sorted(glob.glob(os.path.join(glob.escape(folder), "python3*"))):
            if not re.fullmatch(r"python3(\.\d+)?", os.path.basename(file)):
                continue
            try:
                answer = subprocess.run([file, "-c", _QUESTION], capture_output=True, text=True, timeout=20)
            except (OSError, subprocess.SubprocessError):
                continue
            lines = answer.stdout.splitlines()
            if answer.returncode == 0 and len(lines) == 3:
                found.setdefault(lines[0], _Interpreter(file, lines[1], lines[2]))
    return list(found.values())


def _built_for() -> str:
    """Version of Python that the module of this package is built for, "3.11"; "" if it is for this one, or unknown."""
    modules = [file.name for file in pathlib.Path(__file__).parent.glob("_core.cpython-*.so")]
    versions = {f"{major}.{minor}" for name in modules for major, minor in re.findall(r"cpython-(\d)(\d+)", name)}
    return "" if not versions or _version() in versions else min(versions)


def _version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def explain(problem: ImportError) -> ImportError:
    """The error of `import heelstrike` with what to type instead; another problem unchanged."""
    other = _built_for()
    if not other and problem.name != "numpy":
        return problem
    here = f"{sys.executable} (Python {_version()})"
    if other:
        what = f"this package heelstrike is built for Python {other}, and this interpreter is {here}"
        remedy = f"install Python {other} with numpy, or the package of Python {_version()}"
    else:
        what = f"heelstrike requires numpy, and this interpreter, {here}, does not have it"
        remedy = f"install it: apt-get install python3-numpy, or {sys.executable} -m pip install numpy"
    wanted = other or _version()
    for python in _interpreters():
        if python.numpy and python.version == wanted:
            return ImportError(f"{what}; {python.file} has numpy {python.numpy}: type {python.file} PROGRAM.py",
                               name=problem.name)
    return ImportError(f"{what}, nor does another Python {wanted} on the PATH or in /usr/bin; {remedy}" if not other else
                       f"{what}; no Python {wanted} with numpy is on the PATH or in /usr/bin; {remedy}", name=problem.name)
