"""Runs of whole scenarios and their results."""
from __future__ import annotations

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
from ._plots import plot_columns
from ._tables import Table, is_installed, optional
from ._types import Array, Path, Scenario

def _remove(folder: pathlib.Path, maker: int) -> None:
    # A forked child also finalises its copy of the run; the files belong to the parent.
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def _path(given: Path, argument: str) -> pathlib.Path:
    if not isinstance(given, (str, os.PathLike)):
        raise expected(argument, "the path of a file or folder", given)
    return pathlib.Path(given)


class TemporaryFolder:
    """Removed with its last reference, at the latest when the program ends."""

    def __init__(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="heelstrike-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


class Run:
    """The results of a run, from its folder. Data are read at the first access."""

    def __init__(self, folder: Path) -> None:
        self.folder = _path(folder, "folder")
        if not (self.folder / "timeseries.csv").exists() and not (self.folder / "summary.json").exists():
            runs = sorted(str(inner.parent) for inner in self.folder.glob("*/summary.json"))
            found = f"one with {len(runs)} runs in it; open one of them, such as {runs[0]}, or a sweep with open_sweep()" \
                if runs else "no timeseries.csv in it"
            raise FileError(f"{self.folder}: expected the folder of a run, found {found}", code="file", file=str(folder))
        self._kept: TemporaryFolder | None = None  # keeps a temporary folder during the lifetime of its run
        self._columns: Table | None = None
        self._timeseries: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._kept is None:
            return Run, (self.folder,)
        # The temporary folder is removed with the last Run of this process; another process receives a copy of its
        # files.
        files = {file.relative_to(self.folder): file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}
        return _unpacked, (files,)

    @property
    def columns(self) -> Table:
        """{name: (n,) array}, units in the names: read-only views of one array. First: "time_s"."""
        if self._columns is None:
            names, numbers = _read_table(self.folder)
            self._columns = Table((name, numbers[:, i]) for i, name in enumerate(names))
        return self._columns

    @property
    def timeseries(self) -> Any:
        """The same as a pandas.DataFrame; the Table of columns without pandas. By choice: to_dataframe(), to_xarray()."""
        if self._timeseries is None:
            self._timeseries = self.columns.to_dataframe() if is_installed("pandas") else self.columns
        return self._timeseries

    def to_dataframe(self) -> Any:
        """The columns as a pandas.DataFrame. Raises MissingPackage without pandas."""
        return self.columns.to_dataframe()

    def to_xarray(self) -> Any:
        """The columns as an xarray.Dataset over time_s, with their units. Raises MissingPackage without xarray."""
        return self.columns.to_xarray()

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json: status, integrator, energies, contacts; identical in all runs of the same scenario."""
        return self._json("summary.json")

    @property
    def timing(self) -> dict[str, Any]:
        """timing.json: wall times [s]; different in every run."""
        return self._json("timing.json")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads((self.folder / name).read_text())
            return content
        except OSError as problem:
            raise FileError(f"{self.folder / name}: {problem.strerror}; the run has not ended, or has failed",
                            code="file", file=str(self.folder / name)) from None

    @property
    def status(self) -> str:
        """ "completed", "incomplete" (some rows have no solution), "cancelled" or "failed" """
        return str(self.summary["status"])

    @property
    def contacts(self) -> Any:
        """Intervals of contact: a pandas.DataFrame, or a list of dicts without pandas. Units in the names."""
        contacts = self.summary["contacts"]
        return optional("pandas", "Run.contacts").DataFrame(contacts) if is_installed("pandas") else contacts

    @property
    def report(self) -> pathlib.Path:
        """The page of the run."""
        return self.folder / "report.html"

    def plot(self, *columns: str, x: str = "time_s", axes: Any = None) -> Any:
        """Draws columns with matplotlib and returns the figure: `run.plot().savefig("run.png")`.

        columns  names, or patterns such as "ball-ground.f?_N" or "*.gap_m"; default: contact force and gap of every pair,
                 or the positions of the bodies in a run without contact
        x        column of the horizontal axis
        axes     matplotlib axes to draw into, one for each unit; default: a new figure

        One chart for each unit, in the units of the columns. Raises MissingPackage without matplotlib, and InputError for a
        name that no column has.
        """
        # A run that failed early has no summary.
        has_summary = (self.folder / "summary.json").exists()
        return plot_columns(self.columns, columns, x, axes, str(self.summary["scenario"]) if has_summary else self.folder.name)

    def field_times(self, pair: str | None = None, partner: bool = False) -> Array:
        """(n,) times of the fields [s]."""
        return np.array([time for time, _ in self._frames(pair, partner)])

    def fields(self, pair: str | None = None, t: float | None = None, *, partner: bool = False) -> Fields:
        """The fields of a pair nearest to the time t [s] (default: the last ones), as arrays in world coordinates.

        pair     name; required when there are several
        partner  body B, which is a shape without quantities, instead of body A

        Raises InputError when the scenario requests no fields (`output.fields`).
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
                              "; request them with `output: {fields: {interval: 0.01}}` in the scenario, or "
                              "set={'output.fields': {'interval': 0.01}}"),
                             code="invalid input", file=str(index), key="output.fields")
        series: dict[str, list[tuple[float, str]]] = {}
        for entry in xml.parse(index).iter("DataSet"):
            series.setdefault(entry.get("name", ""), []).append((float(entry.get("timestep", "nan")), entry.get("file", "")))
        mine = {name: frames for name, frames in series.items() if name.endswith("_partner") == partner}
        if pair is not None:
            # File names keep letters, digits, '-' and '.' of the names of pairs and bodies.
            plain = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in pair)
            mine = {name: frames for name, frames in mine.items() if name.startswith(plain + "_")}
        if len(mine) != 1:
            raise InputError(f"pair: expected the name of one pair with fields, found {pair!r}; there are fields of: "
                             f"{', '.join(series)}", code="invalid input", key="pair")
        return next(iter(mine.values()))

    def _log(self, beginning: str) -> list[str]:
        """The remainders of the lines of run.log with this beginning."""
        log = self.folder / "run.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line[len(beginning):] for line in lines if line.startswith(beginning)]

    def __repr__(self) -> str:
        return f"Run('{self.folder}', {len(self.columns)} rows, {len(self.columns.columns)} columns)"


def _read_table(folder: pathlib.Path) -> tuple[list[str], Array]:
    """Names and (rows, columns) numbers: of timeseries.csv, or of timeseries.h5 (`hdf5=True`, `heelstrike run --hdf5`)."""
    file = folder / "timeseries.h5"
    if (folder / "timeseries.csv").exists() or not file.exists():
        return _core.read_timeseries(folder)
    try:
        h5py: Any = importlib.import_module("h5py")
    except ImportError:
        raise FileError(f"{file}: h5py, which is required to read it, is not installed: python3-h5py", code="file",
                        file=str(file)) from None
    try:
        with h5py.File(file) as opened:
            table = opened["timeseries"]
            names, numbers = [str(name) for name in table.attrs["columns"]], table[()]
    except (OSError, KeyError) as problem:
        raise FileError(f"{file}: expected the table of a run, found other content: {problem}", code="file",
                        file=str(file)) from None
    numbers.setflags(write=False)
    return names, numbers


def _unpacked(files: Mapping[pathlib.PurePath, bytes]) -> Run:
    """A run from another process, in a new temporary folder."""
    kept = TemporaryFolder()
    for name, content in files.items():
        file = kept.path / "run" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    made = Run(kept.path / "run")
    made._kept = kept
    return made


def _new_folder(output: Path, backend: str | None) -> pathlib.Path:
    """The folder of a new run. Raises InputError for a back-end in its place, as compare() takes them."""
    if backend is None and isinstance(output, str) and output in _core.backends():
        raise InputError(f"output: expected a folder, found the name of a back-end, '{output}'; use backend='{output}', or "
                         f"output='./{output}' for a folder of that name", code="invalid input", key="output")
    return _path(output, "output")


def run(scenario: Scenario, output: Path | None = None, *, backend: str | None = None,
        set: Mapping[str, Any] | Iterable[str] | None = None, overwrite: bool = False,
        server: str | None = None, mbs: str | None = None,
        progress: bool | Callable[[str, float, float, float, float], Any] | None = None,
        tls: Mapping[str, str] | None = None, reconnect_timeout: float = 300.0, _backend_last: bool = False,
        **tables: bool) -> Run:
    """Runs a scenario to its end.

    scenario   file (YAML), or a mapping of the same content, with arrays where it has lists; see Pair.from_dict()
    output     run folder to create; default: a temporary folder that is removed with the Run
    backend    contact back-end of every pair, instead of that in the file; see backends()
    set        changes, e.g. {"contact.restitution": 0.6, "analysis.end_time": 5}
    server     address of a fem_server that computes the contact; default: this process
    mbs        address of an mbs_server that executes the run; default: this process
    progress   True, False, a callable(stage, fraction, time, end_time, wall_time), or None: a bar in a terminal or notebook
    tls        {"ca_file": ..., "certificate_file": ..., "key_file": ..., "authority": ...}
    reconnect_timeout  time for retries of a lost connection [s]
    tables     further tables of a completed run, as the options of `heelstrike run`: hdf5=True writes the rows to
               timeseries.h5 instead of timeseries.csv; requires h5py (python3-h5py) to read

    Ctrl-C stops the run cleanly: the results are in its folder, and KeyboardInterrupt is raised.
    Raises InputError with file, line and key; Unavailable and VersionMismatch for servers; RunFailed for a run that has
    started, whose `run` has the results.
    """
    for name in tables.keys() - _core.table_formats().keys():
        raise TypeError(f"run() got an unexpected keyword argument '{name}'")
    file = pathlib.Path(mapping_name) if isinstance(scenario, Mapping) else _path(scenario, "scenario")
    kept: TemporaryFolder | None = None
    if output is None:
        kept = TemporaryFolder()
        folder = kept.path / "run"
    else:
        folder = _new_folder(output, backend)
    is_new = not folder.exists()
    bar = display(progress, file.stem.strip("<>"))

    def warn(level: str, text: str) -> None:
        if bar is not None:
            bar.clear()
        warnings.warn(in_python(text), HeelstrikeWarning, stacklevel=3)

    try:
        status, reason, code, retryable = _core.run(
            scenario if isinstance(scenario, Mapping) else file, folder, backend, set, _backend_last, server, mbs, overwrite,
            [name for name, is_chosen in tables.items() if is_chosen], tls, reconnect_timeout, bar, warn)
    finally:
        if bar is not None:
            bar.close()
    if status in ("failed", "cancelled"):
        if not (folder / "timeseries.csv").exists():  # no results: a server is unreachable or of another version
            if is_new:  # so that the call can be repeated
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
    """The results of an existing run, e.g. of `heelstrike run` in a terminal. Raises FileError."""
    return Run(folder)
