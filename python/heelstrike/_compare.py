"""One scenario with several contact back-ends."""
from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._errors import Error, InputError
from ._plots import contact_force, contact_pairs, pyplot
from ._run import Run, run
from ._study import Study
from ._types import Array, Path, Scenario


class Comparison(Study):
    """Runs of one scenario, by back-end.

    runs      {backend: Run}
    failures  {backend: Error} of back-ends that failed
    """

    @property
    def pairs(self) -> list[str]:
        """Names of the contact pairs."""
        return contact_pairs(next(iter(self.runs.values())).columns)

    def force(self, backend: str, pair: str | None = None) -> tuple[Array, Array]:
        """Time [s] and magnitude of the contact force [N] of a pair."""
        columns = self.runs[backend].columns
        return columns["time_s"], contact_force(columns, pair or self.pairs[0])

    @property
    def index(self) -> list[str]:
        """Columns of the table that identify its rows: the back-end."""
        return ["backend"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """For each back-end: status, peak force [N] and indentation [m] of each pair, wall time [s]. The back-ends in
        `failures` are last, with None for what they do not have.
        """
        rows = []
        for backend, result in self.runs.items():
            row: dict[str, Any] = {"backend": backend, "status": result.status}
            for pair in self.pairs:
                row[f"{pair}.max_force_N"] = float(np.nanmax(self.force(backend, pair)[1], initial=0.0))
                row[f"{pair}.max_indentation_m"] = float(
                    np.nanmax(result.columns[f"{pair}.indentation_m"], initial=0.0))
            row["wall_time_s"] = result.timing["wall_time_s"]
            rows.append(row)
        nothing = dict.fromkeys(rows[0]) if rows else {}
        return rows + [{**nothing, "backend": backend, "status": "failed"} for backend in self.failures]

    def plot(self, pair: str | None = None, axes: Any = None) -> Any:
        """Contact force over time, and over indentation. Returns the figure. Raises MissingPackage without matplotlib."""
        plots = pyplot("Comparison.plot()")
        pair = pair or self.pairs[0]
        if axes is None:
            _, axes = plots.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
        for backend, result in self.runs.items():
            time, force = self.force(backend, pair)
            axes[0].plot(time, force, label=backend)
            axes[1].plot(1000 * result.columns[f"{pair}.indentation_m"], force, label=backend)
        axes[0].set(xlabel="time [s]", ylabel="contact force [N]", title=f"{self.scenario}: {pair}")
        axes[1].set(xlabel="indentation [mm]", ylabel="contact force [N]")
        axes[1].legend()
        return axes[0].figure


def compare(scenario: Scenario, backends: Iterable[str], *,
            set: Mapping[str, Any] | Iterable[str] | None = None, output: Path | None = None,
            **options: Any) -> Comparison:
    """Runs a scenario once with each back-end.

    set      changes as in run(); parameters that a back-end does not have are omitted for it, with a warning
    output   folder with one run folder for each back-end; default: temporary folders
    options  server, mbs, progress, tls, reconnect_timeout, overwrite: as in run()

    A back-end that fails is in `failures`. Raises its error when all fail, and InputError for a duplicate name.
    """
    names = [backends] if isinstance(backends, str) else list(backends)
    if len({*names}) != len(names) or not names:
        raise InputError(f"backends: expected at least one name, each once, found {names}", code="invalid input",
                         key="backends")
    changes = dict(set) if isinstance(set, Mapping) else set if set is None or isinstance(set, str) else list(set)
    runs: dict[str, Run] = {}
    failures: dict[str, Error] = {}
    for name in names:
        folder = None if output is None else pathlib.Path(output) / name
        try:
            runs[name] = run(scenario, backend=name, set=changes, output=folder, _backend_last=True, **options)
        except Error as error:
            failures[name] = error
    if not runs:
        raise next(iter(failures.values()))
    return Comparison("scenario" if isinstance(scenario, Mapping) else pathlib.Path(scenario).stem, runs, failures)
