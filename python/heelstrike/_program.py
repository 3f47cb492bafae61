"""The command line program of this installation, and its start by `pip install`."""
from __future__ import annotations

import os
import pathlib
import shutil
import sys

from ._errors import FileError

_here = pathlib.Path(__file__).resolve().parent


def program(name: str = "heelstrike") -> pathlib.Path:
    """Path of a program of the same installation. Raises FileError."""
    module = pathlib.Path(sys.modules[f"{__package__}._core"].__file__ or "").resolve()
    # In a wheel; as built (build/PRESET/python/heelstrike); as installed (PREFIX/lib/python3/dist-packages/heelstrike).
    folders = [_here / "bin", module.parents[2] / "bin", module.parents[4] / "bin"]
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return folder / name
    found = shutil.which(name)
    if found is None:
        raise FileError(f"{name}: expected this program in {', '.join(map(str, folders))} or on the PATH, found it in none of "
                        f"them; install the package heelstrike, or build it with scripts/build {name}", code="file", file=name)
    return pathlib.Path(found)


def main() -> None:
    """Replaces this process by the program of the same name: the commands that a wheel installs."""
    name = pathlib.Path(sys.argv[0]).name
    file = program(name)
    os.execv(file, [name, *sys.argv[1:]])
