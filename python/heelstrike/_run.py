"""Runs of whole scenarios and what they leave."""
from __future__ import annotations

import contextlib
import importlib
import json
import os
import pathlib
import shutil
import tempfile
import warnings
import weakref
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import FileError, HeelstrikeWarning, InputError, RunFailed, expected, in_python, made, mapping_name
from ._fields import Fields, read_vtu
from ._progress import display
from ._types import Array, Path, Scenario

pandas: Any = None
with contextlib.suppress(ImportError):  # optional
    pandas = importlib.import_module("pandas")


class Table(dict[str, Array]):
    """Columns by name, as arrays; what stands in for a pandas.DataFrame where there is no pandas."""

    def __missing__(self, name: str) -> Array:
        raise InputError(f"there is no column '{name}'; there are: {', '.join(self)}", code="invalid input", key=name)

    @property
    def columns(self) -> list[str]:
        return list(self)

    def __len__(self) -> int:
        return len(next(iter(self.values()))) if self.keys() else 0

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self)})"


def _remove(folder: pathlib.Path, maker: int) -> None:
    # A child made by fork forgets its copy of the run, too; the files are those of its parent.
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def _path(given: Path, argument: str) -> pathlib.Path:
    if not isinstance(given, (str, os.PathLike)):
        raise expected(argument, "the path of a file or folder", given)
    return pathlib.Path(given)


class _TemporaryFolder:
    """Removed when nobody knows it any more, at the latest when the program ends."""

    def __init__(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="heelstrike-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


class Run:
    """The results of a run, from its folder. Everything is read when it is asked for the first time."""

    def __init__(self, folder: Path) -> None:
        self.folder = _path(folder, "folder")
        if not (self.folder / "timeseries.csv").exists() and not (self.folder / "summary.json").exists():
            raise FileError(f"{self.folder}: expected the folder of a run, found no timeseries.csv in it", code="file",
                            file=str(folder))
        self._kept: _TemporaryFolder | None = None  # a temporary folder lives as long as its run
        self._columns: Table | None = None
        self._timeseries: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._kept is None:
            return Run, (self.folder,)
        # The temporary folder goes with the last Run that this process has of it: to another process travel its files.
        files = {file.relative_to(self.folder): file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}
        return _unpacked, (files,)

    @property
    def columns(self) -> Table:
        """{name: (n,) array}, units in the names: views of the one array that was read, not to be written. First: "time_s"."""
        if self._columns is None:
            names, numbers = _read_table(self.folder)
            self._columns = Table((name, numbers[:, i]) for i, name in enumerate(names))
        return self._columns

    @property
    def timeseries(self) -> Any:
        """The same as a pandas.DataFrame; the Table of columns where there is no pandas."""
        if self._timeseries is None:
            self._timeseries = self.columns if pandas is None else pandas.DataFrame(dict(self.columns))
        return self._timeseries

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json: status, integrator, energies, contacts; the same whenever the same scenario runs."""
        return self._json("summary.json")

    @property
    def timing(self) -> dict[str, Any]:
        """timing.json: wall times [s]; another every time."""
        return self._json("timing.json")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads((self.folder / name).read_text())
            return content
        except OSError as problem:
            raise FileError(f"{self.folder / name}: {problem.strerror}; the run has not ended, or did not end well",
                            code="file", file=str(self.folder / name)) from None

    @property
    def status(self) -> str:
        """ "completed", "incomplete" (some rows have no solution), "cancelled" or "failed" """
        return str(self.summary["status"])

    @property
    def contacts(self) -> Any:
        """Intervals of contact: a pandas.DataFrame, or a list of dicts where there is no pandas. Units in the names."""
        contacts = self.summary["contacts"]
        return contacts if pandas is None else pandas.DataFrame(contacts)

    @property
    def report(self) -> pathlib.Path:
        """The page of the run."""
        return self.folder / "report.html"

    def field_times(self, pair: str | None = None, partner: bool = False) -> Array:
        """(n,) [s] at which there are fields."""
        return np.array([time for time, _ in self._frames(pair, partner)])

    def fields(self, pair: str | None = None, t: float | None = None, *, partner: bool = False) -> Fields:
        """The fields of a pair nearest to the time t [s] (default: the last ones), as arrays in world coordinates.

        pair     name; needed when there are several
        partner  of body B, which is a shape without quantities, in place of body A

        Raises InputError when the scenario asked for none (`output.fields`).
        """
        frames = self._frames(pair, partner)
        at = frames[-1][0] if t is None else t
        time, file = frames[-1] if t is None else min(frames, key=lambda frame: abs(frame[0] - at))
        return read_vtu(self.folder / file, time)

    def _frames(self, pair: str | None, partner: bool) -> list[tuple[float, str]]:
        index = self.folder / "fields.pvd"
        if not index.exists():
            reasons = self._log("warning: no fields of pair ")
            raise InputError(f"{self.folder}: the run wrote no fields" +
                             (": " + "; ".join(reasons) if reasons else
                              "; ask for them with `output: {fields: {interval: 0.01}}` in the scenario, or "
                              "set={'output.fields': {'interval': 0.01}}"),
                             code="invalid input", file=str(index), key="output.fields")
        series: dict[str, list[tuple[float, str]]] = {}
        for entry in xml.parse(index).iter("DataSet"):
            series.setdefault(entry.get("name", ""), []).append((float(entry.get("timestep", "nan")), entry.get("file", "")))
        mine = {name: frames for name, frames in series.items() if name.endswith("_partner") == partner}
        if pair is not None:
            # Names of pairs and bodies in files: letters, digits, '-' and '.' stay.
            plain = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in pair)
            mine = {name: frames for name, frames in mine.items() if name.startswith(plain + "_")}
        if len(mine) != 1:
            raise InputError(f"pair: expected the name of one pair with fields, found {pair!r}; there are fields of: "
                             f"{', '.join(series)}", code="invalid input", key="pair")
        return next(iter(mine.values()))

    def _log(self, beginning: str) -> list[str]:
        """What run.log says after this beginning of a line."""
        log = self.folder / "run.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line[len(beginning):] for line in lines if line.startswith(beginning)]

    def __repr__(self) -> str:
        return f"Run('{self.folder}', {len(self.columns)} rows, {len(self.columns.columns)} columns)"


def _read_table(folder: pathlib.Path) -> tuple[list[str], Array]:
    """Names and (rows, columns) numbers: of timeseries.csv, or of what `hdf5=True` and `heelstrike run --hdf5` leave in its place."""
    file = folder / "timeseries.h5"
    if (folder / "timeseries.csv").exists() or not file.exists():
        return _core.read_timeseries(folder)
    try:
        h5py: Any = importlib.import_module("h5py")
    except ImportError:
        raise FileError(f"{file}: h5py is needed to read it, and is not installed: python3-h5py", code="file",
                        file=str(file)) from None
    try:
        with h5py.File(file) as opened:
            table = opened["timeseries"]
            names, numbers = [str(name) for name in table.attrs["columns"]], table[()]
    except (OSError, KeyError) as problem:
        raise FileError(f"{file}: expected the table of a run, found something else: {problem}", code="file",
                        file=str(file)) from None
    numbers.setflags(write=False)
    return names, numbers


def _unpacked(files: Mapping[pathlib.PurePath, bytes]) -> Run:
    """A run with its temporary folder that comes from another process."""
    kept = _TemporaryFolder()
    for name, content in files.items():
        file = kept.path / "run" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    made = Run(kept.path / "run")
    made._kept = kept
    return made


def run(scenario: Scenario, *, backend: str | None = None,
        set: Mapping[str, Any] | Iterable[str] | None = None, output: Path | None = None,
        overwrite: bool = False, hdf5: bool = False, server: str | None = None, mbs: str | None = None,
        progress: bool | Callable[[str, float, float, float, float], Any] | None = None,
        tls: Mapping[str, str] | None = None, reconnect_timeout: float = 300.0, _backend_last: bool = False) -> Run:
    """Runs a scenario to its end.

    scenario   file (YAML), or a mapping of the same content, with arrays where it has lists; see Pair.from_dict()
    backend    another contact back-end than the file's, for every pair; see backends()
    set        changes, e.g. {"contact.restitution": 0.6, "analysis.end_time": 5}
    output     run folder to make; without it the results live in a temporary one, as long as the Run does
    hdf5       leave the rows of a completed run as timeseries.h5 in place of timeseries.csv; h5py reads it (python3-h5py)
    server     address of a fem_server that computes the contact; without it this process does
    mbs        address of an mbs_server that runs it all; without it this process does
    progress   True, False, a callable(stage, fraction, time, end_time, wall_time), or None: a bar where a person looks
    tls        {"ca_file": ..., "certificate_file": ..., "key_file": ..., "authority": ...}
    patience   how long a lost connection is tried again [s]

    Ctrl-C stops the run cleanly: what was computed is in its folder, and KeyboardInterrupt is raised.
    Raises InputError with file, line and key for mistakes; Unavailable and VersionMismatch for servers; RunFailed for a run
    that has begun, whose `run` holds what there is.
    """
    file = pathlib.Path(mapping_name) if isinstance(scenario, Mapping) else _path(scenario, "scenario")
    kept: _TemporaryFolder | None = None
    if output is None:
        kept = _TemporaryFolder()
        folder = kept.path / "run"
    else:
        folder = _path(output, "output")
    is_new = not folder.exists()
    bar = display(progress, file.stem.strip("<>"))

    def warn(level: str, text: str) -> None:
        if bar is not None:
            bar.clear()
        warnings.warn(in_python(text), HeelstrikeWarning, stacklevel=3)

    try:
        status, reason, code, retryable = _core.run(
            scenario if isinstance(scenario, Mapping) else file, folder, backend, set, _backend_last, server, mbs, overwrite, hdf5, tls, reconnect_timeout, bar, warn)
    finally:
        if bar is not None:
            bar.close()
    if status in ("failed", "cancelled"):
        if not (folder / "timeseries.csv").exists():  # nothing was computed: a server is away, or of another version
            if is_new:  # so that the same call can be made again
                shutil.rmtree(folder, ignore_errors=True)
            raise made(code, reason, str(file), 0, "", retryable)
        failure = RunFailed(in_python(reason), code=code, file=None if isinstance(scenario, Mapping) else str(scenario))
        failure.run = Run(folder)
        failure.run._kept = kept
        raise failure
    if status == "incomplete":
        warnings.warn(in_python(f"the run is incomplete: {reason}"), HeelstrikeWarning, stacklevel=2)
    result = Run(folder)
    result._kept = kept
    return result


def open_run(folder: Path) -> Run:
    """The results of a run that somebody has made, e.g. `heelstrike run` in a terminal. Raises FileError."""
    return Run(folder)
